"""Layouts of archives that pack several things into a cell or several tables into a file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fieldmend.records.sources.cutting import split
from fieldmend.records.sources.dialect import Dialect
from fieldmend.records.sources.layout import Layout, lines_of, rewritten
from fieldmend.records.sources.text import Text

PACKED = re.compile(r"[+-]\d{4},\w")  # +0056,1: 5.6 °C, and how sure that is
# NOAA's groups: which of a cell's parts, its name, unit, code for missing, and the divisor.
GROUPS: Mapping[str, tuple[tuple[int, str, str, str, int], ...]] = {
    "WND": ((0, "wind_direction", "°", "999", 1), (3, "wind_speed", "m/s", "9999", 10)),
    "CIG": ((0, "ceiling", "m", "99999", 1),),
    "VIS": ((0, "visibility", "m", "999999", 1),),
    "TMP": ((0, "air_temperature", "°C", "+9999", 10),),
    "DEW": ((0, "dew_point", "°C", "+9999", 10),),
    "SLP": ((0, "sea_level_pressure", "hPa", "99999", 10),),
}
# Global Summary of the Day: unit of each column, and its codes for "no reading".
GSOD: Mapping[str, tuple[str, tuple[float, ...]]] = {
    **{name: ("°F", (9999.9,)) for name in ("TEMP", "DEWP", "MAX", "MIN")},
    "SLP": ("hPa", (9999.9,)), "STP": ("hPa", (9999.9, 999.9)),
    **{name: ("kt", (999.9,)) for name in ("WDSP", "MXSPD", "GUST")},
    "VISIB": ("mi", (999.9,)), "PRCP": ("in", (99.99,)), "SNDP": ("in", (999.9,)),
}  # fmt: skip
PLACED = {"LATITUDE": "lat", "LONGITUDE": "lon", "ELEVATION": "elevation"}
SERIES = re.compile(r"\d+_(\d{5}(?:_\d{5})?)")  # USGS: 69928_00010
PARAMETERS = {
    "00010": ("water_temperature", "°C"), "00020": ("air_temperature", "°C"),
    "00045": ("precipitation", "in"), "00060": ("discharge", "ft³/s"),
    "00065": ("gage_height", "ft"), "00095": ("conductance", "µS/cm"),
    "00300": ("oxygen", "mg/l"), "00400": ("ph", ""), "63680": ("turbidity", "FNU"),
}  # fmt: skip


def global_hourly(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """NOAA's global hourly data (ISD) as CSV: groups such as "+0056,1" in a cell."""
    names = [cell.strip() for cell in split(body[0].lstrip("\ufeff"), ",")]
    first = split(body[1], ",") if len(body) > 1 else []
    if not {"STATION", "DATE", "TMP"} <= {*names} or len(first) != len(names):
        return None
    if not PACKED.fullmatch(first[names.index("TMP")]):
        return None
    groups = [name for name in GROUPS if name in names]
    places = [name for name in PLACED if name in names]
    over = [n for n in names if n not in {"STATION", "DATE", *groups, *places}]
    readings = [one for group in groups for one in GROUPS[group]]

    def rows() -> Iterator[tuple[int, Sequence[object]]]:
        lines = lines_of(text)
        next(lines)
        for number, line in lines:
            cells = split(line, ",")
            if len(cells) != len(names):
                yield number, [line]  # too few cells: set aside
                continue
            row = dict(zip(names, cells, strict=True))
            parts = {group: row[group].split(",") for group in groups}
            yield (
                number,
                [
                    row["STATION"],
                    row["DATE"],
                    *(row[name] for name in places),
                    *(_part(parts[group], *one) for group in groups for one in GROUPS[group]),
                    *[""] * len(over),
                ],
            )

    header = ("node", "time", *(PLACED[n] for n in places), *(one[1] for one in readings))
    return Layout(
        "NOAA global hourly",
        rewritten(text, work, (*header, *(f"-{name}" for name in over)), rows()),
        {one[1]: one[2] for one in readings},
        time=("time",),
        offset=0,
        line_column=True,
    )


def _part(parts: Sequence[str], at: int, _name: str, _unit: str, lost: str, by: int) -> object:
    cell = parts[at].strip() if at < len(parts) else ""
    if cell in ("", lost):
        return ""
    return f"{int(cell) / by:g}" if re.fullmatch(r"[+-]?\d+", cell) else ",".join(parts)


def rdb(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """USGS water data: a table for each site, one below the other, each with names of its own."""
    first = next((line for line in body if not line.startswith("#")), "")
    if first.split("\t")[:2] != ["agency_cd", "site_no"] or "datetime" not in first.split("\t"):
        return None
    tables = [line.split("\t") for _, line in lines_of(text) if line.startswith("agency_cd\t")]
    found = {name: _parameter(names, name) for names in tables for name in names[2:]}
    flags = {name for name in found if name.endswith("_cd")}
    readings = list(dict.fromkeys(
        known for name, known in found.items() if name not in flags and name != "datetime"
    ))  # fmt: skip
    header = ("node", "time", *(["tz_cd"] if "tz_cd" in found else []), *readings)
    over = sorted({f"-{found[name]}" for name in flags - {"tz_cd"}})

    def rows() -> Iterator[tuple[int, Sequence[object]]]:
        names: Sequence[str] = ()
        for number, line in lines_of(text):
            cells = line.split("\t")
            if cells[0] == "agency_cd":
                names = cells
            elif not line.startswith("#") and not re.fullmatch(r"(\d+[sdn]\t?)+", line):
                if len(cells) != len(names):
                    yield number, [line]  # too few cells: set aside
                    continue
                row = dict(zip(names, cells, strict=True))
                known = {found[name]: cell for name, cell in row.items() if name in found}
                zone = [row.get("tz_cd", "")] if "tz_cd" in found else []
                cells = [row.get("site_no", ""), row.get("datetime", ""), *zone]
                yield number, [*cells, *(known.get(n, "") for n in readings), *[""] * len(over)]

    made = rewritten(text, work, (*header, *over), rows())
    said = {n: unit for n in readings if (unit := PARAMETERS.get(n[-5:], ("", ""))[1])}
    return Layout("USGS RDB", Dialect(",", made.header, 1), said, line_column=True)


def _parameter(names: Sequence[str], name: str) -> str:
    """What a column holds; its series' number too where a table has several of the kind."""
    bare = name.removesuffix("_cd")
    series = SERIES.fullmatch(bare)
    codes = [one[1] for other in names if (one := SERIES.fullmatch(other))]
    if series is None or codes.count(series[1]) > 1:
        return name
    code = series[1]
    word = PARAMETERS.get(code, ("",))[0]
    return (f"{word}_{code}" if word else code) + name[len(bare) :]


def summary_of_the_day(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """NOAA's Global Summary of the Day: each column has its own number of nines for nothing."""
    cells = [cell.strip().strip('"') for cell in split(body[0], ",")]
    if cells[:2] != ["STATION", "DATE"] or not {"TEMP_ATTRIBUTES", "FRSHTT"} <= {*cells}:
        return None
    over = re.compile(r".*_ATTRIBUTES|FRSHTT|NAME")
    header = tuple(f"-{cell}" if over.fullmatch(cell) else cell for cell in cells)
    there = {name: of for name, of in GSOD.items() if name in cells}
    return Layout(
        "NOAA summary of the day",
        Dialect(",", header, text.head.index(body[0]) + 1),
        {name: unit for name, (unit, _) in there.items()},
        missing={name: codes for name, (_, codes) in there.items()},
        time=("DATE",),
        node_column="STATION",
    )
