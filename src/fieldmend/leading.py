"""The field led through readings that it did not see, and what was lost among them.

Whoever doubts a reading solves the field without it. Where the doubt was wrong, or where nothing
but the doubt speaks against it, what was lost beside it is what it shows, not what the field would
have been had nothing happened.
"""

from __future__ import annotations

import numpy as np

from fieldmend.faults.stretches import Array, Mask, middle, stretches

_STEADY = 0.5  # of a departure, from one reading to the next

Bounds = tuple[Array, Array]
"""Lower and upper end of an interval."""


def within_reach(estimate: Array, bounds: Bounds, readings: Array, doubted: Mask) -> Array:
    """Doubted readings as far as the field, which did not see them, may be as far off itself.

    NaN elsewhere. Of a stretch half of which is inside the interval, each reading: as it is there,
    not at all from twice the way to the interval's end on. What jumps about tells nothing, and what
    repeats a value.
    """
    lower, upper = bounds
    told = doubted & ~_repeated(readings)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        off = readings - estimate
        told &= steady(off, doubted)
        room = np.where(off > 0, upper - estimate, estimate - lower)
        part = np.abs(off) / room
        share = np.clip(2.0 - part, 0.0, 1.0)
        heard = ~np.isnan(readings)
        told &= mostly(part <= 1.0, doubted, heard)
        return np.where(told & (share > 0), estimate + share * off, np.nan)


def _repeated(readings: Array) -> Mask:
    """Readings that equal the one before or behind."""
    out = np.zeros(readings.shape, dtype=np.bool_)
    for node, column in enumerate(readings.T):
        at = np.flatnonzero(~np.isnan(column))
        same = column[at[1:]] == column[at[:-1]]
        out[at[1:], node] |= same
        out[at[:-1], node] |= same
    return out


def steady(off: Array, doubted: Mask) -> Mask:
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


def mostly(felt: Mask, passed: Mask, heard: Mask) -> Mask:
    """Stretches of what `passed`, from one reading that was heard to the next, mostly `felt`."""
    out = np.zeros(passed.shape, dtype=np.bool_)
    for node in np.flatnonzero((felt & passed).any(axis=0)):
        at = np.flatnonzero(heard[:, node])
        for a, b in zip(*stretches(passed[at, node]), strict=True):
            out[at[a:b], node] = 2 * np.count_nonzero(felt[at[a:b], node]) > b - a
    return out


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
