"""Which columns hold the time: one, a date and a time of day, or its parts."""

import re
from collections.abc import Sequence

from fieldmend.errors import InputError
from fieldmend.records.table import parts
from fieldmend.records.vocabulary import TIME, first_of, listing
from fieldmend.text import shown


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
    found = first_of(TIME, lower)
    if found is None and (in_parts := parts.found(lower)):
        return tuple(in_parts.values()), in_parts
    if found is None:
        raise InputError(
            f"no column holds the time; found: {listing(names)}",
            file=file,
            hint="Name it with time= (--time), or its parts with --time year,month,day,hour; a "
            "file without a header needs columns= (--columns node,time,temperature)",
        )
    return (found,), {}


def _date_and_time(
    names: Sequence[str], sample: Sequence[Sequence[str | None]], file: str
) -> tuple[int, int] | None:
    """A date and the time of that day in two columns: date, time; Date GMT, Time GMT.

    Of several such pairs the one in universal time; where none is, the user has to say.
    """
    words = [re.split(r"[\s_\-]+", name.casefold()) for name in names]
    pairs = {}
    for day, parts_of_name in enumerate(words):
        if "date" not in parts_of_name:
            continue
        other = ["time" if word == "date" else word for word in parts_of_name]
        hour = words.index(other) if other in words else None
        if hour is not None and _is_clock([row[hour] for row in sample if hour < len(row)]):
            pairs[day, hour] = {*other} & {"utc", "gmt"}
    universal = [pair for pair, zone in pairs.items() if zone]
    if len(pairs) > 1 and len(universal) != 1:
        both = " or ".join(f'"{shown(names[a])},{shown(names[b])}"' for a, b in pairs)
        raise InputError(
            "several columns hold a date and a time", file=file, hint=f"Name two: --time {both}"
        )
    return next(iter(universal or pairs), None)


def _is_clock(cells: Sequence[str | None]) -> bool:
    """Whether all cells that are there begin as a time of day."""
    return all(re.match(r"\s*\d{1,2}:\d\d", cell) for cell in cells if cell)


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
