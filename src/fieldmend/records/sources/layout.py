"""What a layout knows of a file beyond its columns."""

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


def stem(text: Text) -> str:
    """The file's name up to its first point: a station, where nothing else names it."""
    return Path(text.name).name.split(".")[0]
