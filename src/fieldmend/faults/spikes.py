"""Single false readings and short bursts, for methods that make no decision of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldmend.faults.stretches import MAD, Array, Mask, bounded

# Readings on either side that say where the node is; fewer than half of them may be false.
SIDE = 5
# Robust standard deviations below which nothing is a spike.
LEAST = 6.0


def spikes(X: Any, estimate: Any, left_out: Mask | None = None) -> Mask:
    """Readings that jump out of their node's past *and* of the field, and back.

    For each reading the median of the five readings before and of the five after; a spike lies
    beyond both, on one side. The same is asked of reading − estimate, and the smaller of the two
    deviations counts: a step (sun, a door) has one side it agrees with, and a change that
    the companions share is in the estimate. It has to exceed six robust standard deviations
    of the node's own deviations, ``q90·(q90/q75)⁴`` of them (6.9 standard deviations for normal
    values, more for heavy tails), and three times the median |reading − estimate| of its slot.

    Parameters
    ----------
    X, estimate
        Slots × nodes; X with NaN where nothing was observed.
    left_out
        Readings already known to be false (`persistent`): not judged, and no neighbours.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> import fieldmend as fm
    >>> from fieldmend import faults
    >>> net = fm.simulate.network(300, 20, field="temperature", noise=0.1, sampling=1, seed=2)
    >>> found = faults.spikes(net.readings, fm.decompose(net.readings).estimate)
    >>> fm.metrics.detection(found, net.support).f1 > 0.9
    True
    """
    values, power = bounded(X)
    out = np.zeros(values.shape, dtype=np.bool_)
    with np.errstate(over="ignore"):
        fitted = np.clip(np.ldexp(np.asarray(estimate, dtype=np.float64), -int(power)), -1e60, 1e60)
    if fitted.shape != values.shape:
        msg = f"readings are {values.shape}, the estimate is {fitted.shape}"
        raise ValueError(msg)
    judged = ~np.isnan(values)
    if left_out is not None:
        judged &= ~left_out
    residual = values - fitted
    level = _slot_levels(residual, judged)
    for n in range(values.shape[1]):
        at = np.flatnonzero(judged[:, n])
        if at.size > 2 * SIDE:
            own, off = _beyond(values[at, n]), _beyond(residual[at, n])
            size = np.where(own * off > 0, np.minimum(np.abs(own), np.abs(off)), 0.0)
            limit = max(_limit(_distance(values[at, n])), _limit(_distance(residual[at, n])))
            out[at, n] = (size > limit) & (np.abs(residual[at, n]) > 3 * level[at])
    return out


def _slot_levels(residual: Array, judged: Mask) -> Array:
    out = np.zeros(residual.shape[0])
    some = judged.any(axis=1)
    sizes = np.where(judged, np.abs(residual), np.nan)
    out[some] = np.nanmedian(sizes[some], axis=1)
    return out


def _sides(values: Array) -> tuple[Array, Array]:
    """Medians of the readings before and after each; at the ends the one side serves for both."""
    windows = np.lib.stride_tricks.sliding_window_view(values, SIDE)
    middle = np.median(windows, axis=1)
    before, after = np.empty(values.size), np.empty(values.size)
    before[SIDE:], after[:-SIDE] = middle[:-1], middle[1:]
    before[:SIDE], after[-SIDE:] = after[:SIDE], before[-SIDE:]
    return before, after


def _beyond(values: Array) -> Array:
    """Signed distance beyond the nearer of both sides' medians; 0 between them."""
    before, after = _sides(values)
    high, low = np.maximum(before, after), np.minimum(before, after)
    return np.maximum(values - high, 0.0) - np.maximum(low - values, 0.0)


def _distance(values: Array) -> Array:
    before, after = _sides(values)
    return np.abs(values - (before + after) / 2)


def _limit(sizes: Array) -> float:
    """The size of deviation that the node's own deviations do not explain."""
    middle, q75, q90 = np.quantile(sizes, (0.5, 0.75, 0.9))
    if middle <= 0:  # a node that rests: judge it by the times when it does not
        moving = sizes[sizes > 0]
        if moving.size < 2 * SIDE:
            return np.inf
        middle, q75, q90 = np.quantile(moving, (0.5, 0.75, 0.9))
    return float(max(LEAST * MAD * middle, LEAST * q75 / 1.15, q90 * (q90 / q75) ** 4))
