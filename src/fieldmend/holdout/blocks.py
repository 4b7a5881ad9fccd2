"""How sure a mean over hidden readings is: errors of one stretch of time go together."""

from __future__ import annotations

import numpy as np

from fieldmend.grid import Array
from fieldmend.holdout.strata import COUNT, Index, Mask

# Stretches of time that a record is cut into, each so many usual gaps long if that leaves enough of
# them: two or three cannot tell how much they differ, and most kinds of gap would be in one alone.
FEWEST, MOST = 8, 24
GAPS = 2


def blocks_of(heard: Mask, hidden: Mask, gap: Index) -> Index:
    """Number of the stretch of time that the gap of each hidden reading begins in.

    A gap is never cut in two: what is wrong at its start is wrong at its end.
    """
    slots = len(heard)
    slot = np.arange(slots)[:, None]
    before = np.maximum.accumulate(np.where(heard, slot, -1), axis=0)[hidden]
    usual = float(np.median(gap[hidden])) if hidden.any() else 1.0
    count = int(np.clip(slots / (GAPS * usual), FEWEST, MOST))
    return np.asarray((before + 1) * count // slots, dtype=np.intp)


def spread(values: Array, stratum: Index, block: Index, weight: Array) -> float:
    """Standard error of Σ weight × mean of each stratum, blocks taken as independent.

    The linearised jackknife of a ratio: how much the mean would move without one of the blocks. A
    stratum that one block alone tells of says nothing about its own error: it is taken to be as
    uncertain as it is large.
    """
    top = float(np.abs(values).max(initial=0.0))
    if top == 0.0 or not np.isfinite(top):
        return 0.0 if top == 0.0 else np.nan
    names, index = np.unique(block, return_inverse=True)
    moved = np.zeros(len(names))
    alone = 0.0
    for k in range(COUNT):
        here = stratum == k
        if weight[k] == 0 or not here.any():
            continue
        part, own = values[here] / top, index[here]
        mean = part.mean()
        times = len(np.unique(own))
        if times < 2:
            alone += (weight[k] * np.abs(part).mean()) ** 2
            continue
        off = np.bincount(own, part - mean, len(names)) / part.size
        moved += weight[k] * off * np.sqrt(times / (times - 1))
    return top * float(np.sqrt((moved**2).sum() + alone))
