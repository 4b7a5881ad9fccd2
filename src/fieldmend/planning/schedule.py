"""Who sends when: a design, how often, and each node's phase; and what that leaves of a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fieldmend.grid import Array, Grid

DESIGNS = ("clock", "staggered", "change")
GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are spread evenly however many are taken, and neighbours far apart."""
PHASES = 4
SHORT = 12  # slots: a longer silence is a node that was down, and such a node has nothing to send


@dataclass(frozen=True, eq=False)
class Schedule:
    """When which node sends.

    Attributes
    ----------
    design
        ``clock``: all together, every so many slots; ``staggered``: each node at a phase of its
        own; ``change``: measured in every slot, sent when it has moved.
    nodes
        Their names.
    slot
        In microseconds.
    every
        Slots from one measurement of a node to the next.
    phases
        Slots past the common clock, one number a node.
    offset
        Where slots begin, in microseconds past a whole number of slots since 1970.
    changes
        Condition → a reading is sent if it lies farther than this from the last one sent; empty
        where every measurement is sent.

    Examples
    --------
    >>> grid = Grid.of(np.zeros((6, 3)))
    >>> Schedule.of("staggered", grid, 3).due(grid.times).astype(int).tolist()
    [[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 0]]
    """

    design: str
    nodes: tuple[str, ...]
    slot: int
    every: int
    phases: Array
    offset: int = 0
    changes: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, design: str, grid: Grid, every: int = 1, changes: Mapping[str, float] | None = None
    ) -> Schedule:
        """A design for the nodes of a grid."""
        phases = np.zeros(len(grid.nodes), dtype=np.int64)
        if design == "staggered":
            phases = np.floor(np.arange(len(grid.nodes)) * GOLDEN % 1.0 * every).astype(np.int64)
        offset = int(grid.times[0]) % grid.slot
        return cls(design, grid.nodes, grid.slot, every, phases, offset, dict(changes or {}))

    def shifted(self, times: int) -> list[Schedule]:
        """The same begun at up to so many times, four at the most: evenly spread phases.

        A node that sends on change has no phase: itself alone.
        """
        count = 1 if self.changes else min(times, self.every, PHASES)
        later = [k * self.every // count for k in range(1, count)]
        return [self, *(replace(self, phases=(self.phases + k) % self.every) for k in later)]

    def due(self, times: Array) -> Array:
        """True where a node measures: slots × nodes."""
        number = (np.asarray(times) - self.offset) // self.slot
        return np.asarray((number % self.every)[:, None] == self.phases)

    def sent(self, values: Mapping[str, Array], times: Array) -> Array:
        """True where a node sends: it measures, there is a reading, and it moved far enough.

        A message carries all conditions.
        """
        there = np.any([~np.isnan(X) for X in values.values()], axis=0)
        due = self.due(times) & there
        if not self.changes:
            return np.asarray(due)
        out = np.zeros_like(due)
        watched = {name: values[name] for name in self.changes}
        last = {name: np.full(due.shape[1], np.nan) for name in watched}
        for t in np.flatnonzero(due.any(axis=1)):
            moved = np.zeros(due.shape[1], dtype=np.bool_)
            for name, X in watched.items():
                with np.errstate(invalid="ignore"):
                    moved |= ~np.isnan(X[t]) & ~(np.abs(X[t] - last[name]) <= self.changes[name])
            out[t] = moved & due[t]
            for name, X in watched.items():
                last[name] = np.where(out[t] & ~np.isnan(X[t]), X[t], last[name])
        return np.asarray(out)

    def rows(self) -> list[dict[str, Any]]:
        """One row a node, as schedule.csv has them; times in seconds since 1970, UTC."""
        interval = self.every * self.slot / 1e6
        change = dict(self.changes)
        return [
            {
                "node": node,
                "interval_s": interval,
                "phase_s": (int(phase) * self.slot + self.offset) / 1e6,
                **_changes(change),
            }
            for node, phase in zip(self.nodes, self.phases, strict=True)
        ]


def _changes(changes: dict[str, float]) -> dict[str, float | str]:
    """One column, `change`; of several conditions one each."""
    if len(changes) > 1:
        return {f"change_{name}": value for name, value in changes.items()}
    return {"change": next(iter(changes.values()), "")}


def received(sent: Array, values: Mapping[str, Array]) -> Array:
    """What of the messages arrives, as far as the record knows how messages get lost.

    A message of the clock at a slot whose reading was lost is lost: it is not in `sent`. One that
    is sent on change is sent at a slot whose reading arrived, so nothing would ever be lost:
    the record's own short gaps are laid half a record further on. It is these that make silence
    say something false.
    """
    there = np.any([~np.isnan(X) for X in values.values()], axis=0)
    lost = short_gaps(there)
    return np.asarray(sent & ~np.roll(lost, len(lost) // 2, axis=0))


def short_gaps(there: Array) -> Array:
    """True in gaps of at most `SHORT` slots."""
    number = np.arange(len(there))[:, None]
    before = np.maximum.accumulate(np.where(there, number, -1), axis=0)
    after = np.minimum.accumulate(np.where(there, number, len(there))[::-1], axis=0)[::-1]
    inside = (before >= 0) & (after < len(there))
    return np.asarray(~there & inside & (after - before - 1 <= SHORT))
