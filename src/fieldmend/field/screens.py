"""Which readings of a stretch are false, by rules that were learnt before: jumps, or distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.flags import Rule, first_channels, second_channels
from fieldmend.field.model import Data, Field, follow


@dataclass(frozen=True)
class JumpScreen:
    """Readings that jump out and back: first without a field, then against one."""

    first: Rule
    second: Rule

    def __call__(self, data: Data, field: Field) -> tuple[Mask, Field]:
        """The false readings, and the factors without those of the first look."""
        false = self.first.apply(first_channels(data), data.used, data.slots)
        field = follow(field, data.using(data.used & ~false), tol=3e-2, most=6)
        channels = second_channels(data, field.common())
        return self.second.apply(channels, data.used, data.slots), field


@dataclass(frozen=True)
class DistanceScreen:
    """Too far from the common field; the threshold closes in as the field gets cleaner."""

    threshold: Array

    def __call__(self, data: Data, field: Field) -> tuple[Mask, Field]:
        """The false readings, and the factors without those of the look before."""
        false = np.zeros(data.used.shape, dtype=np.bool_)
        for slack in (4.0, 2.0, 1.0):
            field = follow(field, data.using(data.used & ~false), tol=3e-2, most=6)
            off = np.abs(data.readings - field.common())
            false = data.used & (off > slack * self.threshold[:, None])
        return false, field


Screen = JumpScreen | DistanceScreen
