"""After loading: time zones that agree, and clocks that went wrong."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from fieldmend.errors import InputError
from fieldmend.records.sql import one
from fieldmend.records.table import abbreviations, clock, parts
from fieldmend.records.table.duplicates import Where
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb


def check_zones(
    con: "duckdb.DuckDBPyConnection", bases: Sequence[int], tz: str | None, where: Where
) -> list[str]:
    """Refuse naive stamps beside zoned ones; say how the time was written.

    `bases` holds the first row of each source in `r`.
    """
    rows = []
    for f, (low, high) in enumerate(pairwise([*bases, 2**62])):
        found = con.execute(
            f"SELECT stamp, count(*), min(rowid) FROM r WHERE rowid >= {low} AND rowid < {high} "
            "AND t IS NOT NULL AND (bad IS NULL OR bad[1] NOT IN ('t', 'c', 'h', 'j')) "
            "GROUP BY stamp ORDER BY stamp"
        ).fetchall()
        rows += [(f, *row) for row in found]
    seen: dict[int, tuple[int, int]] = {}
    for _, stamp, count, first in rows:
        n, earliest = seen.get(stamp, (0, first))
        seen[stamp] = (n + count, min(first, earliest))
    for f in {row[0] for row in rows}:
        kinds = {row[1]: row[3] for row in rows if row[0] == f}
        if clock.NAIVE in kinds and len(kinds) > 1:
            zoned = min(first for kind, first in kinds.items() if kind != clock.NAIVE)
            places = where([kinds[clock.NAIVE], zoned])
            raise InputError(
                f"stamps with and without a time zone are mixed: {places[0]} has none, "
                f"{places[1]} has one",
                hint="Write all of them with a zone (2024-01-31T12:00:00Z), or none",
            )
    if tz is None and clock.NAIVE in seen and len(seen) > 1:
        raise InputError(
            "one file has stamps with a time zone, another without",
            hint="Say in which zone the others are with tz= (--tz)",
        )
    return _said(seen, tz)


def _said(seen: dict[int, tuple[int, int]], tz: str | None) -> list[str]:
    notes = []
    if clock.NAIVE in seen:
        notes.append(
            f"times have no zone: read as {shown(tz)}"
            if tz
            else "times have no zone: read as UTC (name another with tz=, --tz)"
        )
    if clock.ZONED in seen:
        notes.append("times carry their zone")
    epochs = {kind: seen[kind][0] for kind in clock.EPOCH_WORDS if kind in seen}
    if epochs:
        said = " and ".join(f"{clock.EPOCH_WORDS[k]} ({n:,} rows)" for k, n in epochs.items())
        notes.append(f"times are epochs in {said}, told by magnitude")
    return notes


def refuse_several(con: "duckdb.DuckDBPyConnection", where: Where) -> None:
    """Refuse stamps with an abbreviation that means several zones."""
    rows = con.execute(
        "SELECT min(rowid), min(bad) FROM (SELECT rowid, bad, upper(regexp_extract(bad, "
        "'[A-Za-z]{2,5}$')) AS zone FROM r WHERE bad[1] = 't') WHERE zone <> '' "
        "GROUP BY zone ORDER BY 1"
    ).fetchall()
    if rows:
        places = where([row for row, _ in rows])
        texts = [bad.partition("\x1f")[2] for _, bad in rows]
        abbreviations.refuse_several(dict(zip(texts, places, strict=True)))


def set_aside_outside(con: "duckdb.DuckDBPyConnection", start: int | None, end: int | None) -> None:
    """Rows before `start` or from `end` on get `bad = 'o'`."""
    for edge, beyond in ((start, "t < $edge"), (end, "t >= $edge")):
        if edge is not None:
            con.execute(
                f"UPDATE r SET bad = 'o' || chr(31) WHERE bad IS NULL AND {beyond}", {"edge": edge}
            )


def edge(text: str | None, tz: str | None, option: str) -> int | None:
    """A moment that start= or end= names, in µs; local time if `tz` is given and it has no zone."""
    if text is None:
        return None
    moment, zoned = parts.moment_of(text, option)
    if zoned or tz is None:
        return moment
    for stretch in reversed(clock.stretches(tz, "earlier")):
        if moment >= stretch.start:
            return moment - stretch.shift
    return moment


def refuse_counts(con: "duckdb.DuckDBPyConnection", file: str) -> None:
    """Refuse numbers that would all lie in 1970: hours, days or Excel's dates, not seconds."""
    row = one(
        con,
        f"SELECT count(*), count(*) FILTER (WHERE stamp = {clock.SECONDS} "
        f"AND t BETWEEN 0 AND {clock.micros(clock.EARLIEST)}), min(t), max(t) "
        "FROM r WHERE bad IS NULL AND t IS NOT NULL",
    )
    if not row[0] or row[1] < row[0]:
        return
    low, high = (f"{t / 1e6:.6f}".rstrip("0").rstrip(".") for t in row[2:])
    option = parts.likely([low, high])
    raise InputError(
        f"times are numbers from {low} to {high}: as seconds since 1970 all of them would lie in "
        "that year",
        file=file,
        hint=f"They look like days: {option}"
        if option
        else "Say what they count: --time-unit h --origin 2024-01-31; for seconds since 1970, "
        "--time-unit s",
    )


RUNNING = 2 * 365 * clock.DAY  # times that were never set do not run on for so long


def set_clocks_aside(con: "duckdb.DuckDBPyConnection") -> list[str]:
    """Rows at 1970, 2036, 2106, … far from all others: a clock's fault, so they get `bad = 'c'`.

    They stay if they are the majority, which is worth a warning unless they run on for years (a
    record of the sixties), or within the span of the others on either side.
    """
    odd = clock.odd_clock_sql("t")
    row = one(
        con,
        f"SELECT count(*) FILTER (WHERE {odd}), count(*) FILTER (WHERE NOT {odd}), "
        f"min(t) FILTER (WHERE NOT {odd}), max(t) FILTER (WHERE NOT {odd}), "
        f"max(t) FILTER (WHERE {odd}) - min(t) FILTER (WHERE {odd}) "
        "FROM r WHERE bad IS NULL",
    )
    if not row[0]:
        return []
    if row[1] < row[0]:
        if row[4] > RUNNING:
            return []
        return [
            f"{row[0]:,} of {row[0] + row[1]:,} times lie where unset clocks stand (1970, 1980, "
            "2000, from 2036 on): is it the right column, and a known unit of time?"
        ]
    margin = max(row[3] - row[2], 30 * clock.DAY)
    con.execute(
        f"UPDATE r SET bad = 'c' || chr(31) || CAST(t AS VARCHAR) WHERE bad IS NULL AND {odd} "
        "AND (t < $low OR t > $high)",
        {"low": row[2] - margin, "high": row[3] + margin},
    )
    return []
