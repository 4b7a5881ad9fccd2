"""What to read, and how: the options that the commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fieldmend.cli.help import flag

if TYPE_CHECKING:
    from fieldmend.grid import Grid
    from fieldmend.records import Records

PANEL = "Reading"


class SlotValue(StrEnum):
    """What several readings of a node in one slot become."""

    mean = "mean"
    median = "median"
    first = "first"
    last = "last"
    random = "random"


class Ambiguous(StrEnum):
    """Which of two local times is meant."""

    earlier = "earlier"
    later = "later"
    missing = "missing"


class Dates(StrEnum):
    """The order of day, month and year."""

    dmy = "dmy"
    mdy = "mdy"
    ymd = "ymd"


class TimeUnit(StrEnum):
    """Of times that are numbers."""

    us = "us"
    ms = "ms"
    s = "s"
    min = "min"
    h = "h"
    d = "d"
    w = "w"


class OnDuplicate(StrEnum):
    """What becomes of rows of one node and time that differ."""

    mean = "mean"
    first = "first"
    last = "last"
    error = "error"


@dataclass(frozen=True)
class Source:
    """Files, and the options of `fm.read` and `Records.grid` for them."""

    files: Sequence[str]
    slot: str | None
    slot_value: str
    reading: Mapping[str, Any]
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Condition → what it is, where the user said so."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Condition → its unit, likewise."""
    arguments: Sequence[str] = ()
    """What was typed."""

    @property
    def name(self) -> str:
        """What outputs are called after: the first file, or the table of a database.

        Examples
        --------
        >>> Source(["data/lab.v2.txt.gz"], None, "mean", {}).name
        'lab.v2'
        """
        from fieldmend.export.naming import safe_name

        first = self.files[0]
        return safe_name(str(self.reading.get("table") or "query") if is_address(first) else first)

    def grid(self, records: Records) -> Grid:
        """Slots × nodes, with the units that the user named."""
        from fieldmend.recovery.options import with_units

        return with_units(records.grid(self.slot, self.slot_value), self.units)

    def since(self, moment: int | None) -> Source:
        """The same from a day before a moment on (microseconds): its past, and what is new."""
        if moment is None:
            return self
        from fieldmend.cli.nightly import DAY
        from fieldmend.grid import stamp
        from fieldmend.records.table.zones import edge

        own = edge(self.reading.get("start"), self.reading.get("tz"), "start")
        first = stamp(max(moment - DAY, moment - DAY if own is None else own))
        return replace(self, reading={**self.reading, "start": first})

    def read(self) -> Records:
        """The records."""
        from fieldmend.records import read

        return read(list(self.files), **self.reading)


def is_address(file: str) -> bool:
    """True for the address of a database."""
    return file.startswith(("postgresql://", "postgres://"))


def _option(help_: str, **more: Any) -> Any:
    return typer.Option(help=help_, rich_help_panel=PANEL, **more)


def _choice(help_: str, choices: type[StrEnum]) -> Any:
    return _option(f"{help_}: {', '.join(choices)}.", metavar="HOW")


def source(  # noqa: PLR0913 - the options of the reader, keyword-only
    *,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="CSV and its kin, JSON, Parquet, netCDF, SQLite; also .gz, .xz, .bz2, .zst, .zip, "
            ".tar; a folder or a quoted pattern; postgresql://...; - for standard input. Several "
            "are read as one.",
            show_default=False,
        ),
    ],
    slot: Annotated[
        str | None,
        _option(
            "Length of a slot: 30s, 5min, 1h. Found from the readings if not given.",
            metavar="TIME",
        ),
    ] = None,
    slot_value: Annotated[
        SlotValue,
        _choice("What several readings of a node in one slot become", SlotValue),
    ] = SlotValue.mean,
    node: Annotated[
        str | None,
        _option(
            "Column of the node; several, joined by commas, name it together.", metavar="COLUMN"
        ),
    ] = None,
    time: Annotated[
        list[str] | None,
        _option(
            "Column of the time; its parts joined by commas: date,time or year,month,day,hour.",
            metavar="COLUMN",
        ),
    ] = None,
    time_unit: Annotated[
        TimeUnit | None,
        _choice("Unit of times that are numbers since --origin", TimeUnit),
    ] = None,
    origin: Annotated[
        str | None,
        _option(
            "Moment that times are counted from, with --time-unit: 2018-03-01; or excel, matlab, "
            "julian, mjd. 1970 if not given.",
            metavar="MOMENT",
        ),
    ] = None,
    start: Annotated[
        str | None, _option("Use rows from this moment on: 2024-01-31T12:00.", metavar="MOMENT")
    ] = None,
    end: Annotated[str | None, _option("Use rows before this moment.", metavar="MOMENT")] = None,
    columns: Annotated[
        str | None,
        _option(
            "Columns to use; or names of the columns of a file without a header: "
            "node,time,temperature, - for one of no use.",
            metavar="NAME,...",
        ),
    ] = None,
    value: Annotated[
        str | None, _option("Column of the value, in long records.", metavar="COLUMN")
    ] = None,
    variable: Annotated[
        str | None, _option("Column that names the condition, in long records.", metavar="COLUMN")
    ] = None,
    condition: Annotated[
        list[str] | None,
        _option("Keep this condition only; may be repeated.", metavar="NAME"),
    ] = None,
    kind: Annotated[
        list[str] | None,
        _option(
            "What a condition is, where 'inspect' shows it wrong: dd=circular. linear, circular, "
            "accumulator, positive, bounded, intermittent, mixed, passed. May be repeated.",
            metavar="NAME=KIND",
        ),
    ] = None,
    units: Annotated[
        list[str] | None,
        _option(
            "Unit of a condition, where the file does not say it: t=degC. May be repeated.",
            metavar="NAME=UNIT",
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        _option(
            "Values that stand for no reading: --missing -9999 85. Words one at a time: "
            "--missing=ERR; those of one condition: --missing RH=0.",
            metavar="VALUE...",
        ),
    ] = None,
    tz: Annotated[
        str | None,
        _option(
            "Zone of times that carry none: Europe/Berlin, +05:30. UTC if not given. BST=+01:00 "
            "says what an abbreviation means.",
            metavar="ZONE",
        ),
    ] = None,
    ambiguous: Annotated[
        Ambiguous | None,
        _choice("What local times that come twice or never mean", Ambiguous),
    ] = None,
    dates: Annotated[
        Dates | None,
        _choice("Order of day, month and year in dates such as 3/4/2024", Dates),
    ] = None,
    on_duplicate: Annotated[
        OnDuplicate | None,
        _choice(
            "What becomes of rows of one node and time that differ, mean if not given", OnDuplicate
        ),
    ] = None,
    salvage: Annotated[
        bool,
        flag("--salvage", help="Keep what can be read of a damaged compressed file.", panel=PANEL),
    ] = False,
    encoding: Annotated[
        str | None,
        _option("Encoding of text, where nothing tells it: gb18030, big5, ...", metavar="NAME"),
    ] = None,
    locations: Annotated[
        str | None, _option("File of the nodes' positions.", metavar="FILE")
    ] = None,
    table: Annotated[str | None, _option("Table of a database.", metavar="NAME")] = None,
    query: Annotated[
        str | None,
        _option(
            "Query to a database; of any file, whose table is called input: "
            "'SELECT * FROM input WHERE ...'.",
            metavar="SQL",
        ),
    ] = None,
    where: Annotated[
        str | None,
        _option(
            "Use the rows that fulfil a condition: \"site = 'north' AND temperature < 60\".",
            metavar="SQL",
        ),
    ] = None,
) -> Source:
    """What to read and how, checked as far as it can be before reading."""
    _check_times(slot, tz, {"origin": origin, "start": start, "end": end})
    if origin and not time_unit:
        raise typer.BadParameter("--origin needs --time-unit: d, h, min, s")
    reading = {
        "node": node,
        "time": None if not time else time[0] if len(time) == 1 else tuple(time),
        "time_unit": time_unit and time_unit.value,
        "origin": origin,
        "start": start,
        "end": end,
        "columns": columns.split(",") if columns is not None else None,
        "value": value,
        "variable": variable,
        "conditions": condition or None,
        "missing": _codes(missing or ()),
        "tz": tz,
        "ambiguous": ambiguous and ambiguous.value,
        "dates": dates and dates.value,
        "on_duplicate": on_duplicate and on_duplicate.value,
        "salvage": salvage,
        "encoding": encoding,
        "locations": locations,
        "table": table,
        "query": query,
        "where": where,
    }
    check_there([*files, *([locations] if locations else [])])
    return Source(files, slot, slot_value.value, reading, _kinds(kind or ()), _units(units or ()))


def _codes(given: Sequence[str]) -> Sequence[str] | dict[str, list[str]]:
    """Values for "no reading"; by condition, if one is named."""
    if not any("=" in text for text in given):
        return given
    codes: dict[str, list[str]] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        codes.setdefault(name, []).append(value)
    return codes


def _units(given: Sequence[str]) -> dict[str, str]:
    """``t=degC`` → {"t": "degC"}."""
    units: dict[str, str] = {}
    for text in given:
        name, _, unit = text.rpartition("=")
        if not name or not unit:
            raise typer.BadParameter(f"--units {text!r} is not NAME=UNIT, such as t=degC")
        units[name] = unit
    return units


def _kinds(given: Sequence[str]) -> dict[str, str]:
    """``dd=circular`` → {"dd": "circular"}, checked."""
    if not given:
        return {}
    from fieldmend.errors import InputError
    from fieldmend.quantities import check_kinds

    kinds: dict[str, str] = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if not name:
            raise typer.BadParameter(f"--kind {text!r} is not NAME=KIND, such as dd=circular")
        kinds[name] = kind
    try:
        check_kinds(kinds)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    return kinds


def _check_times(slot: str | None, tz: str | None, moments: Mapping[str, str | None]) -> None:
    from fieldmend.errors import InputError
    from fieldmend.records.gridding.slotting import microseconds
    from fieldmend.records.table.parts import ORIGINS, moment_of

    for option, moment in moments.items():
        try:
            if moment and not (option == "origin" and moment in ORIGINS):
                moment_of(moment, f"--{option}")
        except InputError as error:
            raise typer.BadParameter(str(error)) from error

    if slot is not None:
        try:
            microseconds(slot)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error
    if tz is not None:
        _check_zone(tz)


def _check_zone(tz: str) -> None:
    import zoneinfo

    from fieldmend.errors import InputError
    from fieldmend.records.table.abbreviations import minutes, parted

    try:
        zone, _ = parted(tz)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    if zone is None or minutes(zone) is not None:
        return
    tz = zone
    try:
        zoneinfo.ZoneInfo(tz)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        like = _similar(tz, sorted(zoneinfo.available_timezones()))
        raise typer.BadParameter(f"there is no time zone {tz!r}{like}") from error


def check_there(files: Sequence[str]) -> None:
    """Refuse files that are not there before anything is read, with names that look like them."""
    import glob
    from pathlib import Path

    from fieldmend.errors import InputError

    for file in files:
        if file == "-" or is_address(file):
            continue
        path = Path(file)
        try:
            if path.exists() or (glob.has_magic(file) and glob.glob(file, recursive=True)):
                continue
            beside = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        except (OSError, ValueError):  # a name that no file system takes, a folder closed to us
            beside = []
        raise InputError("there is no such file", file=file, hint=_hint(path, beside))


def _hint(path: Any, beside: list[str]) -> str:
    if not path.parent.is_dir():
        return "Its folder is not there either"
    found = _similar(path.name, beside)
    return f"Look at its name{found}" if found else "Look at its name and folder"


def _similar(name: str, names: Sequence[str]) -> str:
    import difflib

    found = difflib.get_close_matches(name, names, n=3)
    return f"; there is {', '.join(found)}" if found else ""


def takes_source(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the files and options of `source`; it gets them as one `Source`, first."""
    own = inspect.signature(command, eval_str=True)
    shared = inspect.signature(source, eval_str=True)

    @functools.wraps(command)
    def wrapped(ctx: typer.Context, **given: Any) -> Any:
        what = source(**{name: given.pop(name) for name in shared.parameters})
        return command(replace(what, arguments=ctx.obj or ()), **given)

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    rest = [p for p in own.parameters.values() if p.name != "what"]
    parameters = [context, *shared.parameters.values(), *rest]
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped
