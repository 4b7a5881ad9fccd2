"""Wider intervals where the field is far off its usual level, as far as hidden readings show it.

A model's standard deviation knows how far an entry is from readings, not what happens there: peaks
of rain, of traffic or of a fridge that defrosts are less certain than what is usual between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldmend.core.prox import Array
from fieldmend.core.ranks import quantiles

Index = NDArray[np.intp]

_FEW = 60  # hidden readings below which nothing is learnt
_GROUPS, _STEPS = 100, 40
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.96)  # of the levels: where the classes end
_PRIOR_LINE, _PRIOR = 60.0, 20.0  # readings, and runs in a class, that speak for no difference
_GROSS = 4.0  # times the error that 19 in 20 stay below: larger ones count as much
_FLOOR = 1e-3


@dataclass(frozen=True)
class Widening:
    """How much wider than usual intervals are, by the level of the estimate; lines between."""

    levels: Array = field(default_factory=lambda: np.zeros(1))
    factor: Array = field(default_factory=lambda: np.ones(1))

    def at(self, level: Array) -> Array:
        """The factor for estimates, scaled by node."""
        out: Array = np.interp(level, self.levels, self.factor)
        return out


def widening(error: Array, level: Array, run: Index) -> Widening:
    """Learn it from the errors of hidden readings, in units of intervals that know no level.

    Two lines, up and down from the usual level, by likelihood; then what is left in each class of
    levels. Both are drawn to 1 where witnesses are few; readings of one run are one. The size of
    intervals is calibrated afterwards, so only differences matter.
    """
    if error.size < _FEW or not error.any():
        return Widening()
    error = np.minimum(error, _GROSS * quantiles(error, 0.95)[0])
    if not error.any():
        return Widening()
    order = np.argsort(level, kind="stable")
    level, error, run = level[order], error[order], run[order]
    lines = _Lines.fitted(level, error / error.mean())
    left = error / lines.at(level)
    left /= left.mean()
    starts = np.unique((np.array((0.0, *_QUANTILES)) * level.size).astype(np.intp))
    count = np.diff(starts, append=level.size)
    centres, means = (np.add.reduceat(x, starts) / count for x in (level, left))
    told = np.zeros((len(starts), int(run.max()) + 1), dtype=np.bool_)
    told[np.repeat(np.arange(len(starts)), count), run] = True
    runs = told.sum(axis=1)
    more = (runs * means + _PRIOR) / (runs + _PRIOR)
    # Beyond the outermost classes along the lines, to the last level that was hidden.
    knots = np.unique(np.concatenate([centres, [0.0], level[[0, -1]]]))
    return Widening(knots, lines.at(knots) * np.interp(knots, centres, more))


@dataclass(frozen=True)
class _Lines:
    """A size at the usual level, and by how much it grows upwards and downwards."""

    weight: Array

    @classmethod
    def fitted(cls, level: Array, error: Array) -> _Lines:
        """By likelihood, errors taken as exponential; sums of readings alike in level suffice.

        Levels rise.
        """
        starts = np.unique(np.linspace(0, level.size, _GROUPS, endpoint=False).astype(np.intp))
        count = np.diff(starts, append=level.size).astype(np.float64)
        total = np.add.reduceat(error, starts)
        terms = _terms(np.add.reduceat(level, starts) / count)
        usual = terms @ count / count.sum()
        weight = np.array([0.5, 0.25, 0.25]) / np.maximum(usual, _FLOOR)
        # Each step raises the likelihood and keeps weights positive. Witnesses that are made up
        # have the usual size, and none of it from the slopes.
        for _ in range(_STEPS):
            size = weight @ terms + _FLOOR
            more, less = terms @ (total / size**2), terms @ (count / size)
            more[0] += _PRIOR_LINE / weight[0] ** 2
            less += _PRIOR_LINE * np.array([1.0 / weight[0], usual[1], usual[2]])
            weight = weight * np.sqrt(more / np.maximum(less, 1e-300))
        return cls(weight)

    def at(self, level: Array) -> Array:
        out: Array = self.weight @ _terms(level) + _FLOOR
        return out


def _terms(level: Array) -> Array:
    return np.stack([np.ones_like(level), np.maximum(level, 0.0), np.maximum(-level, 0.0)])
