"""Meters that only rise: what they counted from slot to slot, and back to what they show."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fieldmend.quantities.behaviour import Array

RETURN = 3  # readings: a meter that fell and is back above within so many was misread, not set back

JUMP = 20  # times the usual step, and what was counted meanwhile: no meter's jump up


@dataclass(frozen=True)
class Counted:
    """What meters counted.

    Attributes
    ----------
    amount
        Slots × nodes: what was counted in the slot; NaN in and after a gap.
    misread
        Readings that fall and are back soon: no setting back.
    readings
        The readings without those misread.
    """

    amount: Array
    misread: Array
    readings: Array


def counted(X: Array) -> Counted:
    """What meters counted from slot to slot; after a setting back, what they show by then.

    Examples
    --------
    >>> counted(np.array([[3.0], [5.0], [9.0], [1.0], [2.0]])).amount[:, 0]
    array([nan,  2.,  4.,  1.,  1.])
    """
    misread = _misread(X)
    readings = np.where(misread, np.nan, X)
    before = readings[:-1]
    with np.errstate(over="ignore", invalid="ignore"):
        step = readings[1:] - before
        step = np.where(step < 0, np.maximum(readings[1:], 0.0), step)
    first = np.full((1, X.shape[1]), np.nan)
    return Counted(np.vstack([first, step]), misread, readings)


def _misread(X: Array) -> Array:
    """Readings off a meter's course, low or high, whose followers go on from those before."""
    out = np.zeros(X.shape, dtype=np.bool_)
    for n in range(X.shape[1]):
        at = np.flatnonzero(np.isfinite(X[:, n]))
        values = X[at, n]
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.diff(values)
        usual = float(np.median(step[step > 0])) if (step > 0).any() else np.inf
        for i in (np.flatnonzero(step < 0) + 1).tolist():
            back = np.flatnonzero(values[i : i + RETURN + 1] >= values[i - 1])
            if back.size and np.max(step[i : i + back[0]]) > JUMP * usual:
                # It fell, and is back by a leap; counted up again, it was set back.
                out[at[i : i + back[0]], n] = True
                continue
            # Or it had jumped up, and has only now come back to its course.
            for k in range(i - 1, max(i - 1 - RETURN, 0), -1):
                if values[k - 1] <= values[i]:
                    if step[k - 1] > JUMP * max(usual, values[i] - values[k - 1]):
                        out[at[k:i], n] = True
                    break
    return out


def shown(readings: Array, amount: Array) -> Array:
    """What meters show in every slot, given what they showed in some and counted in all.

    Between two readings the amounts are scaled to what was really counted; across a setting back
    they go on from the first reading, then lead up to the second, never below zero. Before the
    first and after the last reading they are taken as they are.

    Parameters
    ----------
    readings
        Slots × nodes, NaN where lost, misread ones left out.
    amount
        An estimate of what was counted in each slot, 0 or more, at every place.

    Examples
    --------
    >>> meter = np.array([[2.0], [np.nan], [np.nan], [8.0]])
    >>> shown(meter, np.array([[1.0], [0.0], [1.0], [1.0]]))[:, 0]
    array([2., 2., 5., 8.])
    """
    out = np.full(readings.shape, np.nan)
    for n in range(readings.shape[1]):
        at = np.flatnonzero(np.isfinite(readings[:, n]))
        if at.size:
            out[:, n] = _one(readings[:, n], amount[:, n], at)
    return out


def _one(readings: Array, amount: Array, at: Array) -> Array:
    out = readings.copy()
    first, last = at[0], at[-1]
    # Backwards from the first reading: less and less, not below zero.
    ahead = np.cumsum(amount[1 : first + 1][::-1])[::-1]
    floor = min(0.0, float(readings[first]))
    out[:first] = np.maximum(readings[first] - ahead, floor)
    out[last + 1 :] = readings[last] + np.cumsum(amount[last + 1 :])
    for a, b in pairwise(at.tolist()):
        if b > a + 1:
            out[a + 1 : b] = _between(readings[a], readings[b], amount[a + 1 : b + 1])
    return out


def _between(before: float, after: float, amount: Array) -> Array:
    """What a meter showed in a gap; `amount` of its slots and of the slot after it."""
    sums = np.cumsum(amount)
    if after >= before:
        share = sums / sums[-1] if sums[-1] > 0 else np.arange(1, len(sums) + 1) / len(sums)
        return np.asarray(before + (after - before) * share[:-1])
    # Set back in the gap: such that what was counted since comes nearest to the reading after it;
    # of several slots that do, in the middle.
    left = after - (sums[-1] - sums)
    off = np.where(left >= 0, left, np.inf)
    off[-1] = after
    fits = np.flatnonzero(off <= off.min() + 1e-9)
    start = int(fits[len(fits) // 2])
    slots = np.arange(len(sums))
    risen = before + sums
    return np.asarray(np.where(slots >= start, np.maximum(left, 0.0), risen)[:-1])
