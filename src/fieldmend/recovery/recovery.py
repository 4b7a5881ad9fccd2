"""`Recovery`, what `recover` gives back: the result and the ways out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fieldmend.field.fieldmodel import FieldModel
from fieldmend.recovery.modelling import model_of
from fieldmend.recovery.windows import windows
from fieldmend.result.anomalies import anomaly_columns
from fieldmend.result.frames import Frames, anomaly_frame, check_backend, listed_frame
from fieldmend.result.result import Result
from fieldmend.result.summary import summarise

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, repr=False, eq=False)
class Recovery(Result):
    """The recovered field of every condition, with labels.

    ``rec["temperature"]`` is the `Recovered` of one condition, in arrays. ``filled``, ``estimate``
    and ``flags`` map each condition to a frame, time × node: a pandas, Polars or PyArrow one, the
    kind that was handed in or the first that is installed; without any, plain columns of NumPy.

    Attributes
    ----------
    grid
        The readings as they were.
    conditions
        Name → `Recovered`.
    options
        How it was made.
    backend
        Which frames it gives.
    notes
        What a person should know of it as a whole.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
    >>> fm.recover(fm.Grid.of(net.readings, condition="temperature"))
    <Recovery: 60 slots × 8 nodes, temperature>
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

    @cached_property
    def model(self) -> FieldModel:
        """The fitted model of all conditions, for other slots of the same nodes.

        Raises
        ------
        InputError
            If the method fits none, or conditions were recovered together.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=100, nodes=6, field="temperature", seed=1)
        >>> fm.recover(fm.Grid.of(net.readings, condition="temperature")).model
        <FieldModel temperature: 6 nodes, 2 common factors, fitted on 100 slots>
        """
        return model_of(self)

    def anomaly_columns(self) -> dict[str, Any]:
        """The same list as plain arrays, which need no frame library.

        Returns
        -------
        dict
            Column → array.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> sorted(rec.anomaly_columns())[:3]
        ['condition', 'deviation', 'episode']
        """
        return anomaly_columns(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """The wide table that `to_parquet` writes, as one frame: a row for every node and slot.

        Parameters
        ----------
        backend
            ``pandas``, ``polars``, ``pyarrow`` or ``numpy`` (plain columns); the kind that was
            handed in, or the first that is installed, if not given.

        Returns
        -------
        frame
            Columns node, time, and for each condition v: v, v_estimate, v_lower, v_upper,
            v_anomaly, v_flag, v_filled.

        Raises
        ------
        InputError
            For a library that is none of them.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> frame = rec.to_frame("numpy")
        >>> len(frame), "temperature_filled" in frame.columns
        (480, True)
        """
        from fieldmend.export.frame import wide_columns

        check_backend(backend)
        return listed_frame(self, wide_columns(self), backend)

    def to_xarray(self) -> Any:
        """The same as a Dataset, time × node (extra ``netcdf``).

        Returns
        -------
        xarray.Dataset

        Raises
        ------
        ImportError
            Where xarray is not installed.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> dict(rec.to_xarray()["temperature_filled"].sizes)
        {'time': 60, 'node': 8}
        """
        from fieldmend.export.dataset import dataset

        return dataset(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from fieldmend.recovery.notebook import page

        return page(self)

    def summary(self) -> dict[str, Any]:
        """The whole story as plain numbers and words: what ``--json`` prints.

        Returns
        -------
        dict

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> rec.summary()["grid"]["nodes"]
        8
        """
        return summarise(self)

    def report(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the report: one HTML file that needs no network.

        Parameters
        ----------
        path
            The file.
        force
            Replace a file that is there.

        Raises
        ------
        OutputError
            If the file is there and `force` is not set, or it cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rec.report(Path(folder, "report.html"))
        ...     Path(folder, "report.html").exists()
        True
        """
        from fieldmend.report import write_report

        write_report(self, path, force=force)

    def plot(self, figure: str = "heatmap", condition: str | None = None, **options: Any) -> Any:
        """One of the report's figures, as a Plotly figure (for notebooks).

        Parameters
        ----------
        figure
            ``heatmap``, ``values``, ``curve``, ``loss``, ``gaps``, ``anomalies``, ``energy``,
            ``residuals``, ``holdout`` or ``map``.
        condition
            The first if not given; for ``loss``, ``gaps`` and ``anomalies`` all of them.
        **options
            ``theme`` (``light`` or ``dark``); ``cells`` of the heat maps; ``node``, ``points``
            and ``neighbours`` of ``curve``.

        Returns
        -------
        plotly.graph_objects.Figure

        Raises
        ------
        ValueError
            For a name that is not there, with those that are; where there is nothing to draw.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> rec.plot("curve", node="3").layout.xaxis.title.text
        'time (UTC)'
        """
        from fieldmend.report import plot

        return plot(self, figure, condition, **options)

    def to_parquet(
        self, path: str | PathLike[str], *, force: bool = False, parts: bool = False
    ) -> None:
        """Write the wide table (FORMATS: columns v, v_estimate, …) as Parquet.

        Parameters
        ----------
        path
            The file; with `parts`, the folder.
        force
            Replace a file that is there.
        parts
            Write a folder of parts that is read as one table, one part per window, in single
            precision: readings, filled values, flags, and bounds where no trusted reading stands.

        Raises
        ------
        OutputError
            If the file is there and `force` is not set, or it cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rec.to_parquet(Path(folder, "out.parquet"))
        ...     Path(folder, "out.parquet").exists()
        True
        """
        from fieldmend.export import write_parquet, write_parts

        if parts:
            plan = windows(*self.grid.shape, self.options.window)
            write_parts(self, path, [window.decided for window in plan], force=force)
        else:
            write_parquet(self, path, force=force)

    def to_csv(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the wide table as CSV.

        Parameters
        ----------
        path
            The file.
        force
            Replace a file that is there.

        Raises
        ------
        OutputError
            If the file is there and `force` is not set, or it cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rec.to_csv(Path(folder, "out.csv"))
        ...     Path(folder, "out.csv").exists()
        True
        """
        from fieldmend.export import write_csv

        write_csv(self, path, force=force)

    def to_netcdf(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write a CF-1.11 time series file (extra ``netcdf``).

        Parameters
        ----------
        path
            The file.
        force
            Replace a file that is there.

        Raises
        ------
        OutputError
            If the file is there and `force` is not set, or it cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rec.to_netcdf(Path(folder, "out.nc"))
        ...     Path(folder, "out.nc").exists()
        True
        """
        from fieldmend.export import write_netcdf

        write_netcdf(self, path, force=force)
