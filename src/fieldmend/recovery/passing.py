"""What passes is evidence: the field led through readings that only looked false.

A field is solved without the readings that it doubts, or that a search for lasting faults hides.
Some of them pass in the end: nothing jumped, it is the node's habit, the field expects them after
all. What was lost among them is then what they show, not what the field would have been had nothing
happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fieldmend.grid import Array
from fieldmend.leading import correction, mostly
from fieldmend.recovery.solving import Solved

_BEYOND = 0.25  # of a node's range, on either side of it
_FEWEST = 3  # nodes beyond their own range that may be most of a network
_RANGE = 0.005, 0.995  # quantiles of a node's readings that are its range


def led_through(
    solved: Solved,
    readings: Array,
    passed: Array,
    *,
    fading: bool = True,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Solved:
    """The field with a correction that leads it through some readings of its nodes.

    `readings` lie on the turn of the estimate, `bounds` are what the quantity can be. Between two
    readings the departure may be as it was at either, or anything between: the interval holds both.
    """
    if not passed.any():
        return solved
    least, shift, most = correction(solved.estimate, readings, passed, fading=fading)
    estimate, lower, upper = (
        None if end is None else np.where(by == 0, end, np.clip(end + by, *bounds))
        for end, by in ((solved.estimate, shift), (solved.lower, least), (solved.upper, most))
    )
    assert estimate is not None
    return replace(solved, estimate=estimate, lower=lower, upper=upper)


def where_lost(solved: Solved, led: Solved, heard: Array) -> Solved:
    """One field where something was heard, the other where nothing was."""
    if led is solved:
        return solved
    estimate, lower, upper = (
        None if a is None or b is None else np.where(heard, a, b)
        for a, b in (
            (solved.estimate, led.estimate),
            (solved.lower, led.lower),
            (solved.upper, led.upper),
        )
    )
    assert estimate is not None
    return replace(solved, estimate=estimate, lower=lower, upper=upper)


def usual_again(
    readings: Array, unseen: Array, passed: Array, others: Sequence[Array] = ()
) -> Array:
    """Those of the readings that `passed` which lie about where the node's others lie.

    The others are those that the estimate has seen. Several nodes that fail at once excuse each
    other: what is far from all that a node ever read leads no estimate, whoever excuses it; unless
    most of the network is as far from its own, to the same side, or another condition of the node
    (`others`, on the same slots and nodes) is beyond its own range for most of the stretch as well:
    what two sensors felt happened there.
    """
    if not passed.any():
        return passed.copy()
    below, above = _beyond(readings, unseen)
    with np.errstate(invalid="ignore"):
        usual = ~(below | above) & ~np.isnan(readings)
    usual &= (~np.isnan(readings) & ~unseen).any(axis=0)  # of a node that nobody knows nothing is
    most = np.maximum(np.count_nonzero(~np.isnan(readings), axis=1) / 2, _FEWEST - 1)
    for side in (below, above):
        usual |= side & (np.count_nonzero(side, axis=1) > most)[:, None]
    out: Array = passed & usual
    for other in others:
        out |= mostly(np.logical_or(*_beyond(other, unseen)), passed, ~np.isnan(readings))
    return out


def _beyond(readings: Array, unseen: Array) -> tuple[Array, Array]:
    """Readings below, and above, where those that the estimate has seen of their node lie."""
    low, high = np.full((2, readings.shape[1]), np.nan)
    for node in range(readings.shape[1]):
        own = readings[~unseen[:, node], node]
        own = own[~np.isnan(own)]
        if own.size:
            low[node], high[node] = usual_range(own)
    with np.errstate(invalid="ignore"):
        return readings < low, readings > high


def usual_range(own: Array) -> tuple[float, float]:
    """Where a node's readings lie, and a quarter of that beyond on either side."""
    low, high = np.quantile(own, _RANGE).tolist()
    more = _BEYOND * (high / 2 - low / 2) * 2  # a node may send 1e308
    return low - more, high + more
