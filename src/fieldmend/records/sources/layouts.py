"""Text layouts with rules of their own: a table. To add one, write its rule and add a row."""

import re
from collections.abc import Sequence
from pathlib import Path

from fieldmend.records.sources import (
    archives,
    headless,
    influx,
    loggers,
    logs,
    series,
    services,
    spreadsheets,
    uneven,
)
from fieldmend.records.sources.cutting import BLANKS, split
from fieldmend.records.sources.dialect import Dialect, decimal_mark
from fieldmend.records.sources.layout import Layout, stem_of
from fieldmend.records.sources.text import Text
from fieldmend.records.vocabulary import TIME

INTELLAB = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \d+ \d*( [-\d.eE]*){0,4}\s*")
MOTE_PLACE = re.compile(r"\s*[^\s,;:|]+(\s+[-+]?\d+\.?\d*){2,3}\s*")
# NDBC's codes for "no reading", by column: 99 is a good wind direction and a good pressure trend.
NDBC_MISSING = {
    **dict.fromkeys(["WDIR", "MWD", "WD"], (999.0,)),
    **dict.fromkeys(["PRES", "BAR"], (9999.0,)),
    **dict.fromkeys(["ATMP", "WTMP", "DEWP"], (999.0, 9999.0)),
    **dict.fromkeys(
        ["WSPD", "GST", "WVHT", "DPD", "APD", "VIS", "TIDE", "PTDY"], (99.0, 999.0, 9999.0)
    ),
}


def recognise(text: Text, work: Path) -> Layout | None:
    """The layout of a text file, or None for a plain one."""
    lines = text.head
    body = [line for line in lines if line.strip()]
    if not body:
        return None
    for _, rule in LAYOUTS:
        layout = rule(text, body, work)
        if layout is not None:
            return layout
    logs.refuse_metar(text, body)
    return None


def _intellab(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    if not all(INTELLAB.fullmatch(line) for line in body[:3]):
        return None
    header = ("date", "time", "epoch", "moteid", "temperature", "humidity", "light", "voltage")
    units = {"temperature": "°C", "humidity": "%", "light": "lux", "voltage": "V"}
    return Layout("IntelLab", Dialect(" ", header, 0), units)


def _mote_places(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    if not all(MOTE_PLACE.fullmatch(line) for line in body):
        return None
    header = ("node", "x", "y", "z")[: len(body[0].split())]
    return Layout("positions", Dialect(BLANKS, header, 0))


def _ndbc(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    names = body[0].lstrip("#").split()
    if names[:4] not in (["YY", "MM", "DD", "hh"], ["YYYY", "MM", "DD", "hh"]):
        return None
    time = 5 if names[4:5] == ["mm"] else 4
    second = body[1].split() if len(body) > 1 and body[1].startswith("#") else []
    units = dict(zip(names[time:], second[time:], strict=False))
    skip = text.head.index(body[1] if second else body[0]) + 1
    header = ("year", "month", "day", "hour", "minute")[:time] + tuple(names[time:])
    stem = stem_of(text.name)
    station = re.fullmatch(r"([a-z0-9]{5})h\d{4}", stem, re.IGNORECASE)
    return Layout(
        "NDBC standard text",
        Dialect(BLANKS, header, skip),
        units,
        node=(station[1] if station else stem).upper(),
        missing={name: NDBC_MISSING[name] for name in names if name in NDBC_MISSING},
        time=header[:time],
        utc=True,
    )


def _toa5(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    first = split(body[0], ",")
    if first[0].strip('"﻿ ') != "TOA5" or len(body) < 4:
        return None
    header = tuple(split(body[1], ","))
    units = {n: u for n, u in zip(header, split(body[2], ","), strict=False) if u.strip()}
    skip = text.head.index(body[3]) + 1
    node = first[1] if len(first) > 1 and first[1] else None
    return Layout("Campbell TOA5", Dialect(",", header, skip), units, node=node)


def _erddap(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    if len(body) < 2:
        return None
    header = tuple(cell.strip() for cell in split(body[0].lstrip("﻿"), ","))
    second = [cell.strip() for cell in split(body[1], ",")]
    if len(second) != len(header) or "time" not in header or second[header.index("time")] != "UTC":
        return None
    units = {n: u for n, u in zip(header, second, strict=True) if u and n.casefold() not in TIME}
    skip = text.head.index(body[1]) + 1
    rows = [split(line, ",") for line in body[2:200]]
    return Layout("ERDDAP", Dialect(",", header, skip, decimal_mark(rows, ",")), units)


LAYOUTS = (
    ("Campbell TOA5", _toa5),
    ("InfluxDB annotated CSV", influx.annotated),
    ("NDBC standard text", _ndbc),
    ("IntelLab", _intellab),
    ("meter channel", headless.channels),
    ("SensorScope", headless.sensorscope),
    ("PeMS", headless.pems),
    ("AirNow", headless.airnow),
    ("TOMST", headless.tomst),
    ("positions", _mote_places),
    ("ERDDAP", _erddap),
    ("CO-OPS", services.coops),
    ("HOBO", loggers.hobo),
    ("Davis WeatherLink", loggers.davis),
    ("Météo-France", loggers.meteo_france),
    ("ThingSpeak", loggers.thingspeak),
    ("Netatmo", loggers.netatmo),
    ("TAO", loggers.tao),
    ("DWD", services.dwd),
    ("IEM ASOS", services.asos),
    ("ISD-Lite", services.isd_lite),
    ("US CRN", services.crn),
    ("EPA AQS", services.aqs),
    ("BADC-CSV", services.badc),
    ("GHCN-Daily", services.ghcn),
    ("GHCN-Daily months", services.ghcn_months),
    ("NOAA global hourly", archives.global_hourly),
    ("NOAA summary of the day", archives.summary_of_the_day),
    ("USGS RDB", archives.rdb),
    ("stations above", services.stations_above),
    ("seismic ASCII", series.seismic),
    ("ZRXP", series.zrxp),
    ("Siemens trends", series.siemens),
    ("Prometheus text", logs.prometheus),
    ("MQTT messages", logs.mqtt),
    ("InfluxDB line protocol", influx.line_protocol),
    ("names with values", logs.pairs),
    ("times across", spreadsheets.stamps_across),
    ("hours across", spreadsheets.hours_across),
    ("cells merged", spreadsheets.merged_cells),
    ("cells left out", uneven.left_out),
    ("decimal commas between commas", uneven.decimals_parted),
)
"""What a layout is called, and the rule that knows it. The first that does has it."""
