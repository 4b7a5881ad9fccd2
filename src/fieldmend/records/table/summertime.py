"""Local times that do not say so: the hour that clocks skip is empty, or one comes twice.

Read as UTC, the skipped hour is an outage of the whole network, and is filled; readings of the hour
that comes twice are averaged. Both happen at moments that are known.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fieldmend.records.sql import one
from fieldmend.records.table import clock
from fieldmend.text import stretch

if TYPE_CHECKING:
    import duckdb

# One of those whose clocks change at the same local time; the offset is not told by that.
ZONES = (
    "Europe/Berlin", "Europe/London", "Europe/Athens", "America/New_York", "Australia/Sydney",
    "Pacific/Auckland",
)  # fmt: skip
HOUR = 3_600_000_000
AROUND = 6  # hours on either side that have readings, all of them
TWICE = 1.6  # times as many rows as about it
NAIVE = f"bad IS NULL AND stamp = {clock.NAIVE}"
YEARS = 60  # of a record; longer ones are not asked


def look(con: "duckdb.DuckDBPyConnection") -> list[str]:
    """A warning where rows of times without a zone look like those of a place with summer time."""
    low, high = one(con, f"SELECT min(t), max(t) FROM r WHERE {NAIVE}")
    if low is None or high - low > YEARS * 366 * clock.DAY:
        return []
    first, last = (datetime.fromtimestamp(t / 1e6, UTC).year for t in (low, high))
    for name in ZONES:
        for instant, before, after in clock.changes(clock.zone_named(name), first, last):
            begin, end = (instant + offset for offset in sorted((before, after)))
            if low <= begin - AROUND * HOUR and end + AROUND * HOUR <= high and end - begin == HOUR:
                said = _said(con, begin, name, skipped=after > before)
                if said:
                    return [said]
    return []


def _said(con: "duckdb.DuckDBPyConnection", begin: int, zone: str, *, skipped: bool) -> str:
    rows = con.execute(
        f"SELECT (t - $begin + $before) // $hour, count(*) FROM r WHERE {NAIVE} "
        "AND t >= $begin - $before AND t < $begin + $hour + $before GROUP BY 1",
        {"begin": begin, "before": AROUND * HOUR, "hour": HOUR},
    ).fetchall()
    count = dict(rows)
    own = count.pop(AROUND, 0)
    if len(count) < 2 * AROUND:
        return ""
    when = stretch(begin, begin + HOUR)
    if skipped and not own:
        return (
            f"no reading from {when}, an hour that clocks skip in {zone} and elsewhere: if times "
            f"are local, say so with tz= (--tz {zone}), or this hour is filled"
        )
    if (
        not skipped
        and own >= TWICE * sum(count.values()) / len(count)
        and own > max(count.values())
    ):
        return (
            f"twice as many readings from {when}, an hour that comes twice in {zone} and "
            f"elsewhere: if times are local, say so with tz= and ambiguous= (--tz {zone} "
            "--ambiguous missing), or those of one time are one"
        )
    return ""
