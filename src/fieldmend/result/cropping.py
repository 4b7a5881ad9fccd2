"""The end of a result: what is new, once the days before it have served as its past."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from fieldmend.faults import Episode
from fieldmend.grid import Array
from fieldmend.result.recovered import Recovered
from fieldmend.result.result import Result
from fieldmend.result.states import Service

R = TypeVar("R", bound=Result)


def cropped(result: R, moment: int) -> R:
    """The slots from a moment on (microseconds, UTC): views, no copies.

    Episodes that reach into them stay, cut to what is left; the score, the model and the account of
    the rows are those of the whole.
    """
    grid = result.grid
    first = int(np.searchsorted(grid.times, moment))
    if first == 0 or first >= len(grid.times):
        return result
    values = {name: array[first:] for name, array in grid.values.items()}
    return replace(
        result,
        grid=replace(grid, values=values, times=grid.times[first:]),
        conditions={name: _condition(one, first) for name, one in result.conditions.items()},
    )


def _condition(one: Recovered, first: int) -> Recovered:
    return replace(
        one,
        observed=one.observed[first:],
        estimate=one.estimate[first:],
        lower=_rows(one.lower, first),
        upper=_rows(one.upper, first),
        anomaly=one.anomaly[first:],
        flag=one.flag[first:],
        replaced=_rows(one.replaced, first),
        service=None if one.service is None else _service(one.service, first),
        episodes=tuple(_episode(e, first) for e in one.episodes if e.stop > first),
    )


def _rows(array: Array | None, first: int) -> Array | None:
    return None if array is None else array[first:]


def _episode(episode: Episode, first: int) -> Episode:
    return replace(episode, start=max(0, episode.start - first), stop=episode.stop - first)


def _service(life: Service, first: int) -> Service:
    start, stop, closed = (np.maximum(0, a - first) for a in (life.start, life.stop, life.closed))
    return life.moved(start, stop, closed)
