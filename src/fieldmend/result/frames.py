"""Arrays as frames: pandas, Polars or PyArrow, whichever the user has; else plain columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fieldmend.errors import InputError
from fieldmend.result.anomalies import anomaly_columns
from fieldmend.result.plain import Table
from fieldmend.text import shown

if TYPE_CHECKING:
    from fieldmend.result.result import Result


class Frames(Mapping[str, Any]):
    """Condition → frame, time × node, made when it is asked for."""

    def __init__(self, recovery: Result, what: str) -> None:
        self._recovery, self._what = recovery, what

    def __getitem__(self, condition: str) -> Any:
        array = getattr(self._recovery.conditions[condition], self._what)
        columns = {name: array[:, n] for n, name in enumerate(self._recovery.grid.nodes)}
        times = self._recovery.grid.times.astype("datetime64[us]")
        return _frame(self._recovery, columns, times, indexed=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self._recovery.conditions)

    def __len__(self) -> int:
        return len(self._recovery.conditions)

    def __repr__(self) -> str:
        return f"<frames of {self._what}: {', '.join(self)}>"


def anomaly_frame(recovery: Result) -> Any:
    """The list of anomalies as a frame."""
    return listed_frame(recovery, anomaly_columns(recovery))


def listed_frame(recovery: Result, columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """Columns, one of them ``time``, as a frame of the recovery's kind or of the one asked for."""
    listed = {name: _plain(column) for name, column in columns.items()}
    return _frame(recovery, listed, listed["time"], indexed=False, backend=backend)


def check_backend(backend: str | None) -> None:
    """Refuse a library of frames that is none of them."""
    if backend is not None and backend not in FRAMES:
        raise InputError(f"backend={shown(backend)!r}", hint="One of " + ", ".join(FRAMES))


def _frame(
    recovery: Result,
    columns: dict[str, Any],
    times: Any,
    *,
    indexed: bool,
    backend: str | None = None,
) -> Any:
    """`indexed`: one row per slot; the time becomes pandas' index, a first column elsewhere."""
    there = next((b for b in BACKENDS if find_spec(b)), "numpy")
    return FRAMES[backend or recovery.backend or there](columns, times, indexed)


def _pandas(columns: dict[str, Any], times: Any, indexed: bool) -> Any:
    import pandas as pd

    stamps = pd.DatetimeIndex(times, tz="UTC", name="time")
    if indexed:
        return pd.DataFrame(columns, index=stamps)
    return pd.DataFrame({**columns, "time": stamps})


def _polars(columns: dict[str, Any], times: Any, indexed: bool) -> Any:
    import polars as pl

    stamps = pl.Series(times).dt.replace_time_zone("UTC")
    return pl.DataFrame(_with_time(columns, stamps, indexed=indexed))


def _pyarrow(columns: dict[str, Any], times: Any, indexed: bool) -> Any:
    import pyarrow as pa

    stamps = pa.array(times, type=pa.timestamp("us", tz="UTC"))
    return pa.table(_with_time(columns, stamps, indexed=indexed))


def _numpy(columns: dict[str, Any], times: Any, indexed: bool) -> Any:
    return Table(columns, times if indexed else None)


FRAMES = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow, "numpy": _numpy}
BACKENDS = ("pandas", "polars", "pyarrow")
"""Libraries whose frames are taken and given; without any of them, plain columns."""


def _with_time(columns: dict[str, Any], stamps: Any, *, indexed: bool) -> dict[str, Any]:
    if not indexed:
        return {**columns, "time": stamps}
    label = "time"
    while label in columns:  # a node may be called so
        label = f"_{label}"
    return {label: stamps, **columns}


def _plain(column: Any) -> Any:
    """Text as a list: an array of objects is foreign to Polars and PyArrow."""
    return column.tolist() if column.dtype == object else column
