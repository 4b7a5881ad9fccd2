"""What passes is evidence: the field led through readings that only looked false.

A field is solved without the readings that it doubts, or that a search for lasting faults hides.
Some of them pass in the end: nothing jumped, it is the node's habit, the field expects them after
all. What was lost among them is then what they show, not what the field would have been had nothing
happened.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.faults.stretches import middle, stretches
from fieldmend.grid import Array
from fieldmend.recovery.solving import Solved

_BEYOND = 0.25  # of a node's range, on either side of it
_STEADY = 0.5  # of a departure, from one reading to the next
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

    `readings` lie on the turn of the estimate, `bounds` are what the quantity can be.
    """
    if not passed.any():
        return solved
    shift = correction(solved.estimate, readings, passed, fading=fading)
    estimate, lower, upper = (
        None if end is None else np.where(shift == 0, end, np.clip(end + shift, *bounds))
        for end in (solved.estimate, solved.lower, solved.upper)
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


def steady(off: Array, doubted: Array) -> Array:
    """Of stretches that depart from the field by `off`, slots × nodes, those that do so steadily.

    Steps from one such reading to the next are half as large as the departure at the most: what
    jumps about tells nothing of what was lost among it.

    Examples
    --------
    >>> off = np.array([[0.0, 0.0], [4.0, 4.0], [4.5, -3.0], [4.0, 5.0]])
    >>> steady(off, off != 0).any(axis=0)
    array([ True, False])
    """
    out = np.zeros(doubted.shape, dtype=np.bool_)
    for node in np.flatnonzero(doubted.any(axis=0)):
        at = np.flatnonzero(~np.isnan(off[:, node]))
        start, stop = stretches(doubted[at, node])
        more = stop - start > 1  # of one alone nothing tells
        for a, b in zip(start[more], stop[more], strict=True):
            part = off[at[a:b], node]
            with np.errstate(over="ignore"):  # a node may send 1e308
                step = middle(np.abs(np.diff(part)))
                out[at[a:b], node] = step <= _STEADY * middle(np.abs(part))
    return out


def usual_again(readings: Array, unseen: Array, passed: Array) -> Array:
    """Those of the readings that `passed` which lie about where the node's others lie.

    The others are those that the estimate has seen. Several nodes that fail at once excuse each
    other: what is far from all that a node ever read leads no estimate, whoever excuses it; unless
    most of the network is as far from its own, to the same side.
    """
    if not passed.any():
        return passed.copy()
    low, high = np.full((2, readings.shape[1]), np.nan)
    for node in range(readings.shape[1]):
        own = readings[~unseen[:, node], node]
        own = own[~np.isnan(own)]
        if own.size:
            low[node], high[node] = usual_range(own)
    with np.errstate(invalid="ignore"):
        usual, beyond = (low <= readings) & (readings <= high), (readings < low, readings > high)
    most = np.maximum(np.count_nonzero(~np.isnan(readings), axis=1) / 2, _FEWEST - 1)
    for side in beyond:
        usual |= side & (np.count_nonzero(side, axis=1) > most)[:, None]
    out: Array = passed & usual
    return out


def usual_range(own: Array) -> tuple[float, float]:
    """Where a node's readings lie, and a quarter of that beyond on either side."""
    low, high = np.quantile(own, _RANGE).tolist()
    more = _BEYOND * (high / 2 - low / 2) * 2  # a node may send 1e308
    return low - more, high + more


def correction(estimate: Array, readings: Array, passed: Array, *, fading: bool = True) -> Array:
    """What to add to an estimate, slots × nodes, so that it meets the readings that `passed`.

    Between them, and from them to the next reading of the node (not NaN), it runs straight. Where
    `fading`, it is gone after as many slots as the departure itself was seen to last: a minute's
    peak says nothing of a day of silence.

    Examples
    --------
    >>> readings = np.array([[0.0], [np.nan], [4.0], [np.nan], [6.0], [np.nan], [0.0]])
    >>> correction(np.zeros((7, 1)), readings, readings > 0).T
    array([[0., 2., 4., 5., 6., 3., 0.]])
    """
    shift = np.zeros(estimate.shape)
    slots = np.arange(len(shift))
    for node in np.flatnonzero(passed.any(axis=0)):
        at = np.flatnonzero(~np.isnan(readings[:, node]))
        own = passed[at, node]
        with np.errstate(over="ignore", invalid="ignore"):  # a node may send 1e308
            off = np.where(own, readings[at, node] - estimate[at, node], 0.0)
            shift[:, node] = np.interp(slots, *(_faded(at, own, off) if fading else (at, off)))
    return shift


def _faded(at: Array, own: Array, off: Array) -> tuple[Array, Array]:
    """Slots and corrections, with further slots in long gaps at which there is none any more."""
    reach = np.zeros(len(at), dtype=np.intp)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], own, [False]]).astype(np.int8)))
    for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
        reach[first : last + 1] = at[last] - at[first] + 1
    after, before = at[:-1] + reach[:-1], at[1:] - reach[1:]
    long = after < before
    ahead = at[0] - reach[0], at[-1] + reach[-1]  # beyond the first and the last reading
    more = np.concatenate(
        [after[long & own[:-1]], before[long & own[1:]], np.array(ahead)[[own[0], own[-1]]]]
    )
    slots, values = np.append(at, more), np.append(off, np.zeros(len(more)))
    order = np.argsort(slots, kind="stable")
    return slots[order], values[order]
