"""Layouts of loggers and weather services: HOBO, Davis, Météo-France, ThingSpeak, Netatmo, TAO."""

import re
from collections.abc import Sequence
from pathlib import Path

from fieldmend.records.sources.cutting import BLANKS, split
from fieldmend.records.sources.dialect import Dialect, decimal_mark
from fieldmend.records.sources.layout import Layout, stem
from fieldmend.records.sources.text import Text

HOBO_COLUMN = re.compile(r"(?P<name>[^,(]+?)\s*(,\s*(?P<unit>[^(]*?))?\s*(\((?P<more>.*)\))?\s*")
HOBO_EVENTS = re.compile(
    r"(Coupler|Host|End Of File|Stopped|Button|Bad Battery|Good Battery|New URL|File End|Started)"
)


def hobo(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Onset HOBOware: "Date Time, GMT-05:00", then "Temp, °C (LGR S/N: …, LBL: Air)"."""
    found = next((i for i, line in enumerate(body[:3]) if "Date Time" in line), None)
    if found is None:
        return None
    dated = re.compile(r"\W*Date Time(,?\s*GMT\s*[+-]\d\d:?\d\d)?\W*")
    marks = [
        mark
        for mark in (",", ";", "\t")
        if any(dated.fullmatch(cell) for cell in split(body[found], mark))
    ]
    if not marks:
        return None
    mark = max(marks, key=lambda m: len(split(body[found], m)))
    cells = [cell.strip().lstrip("\ufeff") for cell in split(body[found], mark)]
    zone = re.search(r"GMT\s*([+-]\d\d:?\d\d)", body[found])
    header, units = [], {}
    for i, cell in enumerate(cells):
        if dated.fullmatch(cell) and "time" not in header:
            header.append("time")
        elif cell in ("#", "Line#") or HOBO_EVENTS.match(cell):
            header.append(f"-{i}")
        else:
            parts = HOBO_COLUMN.fullmatch(cell)
            label = re.search(r"LBL:\s*([^,)]+)", cell)
            name = (label[1] if label else parts["name"] if parts else cell).strip()
            header.append(name if name not in header else f"{name} {i}")
            if parts and parts["unit"]:
                units[header[-1]] = parts["unit"].strip()
    serial = re.search(r"LGR S/N:\s*(\w+)", body[found])
    title = re.match(r'\W*Plot Title:\s*([^",;]+)', body[0])
    node = (title[1].strip() if title else "") or (serial[1] if serial else None) or stem(text)
    rows = [split(line, mark) for line in body[found + 1 :]]
    at = header.index("time")
    short = any(re.match(r"\d{1,2}/\d{1,2}/\d\d\b", row[at]) for row in rows if len(row) > at)
    skip = text.head.index(body[found]) + 1
    dialect = Dialect(mark, tuple(header), skip, decimal_mark(rows, mark))
    kind = "month first, short" if short else ""
    offset = _minutes(zone[1]) if zone else None
    return Layout("HOBO", dialect, units, node, time=("time",), time_kind=kind, offset=offset)


def _minutes(zone: str) -> int:
    digits = zone.replace(":", "")
    return int(digits[0] + "1") * (60 * int(digits[1:3]) + int(digits[3:5]))


def davis(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Davis WeatherLink: two lines of names over Date and Time; or "Date & Time", "Temp - °C"."""
    for i, line in enumerate(body[:8]):
        cells = [cell.strip().strip('"') for cell in split(line, "\t" if "\t" in line else ",")]
        if cells[:2] == ["Date", "Time"] and "\t" in line and i and "\t" in body[i - 1]:
            above = [cell.strip() for cell in body[i - 1].split("\t")]
            above += [""] * (len(cells) - len(above))
            names = [" ".join(filter(None, pair)) for pair in zip(above, cells, strict=False)]
            names[:2] = ["date", "time"]
            return _davis_layout(text, body, i, "\t", names)
        if cells[0] == "Date & Time":
            return _davis_layout(text, body, i, ",", ["time", *cells[1:]])
    return None


def _davis_layout(
    text: Text, body: Sequence[str], at: int, mark: str, names: Sequence[str]
) -> Layout:
    units, header = {}, list[str]()
    for i, name in enumerate(names):
        bare, _, unit = name.partition(" - ")
        header.append(bare if bare not in header else f"{bare} {i}")
        if unit:
            units[header[-1]] = unit
    titles = [split(line, ",")[0].strip('" ') for line in body[:at]] if mark == "," else []
    time = ("date", "time") if "date" in header else ("time",)
    rows = [split(line, mark) for line in body[at + 1 :]]
    dates = [re.match(r"\s*(\d+)[/.](\d+)[/.]\d\d\b", row[0]) for row in rows if row]
    there = [date for date in dates if date]
    kind = ""
    if there:
        first = max(int(date[1]) for date in there) > 12
        second = max(int(date[2]) for date in there) > 12
        kind = "" if first == second else f"{'day' if first else 'month'} first, short"
    return Layout(
        "Davis WeatherLink",
        Dialect(mark, tuple(header), text.head.index(body[at]) + 1, decimal_mark(rows, mark)),
        units,
        node=(titles[0] if titles and titles[0] else stem(text)),
        time=time,
        time_kind=kind,
        words=frozenset(["--", "---", "------"]),
    )


def meteo_france(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """SYNOP (numer_sta;date;…, mq) and hourly climatology (NUM_POSTE;…;AAAAMMJJHH;…)."""
    cells = [cell.strip().lstrip("\ufeff") for cell in split(body[0], ";")]
    skip = text.head.index(body[0]) + 1
    rows = [split(line, ";") for line in body[1:200]]
    if cells[:2] == ["numer_sta", "date"]:
        # Empty last column: lines end with a semicolon.
        header = tuple(cell or f"-{i}" for i, cell in enumerate(cells))
        units = {"pmer": "Pa", "pres": "Pa", "t": "K", "td": "K", "u": "%", "ff": "m/s", "dd": "°"}
        return Layout(
            "Météo-France SYNOP",
            Dialect(";", header, skip, decimal_mark(rows, ";")),
            {name: unit for name, unit in units.items() if name in header},
            time=("date",),
            node_column="numer_sta",
            words=frozenset(["mq"]),
        )
    if cells[0] != "NUM_POSTE" or not {"AAAAMMJJHH", "AAAAMMJJ"} & set(cells):
        return None
    quality = {f"Q{cell}" for cell in cells}
    header = tuple(f"-{cell}" if cell in quality else cell for cell in cells)
    hourly = "AAAAMMJJHH" in cells
    place = {"LAT": "lat", "LON": "lon", "ALTI": "elevation"}
    return Layout(
        "Météo-France",
        Dialect(
            ";", tuple(place.get(name, name) for name in header), skip, decimal_mark(rows, ";")
        ),
        time=("AAAAMMJJHH" if hourly else "AAAAMMJJ",),
        time_kind="compact hours" if hourly else "compact",
        node_column="NUM_POSTE",
    )


def thingspeak(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """ThingSpeak's CSV: created_at, entry_id, field1, …; the channel is in the file's name."""
    cells = [cell.strip().lstrip("\ufeff") for cell in split(body[0], ",")]
    if cells[:2] != ["created_at", "entry_id"]:
        return None
    over = {"entry_id", "status", "latitude", "longitude", "elevation"}
    header = tuple(f"-{name}" if name in over else name for name in cells)
    dialect = Dialect(",", header, text.head.index(body[0]) + 1)
    return Layout("ThingSpeak", dialect, node=stem(text), time=("created_at",))


def netatmo(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """Netatmo's CSV: the module above, then Timestamp and "Timezone : Europe/Berlin"."""
    for i, line in enumerate(body[:6]):
        mark = ";" if line.count(";") > line.count(",") else ","
        cells = [cell.strip().strip('"') for cell in split(line, mark)]
        if len(cells) < 3 or cells[0] != "Timestamp" or not cells[1].startswith("Timezone"):
            continue
        module = [cell.strip('" ') for cell in split(body[i - 1], mark)] if i else []
        named = next((cell for cell in module[2:3] if cell), None) or stem(text)
        rows = [split(row, mark) for row in body[i + 1 :]]
        header = ("time", "-local", *cells[2:])
        dialect = Dialect(mark, header, text.head.index(line) + 1, decimal_mark(rows, mark))
        return Layout("Netatmo", dialect, node=named, time=("time",))
    return None


def tao(text: Text, body: Sequence[str], work: Path) -> Layout | None:
    """PMEL's TAO/TRITON ASCII: Location above, then YYYYMMDD HHMM and the readings."""
    at = next(
        (i for i, line in enumerate(body[:12]) if line.split()[:2] == ["YYYYMMDD", "HHMM"]), None
    )
    if at is None:
        return None
    quality = re.compile(r"Q\w*|M|S|MODE|SOURCE|QUALITY|I|D", re.IGNORECASE)
    names = body[at].split()[2:]
    header = ["date", "time"]
    header += [f"-{i}" if quality.fullmatch(name) else name for i, name in enumerate(names)]
    where = re.search(
        r"Location:\s*(\d+(?:\.\d+)?)([NS])\s+(\d+(?:\.\d+)?)([EW])", " ".join(body[:at])
    )
    node = f"{where[1]}{where[2]}{where[3]}{where[4]}" if where else stem(text)
    places = {}
    if where:
        lat, lon = float(where[1]), float(where[3])
        places[node] = {
            "lat": -lat if where[2] == "S" else lat,
            "lon": -lon if where[4] == "W" else lon,
        }
    codes = (-9.99, -99.9, -99.99, -999.9)
    return Layout(
        "TAO",
        Dialect(BLANKS, tuple(header), text.head.index(body[at]) + 1),
        node=node,
        missing={name: codes for name in header[2:] if name[0] != "-"},
        time=("date", "time"),
        time_kind="compact and time",
        offset=0,
        places=places,
    )
