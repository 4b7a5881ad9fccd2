"""Flags: which readings pass, which are suspect, which cannot be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fieldmend.core.ranks import row_medians
from fieldmend.flags import Flag
from fieldmend.grid import Array

if TYPE_CHECKING:
    from fieldmend.recovery.witnesses import Witnesses

COMPANIONS = 2  # other nodes in the slot, or
OWN, NEAR = 4, 12  # own readings within so many slots either way: enough to judge a reading
FEWEST_READINGS = 5  # of a node
FEWEST_NODES = 3
FEWEST_SLOTS = 5


def comparable(slots: int, nodes: int) -> bool:
    """Whether there are enough slots and nodes to compare anything with anything."""
    return slots >= FEWEST_SLOTS and nodes >= FEWEST_NODES


def judgeable(observed: Array, known: Witnesses) -> Array:
    """True where a reading has enough around it to be judged.

    Enough are two other nodes heard in the slot (a node that repeats another is no other), or four
    readings of its own within twelve slots either way.
    """
    slots, nodes = observed.shape
    if not comparable(slots, len(known.distinct)):
        return np.zeros_like(observed)
    heard = known.readings >= FEWEST_READINGS
    others = observed[:, known.distinct].sum(axis=1, keepdims=True) - observed
    total = np.zeros((slots + 1, nodes), dtype=np.int32)
    np.cumsum(observed, axis=0, out=total[1:])
    slot = np.arange(slots)
    near = total[np.minimum(slot + NEAR + 1, slots)]
    near -= total[np.maximum(slot - NEAR, 0)]
    near -= observed
    judged: Array = observed & heard & ((others >= COMPANIONS) | (near >= OWN))
    return judged


def outside(readings: Array, limits: tuple[float, float] | None) -> Array:
    """True where a reading is beyond the hard limits that the user set."""
    if limits is None:
        return np.zeros(readings.shape, dtype=np.bool_)
    low, high = limits
    beyond: Array = (readings < low) | (readings > high)  # NaN compares False
    return beyond


def usual_distance(readings: Array, estimate: Array) -> Array:
    """Per node: 1.4826 × the median distance between its readings and the field; 0 unheard."""
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.abs(readings - estimate)
    return 1.4826 * medians(distance)


def medians(array: Array) -> Array:
    """Median of each column without its NaN; 0 for a column of nothing else."""
    heard: Array = np.asarray(~np.isnan(array).all(axis=0))
    out = np.zeros(array.shape[1])
    if heard.any():
        with np.errstate(over="ignore"):  # the middle of two readings of 1e308
            out[heard] = row_medians(array[:, heard].T)
    return out


def flags(observed: Array, judged: Array, suspect: Array, failed: Array) -> Array:
    """QARTOD: 9 missing, 4 fail, 3 suspect, 2 not evaluated, 1 pass; the first that fits."""
    flag = np.where(judged, np.int8(Flag.PASS), np.int8(Flag.NOT_EVALUATED))
    flag[suspect & judged] = Flag.SUSPECT
    flag[failed] = Flag.FAIL
    flag[~observed] = Flag.MISSING
    return flag
