"""Of a long result evenly spaced slots: what fits to be drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from fieldmend.faults import Episode
from fieldmend.result.recovered import Recovered
from fieldmend.result.result import Result

R = TypeVar("R", bound=Result)
ARRAYS = ("estimate", "lower", "upper", "anomaly", "flag", "replaced")


def spaced(result: R, entries: int) -> R:
    """One slot in so many that no more entries are left; itself where it has no more.

    A slot of what is left is as long as those that it stands for. Episodes and spells out of
    service are those of the whole, by the slots that they begin and end nearest to.
    """
    grid = result.grid
    slots, nodes = grid.shape
    step = -(-slots * nodes // max(entries, nodes))
    if step <= 1:
        return result
    values = {name: np.array(array[::step]) for name, array in grid.values.items()}
    return replace(
        result,
        grid=replace(grid, values=values, times=grid.times[::step], slot=grid.slot * step),
        conditions={name: _condition(one, step, values) for name, one in result.conditions.items()},
    )


def _condition(one: Recovered, step: int, values: dict[str, Any]) -> Recovered:
    arrays: dict[str, Any] = {
        name: None if (array := getattr(one, name)) is None else np.array(array[::step])
        for name in ARRAYS
    }
    observed = values[one.name] if one.name in values else np.array(one.observed[::step])
    life = one.service
    if life is not None:
        life = life.moved(*(-(-edge // step) for edge in (life.start, life.stop, life.closed)))
    episodes = tuple(_episode(episode, step) for episode in one.episodes)
    return replace(one, observed=observed, service=life, episodes=episodes, **arrays)


def _episode(episode: Episode, step: int) -> Episode:
    start = episode.start // step
    return replace(episode, start=start, stop=max(start + 1, -(-episode.stop // step)))
