"""InfluxDB: annotated CSV and line protocol, both flattened into one table with a line column."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from fieldmend.records.sources.dialect import Dialect
from fieldmend.records.sources.layout import Layout
from fieldmend.records.sources.text import Text

LINE_PROTOCOL = re.compile(
    r"(?:[^,\s\\]|\\.)+(?:,(?:[^\s\\]|\\.)+)?\s+(?:[^=\s\\]|\\.)+=.*?(?:\s+-?\d+)?\s*"
)


def annotated(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """InfluxDB annotated CSV: tables one after the other, each with its own header."""
    if not body[0].lstrip("﻿").startswith(("#group", "#datatype", "#default")):
        return None
    header = _influx_names(text)
    out = work / f"influx-{len(list(work.iterdir()))}"
    _flatten_influx(text, header, out)
    text.path, text.encoding, text.rewrite, text.quotes = out, "utf-8", False, True
    return Layout("InfluxDB annotated CSV", Dialect(",", ("-0", *header), 1), line_column=True)


def _influx_rows(text: Text) -> "list[tuple[int, list[str]]]":
    with text.path.open("r", encoding=text.encoding, errors="replace", newline="") as file:
        reader = csv.reader(file)
        return [(reader.line_num, row) for row in reader]


def _influx_names(text: Text) -> list[str]:
    names: dict[str, None] = {}
    after = True
    for _, row in _influx_rows(text):
        if not row or row[0].startswith("#"):
            after = True
        elif after:
            names.update(dict.fromkeys(row[1:]))
            after = False
    return [name for name in names if name not in ("", "result", "table", "_start", "_stop")]


def _flatten_influx(text: Text, names: Sequence[str], out: Path) -> None:
    """One header for all of its tables, the line each row came from in front."""
    header: list[str] | None = None
    with out.open("w", encoding="utf-8", errors="surrogateescape", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(["line", *names])
        for line, row in _influx_rows(text):
            if not row or row[0].startswith("#"):
                header = None
            elif header is None:
                header = row
            else:
                cells = dict(zip(header, row, strict=False))
                extra = [""] * (len(row) > len(header) or len(row) < len(header))
                writer.writerow([line, *(cells.get(name, "") for name in names), *extra])


def line_protocol(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """InfluxDB line protocol: measurement,tag=value field=value timestamp."""
    some = [line for line in body if not line.startswith("#")][:20]
    stamped = [line for line in some if re.search(r"\s-?\d{9,19}\s*$", line)]
    sound = [line for line in stamped if LINE_PROTOCOL.fullmatch(line)]
    if len(sound) * 2 <= len(some):
        return None
    out = work / f"influx-{len(list(work.iterdir()))}"
    header = _flatten_lines(text, out)
    text.path, text.encoding, text.rewrite, text.quotes = out, "utf-8", False, True
    return Layout("InfluxDB line protocol", Dialect(",", ("", *header), 1), line_column=True)


def _flatten_lines(text: Text, out: Path) -> list[str]:
    tags: dict[str, None] = {}
    fields: dict[str, None] = {}
    with text.path.open("r", encoding=text.encoding, errors="replace") as file:
        for line in file:
            found = one_line(line)
            if found:
                tags.update(dict.fromkeys(found[0]))
                fields.update(dict.fromkeys(found[1]))
    header = ["time", *tags, *(name for name in fields if name not in tags)]
    with (
        text.path.open("r", encoding=text.encoding, errors="replace") as file,
        out.open("w", encoding="utf-8", errors="surrogateescape", newline="") as target,
    ):
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(["line", *header])
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            found = one_line(line)
            if found is None:
                writer.writerow([number, line.strip()])  # too few cells: set aside
                continue
            cells = {**found[0], **found[1], "time": found[2]}
            writer.writerow([number, *(cells.get(name, "") for name in header)])
    return header


def one_line(line: str) -> tuple[dict[str, str], dict[str, str], str] | None:
    """Tags, fields and time of one line; None if it is none."""
    parts = re.split(r'(?<!\\)\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', line.strip())
    if len(parts) != 3 or not re.fullmatch(r"-?\d+", parts[2]):
        return None
    _, *tags = re.split(r"(?<!\\),", parts[0])
    fields = re.split(r'(?<!\\),(?=(?:[^"]*"[^"]*")*[^"]*$)', parts[1])
    pairs = [re.split(r"(?<!\\)=", pair, maxsplit=1) for pair in (*tags, *fields)]
    if any(len(pair) != 2 for pair in pairs):
        return None
    plain = [(re.sub(r"\\(.)", r"\1", k), re.sub(r"^(-?\d+)[iu]$", r"\1", v)) for k, v in pairs]
    clean = [(k, re.sub(r"\\(.)", r"\1", v.strip('"'))) for k, v in plain]
    return dict(clean[: len(tags)]), dict(clean[len(tags) :]), parts[2]
