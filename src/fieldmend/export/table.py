"""The wide table, sorted by time, then node: SQL over the recovery's own arrays.

Slots × nodes in memory is the order of the table, so DuckDB reads the arrays where they are (in
memory or in files) and writes a row group at a time: no second copy, whatever the size.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.export.writing import ENVIRONMENT, OutputError
from fieldmend.records.sql import quoted

if TYPE_CHECKING:
    import duckdb

    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

PLACES = {
    "lat": "latitude",
    "lon": "longitude",
    "elevation": "elevation",
    "x": "x",
    "y": "y",
    "z": "z",
}
MADE = ("estimate", "lower", "upper", "anomaly", "flag", "filled")


@dataclass(frozen=True)
class Column:
    """One column of the table: its name, and how it is computed."""

    name: str
    sql: str
    kind: str  # node, time, place, reading, made
    array: Any = None


def columns(recovery: Result) -> list[Column]:
    """The columns of the wide table, in order. Row i is slot i // nodes, node i % nodes."""
    nodes = len(recovery.grid.nodes)
    taken: set[str] = set()
    out = [
        Column(
            unused("node", taken), f"list_extract(getvariable('nodes'), i % {nodes} + 1)", "node"
        ),
        Column(
            unused("time", taken),
            f"make_timestamptz({int(recovery.grid.times[0])} + (i // {nodes}) * "
            f"{recovery.grid.slot})",
            "time",
        ),
    ]
    for key in place_keys(recovery):
        cell = f"list_extract(getvariable('place_{key}'), i % {nodes} + 1)"
        out.append(Column(unused(PLACES[key], taken), cell, "place"))
    names = {name: unused(name, taken) for name in recovery.conditions}
    for c, (name, one) in enumerate(recovery.conditions.items()):
        out += _condition(c, names[name], one, taken)
    return out


def _condition(c: int, name: str, one: Recovered, taken: set[str]) -> Iterator[Column]:
    yield Column(name, f"v{c}", "reading", one.observed)
    for made in MADE:
        label = unused(f"{name}_{made}", taken)
        if made == "filled":
            sql = f"CASE WHEN v{c}_replaced OR v{c}_flag = 9 THEN v{c}_estimate ELSE v{c} END"
            yield Column(label, sql, "made")
        elif (array := getattr(one, made)) is None:
            yield Column(label, "NULL::DOUBLE", "made")
        else:
            yield Column(label, f"v{c}_{made}", "made", array)


def place_keys(recovery: Result) -> list[str]:
    """What is known of the nodes' places."""
    places = recovery.grid.places or {}
    return [key for key in PLACES if any(key in place for place in places.values())]


def place_values(recovery: Result, key: str) -> list[float | None]:
    """One number per node, None where its place is not known."""
    places = recovery.grid.places or {}
    return [places.get(node, {}).get(key) for node in recovery.grid.nodes]


def unused(name: str, taken: set[str]) -> str:
    """The name, with a number if another column has it; case-blind, as SQL is."""
    label, number = name, 1
    while label.casefold() in taken:
        number += 1
        label = f"{name}_{number}"
    taken.add(label.casefold())
    return label


@cache
def _instance(process: int) -> duckdb.DuckDBPyConnection:
    """One DuckDB for the files of a process: to start one costs more than to write a small file.

    One thread, so that the bytes are the same every time; nothing is fetched.
    """
    import duckdb

    return duckdb.connect(config={"autoinstall_known_extensions": False, "threads": 1})


@contextmanager
def connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of its own to a database in memory: UTC, and none of the caller's variables."""
    import duckdb

    con = _instance(os.getpid()).cursor()
    try:
        con.execute(
            "SET TimeZone = 'UTC'; SET python_enable_replacements = false; "
            "SET enable_progress_bar = false"
        )
        yield con
    except duckdb.Error as error:
        if isinstance(error, duckdb.FatalException | duckdb.InternalException):
            _instance.cache_clear()  # it answers no more; the next file starts another
        if isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException):
            said = str(error).partition("\n")[0]
            full = os.strerror(errno.ENOSPC)  # its sentence has the path once more, and JSON
            said = full.lower() if full in said else said
            raise OutputError(path, f"cannot be written ({said})", exit_code=ENVIRONMENT) from error
        raise
    finally:
        con.close()


def register(con: duckdb.DuckDBPyConnection, recovery: Result, nodes: list[str]) -> str:
    """Make the arrays known to DuckDB; the FROM clause that gives rows i with all of them."""
    con.execute("SET VARIABLE nodes = $given", {"given": nodes})
    for key in place_keys(recovery):
        con.execute(f"SET VARIABLE place_{key} = $given", {"given": place_values(recovery, key)})
    arrays = {
        column.sql: np.ascontiguousarray(column.array).reshape(-1)
        for column in columns(recovery)
        if column.array is not None
    }
    for c, one in enumerate(recovery.conditions.values()):
        arrays[f"v{c}_replaced"] = np.ascontiguousarray(one.replaced).reshape(-1)
    con.register("given", arrays)
    rows = int(np.prod(recovery.grid.shape))
    return f"range({rows}) AS r(i) POSITIONAL JOIN given"


def copy(con: duckdb.DuckDBPyConnection, select: str, part: Path, options: str) -> None:
    """COPY a SELECT to a file."""
    literal = str(part).replace("'", "''")
    con.execute(f"COPY ({select}) TO '{literal}' ({options})")


def selected(cells: list[tuple[str, str]]) -> str:
    """(SQL, name) pairs as a select list."""
    return ", ".join(f"{sql} AS {quoted(name)}" for sql, name in cells)
