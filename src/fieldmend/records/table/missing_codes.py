"""Values that look like codes for "no reading": listed for the user to declare, never removed."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fieldmend.records.sql import one
from fieldmend.text import counted, shown

if TYPE_CHECKING:
    import duckdb

CODES = (-9999.0, -9999.9, -999.0, -999.9, -99.0, -99.9, -127.0, 0.0, 85.0, 99.0, 127.0, 255.0,
         999.0, 999.9, 9999.0, 32767.0, -32768.0, 65535.0, 99999.0, -1.0)  # fmt: skip
LEAST = 3  # readings of one value that make it a suspect
CROWD = 5  # times as many as there are readings near it


def find(
    con: "duckdb.DuckDBPyConnection",
    names: Sequence[str],
    conditions: Sequence[str],
    *,
    long: bool,
    matrix: bool,
) -> Iterator[str]:
    """Sentences such as "temperature: exactly 85.0 in 412 readings of 3 nodes".

    A code stands out: it comes at least three times, and five times as often as all other values
    within 1 % (at least 1) of it.
    """
    if matrix:
        yield from _matrix(con, names)
        return
    columns = [("v0", kind) for kind in conditions] if long else [
        (f"v{i}", None) for i in range(len(names))
    ]  # fmt: skip
    for (column, kind), name in zip(columns, conditions, strict=True):
        chosen = "" if kind is None else " AND kind = $kind"
        params = {} if kind is None else {"kind": kind}
        rows = con.execute(
            f"SELECT {column}, count(*), count(DISTINCT node) FROM used WHERE "
            f"{column} IN {CODES}{chosen} GROUP BY 1 HAVING count(*) >= {LEAST} "
            "ORDER BY 1",
            params,
        ).fetchall()
        for code, count, nodes in rows:
            near = one(
                con,
                f"SELECT count(*) FROM used WHERE {column} BETWEEN $low AND $high{chosen}",
                {"low": code - max(1, abs(code) / 100), "high": code + max(1, abs(code) / 100)}
                | ({} if kind is None else {"kind": kind}),
            )
            if count >= CROWD * (near[0] - count):
                owners = counted(nodes, "node")
                yield f"{shown(name)}: exactly {code} in {count:,} readings of {owners}"


def _matrix(con: "duckdb.DuckDBPyConnection", names: Sequence[str]) -> Iterator[str]:
    cells = ", ".join(f"v{i}" for i in range(len(names)))
    rows = con.execute(
        f"SELECT code, count(*), count(DISTINCT i) FROM (SELECT unnest([{cells}]) AS code, "
        f"unnest(range({len(names)})) AS i FROM used) "
        f"WHERE code IN {CODES} GROUP BY code HAVING count(*) >= {LEAST} ORDER BY code"
    ).fetchall()
    for code, count, nodes in rows:
        yield f"exactly {code} in {count:,} readings of {counted(nodes, 'node')}"
