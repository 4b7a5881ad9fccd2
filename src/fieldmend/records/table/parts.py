"""Time in parts: year, month, day, hour, … in columns of their own, or a count since an origin."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from fieldmend.errors import InputError
from fieldmend.text import shown

NAMES = {
    "year": "year yr yyyy yy jahr annee année ano año",
    "month": "month mon mo monat mois mes",
    "day": "day dd dy tag jour dia día dayofmonth day_of_month",
    "doy": "doy dayofyear day_of_year jday julian julian_day yday jd_of_year",
    "hour": "hour hr hh stunde heure hora hours",
    "minute": "minute min mn mi minutes minuto",
    "second": "second sec ss sekunde seconde segundo seconds",
    "hhmm": "hhmm hour_minute hhmm_utc",
}
PART = {alias: part for part, aliases in NAMES.items() for alias in aliases.split()}
ORDER = ("year", "month", "day", "hour", "minute", "second")
UNITS = {
    "us": 1, "µs": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6,
    "d": 86400 * 10**6, "w": 7 * 86400 * 10**6,
}  # fmt: skip


COUNTED = {
    **dict.fromkeys(("second", "seconds", "sec", "secs", "elapsed", "elapsed_s", "time_s"), "s"),
    **dict.fromkeys(("millis", "ms", "elapsed_ms", "time_ms", "uptime_ms"), "ms"),
    **dict.fromkeys(("uptime", "uptime_s"), "s"),
    **dict.fromkeys(("minute", "minutes", "mins", "elapsed_min", "time_min"), "min"),
    **dict.fromkeys(("hour", "hours", "hrs", "elapsed_h", "time_h"), "h"),
    **dict.fromkeys(("day", "days", "elapsed_d", "time_d"), "d"),
}
"""Names of columns that may count since a start, and what."""
ROUND = tuple(s * 10**6 for s in (1, 10, 60, 300, 600, 3600))
"""Moments that people mean are multiples of these, in µs."""
ROUGHLY = 20  # µs that days in double precision are off
ORIGINS = {"excel": -25_569, "matlab": -719_529, "julian": -2_440_587.5, "mjd": -40_587}
"""Where programs begin to count days, in days since 1970."""


@dataclass(frozen=True)
class Count:
    """Time as a number of units since an origin."""

    origin: int
    """µs since 1970."""
    unit: int
    """µs."""
    zoned: bool


def counted(unit: str | None, origin: str | None) -> Count | None:
    """What time_unit= and origin= say; None if they say nothing."""
    if unit is None and origin is None:
        return None
    if unit not in UNITS:
        raise InputError(
            f"time_unit={shown(unit)!r}" if unit else "origin= is given, and no unit of time",
            hint=f"One of {', '.join(UNITS)} with time_unit= (--time-unit)",
        )
    if origin is None:
        return Count(0, UNITS[unit], zoned=True)
    if origin in ORIGINS:
        return Count(int(ORIGINS[origin] * UNITS["d"]), UNITS[unit], zoned=False)
    moment, zoned = moment_of(origin, "origin")
    return Count(moment, UNITS[unit], zoned=zoned)


def rounded_sql(micros: str, unit: int, cells: Sequence[str | None]) -> str:
    """SQL for whole µs: 44936.041667 days are one o'clock, not 29 ms after it.

    A count with decimals is known to half of its last one; a round moment within that is meant.
    """
    written = [len(cell.partition(".")[2].rstrip()) for cell in cells if cell and "." in cell]
    if not written:
        return f"round({micros})"
    doubt = max(ROUGHLY, 0.505 * unit / 10.0 ** min(15, max(written)))
    step = next((s for s in ROUND if s > 2 * doubt), None)
    if step is None:
        return f"round({micros})"
    nearest = f"round({micros} / {step}) * {step}"
    return f"CASE WHEN abs({micros} - {nearest}) <= {doubt} THEN {nearest} ELSE round({micros}) END"


def rises(cells: Sequence[str]) -> bool:
    """Whether cells are numbers that never fall, and not all the same: a count."""
    if not all(re.fullmatch(r"\d+(\.\d*)?", cell) for cell in cells):
        return False
    numbers = [float(cell) for cell in cells]
    return len(set(numbers)) > 2 and all(a <= b for a, b in pairwise(numbers))


def likely(cells: Sequence[str]) -> str:
    """The options for numbers that look like days as programs count them; empty if they do not.

    Examples
    --------
    >>> likely(["45292.0", "45292.5"]), likely(["738896.25"]), likely(["12.5"])
    ('--time-unit d --origin excel', '--time-unit d --origin matlab', '')
    """
    numbers = [float(cell) for cell in cells if re.fullmatch(r"\d+(\.\d*)?", cell)]
    if not numbers or len(numbers) < len(cells):
        return ""
    for name, zero in ORIGINS.items():  # 1980 to 2059
        if name != "mjd" and all(3_652 <= number + zero < 32_872 for number in numbers):
            return f"--time-unit d --origin {name}"
    return ""


def moment_of(text: str, option: str) -> tuple[int, bool]:
    """A moment in µs since 1970, and whether it carries its zone."""
    try:
        moment = datetime.fromisoformat(str(text).strip())
    except ValueError as error:
        raise InputError(
            f"{option}={shown(text)!r} is no moment",
            hint="Write 2024-01-31 or 2024-01-31T12:00Z"
            + (f"; or one of {', '.join(ORIGINS)}" if option == "origin" else ""),
        ) from error
    zoned = moment.tzinfo is not None
    moment = moment if zoned else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds, zoned


def found(lower: Sequence[str]) -> dict[str, int]:
    """Part → column, where the names tell a date: year with month and day, or with a day's number.

    Examples
    --------
    >>> found(["no", "year", "month", "day", "hour", "pm10"])
    {'year': 1, 'month': 2, 'day': 3, 'hour': 4}
    """
    parts: dict[str, int] = {}
    for i, name in enumerate(lower):
        if name in PART:
            parts.setdefault(PART[name], i)
    if {"year", "month", "day"} <= parts.keys() or {"year", "doy"} <= parts.keys():
        if "month" in parts:
            parts.pop("doy", None)
        return parts
    return {}


def named(names: Sequence[str], columns: Sequence[int]) -> dict[str, int]:
    """Part → column of columns that the user named: by their names, else in order of size."""
    by_name = found([names[i].casefold() for i in columns])
    if len(by_name) == len(columns):
        return {part: columns[i] for part, i in by_name.items()}
    return dict(zip(ORDER, columns, strict=False))


def sql(cells: Mapping[str, str]) -> str:
    """SQL for microseconds, from SQL for each part; NULL where there is no such day or hour."""

    def whole(part: str, default: str = "0") -> str:
        cell = cells.get(part)
        return f"TRY_CAST(TRY_CAST({cell} AS DOUBLE) AS BIGINT)" if cell else default

    year = whole("year")
    full = f"{year} + CASE WHEN {year} < 70 THEN 2000 WHEN {year} < 100 THEN 1900 ELSE 0 END"
    if "doy" in cells:
        day = whole("doy")
        first = f"epoch_us(TRY_CAST(printf('%04d-01-01', {full}) AS TIMESTAMP))"
        date = f"CASE WHEN {day} BETWEEN 1 AND 366 THEN {first} + ({day} - 1) * {UNITS['d']} END"
    else:
        text = f"printf('%04d-%02d-%02d', {full}, {whole('month')}, {whole('day')})"
        date = f"epoch_us(TRY_CAST({text} AS TIMESTAMP))"
    hour, minute = whole("hour"), whole("minute")
    if "hhmm" in cells:
        hour, minute = f"({whole('hhmm')} // 100)", f"({whole('hhmm')} % 100)"
    second = f"TRY_CAST({cells['second']} AS DOUBLE)" if "second" in cells else "0"
    if "clock" in cells:  # 13:45 or 13:45:10 beside the date's parts
        piece = [f"TRY_CAST(split_part({cells['clock']}, ':', {i}) AS " for i in (1, 2, 3)]
        hour, minute = f"{piece[0]}BIGINT)", f"{piece[1]}BIGINT)"
        second = f"coalesce({piece[2]}DOUBLE), 0)"
    # Hour 24 is the next day's hour 0, as loggers write it.
    sound = (
        f"({hour} BETWEEN 0 AND 23 OR ({hour} = 24 AND {minute} = 0)) "
        f"AND {minute} BETWEEN 0 AND 59 AND {second} >= 0 AND {second} < 60"
    )
    clock = (
        f"{hour} * {UNITS['h']} + {minute} * {UNITS['min']} + CAST(round({second} * 1e6) AS BIGINT)"
    )
    return f"CASE WHEN {sound} THEN {date} + {clock} END"


def is_parts(cells: Sequence[str]) -> bool:
    """Whether the first of several columns holds years, not dates."""
    return bool(cells) and all(re.fullmatch(r"\d{1,4}(\.0*)?", cell) for cell in cells)
