"""In what kind of gap an entry lies: how long it is, and whether the network is silent too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldmend.diagnostics import gap_at

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

STARTS = (1, 4, 16, 64, 256)
"""Slots of the shortest gap of each class; the last class has no end."""
MOSTLY = 0.5  # of the nodes in service silent, or more: neighbours are no help then
COUNT = 2 * len(STARTS)
"""Number of strata: classes of gaps in company first, then those in which the network is silent."""


def strata(heard: Mask, expected: Mask) -> Index:
    """The stratum of every entry, slots × nodes.

    Parameters
    ----------
    heard
        True where a reading is left.
    expected
        True where a reading arrived or was lost: where the node was in service.
    """
    gap = gap_at(heard)
    kind = np.searchsorted(np.asarray(STARTS), gap, side="right") - 1
    kind[silent_slots(heard, expected)] += len(STARTS)
    return kind


def silent_slots(heard: Mask, expected: Mask) -> Mask:
    """True for slots in which more than half of the nodes in service are silent."""
    silent = np.count_nonzero(expected & ~heard, axis=1)
    out: Mask = silent > MOSTLY * np.count_nonzero(expected, axis=1)
    return out


def bounds(stratum: int) -> tuple[int, int | None]:
    """The shortest and the longest gap of a stratum, in slots; None without an end."""
    i = stratum % len(STARTS)
    return STARTS[i], STARTS[i + 1] - 1 if i + 1 < len(STARTS) else None
