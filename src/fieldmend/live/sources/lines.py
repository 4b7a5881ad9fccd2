"""Lines into readings: NDJSON, InfluxDB's line protocol, or CSV with a header."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from fieldmend.errors import InputError
from fieldmend.live.formats import Message, read
from fieldmend.live.intake import LARGEST
from fieldmend.live.messages import Read, Refused, moment, named
from fieldmend.live.sources.feed import Feed, Stopped
from fieldmend.records.table.naming import clean
from fieldmend.records.vocabulary import BOOKKEEPING, MISSING, NODE, PLACE, TIME, VALUE, VARIABLE
from fieldmend.text import shown

AT_ONCE = 5000  # lines of one commit
SEPARATORS = ",;\t|"
CHUNK = 1 << 18  # bytes


class Lines:
    """Lines of one file. A first line that is a header makes the rest a table.

    Examples
    --------
    >>> lines = Lines()
    >>> list(lines.read("node,time,temperature [°C]", 0))
    []
    >>> list(lines.read("m7,2026-11-16T08:15:00Z,20.5", 0))[0][1:]
    ('temperature', 1794816900000000, 20.5, None)
    """

    def __init__(self, format: str = "auto", name: str = "") -> None:
        self.format, self.name = format, name
        self.header: _Header | None = None
        self.begun = False

    def read_all(self, lines: Iterable[str], arrived: int) -> Iterator[Read]:
        """The readings of several lines, each of which arrived one µs after the one before it."""
        for k, line in enumerate(lines):
            yield from self.read(line, arrived + k)

    def read(self, line: str, arrived: int) -> Iterator[Read]:
        """The readings of one line.

        Raises
        ------
        InputError
            Where the first line is neither a message nor a header.
        """
        text = line.lstrip("\ufeff").strip()
        if not text or text.startswith("#"):
            return
        if len(line) > LARGEST:
            yield Refused("too large", text[:200])
            return
        if not self.begun:
            self.begun = True
            self.header = _Header.of(text) if self.format == "auto" else None
            if self.header is not None:
                return
        if self.header is not None:
            yield from self.header.read(text, arrived)
        else:
            yield from read(Message(text.encode(), arrived), self.format)


class _Header:
    """Which column is what."""

    def __init__(self, names: list[str], separator: str) -> None:
        self.separator, self.names = separator, clean(names)[0]  # as a recovery names them
        lower = [name.lower() for name in self.names]
        self.node = _first(NODE, lower)
        self.time = _first(TIME, lower)
        self.clock: int | None = None
        if "date" in lower and "time" in lower:
            self.time, self.clock = lower.index("date"), lower.index("time")
        self.variable, self.value = _first(VARIABLE, lower), _first(VALUE, lower)
        self.sequence = _first(("seq", "sequence", "epoch"), lower)
        known = {self.node, self.time, self.clock, self.variable, self.sequence}
        self.rest = [
            k
            for k, name in enumerate(lower)
            if k not in known and name not in BOOKKEEPING and name not in PLACE
        ]

    @classmethod
    def of(cls, line: str) -> _Header | None:
        """The header that a line is; None if it is a message."""
        if line[0] in "{[":
            return None
        separator = max(SEPARATORS, key=line.count)
        names = next(csv.reader([line], delimiter=separator))
        found = cls(names, separator)
        if found.node is None and found.time is None and "=" in line:
            return None  # line protocol
        if found.node is None or found.time is None:
            raise InputError(
                f"no header with a node and a time: {shown(line)}",
                hint="Name columns node and time, or write one JSON object per line",
            )
        return found

    def read(self, line: str, arrived: int) -> Iterator[Read]:
        cells = next(csv.reader([line], delimiter=self.separator))
        if len(cells) != len(self.names):
            yield Refused("unreadable", line[:200])
            return
        assert self.node is not None
        assert self.time is not None
        try:
            stamp = cells[self.time] if self.clock is None else self._both(cells)
            time = moment(stamp)
        except ValueError:
            yield Refused("no time", line[:200])
            return
        yield from named(cells[self.node].strip(), time, self._values(cells), self._number(cells))

    def _both(self, cells: list[str]) -> str:
        assert self.clock is not None
        assert self.time is not None
        return f"{cells[self.time].strip()}T{cells[self.clock].strip()}"

    def _number(self, cells: list[str]) -> int | None:
        text = "" if self.sequence is None else cells[self.sequence].strip()
        return int(text) if text.isdigit() else None

    def _values(self, cells: list[str]) -> dict[str, Any]:
        if self.variable is not None and self.value is not None:
            return {cells[self.variable]: _cell(cells[self.value])}
        return {self.names[k]: _cell(cells[k]) for k in self.rest}


def _first(aliases: Iterable[str], lower: list[str]) -> int | None:
    return next((lower.index(alias) for alias in aliases if alias in lower), None)


def _cell(text: str) -> str | None:
    return None if text.strip().lower() in MISSING else text.strip()


class StandardInput:
    """`-`: lines until there are no more."""

    def __init__(self, format: str = "auto") -> None:
        self.lines = Lines(format, "standard input")

    def run(self, feed: Feed) -> None:
        """Read until there is no more, or the feed has ended."""
        feed.begun()
        try:
            for some in _batches(sys.stdin.buffer):
                arrived = feed.intake.arrival(len(some))
                feed.take(self.lines.read_all(some, arrived), arrived)
        except Stopped:
            return


def _batches(stream: BinaryIO) -> Iterator[list[str]]:
    """What is there already, without waiting for more: a line is as good as a thousand."""
    rest = b""
    while data := stream.read1(CHUNK):  # type: ignore[attr-defined]
        *whole, rest = (rest + data).split(b"\n")
        if whole:
            yield [line.decode("utf-8", "replace") for line in whole]
    if rest:
        yield [rest.decode("utf-8", "replace")]
