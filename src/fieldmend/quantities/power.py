"""Skewed quantities on a scale where they are less so: a power, straight near zero."""

from __future__ import annotations

import numpy as np

from fieldmend.field.power import PLAIN, Power
from fieldmend.quantities.behaviour import Array, sampled

__all__ = ["NEAR_ZERO", "PLAIN", "POWERS", "Power", "fitting"]

POWERS = (1.0, 1 / 2, 1 / 3)
"""The logarithm is too strong: it takes the noise at zero for the largest of changes."""
NEAR_ZERO = 0.05  # of the usual positive reading: below it the scale is nearly straight


def fitting(p: float, X: Array) -> Power:
    """The power p with the usual size of these readings."""
    if p == 1:
        return PLAIN
    some = sampled(X)
    positive = some[np.isfinite(some) & (some > 0)]
    return Power(p, NEAR_ZERO * float(np.median(positive)) if positive.size else 0.0)
