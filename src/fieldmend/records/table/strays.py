"""Stamps far from all others: a clock's fault, though no year that unset clocks are known for.

One reading in 2034 among those of 2024 would stretch the grid tenfold. The rows of a campaign stay:
they are many. Set aside are few rows of a node, further off than twice what all others span.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fieldmend.records.sql import one
from fieldmend.records.table.clock import DAY, stamped

if TYPE_CHECKING:
    import duckdb

BINS = 4096
HOUR = 3_600_000_000
LEAST = 10  # rows that make a record from which others can be far
NEAR = 7 * DAY  # no gap up to this sets anything aside
FEW = 0.05  # of all rows
OF_A_NODE = 3  # rows that may be a clock's fault
RARE = 0.001  # of all rows: set aside at gaps that are unlike all others
UNLIKE = 20  # times the longest other gap


@dataclass(frozen=True)
class _Part:
    """Rows without a long gap between them."""

    first: int
    last: int
    rows: int


def set_aside(con: "duckdb.DuckDBPyConnection") -> list[str]:
    """Give stray rows `bad = 'c'`; what is to be said of them."""
    low, high, rows = one(con, "SELECT min(t), max(t), count(*) FROM r WHERE bad IS NULL")
    if not rows or rows <= LEAST or high - low <= NEAR:
        return []
    parts = _parts(con, low, high)
    start, stop = _core(parts, rows)
    core = sum(part.rows for part in parts[start:stop])
    tails = [part for part in (*parts[:start], *parts[stop:]) if _is_fault(con, part)]
    count = sum(part.rows for part in tails)
    if not tails or core < LEAST or core + count < rows or (count > FEW * rows and count > 1):
        return []
    for part in tails:
        con.execute(
            "UPDATE r SET bad = 'c' || chr(31) || CAST(t AS VARCHAR) WHERE bad IS NULL "
            "AND t BETWEEN $first AND $last",
            {"first": part.first, "last": part.last},
        )
    said = f"{count:,} rows lie" if count > 1 else "1 row lies"
    return [
        f"{said} far from all others, which go from {stamped(parts[start].first)} to "
        f"{stamped(parts[stop - 1].last)}: set aside as clock (first {stamped(tails[0].first)})"
    ]


def _parts(con: "duckdb.DuckDBPyConnection", low: int, high: int) -> list[_Part]:
    rows = con.execute(
        "SELECT min(t), max(t), count(*) FROM r WHERE bad IS NULL GROUP BY (t - $low) // $width "
        "ORDER BY 1",
        {"low": low, "width": max(HOUR, (high - low) // BINS + 1)},
    ).fetchall()
    parts = [_Part(*rows[0])]
    for first, last, n in rows[1:]:
        if first - parts[-1].last <= NEAR:
            parts[-1] = _Part(parts[-1].first, last, parts[-1].rows + n)
        else:
            parts.append(_Part(first, last, n))
    return parts


def _core(parts: list[_Part], rows: int) -> tuple[int, int]:
    """The heaviest part, and what lies near it; half open."""
    start = max(range(len(parts)), key=lambda i: parts[i].rows)
    stop, longest = start + 1, NEAR
    while start > 0 or stop < len(parts):
        span = parts[stop - 1].last - parts[start].first
        gaps = {}
        if start > 0:
            gaps[start - 1] = parts[start].first - parts[start - 1].last
        if stop < len(parts):
            gaps[stop] = parts[stop].first - parts[stop - 1].last
        near = min(gaps, key=lambda i: gaps[i])
        beyond = parts[: near + 1] if near < start else parts[near:]
        rare = sum(part.rows for part in beyond) <= RARE * rows
        if gaps[near] > 2 * span or (rare and gaps[near] > max(UNLIKE * longest, 180 * DAY)):
            return start, stop
        longest = max(longest, gaps[near])
        start, stop = min(start, near), max(stop, near + 1)
    return start, stop


def _is_fault(con: "duckdb.DuckDBPyConnection", part: _Part) -> bool:
    """Few rows of any node, or the first days of a year, where unset clocks start."""
    most = one(
        con,
        "SELECT max(n) FROM (SELECT count(*) AS n FROM r WHERE bad IS NULL "
        "AND t BETWEEN $first AND $last GROUP BY node)",
        {"first": part.first, "last": part.last},
    )[0]
    if most <= OF_A_NODE:
        return True
    new_year = one(
        con,
        "SELECT epoch_us(date_trunc('year', make_timestamp($t)))",
        {"t": part.first},
    )[0]
    return bool(part.last < new_year + 2 * DAY)
