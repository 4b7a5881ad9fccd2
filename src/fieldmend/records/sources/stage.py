"""A source as a `Stage`: a relation that DuckDB can read, with what is known of its columns.

Columns are called c0, c1, … in every relation: names from outside stay in Python and never reach
SQL, except those of Parquet files, which `quoted` quotes.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.records.sources.growing import Mark
from fieldmend.records.sources.layout import Layout
from fieldmend.records.sources.text import Reject, Text

if TYPE_CHECKING:
    import duckdb

SAMPLED = 1000
BATCH = 100_000


@dataclass
class Stage:
    """One file or table, ready for DuckDB."""

    name: str
    names: list[str]
    relation: str = ""
    """What stands after FROM; empty if the rows come in batches."""
    params: dict[str, Any] = field(default_factory=dict)
    batches: Iterator[list[Any]] | None = None
    """Columns as arrays, one list per batch."""
    kinds: list[str] = field(default_factory=list)
    """text, number, integer, naive, zoned or other, per column."""
    sample: list[list[str | None]] = field(default_factory=list)
    words: str = ""
    decimal: str = "."
    sha256: str | None = None
    bytes: int | None = None
    layout: Layout | None = None
    text: Text | None = None
    skip: int = 0
    header: tuple[str, ...] = ()
    """The names of the columns as the text has them."""
    stem: str = ""
    rejects: list[Reject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    places: dict[str, dict[str, float]] = field(default_factory=dict)
    dates: str = ""
    """The order of day, month and year, where the time's column says it."""
    offset: int | None = None
    """Minutes that the times are ahead of UTC, where the time's column says so."""
    suffixes: dict[int, str] = field(default_factory=dict)
    """Column → the unit that stands behind each of its numbers."""
    stretches: set[int] = field(default_factory=set)
    """Columns of stretches of time, "29.01.2024 00:00 - 29.01.2024 00:15": each begins there."""
    grouped: set[int] = field(default_factory=set)
    """Columns whose numbers are written in groups of thousands."""
    compass: set[int] = field(default_factory=set)
    """Columns of directions that are written as points of the compass."""
    dry: set[int] = field(default_factory=set)
    """Columns of rain in which NR is no rain."""
    season: str = ""
    """The zone that it names instead, if that is no one offset: EST/EDT."""
    json: bool = False
    """Lines that are no object have `broken` set."""
    mark: Mark | None = None
    """How the file was when reading began, if it is one of the user's and lies on a disk."""
    asked: bool = False
    """The source has answered the query itself."""
    close: Callable[[], None] = lambda: None
    """Gives a database's connection back."""


@dataclass(frozen=True)
class Chosen:
    """What the user said about the source."""

    table: str | None = None
    query: str | None = None
    salvage: bool = False
    columns: Sequence[str] | None = None
    """Names for the columns of a file without a header."""
    encoding: str | None = None
    growing: frozenset[str] = frozenset()
    """Files that changed while they were read: their lines are read from a copy."""


def literal(path: Path, work: Path) -> str:
    """A path that DuckDB takes as it is: `*`, `?`, `[` and `s3://` are letters, not patterns."""
    full = str(path.absolute())
    if not re.search(r"[*?\[\]{}]|://", full):
        return full
    link = work / f"link-{len(list(work.iterdir()))}"
    try:
        link.symlink_to(full)
    except OSError:
        shutil.copyfile(full, link)
    return str(link)


def scan(con: "duckdb.DuckDBPyConnection", sql: str, params: dict[str, Any]) -> list[Any]:
    """The rows of a query over a stage's relation; what DuckDB notes of bad lines is dropped."""
    used = {key: value for key, value in params.items() if re.search(rf"\${key}\b", sql)}
    rows = con.execute(sql, used).fetchall()
    con.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    return rows


def materialise(stage: Stage, con: "duckdb.DuckDBPyConnection") -> None:
    """Give a stage whose rows come in batches a table, so that it can be read more than once."""
    if stage.batches is None:
        return
    types = {"number": "DOUBLE", "naive": "TIMESTAMP", "zoned": "TIMESTAMP"}
    table = f"staged_{id(stage)}"
    made = False
    for batch in stage.batches:
        con.register("batch", {f"c{i}": column for i, column in enumerate(batch)})
        con.execute(f"INSERT INTO {table} FROM batch" if made else
                    f"CREATE TABLE {table} AS FROM batch")  # fmt: skip
        con.unregister("batch")
        made = True
    if not made:
        cells = ", ".join(
            f"c{i} {types.get(kind, 'VARCHAR')}" for i, kind in enumerate(stage.kinds)
        )
        con.execute(f"CREATE TABLE {table} ({cells})")
    stage.relation, stage.batches = table, None


def describe(stage: Stage, con: "duckdb.DuckDBPyConnection") -> Stage:
    """Fill in the kinds of the columns and a sample, from the relation itself."""
    described = con.execute(f"DESCRIBE SELECT * FROM {stage.relation}", stage.params).fetchall()
    stage.kinds = [kind_of_type(row[1]) for row in described]
    cells = ", ".join(f"CAST(c{i} AS VARCHAR)" for i in range(len(stage.names)))
    rows = con.execute(
        f"SELECT {cells} FROM {stage.relation} LIMIT {SAMPLED}", stage.params
    ).fetchall()
    stage.sample = [list(row) for row in rows]
    return stage


def kind_of_type(name: str) -> str:
    """What a DuckDB type is to us."""
    upper = name.upper()
    if upper.startswith(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")):
        return "zoned"
    if upper.startswith(("TIMESTAMP", "DATE")):
        return "naive"
    if upper.startswith(("VARCHAR", "ENUM", "UUID")):
        return "text"
    if upper.startswith(("DOUBLE", "FLOAT", "DECIMAL")) and "[" not in upper:
        return "number"
    return "integer" if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER", upper) else "other"
