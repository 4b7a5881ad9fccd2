"""How sure a mean over hidden readings is: errors of one stretch of time go together."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from fieldmend.grid import Array
from fieldmend.holdout.strata import COUNT, Index, Mask

# Stretches of time that a record is cut into, each so many usual gaps long if that leaves enough of
# them: two or three cannot tell how much they differ, and most kinds of gap would be in one alone.
FEWEST, MOST = 8, 24
GAPS = 2


def blocks_of(heard: Mask, which: Mask, gap: Index) -> Index:
    """Number of the stretch of time that the gap of each entry in `which` begins in.

    A gap is never cut in two: what is wrong at its start is wrong at its end.
    """
    slots = len(heard)
    slot = np.arange(slots)[:, None]
    before = np.maximum.accumulate(np.where(heard, slot, -1), axis=0)[which]
    usual = float(np.median(gap[which])) if which.any() else 1.0
    count = int(np.clip(slots / (GAPS * usual), FEWEST, MOST))
    return np.asarray((before + 1) * count // slots, dtype=np.intp)


def spread(values: Array, stratum: Index, block: Index, weight: Array) -> float:
    """Standard error of Σ weight × mean of each stratum, blocks taken as independent.

    The linearised jackknife of a ratio: how much the mean would move without one of the blocks. Two
    or three blocks may be alike by accident, so few of them count for less, as Student's t has it.
    A stratum that one block alone tells of says nothing about its own error: it is taken to be as
    uncertain as it is large, and no other for more.
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
        off *= np.sqrt(times / (times - 1))
        known, most = float(np.sqrt((off**2).sum())), float(np.abs(part).mean())
        moved += weight[k] * off * max(min(few(times), most / known), 1.0) if known else 0.0
    return top * float(np.sqrt((moved**2).sum() + alone))


def few(blocks: int) -> float:
    """How much further than many blocks so few may be off, nineteen times in twenty."""
    return float(stdtrit(blocks - 1, 0.975) / ndtri(0.975))


def concentration(block: Index) -> float:
    """One over the number of blocks of equal size that would tell as much: Σ (share of each)²."""
    share = np.bincount(block) / max(block.size, 1)
    return float((share**2).sum())
