"""Values that look like codes for "no reading": listed for the user to declare, never removed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.quantities.standing import Standing, beside, off_scale, standing, usual_value
from fieldmend.records.sql import one
from fieldmend.text import counted, shown, typed

if TYPE_CHECKING:
    import duckdb

CODES = (-9999.0, -9999.9, -999.0, -999.9, -99.0, -99.9, -127.0, 0.0, 85.0, 99.0, 127.0, 255.0,
         999.0, 999.9, 9999.0, 32767.0, -32768.0, 65535.0, 99999.0, -1.0)  # fmt: skip
LEAST = 3  # readings of a known code that make it a suspect
CROWD = 5  # times as many as there are readings near it
AT_ONCE = 1_000_000  # rows that are fetched and looked at here: a query a column is dear
CELLS = 8_000_000  # of them, a group of columns at a time
MOST_ASKED = 200  # conditions that are asked for the codes of others
FEW = 6  # conditions named in a sentence
WHOLE = 1e15  # up to here a whole number is written out
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


@dataclass(frozen=True)
class Code:
    """A value that may stand for no reading in a condition."""

    name: str
    value: float
    count: int
    owners: int
    longest: int = 0


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
    values beside it; for any other value see `quantities.standing`. What is a code of one condition
    is one of others that cannot read it. A value that is usual for the quantity is none: rain of
    0.0, a humidity of 100. Where another condition reads a code, the option names the condition.
    """
    if matrix:
        cells = ", ".join(f"v{i}" for i in range(len(names)))
        relation = (
            f"(SELECT t, unnest([{cells}]) AS v, unnest(range({len(names)})) AS node FROM used)"
        )
        columns = [Column("", relation, "v", "node")]
    elif long:
        columns = [
            Column(name, "used", "v0", "node", "kind = $kind", {"kind": name})
            for name in conditions
        ]
    else:
        columns = [Column(name, "used", f"v{i}", "node") for i, name in enumerate(conditions)]
    if matrix or long or one(con, "SELECT count(*) FROM used")[0] > AT_ONCE:
        codes = [code for column in columns for code in _of(con, column)]
    else:
        codes = list(_together(con, conditions))
    codes, read_by = _of_others(con, columns, codes)
    yield from _sentences(codes, set() if long else read_by)


def _of_others(
    con: "duckdb.DuckDBPyConnection", columns: Sequence[Column], codes: list[Code]
) -> tuple[list[Code], set[float]]:
    """The codes with those that only other conditions show; which of them some condition reads."""
    listed = sorted({code.value for code in codes} - {0.0})  # what is 0 elsewhere may well be 0
    if len(columns) < 2 or len(columns) > MOST_ASKED or not listed:
        return codes, set()
    own = {(code.name, code.value) for code in codes}
    out, read_by = [], set()
    for column in columns:
        out += [code for code in codes if code.name == column.name]
        there = [one for one in _counts(con, column, listed) if (column.name, one[0]) not in own]
        rest = _rest(con, column, listed) if there else None
        for value, count, owners in there:
            if rest is not None and count >= LEAST and off_scale(column.name, value, rest):
                out.append(Code(column.name, value, count, owners))
            else:
                read_by.add(value)
    return out, read_by


def _rest(
    con: "duckdb.DuckDBPyConnection", column: Column, listed: Sequence[float]
) -> tuple[float, float, float, float]:
    """Lowest, 5 % and 95 % quantiles and highest of the readings that are no codes."""
    v, codes = column.value, ", ".join(map(repr, listed))
    row = one(
        con,
        f"SELECT min({v}), quantile_disc({v}, 0.05), quantile_disc({v}, 0.95), max({v}) "
        f"FROM {column.relation} WHERE {v} NOT IN ({codes}){_and(column)}",
        column.params,
    )
    if row[0] is None:
        return (math.inf, 0.0, 0.0, -math.inf)  # nothing but codes
    return (float(row[0]), float(row[1]), float(row[2]), float(row[3]))


def _sentences(codes: Sequence[Code], read_by: set[float]) -> Iterator[str]:
    """One for each code: conditions that have it are named together."""
    several = {
        value: [code for code in codes if code.value == value]
        for value in dict.fromkeys(code.value for code in codes)
    }
    for value, of in several.items():
        names = [code.name for code in of]
        said = f"{_listed(names)}: " if names[0] else ""
        count = sum(code.count for code in of)
        owners = max(code.owners for code in of)
        many = f"{count:,} readings of {counted(owners, 'node')}"
        how = Standing(value, max(code.longest for code in of)).words
        options = [typed(f"{name}={_typed(value)}") for name in names]
        option = " --missing ".join(options) if value in read_by else _typed(value)
        yield f"{said}exactly {_plain(value)} in {many}{how} (--missing {option})"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names[:FEW]) + (
        f" and {counted(len(names) - FEW, 'more condition')}" if len(names) > FEW else ""
    )


def _counts(
    con: "duckdb.DuckDBPyConnection", column: Column, listed: Sequence[float]
) -> list[tuple[float, int, int]]:
    """How often each of these values comes, and at how many nodes."""
    return con.execute(
        f"SELECT {column.value}, count(*), count(DISTINCT {column.node}) FROM {column.relation} "
        f"WHERE {column.value} IN ({', '.join(map(repr, listed))}){_and(column)} GROUP BY 1 "
        "ORDER BY 1",
        column.params,
    ).fetchall()


def _of(con: "duckdb.DuckDBPyConnection", column: Column) -> Iterator[Code]:
    values, nodes = _sample(con, column)
    found = {one.value: one for one in standing(column.name, values, nodes)}
    for value, count, owners in _counts(con, column, [*CODES, *found]):
        if count >= LEAST and (value in found or _apart(con, column, value, count, values)):
            yield Code(column.name, value, count, owners, _longest(found, value))


def _longest(found: Mapping[float, Standing], value: float) -> int:
    return found[value].longest if value in found else 0


def _together(con: "duckdb.DuckDBPyConnection", conditions: Sequence[str]) -> Iterator[Code]:
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


def _looked_at(name: str, values: Any, nodes: Any, hashed: Any) -> Iterator[Code]:
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
            yield Code(name, code, count, len(np.unique(nodes[there])), _longest(found, code))


def _numbered(nodes: Any) -> Any:
    """Nodes by their order, from 0, of rows in which each has all of its own in one piece."""
    return np.cumsum(np.append(False, nodes[1:] != nodes[:-1])) if len(nodes) else nodes


def _stands_apart(name: str, code: float, count: int, values: Any, sampled: Any) -> bool:
    if usual_value(name, code, sampled):
        return False
    reach = beside(code, sampled)
    near = np.count_nonzero((values >= code - reach) & (values <= code + reach))
    return bool(np.isfinite(reach) and count >= CROWD * (near - count))


def _plain(code: float) -> str:
    """As the file means it: a number of single precision without the digits it does not have."""
    single = np.float32(code)
    text = str(single) if float(single) == code else str(code)
    return f"{code:.0f}" if "e" in text and code == round(code) and abs(code) < WHOLE else text


def _typed(code: float) -> str:
    """As short as it may be typed; the reader finds -0.1 in single precision too."""
    text = _plain(code)
    short = f"{code:g}"
    return short if len(short) < len(text) and float(short) == float(text) else text


def _and(column: Column) -> str:
    return f" AND {column.where}" if column.where else ""


def _apart(
    con: "duckdb.DuckDBPyConnection", column: Column, code: float, count: int, values: Any
) -> bool:
    """Whether a known code stands apart from the readings, and is not usual here."""
    if usual_value(column.name, code, values):
        return False
    reach = beside(code, values)
    if not np.isfinite(reach):
        return False
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
