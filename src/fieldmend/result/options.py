"""How a recovery is to be made, checked before any work is done."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.field.cycles import usual_periods
from fieldmend.grid import Grid
from fieldmend.methods import METHODS
from fieldmend.quantities import check_kinds
from fieldmend.records.gridding.slotting import microseconds
from fieldmend.result.decisions import Decisions
from fieldmend.text import shown

USABLE = tuple(name for name in METHODS if name != "oracle")
"""Methods of `decompose` that need to be told nothing about the truth."""
BOUNDED = ("auto",)  # methods that give intervals
REPLACE = ("suspects", "certain", "none")
"""Which flagged readings the estimate takes the place of."""


@dataclass(frozen=True)
class Options:
    """How a recovery was made."""

    method: str = "auto"
    level: float = 0.9
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    seed: int = 0
    holdout: bool = True
    command: str = ""
    joint: bool | None = None  # ask other conditions: where that helps, always, never
    kinds: Mapping[str, str] = field(default_factory=dict)  # condition → kind, as the user said
    period: tuple[int, ...] = ()  # slots in a day and a week, where slots divide them
    replace: str = "certain"
    extrapolate: bool = False
    max_gap: str | float | None = None
    max_width: float | Mapping[str, float] | None = None
    on_change: float | Mapping[str, float] | None = None  # silence is "within this of the last"
    solving: Mapping[str, Any] = field(default_factory=dict)  # options of the method, as given
    decisions: Decisions = field(default_factory=Decisions)  # of a person, about episodes
    window: int | None = None  # entries solved together, if not the usual number
    everywhere: bool = False  # leave no estimate out: hidden readings are scored wherever they are
    unjudged: bool = False  # estimates only: nobody asks which readings are suspect, and why

    def __post_init__(self) -> None:
        if self.method not in USABLE:
            raise InputError(
                f"method {shown(self.method)!r} cannot recover", hint=f"Use {', '.join(USABLE)}"
            )
        if self.joint and self.method not in BOUNDED:
            raise InputError(
                f"joint: method {shown(self.method)!r} asks no other conditions",
                hint="Method auto does; or leave joint out",
            )
        if not _number(self.level) or not 0 < self.level < 1:
            raise InputError(
                f"level {shown(self.level)} is no share between 0 and 1",
                hint="Write 0.9 for intervals that hold nine in ten",
            )
        if not _count(self.seed):
            raise InputError(f"seed {shown(self.seed)}", hint="Give a whole number from 0")
        for name, pair in self.limits.items():
            _check_limits(name, pair)
        check_kinds(self.kinds)
        if self.replace not in REPLACE:
            raise InputError(
                f"replace={shown(self.replace)!r}",
                hint="suspects, certain (only what is certainly false) or none",
            )
        if self.max_gap is not None:
            length_of_time(self.max_gap, "max_gap")
        _check_widths(self.on_change, "on_change")
        _check_widths(self.max_width, "max_width")
        if self.max_width is not None and self.method not in BOUNDED:
            raise InputError(
                f"max_width: method {self.method!r} gives no intervals",
                hint=f"Use {', '.join(BOUNDED)}",
            )

    def widest(self, condition: str) -> float | None:
        """The widest interval of a condition that is still given out, None if any is."""
        if isinstance(self.max_width, Mapping):
            return self.max_width.get(condition)
        return self.max_width

    def change(self, condition: str) -> float | None:
        """What a node's reading has to move by to be sent; None where it sends anyway."""
        if isinstance(self.on_change, Mapping):
            return self.on_change.get(condition)
        return self.on_change

    def longest(self, slot: int) -> float | None:
        """The longest gap that is filled, in slots; None if any is."""
        if self.max_gap is None:
            return None
        return length_of_time(self.max_gap, "max_gap") / slot

    def for_grid(self, grid: Grid) -> Options:
        """The same, knowing how many slots make a day and a week, unless cycles are given."""
        if "period" in self.solving:
            given = self.solving["period"]
            return replace(self, period=tuple(np.atleast_1d([] if given is None else given)))
        return replace(self, period=usual_periods(grid.slot))

    def check_conditions(self, grid: Grid) -> None:
        """Limits and widths are for conditions that are there."""
        given = {"limits": self.limits, "max_width": self.max_width, "on_change": self.on_change}
        named = {what: one for what, one in given.items() if isinstance(one, Mapping)}
        for what, name in [(what, name) for what, one in named.items() for name in one]:
            if name not in grid.values:
                raise InputError(
                    f"{what} for {shown(name)!r}, which is not there",
                    hint=f"Conditions: {', '.join(shown(c) for c in grid.values)}",
                )


def length_of_time(given: Any, what: str) -> int:
    """Microseconds of a length such as 6h; `what` names the option in a refusal."""
    try:
        return microseconds(given)
    except InputError as error:
        raise InputError(
            f"{what} {shown(given)!r} is no length of time", hint="Write 30min, 6h or 2d"
        ) from error


def _check_widths(given: Any, what: str) -> None:
    """One number above 0, or one for each condition that is named."""
    if given is None:
        return
    widths = given if isinstance(given, Mapping) else {"": given}
    for name, width in widths.items():
        if not _number(width) or not 0 < float(width) < math.inf:
            whose = f"{what} of {shown(name)}" if name else what
            raise InputError(
                f"{whose}: {shown(width)} is no width",
                hint="Give a number above 0, in the unit of the condition",
            )


def _check_limits(name: str, pair: Any) -> None:
    hint = f"Write the lowest, then the highest possible value: {shown(name)}=-40:60"
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InputError(f"limits of {shown(name)}: {shown(pair)} is no pair", hint=hint)
    low, high = pair
    if not _number(low) or not _number(high):
        raise InputError(f"limits of {shown(name)}: {shown(pair)} are no numbers", hint=hint)
    if low > high:
        raise InputError(f"limits of {shown(name)}: {low:g} is above {high:g}", hint=hint)


def _count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def _number(value: Any) -> bool:
    try:
        return not isinstance(value, str | bool) and not math.isnan(float(value))
    except (TypeError, ValueError):
        return False
