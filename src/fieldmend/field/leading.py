"""A correction that leads an estimate through some readings of a node that it went without."""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.jumps import Index

_BEYOND = 0.25  # of a node's range, on either side of it
_RANGE = 0.005, 0.995  # quantiles of a node's readings that are its range


def usual_again(readings: Array, unseen: Mask, passed: Mask) -> Mask:
    """Those of the readings that `passed` which lie about where the node's others lie.

    The others are those that the estimate has seen. Several nodes that fail at once excuse each
    other: what is far from all that a node ever read leads no estimate, whoever excuses it.
    """
    out = passed.copy()
    for node in np.flatnonzero(passed.any(axis=0)):
        own = readings[~unseen[:, node], node]
        own = own[~np.isnan(own)]
        if not own.size:
            out[:, node] = False
            continue
        low, high = usual_range(own)
        with np.errstate(invalid="ignore"):
            out[:, node] &= (low <= readings[:, node]) & (readings[:, node] <= high)
    return out


def usual_range(own: Array) -> tuple[float, float]:
    """Where a node's readings lie, and a quarter of that beyond on either side."""
    low, high = np.quantile(own, _RANGE).tolist()
    more = _BEYOND * (high / 2 - low / 2) * 2  # a node may send 1e308
    return low - more, high + more


def correction(estimate: Array, readings: Array, passed: Mask, *, fading: bool = True) -> Array:
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


def _faded(at: Index, own: Mask, off: Array) -> tuple[Index, Array]:
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
