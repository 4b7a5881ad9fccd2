"""Options that are checked before any work is done: how to read, how to solve.

Wrong ones fail mypy (`Unpack`); at run time they are refused by name, with the nearest right one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike
from typing import Any, TypedDict

from fieldmend import spill
from fieldmend.errors import InputError
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.grid import Grid
from fieldmend.methods import METHODS, check_options
from fieldmend.records.gridding.filling import VALUES
from fieldmend.records.gridding.slotting import microseconds
from fieldmend.recovery.decisions import Given as Decided
from fieldmend.text import shown


def check_slot(slot: Any, slot_value: str) -> None:
    """As `Records.grid` does, before the records are read."""
    if slot is not None:
        microseconds(slot)
    if slot_value not in VALUES:
        raise InputError(f"slot_value={shown(slot_value)!r}", hint="One of " + ", ".join(VALUES))


def bytes_of(memory: Any) -> int | None:
    """The most memory that may be taken, checked."""
    if memory is None:
        return None
    try:
        most = spill.size_in_bytes(memory)
    except ValueError as error:
        raise InputError(f"memory {shown(memory)!r}", hint="Write 4GB or 800MB") from error
    if most < spill.LEAST:
        least = f"{spill.LEAST // 10**6} MB"
        raise InputError(f"memory {shown(memory)!r} is too little", hint=f"Give {least} or more")
    return most


class Reading(TypedDict, total=False):
    """Options of `read`."""

    node: str | Sequence[str] | None
    time: str | Sequence[str] | None
    value: str | None
    variable: str | None
    conditions: Sequence[str] | None
    missing: Sequence[float | str] | Mapping[str, Sequence[float | str]]
    tz: str | None
    ambiguous: str | None
    dates: str | None
    on_duplicate: str | None
    salvage: bool
    locations: Any
    table: str | None
    query: str | None
    where: str | None
    columns: Sequence[str] | None
    time_unit: str | None
    origin: str | None
    encoding: str | None
    start: str | None
    end: str | None


class Solving(TypedDict, total=False):
    """Options of the methods that a recovery hands through to `decompose`."""

    lam: float | None
    mu: float | None
    delta: float | None
    center: bool
    scale: bool
    debias: bool
    tol: float
    max_iter: int | None
    max_seconds: float | None
    factored: bool
    rank: int | None
    period: int | Sequence[int] | None


class More(Reading, Solving, total=False):
    """What `recover` takes besides its own options."""


class Recovering(More, total=False):
    """All that `recover` takes, for those who hand it on."""

    method: str
    model: FieldModel | str | PathLike[str] | None
    new_nodes: str
    slot: str | float | None
    slot_value: str
    limits: Mapping[str, tuple[float, float]] | None
    kinds: Mapping[str, str] | None
    level: float
    joint: bool | None
    holdout: bool
    replace: str
    extrapolate: bool
    max_gap: str | float | None
    max_width: float | Mapping[str, float] | None
    on_change: float | Mapping[str, float] | None
    seed: int
    progress: Callable[[str, float], object] | None
    workers: int | None
    client: Any
    memory: str | float | None
    keep: str | PathLike[str] | None
    command: str
    units: Mapping[str, str] | None
    decisions: Decided


def divided(given: Mapping[str, Any], method: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the reader, and those of the method; what neither has is refused by name.

    Parameters
    ----------
    given
        Name → value.
    method
        One of the table of methods.

    Returns
    -------
    reading, solving
        Each its own.

    Raises
    ------
    TypeError
        Where nobody has such an option.
    InputError
        Where another method has it, and this one does not.

    Examples
    --------
    >>> divided({"tz": "UTC", "debias": True}, "ls")
    ({'tz': 'UTC'}, {'debias': True})
    """
    reading = {name: value for name, value in given.items() if name in Reading.__annotations__}
    solving = {name: value for name, value in given.items() if name in Solving.__annotations__}
    for name in given:
        if name not in reading and name not in solving:
            raise TypeError(_unknown(name))
    if method in METHODS:
        own = METHODS[method].options
        try:
            check_options(
                method,
                {name: value for name, value in solving.items() if name not in own},
                {name: value for name, value in solving.items() if name in own},
            )
        except ValueError as error:
            raise InputError(str(error)) from error
    return reading, solving


def _unknown(name: str) -> str:
    from fieldmend.recovery.job import recover  # its options, from where they stand

    own = [one for one in recover.__kwdefaults__ or () if one != "progress"]
    close = get_close_matches(name, [*own, *More.__annotations__], 1)
    return f"recover has no option {name!r}" + (f". Did you mean {close[0]!r}?" if close else "")


def with_units(grid: Grid, units: Mapping[str, str] | None) -> Grid:
    """The grid with the units that the user says its conditions have."""
    if not units:
        return grid
    for name, unit in units.items():
        if name not in grid.values:
            raise InputError(
                f"units for {shown(name)!r}, which is not there",
                hint=f"Conditions: {', '.join(shown(one) for one in grid.values)}",
            )
        if not isinstance(unit, str):
            raise InputError(f"unit of {shown(name)}: {shown(unit)} is no text", hint="Write degC")
    return replace(grid, units={**grid.units, **units})
