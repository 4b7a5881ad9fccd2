"""After loading: time zones that agree, clocks that went wrong, rows that came twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.gridding.filling import Frame, stretches
from fieldmend.records.gridding.ordering import repeated
from fieldmend.records.sources.stage import one
from fieldmend.records.table import clock
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

ON_DUPLICATE = ("mean", "first", "last", "error")
Where = Callable[[Sequence[int]], list[str]]
"""Row ids of `r` → "file, line n" for messages."""


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
            else "times have no zone: read as UTC (name another with tz=)"
        )
    if clock.ZONED in seen:
        notes.append("times carry their zone")
    epochs = {kind: seen[kind][0] for kind in clock.EPOCH_WORDS if kind in seen}
    if epochs:
        said = " and ".join(f"{clock.EPOCH_WORDS[k]} ({n:,} rows)" for k, n in epochs.items())
        notes.append(f"times are epochs in {said}, told by magnitude")
    return notes


def set_clocks_aside(con: "duckdb.DuckDBPyConnection") -> list[str]:
    """Rows at 1970, 2036, 2106, … far from all others: a clock's fault, so they get `bad = 'c'`.

    They stay if they are the majority, which is worth a warning, or within the span of the others
    on either side.
    """
    odd = clock.odd_clock_sql("t")
    row = one(
        con,
        f"SELECT count(*) FILTER (WHERE {odd}), count(*) FILTER (WHERE NOT {odd}), "
        f"min(t) FILTER (WHERE NOT {odd}), max(t) FILTER (WHERE NOT {odd}) "
        "FROM r WHERE bad IS NULL",
    )
    if not row[0]:
        return []
    if row[1] < row[0]:
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


@dataclass(frozen=True)
class Twice:
    """What came twice."""

    rows: int = 0
    """Rows beyond the first of their node, time and variable."""
    differing: int = 0
    """Times at which the readings were not the same."""
    example: str = ""


def settle_duplicates(
    con: "duckdb.DuckDBPyConnection",
    width: int,
    on_duplicate: str,
    where: Where,
    *,
    kinds: int,
) -> Twice:
    """One row per node, time and variable: its rows in `r` get `bad = '='`, `extra` the result.

    Rows that complete each other (one brings the temperature, the other the humidity) are no
    duplicates and stay.
    """
    columns = [f"v{i}" for i in range(width)]
    sound = "(SELECT * FROM r WHERE bad IS NULL)"
    low, high = one(con, f"SELECT min(t), max(t) FROM {sound}")
    found = False
    for start, stop in stretches(con, sound, Frame(low, 1, high - low + 1, 0), 1):
        found |= _mark(con, columns, low + start, low + stop, kinds)
    return _resolve(con, columns, on_duplicate, where, long=kinds > 0) if found else Twice()


def _mark(
    con: "duckdb.DuckDBPyConnection", columns: Sequence[str], low: int, high: int, kinds: int
) -> bool:
    """What comes more than once in a stretch of time goes into `groups`; whether there is any."""
    series = f"CAST(id AS BIGINT) * {kinds} + kind_id" if kinds else "CAST(id AS BIGINT)"
    join = "JOIN kind_label USING (kind)" if kinds else ""
    keys = "node, kind, t" if kinds else "node, t"
    edges = {"low": low, "high": high}
    rows = con.execute(
        f"SELECT {series} AS series, t FROM r JOIN label USING (node) {join} "
        "WHERE bad IS NULL AND t >= $low AND t < $high",
        edges,
    ).fetchnumpy()
    found, t = repeated(np.asarray(rows["series"]), np.asarray(rows["t"]))
    if not len(t):
        return False
    con.register("again", {"series": found, "t": t})
    clash = " OR ".join(f"count({c}) > 1" for c in columns)
    differs = " OR ".join(f"count(DISTINCT {c}) > 1" for c in columns)
    nothing = " AND ".join(f"count({c}) = 0" for c in columns)
    con.execute(
        f"CREATE TABLE IF NOT EXISTS groups AS SELECT {keys}, 0 AS n, false AS differs, "
        "[rowid] AS ids FROM r LIMIT 0"
    )
    con.execute(
        f"INSERT INTO groups SELECT {keys}, count(*), ({differs}), min(row, 2) FROM ("
        f"SELECT *, r.rowid AS row, {series} AS series FROM r JOIN label USING (node) {join} "
        "WHERE bad IS NULL AND t >= $low AND t < $high) SEMI JOIN again USING (series, t) "
        f"GROUP BY {keys} HAVING ({clash}) OR ({nothing})",
        edges,
    )
    con.unregister("again")
    return True


def _resolve(
    con: "duckdb.DuckDBPyConnection",
    columns: Sequence[str],
    on_duplicate: str,
    where: Where,
    *,
    long: bool,
) -> Twice:
    found = one(con, "SELECT coalesce(sum(n - 1), 0), count(*) FILTER (WHERE differs) FROM groups")
    first = one(con, "SELECT ids, node, t FROM groups WHERE differs ORDER BY ids[1] LIMIT 1")
    example = ""
    if first:
        places = where(first[0])
        example = f"node {shown(first[1])} at {clock.stamped(first[2])}: {' and '.join(places)}"
        if on_duplicate == "error":
            raise InputError(
                f"{found[1]:,} times have readings that differ, first {example}",
                hint="Choose with on_duplicate= mean, first or last (--on-duplicate)",
            )
    taken = {
        # The mean of three equal readings need not be that reading to the last bit.
        "mean": "CASE WHEN min({c}) = max({c}) THEN min({c}) ELSE avg({c} ORDER BY {c}) END",
        "first": "first({c} ORDER BY r.rowid) FILTER (WHERE {c} IS NOT NULL)",
        "last": "last({c} ORDER BY r.rowid) FILTER (WHERE {c} IS NOT NULL)",
    }[on_duplicate if on_duplicate != "error" else "first"]
    values = ", ".join(f"{taken.format(c=c)} AS {c}" for c in columns)
    keys = "node, kind, t" if long else "node, t"
    con.execute("CREATE TABLE extra AS SELECT * EXCLUDE (bad) FROM r LIMIT 0")
    con.execute(
        f"INSERT INTO extra BY NAME SELECT {keys}, {values} "
        f"FROM r SEMI JOIN groups USING ({keys}) WHERE bad IS NULL GROUP BY {keys}"
    )
    same = " AND ".join(f"r.{key} = groups.{key}" for key in keys.split(", "))
    con.execute(f"UPDATE r SET bad = '=' FROM groups WHERE r.bad IS NULL AND {same}")
    con.execute("DROP TABLE groups")
    return Twice(int(found[0]), int(found[1]), example)
