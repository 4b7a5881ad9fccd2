"""A folder of Parquet parts that is read as one table: for results that do not fit in memory.

Single precision, and bounds only where no trusted reading stands: at most 12 bytes a cell where a
quarter was heard. The list of the parts is written last: with it, the folder is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.export.table import MADE, columns, connection, copy, register, selected
from fieldmend.export.writing import USAGE, OutputError, PathLike, whole

if TYPE_CHECKING:
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

FORMAT = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880"
MANIFEST = "_manifest.json"
ARRAYS = ("observed", "estimate", "lower", "upper", "anomaly", "flag", "replaced")


def write_parts(
    recovery: Result, folder: PathLike, rows: Sequence[slice], *, force: bool = False
) -> None:
    """Write the wide table as a folder of parts, one per stretch of slots.

    Parameters
    ----------
    recovery
        The result.
    folder
        Made if it is not there.
    rows
        Stretches of slots, one after the other.
    force
        Replace parts that are there.
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        if not force:
            hint = "Choose another name, or replace it with force=True (--force)"
            raise OutputError(folder, "is there already", exit_code=USAGE, hint=hint)
        (folder / MANIFEST).unlink()
    folder.mkdir(exist_ok=True)
    names = [f"part-{i:06d}.parquet" for i in range(len(rows))]
    for old in folder.glob("part-*.parquet"):
        if old.name not in names:
            old.unlink()
    parts = [
        _written(_stretch(recovery, own), folder / name)
        for name, own in zip(names, rows, strict=True)
    ]
    manifest = {
        "made_by": recovery.made_by,
        "conditions": list(recovery.conditions),
        "nodes": len(recovery.grid.nodes),
        "slots": len(recovery.grid.times),
        "parts": parts,
    }
    with whole(folder / MANIFEST, force=True) as file:
        file.write_text(json.dumps(manifest, indent=1))


def _written(part: Result, path: Path) -> dict[str, Any]:
    with whole(path, force=True) as file, connection(file) as con:
        source = register(con, part, list(part.grid.nodes))
        copy(con, f"SELECT {selected(_cells(part))} FROM {source}", file, FORMAT)
    text = hashlib.sha256(path.read_bytes()).hexdigest()
    rows = len(part.grid.times) * len(part.grid.nodes)
    return {"file": path.name, "rows": rows, "bytes": path.stat().st_size, "sha256": text}


def _cells(part: Result) -> list[tuple[str, str]]:
    """(SQL, name): labels, and of every condition reading, filled, lower, upper and flag."""
    every = columns(part)
    made = [column for column in every if column.kind in ("reading", "made")]
    out = [(c.sql, c.name) for c in every if c.kind not in ("reading", "made")]
    for c, start in enumerate(range(0, len(made), 1 + len(MADE))):
        reading, *rest = made[start : start + 1 + len(MADE)]
        named = dict(zip(MADE, rest, strict=True))
        doubt = f"(v{c}_replaced OR v{c}_flag NOT IN (1, 2))"
        out.append((_single(reading.sql), reading.name))
        out.append((_single(named["filled"].sql), named["filled"].name))
        for end in ("lower", "upper"):
            sql = f"CASE WHEN {doubt} THEN {_single(named[end].sql)} END"
            out.append((sql, named[end].name))
        out.append((f"CAST({named['flag'].sql} AS TINYINT)", named["flag"].name))
    return out


def _single(sql: str) -> str:
    """A number in single precision; one that is not there takes no room."""
    return f"CASE WHEN NOT isnan({sql}) THEN TRY_CAST({sql} AS FLOAT) END"


def _stretch(recovery: Result, rows: slice) -> Result:
    """Some slots of a result; its arrays are views."""
    grid = recovery.grid
    values = {name: array[rows] for name, array in grid.values.items()}
    conditions = {name: _rows_of(one, rows) for name, one in recovery.conditions.items()}
    return replace(
        recovery,
        grid=replace(grid, values=values, times=grid.times[rows]),
        conditions=conditions,
    )


def _rows_of(one: Recovered, rows: slice) -> Recovered:
    arrays: dict[str, Any] = {name: getattr(one, name) for name in ARRAYS}
    some: dict[str, Any] = {n: None if a is None else a[rows] for n, a in arrays.items()}
    return replace(one, **some)
