"""Tables as people lay them out: stamps or hours across, and cells that were merged downwards.

All are written anew as rows before anything else looks at them, and the dialect says so.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from fieldmend.errors import InputError
from fieldmend.records.sources.cutting import BLANKS, STAMP, split
from fieldmend.records.sources.dialect import DELIMITERS, Dialect, decide
from fieldmend.records.sources.layout import Layout, Rows, lines_of, rewritten
from fieldmend.records.sources.text import Text
from fieldmend.records.vocabulary import KNOWN, NODE, NODE_HINTS, words_of

ACROSS = 3  # stamps in the first line that show that times run across
LEADING = 8  # columns that may stand before them
HOUR = re.compile(r"(?:h|hr|hour|he)?[ _]?(\d{1,2})(?::?00)?", re.IGNORECASE)
LOOKED_AT = 200
Cells = Sequence[str]


def stamps_across(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """A row for each node, a column for each time."""
    found = _across(body[0], lambda cell: bool(STAMP.match(cell)))
    if found is None or len(body) < 2:
        return None
    mark, lead, times = found
    names = _named(lead, [split(line, mark) for line in body[1:LOOKED_AT]])
    rows = (
        (number, [*cells[: len(lead)], stamp, value])
        for number, cells in _below(text, body[0], mark)
        for stamp, value in zip(times, cells[len(lead) :], strict=False)
    )
    return _layout(text, work, "times across", (*names, "time", "value"), rows)


def hours_across(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """A row for each day, a column for each of its hours: 00 to 23, or 01 to 24."""
    found = _across(body[0], lambda cell: bool(HOUR.fullmatch(cell)))
    if found is None or len(found[2]) != 24:
        return None
    mark, lead, cells = found
    hours = [int(HOUR.fullmatch(cell)[1]) for cell in cells]  # type: ignore[index]
    if hours not in (list(range(24)), list(range(1, 25))):
        return None
    sample = [split(line, mark) for line in body[1:LOOKED_AT]]
    days = [
        i for i in range(len(lead)) if all(STAMP.match(row[i]) for row in sample if i < len(row))
    ]
    if len(days) != 1 or not sample:
        return None
    day = days[0]
    names = _named(lead, sample, day)
    rows = (
        (number, [*cells[:day], *cells[day + 1 : len(lead)], cells[day], hour, value])
        for number, cells in _below(text, body[0], mark)
        for hour, value in zip(hours, cells[len(lead) :], strict=False)
    )
    header = (*names[:day], *names[day + 1 :], "date", "hour", "value")
    return _layout(text, work, "hours across", header, rows)


def merged_cells(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """A day or a station that is written once, over empty cells."""
    try:
        dialect = decide(text.head, known=KNOWN, file=text.name)
    except InputError:
        return None
    if dialect.delimiter in (" ", BLANKS):
        return None
    lines = [line for line in text.head[dialect.skip :] if line.strip()][:1000]
    sample = [[cell.strip() for cell in split(line, dialect.delimiter)] for line in lines]
    sample = [row for row in sample if len(row) == len(dialect.header)]
    column = next((i for i in range(min(3, len(dialect.header))) if _is_merged(sample, i)), None)
    if column is None:
        return None
    header = [name.strip() for name in dialect.header]
    rows = _filled(text, dialect, column)
    layout = _layout(text, work, f"cells merged under {header[column]}", header, rows)
    return Layout(
        layout.name,
        Dialect(",", layout.dialect.header, 1, dialect.decimal, units=dialect.units),
        line_column=True,
    )


def _layout(text: Text, work: Path, name: str, header: Cells, rows: Rows) -> Layout:
    return Layout(name, rewritten(text, work, header, rows), line_column=True)


def _across(line: str, fits: Callable[[str], bool]) -> tuple[str, list[str], list[str]] | None:
    """Delimiter, names before, and the cells that run across; None if they do not."""
    for mark in DELIMITERS[:4]:
        cells = [cell.strip().lstrip("\ufeff") for cell in split(line, mark)]
        while cells and not cells[-1]:
            cells.pop()
        first = next((i for i, cell in enumerate(cells) if fits(cell)), len(cells))
        across = cells[first:]
        if 0 < first <= LEADING and len(across) >= ACROSS and all(map(fits, across)):
            return mark, cells[:first], across
    return None


def _named(lead: Cells, sample: Sequence[Cells], day: int | None = None) -> list[str]:
    """Names for the columns before; one that tells what is measured is called so.

    It does where its values come again and again for one node (and day).
    """
    names = [name or ("node" if i == 0 else f"-{i}") for i, name in enumerate(lead)]
    rows = [row for row in sample if len(row) > len(lead)]
    nodes = [
        i
        for i, name in enumerate(names)
        if name.casefold() in NODE or {*words_of(name)} & NODE_HINTS
    ]
    if len(lead) == 1 and day is None and not nodes:
        return ["node"]
    key = [i for i in (*nodes[:1], day) if i is not None]
    others = [i for i in range(len(lead)) if i not in {*nodes, day}]
    repeat = len({tuple(row[i] for i in key) for row in rows}) * 2 <= len(rows)
    if (
        repeat
        and len(others) == 1
        and not any(name.casefold() in ("variable", "parameter") for name in names)
    ):
        names[others[0]] = "variable"
    return names


def _below(text: Text, head: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    lines = lines_of(text)
    for _, line in lines:
        if line.strip() == head.strip().lstrip("\ufeff"):
            break
    for number, line in lines:
        yield number, [cell.strip() for cell in split(line, mark)]


def _is_merged(sample: Sequence[Cells], column: int) -> bool:
    """Whether cells stand once over empty ones, each another, and what is beside them goes on."""
    if len(sample) < 4 or not sample[0][column]:
        return False
    written = [row[column] for row in sample if row[column]]
    beside = [row[i] for row in sample for i in range(len(row)) if i != column]
    if len(written) * 2 > len(sample) or any(a == b for a, b in pairwise(written)):
        return False
    if sum(not cell for cell in beside) * 2 > len(beside):
        return False
    for other in range(min(4, len(sample[0]))):
        if other == column or not all(re.match(r"\d{1,4}[-/.:]\d", row[other]) for row in sample):
            continue
        steps = [(b[column], a[other] < b[other]) for a, b in pairwise(sample)]
        return all(rising for started, rising in steps if not started)
    return False


def _filled(text: Text, dialect: Dialect, column: int) -> Iterator[tuple[int, Cells]]:
    last = ""
    for number, line in lines_of(text):
        if number <= dialect.skip:
            continue
        cells = [cell.strip() for cell in split(line, dialect.delimiter)]
        if len(cells) > column:
            last = cells[column] = cells[column] or last
        yield number, cells
