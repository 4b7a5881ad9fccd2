"""Which column holds the time, where no name says so; and what its name says of its stamps.

A column of stamps is the time if it is the only one. Of several the one in universal time is
taken, else the one whose name says that something begins there; else the user has to say.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from fieldmend.errors import InputError
from fieldmend.records.sources.stage import Stage
from fieldmend.records.table import abbreviations, clock, dates, months
from fieldmend.records.table.cells import no_reading
from fieldmend.records.table.timing import time_columns, time_is_named
from fieldmend.records.vocabulary import MISSING
from fieldmend.text import escaped, shown, typed

KINDS = ("ordinal", "sas", "ctime", "marks", "compact and time", "basic", "compact",
         "compact hours", "dots", "twelve hours", "iso", "short", *months.ORDERS)  # fmt: skip
FEWEST = 3  # stamps that show what a column holds
DATE_AND_TIME = 5  # year, month, day, hour, minute
LABELS = frozenset("label text string formatted".split())
UNIVERSAL = frozenset("utc gmt zulu".split())
EPOCHS = frozenset("utc gmt epoch unix unixtime posix".split())
ITS_ZONE = re.compile(r"\d\s*([Zz]|[+-]\d\d:?\d\d|[A-Z]{3,5})$")
BEGINS = frozenset("start begin from first".split())
BOOKED = frozenset("created received inserted modified downloaded".split())
ENDS = frozenset("end stop to until last change changed updated update entry local lst".split())


def settle(
    stage: Stage, time: str | Sequence[str] | None, names: Sequence[str], units: Mapping[str, str]
) -> tuple[str | Sequence[str] | None, tuple[int, ...]]:
    """The time's name, if it had to be looked for, and its columns.

    The stage learns its zone and its order.
    """
    if time is None and not time_is_named(names, stage.sample, stage.name):
        time = _looked_for(stage, names)
    elif time is None:
        time = _universal(stage, names)
    columns, in_parts = time_columns(names, stage.sample, time, stage.name)
    stage.dates = stage.dates or next(
        (order for i in columns if (order := dates.order_in(units.get(names[i], "")))), ""
    )
    if not in_parts and not stage.dates:
        _order(stage, columns)
    said = [units[names[i]] for i in columns if names[i] in units]
    said += [word.upper() for i in columns for word in ("utc", "gmt") if word in _words(names[i])]
    said += [n for i in columns if (n := names[i]).isalpha() and abbreviations.is_zone(n.upper())]
    stage.offset = _offset(said, stage, columns)
    return time, columns


def begin(stage: Stage) -> None:
    """Cells that hold where a time begins and where it ends are taken by their beginning."""
    for i in range(len(stage.names)):
        cells = [(row[i] or "").strip() for row in stage.sample if i < len(row)]
        if stage.kinds[i] != "text" or not cells or not clock.STRETCH.fullmatch(cells[0]):
            continue
        found = [clock.STRETCH.fullmatch(cell) for cell in cells if cell]
        if not all(one and _is_stamp(one[1]) and _is_stamp(one[2]) for one in found):
            continue
        stage.stretches.add(i)
        for row in stage.sample:
            if i < len(row) and (one := clock.STRETCH.fullmatch((row[i] or "").strip())):
                row[i] = one[1]
        stage.notes.append(
            f"{shown(stage.name)}: {shown(stage.names[i])} holds stretches of time, taken by "
            "their beginning"
        )


def _looked_for(stage: Stage, names: Sequence[str]) -> str | None:
    there = [i for i in range(len(names)) if _is_time(stage, i)]
    if not there:
        return None  # time_columns refuses it in its own words
    best: list[int] = there
    for rule in (_any_of(UNIVERSAL), _any_of(BEGINS), lambda words: not words & ENDS):
        best = [i for i in best if rule(_words(names[i]))] or best
    if len(best) > 1 and not _same_days(stage, best):
        first, second = (names[i] for i in best[:2])
        raise InputError(
            f"several columns hold a time: {', '.join(shown(names[i]) for i in there[:6])}",
            file=stage.name,
            hint=f"Name one with time={escaped(first)!r} ({typed('--time', first)}), or "
            f"{typed('--time', second)}",
        )
    best.sort(key=lambda i: bool(_words(names[i]) & LABELS))
    others = [shown(names[i]) for i in there if i != best[0]]
    beside = f"; {', '.join(others[:3])} too" if others else ""
    stage.notes.append(
        f"{shown(stage.name)}: {shown(names[best[0]])} is taken for the time: it holds stamps"
        f"{beside}; name another with time= (--time)"
    )
    return names[best[0]]


def _same_days(stage: Stage, columns: Sequence[int]) -> bool:
    """Whether columns tell the same moments, as far as their digits go: a stamp and its label."""
    rows = [row for row in stage.sample if max(columns) < len(row)]
    told = [tuple(_digits(row[i] or "") for i in columns) for row in rows]
    return len(told) >= FEWEST and all(len(set(one)) == 1 for one in told)


def _digits(cell: str) -> tuple[tuple[int, ...], str]:
    """The numbers of a stamp without seconds of zero, and what half of the day it says."""
    numbers = [int(part) for part in re.findall(r"\d+", cell)]
    while len(numbers) > DATE_AND_TIME and numbers[-1] == 0:
        numbers.pop()
    half = re.search(r"[ap]\.?m", cell, re.IGNORECASE)
    return tuple(numbers), half[0][0].casefold() if half else ""


def _universal(stage: Stage, names: Sequence[str]) -> str | None:
    """Another column than the one named as a time is, if it alone says UTC, and stamps are local.

    "Time" beside "DateUTC", year, month, day and hour beside stamps that carry their zone: local
    time needs a zone that nobody has told, and an hour of autumn comes twice in it.
    """
    columns, in_parts = time_columns(names, stage.sample, None, stage.name)
    if in_parts:
        return _zoned(stage, names)
    if len(columns) > 1 or _words(names[columns[0]]) & UNIVERSAL:
        return None
    cells = [(row[columns[0]] or "").strip() for row in stage.sample if columns[0] < len(row)]
    if stage.kinds[columns[0]] != "text" or not holds_stamps([cell for cell in cells if cell]):
        return None
    if any(ITS_ZONE.search(cell) for cell in cells):
        return None
    other = [i for i, name in enumerate(names) if _words(name) & UNIVERSAL and _is_time(stage, i)]
    if len(other) != 1:
        return None
    stage.notes.append(
        f"{shown(stage.name)}: {shown(names[other[0]])} is taken for the time, not "
        f"{shown(names[columns[0]])}, which has no zone; name another with time= (--time)"
    )
    return names[other[0]]


def _zoned(stage: Stage, names: Sequence[str]) -> str | None:
    """The one column whose stamps carry their zone, beside a time in parts; or None."""
    there = []
    for i in range(len(names)):
        cells = [cell for row in stage.sample if i < len(row) if (cell := (row[i] or "").strip())]
        told = stage.kinds[i] == "zoned" or (
            holds_stamps(cells) and all(":" in c and ITS_ZONE.search(c) for c in cells)
        )
        if told and not _words(names[i]) & (ENDS | BOOKED):
            there.append(i)
    if len(there) != 1:
        return None
    stage.notes.append(
        f"{shown(stage.name)}: {shown(names[there[0]])} is taken for the time: its stamps carry "
        "their zone, which the parts of it beside them do not; name others with time= (--time)"
    )
    return names[there[0]]


def _any_of(some: frozenset[str]) -> Callable[[set[str]], bool]:
    return lambda words: bool(words & some)


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold()))


def _is_time(stage: Stage, column: int) -> bool:
    if stage.kinds[column] in ("naive", "zoned"):
        return True
    cells = [(row[column] or "").strip() for row in stage.sample if column < len(row)]
    there = [cell for cell in cells if cell.casefold() not in MISSING]
    epochs = _words(stage.names[column]) & EPOCHS and no_reading(column, stage.sample) == "stamps"
    return bool(epochs) or holds_stamps(there)


def holds_stamps(cells: Sequence[str]) -> bool:
    """Whether all cells are dates, with or without hours, and not one and the same."""
    return len(set(cells)) >= FEWEST and all(_is_stamp(cell) for cell in cells)


def _is_stamp(cell: str) -> bool:
    # Eight digits may be an id or a count; with hours behind them they are a date.
    if re.fullmatch(r"\d{8}", cell):
        return False
    return bool(clock.SLASHES.fullmatch(cell)) or any(
        clock.KINDS[kind].fullmatch(cell) for kind in KINDS
    )


def _order(stage: Stage, columns: Sequence[int]) -> None:
    """Where stamps alone do not tell day from month, their course may."""
    cells = [" ".join((row[i] or "").strip() for i in columns) for row in stage.sample
             if max(columns) < len(row)]  # fmt: skip
    cells = [cell for cell in cells if cell.strip()]
    if not cells or not (clock.SLASHES.fullmatch(cells[0]) or clock.SHORT.fullmatch(cells[0])):
        return
    stage.dates = dates.order_of(cells)
    if stage.dates:
        stage.notes.append(
            f"{shown(stage.name)}: dates such as {shown(cells[0])} are read "
            f"{dates.ORDERS[stage.dates]}: so they run on over midnight; another order with "
            "dates= (--dates)"
        )


def _offset(said: Sequence[str], stage: Stage, columns: Sequence[int]) -> int | None:
    """Minutes ahead of UTC, from what stands in brackets behind the time's name."""
    if any(stage.kinds[i] not in ("text", "other") for i in columns):
        return None
    last = [(row[columns[-1]] or "").strip() for row in stage.sample if columns[-1] < len(row)]
    if any(ITS_ZONE.search(cell) for cell in last):
        return None  # the stamps carry their own
    for text in said:
        zone = text.strip().upper()
        offset = abbreviations.minutes(abbreviations.OFFSETS.get(zone, zone))
        if offset is not None:
            stage.notes.append(
                f"{shown(stage.name)}: times are {shown(text)}, as their column says: "
                f"{offset / 60:+g} h from UTC"
            )
            return offset
        stage.season = zone if _seasonal(zone) else ""
    return None


def _seasonal(zone: str) -> bool:
    """EST/EDT, BST: a zone that nobody but the user can name."""
    parts = re.split(r"[/ ]+", zone)
    known = abbreviations.OFFSETS.keys() | abbreviations.SEVERAL.keys()
    return bool(zone) and all(part in known for part in parts)


def refuse_unnamed(stage: Stage) -> None:
    """Refuse times whose column names a zone that cannot be one offset, if none was given."""
    if not stage.season:
        return
    raise InputError(
        f"times are {shown(stage.season)}, as their column says, which is no one offset from UTC",
        file=stage.name,
        hint="Name the zone with tz= (--tz America/New_York, or --tz -05:00)",
    )
