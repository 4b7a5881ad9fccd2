"""Readings hidden on purpose in the paper's ways; the record's own way is `recovery.honest`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fieldmend import simulate

Mask = NDArray[np.bool_]


def _pattern(loss: str) -> Callable[[Mask, float, int], Mask]:
    def draw(observed: Mask, rate: float, seed: int) -> Mask:
        seen = simulate.observe(*observed.shape, loss=loss, rate=1 - rate, seed=seed)
        return observed & ~seen

    return draw


# Name → (observed, share kept, seed) → readings to hide.
PATTERNS: Mapping[str, Callable[[Mask, float, int], Mask]] = MappingProxyType(
    {way: _pattern(way) for way in ("uniform", "bursts", "blocks")}
)
