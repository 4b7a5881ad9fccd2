"""Old days leave the journal for Parquet: what was read, and what was said of it."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np

from fieldmend.export.table import connection as duckdb_connection
from fieldmend.export.table import copy
from fieldmend.export.writing import OutputError, whole
from fieldmend.grid import stamp
from fieldmend.live.closing import messages
from fieldmend.live.journal import Journal, read_only
from fieldmend.live.settings import DAY, HOUR
from fieldmend.live.station import Station

log = logging.getLogger(__name__)
FOLDER = "days"
FORMAT = "FORMAT parquet, COMPRESSION zstd"


class Keeper:
    """Old days into Parquet, in a thread: a large day takes its time."""

    def __init__(self, station: Station, keep: int | None) -> None:
        self.station, self.keep = station, keep
        self.thread: threading.Thread | None = None
        self.next = 0
        self.ended = threading.Event()

    def look(self, now: int) -> None:
        """Begin with what is due, once an hour."""
        if self.keep is None or now < self.next or self.station.closed is None:
            return
        if self.thread is not None and self.thread.is_alive():
            return
        if self.station.models.fitting:
            return  # a fit to the past of a backlog still has to read its days
        self.next = now + HOUR
        before = self.station.closed - self.keep
        self.thread = threading.Thread(target=self._move, args=(before,), daemon=True)
        self.thread.start()

    def look_again(self, now: int) -> None:
        """Once more at a source's end, for the days since the last look."""
        self._wait()
        self.next = 0
        self.look(now)

    def end(self, *, whole: bool) -> None:
        """Wait for the day that is being written; for all of them, if `whole`.

        A process that ends beside a thread that writes is killed by it.
        """
        if not whole:
            self.ended.set()
        self._wait()

    def _wait(self) -> None:
        if self.thread is not None:
            self.thread.join()

    def _move(self, before: int) -> None:
        try:
            move_old_days(self.station.journal, before, self.ended.is_set)
        except (OutputError, OSError, sqlite3.Error) as error:
            log.warning("old days stay in the journal: %s", error)


def move_old_days(journal: Journal, before: int, ended: Callable[[], bool] = lambda: False) -> int:
    """Move whole days that end before a time (µs), until `ended`; how many were moved.

    A day is written whole, then removed in one transaction: a process that ends in between writes
    it again. Rows that a target has not been sent yet stay, and their day with them; so do readings
    that came while it was written, until the next time. What is in a day's files already stays.
    """
    moved = 0
    while not ended():
        with closing(read_only(journal.folder)) as connection:
            day = _oldest(connection)
            if day is None or day + DAY > before or not _all_sent(connection, day + DAY):
                return moved
            folder = journal.folder / FOLDER
            folder.mkdir(exist_ok=True)
            name = stamp(day)[:10]
            written = _write_readings(connection, day, folder / f"{name}.readings.parquet")
            _write_clean(connection, str(journal.get("network")), day, folder / f"{name}.parquet")
        if not _forget(journal, day, written):
            return moved
        log.info("%s moved into %s", name, folder)
        moved += 1
    return moved


def _oldest(connection: sqlite3.Connection) -> int | None:
    first = connection.execute(
        "SELECT min(t) FROM "
        "(SELECT min(time) AS t FROM readings UNION ALL SELECT min(slot) FROM slots)"
    ).fetchone()[0]
    return None if first is None else int(first) // DAY * DAY


def _all_sent(connection: sqlite3.Connection, stop: int) -> bool:
    newest = connection.execute("SELECT max(id) FROM slots WHERE slot < ?", (stop,)).fetchone()[0]
    behind = connection.execute("SELECT min(closing) FROM sent").fetchone()[0]
    settled = connection.execute("SELECT value FROM meta WHERE name = 'settled'").fetchone()
    if settled is not None and int(settled[0]) < stop:
        return False
    return newest is None or behind is None or behind >= newest


def _write_readings(connection: sqlite3.Connection, day: int, path: Path) -> int:
    """A day's readings; how many there were in the journal."""
    rows = connection.execute(
        "SELECT n.name, r.time, c.name, r.value, c.unit FROM readings r "
        "JOIN nodes n ON n.id = r.node JOIN conditions c ON c.id = r.condition "
        "WHERE r.time >= ? AND r.time < ? ORDER BY r.time",
        (day, day + DAY),
    ).fetchall()
    columns = list(zip(*rows, strict=True)) or [()] * 5
    given = {
        "node": np.array(columns[0], dtype=object),
        "time": np.array(columns[1], dtype="datetime64[us]"),
        "variable": np.array(columns[2], dtype=object),
        "value": np.array(columns[3], dtype=np.float64),
        "unit": np.array(columns[4], dtype=object),
    }
    text = "{0}::VARCHAR AS {0}".format
    cells = text("node"), "timezone('UTC', time) AS time", text("variable"), "value", text("unit")
    _write(given, ", ".join(cells), path, ("time", "node", "variable"))
    return len(rows)


def _write_clean(connection: sqlite3.Connection, network: str, day: int, path: Path) -> None:
    names = [row[0] for row in connection.execute("SELECT name FROM nodes ORDER BY id")]
    ids = connection.execute(
        "SELECT id FROM slots WHERE slot >= ? AND slot < ? ORDER BY slot, rev", (day, day + DAY)
    ).fetchall()
    rows = [row for one in ids for row in messages(connection, one[0], network, names)]
    given: dict[str, object] = {
        name: np.array([row[name] for row in rows], dtype=object)
        for name in ("network", "node", "condition", "model")
    }
    given["slot"] = np.array([row["slot"][:-1] for row in rows], dtype="datetime64[us]")
    for name in ("rev", "flag"):
        given[name] = np.array([row[name] for row in rows], dtype=np.int16)
    numbers = "observed", "estimate", "lower", "upper"
    for name in numbers:
        values = [np.nan if row[name] is None else row[name] for row in rows]
        given[name] = np.array(values, dtype=np.float64)
    texts = ", ".join(f"{n}::VARCHAR AS {n}" for n in ("network", "node", "condition"))
    cells = ", ".join(f"CASE WHEN isnan({n}) THEN NULL ELSE {n} END AS {n}" for n in numbers)
    select = f"{texts}, timezone('UTC', slot) AS slot, rev, {cells}, flag, model::VARCHAR AS model"
    _write(given, select, path, ("slot", "rev", "condition", "node"))


def _write(given: Mapping[str, object], select: str, path: Path, key: tuple[str, ...]) -> None:
    """A day's file, for its owner alone: what is in it already, and what of `given` is not."""
    with whole(path, force=True) as part, duckdb_connection(part) as con:
        con.register("given", dict(given))
        text = f"SELECT {select} FROM given"
        if path.exists():
            con.register("kept", con.read_parquet(str(path)))
            same = ", ".join(key)
            new = f"SELECT * FROM ({text}) ANTI JOIN kept USING ({same})"
            text = f"SELECT * FROM kept UNION ALL BY NAME {new} ORDER BY {same}"
        copy(con, text, part, FORMAT)
        part.chmod(0o600)


def _forget(journal: Journal, day: int, written: int) -> bool:
    """Remove a day, if the journal has no more of it than was written."""
    with journal.writing() as connection:
        there = "SELECT count(*) FROM readings WHERE time < ?"
        if connection.execute(there, (day + DAY,)).fetchone()[0] != written:
            return False
        connection.execute("DELETE FROM readings WHERE time < ?", (day + DAY,))
        connection.execute(
            "DELETE FROM clean WHERE closing IN (SELECT id FROM slots WHERE slot < ?)", (day + DAY,)
        )
        connection.execute("DELETE FROM slots WHERE slot < ?", (day + DAY,))
    return True
