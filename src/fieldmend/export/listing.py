"""Lists: the anomalies, one row per flagged reading, and the rows that were set aside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.export.comma import csv_format, guarded, stamp_format
from fieldmend.export.parquet import FORMAT
from fieldmend.export.table import connection, copy, selected
from fieldmend.export.writing import USAGE, OutputError, PathLike, whole
from fieldmend.result.anomalies import anomaly_columns

if TYPE_CHECKING:
    from fieldmend.result.result import Result

TABLES = (".parquet", ".pq", ".csv", ".csv.gz", ".csv.zst")


def write_anomalies(recovery: Result, path: PathLike, *, force: bool = False) -> None:
    """Write the list of anomalies, as Parquet or CSV by the name's ending."""
    _write(anomaly_columns(recovery), path, force=force)


def write_rejects(recovery: Result, path: PathLike, *, force: bool = False) -> None:
    """Write the rows that were set aside: file, line, reason, text, count.

    The first thousand are listed, each with count 1; what is not listed is counted by reason in a
    row without file and line. The counts add up to the rows set aside.
    """
    rejects = recovery.grid.origin.rejects
    rest = dict(rejects.totals)
    rows: list[tuple[Any, ...]] = []
    for one in rejects.listed:
        rows.append((one.file, one.line, one.reason, one.text, 1))
        reason = one.reason.split(":")[0]
        rest[reason] = rest.get(reason, 1) - 1
    rows += [(None, None, reason, "not listed", n) for reason, n in rest.items() if n > 0]
    names = ("file", "line", "reason", "text", "count")
    columns = {name: _objects([row[i] for row in rows]) for i, name in enumerate(names)}
    columns["count"] = np.array([row[4] for row in rows], dtype=np.int64)
    _write(columns, path, force=force)


def _objects(cells: list[Any]) -> Any:
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


TYPES = {"line": "BIGINT", "count": "BIGINT", "episode": "INTEGER"}
TEXTS = ("node", "condition", "kind", "file", "reason", "text")


def _write(columns: dict[str, Any], path: PathLike, *, force: bool) -> None:
    if not str(path).casefold().endswith(TABLES):
        hint = "End its name in .parquet or .csv"
        raise OutputError(path, "neither Parquet nor CSV", exit_code=USAGE, hint=hint)
    parquet = Path(path).suffix.casefold() in (".parquet", ".pq")
    columns = {
        name: _objects([None if cell is None else guarded(str(cell)) for cell in column])
        if name in TEXTS and not parquet
        else column
        for name, column in columns.items()
    }
    with whole(path, force=force) as part, connection(part) as con:
        con.register("given", columns)
        cells = [(_cell(name, columns, parquet=parquet), name) for name in columns]
        options = FORMAT if parquet else csv_format(path)
        copy(con, f"SELECT {selected(cells)} FROM given", part, options)


def _cell(name: str, columns: dict[str, Any], *, parquet: bool) -> str:
    """An empty list has no types of its own: they are stated."""
    if name == "time":
        lengths = columns[name].astype("datetime64[us]").astype(np.int64)
        if parquet:
            return "timezone('UTC', time)"
        return f"strftime(time, '{stamp_format(*lengths.tolist())}')"
    if name in TEXTS:
        return f"{name}::VARCHAR"
    return f"{name}::{TYPES.get(name, 'DOUBLE')}"
