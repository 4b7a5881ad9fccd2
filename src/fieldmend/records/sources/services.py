"""Layouts of public services: DWD, IEM, NOAA, EPA, BADC, and matrices under their stations."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fieldmend.quantities.units import spelt
from fieldmend.records.sources.cutting import BLANKS, NUMBER, STAMP, split
from fieldmend.records.sources.dialect import Dialect, decimal_mark
from fieldmend.records.sources.layout import Layout, lines_of, rewritten, stem
from fieldmend.records.sources.text import Text
from fieldmend.records.vocabulary import PLACE, TIME

ISD_LITE = re.compile(r"\d{4} \d\d \d\d \d\d([ -]+\d+){8}\s*")
GHCN = re.compile(r"[A-Z]{2}[A-Z0-9]{9},\d{8},[A-Z0-9]{4},-?\d+(,[^,]*){3,4}")
DLY = re.compile(r"[A-Z]{2}[A-Z0-9]{9}\d{6}[A-Z0-9]{4}([ \d-]{5}...){1,31}")
CRN = re.compile(r"\d{5} \d{8} \d{4} \d{8} \d{4} ")
_SUN = "SOLARAD SOLARAD_FLAG SOLARAD_MAX SOLARAD_MAX_FLAG SOLARAD_MIN SOLARAD_MIN_FLAG"
CRN_COLUMNS = (
    "WBANNO UTC_DATE UTC_TIME LST_DATE LST_TIME CRX_VN LONGITUDE LATITUDE T_CALC T_HR_AVG T_MAX "
    f"T_MIN P_CALC {_SUN} SUR_TEMP_TYPE {_SUN.replace('SOLARAD', 'SUR_TEMP')} RH_HR_AVG "
    "RH_HR_AVG_FLAG SOIL_MOISTURE_5 SOIL_MOISTURE_10 SOIL_MOISTURE_20 SOIL_MOISTURE_50 "
    "SOIL_MOISTURE_100 SOIL_TEMP_5 SOIL_TEMP_10 SOIL_TEMP_20 SOIL_TEMP_50 SOIL_TEMP_100"
).split()
ABOVE = 12  # lines of a matrix that may stand above its first stamp
LABELS = frozenset("station stations name names site sites id code node nodes logger".split())


def dwd(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Deutscher Wetterdienst: STATIONS_ID;MESS_DATUM;QN_9;TT_TU;…;eor, -999 is missing."""
    cells = _cells(body[0], ";")
    if cells[:2] != ["STATIONS_ID", "MESS_DATUM"]:
        return None
    header = tuple(f"-{cell}" if re.match(r"QN|QUALI|eor$", cell) else cell for cell in cells)
    return Layout(
        "DWD",
        Dialect(";", header, _after(text, body[0])),
        missing={name: (-999.0,) for name in header[2:]},
        time=("MESS_DATUM",),
        node_column="STATIONS_ID",
    )


def asos(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Iowa Environmental Mesonet: station,valid,tmpf,…; M is missing, T a trace."""
    first = next((line for line in body if not line.startswith("#")), "")
    mark = "\t" if "\t" in first else ","
    cells = _cells(first, mark)
    if cells[:2] != ["station", "valid"]:
        return None
    units = {"tmpf": "°F", "dwpf": "°F", "relh": "%", "drct": "°", "sknt": "kt", "p01i": "in",
             "alti": "inHg", "mslp": "hPa", "vsby": "mi", "gust": "kt", "feel": "°F"}  # fmt: skip
    return Layout(
        "IEM ASOS",
        Dialect(mark, tuple(cells), _after(text, first)),
        {name: unit for name, unit in units.items() if name in cells},
        time=("valid",),
        node_column="station",
        words=frozenset(["m"]),
    )


def isd_lite(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """NOAA's ISD-Lite: columns without a header, UTC, tenths, -9999 is missing."""
    if not all(ISD_LITE.fullmatch(line) for line in body[:3]):
        return None
    units = {
        "air_temperature": "0.1 °C", "dew_point": "0.1 °C", "sea_level_pressure": "0.1 hPa",
        "wind_direction": "°", "wind_speed": "0.1 m/s", "sky_condition": "code",
        "precipitation_1h": "0.1 mm", "precipitation_6h": "0.1 mm",
    }  # fmt: skip
    time = ("year", "month", "day", "hour")
    return Layout(
        "ISD-Lite",
        Dialect(BLANKS, (*time, *units), 0),
        units,
        node=re.sub(r"-\d{4}$", "", stem(text)),
        missing=dict.fromkeys(units, (-9999.0,)),
        time=time,
        utc=True,
    )


def crn(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """NOAA's Climate Reference Network, hourly: 38 columns without a header, UTC beside local."""
    if not all(CRN.match(line) and len(line.split()) == len(CRN_COLUMNS) for line in body[:3]):
        return None
    readings = [n for n in CRN_COLUMNS[8:] if not n.endswith(("FLAG", "TYPE"))]
    over = {"LST_DATE", "LST_TIME", "CRX_VN", "SUR_TEMP_TYPE"}
    header = tuple(f"-{n}" if n in over or n.endswith("FLAG") else n for n in CRN_COLUMNS)
    return Layout(
        "US CRN",
        Dialect(BLANKS, header, 0),
        {n: "°C" for n in readings if n.startswith(("T_", "SUR_TEMP", "SOIL_TEMP"))}
        | {"P_CALC": "mm", "RH_HR_AVG": "%"}
        | {n: "W/m²" for n in readings if n.startswith("SOLARAD")},
        missing=dict.fromkeys(readings, (-9999.0, -99.0)),
        time=("UTC_DATE", "UTC_TIME"),
        time_kind="compact and time",
        offset=0,
        node_column="WBANNO",
    )


def coops(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """NOAA CO-OPS: Date Time, Water Level, Sigma, …, F, R, L, Quality; flags are passed over."""
    cells = _cells(body[0], ",")
    if cells[0] != "Date Time" or not {"Quality", "R"} & {*cells}:
        return None
    flags = re.compile(r"[A-Z]|Quality|O or I.*|X|Sigma")
    header = ("time", *(f"-{cell}" if flags.fullmatch(cell) else cell for cell in cells[1:]))
    return Layout(
        "CO-OPS", Dialect(",", header, _after(text, body[0])), node=stem(text), time=("time",)
    )


def aqs(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """EPA's hourly files: three codes and a number are the monitor, GMT beside local time."""
    cells = _cells(body[0], ",")
    monitor = ["State Code", "County Code", "Site Num"]
    if cells[:3] != monitor or not {"Sample Measurement", "Date GMT", "POC"} <= {*cells}:
        return None
    renamed = {"Units of Measure": "unit", "Latitude": "lat", "Longitude": "lon"}
    return Layout(
        "EPA AQS",
        Dialect(",", tuple(renamed.get(cell, cell) for cell in cells), _after(text, body[0])),
        time=("Date GMT", "Time GMT"),
        offset=0,
        node_column=(*monitor, "POC"),
        variable="Parameter Name",
        value="Sample Measurement",
    )


def badc(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """BADC-CSV, as MIDAS Open has it: what it is about above `data`, flags `_q` passed over."""
    if not body[0].lstrip("\ufeff").startswith("Conventions,G,BADC-CSV") or "data" not in body:
        return None
    at = body.index("data")
    if at + 1 >= len(body):
        return None
    said = [split(line, ",") for line in body[:at]]
    about = {row[0]: row[2:] for row in said if len(row) > 2 and row[1] == "G"}
    cells = _cells(body[at + 1], ",")
    over = re.compile(
        r".*_[qj]|(src_)?id(_type)?|met_domain_name|version_num|rec_st_ind|.*_stmp_.*"
    )
    header = tuple(f"-{cell}" if over.fullmatch(cell) else cell for cell in cells)
    named = [row for row in said if len(row) > 3 and row[0] == "long_name" and row[1] in header]
    units = {row[1]: row[3] for row in named if row[3] != "1"}
    node = " ".join(about.get("observation_station", [])) or stem(text)
    times = [name for name in ("ob_time", "ob_end_time", "ob_date") if name in header]
    return Layout(
        "BADC-CSV",
        Dialect(",", header, _after(text, body[at + 1])),
        units,
        node=node,
        time=tuple(times[:1]),
        words=frozenset(word.casefold() for word in about.get("missing_value", [])),
        places={node: place} if (place := _place(about)) else {},
    )


def _place(about: dict[str, list[str]]) -> dict[str, float]:
    cells = [*about.get("location", [])[:2], *about.get("height", [])[:1]]
    if len(cells) < 2 or not all(NUMBER.fullmatch(cell.strip()) for cell in cells):
        return {}
    return dict(zip(("lat", "lon", "elevation"), map(float, cells), strict=False))


def ghcn(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """GHCN-Daily by year: station, day, element, value and flags, without a header."""
    if not all(GHCN.fullmatch(line) for line in body[:3]):
        return None
    flags = ("-measured", "-quality", "-source", "-hour")[: len(body[0].split(",")) - 4]
    header = ("node", "date", "variable", "value", *flags)
    return Layout("GHCN-Daily", Dialect(",", header, 0), time=("date",), time_kind="compact")


def ghcn_months(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """GHCN-Daily .dly: a month in a line, five letters a day and three flags; -9999 is missing."""
    if not all(DLY.fullmatch(line) for line in body[:3]):
        return None
    dialect = rewritten(text, work, ("node", "date", "variable", "value"), _days(text))
    return Layout(
        "GHCN-Daily months", dialect, time=("date",), time_kind="compact", line_column=True
    )


def _days(text: Text) -> Iterator[tuple[int, Sequence[object]]]:
    for number, month in lines_of(text):
        if not DLY.fullmatch(month):
            yield number, [month]  # too few cells: set aside
            continue
        node, stamp, element = month[:11], month[11:17], month[17:21]
        for day, at in enumerate(range(21, len(month) - 7, 8), 1):
            value = month[at : at + 5].strip()
            if value != "-9999":  # days that the month does not have are written so too
                yield number, [node, f"{stamp}{day:02d}", element, value]


def stations_above(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """A matrix with rows about its stations above: their names, places, units."""
    mark = max((";", "\t", ","), key=lambda m: len(split(body[0], m)))
    rows = [_cells(line, mark) for line in body[: ABOVE + 1]]
    width = len(rows[0])
    first = next((i for i, row in enumerate(rows) if STAMP.match(row[0])), 0)
    above = {row[0].rstrip(":").casefold(): row[1:] for row in rows[:first] if len(row) == width}
    label = rows[0][0].rstrip(":").casefold()
    # A word that is not known needs one row more: of units, or of what is measured.
    enough = 2 if label in LABELS else 3
    if len(rows[first]) != width:  # several small tables above another one: SMHI
        return None
    if width < 3 or min(first, len(above)) < enough or label in TIME:
        return None
    names = above.pop(label, [])
    if not names or not all(names) or len(set(names)) < len(names):
        return None
    places: dict[str, dict[str, float]] = {}
    for word, cells in above.items():
        if word in PLACE and all(NUMBER.fullmatch(cell) for cell in cells):
            for name, cell in zip(names, cells, strict=True):
                places.setdefault(name, {})[PLACE[word]] = float(cell)
    units = {unit for cells in above.values() if all(spelt(c)[0] for c in cells) for unit in cells}
    return Layout(
        "stations above",
        Dialect(mark, ("time", *names), _after(text, body[first - 1]),
                decimal_mark([split(line, mark) for line in body[first:200]], mark)),
        {"value": units.pop()} if len(units) == 1 else {},
        time=("time",),
        places=places,
    )  # fmt: skip


def _cells(line: str, mark: str) -> list[str]:
    return [cell.strip().lstrip("\ufeff") for cell in split(line, mark)]


def _after(text: Text, line: str) -> int:
    return text.head.index(line) + 1
