"""Time: what the stamps look like, SQL that reads them, local time, clocks that went wrong.

Inside, time is int64 microseconds, UTC.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from types import MappingProxyType
from zoneinfo import ZoneInfo

from fieldmend.errors import InputError
from fieldmend.records.table import abbreviations, dates, months
from fieldmend.text import shown

DAY = 86_400_000_000
NAIVE, ZONED, SECONDS, MILLIS, MICROS, NANOS = range(6)  # what `stamp` says of a row
EPOCH_WORDS = {SECONDS: "seconds", MILLIS: "milliseconds", MICROS: "microseconds",
               NANOS: "nanoseconds"}  # fmt: skip

ISO = re.compile(r"\d{4,5}[-/]\d{1,2}[-/]\d{1,2}([T ]+\d.*)?")
BASIC = re.compile(r"\d{8}T\d{4,6}Z?")
EPOCH = re.compile(r"[+-]?\d{1,20}(\.\d*)?([eE]\+?\d+)?")
DOTS = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}\b.*")
SLASHES = re.compile(r"(\d{1,2})([/ -])(\d{1,2})\2\d{4}\b.*")
# 20240131, 202401311200, 20240131120000: as epochs they would lie in 1970, 1976 and 2611.
COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(\d{4}|\d{6})?")
# 2024013112: as an epoch it would lie in 2034.
HOURS = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-4])")
TWELVE = re.compile(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}[T ]+\d{1,2}(:\d\d(:\d\d)?\s*|[ -]?)[ap]\.?m\.?( .*)?",
    re.IGNORECASE,
)
STRETCH = re.compile(r"(\d\S*(?: [\d:]\S*)?)\s*(?: [-–—] | to | bis |/)\s*(\d{1,4}[-/.].*)")
POINTED = re.compile(r"[T ]\d{1,2}\.\d\d(\.\d\d)?$")  # 10/03/2004 18.00.00, as in Italy
NOON = re.compile(r"([apAP])\.\s?[mM]\.?")
MIDNIGHT = re.compile(r"[ T]24:00(:00([.,]0+)?)?([ Zz+-]|$)")  # the next day's 00:00
SHORT = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.]\d{2}\b(?!\d).*")

ORDINAL = re.compile(r"\d{4}-\d{3}[T ]\d\d:\d\d(:\d\d)?(\s*\S+)?")  # 2024-031T12:00
SAS = re.compile(r"\d\d[A-Z]{3}\d{4}:\d\d:\d\d(:\d\d)?", re.IGNORECASE)
CTIME = re.compile(r"[A-Z]{3} [A-Z]{3} +\d{1,2} \d\d:\d\d:\d\d \d{4}", re.IGNORECASE)
# Stamps as names of files and pictures have them, where a colon may not stand or stands too often.
MARKS = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d([.-])\d\d(\2\d\d)?|[_-]\d\d([.:-])\d\d(\4\d\d)?)"
    r"|\d{4}:\d\d:\d\d \d\d:\d\d(:\d\d)?|(19|20)\d\d\.[01]\d\.[0-3]\d( \d\d:\d\d(:\d\d)?)?"
)
# 20240131 1200, 20240131 12:00
DAY_AND_CLOCK = re.compile(r"(19|20)\d{6} ([01]\d|2[0-3])(:?[0-5]\d){1,2}")

# What a zone may be that DuckDB reads as fast as a Z, behind a stamp whose digits are underscores.
AHEAD = r"____-__-__[T ]__:__(:__(\.___(___)?)?)?([+-]__(:?__)?| UTC| GMT)"

KINDS = {"ordinal": ORDINAL, "sas": SAS, "ctime": CTIME, "marks": MARKS,
         "compact and time": DAY_AND_CLOCK, "basic": BASIC, "compact": COMPACT,
         "compact hours": HOURS, "epoch": EPOCH,
         "dots": DOTS, **months.ORDERS, "twelve hours": TWELVE,
         "iso": ISO, "short": SHORT}  # fmt: skip

_MARKED = tuple(
    f"%Y-%m-%d{between}{mark.join(parts)}"
    for between in " T_-"
    for mark in ".:-"
    for parts in (("%H", "%M", "%S"), ("%H", "%M"))
)
_HOURS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %H:%M:%S,%f", " %I:%M %p", " %I:%M:%S %p",
          " %I %p")  # fmt: skip
FORMATS = {
    "ordinal": ("%Y-%jT%H:%M:%S", "%Y-%jT%H:%M", "%Y-%j %H:%M:%S", "%Y-%j %H:%M"),
    "sas": ("%d%b%Y:%H:%M:%S", "%d%b%Y:%H:%M"),
    "ctime": ("%a %b %d %H:%M:%S %Y",),
    "marks": (
        *_MARKED,
        "%Y:%m:%d %H:%M:%S",
        "%Y:%m:%d %H:%M",
        "%Y.%m.%d %H:%M:%S",
        "%Y.%m.%d %H:%M",
        "%Y.%m.%d",
    ),
    "basic": ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%dT%H%MZ", "%Y%m%dT%H%M"),
    "compact": ("%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S"),
    **dict.fromkeys(months.ORDERS, tuple("%Y-%m-%d" + hours for hours in _HOURS)),
    "twelve hours": tuple(
        d + hours
        for d in ("%Y-%m-%d", "%Y/%m/%d")
        for hours in (" %I:%M %p", " %I:%M:%S %p", " %I-%p", " %I %p", " %I%p")
    ),
    "dots": tuple("%d.%m.%Y" + hours for hours in _HOURS),
    **{
        f"{words}, short": tuple(mark.join(date) + hours for mark in "/.-" for hours in _HOURS)
        for words, date in (
            ("day first", ("%d", "%m", "%y")),
            ("month first", ("%m", "%d", "%y")),
            ("year first", ("%y", "%m", "%d")),
        )
    },
    "compact hours": ("%Y%m%d%H",),
    "compact and time": (
        "%Y%m%d %H%M",
        "%Y%m%d %H%M%S",
        "%Y%m%d %H:%M",
        "%Y%m%d %H:%M:%S",
    ),
    "day first": tuple(f"%d{mark}%m{mark}%Y" + hours for mark in "/- " for hours in _HOURS),
    "month first": tuple(f"%m{mark}%d{mark}%Y" + hours for mark in "/- " for hours in _HOURS),
}

WHICH_ORDER = (
    "Say which comes first with dates='dmy' (--dates dmy: day, month, year) or 'mdy'; 'ymd' for "
    "24-01-31"
)


def kind_of(cells: Sequence[str], file: str, order: str = "") -> str:
    """How the stamps are written: `iso`, `epoch`, or one of FORMATS; the majority says.

    `order`: of day, month and year, as the user or the header says it.
    """
    votes: Counter[str] = Counter()
    first = second = 0
    for cell in cells:
        text = cell.strip()
        slashes = SLASHES.fullmatch(text)
        if slashes:
            votes["slashes"] += 1
            first, second = max(first, int(slashes[1])), max(second, int(slashes[3]))
            continue
        votes[next((kind for kind, rule in KINDS.items() if rule.fullmatch(text)), "")] += 1
    del votes[""]
    kind = votes.most_common(1)[0][0] if votes else "iso"
    if kind not in ("slashes", "short"):
        return kind
    order = order or dates.order_of(cells)
    if kind == "short":
        if not order:
            raise InputError(
                f"the year has two digits in {shown(cells[0])!r}", file=file, hint=WHICH_ORDER
            )
        return f"{dates.ORDERS[order]}, short"
    if (first > 12) != (second > 12):
        return "day first" if first > 12 else "month first"
    if order not in ("dmy", "mdy"):
        raise InputError(
            f"day and month cannot be told apart in {shown(cells[0])!r}",
            file=file,
            hint=WHICH_ORDER,
        )
    return dates.ORDERS[order]


def text_sql(
    kind: str,
    cell: str,
    sampled: Sequence[str] = (),
    meanings: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, str]:
    """SQL for microseconds and for `stamp`, from a text cell that has been trimmed.

    `meanings`: what abbreviations of zones mean, beyond those that are known.
    """
    if kind == "epoch":
        number = f"TRY_CAST({cell} AS DOUBLE)"
        whole = f"TRY_CAST({cell} AS HUGEINT)"
        return _epoch_sql(number, f"CASE WHEN contains({cell}, '.') THEN NULL ELSE {whole} END")
    if kind == "iso":
        return _iso_sql(cell, shape_of(sampled), meanings)
    formats = ", ".join(f"'{f}'" for f in FORMATS[kind])
    if kind in ("basic", "compact", "compact hours", "compact and time", "sas", "ctime", "marks"):
        stamp = f"CASE WHEN suffix({cell}, 'Z') THEN {ZONED} ELSE {NAIVE} END"
        return f"epoch_us(TRY_STRPTIME({cell}, [{formats}]))", stamp
    zone = abbreviations.zone_sql(cell)
    bare = f"trim(left({cell}, length({cell}) - length({zone})))"
    written = months.iso_sql(kind, bare) if kind in months.ORDERS else bare
    micros = f"epoch_us(TRY_STRPTIME({written}, [{formats}]))"
    shift = abbreviations.shift_sql(zone, meanings)
    stamp = f"CASE WHEN {zone} <> '' THEN {ZONED} ELSE {NAIVE} END"
    return f"{micros} - ({shift})", stamp


def shape_of(cells: Sequence[str]) -> str:
    """The commonest shape of ISO stamps, as a pattern for LIKE; empty if it has none.

    Examples
    --------
    >>> shape_of(["2024-01-31T12:00:00Z", "2024-01-31T12:10:00Z"])
    '____-__-__T__:__:__Z'
    >>> shape_of(["2024-01-31 12:00:00+01:00"])
    '____-__-__ __:__:__+__:__'
    """
    shapes = Counter(re.sub(r"[0-9]", "_", re.sub(r"\.\d+$", ".%", cell)) for cell in cells)
    best = shapes.most_common(1)[0][0] if shapes else ""
    pattern = r"____[-/]__[-/]__[T ]__:__(:__((\.___(___)?)?Z)?|:__\.%)?Z?"
    return best if re.fullmatch(f"{pattern}|{AHEAD}", best) else ""


def _iso_sql(cell: str, shape: str, meanings: Mapping[str, str]) -> tuple[str, str]:
    """Stamps of the usual shape by the fast way, all others by the careful one."""
    # Ends with a letter, or has a sign after the hours. The cast to TIMESTAMP drops a zone.
    zoned = (
        f"(NOT right({cell}, 1) BETWEEN '0' AND '9' OR contains({cell}, '+') "
        f"OR {cell} LIKE '%:%-%')"
    )
    naive = f"epoch_us(TRY_CAST({cell} AS TIMESTAMP))"
    # "00:00:00,5" is a fraction too, and z is Z; DuckDB takes "01/02/24" for a day in the year 1.
    odd = f"replace({cell}, ',', '.')"
    odd = f"CASE WHEN suffix({odd}, 'z') THEN upper({odd}) ELSE {odd} END"
    micros = (
        f"CASE WHEN regexp_matches({cell}, '^[0-9]{{4}}') THEN CASE WHEN {zoned} "
        f"THEN {_zoned_sql(cell, odd, meanings)} "
        f"ELSE epoch_us(TRY_CAST({odd} AS TIMESTAMP)) END END"
    )
    stamp = f"CASE WHEN {zoned} THEN {ZONED} ELSE {NAIVE} END"
    if not shape:
        return micros, stamp
    usual = f"{cell} LIKE '{shape}'"
    if re.fullmatch(AHEAD, shape):
        ahead = f"coalesce(epoch_us(TRY_CAST({cell} AS TIMESTAMPTZ)), {micros})"
        return (
            f"CASE WHEN {usual} THEN {ahead} ELSE {micros} END",
            f"CASE WHEN {usual} THEN {ZONED} ELSE {stamp} END",
        )
    code = ZONED if shape.endswith("Z") else NAIVE
    if code == NAIVE:  # "…:5Z" has the shape of "…:05", and ".%" may hold a zone
        usual += f" AND NOT {zoned if '%' in shape else f'suffix({cell}, {chr(39)}Z{chr(39)})'}"
    return (
        f"CASE WHEN {usual} THEN {naive} ELSE {micros} END",
        f"CASE WHEN {usual} THEN {code} ELSE {stamp} END",
    )


def _zoned_sql(cell: str, odd: str, meanings: Mapping[str, str]) -> str:
    """Stamps with something behind the hours; names such as Europe/Berlin are left to DuckDB."""
    bare = f"upper(replace(trim(left({cell}, length({cell}) - length(z))), ',', '.'))"
    shift = abbreviations.shift_sql("z", meanings)
    return abbreviations.once(
        abbreviations.zone_sql(cell),
        "z",
        f"CASE WHEN z <> '' THEN epoch_us(TRY_CAST({bare} AS TIMESTAMP)) - ({shift}) "
        f"WHEN regexp_matches({cell}, '[A-Za-z]/[A-Za-z]|[0-9][+-][0-9:]+$') "
        f"THEN epoch_us(TRY_CAST({odd} AS TIMESTAMPTZ)) END",
    )


def number_sql(cell: str) -> tuple[str, str]:
    """The same for a column of numbers: an epoch."""
    return _epoch_sql(f"CAST({cell} AS DOUBLE)", f"CAST({cell} AS HUGEINT)")


def _epoch_sql(number: str, whole: str) -> tuple[str, str]:
    """Seconds, ms, µs and ns are told apart by magnitude: 1973 to 5138 in each is apart."""
    stamp = (
        f"CASE WHEN abs({number}) < 1e11 THEN {SECONDS} WHEN abs({number}) < 1e14 THEN {MILLIS} "
        f"WHEN abs({number}) < 1e17 THEN {MICROS} ELSE {NANOS} END"
    )
    micros = (
        f"CASE WHEN NOT isfinite({number}) OR abs({number}) >= 9e18 THEN NULL "
        f"WHEN abs({number}) < 1e11 THEN CAST(round({number} * 1e6) AS BIGINT) "
        f"WHEN abs({number}) < 1e14 THEN CAST(round({number} * 1e3) AS BIGINT) "
        f"WHEN abs({number}) < 1e17 THEN CAST(coalesce({whole}, round({number})) AS BIGINT) "
        f"ELSE CAST(coalesce({whole} // 1000, round({number} / 1e3)) AS BIGINT) END"
    )
    return micros, stamp


@dataclass(frozen=True)
class Stretch:
    """A stretch of local time: from `start` (µs, local) on, UTC = local − shift."""

    start: int
    shift: int
    doubtful: bool


def stretches(tz: str, ambiguous: str | None) -> list[Stretch]:
    """Local time of a zone, 1900 to 2120, cut where the offset changes.

    An hour that comes twice or never is a stretch of its own, doubtful unless `ambiguous` says
    which of the two instants is meant.
    """
    zone = zone_named(tz)
    out = [Stretch(-(2**62), _offset(zone, datetime(1900, 1, 1, tzinfo=UTC)), doubtful=False)]
    for moment, before, after in changes(zone):
        low, high = moment + min(before, after), moment + max(before, after)
        shift = min(before, after) if ambiguous == "later" else max(before, after)
        out.append(Stretch(low, shift, doubtful=ambiguous not in ("earlier", "later")))
        out.append(Stretch(high, after, doubtful=False))
    return out


def zone_named(tz: str) -> tzinfo:
    """The zone, or what to write instead."""
    minutes = abbreviations.minutes(tz)
    if minutes is not None:
        return timezone(timedelta(minutes=minutes))
    try:
        return ZoneInfo(tz)
    except (KeyError, ValueError, OSError) as error:
        raise InputError(
            f"no time zone {shown(tz)!r}", hint="Name one like Europe/Berlin, UTC or +05:30"
        ) from error


def _offset(zone: tzinfo, moment: datetime) -> int:
    delta = moment.astimezone(zone).utcoffset() or timedelta(0)
    return int(delta / timedelta(microseconds=1))


@cache
def changes(zone: tzinfo, first: int = 1900, last: int = 2119) -> list[tuple[int, int, int]]:
    """Instants (µs, UTC) at which the offset changes, with the offset before and after.

    Of the years `first` to `last`.
    """
    found = []
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    start, stop = datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC)
    step = timedelta(days=5)
    before = _offset(zone, start)
    while start < stop:
        after = _offset(zone, start + step)
        if after != before:
            low, high = start, start + step
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
            found.append((int((high - epoch) / timedelta(microseconds=1)), before, after))
            before = after
        start += step
    return found


# Where clocks stand that lost their battery, ran over, or were never set.
_UNSET = (datetime(1980, 1, 6, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC))
EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
LATEST = datetime(2036, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Microseconds since 1970, UTC."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def odd_clock_sql(t: str) -> str:
    """SQL: whether a time is one at which a broken clock may stand."""
    unset = " OR ".join(
        f"{t} BETWEEN {micros(moment)} AND {micros(moment) + 2 * DAY}" for moment in _UNSET
    )
    return f"({t} < {micros(EARLIEST)} OR {t} >= {micros(LATEST)} OR {unset})"


def stamped(t: int) -> str:
    """A time for people."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=t)
    except OverflowError:
        return f"{t} µs after 1970"
    return moment.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
