"""New days added to a table that is there: what it holds before them stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.export.comma import csv_format
from fieldmend.export.parquet import FORMAT
from fieldmend.export.table import connection, copy
from fieldmend.export.writing import USAGE, OutputError, PathLike

if TYPE_CHECKING:
    import duckdb


def last_slot(path: PathLike) -> int | None:
    """The newest time in a table that an earlier run wrote, microseconds; None if it has no rows.

    Raises
    ------
    OutputError
        Where it is no table of ours.
    """
    target = Path(path)
    with connection(target) as con:
        try:
            (found,) = _one(con, f"SELECT max(epoch_us({_moment(target)})) FROM {_scan(target)}")
        except Exception as error:
            hint = "Name another folder with --out, or write it anew with --force"
            raise OutputError(
                path, "no table that can be added to", exit_code=USAGE, hint=hint
            ) from error
    return None if found is None else int(found)


def joined(old: PathLike, new: Path, part: Path, moment: int) -> None:
    """Write to `part` the rows of `old` before a moment, then those of `new`.

    A column that only one of them has is empty in the rows of the other.
    """
    before = Path(old)
    options = csv_format(old) if ".csv" in before.name else FORMAT
    with connection(part) as con:
        kept = f"SELECT * FROM {_scan(before)} WHERE epoch_us({_moment(before)}) < {moment}"
        copy(con, f"{kept} UNION ALL BY NAME SELECT * FROM {_scan(new, before)}", part, options)


def _one(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    return con.execute(sql).fetchone() or (None,)


def _scan(path: Path, like: Path | None = None) -> str:
    literal = str(path.absolute()).replace("'", "''")
    if ".csv" in (like or path).name:  # as text: numbers keep the digits that they have
        return (
            f"read_csv('{literal}', header = true, all_varchar = true, delim = ',', quote = '\"')"
        )
    return f"read_parquet('{literal}')"


def _moment(path: Path) -> str:
    return "CAST(time AS TIMESTAMPTZ)" if ".csv" in path.name else "time"
