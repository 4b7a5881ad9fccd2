"""Parquet: the wide table, compressed, times with their zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fieldmend.export.table import columns, connection, copy, register, selected
from fieldmend.export.writing import PathLike, whole

if TYPE_CHECKING:
    from fieldmend.result.result import Result

FORMAT = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880"


def write_parquet(recovery: Result, path: PathLike, *, force: bool = False) -> None:
    """Write the wide table as Parquet."""
    with whole(path, force=force) as part, connection(part) as con:
        source = register(con, recovery, list(recovery.grid.nodes))
        cells = [(column.sql, column.name) for column in columns(recovery)]
        copy(con, f"SELECT {selected(cells)} FROM {source}", part, FORMAT)
