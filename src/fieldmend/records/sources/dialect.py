"""Decide how a text file is written, before anything reads it: delimiter, decimal mark, header.

DuckDB's own sniffer was seen to lose rows of ragged files without an error, so it is never asked.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fieldmend.errors import InputError
from fieldmend.records.sources import heads
from fieldmend.records.sources.cutting import BLANKS, COMMA_NUMBER, NUMBER, STAMP, split
from fieldmend.records.vocabulary import NODE, TIME
from fieldmend.text import counted

DELIMITERS = (",", ";", "\t", "|", " ", BLANKS)
WORDS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank", BLANKS: "blanks"}
LOOKED_AT = 200  # lines that decide
TITLES = 60  # lines that may stand above the header
POINTED = re.compile(r"([01]?\d|2[0-4])\.[0-5]\d")
OWN = frozenset([*NODE, *TIME])  # names that stand in a header and nowhere else
GROUPS_AND_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+")  # 1.234,5
GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+")  # 1,234 may be both
IN_UNITS = re.compile(r"#\s*(\S+)\s*[:=]\s.*?\(in ([^()]*)\)")  # KNMI
FITTING = 0.5  # share of lines that have as many cells as the header


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    delimiter: str
    header: tuple[str, ...]
    skip: int
    """Physical lines before the first record."""
    decimal: str = "."
    above: int = 0
    """Lines above the header that are neither comments nor blank."""
    units: tuple[tuple[str, str], ...] = ()
    """Names with the units that a row under the header has for them."""

    @property
    def words(self) -> str:
        """The dialect as the summary says it."""
        mark = ", decimal comma" if self.decimal == "," else ""
        over = f", {counted(self.above, 'line')} above the header passed over" if self.above else ""
        return f"{WORDS[self.delimiter]}-separated{mark}, {len(self.header)} columns{over}"


def decide(lines: Sequence[str], *, known: frozenset[str], file: str) -> Dialect:
    """The dialect of a file with a header.

    Parameters
    ----------
    lines : sequence of str
        The first lines, without their ends.
    known : frozenset of str
        Column names (casefolded) that speak for a line being the header.
    file : str
        For messages.
    """
    numbered = [(i, line) for i, line in enumerate(lines) if line.strip()]
    # A preamble of comments is no header, unless the comment is the header (NDBC writes it so).
    body = [(i, line) for i, line in numbered if not line.lstrip().startswith("#")][:LOOKED_AT]
    if not body:
        raise InputError("no records in it", file=file)
    if re.fullmatch(r"\ufeff?sep=.", body[0][1].strip("\r\n")):  # Excel's word to itself
        body = body[1:] or body
    start, delimiter = _start(body, known)
    start = heads.lowered(body, start, delimiter)
    first, head = body[start]
    rows = [split(line, delimiter) for _, line in body[start + 1 :]]
    header = _with_index(tuple(cell.strip().lstrip("﻿") for cell in split(head, delimiter)), rows)
    if not _is_header(header, known):
        commented = _commented(numbered, first, len(header), delimiter)
        if commented is None:
            raise InputError(
                f"the first line is no header: {head.strip()[:60]!r}",
                file=file,
                line=first + 1,
                hint="Put a line with column names on top, or name them with columns= "
                "(--columns node,time,temperature)",
            )
        rows = [split(head, delimiter), *rows]
        told = _told(lines[:first], commented)
        return Dialect(delimiter, commented, first, decimal_mark(rows, delimiter), units=told)
    found = heads.stacked(body, start, delimiter)
    # Under names of several rows a column may have none of its own, and nothing in it.
    empty = {i for i, name in enumerate(header) if not name} - {
        i for row in rows[found.below :] for i, cell in enumerate(row) if cell.strip()
    }
    joined = tuple(f"-{i}" if i in empty else name for i, name in enumerate(found.names))
    return Dialect(
        delimiter,
        joined if found.rows > 1 else heads.flags_named(header),
        body[start + found.below][0] + 1,
        decimal_mark(rows, delimiter),
        start - found.above,
        found.units,
    )


def _start(body: list[tuple[int, str]], known: frozenset[str]) -> tuple[int, str]:
    """Which line is the header, and what delimits: by names, or by what most lines have."""
    named = body[_header_by_name(body, known) :]
    start = len(body) - len(named)
    lines = [line for _, line in named]
    delimiter = max(DELIMITERS, key=lambda d: _score(d, lines, known))
    marks: tuple[str, ...] = DELIMITERS[:4]
    alone = len(split(lines[0], delimiter)) < 2  # a title that no mark parts agrees with nothing
    agreed = 0.0 if alone else _agreement(delimiter, lines)
    if named_in(lines[0], delimiter, OWN) and (delimiter in marks or agreed >= FITTING):
        return start, delimiter
    if agreed >= FITTING:
        if delimiter in marks or named_in(lines[0], delimiter, known):
            return start, delimiter
        # Blanks inside stamps agree too. A comma may be decimal, but not if it parts into more.
        marks = (";", "\t", "|", *([","] if _wider(",", delimiter, lines) else []))
    whole = [line for _, line in body]
    found = [(at, mark) for mark in marks if (at := _block(whole, mark)) is not None]
    # The widest block of lines that agree; titles above it are passed over.
    return max(found, key=lambda one: len(split(whole[one[0]], one[1])), default=(start, delimiter))


def _wider(mark: str, other: str, lines: list[str]) -> bool:
    """Whether most lines have more cells by one delimiter than by another."""
    more = [len(split(line, mark)) > len(split(line, other)) for line in lines]
    return sum(more) * 2 > len(more)


def _block(lines: list[str], delimiter: str) -> int | None:
    """The first of the lines that agree in their width down to the end; None if they do not."""
    widths = [len(split(line, delimiter)) for line in lines]
    usual, count = Counter(widths[len(widths) // 2 :]).most_common(1)[0]
    if usual < 2 or count < FITTING * (len(widths) - len(widths) // 2):
        return None
    at = widths.index(usual)
    agree = sum(width == usual for width in widths[at:])
    return at if agree >= FITTING * (len(widths) - at) and at < TITLES else None


def _agreement(delimiter: str, lines: list[str]) -> float:
    """The share of lines that have as many cells as the first."""
    widths = [len(split(line, delimiter)) for line in lines]
    return sum(width == widths[0] for width in widths[1:]) / max(1, len(widths) - 1)


def _commented(
    numbered: Sequence[tuple[int, str]], first: int, width: int, delimiter: str
) -> tuple[str, ...] | None:
    """The names in the last comment above the records, as KNMI writes them; None if it has none."""
    if delimiter in (" ", BLANKS):
        return None  # any sentence has blanks
    above = [line for i, line in numbered if i < first and line.lstrip().startswith("#")
             and line.strip("# ")]  # fmt: skip
    last = above[-1].lstrip() if above else ""
    numbered_rows = last.replace('"', "").startswith("#" + delimiter)  # "#" is a column, too
    cells = [
        cell.strip() for cell in split(last if numbered_rows else last.lstrip("# "), delimiter)
    ]
    sound = len(cells) == width and all(cells) and not any(map(NUMBER.fullmatch, cells))
    return tuple(cells) if sound else None


def _told(above: Sequence[str], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The units that comments tell of the names: "# T : Temperatuur (in 0.1 graden Celsius)"."""
    found = [IN_UNITS.match(line) for line in above]
    return tuple((one[1], one[2].strip()) for one in found if one and one[1] in names)


def headerless(
    lines: Sequence[str], names: Sequence[str], *, known: frozenset[str], file: str
) -> Dialect:
    """The dialect of a file whose columns the user named; a header that it has is passed over.

    Names that stand in the header, and are fewer, choose from it.
    """
    body = [
        (i, line)
        for i, line in enumerate(lines)
        if line.strip() and not line.lstrip().startswith("#")
    ][:LOOKED_AT]
    if not body:
        raise InputError("no records in it", file=file)
    picked = _picked(body[0][1], names)
    names = picked or names
    if names[-1].strip() in ("...", "…"):  # the rest is of no use
        width = max(len(split(body[0][1], mark)) for mark in DELIMITERS[:4])
        names = [*names[:-1], *["-"] * (width - len(names) + 1)]

    def fitting(mark: str) -> int:
        return sum(len(split(line, mark)) == len(names) for _, line in body)

    delimiter = max(DELIMITERS, key=fitting)
    if not fitting(delimiter):
        widths = Counter(max(len(split(line, mark)) for mark in DELIMITERS) for _, line in body)
        raise InputError(
            f"columns= names {len(names)} columns, the lines have {widths.most_common(1)[0][0]}",
            file=file,
            hint="Name all of them; - for one that is of no use, ... for all that follow",
        )
    rows = [split(line, delimiter) for _, line in body]
    cells = [cell.strip().casefold() for cell in rows[0]]
    titled = bool(known & set(cells)) and not any(NUMBER.fullmatch(cell) for cell in cells)
    titled = titled or picked is not None
    header = tuple(f"-{i}" if name.strip() == "-" else name.strip() for i, name in enumerate(names))
    skip = body[0][0] + titled
    return Dialect(delimiter, header, skip, decimal_mark(rows[titled:], delimiter))


def _picked(first: str, names: Sequence[str]) -> list[str] | None:
    """The header with "-" for columns that were not named; None if the names are not from it."""
    for mark in DELIMITERS:
        cells = [cell.strip().strip('"') for cell in split(first.lstrip("\ufeff"), mark)]
        if (picked := chosen(cells, names)) is not None:
            return picked
    return None


def chosen(header: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """The header with "-" for columns that were not named; None if the names are not from it.

    Examples
    --------
    >>> chosen(["time", "t", "u"], ["u", "time"])
    ['time', '-', 'u']
    """
    wanted = {name.strip() for name in names}
    if len(names) >= len(header) or not wanted <= set(header):
        return None
    return [name if name in wanted else "-" for name in header]


def _header_by_name(body: list[tuple[int, str]], known: frozenset[str]) -> int:
    """The first line with two known names, the first of all with one; else the first."""
    for at, (_, line) in enumerate(body[:TITLES]):
        cells = re.split(r"[,;\t| ]+", line.replace('"', "").lstrip("\ufeff").casefold())
        if len(known & set(cells)) >= (2 if at else 1):
            return at
    return 0


def decimal_mark(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Comma if the numbers are written with it, else point.

    Where commas part the cells too, decimal ones stand in quotes, no number has a point, and some
    can be no group of thousands: "20,5".
    """
    cells = [cell.strip() for row in rows for cell in row]
    if delimiter == ",":
        surely = [c for c in cells if COMMA_NUMBER.fullmatch(c) and not GROUPED.fullmatch(c)]
        pointed = any("." in cell and NUMBER.fullmatch(cell) for cell in cells)
        return "," if surely and not pointed else "."
    commas = sum(bool(COMMA_NUMBER.fullmatch(cell) or GROUPS_AND_COMMA.fullmatch(cell))
                 for cell in cells)  # fmt: skip
    points = [cell for cell in cells if "." in cell and NUMBER.fullmatch(cell)]
    if any(COMMA_NUMBER.fullmatch(cell) and not GROUPED.fullmatch(cell) for cell in cells):
        points = [cell for cell in points if not POINTED.fullmatch(cell)]  # a time of day: 18.30
    return "," if commas > len(points) else "."


def _score(delimiter: str, lines: list[str], known: frozenset[str]) -> tuple[float, ...]:
    widths = [len(split(line, delimiter)) for line in lines]
    named = named_in(lines[0], delimiter, known)
    # Blanks within quotes part nothing: "2024-01-31 12:00","8.1".
    quoted = delimiter == BLANKS and any(line.count('","') for line in lines[:5])
    if widths[0] < 2 or quoted:
        return (0.0, 0.0, 0.0, 0.0)
    agree = Counter(widths)[widths[0]] / len(widths)
    # Names that are known weigh most, if some lines have the header's width; then how many have;
    # then width. "Timestamp every 15 min,Temperature" is no row of words.
    fits = _agreement(delimiter, lines) > 0 or len(lines) == 1
    named = named if fits else 0
    return (float(named), agree, float(widths[0]), -float(DELIMITERS.index(delimiter)))


def named_in(line: str, delimiter: str, known: frozenset[str]) -> int:
    """How many cells of a line are known names."""
    cells = [cell.strip().lstrip("\ufeff").casefold() for cell in split(line, delimiter)]
    if delimiter in (" ", BLANKS) and any(re.search(r"[,;\t|]", cell) for cell in cells):
        return 0  # "Time UTC,t,rh" has other delimiters
    return sum(re.sub(r"\s*[\[(].*", "", cell) in known for cell in cells)


def _with_index(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The header with a name for its first column, if only that has none: a data frame's index.

    It is the time where its cells are stamps, else it numbers the rows.
    """
    widths = Counter(len(row) for row in rows if any(row))
    if len(header) > 1 and widths and widths.most_common(1)[0][0] == len(header) + 1:
        wide = [row for row in rows if len(row) == len(header) + 1]
        numbers = [row[0].strip() for row in wide]
        if all(header) and all(map(str.isdigit, numbers)) and len(set(numbers)) == len(numbers):
            return ("-0", *header)  # R's names of rows stand without a name
    if len(header) < 2 or header[0] or not all(header[1:]):
        return header
    cells = [row[0].strip() for row in rows if len(row) == len(header) and row[0].strip()]
    taken = {name.casefold() for name in header}
    if cells and "time" not in taken and all(STAMP.match(cell) for cell in cells):
        return ("time", *header[1:])
    if cells and "index" not in taken and all(cell.isdigit() for cell in cells):
        return ("index", *header[1:])
    return header


def _is_header(cells: Sequence[str], known: frozenset[str]) -> bool:
    if any(cell.casefold() in known for cell in cells):
        return True
    return not any(NUMBER.fullmatch(cell) or COMMA_NUMBER.fullmatch(cell) for cell in cells)
