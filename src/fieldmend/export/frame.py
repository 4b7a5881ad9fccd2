"""The wide table as columns in memory, in the order of the files: time, then node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.export.table import Column, columns, place_keys, place_values

if TYPE_CHECKING:
    from fieldmend.result.result import Result


def wide_columns(recovery: Result) -> dict[str, Any]:
    """Column → array, as `write_parquet` writes them. Cost: a copy of the labels and of `filled`.

    Columns that the method has none of (an interval, for most) are not there.
    """
    slots = recovery.grid.shape[0]
    times = recovery.grid.times.astype("datetime64[us]")
    labels = np.array(recovery.grid.nodes, dtype=object)
    places = iter(place_values(recovery, key) for key in place_keys(recovery))
    conditions = iter(recovery.conditions.values())
    out: dict[str, Any] = {}
    for column in columns(recovery):
        if column.kind == "node":
            out[column.name] = np.tile(labels, slots)
        elif column.kind == "time":
            out[column.name] = np.repeat(times, len(labels))
        elif column.kind == "place":
            out[column.name] = np.tile(np.array(next(places), dtype=np.float64), slots)
        elif column.array is not None:
            out[column.name] = np.ascontiguousarray(column.array).reshape(-1)
        elif _is_filled(column):  # the last of its condition
            out[column.name] = next(conditions).filled.reshape(-1)
    return out


def _is_filled(column: Column) -> bool:
    return column.kind == "made" and column.sql.startswith("CASE")
