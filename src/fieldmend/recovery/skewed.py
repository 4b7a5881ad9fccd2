"""Quantities with bounds or a long tail: solved on a scale that fits, and back within bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.field.fitted import FittedField, digest
from fieldmend.grid import Array
from fieldmend.quantities import Quantity
from fieldmend.quantities.choosing import TAILED, chosen
from fieldmend.quantities.power import PLAIN
from fieldmend.quantities.scale import Scale
from fieldmend.recovery.solving import Around, Bounded, Solved, Solver
from fieldmend.recovery.windows import Window
from fieldmend.result.options import Options

CHOOSES = ("auto",)  # methods that hide readings themselves
FEWEST = 3  # nodes: fewer are filled by straight lines


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
            judged=None if solved.judged is None else replace(self, base=solved.judged),
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


def on_scale(base: Solver, quantity: Quantity, X: Array, options: Options) -> Solver:
    """The solver of a quantity that has bounds, or a tail; `base` for one with neither."""
    power, words = PLAIN, ""
    if quantity.kind in TAILED and options.method in CHOOSES and X.shape[1] >= FEWEST:
        power, words = chosen(X, quantity, options.level, options.seed)
    scale = Scale.of(quantity, X, power)
    return OnScale(base, scale, words) if scale.changes else base
