"""Readings into the journal's tables, in a transaction: ids, repeats, sequence numbers, counts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator

from fieldmend.field.fieldmodel import FieldModel
from fieldmend.grid import stamp
from fieldmend.live.clock import SECOND
from fieldmend.live.journal import Journal, add
from fieldmend.live.messages import Read, Reading, Refused
from fieldmend.text import duration, shown

MINUTE = 60 * SECOND
AHEAD = 300 * SECOND  # a stamp that is further ahead is a wrong clock
UNSET = 946_684_800 * SECOND  # the year 2000: a clock that was never set begins before it
KEPT_REJECTS = 1000
MOST_NODES = 20_000  # of a network
MOST_CONDITIONS = 100
# Ids that may join in a day once there is a model: so many, or this share of those known.
NEW_NODES, NEW_SHARE = 100, 0.5
DAY = 86_400 * SECOND
Row = tuple[int, int, int, float, int]  # of `readings`
RESTART = 100_000  # a sequence number that leaps further has started again


def wrong_clock(read: Reading, arrived: int) -> Refused | None:
    """Why a reading's stamp cannot be right, if so."""
    if read.time > arrived + AHEAD:
        early = duration((read.time - arrived) // MINUTE * MINUTE)
        # Local time without its zone is the usual cause: UTC is assumed.
        return Refused("clock ahead", f"{_said(read)} is {early} ahead of our clock: local time?")
    if read.time < UNSET:
        return Refused("clock not set", _said(read))
    return None


def _said(read: Reading) -> str:
    return f"{shown(read.node)} {shown(read.condition)} {stamp(read.time)} {read.value}"


class Writer:
    """What has to be known to write: ids by name, newest sequence numbers."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.forget()

    def forget(self) -> None:
        """Know again what the journal knows: after a transaction that failed."""
        with self.journal.lock:
            run = self.journal.connection.execute
            self.nodes: dict[str, int] = dict(run("SELECT name, id FROM nodes"))
            self.conditions: dict[str, int] = dict(run("SELECT name, id FROM conditions"))
            self.sequences: dict[int, tuple[int, int]] = {
                node: (last, time)
                for node, last, time in run(
                    "SELECT id, sequence_last, sequence_time FROM nodes "
                    "WHERE sequence_last IS NOT NULL"
                )
            }
            self.joined: tuple[int, int] = (0, 0)  # day, ids that joined on it
            self._begin_news()

    def _begin_news(self) -> None:
        self._heard: dict[str, int] = {}
        self._late: set[int] = set()

    def news(self) -> tuple[dict[str, int], set[int]]:
        """Since the last call: nodes and their newest stamps; closed slots that got a reading."""
        with self.journal.lock:
            out = self._heard, self._late
            self._begin_news()
            return out

    def store(
        self, connection: sqlite3.Connection, reads: Iterable[Read], arrived: int
    ) -> dict[str, int]:
        """Store what is new.

        Parameters
        ----------
        connection
            In a transaction.
        reads
            Readings, and what was refused.
        arrived
            When, µs.

        Returns
        -------
        dict
            Readings ``stored``, ``duplicate`` and ``rejected``.
        """
        refused: list[Refused] = []
        rows, heard = [], []
        for read in reads:
            if isinstance(read, Refused):
                refused.append(read)
                continue
            ids = self._ids(connection, read, arrived)
            if isinstance(ids, Refused):
                refused.append(ids)
                continue
            rows.append((read.time, *ids, read.value, arrived))
            heard.append((ids[0], read))
        received = len(rows) + len(refused)
        stored, late = self._insert(connection, rows)
        if stored < len(rows):
            refused += _other_values(connection, rows, heard)
        self._note(connection, heard, arrived)
        rejected = len(refused)
        duplicate = received - stored - rejected
        numbers = Counter(f"rejected {one.why}" for one in refused)
        numbers.update(
            received=received, stored=stored, duplicate=duplicate, rejected=rejected, late=late
        )
        add(connection, dict(numbers))
        self._reject(connection, refused, arrived)
        return {"stored": stored, "duplicate": duplicate, "rejected": rejected}

    def introduce(self, connection: sqlite3.Connection, model: FieldModel) -> None:
        """Nodes and conditions that a model knows: they belong to the network, heard or not."""
        for name in model.nodes:
            if name not in self.nodes:
                self._add(connection, name)
        for name, part in model.conditions.items():
            self._condition(connection, name)
            connection.execute(
                "UPDATE conditions SET unit = ? WHERE name = ? AND unit = ''", (part.unit, name)
            )

    def _ids(
        self, connection: sqlite3.Connection, read: Reading, arrived: int
    ) -> tuple[int, int] | Refused:
        wrong = wrong_clock(read, arrived)
        if wrong is not None:
            return wrong
        node = self.nodes.get(read.node)
        if read.condition not in self.conditions and len(self.conditions) >= MOST_CONDITIONS:
            return Refused("new condition", _said(read))
        if node is None:
            node = self._join(connection, read.node, arrived)
            if node is None:
                return Refused("new node", _said(read))
        return node, self._condition(connection, read.condition)

    def _condition(self, connection: sqlite3.Connection, name: str) -> int:
        if name not in self.conditions:
            self.conditions[name] = len(self.conditions) + 1
            connection.execute(
                "INSERT INTO conditions (id, name) VALUES (?, ?)", (self.conditions[name], name)
            )
        return self.conditions[name]

    def _add(self, connection: sqlite3.Connection, name: str) -> int:
        self.nodes[name] = len(self.nodes) + 1
        connection.execute("INSERT INTO nodes (id, name) VALUES (?, ?)", (self.nodes[name], name))
        return self.nodes[name]

    def _join(self, connection: sqlite3.Connection, name: str, arrived: int) -> int | None:
        """The id of a new node, if there is room: a flood of names must not become a network."""
        if len(self.nodes) >= MOST_NODES:
            return None
        if self._has_model(connection):
            day, joined = self.joined
            if day != arrived // DAY:
                day, joined = arrived // DAY, 0
            if joined >= max(NEW_NODES, NEW_SHARE * (len(self.nodes) - joined)):
                return None
            self.joined = day, joined + 1
        return self._add(connection, name)

    @staticmethod
    def _has_model(connection: sqlite3.Connection) -> bool:
        return connection.execute("SELECT 1 FROM models WHERE taken LIMIT 1").fetchone() is not None

    def _insert(self, connection: sqlite3.Connection, rows: list[Row]) -> tuple[int, int]:
        """How many were new, and how many of those came after their slot was closed."""
        before = connection.total_changes
        connection.executemany("INSERT OR IGNORE INTO readings VALUES (?, ?, ?, ?, ?)", rows)
        stored = connection.total_changes - before
        closed = self._closed(connection)
        late = [row[0] for row in rows if row[0] < closed] if closed else []
        self._late.update(time // self.journal.slot * self.journal.slot for time in late)
        return stored, min(len(late), stored)

    @staticmethod
    def _closed(connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT value FROM meta WHERE name = 'closed'").fetchone()
        return 0 if row is None else int(row[0])

    def _note(
        self, connection: sqlite3.Connection, heard: list[tuple[int, Reading]], arrived: int
    ) -> None:
        """Newest stamps, and numbers of the sequence that are missing."""
        newest: dict[int, tuple[int, int]] = {}
        for node, read in heard:
            latest, number = newest.get(node, (0, 0))
            newest[node] = max(latest, read.time), number + 1
            self._heard[read.node] = max(read.time, self._heard.get(read.node, 0))
            if read.sequence is not None:
                self._number(connection, node, read.sequence, read.time)
        connection.executemany(
            "UPDATE nodes SET readings = readings + ?, latest = max(coalesce(latest, 0), ?), "
            "heard = ?, sequence_last = ?, sequence_time = ? WHERE id = ?",
            [
                (number, latest, arrived, *self.sequences.get(node, (None, None)), node)
                for node, (latest, number) in newest.items()
            ],
        )

    def _number(self, connection: sqlite3.Connection, node: int, sequence: int, time: int) -> None:
        """Note the numbers that were left out; one that comes late leaves its hole again."""
        if node not in self.sequences:
            self.sequences[node] = sequence, time
            return
        last, newest = self.sequences[node]
        if sequence == last:
            return  # another condition of the same message, or a repeat
        if last < sequence <= last + RESTART:
            if sequence > last + 1:
                connection.execute(
                    "INSERT OR IGNORE INTO holes VALUES (?, ?, ?)", (node, last + 1, sequence - 1)
                )
            self.sequences[node] = sequence, max(time, newest)
        elif time > newest:  # the node has started again: what is missing stays missing
            self.sequences[node] = sequence, time
            (lost,) = connection.execute(
                "SELECT coalesce(sum(last - first + 1), 0) FROM holes WHERE node = ?", (node,)
            ).fetchone()
            add(connection, {"sequence_lost": lost})
            connection.execute("DELETE FROM holes WHERE node = ?", (node,))
        else:
            _fill(connection, node, sequence)

    def _reject(self, connection: sqlite3.Connection, refused: list[Refused], arrived: int) -> None:
        if not refused:
            return
        connection.executemany(
            "INSERT INTO rejects (arrived, why, text) VALUES (?, ?, ?)",
            [(arrived, one.why, one.text[:200]) for one in refused[-KEPT_REJECTS:]],
        )
        connection.execute(
            "DELETE FROM rejects WHERE id <= (SELECT max(id) FROM rejects) - ?", (KEPT_REJECTS,)
        )


def _other_values(
    connection: sqlite3.Connection, rows: list[Row], heard: list[tuple[int, Reading]]
) -> Iterator[Refused]:
    """No repeats: another value at a time that has one, as in the hour that autumn has twice."""
    for row, (_, read) in zip(rows, heard, strict=True):
        (kept,) = connection.execute(
            "SELECT value FROM readings WHERE time = ? AND node = ? AND condition = ?", row[:3]
        ).fetchone()
        if kept != read.value:
            yield Refused("another value", f"{_said(read)}, kept: {kept}")


def _fill(connection: sqlite3.Connection, node: int, sequence: int) -> None:
    """A number that came after all."""
    found = connection.execute(
        "SELECT first, last FROM holes WHERE node = ? AND first <= ? ORDER BY first DESC LIMIT 1",
        (node, sequence),
    ).fetchone()
    if found is None or found[1] < sequence:
        return
    connection.execute("DELETE FROM holes WHERE node = ? AND first = ?", (node, found[0]))
    parts = ((found[0], sequence - 1), (sequence + 1, found[1]))
    connection.executemany(
        "INSERT INTO holes VALUES (?, ?, ?)", [(node, a, b) for a, b in parts if a <= b]
    )
