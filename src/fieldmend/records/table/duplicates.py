"""After loading: rows that came twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.gridding.filling import Frame, stretches
from fieldmend.records.gridding.ordering import repeated
from fieldmend.records.sql import one
from fieldmend.records.table import clock
from fieldmend.records.table.shapes import Shape
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

CROWD = 1_000_000  # rows of one node at one time
ON_DUPLICATE = ("mean", "first", "last", "error")
Where = Callable[[Sequence[int]], list[str]]
"""Row ids of `r` → "file, line n" for messages."""


@dataclass(frozen=True)
class Twice:
    """What came twice."""

    rows: int = 0
    """Rows beyond the first of their node, time and variable."""
    differing: int = 0
    """Times at which the readings were not the same."""
    example: str = ""
    clashing: int = 0
    """Rows at such times."""


def settle(  # noqa: PLR0917 - one call, what it needs
    con: "duckdb.DuckDBPyConnection",
    width: int,
    on_duplicate: str,
    where: Where,
    shape: Shape,
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
        found |= _mark(con, columns, (low + start, low + stop), shape, kinds)
    return _resolve(con, columns, on_duplicate, where, shape) if found else Twice()


def _mark(
    con: "duckdb.DuckDBPyConnection",
    columns: Sequence[str],
    edges: tuple[int, int],
    shape: Shape,
    kinds: int,
) -> bool:
    """What comes more than once in a stretch of time goes into `groups`; whether there is any."""
    series, join, keys = shape.series(kinds), shape.join, ", ".join(shape.keys)
    between = {"low": edges[0], "high": edges[1]}
    rows = con.execute(
        f"SELECT {series} AS series, t FROM r JOIN label USING (node){join} "
        "WHERE bad IS NULL AND t >= $low AND t < $high",
        between,
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
        f"SELECT *, r.rowid AS row, {series} AS series FROM r JOIN label USING (node){join} "
        "WHERE bad IS NULL AND t >= $low AND t < $high) SEMI JOIN again USING (series, t) "
        f"GROUP BY {keys} HAVING ({clash}) OR ({nothing})",
        between,
    )
    con.unregister("again")
    return True


def _refuse_crowd(con: "duckdb.DuckDBPyConnection") -> None:
    """Millions of rows at one time are no readings that came twice; to join them takes memory."""
    most = one(con, "SELECT n, node, t FROM groups ORDER BY n DESC LIMIT 1")
    if most and most[0] > CROWD:
        raise InputError(
            f"{most[0]:,} rows of node {shown(most[1])} have one and the same time, "
            f"{clock.stamped(most[2])}; at most {CROWD:,} can be joined",
            hint="Name the column of the time with time= (--time), or of the node with node= "
            "(--node)",
        )


def _resolve(
    con: "duckdb.DuckDBPyConnection",
    columns: Sequence[str],
    on_duplicate: str,
    where: Where,
    shape: Shape,
) -> Twice:
    found = one(
        con,
        "SELECT coalesce(sum(n - 1), 0), count(*) FILTER (WHERE differs), "
        "coalesce(sum(n) FILTER (WHERE differs), 0) FROM groups",
    )
    _refuse_crowd(con)
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
        # The mean of three equal readings need not be that reading to the last bit; a sum may be
        # larger than a number can be, though its mean is not.
        "mean": "CASE WHEN min({c}) = max({c}) THEN min({c}) WHEN isfinite(avg({c})) "
        "THEN avg({c} ORDER BY {c}) ELSE avg({c} / 1073741824 ORDER BY {c}) * 1073741824 END",
        "first": "first({c} ORDER BY r.rowid) FILTER (WHERE {c} IS NOT NULL)",
        "last": "last({c} ORDER BY r.rowid) FILTER (WHERE {c} IS NOT NULL)",
    }[on_duplicate if on_duplicate != "error" else "first"]
    values = ", ".join(f"{taken.format(c=c)} AS {c}" for c in columns)
    keys = ", ".join(shape.keys)
    con.execute("CREATE TABLE extra AS SELECT * EXCLUDE (bad) FROM r LIMIT 0")
    con.execute(
        f"INSERT INTO extra BY NAME SELECT {keys}, {values} "
        f"FROM r SEMI JOIN groups USING ({keys}) WHERE bad IS NULL GROUP BY {keys}"
    )
    same = " AND ".join(f"r.{key} = groups.{key}" for key in shape.keys)
    con.execute(f"UPDATE r SET bad = '=' FROM groups WHERE r.bad IS NULL AND {same}")
    con.execute("DROP TABLE groups")
    return Twice(int(found[0]), int(found[1]), example, int(found[2]))
