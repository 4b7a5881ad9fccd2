"""The last word is the line's: how far hidden readings would have an estimate lean to it.

Whatever went wrong on the way (a flag, a mask, a model that does not fit), readings that were
hidden before anything looked are witnesses of it. Where a straight line between a node's own
readings was closer to them, kind of gap by kind of gap, the estimate leans to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.grid import Array
from fieldmend.holdout.scoring import Witnesses
from fieldmend.holdout.strata import COUNT, STARTS, Index, Mask, bounds
from fieldmend.text import gap_range

_FEWEST = 20  # hidden readings of a kind of gap, or the line has no say
_PRIOR = 3.0  # stretches of time that speak for the estimate before any is asked
_LEAST = 0.25  # a smaller share may be chance, and would change little
_FAR = 4.0  # times what 19 in 20 stay below: errors that neither foresaw count as no larger
_FOLDS = 12  # parts of the hidden readings, each judged by what the others taught


@dataclass(frozen=True)
class LastWord:
    """The line's share in each kind of gap, and how far it was seen to lead."""

    share: Array
    furthest: Array

    @classmethod
    def learnt(cls, seen: Witnesses) -> LastWord:
        """From hidden readings, errors of estimate and line; one stretch of time is one witness."""
        share, furthest = np.zeros(COUNT), np.zeros(COUNT)
        known = np.isfinite(seen.error) & np.isfinite(seen.line)
        for k in range(COUNT):
            here = known & (seen.stratum == k)
            if here.sum() >= _FEWEST:
                share[k] = _share(seen.error[here], seen.line[here], seen.block[here])
                furthest[k] = np.abs(seen.line[here] - seen.error[here]).max()
        return cls(share, furthest)

    @property
    def said(self) -> bool:
        """Whether it changes anything."""
        return bool(self.share.any())

    @property
    def words(self) -> str:
        """Where it counts, and how much; empty if it does not."""
        most = np.maximum(*np.split(self.share, 2))
        parts = [
            f"{100 * most[k]:.0f} % in gaps of {gap_range(*bounds(k))}"
            for k in range(len(STARTS))
            if most[k]
        ]
        return f"led to the straight line by hidden readings: {', '.join(parts)}" if parts else ""

    def move(self, off: Array, stratum: Index) -> Array:
        """What to add to estimates that lie `off` the line; no further than was ever tried."""
        most = self.furthest[stratum]
        out: Array = self.share[stratum] * np.clip(off, -most, most)
        return out


def leaning(seen: Witnesses, teach: Mask) -> Witnesses:
    """The hidden readings by estimates that lean; each as the others would have it.

    A reading that was among those which chose how far to lean is no witness of what came of it;
    nor does one that is no truth (`teach` is False) choose.
    """
    move = np.zeros(seen.error.shape)
    fold = seen.block % _FOLDS
    for k in np.unique(fold):
        own = fold == k
        part = seen.kept(own)
        move[own] = LastWord.learnt(seen.kept(~own & teach)).move(
            part.line - part.error, part.stratum
        )
    return seen.moved(np.where(np.isfinite(move), move, 0.0))


def _share(error: Array, line: Array, block: Index) -> float:
    """The least-squares share of the line, drawn to none as far as stretches of time are few."""
    least = np.minimum(np.abs(error), np.abs(line))
    limit = _FAR * float(np.quantile(least, 0.95))
    part = np.where(least <= limit, 1.0, limit / np.maximum(least, 1e-300))
    error, towards = part * error, part * (line - error)
    curve = float(towards @ towards)
    if not 0 < curve < np.inf:
        return 0.0
    out = -float(error @ towards) / curve / (1.0 + _PRIOR / len(np.unique(block)))
    return min(out, 1.0) if out >= _LEAST else 0.0
