"""How hard gaps like the lost ones usually are for a straight line: known everywhere, for free.

A few hidden outages may happen to lie in calm hours. The line's error in such gaps anywhere in the
record tells how calm they were, and by how much the estimate's error there is too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.grid import Array
from fieldmend.holdout.canvas import Canvas
from fieldmend.holdout.places import places
from fieldmend.holdout.strata import COUNT, STARTS, Index, Mask, strata

DRAWN = 2000  # lost entries of each kind whose like is looked for among the readings
FEWEST = 100  # of them found: else nothing is said about that kind
APART = 0x55_53_55


@dataclass(frozen=True)
class Usual:
    """Errors of straight lines across gaps like the lost ones, anywhere in the record."""

    stratum: Index
    error: Array

    @classmethod
    def of(cls, readings: Array, lost: Mask, seed: int, period: float = 0.0) -> Usual:
        """Lay gaps like the lost ones over the readings, one at a time, and draw the lines."""
        heard = ~np.isnan(readings)
        canvas = Canvas(heard, lost & ~heard)
        none = cls(np.zeros(0, dtype=np.intp), np.zeros(0))
        if not canvas.able.size or not canvas.lost.any():
            return none
        rng = np.random.default_rng([seed, APART])
        kind = strata(heard, canvas.expected)[canvas.lost]
        cells = np.flatnonzero(canvas.lost)
        parts = [none]
        for k in np.unique(kind):
            found = places(canvas, rng.choice(cells[kind == k], DRAWN), rng)
            left = np.where(
                found.start > 0, canvas.before[np.maximum(found.start, 1) - 1, found.node], -1
            )
            right = np.where(
                found.stop < canvas.slots,
                canvas.after[np.minimum(found.stop, canvas.slots - 1), found.node],
                canvas.slots,
            )
            known = (left >= 0) | (right < canvas.slots)
            error = _off(readings, found.node, (left, right), found.at, period)
            length = right.astype(np.intp) - left - 1
            own = np.searchsorted(np.asarray(STARTS), length, side="right") - 1
            own = own + len(STARTS) * (k >= len(STARTS))
            parts.append(cls(own[known], error[known]))
        return cls.pooled(parts)

    @classmethod
    def pooled(cls, parts: list[Usual]) -> Usual:
        """Several stretches of a record as one."""
        return cls(
            np.concatenate([p.stratum for p in parts]), np.concatenate([p.error for p in parts])
        )

    def means(self, limit: Array) -> Array:
        """Mean absolute error of each kind, no error above its limit; NaN where too few are."""
        count = np.bincount(self.stratum, minlength=COUNT)
        total = np.bincount(self.stratum, np.minimum(self.error, limit[self.stratum]), COUNT)
        return np.where(count >= FEWEST, total / np.maximum(count, 1), np.nan)


def _off(
    readings: Array, node: Index, sides: tuple[Index, Index], at: Index, period: float
) -> Array:
    """How far the line from one reading to the other is off the reading between them."""
    left, right = sides
    before = readings[np.maximum(left, 0), node]
    after = readings[np.minimum(right, len(readings) - 1), node]
    before = np.where(left >= 0, before, after)
    after = np.where(right < len(readings), after, before)
    share = (at - left) / np.maximum(right - left, 1)
    step = after - before
    if period:
        step = (step + period / 2) % period - period / 2
    off = before + share * step - readings[at, node]
    return np.asarray(np.abs((off + period / 2) % period - period / 2 if period else off))
