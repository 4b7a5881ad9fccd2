"""What came and what became of it, as numbers: for `live status` and /metrics."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from fieldmend.live.journal import FILE
from fieldmend.live.messages import moment

READINGS = "received", "stored", "duplicate", "late", "rejected"
PREFIX = "rejected "


def counts(connection: sqlite3.Connection, folder: Path) -> dict[str, Any]:
    """As `View.counts` says."""
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    counters = dict(connection.execute("SELECT name, value FROM counters").fetchall())

    def one(sql: str) -> Any:
        return connection.execute(sql).fetchone()[0]

    newest = connection.execute(
        "SELECT slot, seconds FROM slots WHERE rev = 0 ORDER BY slot DESC LIMIT 1"
    ).fetchone()
    end = None if newest is None else newest[0] + int(meta["slot"])
    return {
        "network": meta.get("network", ""),
        "status": meta.get("status", "starting"),
        "why": meta.get("status_why", ""),
        "readings": {name: counters.get(name, 0) for name in READINGS},
        "rejected": {
            name.removeprefix(PREFIX): number
            for name, number in counters.items()
            if name.startswith(PREFIX)
        },
        "nodes": one("SELECT count(*) FROM nodes"),
        "slots": {
            "closed": counters.get("closed", 0),
            "settled": counters.get("settled", 0),
        },
        "episodes": dict(
            connection.execute(
                "SELECT kind, count(*) FROM episodes WHERE until IS NULL GROUP BY kind"
            ).fetchall()
        ),
        "model": _model(connection, meta),
        "lag_seconds": None if end is None else max(0.0, time.time() - end / 1e6),
        "slot_seconds": None if newest is None else newest[1],
        "outbox": _waiting(connection),
        "broker_dropped": counters.get("broker_dropped", 0),
        "sequence_gaps": counters.get("sequence_lost", 0)
        + one("SELECT coalesce(sum(last - first + 1), 0) FROM holes"),
        "journal_bytes": sum(
            path.stat().st_size for path in folder.glob(f"{FILE}*") if path.is_file()
        ),
    }


def _model(connection: sqlite3.Connection, meta: dict[str, Any]) -> dict[str, Any] | None:
    name = meta.get("model")
    if not name:
        return None
    row = connection.execute("SELECT error FROM models WHERE name = ?", (name,)).fetchone()
    return {
        "name": name,
        "error": None if row is None else row[0],
        "age_seconds": max(0.0, time.time() - moment(name) / 1e6),
    }


def _waiting(connection: sqlite3.Connection) -> int:
    """Closings and alerts that the slowest target has not sent."""
    row = connection.execute("SELECT min(closing), min(alert) FROM sent").fetchone()
    if row is None or row[0] is None:
        return 0
    slots = connection.execute("SELECT count(*) FROM slots WHERE id > ?", (row[0],)).fetchone()[0]
    alerts = connection.execute("SELECT count(*) FROM alerts WHERE id > ?", (row[1],)).fetchone()[0]
    return int(slots + alerts)
