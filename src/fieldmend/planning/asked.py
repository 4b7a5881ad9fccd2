"""What is asked of a plan, checked before and after the record is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fieldmend.errors import InputError
from fieldmend.grid import Grid
from fieldmend.planning.schedule import DESIGNS
from fieldmend.quantities import Kind, Quantity
from fieldmend.text import listed, shown

NOT_PLANNED = {
    Kind.CIRCULAR: "a direction has no mean error along a line",
    Kind.ACCUMULATOR: "a meter loses nothing between two readings: send it as seldom as you need "
    "to know it",
    Kind.INTERMITTENT: "it is at rest most of the time, and a mean error says nothing of the rest: "
    "let nodes send when it is not",
    Kind.PASSED: "it is no measurement",
}
"""Kinds that are refused, and why."""


@dataclass(frozen=True)
class Wish:
    """What is asked.

    Attributes
    ----------
    error
        The error that readings which are not sent may have: one number, or condition → number.
    condition
        Which condition, where the record has several and `error` is one number.
    quantile
        Of the absolute error; its mean if None.
    designs
        Which are compared.
    """

    error: float | Mapping[str, float]
    condition: str | None = None
    quantile: float | None = None
    designs: Sequence[str] = DESIGNS

    def __post_init__(self) -> None:
        given = self.error if isinstance(self.error, Mapping) else {"": self.error}
        if not given:
            raise InputError("no error is asked for", hint="Write --error 0.2 (error=0.2)")
        for name, error in given.items():
            if not _above_zero(error):
                whose = f"error of {shown(name)}" if name else "error"
                raise InputError(
                    f"{whose} {shown(error)} cannot be kept",
                    hint="Give a number above 0, in the unit of the condition",
                )
        if isinstance(self.error, Mapping) and self.condition not in (None, *self.error):
            raise InputError(f"no error is given for condition {shown(self.condition)!r}")
        if self.quantile is not None and not (
            _above_zero(self.quantile) and float(self.quantile) < 1
        ):
            raise InputError(
                f"quantile {shown(self.quantile)} is no share between 0 and 1",
                hint="Write 0.95 for an error that nineteen in twenty keep",
            )
        for design in self.designs:
            if design not in DESIGNS:
                raise InputError(
                    f"no design {shown(design)!r}", hint=f"There are {listed(DESIGNS)}"
                )
        if not self.designs:
            raise InputError("no design to compare", hint=f"There are {listed(DESIGNS)}")

    def errors(self, grid: Grid, quantities: Mapping[str, Quantity]) -> dict[str, float]:
        """Condition → the error that is asked of it."""
        if isinstance(self.error, Mapping):
            wanted = dict(self.error)
            if self.condition is not None:
                wanted = {self.condition: wanted[self.condition]}
        else:
            wanted = {self._only(quantities): float(self.error)}
        for name in wanted:
            if name not in grid.values:
                raise InputError(
                    f"there is no condition {shown(name)!r}",
                    hint=f"There are {listed([shown(one) for one in grid.values])}",
                )
            why = NOT_PLANNED.get(quantities[name].kind)
            if why:
                raise InputError(
                    f"{shown(name)} is {quantities[name].kind}, and not planned for: {why}",
                    hint=f"If it is something else, say so: --kind {shown(name)}=linear",
                )
        return {name: float(error) for name, error in wanted.items()}

    def _only(self, quantities: Mapping[str, Quantity]) -> str:
        """The one condition that one number can be meant for."""
        if self.condition is not None:
            return self.condition
        able = [name for name, one in quantities.items() if one.kind not in NOT_PLANNED]
        if len(able) == 1:
            return able[0]
        if not able:
            every = [
                f"{shown(name)} is {one.kind} ({NOT_PLANNED[one.kind]})"
                for name, one in quantities.items()
            ]
            raise InputError(f"no condition that can be planned for: {'; '.join(every)}")
        raise InputError(
            f"the error is one number, the conditions are {len(able)}: "
            f"{listed([shown(name) for name in able])}",
            hint=f"Name one (--condition {shown(able[0])}), or give each its own "
            f"(--error {shown(able[0])}=0.2)",
        )


def _above_zero(value: Any) -> bool:
    try:
        return not isinstance(value, str | bool) and 0 < float(value) < math.inf
    except (TypeError, ValueError):
        return False
