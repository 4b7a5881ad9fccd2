"""What a layout knows of a file beyond its columns."""

import csv
import re
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


ENDING = re.compile(
    r"csv|txt|dat|data|tsv|psv|asc|ascii|jsonl?|ndjson|parquet|pq|nc|gz|zst|xz|bz2|zip|tar|tgz|log|"
    r"db|sqlite|dly|rdb|mdf|stm|zrx|zrxp|out|raw",
    re.IGNORECASE,
)
DAY = re.compile(r"[\d_TZ-]*")  # a date, or the number of a part


def stem(text: Text) -> str:
    """What a text file is called: a station, where nothing else names it."""
    return stem_of(text.name)


def stem_of(name: str) -> str:
    """A file's name without what says how it is packed, and of which day it is.

    Examples
    --------
    >>> stem_of("mast7.2024-01-31.csv.gz"), stem_of("day/SPO.DE_001.parquet")
    ('mast7', 'SPO.DE_001')
    >>> stem_of("Oak (37.80 -122.41) 09_01.csv")
    'Oak (37.80 -122.41) 09_01'
    """
    first, *parts = Path(name).name.split(".")
    if parts and re.fullmatch(r"[A-Za-z][A-Za-z\d]{0,7}", parts[-1]):
        parts.pop()
    while parts and ENDING.fullmatch(parts[-1]):
        parts.pop()
    if all(DAY.fullmatch(part) for part in parts):
        return first
    return ".".join([first, *parts])
