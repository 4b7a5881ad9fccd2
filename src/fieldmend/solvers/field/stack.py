"""The safety net: where hidden readings say that a straight line is better, lean towards it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.prox import Array, Mask

_EDGES = (0.75, 2.0, 8.0)  # of remoteness
_FEW = 60  # hidden readings below which nothing is decided
_SURE = 2.0  # standard errors by which a mixture has to win


@dataclass(frozen=True)
class Lean:
    """How much of the straight line to mix in, by remoteness."""

    weight: Array

    def at(self, remote: Array) -> Array:
        """Weight of the line at entries of this remoteness."""
        out: Array = self.weight[np.searchsorted(_EDGES, remote)]
        return out

    def mix(self, model: Array, line: Array, remote: Array) -> Array:
        """The estimate; where there is no line (NaN), the model's."""
        weight = np.where(np.isfinite(line), self.at(remote), 0.0)
        out: Array = model + weight * (np.where(np.isfinite(line), line, 0.0) - model)
        return out


def choose_lean(truth: Array, model: Array, line: Array, remote: Array) -> Lean:
    """Least-squares weights in [0, 1] per class of remoteness; 0 unless clearly better."""
    group = np.searchsorted(_EDGES, remote)
    weight = np.zeros(len(_EDGES) + 1)
    for k in range(len(weight)):
        here = (group == k) & np.isfinite(line)
        if here.sum() >= _FEW:
            weight[k] = _weight(truth[here] - model[here], line[here] - model[here])
    return Lean(weight)


def _weight(error: Array, towards: Array) -> float:
    # A few gross errors must not decide.
    bound = 4.0 * float(np.quantile(np.abs(error), 0.95))
    error = np.clip(error, -bound, bound)
    curve = float(towards @ towards)
    best = min(1.0, max(0.0, float(error @ towards) / curve)) if curve > 0 else 0.0
    gain = error**2 - (error - best * towards) ** 2
    doubt = float(gain.std()) / np.sqrt(len(gain))
    sure = float(gain.mean()) / doubt if doubt > 0 else 0.0
    return best * (1.0 - 1.0 / sure**2) if sure > _SURE else 0.0


def lines(readings: Array, used: Mask) -> Array:
    """A straight line between each node's own readings, nodes × slots; NaN without any."""
    slots = np.arange(used.shape[1])
    out = np.full(readings.shape, np.nan)
    for n, seen in enumerate(used):
        if seen.any():
            out[n] = np.interp(slots, slots[seen], readings[n, seen])
    return out
