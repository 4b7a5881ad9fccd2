"""Tables whose rows have more or fewer cells than their header, all in the same way.

Loggers leave the last cells out where they are empty, and programs of countries with a decimal
comma part cells by commas too. Both are written anew with as many cells as there are names.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fieldmend.errors import InputError
from fieldmend.records.sources.cutting import BLANKS, split
from fieldmend.records.sources.dialect import TITLES, Dialect, decide
from fieldmend.records.sources.layout import Layout, lines_of, rewritten
from fieldmend.records.sources.text import Text
from fieldmend.records.vocabulary import KNOWN

LOOKED_AT = 1000  # lines
MOST = 0.9  # share of them that are uneven in the same way
FEWEST = 3  # rows that show it
Cells = Sequence[str]


def left_out(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Rows that end before the header does: a serial number stands in the first alone."""
    try:
        dialect = decide(text.head, known=KNOWN, file=text.name)
    except InputError:
        return None
    width = len(dialect.header)
    if dialect.delimiter in (" ", BLANKS) or width < 3:
        return None
    lines = [line for line in text.head[dialect.skip :] if line.strip()][:LOOKED_AT]
    widths = Counter(len(split(line, dialect.delimiter)) for line in lines)
    usual, count = widths.most_common(1)[0] if widths else (width, 0)
    # Half of the names at least: a table of another kind is not made fit.
    if not width / 2 <= usual < width or count < max(FEWEST, MOST * len(lines)):
        return None
    if {name.strip().casefold() for name in dialect.header[usual:]} & KNOWN:
        return None

    def rows() -> Iterator[tuple[int, Cells]]:
        for number, line in lines_of(text):
            if number > dialect.skip:
                cells = [cell.strip() for cell in split(line, dialect.delimiter)]
                yield number, [*cells, *[""] * (width - usual)] if len(cells) == usual else cells

    name = f"cells left out: the last {width - usual}"
    return _anew(text, work, name, dialect.header, rows(), dialect)


def decimals_parted(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Decimal commas between commas: under three names stand 29/01/24 10:00, C and 20,5."""
    rows = [split(line, ",") for line in body[:LOOKED_AT]]
    usual, count = Counter(map(len, rows)).most_common(1)[0]
    start = next((i for i, row in enumerate(rows) if len(row) == usual), 0)
    names = [cell.strip() for cell in rows[start - 1]] if 0 < start < TITLES else []
    below = [row for row in rows[start:] if len(row) == usual]
    if len(names) != usual - 1 or count < FEWEST or len(below) < MOST * (len(rows) - start):
        return None
    if not all(names) or any(re.fullmatch(r"[\d.+-]+", name) for name in names):
        return None
    parted = [i for i in range(usual - 1) if all(_is_parted(row, i) for row in below)]
    if len(parted) != 1:
        return None
    at = parted[0]
    skip = text.head.index(body[start - 1]) + 1

    def joined() -> Iterator[tuple[int, Cells]]:
        for number, line in lines_of(text):
            cells = [cell.strip() for cell in split(line, ",")]
            if len(cells) == usual and _is_parted(cells, at):
                cells[at : at + 2] = [".".join(cells[at : at + 2])]
            if number > skip:
                yield number, cells

    return _anew(text, work, "decimal commas between commas", names, joined())


def _is_parted(cells: Cells, at: int) -> bool:
    whole, part = cells[at].strip(), cells[at + 1].strip()
    return bool(re.fullmatch(r"[+-]?\d{1,5}", whole) and re.fullmatch(r"\d{1,6}", part))


def _anew(  # noqa: PLR0917 - one call, what it needs
    text: Text,
    work: Path,
    name: str,
    header: Cells,
    rows: Iterator[tuple[int, Cells]],
    was: Dialect | None = None,
) -> Layout:
    made = rewritten(text, work, header, rows)
    decimal, units = (was.decimal, was.units) if was else (".", ())
    return Layout(name, Dialect(",", made.header, 1, decimal, units=units), line_column=True)
