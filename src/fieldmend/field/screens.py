"""Which readings of a stretch are false, by rules that were learnt before: jumps, or distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.flags import Rule, first_channels, second_channels
from fieldmend.field.joined import joined
from fieldmend.field.model import Data, Field, follow, slot_by_slot

# Rounds of reweighting: as Huber's, which has one minimum, then falling fast, which forgets.
_PULLS = (1,) * 6 + (4,) * 6


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
    slack: float = 1.0  # as many thresholds off is false; where flags do not pay, nothing is
    events: bool = False  # what others join is what happened

    def __call__(self, data: Data, field: Field) -> tuple[Mask, Field]:
        """The false readings, and the factors without those of the look before."""
        false = np.zeros(data.used.shape, dtype=np.bool_)
        if field.factors.shape[1] != data.used.shape[1]:
            field = self._started(data, field)
            false = self._far(data, field, 4.0)
        for slack in (4.0, 2.0, 1.0):
            field = follow(field, data.using(data.used & ~false), tol=3e-2, most=6)
            false = self._far(data, field, slack)
        if self.events:
            off = data.readings - field.common()
            false &= ~joined(false, off, data.used, data.readings)[0]
        return false, field

    def _started(self, data: Data, field: Field) -> Field:
        """Factors of new slots, each alone; readings far off pull less, in the end hardly at all.

        Conjugate gradients from nothing are no way to start here: their preconditioner takes
        losses for evenly spread, and a slot with several false readings is lost from the outset.
        """
        pull = np.ones(data.used.shape)
        for power in _PULLS:
            field = slot_by_slot(field, data, pull)
            off = np.abs(data.readings - field.common())
            pull = np.minimum(1.0, self.threshold[:, None] / np.maximum(off, 1e-300)) ** power
        return field

    def _far(self, data: Data, field: Field, slack: float) -> Mask:
        off = np.abs(data.readings - field.common())
        out: Mask = data.used & (off > slack * self.slack * self.threshold[:, None])
        return out


Screen = JumpScreen | DistanceScreen
