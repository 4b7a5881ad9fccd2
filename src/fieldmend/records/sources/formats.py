"""The binary formats: one entry each, known by its first bytes. To add one, add an entry."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fieldmend.errors import InputError
from fieldmend.records.sources.stage import Chosen, Stage

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class File:
    """A file that is to be read, with what is needed to read it."""

    path: Path
    name: str
    """As the user named it."""
    magic: bytes
    """Its first 16 bytes."""
    chosen: Chosen
    con: "duckdb.DuckDBPyConnection"
    work: Path


@dataclass(frozen=True)
class Format:
    """A binary format."""

    name: str
    magic: tuple[bytes, ...]
    suffixes: tuple[str, ...]
    """Files named so must begin with the magic bytes."""
    stage: Callable[[File], Stage]


def _parquet(file: File) -> Stage:
    from fieldmend.records.sources import parquet

    return parquet.stage(file.path, file.name, file.con, file.work)


def _sqlite(file: File) -> Stage:
    from fieldmend.records.sources import databases

    return databases.sqlite(file.path, file.name, file.chosen.table, file.chosen.query)


def _netcdf(file: File) -> Stage:
    from fieldmend.records.sources import netcdf

    return netcdf.stage(file.path, file.name)


FORMATS = (
    Format("Parquet", (b"PAR1",), (".parquet", ".pq"), _parquet),
    Format("SQLite", (b"SQLite format 3\x00",), (".sqlite", ".db"), _sqlite),
    Format("netCDF or HDF5", (b"\x89HDF", b"CDF"), (".nc", ".h5", ".hdf5"), _netcdf),
)
OTHERS = {
    b"%PDF": "PDF", b"\x93NUMPY": "a NumPy array", b"ARROW1": "Arrow (Feather)",
    b"\xd0\xcf\x11\xe0": "an old Excel file or another of Microsoft Office",
    b"\x80\x04\x95": "a pickle, which is never opened", b"\x80\x05\x95": "a pickle, which is never "
    "opened", b"MATLAB 5.0": "a Matlab file",
}  # fmt: skip
"""Beginnings of files that are no tables here, and what they are."""
NOT_READ = (".npz", ".xlsx", ".ods", ".docx", ".kmz", ".7z", ".rar")


def is_binary(magic: bytes) -> bool:
    """Whether a file that begins so is of a binary format."""
    return any(magic.startswith(one.magic) for one in FORMATS)


def read(file: File) -> Stage | None:
    """The stage of a binary file; None for one that may be text."""
    for one in FORMATS:
        if file.magic.startswith(one.magic):
            return one.stage(file)
    other = next((what for start, what in OTHERS.items() if file.magic.startswith(start)), None)
    if other:
        raise InputError(
            f"it is {other}", file=file.name, hint="Hand in CSV, Parquet, JSON, netCDF or SQLite"
        )
    suffix = Path(file.name).suffix.lower()
    named = next((one.name for one in FORMATS if suffix in one.suffixes), None)
    if file.magic and (named or suffix in NOT_READ):
        raise InputError(
            f"named {suffix}, but it is not {named}" if named else f"{suffix} files are not read",
            file=file.name,
            hint="Hand in CSV, Parquet, JSON, netCDF or SQLite; .zip and .tar of these",
        )
    return None
