"""Decisions of a person about episodes: read from a file, and obeyed.

What was rejected is true: neither masked before the field is estimated nor flagged after. What was
accepted is false beyond doubt: masked, flagged, and replaced by the estimate. The file is written
by the report, and by anybody with an editor; it is checked before any work is done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.faults import Kind, Search
from fieldmend.flags import Flag
from fieldmend.grid import Array, Grid
from fieldmend.recovery.passing import led_through
from fieldmend.recovery.solving import Solved
from fieldmend.result.decisions import ACCEPTED, VERDICTS, Decision, Decisions
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.text import shown

LARGEST = 20_000_000  # bytes of a file
MOST = 100_000  # decisions, and stretches of one
LONGEST = 10_000  # characters of a name or a note
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHAPE = 'Save one from the report, or write {"decisions": [{"node": …, "condition": …, "start": …, '
SHAPE += '"end": …, "decision": "rejected"}]}'

Given = Decisions | Mapping[str, Any] | str | PathLike[str] | None


def read_decisions(given: Given) -> Decisions:
    """Decisions from a file that the report saved, or from what such a file holds.

    Parameters
    ----------
    given
        A path, a mapping with the key ``decisions``, `Decisions`, or None for none.

    Returns
    -------
    Decisions

    Raises
    ------
    InputError
        If it is no such file, and where it is wrong.

    Examples
    --------
    >>> one = {"node": "7", "condition": "t", "decision": "rejected",
    ...        "start": "2024-03-05T10:00:00Z", "end": "2024-03-05T11:00:00Z"}
    >>> read_decisions({"decisions": [one]}).made[0].verdict
    'rejected'
    """
    if given is None:
        return Decisions()
    if isinstance(given, Decisions):
        return given
    if isinstance(given, Mapping):
        return Decisions(_all(given, None))
    try:
        path = Path(os.fspath(given))
    except TypeError as error:
        kind = type(given).__name__
        raise InputError(f"decisions: a {kind} is neither a file nor what one holds") from error
    return Decisions(_all(_parsed(path), str(path)), str(path))


def _parsed(path: Path) -> Any:
    name = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"decisions cannot be read: {why}", file=name) from error
    if len(raw) > LARGEST:
        raise InputError("too large for a file of decisions", file=name, hint=SHAPE)
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError("no file of decisions: not UTF-8", file=name, hint=SHAPE) from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"no file of decisions: {error.msg}", file=name, line=error.lineno, hint=SHAPE
        ) from error
    except (RecursionError, ValueError) as error:  # brackets without end, digits without end
        raise InputError("no file of decisions", file=name, hint=SHAPE) from error


def _all(content: Any, file: str | None) -> tuple[Decision, ...]:
    listed = content.get("decisions") if isinstance(content, Mapping) else None
    if not isinstance(listed, list | tuple):
        raise InputError("no list of decisions in it", file=file, hint=SHAPE)
    if len(listed) > MOST:
        raise InputError(f"more than {MOST:,} decisions", file=file)
    return tuple(_one(item, i, file) for i, item in enumerate(listed, 1))


@dataclass(frozen=True)
class _Item:
    """One entry of the list; `number` counts from 1, for who has to find it."""

    content: Mapping[str, Any]
    number: int
    file: str | None

    def wrong(self, what: str) -> InputError:
        return InputError(f"decision {self.number}: {what}", file=self.file, hint=SHAPE)

    def text(self, name: str, *, needed: bool = False) -> str:
        value = self.content.get(name, "")
        if not isinstance(value, str):
            raise self.wrong(f"its {name} is {shown(value)}, no text")
        if len(value) > LONGEST:
            raise self.wrong(f"its {name} has {len(value):,} characters")
        if needed and not value:
            raise self.wrong(f"it has no {name}")
        return value

    def parts(self) -> Iterator[tuple[int, int]]:
        """Its stretches: several, or the one from start to end."""
        whole = [[self.content.get("start"), self.content.get("end")]]
        parts = self.content.get("parts") or whole
        if not isinstance(parts, list | tuple) or len(parts) > MOST:
            raise self.wrong("its parts are no list of stretches")
        for part in parts:
            if not isinstance(part, list | tuple) or len(part) != 2:
                raise self.wrong(f"{shown(part)} is no stretch from start to end")
            start, end = (_instant(one) for one in part)
            if start is None or end is None:
                raise self.wrong(f"{shown(part)}: write times as 2024-03-05T10:00:00Z")
            if end <= start:
                raise self.wrong(f"{shown(part)} ends before it starts")
            yield start, end


def _one(content: Any, number: int, file: str | None) -> Decision:
    item = _Item(content if isinstance(content, Mapping) else {}, number, file)
    if item.content is not content:
        raise item.wrong(f"{shown(content)} is none")
    verdict = item.text("decision", needed=True)
    if verdict not in VERDICTS:
        raise item.wrong(f"{shown(verdict)!r} is none of {', '.join(VERDICTS)}")
    return Decision(
        item.text("node", needed=True),
        item.text("condition", needed=True),
        tuple(item.parts()),
        verdict,
        item.text("kind"),
        item.text("note"),
    )


def _instant(given: Any) -> int | None:
    """Microseconds of an ISO stamp with its zone; None for anything else."""
    if not isinstance(given, str):
        return None
    try:
        at = datetime.fromisoformat(given)
        return None if at.tzinfo is None else round((at - EPOCH).total_seconds() * 1e6)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, eq=False)
class Told:
    """What a person said about the readings of a window, slots × nodes."""

    accepted: Array
    rejected: Array

    def search(self, found: Search) -> Search:
        """Lasting faults as the person sees them."""
        return Search(
            (found.faults & ~self.rejected) | self.accepted,
            found.events & ~self.accepted,
            (found.gross & ~self.rejected) | self.accepted,
            found.frozen & ~self.rejected,
            found.since & ~self.rejected,
            found.habit,
        )

    def followed(self, solved: Solved, readings: Array, doubted: Array) -> Solved:
        """The field led through readings that the method doubts and the person does not.

        `readings` lie on the turn of the estimate.
        """
        return led_through(solved, readings, doubted & self.rejected, fading=False)


def told(
    decisions: Decisions, condition: str, grid: tuple[tuple[str, ...], Array, int], usable: Array
) -> Told | None:
    """What was said about some slots of a condition; None if nothing. The later word counts.

    `grid` are its nodes, the times of the slots and their length. `usable` is True at readings
    within the limits: beyond them nothing is true, and where nothing was read there is nothing to
    decide.
    """
    nodes, times, slot = grid
    mine = decisions.about(condition)
    if not mine:
        return None
    at = {name: i for i, name in enumerate(nodes)}
    said = np.zeros(usable.shape, dtype=np.int8)
    for one in mine:
        if one.node in at:
            for rows in one.rows(times, slot):
                said[rows, at[one.node]] = 1 if one.verdict == ACCEPTED else -1
    if not said.any():
        return None
    return Told((said > 0) & usable, (said < 0) & usable)


def settled(found: Recovered, grid: Grid, options: Options) -> Recovered:
    """The finished condition: what was accepted is certain, and replaced where anything is."""
    mine = [one for one in options.decisions.about(found.name) if one.verdict == ACCEPTED]
    at = {name: i for i, name in enumerate(grid.nodes)}
    sure = set()
    for one in mine:
        for rows in one.rows(grid.times, grid.slot) if one.node in at else ():
            column = at[one.node]
            suspect = found.flag[rows, column] == Flag.SUSPECT
            if options.replace != "none" and found.replaced is not None:
                found.replaced[rows, column] |= suspect
            sure |= {
                i
                for i, e in enumerate(found.episodes)
                if e.node == column and e.start < rows.stop and rows.start < e.stop
                and e.kind != Kind.EVENT
            }  # fmt: skip
    if not sure:
        return found
    episodes = (replace(e, certain=e.certain or i in sure) for i, e in enumerate(found.episodes))
    return replace(found, episodes=tuple(episodes))
