"""Decide how a text file is written, before anything reads it: delimiter, decimal mark, header.

DuckDB's own sniffer was seen to lose rows of ragged files without an error, so it is never asked.
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fieldmend.errors import InputError

BLANKS = "blanks"  # any run of blanks is one delimiter
DELIMITERS = (",", ";", "\t", "|", " ", BLANKS)
WORDS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank", BLANKS: "blanks"}
LOOKED_AT = 200  # lines that decide
TITLES = 30  # lines that may stand above the header

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
STAMP = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b")
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


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

    @property
    def words(self) -> str:
        """The dialect as the summary says it."""
        mark = ", decimal comma" if self.decimal == "," else ""
        over = f", {self.above} lines above the header passed over" if self.above else ""
        return f"{WORDS[self.delimiter]}-separated{mark}, {len(self.header)} columns{over}"


def split(line: str, delimiter: str) -> list[str]:
    """The cells of one line."""
    if delimiter == BLANKS:
        return line.split()
    if '"' not in line:
        return line.split(delimiter)
    return next(csv.reader([line], delimiter=delimiter), [])


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
    above = len(body)
    body = _from_header(body, known)
    above -= len(body)
    first, head = body[0]
    delimiter = max(DELIMITERS, key=lambda d: _score(d, [line for _, line in body], known))
    rows = [split(line, delimiter) for _, line in body[1:]]
    header = _with_index(tuple(cell.strip().lstrip("﻿") for cell in split(head, delimiter)), rows)
    if not _is_header(header, known):
        raise InputError(
            f"the first line is no header: {head.strip()[:60]!r}",
            file=file,
            line=first + 1,
            hint="Put a line with column names on top, or name them with columns= "
            "(--columns node,time,temperature)",
        )
    return Dialect(delimiter, header, first + 1, decimal_mark(rows, delimiter), above)


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

    def fitting(mark: str) -> int:
        return sum(len(split(line, mark)) == len(names) for _, line in body)

    delimiter = max(DELIMITERS, key=fitting)
    if not fitting(delimiter):
        widths = Counter(max(len(split(line, mark)) for mark in DELIMITERS) for _, line in body)
        raise InputError(
            f"columns= names {len(names)} columns, the lines have {widths.most_common(1)[0][0]}",
            file=file,
            hint="Name all of them; - for one that is of no use",
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


def _from_header(body: list[tuple[int, str]], known: frozenset[str]) -> list[tuple[int, str]]:
    """The lines from the header on: titles above a line with two known names are passed over."""
    for at, (_, line) in enumerate(body[:TITLES]):
        cells = re.split(r"[,;\t| ]+", line.replace('"', "").lstrip("\ufeff").casefold())
        if len(known & set(cells)) >= (2 if at else 1):
            return body[at:]
    return body


def decimal_mark(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Comma if the numbers are written with it, else point. A comma that delimits is no mark."""
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    commas = sum(bool(COMMA_NUMBER.fullmatch(cell)) for cell in cells)
    points = sum("." in cell and bool(NUMBER.fullmatch(cell)) for cell in cells)
    return "," if commas > points else "."


def _score(delimiter: str, lines: list[str], known: frozenset[str]) -> tuple[float, ...]:
    widths = [len(split(line, delimiter)) for line in lines]
    header = [cell.strip().lstrip("﻿").casefold() for cell in split(lines[0], delimiter)]
    named = sum(cell in known for cell in header)
    if widths[0] < 2:
        return (0.0, 0.0, 0.0, 0.0)
    agree = Counter(widths)[widths[0]] / len(widths)
    # Names that are known weigh most; then how many lines have the header's width; then width.
    return (float(named), agree, float(widths[0]), -float(DELIMITERS.index(delimiter)))


def _with_index(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The header with a name for its first column, if only that has none: a data frame's index.

    It is the time where its cells are stamps, else it numbers the rows.
    """
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
