"""The journal: one SQLite file with every reading that came, and everything that was said of them.

WAL and synchronous FULL: what is committed survives a power cut. One connection writes, under one
lock; readers have their own. What a slot's closing says is stored as it was said, never computed
again: a row that is sent twice is the same row.

Node ids count from 1 in the order in which nodes were first heard. The arrays of a `clean` row
(little-endian float64, flags uint8) have one entry a node, by id: nodes that came later are not in
it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fieldmend.errors import InputError
from fieldmend.text import shown

FILE = "journal.db"
VERSION = 1
SCHEMA = """
-- Settings and state, by name: version, network, slot, closed, settled, status, status_why, ...
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE nodes (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  readings INTEGER NOT NULL DEFAULT 0,
  latest INTEGER,                          -- newest stamp
  heard INTEGER,                           -- wall clock of the newest arrival
  cadence INTEGER,                         -- usual time between two stamps, µs
  sequence_last INTEGER, sequence_time INTEGER,  -- newest number and its stamp
  x REAL, y REAL);
-- Sequence numbers that never came, first to last.
CREATE TABLE holes (
  node INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (node, first)) WITHOUT ROWID;
CREATE TABLE conditions (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL DEFAULT '');
-- The key is (node, condition, time); time first, so that a slot lies together.
CREATE TABLE readings (
  time INTEGER NOT NULL, node INTEGER NOT NULL, condition INTEGER NOT NULL,
  value REAL NOT NULL, arrived INTEGER NOT NULL,
  PRIMARY KEY (time, node, condition)) WITHOUT ROWID;
-- The newest that were refused; all of them are counted.
CREATE TABLE rejects (id INTEGER PRIMARY KEY, arrived INTEGER, why TEXT, text TEXT);
-- received, stored, duplicate, late, rejected, "rejected <why>", broker_dropped, ...
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
-- One row for each closing of a slot: rev 0 at its end, rev 1 when it is settled. The id is the
-- event's id and the outbox's order.
CREATE TABLE slots (
  id INTEGER PRIMARY KEY AUTOINCREMENT, slot INTEGER NOT NULL, rev INTEGER NOT NULL,
  closed INTEGER NOT NULL, model TEXT NOT NULL, seconds REAL NOT NULL,
  window_first INTEGER, window_stop INTEGER,  -- the slots that rev 1 was smoothed over
  UNIQUE (slot, rev));
CREATE TABLE clean (
  closing INTEGER NOT NULL REFERENCES slots (id), condition INTEGER NOT NULL,
  observed BLOB, estimate BLOB, lower BLOB, upper BLOB, flag BLOB,
  PRIMARY KEY (closing, condition)) WITHOUT ROWID;
CREATE TABLE episodes (
  id INTEGER PRIMARY KEY, node INTEGER NOT NULL, condition INTEGER NOT NULL, kind TEXT NOT NULL,
  since INTEGER NOT NULL,                  -- the stretch's first slot
  first_seen INTEGER NOT NULL,             -- the slot that opened it
  until INTEGER,                           -- NULL while it is open
  value REAL, expected REAL, deviation REAL, score REAL, nodes INTEGER NOT NULL, text TEXT NOT NULL,
  UNIQUE (node, condition, kind, since));
-- What was said of episodes, in order: the outbox of alerts. `said` is the message, as JSON.
CREATE TABLE alerts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, episode INTEGER NOT NULL, closing INTEGER,
  state TEXT NOT NULL, made INTEGER NOT NULL, said TEXT NOT NULL);
-- Outbox: each target has sent everything up to these ids.
CREATE TABLE sent (target TEXT PRIMARY KEY, closing INTEGER NOT NULL DEFAULT 0,
  alert INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE models (
  name TEXT PRIMARY KEY,                   -- 2026-11-15T00:00Z: up to where it was fitted
  made INTEGER NOT NULL, taken INTEGER NOT NULL, error REAL, before REAL, why TEXT NOT NULL)
  WITHOUT ROWID;
"""


class Journal:
    """The connection that writes. Use it under `lock`, a transaction by `writing`.

    Examples
    --------
    >>> import tempfile
    >>> journal = Journal.open(tempfile.mkdtemp(), slot=300_000_000)
    >>> journal.slot
    300000000
    >>> journal.close()
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder, self.connection = folder, connection
        self.lock = threading.RLock()
        self.slot = int(self.get("slot") or 0)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, slot: int, network: str = "") -> Journal:
        """Open the journal of a folder; both are made if they are not there.

        Parameters
        ----------
        folder
            The state's.
        slot
            Length of a slot, µs: of a new journal. One that is there keeps its own.
        network
            What the messages call it; the folder's name if not given.

        Returns
        -------
        Journal

        Raises
        ------
        InputError
            Where the file is no journal, or has slots of another length.
        """
        path = Path(folder) / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        try:
            connection.execute("PRAGMA busy_timeout = 10000")
            _check(connection, path, slot, network)
        except BaseException:
            connection.close()
            raise
        return cls(Path(folder), connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on the disk when the block ends, or none.

        Within another one it is a part of that.
        """
        with self.lock:
            if self._begun():
                yield self.connection
                return
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self._begun():
                    self.connection.execute("ROLLBACK")
                raise

    def _begun(self) -> bool:
        return self.connection.in_transaction

    def get(self, name: str) -> str | None:
        """A setting."""
        with self.lock:
            row = self.connection.execute(
                "SELECT value FROM meta WHERE name = ?", (name,)
            ).fetchone()
        return None if row is None else str(row[0])

    def close(self) -> None:
        """No more."""
        with self.lock:
            self.connection.close()


def put(connection: sqlite3.Connection, **values: str | int | float | None) -> None:
    """Set settings, within a transaction."""
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def add(connection: sqlite3.Connection, numbers: dict[str, int]) -> None:
    """Add to counters, within a transaction."""
    connection.executemany(
        "INSERT INTO counters VALUES (?, ?) "
        "ON CONFLICT DO UPDATE SET value = value + excluded.value",
        [(name, number) for name, number in numbers.items() if number],
    )


def read_only(folder: str | os.PathLike[str]) -> sqlite3.Connection:
    """A connection that reads, of its own.

    Raises
    ------
    InputError
        Where there is no journal.
    """
    path = Path(folder) / FILE
    if not path.exists():
        raise InputError(
            "no journal there", file=str(folder), hint="Name the folder given to live --state"
        )
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA busy_timeout = 10000")
    connection.execute("PRAGMA query_only = 1")
    return connection


def _check(connection: sqlite3.Connection, path: Path, slot: int, network: str) -> None:
    """Make the tables, or see that they are ours."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        there = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if not there:
            connection.executescript(f"BEGIN;{SCHEMA}")
            name = network or path.parent.resolve().name
            put(connection, version=VERSION, slot=slot, network=name, status="starting")
            connection.execute("COMMIT")
            return
        found = dict(connection.execute("SELECT name, value FROM meta"))
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"no journal of fieldmend live ({shown(error)})",
            file=str(path),
            hint="Name another folder by --state",
        ) from None
    if int(found.get("version", 0)) > VERSION:
        raise InputError("written by a later fieldmend", file=str(path), hint="Use that one")
    if slot and int(found["slot"]) != slot:
        raise InputError(
            f"its slots are {int(found['slot']) / 1e6:g} s long, not {slot / 1e6:g} s",
            file=str(path),
            hint="Give the same --slot, or another --state",
        )
