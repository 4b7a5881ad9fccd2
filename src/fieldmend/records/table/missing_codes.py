"""Values that look like codes for "no reading": listed for the user to declare, never removed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.quantities.standing import Standing, standing, usual_value
from fieldmend.records.sql import one
from fieldmend.text import counted, shown

if TYPE_CHECKING:
    import duckdb

CODES = (-9999.0, -9999.9, -999.0, -999.9, -99.0, -99.9, -127.0, 0.0, 85.0, 99.0, 127.0, 255.0,
         999.0, 999.9, 9999.0, 32767.0, -32768.0, 65535.0, 99999.0, -1.0)  # fmt: skip
LEAST = 3  # readings of a known code that make it a suspect
CROWD = 5  # times as many as there are readings near it
AT_ONCE = 1_000_000  # rows that are fetched and looked at here: a query a column is dear
CELLS = 8_000_000  # of them, a group of columns at a time
SAMPLE = 300_000  # readings looked at for codes that are not in the list, of whole nodes


@dataclass(frozen=True)
class Column:
    """Where the readings of a condition stand: `value` and `node` of a relation, and which rows."""

    name: str
    relation: str
    value: str
    node: str
    where: str = ""
    params: dict[str, Any] = field(default_factory=dict)


def find(
    con: "duckdb.DuckDBPyConnection",
    names: Sequence[str],
    conditions: Sequence[str],
    *,
    long: bool,
    matrix: bool,
) -> Iterator[str]:
    """Sentences such as "temperature: exactly 85.0 in 412 readings of 3 nodes (--missing 85)".

    A code stands out: a known one comes at least three times, and five times as often as all other
    values within 1 % (at least 1) of it; for any other value see `quantities.standing`. A value
    that is usual for the quantity is none: rain of 0.0, a humidity of 100.
    """
    if matrix:
        cells = ", ".join(f"v{i}" for i in range(len(names)))
        relation = (
            f"(SELECT t, unnest([{cells}]) AS v, unnest(range({len(names)})) AS node FROM used)"
        )
        yield from _of(con, Column("", relation, "v", "node"))
        return
    if not long and one(con, "SELECT count(*) FROM used")[0] <= AT_ONCE:
        yield from _together(con, conditions)
        return
    for i, name in enumerate(conditions):
        if long:
            yield from _of(con, Column(name, "used", "v0", "node", "kind = $kind", {"kind": name}))
        else:
            yield from _of(con, Column(name, "used", f"v{i}", "node"))


def _of(con: "duckdb.DuckDBPyConnection", column: Column) -> Iterator[str]:
    said = f"{shown(column.name)}: " if column.name else ""
    values, nodes = _sample(con, column)
    found = {one.value: one for one in standing(column.name, values, nodes)}
    listed = ", ".join(repr(code) for code in (*CODES, *found))
    rows = con.execute(
        f"SELECT {column.value}, count(*), count(DISTINCT {column.node}) FROM {column.relation} "
        f"WHERE {column.value} IN ({listed}){_and(column)} GROUP BY 1 "
        f"HAVING count(*) >= {LEAST} ORDER BY 1",
        column.params,
    ).fetchall()
    for code, count, owners in rows:
        if code in found or _apart(con, column, code, count, values):
            how = found.get(code, Standing(code)).words
            many = f"{count:,} readings of {counted(owners, 'node')}"
            yield f"{said}exactly {_plain(code)} in {many}{how} (--missing {_typed(code)})"


def _together(con: "duckdb.DuckDBPyConnection", conditions: Sequence[str]) -> Iterator[str]:
    """The same of all conditions of a table that is not long, fetched once."""
    rows = int(one(con, "SELECT count(*) FROM used")[0])
    size = max(1, CELLS // max(rows, 1))
    for start in range(0, len(conditions), size):
        names = conditions[start : start + size]
        cells = ", ".join(f"v{start + i} AS v{i}" for i in range(len(names)))
        found = con.execute(
            f"SELECT hash(node) AS h, {cells} FROM used ORDER BY node, t"
        ).fetchnumpy()
        # Names would come as half a million objects; their hashes change where they do.
        hashed = np.asarray(found["h"])
        node = np.cumsum(np.append(False, hashed[1:] != hashed[:-1])) if rows else np.empty(0, int)
        for i, condition in enumerate(names):
            column = np.ma.asarray(found[f"v{i}"])
            heard = ~np.ma.getmaskarray(column)
            values = column.data[heard].astype(np.float64)
            yield from _looked_at(condition, values, node[heard], hashed[heard])


def _looked_at(name: str, values: Any, nodes: Any, hashed: Any) -> Iterator[str]:
    said = f"{shown(name)}: " if name else ""
    sampled, owners = values, nodes
    if len(values):
        each = min(max(1, -(-len(values) // SAMPLE)), int(_numbered(nodes)[-1]) + 1)
        some = np.flatnonzero(hashed % np.uint64(each) == 0)[: 2 * SAMPLE]
        sampled, owners = values[some], _numbered(nodes[some])
    found = {one.value: one for one in standing(name, sampled, owners)}
    for code in sorted({*CODES, *found}):
        there = values == code
        count = int(np.count_nonzero(there))
        if count >= LEAST and (code in found or _stands_apart(name, code, count, values, sampled)):
            how = found.get(code, Standing(code)).words
            many = f"{count:,} readings of {counted(len(np.unique(nodes[there])), 'node')}"
            yield f"{said}exactly {_plain(code)} in {many}{how} (--missing {_typed(code)})"


def _numbered(nodes: Any) -> Any:
    """Nodes by their order, from 0, of rows in which each has all of its own in one piece."""
    return np.cumsum(np.append(False, nodes[1:] != nodes[:-1])) if len(nodes) else nodes


def _stands_apart(name: str, code: float, count: int, values: Any, sampled: Any) -> bool:
    if usual_value(name, code, sampled):
        return False
    reach = max(1, abs(code) / 100)
    near = np.count_nonzero((values >= code - reach) & (values <= code + reach))
    return bool(count >= CROWD * (near - count))


def _plain(code: float) -> str:
    """As the file means it: a number of single precision without the digits it does not have."""
    single = np.float32(code)
    return str(single) if float(single) == code else str(code)


def _typed(code: float) -> str:
    """As short as it may be typed; the reader finds -0.1 in single precision too."""
    text = _plain(code)
    return f"{code:g}" if f"{code:g}" != text and float(f"{code:g}") == float(text) else text


def _and(column: Column) -> str:
    return f" AND {column.where}" if column.where else ""


def _apart(
    con: "duckdb.DuckDBPyConnection", column: Column, code: float, count: int, values: Any
) -> bool:
    """Whether a known code stands apart from the readings, and is not usual here."""
    if usual_value(column.name, code, values):
        return False
    reach = max(1, abs(code) / 100)
    near = one(
        con,
        f"SELECT count(*) FROM {column.relation} WHERE {column.value} BETWEEN $low AND $high"
        f"{_and(column)}",
        {"low": code - reach, "high": code + reach} | column.params,
    )
    return bool(count >= CROWD * (near[0] - count))


def _sample(con: "duckdb.DuckDBPyConnection", column: Column) -> tuple[Any, Any]:
    """Readings of some whole nodes, in order of time, and which node each is of."""
    where = f"WHERE {column.value} IS NOT NULL{_and(column)}"
    total, count = one(
        con,
        f"SELECT count(*), count(DISTINCT {column.node}) FROM {column.relation} {where}",
        column.params,
    )
    if not total:
        return np.empty(0), np.empty(0)
    each = max(1, -(-total // SAMPLE))  # of so many nodes one
    if each > count:
        each = count
    rows = con.execute(
        f"SELECT {column.value} AS v, {column.node} AS node FROM {column.relation} {where} "
        f"AND hash({column.node}) % {each} = 0 ORDER BY {column.node}, t LIMIT {2 * SAMPLE}",
        column.params,
    ).fetchnumpy()
    _, node = np.unique(np.asarray(rows["node"]), return_inverse=True)
    return np.ma.filled(rows["v"].astype(np.float64), np.nan), node
