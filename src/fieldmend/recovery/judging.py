"""Flags: which readings pass, which are suspect, which cannot be judged."""

from __future__ import annotations

import numpy as np

from fieldmend.grid import Array

COMPANIONS = 2  # other nodes in the slot, or
OWN, NEAR = 4, 12  # own readings within so many slots either way: enough to judge a reading
FEWEST_READINGS = 5  # of a node
FEWEST_NODES = 3


def judgeable(observed: Array) -> Array:
    """True where a reading has enough around it to be judged."""
    slots, nodes = observed.shape
    readings = observed.sum(axis=0)
    heard = readings >= FEWEST_READINGS
    if np.count_nonzero(readings) < FEWEST_NODES or slots < FEWEST_READINGS:
        return np.zeros_like(observed)
    others = observed.sum(axis=1, keepdims=True) - observed
    total = np.vstack([np.zeros((1, nodes), dtype=np.int64), np.cumsum(observed, axis=0)])
    slot = np.arange(slots)
    high, low = np.minimum(slot + NEAR + 1, slots), np.maximum(slot - NEAR, 0)
    near = total[high] - total[low] - observed
    judged: Array = observed & heard & ((others >= COMPANIONS) | (near >= OWN))
    return judged


def outside(readings: Array, limits: tuple[float, float] | None) -> Array:
    """True where a reading is beyond the hard limits that the user set."""
    if limits is None:
        return np.zeros(readings.shape, dtype=np.bool_)
    low, high = limits
    beyond: Array = (readings < low) | (readings > high)  # NaN compares False
    return beyond


def flags(observed: Array, judged: Array, suspect: Array, failed: Array) -> Array:
    """QARTOD: 9 missing, 4 fail, 3 suspect, 2 not evaluated, 1 pass; the first that fits."""
    flag = np.where(judged, np.int8(1), np.int8(2))
    flag[suspect & judged] = 3
    flag[failed] = 4
    flag[~observed] = 9
    return flag
