"""The scale that a quantity with bounds or a long tail is solved on, and the way back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from fieldmend.field.holdout import Holdout
from fieldmend.quantities.behaviour import Array
from fieldmend.quantities.kinds import Kind
from fieldmend.quantities.power import PLAIN, Power
from fieldmend.quantities.quantity import Quantity


@dataclass(frozen=True)
class Scale:
    """The scale that a quantity is solved on, and what it cannot be.

    `least` is the smallest amount that the instrument tells: estimates below half of it are 0.
    """

    power: Power = PLAIN
    low: float = -inf
    high: float = inf
    least: float = 0.0

    @classmethod
    def of(cls, quantity: Quantity, X: Array, power: Power = PLAIN) -> Scale:
        """For what a condition is, and its readings."""
        least = 0.0
        if quantity.kind is Kind.INTERMITTENT:
            positive = X[X > 0]
            least = float(positive.min()) if positive.size else 0.0
        return cls(power, quantity.low, quantity.high, least)

    @property
    def changes(self) -> bool:
        """Whether it does anything at all."""
        return self != Scale()

    def forward(self, readings: Array) -> Array:
        """Onto the scale."""
        return self.power.forward(readings)

    def back(self, values: Array) -> Array:
        """Back into the units of the readings, within the bounds."""
        out = np.clip(self.power.back(values), self.low, self.high)
        return np.where(out < self.least / 2, np.maximum(0.0, self.low), out) if self.least else out

    def back_of(self, found: Holdout) -> Holdout:
        """Hidden readings as they were, and what became of them within the bounds."""
        return replace(
            found,
            truth=self.power.back(found.truth),
            estimate=self.back(found.estimate),
            lower=self.back(found.lower),
            upper=self.back(found.upper),
        )
