"""What the journal says, as plain dicts: for the server, `live status` and whoever asks.

Read-only, each call a snapshot of its own. Times are ISO 8601, UTC; numbers are finite or None.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.flags import Flag
from fieldmend.grid import Array, stamp
from fieldmend.live.counting import counts
from fieldmend.live.journal import read_only
from fieldmend.live.messages import moment

COLUMNS = "observed", "estimate", "lower", "upper"
MOST_EVENTS = 100
Json = dict[str, Any]


class View:
    """Questions to the journal of a folder; any number of threads may ask.

    Parameters
    ----------
    folder
        The state's.

    Raises
    ------
    InputError
        Where there is no journal.

    Examples
    --------
    >>> import tempfile
    >>> from fieldmend.live.journal import Journal
    >>> folder = tempfile.mkdtemp()
    >>> journal = Journal.open(folder, slot=300_000_000)
    >>> View(folder).counts()["readings"]["stored"]
    0
    >>> journal.close()
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        with self._reading():
            pass

    def now(self) -> Json:
        """The network as it is now.

        Returns
        -------
        dict
            ``network``, ``slot`` (the newest closed, None before any), ``slot_seconds``,
            ``status``, ``why``, ``model`` (None while there is none), ``conditions`` (name →
            unit), ``nodes`` and ``episodes`` (open, as in `episodes`). Each node: ``node``,
            ``x``, ``y`` (None without a place), ``heard`` (its newest stamp),
            ``cadence_seconds``, ``state`` and ``values``: condition → ``slot``, ``rev``,
            ``observed``, ``estimate``, ``lower``, ``upper``, ``flag``. The state is ``ok``,
            ``waiting`` (nothing can be said yet), ``suspect`` (its newest reading was not
            believed), or the kind of its gravest open episode: ``dead``, ``stuck``, ``drift``,
            ``offset``, ``silent``, ``event``.
        """
        with self._reading() as connection:
            meta = _meta(connection)
            open_ = _episodes(connection, "WHERE e.until IS NULL")
            newest = connection.execute(
                "SELECT id, slot, rev FROM slots WHERE rev = 0 ORDER BY slot DESC LIMIT 1"
            ).fetchone()
            values = _values(connection, newest)
            nodes = [
                self._node(row, values.get(row["id"], {}), open_)
                for row in _rows(connection, "SELECT * FROM nodes ORDER BY id")
            ]
            return {
                "network": meta.get("network", ""),
                "slot": None if newest is None else stamp(newest[1]),
                "slot_seconds": int(meta.get("slot", 0)) / 1e6,
                "status": meta.get("status", "starting"),
                "why": meta.get("status_why", ""),
                "model": meta.get("model"),
                "conditions": dict(connection.execute("SELECT name, unit FROM conditions")),
                "nodes": nodes,
                "episodes": open_,
            }

    def node(
        self, name: str, start: int | str | None = None, end: int | str | None = None
    ) -> Json | None:
        """One node's slots, each in its newest revision.

        Parameters
        ----------
        name
            The node's.
        start, end
            From (included) and to (not included): µs, or ISO 8601. The last day if not given.

        Returns
        -------
        dict or None
            ``node``, ``heard``, ``conditions``: name → ``unit``, ``slot`` (list of times),
            ``rev``, ``observed``, ``estimate``, ``lower``, ``upper``, ``flag`` (lists as long);
            ``neighbours``: the names of the nodes most like it (at most 3); ``episodes``. None
            where there is no such node.

        Raises
        ------
        ValueError
            Where `start` or `end` is no time.
        """
        with self._reading() as connection:
            found = connection.execute("SELECT * FROM nodes WHERE name = ?", (name,)).fetchone()
            if found is None:
                return None
            span = _span(connection, start, end)
            return {
                "node": name,
                "heard": _time(found["latest"]),
                "conditions": _history(connection, found["id"], span),
                "neighbours": _neighbours(connection, name),
                "episodes": _episodes(connection, "WHERE n.name = ?", name),
            }

    def episodes(self, *, state: str | None = None, limit: int = 200) -> list[Json]:
        """Episodes, those open first, the newest first.

        Parameters
        ----------
        state
            ``"open"`` or ``"close"``; both if not given.
        limit
            At most so many.

        Returns
        -------
        list of dict
            ``id``, ``state``, ``node``, ``condition``, ``kind``, ``since``, ``first_seen``,
            ``until`` (None while open), ``value``, ``expected``, ``deviation``, ``score``,
            ``nodes``, ``text``.
        """
        where = {None: "", "open": "WHERE e.until IS NULL", "close": "WHERE e.until IS NOT NULL"}
        if state not in where:
            msg = f"state={state!r}: open or close"
            raise ValueError(msg)
        with self._reading() as connection:
            return _episodes(connection, where[state])[:limit]

    def events_after(self, after: int, limit: int = MOST_EVENTS) -> list[Json]:
        """Closings of slots that came after one of them, in order.

        Parameters
        ----------
        after
            The id of the last one seen; 0 for all that are kept, -1 for none but the newest.
        limit
            At most so many.

        Returns
        -------
        list of dict
            ``id``, ``slot``, ``rev``, ``model``, ``conditions``: name → ``nodes``,
            ``observed``, ``estimate``, ``lower``, ``upper``, ``flag`` (lists as long);
            ``alerts``: what was said of episodes then.
        """
        with self._reading() as connection:
            if after < 0:
                newest = connection.execute("SELECT coalesce(max(id), 0) FROM slots").fetchone()[0]
                after = newest - 1
            names = _node_names(connection)
            closings = _rows(
                connection, "SELECT * FROM slots WHERE id > ? ORDER BY id LIMIT ?", after, limit
            )
            return [_event(connection, one, names) for one in closings]

    def counts(self) -> Json:
        """What came and what became of it: `live status --json`, and what /metrics shows.

        Returns
        -------
        dict
            ``network``, ``status``, ``why``, ``readings``: ``received``, ``stored``,
            ``duplicate``, ``late``, ``rejected``; ``rejected``: why → number; ``nodes``;
            ``slots``: ``closed``, ``settled``; ``episodes``: kind → open; ``model``: ``name``,
            ``error`` (on the replay), ``age_seconds``, None without one; ``lag_seconds`` (since
            the end of the newest closed slot), ``slot_seconds`` (CPU of the newest closing),
            ``outbox`` (rows not sent yet), ``broker_dropped``, ``sequence_gaps``,
            ``journal_bytes``.
        """
        with self._reading() as connection:
            return counts(connection, self.folder)

    def rejects(self, limit: int = 100) -> list[Json]:
        """The newest that were refused: ``arrived``, ``why``, ``text``."""
        with self._reading() as connection:
            return [
                {"arrived": stamp(row["arrived"]), "why": row["why"], "text": row["text"]}
                for row in _rows(
                    connection, "SELECT * FROM rejects ORDER BY id DESC LIMIT ?", limit
                )
            ]

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with closing(read_only(self.folder)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("BEGIN")  # one snapshot
            yield connection

    @staticmethod
    def _node(row: sqlite3.Row, values: Json, open_: list[Json]) -> Json:
        mine = [one["kind"] for one in open_ if one["node"] == row["name"]]
        flags = [value["flag"] for value in values.values()]
        state = "ok"
        if mine:
            state = min(mine, key=GRAVITY.index)
        elif any(flag in (Flag.SUSPECT, Flag.FAIL) for flag in flags):
            state = "suspect"
        elif not any(flag in (Flag.PASS, Flag.MISSING) for flag in flags):
            state = "waiting"
        return {
            "node": row["name"],
            "x": row["x"],
            "y": row["y"],
            "heard": _time(row["latest"]),
            "cadence_seconds": None if row["cadence"] is None else row["cadence"] / 1e6,
            "state": state,
            "values": values,
        }


GRAVITY = "dead", "stuck", "drift", "offset", "silent", "event"
"""Kinds of episodes, the gravest first."""


def _rows(connection: sqlite3.Connection, sql: str, *given: Any) -> list[sqlite3.Row]:
    return connection.execute(sql, given).fetchall()


def _meta(connection: sqlite3.Connection) -> dict[str, Any]:
    return dict(connection.execute("SELECT name, value FROM meta").fetchall())


def _node_names(connection: sqlite3.Connection) -> list[str]:
    """By id − 1."""
    return [row[0] for row in connection.execute("SELECT name FROM nodes ORDER BY id")]


def _time(microseconds: int | None) -> str | None:
    return None if microseconds is None else stamp(microseconds)


def numbers(blob: bytes) -> Array:
    """The array of a `clean` row."""
    return np.frombuffer(blob, "<f8")


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _listed(array: Array) -> list[float | None]:
    return [_finite(value) for value in array.tolist()]


def _values(connection: sqlite3.Connection, newest: sqlite3.Row | None) -> dict[int, Json]:
    """Node id → condition → what its newest slot says."""
    out: dict[int, Json] = {}
    if newest is None:
        return out
    sql = (
        "SELECT k.*, c.name AS name FROM clean k JOIN conditions c ON c.id = k.condition "
        "WHERE k.closing = ?"
    )
    for row in _rows(connection, sql, newest["id"]):
        columns = {name: _listed(numbers(row[name])) for name in COLUMNS}
        for k, flag in enumerate(row["flag"]):
            if not flag:
                continue
            out.setdefault(k + 1, {})[row["name"]] = {
                "slot": stamp(newest["slot"]),
                "rev": newest["rev"],
                **{name: column[k] for name, column in columns.items()},
                "flag": flag,
            }
    return out


def _span(
    connection: sqlite3.Connection, start: int | str | None, end: int | str | None
) -> tuple[int, int]:
    last = connection.execute("SELECT coalesce(max(slot), 0) FROM slots").fetchone()[0]
    slot = int(_meta(connection)["slot"])
    stop = last + slot if end is None else end if isinstance(end, int) else moment(end)
    first = stop - 86_400_000_000 if start is None else start
    return first if isinstance(first, int) else moment(first), stop


def _history(connection: sqlite3.Connection, node: int, span: tuple[int, int]) -> Json:
    """Condition → lists over the slots, each slot in its newest revision."""
    # substr is told the place: the other nodes' numbers are not copied.
    cut = ", ".join(f"substr(k.{name}, {8 * node - 7}, 8) AS {name}" for name in COLUMNS)
    sql = (
        f"SELECT s.slot, s.rev, c.name AS name, c.unit AS unit, {cut}, "
        f"substr(k.flag, {node}, 1) AS flag FROM slots s JOIN clean k ON k.closing = s.id "
        "JOIN conditions c ON c.id = k.condition "
        "WHERE s.slot >= ? AND s.slot < ? AND (s.rev = 1 OR NOT EXISTS "
        "(SELECT 1 FROM slots t WHERE t.slot = s.slot AND t.rev = 1)) ORDER BY c.id, s.slot"
    )
    out: Json = {}
    for row in _rows(connection, sql, *span):
        if not row["flag"] or not row["flag"][0]:
            continue
        one = out.setdefault(
            row["name"],
            {"unit": row["unit"], **{name: [] for name in ("slot", "rev", *COLUMNS, "flag")}},
        )
        one["slot"].append(stamp(row["slot"]))
        one["rev"].append(row["rev"])
        for name in COLUMNS:
            one[name].append(_finite(numbers(row[name])[0]))
        one["flag"].append(row["flag"][0])
    return out


def _neighbours(connection: sqlite3.Connection, name: str) -> list[str]:
    """As the model has them: a JSON object in `meta`, made when a model is taken."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'neighbours'").fetchone()
    names: list[str] = [] if found is None else json.loads(found[0]).get(name, [])
    return names[:3]


def _episodes(connection: sqlite3.Connection, where: str, *given: Any) -> list[Json]:
    sql = (
        "SELECT e.*, n.name AS node_name, c.name AS condition_name FROM episodes e "
        "LEFT JOIN nodes n ON n.id = e.node LEFT JOIN conditions c ON c.id = e.condition "
        f"{where} ORDER BY e.until IS NOT NULL, e.first_seen DESC, e.id DESC"
    )
    return [_episode(row) for row in _rows(connection, sql, *given)]


def _episode(row: sqlite3.Row) -> Json:
    return {
        "id": row["id"],
        "state": "open" if row["until"] is None else "close",
        "node": row["node_name"] or "",
        "condition": row["condition_name"] or "",
        "kind": row["kind"],
        "since": stamp(row["since"]),
        "first_seen": stamp(row["first_seen"]),
        "until": _time(row["until"]),
        **{
            name: row[name] for name in ("value", "expected", "deviation", "score", "nodes", "text")
        },
    }


def _event(connection: sqlite3.Connection, closing_: sqlite3.Row, names: list[str]) -> Json:
    conditions = {}
    sql = (
        "SELECT k.*, c.name AS name FROM clean k JOIN conditions c ON c.id = k.condition "
        "WHERE k.closing = ? ORDER BY c.id"
    )
    for row in _rows(connection, sql, closing_["id"]):
        kept = [k for k, flag in enumerate(row["flag"]) if flag]
        columns = {name: _listed(numbers(row[name])) for name in COLUMNS}
        conditions[row["name"]] = {
            "nodes": [names[k] for k in kept],
            **{name: [column[k] for k in kept] for name, column in columns.items()},
            "flag": [row["flag"][k] for k in kept],
        }
    said = _rows(
        connection, "SELECT said FROM alerts WHERE closing = ? ORDER BY id", closing_["id"]
    )
    return {
        "id": closing_["id"],
        "slot": stamp(closing_["slot"]),
        "rev": closing_["rev"],
        "model": closing_["model"] or None,
        "conditions": conditions,
        "alerts": [json.loads(row["said"]) for row in said],
    }
