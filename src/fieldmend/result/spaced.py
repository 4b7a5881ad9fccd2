"""Of a long result some evenly spaced stretches, laid end to end: what fits to be drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from fieldmend.faults import Episode
from fieldmend.grid import Array
from fieldmend.result.recovered import Recovered
from fieldmend.result.result import Result
from fieldmend.result.states import Service

R = TypeVar("R", bound=Result)
COUNT = 8
ARRAYS = ("observed", "estimate", "lower", "upper", "anomaly", "flag", "replaced")


def stretches(slots: int, nodes: int, entries: int) -> list[slice]:
    """Evenly spaced, so many entries together; all slots where they are no more than that.

    Examples
    --------
    >>> stretches(1000, 10, 800)[:2], stretches(50, 10, 800)
    ([slice(0, 10, None), slice(141, 151, None)], [slice(0, 50, None)])
    """
    length = max(1, entries // max(nodes, 1) // COUNT)
    if slots * nodes <= entries or COUNT * length >= slots:
        return [slice(0, slots)]
    starts = np.linspace(0, slots - length, COUNT).astype(int).tolist()
    return [slice(start, start + length) for start in starts]


def spaced(result: R, entries: int) -> R:
    """The result in evenly spaced stretches of its slots; itself where it is not longer.

    Times are those of the stretches. Episodes and spells out of service are cut to them.
    """
    grid = result.grid
    chosen = stretches(*grid.shape, entries)
    if len(chosen) == 1:
        return result
    values = {name: _joined(array, chosen) for name, array in grid.values.items()}
    times = np.concatenate([grid.times[rows] for rows in chosen])
    return replace(
        result,
        grid=replace(grid, values=values, times=times),
        conditions={
            name: _condition(one, chosen, values.get(name))
            for name, one in result.conditions.items()
        },
    )


def _joined(array: Array, chosen: list[slice]) -> Array:
    return np.concatenate([np.asarray(array[rows]) for rows in chosen])


def _condition(one: Recovered, chosen: list[slice], observed: Array | None) -> Recovered:
    arrays: dict[str, Any] = {}
    for name in ARRAYS:
        array = getattr(one, name)
        arrays[name] = None if array is None else _joined(array, chosen)
    if observed is not None:
        arrays["observed"] = observed
    offsets = np.cumsum([0, *(rows.stop - rows.start for rows in chosen)]).tolist()
    places = list(zip(chosen, offsets, strict=False))
    episodes = [cut for e in one.episodes for rows, at in places for cut in _cut(e, rows, at)]
    service = None if one.service is None else _service(one.service, places)
    return replace(one, **arrays, episodes=tuple(episodes), service=service)


def _cut(episode: Episode, rows: slice, offset: int) -> list[Episode]:
    start, stop = max(episode.start, rows.start), min(episode.stop, rows.stop)
    shift = offset - rows.start
    return [replace(episode, start=start + shift, stop=stop + shift)] if start < stop else []


def _service(life: Service, places: list[tuple[slice, int]]) -> Service:
    parts = []
    for rows, offset in places:
        start, stop = np.maximum(life.start, rows.start), np.minimum(life.stop, rows.stop)
        left = start < stop
        shift = offset - rows.start
        parts.append((life.node[left], start[left] + shift, stop[left] + shift))
    node, start, stop = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Service(node, start, stop, life.never)
