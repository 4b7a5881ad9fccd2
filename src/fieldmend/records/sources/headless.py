"""Archives that write no header: known by the shape of their lines."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from fieldmend.records.sources.cutting import BLANKS, split
from fieldmend.records.sources.dialect import Dialect, decimal_mark
from fieldmend.records.sources.layout import Layout, stem
from fieldmend.records.sources.text import Text

LOOKED_AT = 50  # lines that have to be alike
PEMS = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d,\d{6,7},\d{1,2},\d{1,3},[NSEW],[A-Z]{2},")
AIRNOW = re.compile(r"\d\d/\d\d/\d\d\|\d\d:\d\d\|\w+\|[^|]*\|-?[\d.]+\|[^|]+\|[^|]+\|-?[\d.]+\|.*")
TOMST = re.compile(r"\d+;\d{4}\.\d\d\.\d\d \d\d:\d\d;-?\d+(;-?\d+([.,]\d+)?){3,6};?")
CHANNEL = re.compile(r"(1\d{9}(?:\.\d+)?)((?:[ \t]+-?\d+(?:\.\d+)?){1,4})\s*")
SENSORSCOPE = (
    "-sequence ambient_temperature surface_temperature solar_radiation relative_humidity "
    "soil_moisture watermark rain wind_speed wind_direction"
).split()


def pems(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Caltrans PeMS, stations by five minutes or by the hour; lanes are passed over."""
    if not all(PEMS.match(line) for line in body[:LOOKED_AT]):
        return None
    width = len(split(body[0], ","))
    if width < 12:
        return None
    names = ("time", "station", *(f"-{i}" for i in range(2, 9)), "flow", "occupancy", "speed")
    header = (*names, *(f"-{i}" for i in range(12, width)))
    return Layout(
        "PeMS",
        Dialect(",", header, 0),
        {"speed": "mph", "occupancy": "1"},
        time=("time",),
        time_kind="month first",
        node_column="station",
    )


def airnow(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """AirNow's hourly files: date|time|id|name|zone|parameter|unit|value|agency, in GMT."""
    if not all(AIRNOW.fullmatch(line) for line in body[:LOOKED_AT]):
        return None
    header = ("date", "time", "aqsid", "-name", "-zone", "parameter", "unit", "value", "-agency")
    return Layout(
        "AirNow",
        Dialect("|", header, 0),
        time=("date", "time"),
        time_kind="month first, short",
        offset=0,
        node_column="aqsid",
        variable="parameter",
        value="value",
    )


def tomst(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """TOMST's loggers: three temperatures and the soil's raw moisture, in UTC."""
    if not all(TOMST.fullmatch(line) for line in body[:LOOKED_AT]):
        return None
    rows = [split(line, ";") for line in body[:LOOKED_AT]]
    width = len(rows[0])
    names = ("-0", "time", "-2", "T1_soil", "T2_surface", "T3_air", "soil_moisture_count")
    header = (*names, *(f"-{i}" for i in range(7, width)))[:width]
    serial = re.search(r"data_(\d{6,10})_", stem(text))
    return Layout(
        "TOMST",
        Dialect(";", header, 0, decimal_mark(rows, ";")),
        dict.fromkeys(names[3:6], "°C"),
        node=serial[1] if serial else stem(text),
        time=("time",),
        offset=0,
    )


def sensorscope(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """SensorScope's weather stations: a station, a time in parts and once more as an epoch."""
    if not all(_in_parts_and_whole(line.split()) for line in body[:LOOKED_AT]):
        return None
    parts = ("-year", "-month", "-day", "-hour", "-minute", "-second")
    return Layout(
        "SensorScope",
        Dialect(BLANKS, ("station", *parts, "time", *SENSORSCOPE), 0),
        {"ambient_temperature": "°C", "surface_temperature": "°C", "solar_radiation": "W/m²",
         "relative_humidity": "%", "wind_speed": "m/s", "wind_direction": "°"},
        time=("time",),
        node_column="station",
    )  # fmt: skip


def _in_parts_and_whole(cells: Sequence[str]) -> bool:
    if len(cells) != 8 + len(SENSORSCOPE) or not all(cell.isdigit() for cell in cells[:8]):
        return False
    try:
        told = datetime(*map(int, cells[1:7]), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except (ValueError, OverflowError):
        return False
    return abs(told.timestamp() - int(cells[7])) <= 86_400


def channels(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """A meter's channel as UK-DALE and REDD have it: an epoch and one value to four in a line."""
    found = [CHANNEL.fullmatch(line) for line in body[:LOOKED_AT]]
    lines = [one for one in found if one is not None]
    if len(lines) < 3 or len(lines) < len(found):
        return None
    when = [float(one[1]) for one in lines]
    widths = {len(one[2].split()) for one in lines}
    if len(widths) > 1 or any(b < a for a, b in pairwise(when)) or when[0] == when[-1]:
        return None
    (width,) = widths
    names = ("value",) if width == 1 else tuple(f"value_{i + 1}" for i in range(width))
    return Layout(
        "meter channel", Dialect(BLANKS, ("time", *names), 0), node=stem(text), time=("time",)
    )
