"""Quantities with bounds or a long tail: solved on a scale that fits, and back within bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from fieldmend.field.fitted import FittedField, digest
from fieldmend.field.holdout import Holdout
from fieldmend.grid import Array
from fieldmend.quantities import Kind, Quantity
from fieldmend.quantities.power import PLAIN, Power
from fieldmend.recovery.solving import Around, Bounded, Solved, Solver
from fieldmend.recovery.windows import Window


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


@dataclass(frozen=True)
class OnScale:
    """A solver on a scale; `words` say why on this one."""

    base: Solver
    scale: Scale
    words: str = ""

    def __call__(self, evidence: Array, around: Around) -> Solved:
        """The field at every node and slot of a window."""
        scale = self.scale
        plain = scale.power == PLAIN
        level = around.level
        usual = around if plain else replace(around, level=np.zeros_like(level))
        solved = self.base(scale.forward(evidence), usual)
        estimate = scale.back(solved.estimate)
        if not plain and level.any():  # a level is a distance in the units of the readings
            silent = np.isnan(evidence).all(axis=0)
            shifted = estimate[:, silent] + level[silent]
            estimate[:, silent] = np.clip(shifted, scale.low, scale.high)
        return replace(
            solved,
            estimate=estimate,
            lower=None if solved.lower is None else scale.back(solved.lower),
            upper=None if solved.upper is None else scale.back(solved.upper),
            holdout=None if solved.holdout is None else scale.back_of(solved.holdout),
            choice=", ".join(filter(None, (solved.choice, self.words))),
            fitted=self.of_readings(solved.fitted, evidence),
            again=None if solved.again is None else replace(self, base=solved.again),
        )

    def hidden(self, left: Array, window: Window, columns: Array) -> Bounded:
        """The field of some nodes from the readings that are left of them."""
        estimate, lower, upper = self.base.hidden(self.scale.forward(left), window, columns)
        return (
            self.scale.back(estimate),
            None if lower is None else self.scale.back(lower),
            None if upper is None else self.scale.back(upper),
        )

    def of_readings(
        self, part: FittedField | None, evidence: Array | None = None
    ) -> FittedField | None:
        """A model of powers as one of the readings: it knows the way there and back."""
        if part is None or self.scale.power == PLAIN:
            return part
        own = "" if evidence is None else digest(evidence, ~np.isnan(evidence))
        return replace(
            part,
            view=replace(part.view, power=self.scale.power),
            fitted_on=replace(part.fitted_on, sha256=own),
        )
