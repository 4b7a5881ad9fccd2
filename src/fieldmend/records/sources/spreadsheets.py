"""Tables as people lay them out: stamps or hours across, and cells that were merged downwards.

All are written anew as rows before anything else looks at them, and the dialect says so.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from fieldmend.errors import InputError
from fieldmend.quantities.names import measure, words
from fieldmend.records.sources.cutting import BLANKS, STAMP, split
from fieldmend.records.sources.dialect import DELIMITERS, Dialect, decide
from fieldmend.records.sources.layout import Layout, Rows, lines_of, rewritten
from fieldmend.records.sources.text import Text
from fieldmend.records.table import parts
from fieldmend.records.vocabulary import KNOWN, NODE, NODE_HINTS, words_of

ACROSS = 3  # stamps in the first line that show that times run across
LEADING = 8  # columns that may stand before them
NUMBERED = re.compile(
    r"(?P<stem>(?:h|hr|hh|hour|he|period|interval|slot|kwh)?[ _]?)0*(?P<number>\d{1,3}?)(?::?00)?",
    re.IGNORECASE,
)
PARTS_OF_A_DAY = (24, 48, 96, 144, 288)
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
    """A row for each day, a column for each of its hours: 00 to 23, or 01 to 24.

    Or of halves and quarters of them, hh_0 to hh_47, and with a flag behind each: H01, V01, H02.
    """
    for every in (1, 2):
        found = _across(body[0], lambda cell: bool(NUMBERED.fullmatch(cell)), every)
        clock = _clock(found[2]) if found else None
        if found and clock:
            break
    else:
        return None
    mark, lead, _ = found
    sample = [split(line, mark) for line in body[1:LOOKED_AT]]
    days = [
        i for i in range(len(lead)) if all(STAMP.match(row[i]) for row in sample if i < len(row))
    ]
    in_parts = parts.found([name.casefold() for name in lead])
    if not days and {*in_parts} == {"year", "month", "day"}:
        days = [in_parts["day"]]
    else:
        in_parts = {}
    if len(days) != 1 or not sample:
        return None
    day = days[0]
    over = {day, *in_parts.values()}
    names = _named(lead, sample, day)

    def dated(cells: Cells) -> str:
        if not in_parts:
            return cells[day]
        return "-".join(cells[in_parts[part]].zfill(2) for part in ("year", "month", "day"))

    kept = [i for i in range(len(lead)) if i not in over]
    rows = (
        (number, [*(cells[i] for i in kept), f"{dated(cells)} {moment}", value])
        for number, cells in _below(text, body[0], mark)
        if len(cells) >= len(lead)
        for moment, value in zip(clock, cells[len(lead) :: every], strict=False)
    )
    header = (*(names[i] for i in kept), "time", "value")
    said = "hours across" + (", the flags behind them passed over" if every > 1 else "")
    return Layout(said, rewritten(text, work, header, rows), line_column=True, value="value")


def _clock(cells: Cells) -> list[str] | None:
    """The times of day of numbered columns, where they part a day evenly; None if they do not.

    Of 01 to 24 the last is the next day's 0:00, as loggers write it.
    """
    found = [one for cell in cells if (one := NUMBERED.fullmatch(cell))]
    numbers = [int(one["number"]) for one in found]
    count = len(cells)
    if len(found) < count or len({one["stem"].casefold() for one in found}) > 1:
        return None
    begun = [number - numbers[0] for number in numbers]
    if count not in PARTS_OF_A_DAY or numbers[0] > 1 or begun != list(range(count)):
        return None
    # Forty-eight sensors are numbered too: only hours may go without a word.
    if count != 24 and not re.search(r"h|t|v|p|slot|int", found[0]["stem"], re.IGNORECASE):
        return None
    minutes = [1440 // count * number for number in numbers]
    return [f"{minute // 60:02d}:{minute % 60:02d}" for minute in minutes]


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


def _across(
    line: str, fits: Callable[[str], bool], every: int = 1
) -> tuple[str, list[str], list[str]] | None:
    """Delimiter, names before, and the cells that run across; None if they do not.

    `every`: 2 where each has one behind it that does not count.
    """
    for mark in DELIMITERS[:4]:
        cells = [cell.strip().lstrip("\ufeff") for cell in split(line, mark)]
        while cells and not cells[-1]:
            cells.pop()
        first = next((i for i, cell in enumerate(cells) if fits(cell)), len(cells))
        across = cells[first::every]
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
    # Without a node's name the one column may be the node: what it says decides.
    if not nodes and not any(measure(words(row[i])) for row in rows for i in others):
        return names
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
