"""The newest slots of the journal as arrays: slots × nodes, a mean in each.

Kept in memory, read again where readings came late. Columns are the journal's node ids in order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from itertools import chain

import numpy as np

from fieldmend.grid import Array, Grid
from fieldmend.quantities import Kind, circle, identify

Values = dict[str, Array]
LOOKED_AT = 2000  # readings of a direction


def turns(connection: sqlite3.Connection) -> dict[int, float]:
    """Conditions whose name says that they are directions: id → length of a turn."""
    out = {}
    for condition, name, unit in connection.execute("SELECT id, name, unit FROM conditions"):
        found = identify(name, unit or "", np.zeros((0, 1)))
        if found.kind is not Kind.CIRCULAR:
            continue
        some = connection.execute(
            "SELECT value FROM readings WHERE condition = ? LIMIT ?", (condition, LOOKED_AT)
        ).fetchall()  # degrees or radians? the range says
        period = identify(name, unit or "", np.array(some, dtype=np.float64)).period
        out[int(condition)] = period or found.period
    return out


def means(  # noqa: PLR0917 - which readings
    connection: sqlite3.Connection,
    first: int,
    slots: int,
    slot: int,
    nodes: int,
    turns: Mapping[int, float],
) -> dict[int, Array]:
    """Condition id → slots × nodes from the readings in [first, first + slots·slot).

    A mean is taken as a departure from the slot's first reading: equal readings give that reading,
    and directions (`turns`) the one between them.
    """
    # As one number each, so that a slot of thousands of nodes is fetched and turned fast.
    found = connection.execute(
        "SELECT (condition * ?3 + (time - ?1) / ?4) * ?5 + node - 1, value FROM readings "
        "WHERE time >= ?1 AND time < ?2 AND node <= ?5 ORDER BY time",
        (first, first + slots * slot, slots, slot, nodes),
    )
    table = np.fromiter(chain.from_iterable(found), np.float64)
    condition, cell = np.divmod(table[::2].astype(np.intp), max(slots * nodes, 1))
    out: dict[int, Array] = {}
    for one in np.unique(condition).tolist():
        mine = condition == one
        mean = _mean(cell[mine], table[1::2][mine], slots * nodes, turns.get(one))
        out[one] = mean.reshape(slots, nodes)
    return out


def _mean(cell: Array, value: Array, cells: int, turn: float | None) -> Array:
    """Of each cell's values, NaN where there are none; of directions the one between them."""
    base = np.zeros(cells)
    base[cell[::-1]] = value[::-1]
    number = np.bincount(cell, minlength=cells)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = value - base[cell]
        if turn is not None:
            apart = circle.turned(apart, turn)
        off = np.bincount(cell, apart, minlength=cells)
        mean = np.where(number > 0, base + off / np.maximum(number, 1), np.nan)
        if turn is not None:
            low = -turn / 2 if (value < 0).any() else 0.0
            mean = np.where(number > 1, circle.first_turn(mean, turn, low), mean)
    out: Array = np.where(np.isfinite(mean), mean, np.nan)
    return out


class _Newest:
    """The newest rows of an array: one more is written behind them, and seldom moves the others."""

    def __init__(self, rows: Array, length: int) -> None:
        self.length = length
        kept = rows[max(0, len(rows) - length) :]
        self._room = np.empty((2 * length, kept.shape[1]))
        self._room[: len(kept)] = kept
        self._stop = len(kept)

    @property
    def rows(self) -> Array:
        """As they are: what is written into them is written."""
        return self._room[max(0, self._stop - self.length) : self._stop]

    def append(self, row: Array) -> None:
        """One more; the oldest goes when there are too many."""
        if self._stop == len(self._room):
            self._room[: self.length] = self.rows  # from the other half
            self._stop = self.length
        self._room[self._stop] = row
        self._stop += 1

    def widen(self, nodes: int) -> _Newest:
        """The same, with room for so many nodes."""
        missing = nodes - self._room.shape[1]
        if not missing:
            return self
        more = np.full((len(self.rows), missing), np.nan)
        return _Newest(np.hstack([self.rows, more]), self.length)


class Recent:
    """The newest `length` slots, up to one that is not in it any more (`stop`, µs)."""

    def __init__(self, slot: int, length: int) -> None:
        self.slot, self.length = slot, length
        self.stop = 0
        self.nodes: tuple[str, ...] = ()
        self.rows = 0
        self._values: dict[int, _Newest] = {}
        self._names: dict[int, str] = {}
        self._turns: dict[int, float] = {}

    @property
    def first(self) -> int:
        """Where the oldest slot begins, µs."""
        return self.stop - self.rows * self.slot

    def load(self, connection: sqlite3.Connection, stop: int, rows: int) -> None:
        """Forget what is there and read the `rows` slots before `stop`."""
        self.stop, self.rows = stop, min(rows, self.length)
        self._learn(connection)
        read = self._means(connection, self.first, self.rows)
        self._values = {c: _Newest(X, self.length) for c, X in read.items()}

    def advance(self, connection: sqlite3.Connection) -> None:
        """One slot more; the oldest goes when there are too many."""
        self._learn(connection)
        new = self._means(connection, self.stop, 1)
        self._reach(new)
        silent = np.full((1, len(self.nodes)), np.nan)
        for condition, known in self._values.items():
            known.append(new.get(condition, silent)[0])
        self.stop += self.slot
        self.rows = min(self.rows + 1, self.length)

    def reread(self, connection: sqlite3.Connection, slots: Iterable[int]) -> None:
        """Slots (their left edges) that got readings after they were read."""
        self._learn(connection)
        self._reach(())
        for start in slots:
            row = (start - self.first) // self.slot
            if not 0 <= row < self.rows:
                continue
            read = self._means(connection, start, 1)
            self._reach(read)
            for condition, X in read.items():
                self._values[condition].rows[row] = X[0]

    def _reach(self, conditions: Iterable[int]) -> None:
        """Every node has a column; so have these conditions, if they are new."""
        width = len(self.nodes)
        self._values = {c: known.widen(width) for c, known in self._values.items()}
        for condition in conditions:
            if condition not in self._values:
                nothing = np.full((self.rows, width), np.nan)
                self._values[condition] = _Newest(nothing, self.length)

    def latest(self) -> Values:
        """Condition → the newest slot's readings."""
        return {self._names[c]: known.rows[-1].copy() for c, known in self._values.items()}

    def grid(self, rows: slice = slice(None)) -> Grid:
        """Some of the slots as a grid."""
        times = self.first + self.slot * np.arange(self.rows, dtype=np.int64)
        values = {self._names[c]: self._values[c].rows[rows].copy() for c in sorted(self._values)}
        return Grid(values, self.nodes, times[rows], self.slot)

    def _means(self, connection: sqlite3.Connection, first: int, rows: int) -> dict[int, Array]:
        return means(connection, first, rows, self.slot, len(self.nodes), self._turns)

    def _learn(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT count(*) FROM nodes").fetchone()[0] != len(self.nodes):
            self.nodes = tuple(
                row[0] for row in connection.execute("SELECT name FROM nodes ORDER BY id")
            )
        names = dict(connection.execute("SELECT id, name FROM conditions"))
        if names != self._names:
            self._names, self._turns = names, turns(connection)
