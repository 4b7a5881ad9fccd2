"""A record as a model looks at it: nodes in its order, scaled, the right way up, the course off."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fieldmend.core.problem import Scaling
from fieldmend.core.prox import Array, Mask
from fieldmend.field.cycles import Course, without
from fieldmend.field.joint import Companions
from fieldmend.field.jumps import Index
from fieldmend.field.model import Data
from fieldmend.field.power import PLAIN, Power
from fieldmend.field.scaling import scaled


@dataclass(frozen=True)
class View:
    """How readings become the numbers that the model works on, and how they come back."""

    order: Index  # column of the readings that is the model's node k
    sign: float
    scaling: Scaling  # in the model's order
    course: Course | None = None  # what usually happens at this time, taken off
    power: Power = PLAIN  # of the readings, before anything else

    @cached_property
    def back(self) -> Index:
        """The model's node that is a column of the readings."""
        return np.argsort(self.order)

    def units(self, values: Array, dtype: np.dtype | type) -> Array:
        """Scaled values, nodes × slots, in the units of the readings, slots × nodes."""
        largest = np.finfo(dtype).max
        with np.errstate(over="ignore"):
            out: Array = values.T * (self.sign * self.scaling.scale) + self.scaling.center
            return np.clip(self.power.back(out), -largest, largest)


@dataclass(frozen=True)
class Record:
    """Readings, slots × nodes in the model's order; `first` is the number of the first slot."""

    X: Array
    observed: Mask
    view: View
    first: int = 0
    companions: Companions | None = None

    @classmethod
    def of(
        cls,
        X: Array,
        observed: Mask,
        view: View,
        first: int = 0,
        companions: Companions | None = None,
    ) -> Record:
        """Readings with the nodes in their own order."""
        return cls(X[:, view.order], observed[:, view.order], view, first, companions)

    def data(self, slots: Index) -> Data:
        """The scaled readings of some slots, counted from the record's first, nodes × slots."""
        whole = len(slots) == slots[-1] - slots[0] + 1
        rows: Index | slice = slice(slots[0], slots[-1] + 1) if whole else slots
        used = np.ascontiguousarray(self.observed[rows].T)
        X = self.view.power.forward(self.X[rows])
        values = self.view.sign * scaled(X, self.observed[rows], self.view.scaling)
        others = self.companions
        beside = None if others is None else others.of(rows, self.view.order)
        data = Data(values, used, slots + self.first, beside)
        return data if self.view.course is None else without(data, self.view.course)
