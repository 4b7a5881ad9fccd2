"""Which files are written, and writing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from fieldmend.recovery import Recovery

WORK = ".unfinished"
"""Where, in the folder of parts, finished windows are kept until all is written."""
FOLDER = ".recovered"  # ending of a folder of parts
ENDING = {"parquet": "parquet", "csv": "csv", "netcdf": "nc"}


@dataclass(frozen=True)
class Wish:
    """What the user wants written, and where."""

    folder: Path
    formats: Sequence[str] = ("parquet",)
    report: bool = True
    force: bool = False
    model: Path | None = None
    append: bool = False
    date: str = ""
    """Put into the names: the day that the record ends on."""
    parts: bool = False  # the table as a folder of parts
    resume: bool = False

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
        ends = {k: f"recovered.{ENDING[f]}" for k, f in zip(kinds, formats, strict=True)}
        # The list is a table too: who asked for CSV and not for Parquet gets it as CSV.
        as_csv = "csv" in formats and "parquet" not in formats
        ends["anomalies"] = "anomalies.csv" if as_csv else "anomalies.parquet"
        ends["rejects"] = "rejects.csv"
        if self.parts:
            ends["recovered"] = FOLDER.removeprefix(".")
        if self.report:
            ends["report"] = "report.html"
        stem = f"{name}.{self.date}" if self.date else name
        files = {kind: self.folder / f"{stem}.{end}" for kind, end in ends.items()}
        return files if self.model is None else files | {"model": self.model}

    def check(self, files: dict[str, Path], inputs: Sequence[str] = ()) -> None:
        """Refuse what cannot be written, before any work is done."""
        from fieldmend.export import check_outputs

        if "netcdf" in self.formats:
            if self.append:
                raise typer.BadParameter("--append: netCDF is not added to; take parquet or csv")
            _check_extra()
        if self.parts and list(self.formats) != ["parquet"]:
            raise typer.BadParameter("--format: with --memory the table is Parquet, in parts")
        self._check_folder()
        if self.parts:
            self._check_parts(files["recovered"])
        others = [path for path in files.values() if not self.parts or path != files["recovered"]]
        check_outputs(others, force=self.force or self.append or self.resume, inputs=inputs)

    def _check_parts(self, folder: Path) -> None:
        """A folder of parts is made, gone on with, or replaced as a whole."""
        from fieldmend.export import MANIFEST

        begun = (folder / WORK).is_dir()
        if self.resume and not begun:
            why = "it is whole" if (folder / MANIFEST).exists() else "no run was ended there"
            raise typer.BadParameter(f"--resume: {folder}: {why}")
        if not folder.exists() or self.resume or self.force:
            return
        hint = "--resume goes on with it, --force starts anew" if begun else "--force replaces it"
        raise typer.BadParameter(f"{folder} is there already: {hint}")

    def kept(self, files: dict[str, Path]) -> Path | None:
        """The folder that finished windows are kept in, empty unless a run is resumed."""
        if not self.parts:
            return None
        work = files["recovered"] / WORK
        if not self.resume:
            rmtree(work, ignore_errors=True)
        work.parent.mkdir(parents=True, exist_ok=True)
        return work

    def _check_folder(self) -> None:
        """A mistyped path is an error, not a new tree of folders."""
        if self.folder.is_dir():
            return
        if self.folder.exists() or self.folder.is_symlink():
            raise typer.BadParameter(f"--out {self.folder}: it is no folder")
        if not self.folder.parent.is_dir():
            raise typer.BadParameter(
                f"--out {self.folder}: there is no folder {self.folder.parent} to make it in"
            )


def _check_extra() -> None:
    from importlib.util import find_spec

    if not (find_spec("xarray") and find_spec("h5netcdf")):
        msg = "netCDF needs xarray and h5netcdf: pip install 'fieldmend[netcdf]'"
        raise ImportError(msg)


def write(
    recovery: Recovery,
    files: dict[str, Path],
    begun: Callable[[str], object] = lambda _: None,
    *,
    force: bool,
    since: int | None = None,
) -> None:
    """Write every file, all of them or none: they are renamed when the last is there.

    `begun` hears of each before it is written. With `since`, tables that are there keep what they
    hold before that moment.
    """
    from fieldmend.export.staging import staged

    parts = files.get("recovered")
    if parts is not None and parts.suffix == FOLDER:
        recovery.to_parquet(parts, force=force, parts=True)
        files = {kind: path for kind, path in files.items() if kind != "recovered"}
    with staged(files, force=force or since is not None) as staging:
        for kind, path in files.items():
            begun(path.name)
            make = _writer(recovery, kind, path)
            if since is not None and kind in ADDED_TO and path.exists():
                make = _added(make, path, since)
            staging.put(path, make)


ADDED_TO = ("recovered", "recovered_csv", "recovered_parquet", "anomalies")


def _writer(recovery: Recovery, kind: str, path: Path) -> Callable[[Path], object]:
    from fieldmend import export

    tables = {
        ".parquet": recovery.to_parquet,
        ".csv": recovery.to_csv,
        ".nc": recovery.to_netcdf,
    }
    makers: dict[str, Callable[[Path], object]] = {
        "anomalies": lambda part: export.write_anomalies(recovery, part),
        "rejects": lambda part: export.write_rejects(recovery, part),
        "report": recovery.report,
        "model": lambda part: recovery.model.save(part),
    }
    return makers.get(kind) or tables[path.suffix]


def _added(make: Callable[[Path], object], path: Path, since: int) -> Callable[[Path], object]:
    """The table that is there, up to a moment, and what is made after it."""
    from fieldmend.export.appending import joined

    def write_joined(part: Path) -> None:
        new = part.with_name(f"new.{part.name}")
        make(new)
        joined(path, new, part, since)
        new.unlink()

    return write_joined
