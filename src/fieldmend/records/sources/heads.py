"""Headers of several rows: names under names, units under names, flags without a name of their own.

A row belongs to the header if it has as many cells as the others and neither a number nor a stamp.
Rows of names are joined only where one alone does not tell the columns apart.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fieldmend.quantities import units
from fieldmend.records.sources.cutting import COMMA_NUMBER, NUMBER, STAMP, split
from fieldmend.records.vocabulary import FLAGS, TIME

ROWS = 4  # that a header may have
DEEPEST = 60  # lines that may stand above it
FORMAT = re.compile(r"\d+[sdn]")  # USGS: 15s is a text of 15 letters, 20d a date
PATTERN = re.compile(r"[ymdhsaj:/. -]{6,}|ts|rn|utc|local", re.IGNORECASE)  # yyyy-mm-dd hh:mm


@dataclass(frozen=True)
class Head:
    """The rows of a header as one."""

    names: tuple[str, ...]
    rows: int = 1
    """Of names."""
    above: int = 0
    """Of them, over the row that was taken for the header."""
    below: int = 0
    """Rows under it that are no records."""
    units: tuple[tuple[str, str], ...] = ()


def lowered(body: Sequence[tuple[int, str]], at: int, delimiter: str) -> int:
    """The line of the header, where lines above it are filled up to its width: "Title;;;;".

    A title has its first cell alone. A line that has no name for a column that most lines fill is
    the header only if none below it has names for all of those.
    """
    cells = [_cells(line, delimiter) for _, line in body]
    width = len(cells[at])
    while at + 1 < len(cells) and _is_title(cells[at]) and _is_text(cells[at + 1], width):
        at += 1
    records = [row for row in cells[len(cells) // 2 :] if len(row) == width]
    filled = [i for i in range(width) if 2 * sum(bool(row[i]) for row in records) > len(records)]
    if not records or all(cells[at][i] for i in filled) or stacked(body, at, delimiter).rows > 1:
        return at
    below = range(at + 1, min(len(cells), at + DEEPEST))
    return next(
        (i for i in below if _is_text(cells[i], width) and all(cells[i][k] for k in filled)), at
    )


def _is_title(cells: Sequence[str]) -> bool:
    return len(cells) > 2 and bool(cells[0]) and not any(cells[1:])


def stacked(body: Sequence[tuple[int, str]], at: int, delimiter: str) -> Head:
    """The header at a line of a body, with the rows over and under it that belong to it."""
    cells = [_cells(line, delimiter) for _, line in body[: at + 1 + ROWS]]
    header = cells[at]
    below = [at]
    named = _index_row(cells, at)
    if named:  # data frames: names over names, and the index has a row of its own
        rows = cells[at:named]
        index = cells[named][0]
        names = (index, *_joined([row[1:] for row in rows]))
        if _distinct(names):
            return Head(names, len(rows) + 1, 0, named - at)
    while (following := _next_row(cells, below[-1])) and _is_text(cells[following], len(header)):
        below.append(following)
    last = cells[below[-1]]
    found: tuple[tuple[str, str], ...] = ()
    rows = [header]
    under = 0
    if len(below) > 1 and (_is_units(last) or all(map(FORMAT.fullmatch, filter(None, last)))):
        found = tuple((name, unit.strip("[]()")) for name, unit in zip(header, last, strict=True)
                      if units.spelt(unit.strip("[]()"))[0])  # fmt: skip
        under = below[-1] - at
        below = below[:-1]
    if _distinct(header):
        return Head(header, below=under if len(below) == 1 else 0, units=found)
    over = at
    while over and at - over < ROWS and _is_text(cells[over - 1], len(header)):
        over -= 1
    rows = [row for row in cells[over : below[-1] + 1] if any(row)]
    names = _joined(rows) if len(rows) > 1 else ()
    if not names or not _distinct(names):
        return Head(header)
    by_place = dict(zip(header, names, strict=True))
    found = tuple((by_place[name], unit) for name, unit in found)
    return Head(names, len(rows), at - over, under or below[-1] - at, found)


def _next_row(cells: Sequence[Sequence[str]], at: int) -> int:
    """The row after one, past a row of empty cells; 0 if there is none."""
    following = at + 1
    if following + 1 < len(cells) and not any(cells[following]):
        following += 1
    return following if following < len(cells) else 0


def _index_row(cells: Sequence[Sequence[str]], at: int) -> int:
    """The row that has a name for the first column only, under others; 0 if there is none."""
    width = len(cells[at])
    for i in range(at + 1, min(at + ROWS, len(cells))):
        row = cells[i]
        if len(row) != width:
            return 0
        if row[0].casefold() in TIME and not any(row[1:]):
            return i
        if not _is_text(row, width):
            return 0
    return 0


def _cells(line: str, delimiter: str) -> tuple[str, ...]:
    return tuple(cell.strip().lstrip("\ufeff") for cell in split(line, delimiter))


def _is_text(cells: Sequence[str], width: int) -> bool:
    """As wide as the header, and some words in it, but no number and no stamp."""
    there = [cell for cell in cells if cell]
    return len(cells) == width and len(there) > 1 and not any(
        NUMBER.fullmatch(cell) or COMMA_NUMBER.fullmatch(cell) or STAMP.match(cell)
        for cell in there
    )  # fmt: skip


def _is_units(cells: Sequence[str]) -> bool:
    there = [cell for cell in cells if cell and not PATTERN.fullmatch(cell)]
    if there and all(re.fullmatch(r"[\[(].*[\])]", cell) for cell in there):
        return True  # EddyPro: [yyyy-mm-dd], [kg+1m-1s-2]
    known = sum(bool(units.spelt(cell)[0]) for cell in there)
    return known * 2 > len(there) > 0


def _distinct(names: Sequence[str]) -> bool:
    return all(names) and len({name.casefold() for name in names}) == len(names)


def _joined(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Names from top to bottom; a cell that is empty in an upper row has the one to its left."""
    filled = []
    for row in rows[:-1]:
        cells = list(row)
        for i in range(1, len(cells)):
            cells[i] = cells[i] or cells[i - 1]
        filled.append(cells)
    columns = zip(*filled, rows[-1], strict=True)
    return tuple(" ".join(dict.fromkeys(filter(None, column))) for column in columns)


def flags_named(header: Sequence[str]) -> tuple[str, ...]:
    """A flag that many columns have beside them is called after the one on its left.

    Examples
    --------
    >>> flags_named(["time", "t", "qc", "rh", "qc"])
    ('time', 't', 't qc', 'rh', 'rh qc')
    """
    counts = Counter(name.casefold() for name in header)
    out: list[str] = []
    for i, name in enumerate(header):
        judges = i > 0 and counts[name.casefold()] > 1 and name.casefold() in FLAGS
        bare = re.sub(r"\s*[\[(][^\[\]()]*[\])]$", "", out[-1]) if judges else ""
        out.append(f"{bare} {name}" if judges else name)
    return tuple(out) if _distinct(out) else _owned(header, counts)


def _owned(header: Sequence[str], counts: Counter[str]) -> tuple[str, ...]:
    """Names that repeat, each called after the last one that does not: Level, Grade, Flow, Grade.

    As they were, if that does not tell them apart.
    """
    out: list[str] = []
    owner = ""
    for name in header:
        alone = counts[name.casefold()] == 1
        owner = name if alone else owner
        bare = re.sub(r"\s*[\[(][^\[\]()]*[\])]$", "", owner)
        out.append(name if alone or not name else f"{bare} {name}")
    return tuple(out) if _distinct(out) else tuple(header)
