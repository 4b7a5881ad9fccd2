"""CSV: ISO 8601 times in UTC, empty where nothing is, text that a spreadsheet does not run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fieldmend.export.table import columns, connection, copy, register, selected
from fieldmend.export.writing import PathLike, whole

if TYPE_CHECKING:
    from fieldmend.result.result import Result

# Cells that begin so are formulas to a spreadsheet.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
PACKED = {".gz": "gzip", ".zst": "zstd"}


def write_csv(recovery: Result, path: PathLike, *, force: bool = False) -> None:
    """Write the wide table as CSV; a name that ends in .gz or .zst is compressed."""
    grid = recovery.grid
    stamp = stamp_format(int(grid.times[0]), grid.slot)
    with whole(path, force=force) as part, connection(part) as con:
        source = register(con, recovery, [guarded(node) for node in grid.nodes])
        cells = [
            (f"strftime({c.sql}, '{stamp}')" if c.kind == "time" else c.sql, guarded(c.name))
            for c in columns(recovery)
        ]
        copy(con, f"SELECT {selected(cells)} FROM {source}", part, csv_format(path))


def csv_format(path: PathLike) -> str:
    """Options of COPY."""
    return f"FORMAT csv, HEADER, COMPRESSION {PACKED.get(Path(path).suffix.casefold(), 'none')}"


def stamp_format(*lengths: int) -> str:
    """Parts of a second only where there are any."""
    whole_seconds = all(length % 1_000_000 == 0 for length in lengths)
    return "%Y-%m-%dT%H:%M:%SZ" if whole_seconds else "%Y-%m-%dT%H:%M:%S.%fZ"


def guarded(text: str) -> str:
    """Text that would be taken for a formula gets an apostrophe in front.

    Examples
    --------
    >>> guarded("=1+1"), guarded("node-7")
    ("'=1+1", 'node-7')
    """
    return f"'{text}" if text.startswith(FORMULA) else text
