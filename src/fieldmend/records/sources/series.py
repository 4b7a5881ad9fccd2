"""Series one after the other, each under lines about it: seismic ASCII, ZRXP, Siemens trends."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from fieldmend.records.sources.cutting import split
from fieldmend.records.sources.dialect import Dialect
from fieldmend.records.sources.layout import Layout, lines_of, rewritten
from fieldmend.records.sources.text import Text

SEISMIC = re.compile(
    r"TIMESERIES (?P<name>\S+), (?P<n>\d+) samples, (?P<rate>[\d.eE+-]+) sps, (?P<start>\S+), "
    r"(?P<form>TSPAIR|SLIST), \w+, (?P<unit>.*)"
)
POINT = re.compile(r"\W*Point_(\d+):?\W*")


def seismic(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """IRIS ASCII: a line about the series, then stamps with samples, or samples at a rate."""
    about = SEISMIC.fullmatch(body[0].strip())
    if about is None:
        return None
    dialect = rewritten(text, work, ("node", "time", "sample"), _samples(text))
    unit = about["unit"].strip()
    return Layout("seismic ASCII", dialect, {"sample": unit}, time=("time",), line_column=True)


def _samples(text: Text) -> Iterator[tuple[int, Sequence[object]]]:
    about: re.Match[str] | None = None
    start, taken = datetime(1970, 1, 1), 0
    for number, line in lines_of(text):
        found = SEISMIC.fullmatch(line.strip())
        if found is not None:
            about, taken = found, 0
            try:
                start = datetime.fromisoformat(found["start"])
            except ValueError:
                about = None
            continue
        if about is None:
            yield number, [line.strip()]  # too few cells: set aside
        elif about["form"] == "TSPAIR":
            yield number, [about["name"], *line.split()]
        else:
            for cell in line.split():
                try:
                    moment = (start + timedelta(seconds=taken / float(about["rate"]))).isoformat()
                except (ValueError, OverflowError, ZeroDivisionError):
                    moment = ""
                taken += 1
                yield number, [about["name"], moment, cell]


def zrxp(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Kisters' ZRXP: keywords between |*| in comments, then stamps of digits and values."""
    if not (body[0].startswith("#") and "|*|" in body[0]):
        return None
    dialect = rewritten(text, work, ("node", "time", "variable", "value", "unit"), _kisters(text))
    return Layout("ZRXP", dialect, time=("time",), line_column=True)


def _kisters(text: Text) -> Iterator[tuple[int, Sequence[object]]]:
    said: dict[str, str] = {}
    rows = False
    for number, line in lines_of(text):
        if line.startswith("##"):
            continue
        if line.startswith("#"):
            said = {} if rows else said  # a new series
            rows = False
            said |= _keywords(line)
            continue
        rows = True
        cells = line.split()
        order = said.get("LAYOUT", "timestamp,value").strip("()").split(",")
        row = dict(zip(order, cells, strict=False))
        stamp = re.fullmatch(r"(\d{4})(\d\d)(\d\d)(\d\d)?(\d\d)?(\d\d)?", row.get("timestamp", ""))
        if stamp is None or "value" not in row:
            yield number, [line.strip()]  # too few cells: set aside
            continue
        year, month, day, hour, minute, second = (part or "00" for part in stamp.groups())
        value = "" if row["value"] == said.get("RINVAL") else row["value"]
        node = said.get("SNAME") or said.get("SANR") or said.get("REXCHANGE") or "series"
        moment = f"{year}-{month}-{day}T{hour}:{minute}:{second}{_zone(said.get('TZ', ''))}"
        yield number, [node, moment, said.get("CNAME", "value"), value, said.get("CUNIT", "")]


def _keywords(line: str) -> dict[str, str]:
    known = ("SANR", "SNAME", "SWATER", "CNAME", "CUNIT", "RINVAL", "TZ", "LAYOUT", "REXCHANGE")
    out = {}
    for part in line[1:].split("|*|"):
        word = next((key for key in known if part.startswith(key)), None)
        if word:
            out[word] = part.removeprefix(word).strip()
    return out


def _zone(said: str) -> str:
    """UTC+1 as +01:00; nothing where none is told."""
    found = re.fullmatch(r"(?:UTC|GMT)([+-]\d{1,2})?(?::?(\d\d))?", said)
    if found is None:
        return ""
    hours = int(found[1] or 0)
    return f"{hours:+03d}:{found[2] or '00'}"


def siemens(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Siemens Apogee and Desigo trends: points are named above "<>Date","Time","Point_1"."""
    at = next((i for i, line in enumerate(body[:2000]) if line.startswith('"<>Date"')), None)
    if at is None:
        return None
    named = {}
    for line in body[:at]:
        cells = split(line, ",")
        point = POINT.fullmatch(cells[0]) if len(cells) > 1 else None
        if point:
            named[f"Point_{point[1]}"] = cells[1].strip()
    header = [named.get(cell.strip(), cell.strip()) for cell in split(body[at], ",")]
    header[:2] = ["Date", "Time"]
    words = frozenset(["no data", "data loss"])
    dialect = Dialect(",", tuple(header), text.head.index(body[at]) + 1)
    return Layout("Siemens trends", dialect, time=("Date", "Time"), words=words)
