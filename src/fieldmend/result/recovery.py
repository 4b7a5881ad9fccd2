"""What `recover` gives back: arrays with their labels on, and the ways out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.faults import Episode
from fieldmend.flags import KEPT, Flag
from fieldmend.grid import Array, Grid
from fieldmend.recovery.holdout import Holdout
from fieldmend.recovery.options import Options
from fieldmend.result.anomalies import anomaly_columns
from fieldmend.result.frames import Frames, anomaly_frame
from fieldmend.result.summary import summarise

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, repr=False, eq=False)
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
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        slots, nodes = self.observed.shape
        suspect = int(np.count_nonzero(self.flag == Flag.SUSPECT))
        return f"<Recovered {self.name}: {slots} slots × {nodes} nodes, {suspect} suspect>"

    @property
    def filled(self) -> Array:
        """The reading where its flag is 1 or 2, else the estimate."""
        keep = np.isin(self.flag, KEPT)
        return np.where(keep, self.observed, self.estimate)


@dataclass(frozen=True, repr=False, eq=False)
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
    notes: tuple[str, ...] = ()

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

    @property
    def made_by(self) -> str:
        """Version and options, for a file's history; no clock: the same every time."""
        from fieldmend import __version__

        return f"fieldmend {__version__}: method {self.options.method}, seed {self.options.seed}"

    def anomaly_columns(self) -> dict[str, Any]:
        """The same list as plain arrays, which need no frame library."""
        return anomaly_columns(self)

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
