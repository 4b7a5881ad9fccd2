"""Tables and queries of SQLite and PostgreSQL, in batches of text."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.sources.stage import BATCH, SAMPLED, Stage
from fieldmend.records.sql import quoted
from fieldmend.text import shown

LONGEST_CELL = 1 << 20  # bytes; a reading is no picture
LEAST_ROWS = 1_000_000
ROWS_PER_BYTE = 4
# The journal of `fieldmend live`: what it has of readings, as its files of older days have it.
JOURNAL = (
    "SELECT n.name AS node, "
    "strftime('%Y-%m-%dT%H:%M:%f', r.time / 1e6, 'unixepoch') || 'Z' AS time, "
    "c.name AS variable, r.value AS value, c.unit AS unit FROM readings r "
    "JOIN nodes n ON n.id = r.node JOIN conditions c ON c.id = r.condition ORDER BY r.time"
)
JOURNAL_TABLES = {"readings", "nodes", "conditions", "slots", "clean"}


def sqlite(path: Path, name: str, table: str | None, query: str | None) -> Stage:
    """A table or query of an SQLite file, opened read-only."""
    con = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_CELL)
    try:
        query = query or (_journal(con) if table is None else None)
        cursor = con.execute(query or _sqlite_select(con, name, table))
    except (sqlite3.Error, sqlite3.Warning) as error:  # two statements in one are a Warning
        con.close()
        raise InputError(f"SQLite says: {shown(error)}", file=name) from error
    except InputError:  # no table, or one of several
        con.close()
        raise
    if cursor.description is None:
        con.close()
        raise InputError("the query gives no rows", file=name, hint="Write a SELECT")
    names = [column[0] for column in cursor.description]
    words = f"SQLite, {'a query' if query else 'one table'}"
    most = LEAST_ROWS + ROWS_PER_BYTE * path.stat().st_size
    stage = _batched(name, names, cursor, words, con, sqlite3.Error, most)
    stage.asked = query is not None
    return stage


def _journal(con: sqlite3.Connection) -> str | None:
    """The query for the journal of `fieldmend live`, if it is one."""
    tables = {row[0] for row in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return JOURNAL if tables >= JOURNAL_TABLES else None


def _sqlite_select(con: sqlite3.Connection, name: str, table: str | None) -> str:
    rows = con.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    return f"SELECT * FROM {quoted(_one_table([row[0] for row in rows], name, table))}"


def _one_table(tables: Sequence[str], name: str, table: str | None) -> str:
    listed = ", ".join(shown(t) for t in tables[:20]) or "none"
    if table is None:
        if len(tables) == 1:
            return tables[0]
        raise InputError(
            f"it has {len(tables)} tables: {listed}",
            file=name,
            hint="Name one with table= (--table), or give a query=",
        )
    if table not in tables:
        raise InputError(
            f"it has no table {shown(table)!r}; found: {listed}",
            file=name,
            hint="Name one of these with table= (--table)",
        )
    return table


def postgres(address: str, table: str | None, query: str | None) -> Stage:
    """A table or query of PostgreSQL, through a cursor on the server; read-only."""
    name = re.sub(r"//[^@/]*@", "//", address).split("?")[0]  # no password in a report
    try:
        import psycopg
    except ImportError as error:
        raise InputError(
            "reading PostgreSQL needs psycopg", hint="pip install 'fieldmend[postgres]'"
        ) from error
    if table is None and query is None:
        raise InputError(
            "no table was named", file=name, hint="Give table= (--table) or query= (--query)"
        )
    try:
        con = psycopg.connect(address, client_encoding="utf8")
    except psycopg.Error as error:
        raise InputError(f"PostgreSQL says: {shown(error)}", file=name) from error
    con.read_only = True
    cursor = con.cursor(name="fieldmend")
    try:
        cursor.itersize = BATCH
        if query is not None:
            cursor.execute(query.encode())
        else:
            parts = [quoted(part) for part in str(table).split(".")]
            cursor.execute(f"SELECT * FROM {'.'.join(parts)}".encode())
    except psycopg.Error as error:
        cursor.close()
        con.close()
        raise InputError(f"PostgreSQL says: {shown(error)}", file=name) from error
    names = [column.name for column in cursor.description or ()]
    words = f"PostgreSQL, {'a query' if query else 'one table'}"
    stage = _batched(name, names, cursor, words, con, psycopg.Error)
    stage.asked = query is not None
    return stage


def _batched(  # noqa: PLR0917 - one call, what it needs
    name: str,
    names: list[str],
    cursor: Any,
    words: str,
    con: Any,
    trouble: type[Exception],
    most: int | None = None,
) -> Stage:
    def fetched() -> Any:
        try:
            return cursor.fetchmany(BATCH)
        except trouble as error:
            close()
            large = "too big" in str(error)  # LONGEST_CELL
            hint = (
                "Leave its column out: --query 'SELECT node, time, ... FROM ...'" if large else ""
            )
            raise InputError(f"the database says: {shown(error)}", file=name, hint=hint) from error

    def batches() -> Iterator[list[Any]]:
        rows = first
        seen = 0
        while rows:
            seen += len(rows)
            if most is not None and seen > most:
                close()
                raise InputError(
                    f"it gives over {most:,} rows, more than it can hold: a view without end",
                    file=name,
                    hint="Name a table with table= (--table), or bound the query with LIMIT",
                )
            yield [as_text(column) for column in zip(*rows, strict=True)]
            rows = fetched()

    def close() -> None:
        if not closed:
            closed.append(True)
            cursor.close()
            con.close()

    closed: list[bool] = []

    first = fetched()
    stage = Stage(name, names, batches=batches(), kinds=["text"] * len(names), words=words)
    stage.close = close
    stage.sample = [[None if c is None else str(c) for c in row] for row in first[:SAMPLED]]
    stage.stem = name.rsplit("/", 1)[-1].split(".")[0]
    return stage


def as_text(column: Sequence[Any]) -> Any:
    """A column as text, exact: Python writes a float so that it reads back the same."""
    out = np.empty(len(column), dtype=object)
    out[:] = [None if cell is None else str(cell) for cell in column]
    return out
