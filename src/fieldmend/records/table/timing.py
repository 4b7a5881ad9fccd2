"""Which columns hold the time: one, a date and a time of day, or its parts."""

import re
from collections.abc import Sequence

from fieldmend.errors import InputError
from fieldmend.records.sources.cutting import STAMP
from fieldmend.records.table import parts
from fieldmend.records.table.abbreviations import is_zone
from fieldmend.records.vocabulary import TIME, ZONE, bare, listing
from fieldmend.text import shown, typed

SAME = {
    "datum": "date", "fecha": "date", "data": "date", "yyyymmdd": "date",
    "uhrzeit": "time", "zeit": "time", "heure": "time", "hora": "time", "ora": "time",
    "stunde": "hour", "hh": "hour", "hr": "hour", "tid": "time", "tijd": "time", "orario": "time",
    "horario": "time", "czas": "time", "dato": "date", "<>date": "date",
}  # fmt: skip
"""Words for a date, a time of day and an hour, as `date`, `time` and `hour`."""
BEGINS = ("von", "from", "start", "begin", "beginn", "ab", "desde", "inicio", "da")
"""Words behind a time of day at which something begins."""
BOOKED = frozenset("resulttime created_at received_at last_changed".split())
"""Names of times at which a record was made, which may be long after what it tells of."""


def column_named(name: str, names: Sequence[str], role: str, file: str) -> int:
    """The column of that name, whatever its case; one that is not there is refused."""
    if name in names:
        return list(names).index(name)
    folded = [n.casefold() for n in names]
    if name.casefold() in folded:
        return folded.index(name.casefold())
    raise InputError(
        f"no column {shown(name)!r} for {role}; found: {listing(names)}",
        file=file,
        hint=f"Name one of these with {role}= (--{role.removesuffix('s')})",
    )


def time_columns(
    names: Sequence[str],
    sample: Sequence[Sequence[str | None]],
    given: str | Sequence[str] | None,
    file: str,
) -> tuple[tuple[int, ...], dict[str, int]]:
    """The columns that hold the time: one, or a date and a time, or its parts (and which)."""
    lower = [name.casefold() for name in names]
    if given is not None:
        return _named_time(names, lower, sample, given, file)
    if pair := _date_and_time(names, sample, file):
        return pair, {}
    found = _alias(lower, sample)
    in_parts = parts.found(lower)
    if in_parts and (found is None or not {"hour", "hhmm"} & in_parts.keys()):
        cells = [] if found is None else [row[found] for row in sample if found < len(row)]
        if found is not None and any(cells) and is_clock(cells):
            in_parts = {**in_parts, "clock": found}
        if found is None or "clock" in in_parts:
            return tuple(in_parts.values()), in_parts
    if found is None:
        _refuse_counts(names, sample, file)
        raise InputError(
            f"no column holds the time; found: {listing(names)}",
            file=file,
            hint="Name it with time= (--time), or its parts with --time year,month,day,hour; a "
            "file without a header needs columns= (--columns node,time,temperature)",
        )
    zone = _zone_column(lower, sample)
    return ((found,) if zone is None else (found, zone)), {}


def _refuse_counts(names: Sequence[str], sample: Sequence[Sequence[str | None]], file: str) -> None:
    """Refuse a column of days as programs count them, or of hours, with the option to read it."""
    for i, name in enumerate(names):
        cells = [(row[i] or "").strip() for row in sample if i < len(row)]
        option = parts.likely([cell for cell in cells if cell])
        unit = parts.COUNTED.get(name.casefold().strip())
        if unit and parts.rises([cell for cell in cells if cell]):
            option = f"--time-unit {unit} --origin 2024-01-31"
            raise InputError(
                f"no column holds stamps; {shown(name)} may count from a moment that is not told",
                file=file,
                hint=f"Say which: {typed('--time', name)} {option}",
            )
        if option and re.search(r"date|time|day|juld|jd$|datum|tag", name.casefold()):
            raise InputError(
                f"no column holds stamps; {shown(name)} holds numbers that look like days",
                file=file,
                hint=f"Read them so with {typed('--time', name)} {option}",
            )


def time_is_named(names: Sequence[str], sample: Sequence[Sequence[str | None]], file: str) -> bool:
    """Whether the names tell which columns hold the time."""
    lower = [name.casefold() for name in names]
    return bool(
        _alias(lower, sample) is not None
        or _date_and_time(names, sample, file)
        or parts.found(lower)
    )


def _alias(lower: Sequence[str], sample: Sequence[Sequence[str | None]]) -> int | None:
    """The first column whose name is a time's: Date/Time, time_stamp and createdAt alike.

    One that holds the time of day only, or its hour, comes last.
    """
    plain = [bare(name) for name in lower]
    found = [lower.index(name) for name in TIME if name in lower]
    found += [plain.index(name) for name in map(bare, TIME) if name in plain]
    cells = {i: [row[i] for row in sample if i < len(row)] for i in found}
    whole = [i for i in found if not is_clock(cells[i]) and not is_hour(cells[i])]
    found = whole or found
    if found and lower[found[0]] in BOOKED and _begins_elsewhere(found[0], lower, sample):
        return next((i for i in found if lower[i] not in BOOKED), None)
    return next(iter(found), None)


def _begins_elsewhere(
    booked: int, lower: Sequence[str], sample: Sequence[Sequence[str | None]]
) -> bool:
    """Whether records were written at one moment, and another column says when each begins."""
    rows = [row for row in sample if len(row) == len(lower)]
    if len(rows) < 3 or len({row[booked] for row in rows}) > 1:
        return False
    begins = [i for i, name in enumerate(lower) if {*re.split(r"[^a-z]+", name)} & {*BEGINS}]
    return any(
        len({row[i] for row in rows}) > 1 and all(STAMP.match(row[i] or "") for row in rows)
        for i in begins
    )


def _zone_column(lower: Sequence[str], sample: Sequence[Sequence[str | None]]) -> int | None:
    """A column of zones that belong to the stamps: tz_cd, with EST and EDT in it."""
    for i, name in enumerate(lower):
        if name not in ZONE:
            continue
        cells = {(row[i] or "").strip().upper() for row in sample if i < len(row)}
        if cells and all(is_zone(cell) for cell in cells):
            return i
    return None


def _date_and_time(
    names: Sequence[str], sample: Sequence[Sequence[str | None]], file: str
) -> tuple[int, int] | None:
    """A date and the time of that day in two columns: date, time; Date GMT, Time GMT; Date, Hour.

    Of several such pairs the one in universal time; where none is, the user has to say.
    """
    words = [
        ["time"] if name.isalpha() and is_zone(name.upper())  # after its zone: DATE, MST
        else [SAME.get(word, word) for word in re.split(r"[\s_\-]+", name.casefold())]
        for name in names
    ]  # fmt: skip
    pairs = {}
    for day, parts_of_name in enumerate(words):
        if "date" not in parts_of_name:
            continue
        for clock, holds in (("time", is_clock), ("time", is_hour), ("hour", is_hour)):
            other = [clock if word == "date" else word for word in parts_of_name]
            # "Data" goes with "Hora UTC", where there is no "Data UTC"; "Datum" with "Zeit von".
            known = (other, *([*other, more] for more in ("utc", "gmt", *BEGINS)))
            hour = next((words.index(one) for one in known if one in words), None)
            if hour is not None and holds([row[hour] for row in sample if hour < len(row)]):
                pairs[day, hour] = {*words[hour]} & {"utc", "gmt"}
                break
    universal = [pair for pair, zone in pairs.items() if zone]
    if len(pairs) > 1 and len(universal) != 1:
        both = " or ".join(f'"{shown(names[a])},{shown(names[b])}"' for a, b in pairs)
        raise InputError(
            "several columns hold a date and a time", file=file, hint=f"Name two: --time {both}"
        )
    return next(iter(universal or pairs), None)


def is_clock(cells: Sequence[str | None]) -> bool:
    """Whether all cells that are there begin as a time of day."""
    there = [cell.strip() for cell in cells if cell and cell.strip()]
    return all(re.match(r"\d{1,2}:\d\d", cell) for cell in there) or _is_pointed(there)


def _is_pointed(cells: Sequence[str]) -> bool:
    """Whether cells are times of day with points, 18.30.00 or 18.30; hours as decimals are not."""
    if all(re.fullmatch(r"\d{1,2}\.[0-5]\d\.[0-5]\d", cell) for cell in cells):
        return True
    minutes = {cell[-2:] for cell in cells}
    whole = all(re.fullmatch(r"([01]?\d|2[0-4])\.[0-5]\d", cell) for cell in cells)
    return whole and (minutes == {"00"} or not minutes <= {"00", "25", "50", "75"})


def is_hour(cells: Sequence[str | None]) -> bool:
    """Whether cells are hours of a day, 0 to 24, or hours and minutes, 0000 to 2400."""
    there = [cell.strip() for cell in cells if cell and cell.strip()]
    return bool(there) and all(
        re.fullmatch(r"(\d|[01]\d|2[0-4])([0-5]\d)?( UTC| GMT)?", cell) for cell in there
    )


def _named_time(
    names: Sequence[str],
    lower: Sequence[str],
    sample: Sequence[Sequence[str | None]],
    given: str | Sequence[str],
    file: str,
) -> tuple[tuple[int, ...], dict[str, int]]:
    if isinstance(given, str):
        alone = given.casefold() in lower or "," not in given
        given = [given] if alone else [part.strip() for part in given.split(",")]
    columns = tuple(column_named(part, names, "time", file) for part in given)
    if len(columns) == 1:
        return columns, {}
    cells = [(row[columns[0]] or "").strip() for row in sample if columns[0] < len(row)]
    by_name = parts.found([lower[i] for i in columns])
    if len(columns) == 2 and not (by_name or parts.is_parts([cell for cell in cells if cell])):
        return columns, {}
    if len(columns) > len(parts.ORDER):
        raise InputError(
            f"time= names {len(columns)} columns", file=file, hint="At most year, month, day, "
            "hour, minute, second",
        )  # fmt: skip
    in_parts = parts.named(names, columns)
    return tuple(in_parts.values()), in_parts
