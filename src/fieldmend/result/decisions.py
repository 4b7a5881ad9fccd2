"""What a person decided about episodes, as data; and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.grid import stamp
from fieldmend.text import moment, shown

if TYPE_CHECKING:
    from fieldmend.grid import Array, Grid

ACCEPTED, REJECTED, NOTED = "accepted", "rejected", "noted"
VERDICTS = (ACCEPTED, REJECTED, NOTED)
NAMED = 5  # decisions that matched nothing and are written out


@dataclass(frozen=True)
class Decision:
    """One episode, and what a person says about it.

    Attributes
    ----------
    node, condition
        By name.
    parts
        Stretches of time that the readings lie in, microseconds UTC, ends left out.
    verdict
        ``accepted`` (the readings are false), ``rejected`` (they are true) or ``noted`` (no word
        on that).
    kind
        What the episode was called.
    note
        In the person's own words.
    """

    node: str
    condition: str
    parts: tuple[tuple[int, int], ...]
    verdict: str
    kind: str = ""
    note: str = ""

    def as_written(self) -> dict[str, Any]:
        """As a file of decisions has it."""
        parts = [[stamp(a), stamp(b)] for a, b in self.parts]
        more: dict[str, Any] = {"parts": parts} if len(parts) > 1 else {}
        return {
            "node": self.node, "condition": self.condition, "start": parts[0][0],
            "end": parts[-1][1], **more, "kind": self.kind, "decision": self.verdict,
            "note": self.note,
        }  # fmt: skip

    def rows(self, times: Array, slot: int) -> Iterator[slice]:
        """Slots of a grid that the parts touch."""
        for start, end in self.parts:
            first = int(np.searchsorted(times, start - slot, "right"))
            last = int(np.searchsorted(times, end, "left"))
            if last > first:
                yield slice(first, last)


@dataclass(frozen=True)
class Decisions:
    """All that was decided, in the order in which it is to be obeyed, and the file it came from."""

    made: tuple[Decision, ...] = ()
    file: str = ""

    def __bool__(self) -> bool:
        return bool(self.made)

    def about(self, condition: str) -> list[Decision]:
        """Those on one condition that say true or false."""
        return [one for one in self.made if one.condition == condition and one.verdict != NOTED]


def account(grid: Grid, decisions: Decisions) -> dict[str, Any] | None:
    """How many were obeyed, and which matched no reading of the grid; None without any."""
    if not decisions:
        return None
    matched = [_readings(grid, one) for one in decisions.made]
    out: dict[str, Any] = {"file": decisions.file, "read": len(decisions.made)}
    for verdict in VERDICTS:
        out[verdict] = sum(
            1
            for one, n in zip(decisions.made, matched, strict=True)
            if n and one.verdict == verdict
        )
    missed = [one for one, n in zip(decisions.made, matched, strict=True) if not n]
    out["matched_nothing"] = len(missed)
    out["unmatched"] = [_described(one) for one in missed[:NAMED]]
    return out


def _readings(grid: Grid, one: Decision) -> int:
    """Readings of the grid that a decision is about."""
    if one.condition not in grid.values or one.node not in grid.nodes:
        return 0
    column = grid.values[one.condition][:, grid.nodes.index(one.node)]
    return sum(
        int(np.count_nonzero(~np.isnan(column[rows]))) for rows in one.rows(grid.times, grid.slot)
    )


def _described(one: Decision) -> str:
    when = moment(one.parts[0][0])
    return f"node {shown(one.node)}, {shown(one.condition)}, {when}: {one.verdict}"
