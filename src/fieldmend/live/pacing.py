"""Intervals a little wider or narrower, slot by slot: by how many readings were beyond them."""

from __future__ import annotations

import numpy as np

PACE = 0.1  # of the logarithm of intervals' width in a slot, were all readings beyond them
WIDEST = 4.0  # times as wide as usual, or as narrow


def moved(wide: float, beyond: float, pace: float = PACE) -> float:
    """By the share of readings beyond, over what it should be.

    Examples
    --------
    >>> moved(1.0, 0.0), round(moved(1.0, 0.9), 3), moved(4.0, 0.9)
    (1.0, 1.094, 4.0)
    """
    return min(max(wide * float(np.exp(pace * beyond)), 1.0 / WIDEST), WIDEST)
