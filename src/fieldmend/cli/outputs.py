"""Which files are written, whether they can be, and writing them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fieldmend.recovery import Recovery

ENDING = {"parquet": "parquet", "csv": "csv", "netcdf": "nc"}


class OutputExists(Exception):
    """A file is there already and must not be replaced."""


@dataclass(frozen=True)
class Wish:
    """What the user wants written, and where."""

    folder: Path
    formats: Sequence[str]
    report: bool = True
    force: bool = False

    def files(self, name: str) -> dict[str, Path]:
        """Kind → path. The first format is "recovered", a further one "recovered_csv" and so on.

        Examples
        --------
        >>> found = Wish(Path("out"), ["csv", "netcdf"], report=False).files("lab")
        >>> {kind: path.name for kind, path in found.items()}  # doctest: +NORMALIZE_WHITESPACE
        {'recovered': 'lab.recovered.csv', 'recovered_netcdf': 'lab.recovered.nc',
         'anomalies': 'lab.anomalies.csv', 'rejects': 'lab.rejects.csv'}
        """
        formats = list(dict.fromkeys(self.formats))
        kinds = ["recovered", *(f"recovered_{more}" for more in formats[1:])]
        paths = {k: f"recovered.{ENDING[f]}" for k, f in zip(kinds, formats, strict=True)}
        # A list is a table: who reads no Parquet gets it as CSV.
        paths["anomalies"] = (
            f"anomalies.{'csv' if 'parquet' not in formats and 'csv' in formats else 'parquet'}"
        )
        paths["rejects"] = "rejects.csv"
        if self.report:
            paths["report"] = "report.html"
        return {kind: self.folder / f"{name}.{rest}" for kind, rest in paths.items()}


def prepare(wish: Wish, files: dict[str, Path], inputs: Sequence[str] = ()) -> None:
    """Refuse what cannot be written, before any work is done."""
    if "netcdf" in wish.formats:
        _check_extra()
    folder = wish.folder
    if not folder.exists():
        folder.mkdir()  # its last part only: a mistyped path is an error, not a new tree
    if not folder.is_dir():
        raise NotADirectoryError(20, "It is no folder", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "The folder cannot be written to", str(folder))
    for path in files.values():
        if any(_same(path, file) for file in inputs):
            raise OutputExists(f"{path}: it is read, and would be replaced. Use another --out")
    there = [path for path in files.values() if os.path.lexists(path)]
    if there and not wish.force:
        names = ", ".join(str(path) for path in there)
        raise OutputExists(f"{names}: already there. Use --force to replace, or another --out")


def _same(path: Path, file: str) -> bool:
    try:
        return path.samefile(file)
    except (OSError, ValueError):
        return False


def _check_extra() -> None:
    from importlib.util import find_spec

    if not (find_spec("xarray") and find_spec("h5netcdf")):
        msg = "netCDF needs xarray and h5netcdf: pip install 'fieldmend[netcdf]'"
        raise ImportError(msg)


def write(recovery: Recovery, files: dict[str, Path], *, force: bool) -> None:
    """Write every file, each whole or not at all."""
    from fieldmend import export

    for kind, path in files.items():
        if kind.startswith("recovered"):
            _table(recovery, path, force=force)
        elif kind == "anomalies":
            export.write_anomalies(recovery, path, force=force)
        elif kind == "rejects":
            export.write_rejects(recovery, path, force=force)
        else:
            recovery.report(path, force=force)


def _table(recovery: Recovery, path: Path, **options: Any) -> None:
    writers = {
        ".parquet": recovery.to_parquet,
        ".csv": recovery.to_csv,
        ".nc": recovery.to_netcdf,
    }
    writers[path.suffix](path, **options)
