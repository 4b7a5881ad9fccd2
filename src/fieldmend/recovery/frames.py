"""Arrays as frames: pandas, Polars or PyArrow, whichever the user has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.recovery.anomalies import anomaly_columns

if TYPE_CHECKING:
    from fieldmend.recovery.result import Recovery

BACKENDS = ("pandas", "polars", "pyarrow")


class Frames(Mapping[str, Any]):
    """Condition → frame, time × node, made when it is asked for."""

    def __init__(self, recovery: Recovery, what: str) -> None:
        self._recovery, self._what = recovery, what

    def __getitem__(self, condition: str) -> Any:
        array = getattr(self._recovery.conditions[condition], self._what)
        columns = {name: array[:, n] for n, name in enumerate(self._recovery.grid.nodes)}
        return _frame(self._recovery, columns, indexed=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self._recovery.conditions)

    def __len__(self) -> int:
        return len(self._recovery.conditions)

    def __repr__(self) -> str:
        return f"<frames of {self._what}: {', '.join(self)}>"


def anomaly_frame(recovery: Recovery) -> Any:
    """The list of anomalies as a frame."""
    return _frame(recovery, anomaly_columns(recovery), indexed=False)


def _frame(recovery: Recovery, columns: dict[str, Any], *, indexed: bool) -> Any:
    """`indexed`: one row per slot; the time becomes pandas' index, a first column elsewhere."""
    backend = recovery.backend or next((b for b in BACKENDS if find_spec(b)), None)
    if backend is None:
        msg = (
            "frames need pandas, polars or pyarrow: install one of them, or use the arrays of "
            'rec["condition"] and rec.grid'
        )
        raise ImportError(msg)
    times = recovery.grid.times.astype("datetime64[us]")
    if backend == "pandas":
        import pandas as pd

        if indexed:
            return pd.DataFrame(columns, index=pd.DatetimeIndex(times, tz="UTC", name="time"))
        columns["time"] = pd.DatetimeIndex(columns["time"], tz="UTC")
        return pd.DataFrame(columns)
    import pyarrow as pa

    table = {"time": times, **columns} if indexed else columns
    table["time"] = pa.array(np.asarray(table["time"]), type=pa.timestamp("us", tz="UTC"))
    arrow = pa.table(table)
    if backend == "pyarrow":
        return arrow
    import polars as pl

    return pl.from_arrow(arrow)
