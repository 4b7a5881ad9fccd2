"""Episodes: what somebody should look at, opened once and closed once.

Single false readings are flags, no episodes. What opens one: a silence longer than the node's own
habit; a lasting fault that the batch rules find in the window and that reaches the present; three
nodes or more that are all unlike what is expected. It closes when that has been gone for an hour's
worth of slots; what comes back within six hours is the same episode, and nobody is told again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fieldmend.faults import Kind
from fieldmend.grid import stamp
from fieldmend.text import listed, shown

HOUR = 3_600_000_000
REPEAT = 6 * HOUR  # an episode that comes back sooner is the same one
KINDS = {Kind.DEAD: "dead", Kind.STUCK: "stuck", Kind.DRIFT: "drift", Kind.BIAS: "offset"}
"""Kinds of the batch that last, and what they are called here."""
VISIT = {name: kind.visit for kind, name in KINDS.items()} | {
    "silent": Kind.SILENT.visit,
    "event": "look at what happened there",
}
NETWORK = 0  # the node of an episode that no single node has
# Windows in a row that have to see it before it is said; others are said at once. What ends at the
# newest slot is judged with nothing after it: on untouched days of 51 nodes, offsets and deaths
# that were seen once were gone at the next look.
SIGHTINGS = {"drift": 2, "offset": 6, "dead": 6}


@dataclass(frozen=True)
class Sighting:
    """What is the case in the newest slots. Of each `family`, a node has one at a time."""

    family: str
    node: int  # the journal's id
    condition: int  # 0: all of them
    kind: str
    since: int
    text: str
    value: float | None = None
    expected: float | None = None
    score: float | None = None
    nodes: int = 1
    times: int = 1  # that it was seen in a row, by who looks more often than he is asked

    @property
    def key(self) -> tuple[str, int, int]:
        """Which episode it belongs to."""
        return self.family, self.node, self.condition


@dataclass
class _Open:
    id: int
    last: int  # slot of the newest sighting
    kind: str


@dataclass
class Episodes:
    """What is open. `see` is called in the transaction that closes a slot.

    Parameters
    ----------
    away
        How long something has to be gone before its episode closes, by family, µs.
    """

    away: dict[str, int]
    open: dict[tuple[str, int, int], _Open] = field(default_factory=dict)
    seen_before: dict[tuple[str, int, int], int] = field(default_factory=dict)

    def load(self, connection: sqlite3.Connection) -> None:
        """What was open when the process ended."""
        self.open = {}
        for row in connection.execute(
            "SELECT id, node, condition, kind, first_seen FROM episodes WHERE until IS NULL"
        ):
            self.open[family(row[3]), row[1], row[2]] = _Open(row[0], row[4], row[3])

    def see(
        self,
        connection: sqlite3.Connection,
        families: Iterable[str],
        sightings: Iterable[Sighting],
        slot: int,
        closing: int | None,
    ) -> None:
        """Open and close.

        Parameters
        ----------
        connection
            In a transaction.
        families
            Those that were looked at: what is not seen of these is gone.
        sightings
            What was seen.
        slot
            The newest slot.
        closing
            Id of the closing that this is said with.
        """
        now = {one.key: one for one in sightings}
        for key, one in now.items():
            if key in self.open:
                self.open[key].last = slot
                continue
            times = self.seen_before.get(key, 0) + one.times
            if times >= SIGHTINGS.get(one.kind, 1):
                self._open(connection, one, slot, closing)
            self.seen_before[key] = times
        looked_at = set(families)
        for key in [k for k in self.seen_before if k[0] in looked_at and k not in now]:
            del self.seen_before[key]
        for key, there in list(self.open.items()):
            if key[0] in looked_at and key not in now and slot - there.last >= self.away[key[0]]:
                self._close(connection, there, slot, closing)
                del self.open[key]

    def _open(
        self, connection: sqlite3.Connection, one: Sighting, slot: int, closing: int | None
    ) -> None:
        again = connection.execute(
            "SELECT id FROM episodes WHERE node = ? AND condition = ? AND kind = ? "
            "AND (until >= ? OR since = ?) ORDER BY id DESC LIMIT 1",
            (one.node, one.condition, one.kind, slot - REPEAT, one.since),
        ).fetchone()
        if again is not None:
            connection.execute("UPDATE episodes SET until = NULL WHERE id = ?", again)
            self.open[one.key] = _Open(again[0], slot, one.kind)
            return
        off = None if one.value is None or one.expected is None else one.value - one.expected
        row = connection.execute(
            "INSERT INTO episodes (node, condition, kind, since, first_seen, value, expected, "
            "deviation, score, nodes, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (one.node, one.condition, one.kind, one.since, slot, one.value, one.expected, off,
             one.score, one.nodes, _text(connection, one)),
        )  # fmt: skip
        self.open[one.key] = _Open(int(row.lastrowid or 0), slot, one.kind)
        self._tell(connection, self.open[one.key].id, "open", slot, closing)

    def _close(
        self, connection: sqlite3.Connection, there: _Open, slot: int, closing: int | None
    ) -> None:
        told = connection.execute(
            "SELECT count(*) FROM alerts WHERE episode = ? AND state = 'close'", (there.id,)
        ).fetchone()[0]
        connection.execute("UPDATE episodes SET until = ? WHERE id = ?", (there.last, there.id))
        if not told:
            self._tell(connection, there.id, "close", slot, closing)

    def _tell(
        self,
        connection: sqlite3.Connection,
        episode: int,
        state: str,
        slot: int,
        closing: int | None,
    ) -> None:
        cursor = connection.execute("SELECT * FROM episodes WHERE id = ?", (episode,))
        row = dict(zip((c[0] for c in cursor.description), cursor.fetchone(), strict=True))
        said: dict[str, Any] = {
            "id": episode,
            "state": state,
            "node": _name(connection, "nodes", row["node"]),
            "condition": _name(connection, "conditions", row["condition"]),
            "kind": row["kind"],
            "since": stamp(row["since"]),
            "first_seen": stamp(row["first_seen"]),
            "until": None if row["until"] is None else stamp(row["until"]),
            **{name: row[name] for name in ("value", "expected", "deviation", "score", "nodes")},
            "text": row["text"],
        }
        connection.execute(
            "INSERT INTO alerts (episode, closing, state, made, said) VALUES (?, ?, ?, ?, ?)",
            (episode, closing, state, slot, json.dumps(said)),
        )


def _name(connection: sqlite3.Connection, table: str, number: int) -> str:
    """Of a node or a condition; of none, nothing."""
    row = connection.execute(f"SELECT name FROM {table} WHERE id = ?", (number,)).fetchone()
    return "" if row is None else str(row[0])


def _text(connection: sqlite3.Connection, one: Sighting) -> str:
    who = shown(_name(connection, "nodes", one.node) or "the network")
    what = _name(connection, "conditions", one.condition)
    head = f"{who}, {shown(what)}" if what else who
    visit = VISIT[one.kind]
    return f"{head}: {one.text}. {visit[:1].upper()}{visit[1:]}."


def family(kind: str) -> str:
    """Of each family, a node (and condition) has one episode at a time."""
    return kind if kind in ("silent", "event") else "lasting"


def some_names(names: list[str], most: int = 5) -> str:
    """The first few, and how many more."""
    head = [shown(name) for name in names[:most]]
    return listed([*head, f"{len(names) - most} more"] if len(names) > most else head)
