"""The databases that results go to: what SQLite and PostgreSQL do differently, and nothing else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from fieldmend.errors import InputError
from fieldmend.export.writing import ENVIRONMENT, OutputError
from fieldmend.records.sql import quoted
from fieldmend.text import shown

Rows = Sequence[tuple[Any, ...]]
Columns = Mapping[str, str]
WAIT = 30.0  # seconds that another writer may hold an SQLite file


class Database(Protocol):
    """A database in a transaction."""

    def columns(self, table: str) -> set[str]:
        """Names of a table's columns; none if it is not there."""

    def create(
        self, table: str, columns: Columns, key: Sequence[str], *, by_time: bool = False
    ) -> None:
        """Make a table if it is not there."""

    def upsert(self, table: str, columns: Columns, key: Sequence[str], rows: Rows) -> None:
        """Insert rows, in place of those of the same key."""

    def insert(self, table: str, columns: Columns, rows: Rows) -> None:
        """Insert rows."""

    def newest(self, table: str) -> int | None:
        """The newest time in a table, microseconds."""

    def reaching(self, table: str, moment: str) -> dict[tuple[str, str, str], str]:
        """Episodes that last until a moment or beyond: node, condition and kind → their start."""

    def forget(self, table: str, moment: str) -> None:
        """Remove the episodes that last until a moment or beyond."""


def check_address(address: str, table: str) -> None:
    """Refuse what is no address or no name of a table, before any work.

    Raises
    ------
    InputError
    ImportError
        Where psycopg is needed and not there.
    """
    if not re.fullmatch(r"\w+(\.\w+)?", table):
        raise InputError(
            f"{shown(table)!r} is no name of a table", hint="Letters, digits and _: recovered"
        )
    if re.match(r"postgres(ql)?://", address):
        _psycopg()
    elif not re.match(r"sqlite:///.+", address):
        raise InputError(
            f"{shown(hidden(address))!r} is no database that is known",
            hint="postgresql://user@host/name, or sqlite:///site.db (four strokes: from the root)",
        )


def hidden(address: str) -> str:
    """An address without who and with which password."""
    return re.sub(r"//[^@/]*@", "//", address).split("?")[0]


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        msg = "PostgreSQL needs psycopg: pip install 'fieldmend[postgres]'"
        raise ImportError(msg) from error
    return psycopg


@contextmanager
def opened(address: str) -> Iterator[Database]:
    """A database; what is done within is done as a whole or not at all."""
    name = hidden(address)
    if address.startswith("sqlite:"):
        path = Path(address.removeprefix("sqlite:///"))
        if not path.parent.is_dir():
            hint = f"Make it first; from the root it is sqlite:////{path}"
            raise OutputError(path, "there is no such folder", exit_code=2, hint=hint)
        with _refused(sqlite3.Error, name), _closing(sqlite3.connect(path, timeout=WAIT)) as con:
            con.execute("BEGIN IMMEDIATE")
            yield _SQLite(con)
            con.commit()
        return
    psycopg = _psycopg()
    with _refused(psycopg.Error, name), psycopg.connect(address, client_encoding="utf8") as con:
        yield _Postgres(con)


@contextmanager
def _closing(con: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield con
    finally:
        con.close()  # what was not committed is gone


@contextmanager
def _refused(trouble: type[Exception], name: str) -> Iterator[None]:
    try:
        yield
    except trouble as error:
        said = shown(" ".join(str(error).split()))
        raise OutputError(name, f"the database says: {said}", exit_code=ENVIRONMENT) from error


def _table(name: str) -> str:
    return ".".join(quoted(part) for part in name.split("."))


def _create(table: str, columns: Columns, key: Sequence[str], types: Mapping[str, str]) -> str:
    cells = [
        f"{quoted(name)} {' '.join(types.get(word, word) for word in kind.split())}"
        for name, kind in columns.items()
    ]
    if key:
        cells.append(f"PRIMARY KEY ({', '.join(quoted(one) for one in key)})")
    return f"CREATE TABLE IF NOT EXISTS {_table(table)} ({', '.join(cells)})"


def _on_conflict(columns: Columns, key: Sequence[str]) -> str:
    rest = [quoted(name) for name in columns if name not in key]
    keys = ", ".join(quoted(one) for one in key)
    sets = ", ".join(f"{name} = excluded.{name}" for name in rest)
    return f"ON CONFLICT ({keys}) DO UPDATE SET {sets}"


class _SQLite:
    """Times as ISO 8601 in UTC: they sort, and Grafana's SQLite source reads them."""

    TYPES: ClassVar = {"moment": "TEXT", "number": "REAL"}

    def __init__(self, con: sqlite3.Connection) -> None:
        self.con = con

    def columns(self, table: str) -> set[str]:
        found = self.con.execute(f"PRAGMA table_info({_table(table)})").fetchall()
        return {row[1] for row in found}

    def create(
        self, table: str, columns: Columns, key: Sequence[str], *, by_time: bool = False
    ) -> None:
        self.con.execute(_create(table, columns, key, self.TYPES))
        if by_time:
            index = quoted(f"{table}_by_time")
            self.con.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {_table(table)} (time)")

    def upsert(self, table: str, columns: Columns, key: Sequence[str], rows: Rows) -> None:
        self._insert(table, columns, rows, _on_conflict(columns, key))

    def insert(self, table: str, columns: Columns, rows: Rows) -> None:
        self._insert(table, columns, rows, "")

    def _insert(self, table: str, columns: Columns, rows: Rows, more: str) -> None:
        names = ", ".join(quoted(name) for name in columns)
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO {_table(table)} ({names}) VALUES ({marks}) {more}"
        self.con.executemany(sql, rows)

    def newest(self, table: str) -> int | None:
        # julianday loses microseconds; seconds are exact, and a slot's parts of one are added.
        row = self.con.execute(
            f"SELECT max(time), strftime('%s', max(time)) FROM {_table(table)}"
        ).fetchone()
        if row is None or row[0] is None:
            return None
        part = re.search(r"\.(\d+)", row[0])
        return int(row[1]) * 1_000_000 + (int(part[1].ljust(6, "0")[:6]) if part else 0)

    def reaching(self, table: str, moment: str) -> dict[tuple[str, str, str], str]:
        rows = self.con.execute(
            f"SELECT node, condition, kind, min(time) FROM {_table(table)} WHERE until >= ? "
            "GROUP BY node, condition, kind", [moment],
        )  # fmt: skip
        return {(node, condition, kind): time for node, condition, kind, time in rows}

    def forget(self, table: str, moment: str) -> None:
        self.con.execute(f"DELETE FROM {_table(table)} WHERE until >= ?", [moment])


class _Postgres:
    """A hypertable where TimescaleDB is installed; rows by COPY, then one INSERT."""

    TYPES: ClassVar = {"moment": "timestamptz", "number": "double precision"}

    def __init__(self, con: Any) -> None:
        self.con = con

    def columns(self, table: str) -> set[str]:
        found = self.con.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 "
            "AND NOT attisdropped", [_table(table)],
        )  # fmt: skip
        return {row[0] for row in found.fetchall()}

    def create(
        self, table: str, columns: Columns, key: Sequence[str], *, by_time: bool = False
    ) -> None:
        if self.columns(table):
            return
        self.con.execute(_create(table, columns, key, self.TYPES))
        if not by_time:
            return
        found = self.con.execute("SELECT 1 FROM pg_extension WHERE extname = 'timescaledb'")
        if found.fetchone():
            self.con.execute("SELECT create_hypertable(%s, 'time')", [_table(table)])
        else:
            index = quoted(f"{table.rpartition('.')[2]}_by_time")
            self.con.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {_table(table)} (time)")

    def upsert(self, table: str, columns: Columns, key: Sequence[str], rows: Rows) -> None:
        names = ", ".join(quoted(name) for name in columns)
        self.con.execute("DROP TABLE IF EXISTS pg_temp.fieldmend_new")
        self.con.execute(
            f"CREATE TEMP TABLE fieldmend_new ON COMMIT DROP AS SELECT {names} "
            f"FROM {_table(table)} WHERE false"
        )
        self._copy("pg_temp.fieldmend_new", names, rows)
        self.con.execute(
            f"INSERT INTO {_table(table)} ({names}) SELECT {names} FROM pg_temp.fieldmend_new "
            + _on_conflict(columns, key)
        )

    def insert(self, table: str, columns: Columns, rows: Rows) -> None:
        self._copy(_table(table), ", ".join(quoted(name) for name in columns), rows)

    def _copy(self, table: str, names: str, rows: Rows) -> None:
        with self.con.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def newest(self, table: str) -> int | None:
        found = self.con.execute(
            f"SELECT (extract(epoch FROM max(time)) * 1000000)::bigint FROM {_table(table)}"
        ).fetchone()
        return None if found is None or found[0] is None else int(found[0])

    def reaching(self, table: str, moment: str) -> dict[tuple[str, str, str], str]:
        rows = self.con.execute(
            "SELECT node, condition, kind, to_char(min(time) AT TIME ZONE 'UTC', "
            f"'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM {_table(table)} WHERE until >= %s "
            "GROUP BY node, condition, kind", [moment],
        )  # fmt: skip
        return {(node, condition, kind): time for node, condition, kind, time in rows.fetchall()}

    def forget(self, table: str, moment: str) -> None:
        self.con.execute(f"DELETE FROM {_table(table)} WHERE until >= %s", [moment])
