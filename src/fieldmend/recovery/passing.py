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


def within_reach(solved: Solved, readings: Array, doubted: Array) -> Array:
    """Doubted readings as far as the field, which did not see them, may be as far off itself.

    NaN elsewhere. Of a stretch half of which is inside the interval, each reading: as it is there,
    not at all from twice the way to the interval's end on. What jumps about tells nothing, and what
    repeats a value.
    """
    out = np.full(readings.shape, np.nan)
    if solved.lower is None or solved.upper is None:
        return out
    told = doubted & ~_repeated(readings)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        off = readings - solved.estimate
        told &= steady(off, doubted)
        room = np.where(off > 0, solved.upper - solved.estimate, solved.estimate - solved.lower)
        part = np.abs(off) / room
        share = np.clip(2.0 - part, 0.0, 1.0)
        heard = ~np.isnan(readings)
        told &= _mostly(part <= 1.0, doubted, heard)
        return np.where(told & (share > 0), solved.estimate + share * off, out)


def _repeated(readings: Array) -> Array:
    """Readings that equal the one before or behind."""
    out = np.zeros(readings.shape, dtype=np.bool_)
    for node, column in enumerate(readings.T):
        at = np.flatnonzero(~np.isnan(column))
        same = np.diff(column[at]) == 0
        out[at[1:], node] |= same
        out[at[:-1], node] |= same
    return out


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
        out |= _mostly(np.logical_or(*_beyond(other, unseen)), passed, ~np.isnan(readings))
    return out


def _mostly(felt: Array, passed: Array, heard: Array) -> Array:
    """Stretches of what `passed`, from one reading that was heard to the next, mostly `felt`."""
    out = np.zeros(passed.shape, dtype=np.bool_)
    for node in np.flatnonzero((felt & passed).any(axis=0)):
        at = np.flatnonzero(heard[:, node])
        for a, b in zip(*stretches(passed[at, node]), strict=True):
            out[at[a:b], node] = 2 * np.count_nonzero(felt[at[a:b], node]) > b - a
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


def correction(
    estimate: Array, readings: Array, passed: Array, *, fading: bool = True
) -> tuple[Array, Array, Array]:
    """What to add to an estimate, slots × nodes, so that it meets the readings that `passed`.

    Between them, and from them to the next reading of the node (not NaN), it runs straight. Where
    `fading`, it is gone after as many slots as the departure itself was seen to last: a minute's
    peak says nothing of a day of silence. With it, before and behind, the least and the most that
    it is at either end of the straight piece.

    Examples
    --------
    >>> readings = np.array([[0.0], [np.nan], [4.0], [np.nan], [6.0], [np.nan], [0.0]])
    >>> for part in correction(np.zeros((7, 1)), readings, readings > 0):
    ...     print(part.T)
    [[0. 0. 4. 4. 6. 0. 0.]]
    [[0. 2. 4. 5. 6. 3. 0.]]
    [[0. 4. 4. 6. 6. 6. 0.]]
    """
    least, shift, most = np.zeros((3, *estimate.shape))
    slots = np.arange(len(shift))
    for node in np.flatnonzero(passed.any(axis=0)):
        at = np.flatnonzero(~np.isnan(readings[:, node]))
        own = passed[at, node]
        with np.errstate(over="ignore", invalid="ignore"):  # a node may send 1e308
            off = np.where(own, readings[at, node] - estimate[at, node], 0.0)
            at, off = _faded(at, own, off) if fading else (at, off)
            shift[:, node] = np.interp(slots, at, off)
        before = np.clip(np.searchsorted(at, slots, "right") - 1, 0, None)
        after = np.clip(np.searchsorted(at, slots, "left"), None, len(at) - 1)
        least[:, node] = np.minimum(off[before], off[after])
        most[:, node] = np.maximum(off[before], off[after])
    return least, shift, most


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
