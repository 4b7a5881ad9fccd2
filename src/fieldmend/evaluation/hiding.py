"""Readings hidden on purpose, in four ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fieldmend import simulate
from fieldmend.recovery.holdout import hide

Mask = NDArray[np.bool_]


def _own_gaps(observed: Mask, rate: float, seed: int) -> Mask:
    """Gaps as long as the record's own, a twentieth of the readings at a time."""
    hidden = np.zeros_like(observed)
    wanted = (1 - rate) * np.count_nonzero(observed)
    for step in range(200):
        if np.count_nonzero(hidden) >= wanted:
            break
        new = hide(np.where(observed & ~hidden, 0.0, np.nan), seed + step)
        if not new.any():
            break
        hidden |= new
    return hidden


def _pattern(loss: str) -> Callable[[Mask, float, int], Mask]:
    def draw(observed: Mask, rate: float, seed: int) -> Mask:
        seen = simulate.observe(*observed.shape, loss=loss, rate=1 - rate, seed=seed)
        return observed & ~seen

    return draw


# Name → (observed, share kept, seed) → readings to hide.
PATTERNS: Mapping[str, Callable[[Mask, float, int], Mask]] = MappingProxyType(
    {
        "gaps": _own_gaps,
        "uniform": _pattern("uniform"),
        "bursts": _pattern("bursts"),
        "blocks": _pattern("blocks"),
    }
)
