"""The straight line between a node's own readings: the yardstick of every method."""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Array, Mask


def lines(readings: Array, used: Mask) -> Array:
    """A straight line between each node's own readings, nodes × slots; NaN without any.

    Before the first and after the last reading it stays level.

    Examples
    --------
    >>> lines(np.array([[np.nan, 1.0, np.nan, 3.0]]), np.array([[False, True, False, True]]))
    array([[1., 1., 2., 3.]])
    """
    slots = np.arange(used.shape[1])
    out = np.full(readings.shape, np.nan)
    for n, seen in enumerate(used):
        if seen.any():
            out[n] = np.interp(slots, slots[seen], readings[n, seen])
    return out
