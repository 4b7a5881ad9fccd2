"""Lines that a program wrote: Prometheus' text, MQTT messages with their stamps, name=value."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fieldmend.errors import InputError
from fieldmend.quantities import names as quantities
from fieldmend.records.sources.layout import Layout, lines_of, rewritten
from fieldmend.records.sources.nested import numbers
from fieldmend.records.sources.text import Text

SERIES = re.compile(
    r"(?P<name>[a-zA-Z_:][\w:]*)\s*(?:\{(?P<labels>.*)\})?\s+(?P<value>[+-]?[\w.+-]+)"
    r"(?:\s+(?P<time>-?\d+(?:\.\d+)?))?\s*"
)
LABEL = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
MESSAGE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?Z|[+-]\d\d:?\d\d)?"
    r"|\d{10,13}(?:\.\d+)?)[\s,;|]+(?P<topic>[^\s,;|]*[^\s,;|/]/[^\s,;|/]+)[\s,;|]+(?P<payload>\S.*)"
)
STAMPED = re.compile(
    r"\[?(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?Z|[+-]\d\d:?\d\d)?)\]?\s"
)
PAIR = re.compile(r"(?:(?<=\s)|^)(?P<name>[A-Za-z_][\w.-]*)=(?P<value>\"[^\"]*\"|[^\s,;\"]+)")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
METAR = re.compile(r"((METAR|SPECI)\s+)?(COR\s+)?[A-Z][A-Z\d]{3}\s+\d{6}Z\s.*")
LONG = ("node", "time", "variable", "value")
FEWEST = 3  # lines that show it
LOOKED_AT = 20  # lines that show what the others are


def prometheus(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Prometheus' text: name{label="…"} value milliseconds, or OpenMetrics with seconds."""
    typed = any(re.match(r"# (TYPE|HELP|UNIT) \S", line) for line in body[:LOOKED_AT])
    lines = [line for line in body if not line.lstrip().startswith("#")][:LOOKED_AT]
    found = [SERIES.fullmatch(line.strip()) for line in lines]
    if not found or not all(found):
        return None
    if not (typed or all(one and one["labels"] is not None for one in found)):
        return None
    if not any(one and one["time"] for one in found):
        raise InputError(
            "Prometheus text without times: all of it is one moment",
            file=text.name,
            hint="Ask the server for a range: the JSON of /api/v1/query_range is read",
        )
    dialect = rewritten(text, work, LONG, _series(text))
    return Layout("Prometheus text", dialect, time=("time",), line_column=True)


def _series(text: Text) -> Iterator[tuple[int, Sequence[object]]]:
    for number, line in lines_of(text):
        if line.lstrip().startswith("#"):
            continue
        found = SERIES.fullmatch(line.strip())
        if found is None:
            yield number, [line.strip()]  # too few cells: set aside
            continue
        labels = [value for key, value in LABEL.findall(found["labels"] or "") if key != "job"]
        node = "/".join(labels) or found["name"]
        yield number, [node, found["time"], found["name"], found["value"]]


def refuse_metar(text: Text, body: Sequence[str]) -> None:
    """Airports' reports as they are sent: their stamps have neither a month nor a year."""
    lines = body[:LOOKED_AT]
    if sum(bool(METAR.fullmatch(line.strip())) for line in lines) * 2 > len(lines):
        raise InputError(
            "METAR reports as they are sent: their times have a day and an hour, but neither a "
            "month nor a year",
            file=text.name,
            hint="Take the same reports as a table with whole times: the CSV of IEM ASOS "
            "(station,valid,tmpf,…) is read",
        )


def mqtt(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Messages as mosquitto_sub prints them: a stamp, a topic, a number or JSON."""
    found = [MESSAGE.fullmatch(line.strip()) for line in body[:LOOKED_AT]]
    sound = [one for one in found if one and _payload(one["payload"]) is not None]
    if not sound or len(sound) * 2 <= len(found):
        return None
    # The last word of a topic says what is measured, if all of them do.
    kinds = {one["topic"].rsplit("/", 1)[1] for one in sound if NUMBER.fullmatch(one["payload"])}
    told = bool(kinds) and all(quantities.measure(quantities.words(kind)) for kind in kinds)
    dialect = rewritten(text, work, LONG, _messages(text, told=told))
    return Layout("MQTT messages", dialect, time=("time",), line_column=True)


def pairs(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """A stamp, words, and names with their values: dev=7 temp=20.5, as programs log them."""
    found = [_named(line) for line in body[:LOOKED_AT]]
    names = list(dict.fromkeys(name for one in found for name in one if name != "time"))
    numeric = {name for one in found for name, cell in one.items() if NUMBER.fullmatch(cell)}
    sound = [one for one in found if "time" in one and len(one.keys() & numeric) > 1]
    if len(sound) * 2 <= len(found) or len(found) < FEWEST:
        return None
    dialect = rewritten(text, work, ("time", *names), _pairs(text, names))
    return Layout("names with values", dialect, time=("time",), line_column=True)


def _named(line: str) -> dict[str, str]:
    stamp = STAMPED.match(line.strip())
    cells = {one["name"]: one["value"].strip('"') for one in PAIR.finditer(line)}
    return {**({"time": stamp["time"]} if stamp else {}), **cells}


def _pairs(text: Text, names: Sequence[str]) -> Iterator[tuple[int, Sequence[object]]]:
    for number, line in lines_of(text):
        cells = _named(line)
        if "time" not in cells or len(cells) < 2:
            yield number, [line.strip()]  # too few cells: set aside
            continue
        yield number, [cells["time"], *(cells.get(name, "") for name in names)]


def _payload(payload: str) -> Mapping[str, object] | None:
    if NUMBER.fullmatch(payload):
        return {"": payload}
    if not payload.startswith("{"):
        return None
    try:
        return numbers(json.loads(payload)) or None
    except (ValueError, RecursionError):
        return None


def _messages(text: Text, *, told: bool) -> Iterator[tuple[int, Sequence[object]]]:
    for number, line in lines_of(text):
        found = MESSAGE.fullmatch(line.strip())
        if found is None:
            yield number, [line.strip()]  # too few cells: set aside
            continue
        topic = found["topic"]
        node, kind = topic.rsplit("/", 1) if told else (topic, "value")
        payload = _payload(found["payload"])
        if payload is None:  # "online": a bad cell
            yield number, [node, found["time"], kind, found["payload"]]
            continue
        for name, value in payload.items():
            where = [topic, found["time"], name] if name else [node, found["time"], kind]
            yield number, [*where, value]
