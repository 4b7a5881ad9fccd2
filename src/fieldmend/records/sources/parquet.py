"""Parquet, read by DuckDB itself."""

from pathlib import Path
from typing import TYPE_CHECKING

from fieldmend.errors import InputError
from fieldmend.records.sources.stage import Stage, describe, kind_of_type, literal
from fieldmend.records.sql import quoted
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

SMALL = 1 << 20  # bytes; a thousand times as much fits into the least memory that DuckDB has here


def stage(path: Path, name: str, con: "duckdb.DuckDBPyConnection", work: Path) -> Stage:
    """A Parquet file as a stage."""
    import duckdb

    params = {"path": literal(path, work)}
    source = "read_parquet($path, hive_partitioning = false)"
    try:
        described = con.execute(f"DESCRIBE SELECT * FROM {source}", params).fetchall()
    except duckdb.Error as error:
        raise InputError(
            f"the Parquet file cannot be read ({shown(_first_line(error))})",
            file=name,
            hint="Fetch it again",
        ) from error
    names = [row[0] for row in described]
    # Bytes, lists and the like are read as the text that they make: none of them vanishes.
    # Nanoseconds with a zone know no functions.
    types = {"other": "VARCHAR", "zoned": "TIMESTAMPTZ"}
    kinds = [kind_of_type(row[1]) for row in described]
    picked = ", ".join(
        f"{f'CAST({quoted(n)} AS {types[kind]})' if kind in types else quoted(n)} AS c{i}"
        for i, (n, kind) in enumerate(zip(names, kinds, strict=True))
    )
    relation = f"(SELECT {picked} FROM {source})"
    try:
        return describe(Stage(name, names, relation, params, words="Parquet"), con)
    except duckdb.OutOfMemoryException as error:
        refuse_claim(path.stat().st_size, name, error)
        raise


def refuse_claim(size: int, name: str, error: Exception) -> None:
    """Refuse a small file that wants far more memory than it has bytes: a length in it is wrong."""
    if size <= SMALL:
        raise InputError(
            f"the Parquet file is damaged ({shown(_first_line(error))})",
            file=name,
            hint="Fetch it again",
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
