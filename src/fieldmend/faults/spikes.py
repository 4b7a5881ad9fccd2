"""Single false readings and short bursts, for methods that make no decision of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldmend.faults.stretches import MAD, Array, Mask, bounded, slot_medians

# Readings on either side that say where the node is; fewer than half of them may be false.
SIDE = 9
# Robust standard deviations that a spike exceeds.
LEAST = 6.0
# How much more the deviation from the estimate counts than that from the node's own past (an
# estimate of few nodes follows a spike some of the way), and how far a spike exceeds its slot.
AGREE, LEVEL = 2.0, 2.0
# Readings around one that say how restless the node is there.
NEARBY = 41
# Percentile of their deviations that is compared, and what it is for a standard normal: the median
# while spikes are among them, then without what was found.
ROUNDS = ((50.0, 0.674), (75.0, 1.15))


def spikes(X: Any, estimate: Any, left_out: Mask | None = None) -> Mask:
    """Readings that jump out of their node's past *and* of the field, and back.

    For each reading the median of the nine readings before and of the nine after: a spike lies
    beyond both, on one side, by more than six robust standard deviations of such deviations, of the
    whole node and of the readings around (a restless hour has a wider limit). Half as much is asked
    of reading − estimate. A step (sun, a door) has one side it agrees with; a change that the
    companions share is in the estimate. And |reading − estimate| has to exceed twice its slot's
    median. Where a node does not go smoothly in time, the estimate alone decides.

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
    level = np.nan_to_num(slot_medians(np.where(judged, np.abs(residual), np.nan)))
    for n in range(values.shape[1]):
        at = np.flatnonzero(judged[:, n])
        if at.size > 2 * SIDE:
            far = np.abs(residual[at, n]) > LEVEL * level[at]
            out[at, n] = _jumping(values[at, n], residual[at, n], far)
    return out


def _jumping(readings: Array, residual: Array, far: Mask) -> Mask:
    """Spikes of one node, decided again without those found so far."""
    found = np.zeros(readings.size, dtype=np.bool_)
    goes_smoothly = smooth(readings)
    for percentile, normal in ROUNDS:
        if found.sum() > readings.size - 2 * SIDE:
            break
        off = _score(residual, ~found, percentile, normal)
        own = _score(readings, ~found, percentile, normal) if goes_smoothly else off
        found = far & (own * off > 0) & (np.minimum(np.abs(own), AGREE * np.abs(off)) > 1)
    return found


def smooth(readings: Array) -> bool:
    """Whether a reading's neighbour in time says more about it than the node's median."""
    step = np.median(np.abs(np.diff(readings)))
    return bool(step < 0.7 * np.median(np.abs(readings - np.median(readings))))


def _sides(values: Array, sound: Mask) -> tuple[Array, Array]:
    """Medians of the sound readings before and after each; at the ends one side serves for both."""
    from scipy.ndimage import median_filter  # slow to import

    kept = values[sound]
    medians = median_filter(kept, SIDE)[SIDE // 2 : kept.size - SIDE // 2]
    count = np.cumsum(sound)
    first, second = count - sound - SIDE, count
    last = medians.size - 1
    before, after = medians[np.clip(first, 0, last)], medians[np.clip(second, 0, last)]
    return np.where(first < 0, after, before), np.where(second > last, before, after)


def _score(values: Array, sound: Mask, percentile: float, normal: float) -> Array:
    """Signed distance beyond the nearer of both sides' medians, in units of the limit there."""
    from scipy.ndimage import percentile_filter  # slow to import

    before, after = _sides(values, sound)
    high, low = np.maximum(before, after), np.minimum(before, after)
    beyond = np.maximum(values - high, 0.0) - np.maximum(low - values, 0.0)
    sizes = np.abs(values - (high + low) / 2)[sound]
    moving = sizes[sizes > 0]
    if moving.size == 0:  # exactly constant but for what was found: any deviation is one
        return np.where(beyond == 0, 0.0, np.copysign(np.inf, beyond))
    floor = MAD * float(np.median(sizes)) or float(np.median(moving)) / 2
    near = percentile_filter(sizes, percentile, size=NEARBY, mode="nearest") / normal
    limit = LEAST * np.maximum(near, floor)
    return np.asarray(beyond / limit[np.clip(np.cumsum(sound) - 1, 0, limit.size - 1)])
