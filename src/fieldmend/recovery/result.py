"""What `recover` gives back: arrays with their labels on, and the ways out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.faults import Episode
from fieldmend.grid import Array, Grid
from fieldmend.metrics import HiddenErrors
from fieldmend.recovery.frames import Frames, anomaly_frame
from fieldmend.recovery.summary import summarise

if TYPE_CHECKING:
    from os import PathLike

PASS, NOT_EVALUATED, SUSPECT, FAIL, MISSING = 1, 2, 3, 4, 9
"""QARTOD's flags."""


@dataclass(frozen=True)
class Holdout:
    """Errors on readings that were hidden on purpose, shaped like the real gaps.

    `method` and `line` score the same readings: the method, and a straight line between a node's
    own readings. `covered` is the share that fell into the interval, None without intervals.
    """

    method: HiddenErrors
    line: HiddenErrors
    covered: float | None = None

    @property
    def verdict(self) -> str:
        """Who won, in words."""
        ours, line = self.method.mae, self.line.mae
        if ours == line:
            return "as good as a straight line"
        if ours < line:
            return f"{_times(line, ours)} closer than a straight line"
        return f"a straight line is {_times(ours, line)} closer"


def _times(larger: float, smaller: float) -> str:
    return "infinitely" if smaller == 0 else f"{larger / smaller:.2g} times"


@dataclass(frozen=True)
class Recovered:
    """One condition, recovered. Arrays are slots × nodes.

    Attributes
    ----------
    observed
        The readings as they arrived, NaN where lost. Never changed.
    estimate
        The recovered field; NaN only where nothing can be said (no reading at all).
    lower, upper
        Calibrated interval, or None where the method has none.
    anomaly
        How far a suspect reading lies off the field; 0 elsewhere.
    flag
        QARTOD, int8: 1 pass, 2 not evaluated, 3 suspect, 4 fail, 9 missing.
    scale
        Usual distance between a node's readings and the field, one number per node.
    """

    name: str
    unit: str
    observed: Array
    estimate: Array
    lower: Array | None
    upper: Array | None
    anomaly: Array
    flag: Array
    scale: Array
    method: str
    rank: int
    gap: float
    status: str
    choice: str
    holdout: Holdout | None
    episodes: tuple[Episode, ...]
    notes: tuple[str, ...]

    @property
    def filled(self) -> Array:
        """The reading where its flag is 1 or 2, else the estimate."""
        keep = (self.flag == PASS) | (self.flag == NOT_EVALUATED)
        return np.where(keep, self.observed, self.estimate)


@dataclass(frozen=True)
class Options:
    """How a recovery was made."""

    method: str = "ls"
    level: float = 0.9
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    seed: int = 0
    holdout: bool = True
    command: str = ""


@dataclass(frozen=True, repr=False)
class Recovery:
    """The recovered field of every condition, with labels.

    ``rec["temperature"]`` is the `Recovered` of one condition, in arrays. ``filled``, ``estimate``
    and ``flags`` map each condition to a frame, time × node: a pandas, Polars or PyArrow one, the
    kind that was handed in or the first that is installed.
    """

    grid: Grid
    conditions: Mapping[str, Recovered]
    options: Options
    backend: str | None = None

    def __getitem__(self, condition: str) -> Recovered:
        return self.conditions[condition]

    def __repr__(self) -> str:
        slots, nodes = self.grid.shape
        names = ", ".join(self.conditions)
        return f"<Recovery: {slots} slots × {nodes} nodes, {names}>"

    @property
    def filled(self) -> Mapping[str, Any]:
        """Per condition: the reading where it is trusted, else the estimate."""
        return Frames(self, "filled")

    @property
    def estimate(self) -> Mapping[str, Any]:
        """Per condition: the recovered field."""
        return Frames(self, "estimate")

    @property
    def flags(self) -> Mapping[str, Any]:
        """Per condition: QARTOD flags."""
        return Frames(self, "flag")

    @property
    def anomalies(self) -> Any:
        """One row per flagged reading (columns of the anomaly list)."""
        return anomaly_frame(self)

    def summary(self) -> dict[str, Any]:
        """The whole story as plain numbers and words: what ``--json`` prints."""
        return summarise(self)

    def report(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the report: one HTML file that needs no network."""
        from fieldmend.report import write_report

        write_report(self, path, force=force)

    def plot(self, figure: str = "heatmap", condition: str | None = None, **options: Any) -> Any:
        """One of the report's figures, as a Plotly figure (for notebooks)."""
        from fieldmend.report import plot

        return plot(self, figure, condition, **options)

    def to_parquet(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the wide table (FORMATS: columns v, v_estimate, …) as Parquet."""
        from fieldmend.export import write_parquet

        write_parquet(self, path, force=force)

    def to_csv(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the wide table as CSV."""
        from fieldmend.export import write_csv

        write_csv(self, path, force=force)

    def to_netcdf(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write a CF-1.11 time series file (extra ``netcdf``)."""
        from fieldmend.export import write_netcdf

        write_netcdf(self, path, force=force)
