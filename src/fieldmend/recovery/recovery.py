"""`Recovery`, what `recover` gives back: the result and the ways out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fieldmend.result.anomalies import anomaly_columns
from fieldmend.result.frames import Frames, anomaly_frame
from fieldmend.result.result import Result
from fieldmend.result.summary import summarise

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, repr=False, eq=False)
class Recovery(Result):
    """The recovered field of every condition, with labels.

    ``rec["temperature"]`` is the `Recovered` of one condition, in arrays. ``filled``, ``estimate``
    and ``flags`` map each condition to a frame, time × node: a pandas, Polars or PyArrow one, the
    kind that was handed in or the first that is installed.
    """

    def __repr__(self) -> str:
        slots, nodes = self.grid.shape
        names = ", ".join(self.conditions)
        return f"<Recovery: {slots} slots × {nodes} nodes, {names}>"

    @property
    def filled(self) -> Mapping[str, Any]:
        """Per condition: the reading, or the estimate where it is lost or certainly false."""
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
