"""What a layout knows of a file beyond its columns."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fieldmend.records.sources.dialect import Dialect
from fieldmend.records.sources.text import Text


@dataclass(frozen=True)
class Layout:
    """A file's dialect, with what its layout knows beyond the columns."""

    name: str
    dialect: Dialect
    units: dict[str, str] = field(default_factory=dict)
    node: str | None = None
    missing: dict[str, tuple[float, ...]] = field(default_factory=dict)
    time: tuple[str, ...] = ()
    utc: bool = False
    """Times in parts are UTC."""
    time_kind: str = ""
    """How the time is written, one of `clock.FORMATS`, where the stamps alone do not tell."""
    offset: int | None = None
    """Minutes that the times are ahead of UTC, where the layout says so."""
    node_column: str | tuple[str, ...] | None = None
    variable: str | None = None
    value: str | None = None
    words: frozenset[str] = frozenset()
    """Words that stand for no reading."""
    places: dict[str, dict[str, float]] = field(default_factory=dict)
    line_column: bool = False
    """The first column holds the line in the file handed in."""


Rows = Iterable[tuple[int, Sequence[object]]]
"""Lines of the file handed in, each with the cells that it gives."""


def rewritten(text: Text, work: Path, header: Sequence[str], rows: Rows) -> Dialect:
    """Write a file anew as plain CSV, the line that each row came from in front."""
    out = work / f"rows-{len(list(work.iterdir()))}"
    with out.open("w", encoding="utf-8", errors="surrogateescape", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(["line", *header])
        writer.writerows([line, *cells] for line, cells in rows)
    text.path, text.encoding, text.rewrite, text.quotes = out, "utf-8", False, True
    return Dialect(",", ("-0", *header), 1)


def lines_of(text: Text) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, and their numbers."""
    with text.path.open("r", encoding=text.encoding, errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line.rstrip("\r\n").lstrip("\ufeff")


def stem(text: Text) -> str:
    """The file's name up to its first point: a station, where nothing else names it."""
    return Path(text.name).name.split(".")[0]
