"""Results into PostgreSQL, TimescaleDB or SQLite: one long table that Grafana reads.

A row is a node, a time and a condition; rows that are there already are replaced. All of a run, or
nothing of it: one transaction.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.export.servers import Database, check_address, opened
from fieldmend.export.table import connection, register
from fieldmend.export.writing import USAGE, OutputError
from fieldmend.grid import stamp

if TYPE_CHECKING:
    from fieldmend.result.result import Result

__all__ = ["check_address", "newest", "write_database"]

BATCH = 20_000
KEY = ("node", "time", "condition")
READINGS = {
    "node": "text NOT NULL", "time": "moment NOT NULL", "condition": "text NOT NULL",
    "reading": "number", "estimate": "number", "lower": "number", "upper": "number",
    "anomaly": "number", "flag": "smallint NOT NULL", "filled": "number",
}  # fmt: skip
EPISODES = {
    "node": "text NOT NULL", "time": "moment NOT NULL", "condition": "text NOT NULL",
    "until": "moment NOT NULL", "kind": "text NOT NULL", "readings": "integer",
    "severity": "number", "confidence": "number", "certain": "boolean", "explanation": "text",
}  # fmt: skip
RUNS = {
    "time": "moment NOT NULL", "first": "moment", "last": "moment", "rows_read": "bigint",
    "rows_used": "bigint", "rows_set_aside": "bigint", "suspects": "bigint", "summary": "text",
}  # fmt: skip


def write_database(
    recovery: Result, summary: dict[str, Any], address: str, table: str = "recovered"
) -> None:
    """Write readings, estimates, flags and episodes of a result.

    Parameters
    ----------
    recovery
        The result.
    summary
        `Recovery.summary()`, kept as JSON with the run.
    address
        ``postgresql://…`` or ``sqlite:///file.db``.
    table
        Its name; those of the episodes and runs begin with it.

    Raises
    ------
    OutputError
        Where the database refuses; nothing is changed then.
    """
    with opened(address) as database:
        _check_columns(database, table, READINGS)
        database.create(table, READINGS, KEY, by_time=True)
        database.create(f"{table}_episodes", EPISODES, (*KEY, "kind"))
        database.create(f"{table}_runs", RUNS, ())
        for rows in _readings(recovery):
            database.upsert(table, READINGS, KEY, rows)
        _episodes(recovery, database, f"{table}_episodes")
        database.insert(f"{table}_runs", RUNS, [_run(recovery, summary)])


def newest(address: str, table: str) -> int | None:
    """The newest time in a table of an earlier run, microseconds; None if there is none."""
    with opened(address) as database:
        return database.newest(table) if database.columns(table) else None


def _check_columns(database: Database, table: str, wanted: dict[str, str]) -> None:
    there = database.columns(table)
    missing = [name for name in wanted if name not in there]
    if there and missing:
        raise OutputError(
            f"table {table}",
            f"is there and has no column {', '.join(missing)}: it is not one of ours",
            exit_code=USAGE,
            hint="Name another with --to-table",
        )


def _readings(recovery: Result) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of the long table, condition after condition; places with nothing in them have none."""
    grid = recovery.grid
    nodes = len(grid.nodes)
    with connection(Path("the database")) as con:
        source = register(con, recovery, list(grid.nodes))
        for c, (name, one) in enumerate(recovery.conditions.items()):
            cells = [f"v{c}", *(_cell(one, c, what) for what in ("estimate", "lower", "upper"))]
            number = ", ".join(f"CASE WHEN isfinite({x}) THEN {x} END" for x in cells)
            filled = f"CASE WHEN v{c}_replaced OR v{c}_flag = 9 THEN v{c}_estimate ELSE v{c} END"
            found = con.execute(
                f"SELECT list_extract(getvariable('nodes'), i % {nodes} + 1), "
                f"strftime(make_timestamp({int(grid.times[0])} + (i // {nodes}) * {grid.slot}), "
                f"'%Y-%m-%dT%H:%M:%S.%f'), $name, {number}, v{c}_anomaly, v{c}_flag, "
                f"CASE WHEN isfinite({filled}) THEN {filled} END FROM {source} "
                f"WHERE isfinite(v{c}) OR isfinite(v{c}_estimate)",
                {"name": name},
            )
            while rows := found.fetchmany(BATCH):
                yield [(row[0], _short(row[1]), *row[2:]) for row in rows]


def _cell(one: Any, c: int, what: str) -> str:
    return "NULL::DOUBLE" if getattr(one, what) is None else f"v{c}_{what}"


def _short(moment: str) -> str:
    """``2024-05-01T00:00:00.000000`` as ``2024-05-01T00:00:00Z``."""
    return moment.removesuffix(".000000") + "Z"


def _episodes(recovery: Result, database: Database, table: str) -> None:
    """Those of the result, instead of what is there for its time; one that goes on is one."""
    grid = recovery.grid
    first = stamp(grid.times[0])
    began = database.reaching(table, first)
    rows = []
    for name, one in recovery.conditions.items():
        for e in one.episodes:
            node, start = grid.nodes[e.node], stamp(grid.times[e.start])
            if e.start == 0:
                start = began.get((node, name, str(e.kind)), start)
            end = stamp(grid.times[e.stop - 1] + grid.slot)
            rows.append((node, start, name, end, str(e.kind), e.readings, _number(e.severity),
                         _number(e.confidence), e.certain, e.explanation))  # fmt: skip
    database.forget(table, first)
    database.upsert(
        table, EPISODES, (*KEY, "kind"), list({r[:3] + r[4:5]: r for r in rows}.values())
    )


def _run(recovery: Result, summary: dict[str, Any]) -> tuple[Any, ...]:
    rows = summary["rows"]
    suspects = sum(one["flags"]["suspect"] for one in summary["conditions"].values())
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ends = stamp(recovery.grid.times[0]), stamp(recovery.grid.times[-1] + recovery.grid.slot)
    return (now, *ends, rows["read"], rows["used"], rows["set_aside"], suspects,
            json.dumps(summary, default=str))  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
