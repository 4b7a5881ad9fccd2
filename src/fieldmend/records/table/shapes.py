"""The shape of a source: records, long records or a ready matrix. All that depends on it is here.

The table `r` holds v0, v1, …: one per condition (records), one in all (long records, whose rows
name their condition in `kind`), or one per node (a ready matrix).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.sql import one
from fieldmend.records.vocabulary import listing
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

Array = np.ndarray[Any, np.dtype[Any]]
CELL = {"v": "number", "i": "number", "x": "censored"}
"""What the letters of lone cells mean; a number follows them: which v."""
STATE = "CASE WHEN bad IS NULL THEN 'used' WHEN bad = '=' THEN 'twice' ELSE 'row' END"
Part = tuple[str, Array | slice, Array, Array]


class Shape:
    """Records: node, time, one column per condition."""

    words = "records"
    column_is = "condition"
    """What a column of readings stands for."""
    keys: tuple[str, ...] = ("node", "t")
    """What tells two rows apart."""
    columns = ""
    """Of the table `r`, beyond those that all shapes have."""
    join = ""
    """To the numbers of the conditions, where rows name them."""

    def column(self, name: str) -> str:
        """What a column of readings is called in the account."""
        return name

    def series(self, kinds: int) -> str:
        """SQL for the number of the series that a row belongs to."""
        return "CAST(id AS BIGINT)"

    def labels(
        self,
        names: Sequence[str],
        nodes: Sequence[str],
        kinds: Sequence[str],
        wanted: Sequence[str] | None,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Nodes and conditions, from the columns' names, the rows' nodes and their kinds."""
        return tuple(nodes), tuple(names)

    def kinds(self, con: "duckdb.DuckDBPyConnection") -> list[str]:
        """The conditions that sound rows name, in order."""
        return []

    def units(self, con: "duckdb.DuckDBPyConnection") -> list[tuple[str, str]]:
        """Conditions with the units that rows name."""
        return []

    def counts(
        self, con: "duckdb.DuckDBPyConnection", names: Sequence[str], table: str = "used"
    ) -> dict[str, int]:
        """Readings in a table, per column or kind."""
        cells = ", ".join(f"count(v{i})" for i in range(len(names)))
        return dict(zip(names, one(con, f"SELECT {cells} FROM {table}"), strict=True))

    def counted_as(self, name: str) -> str:
        """The condition that a column or kind is counted under."""
        return name

    def cells(
        self, con: "duckdb.DuckDBPyConnection", names: Sequence[str]
    ) -> dict[str, Counter[str]]:
        """Readings by column or kind, and by what became of their rows."""
        picked = ", ".join(f"count(v{i})" for i in range(len(names)))
        rows = con.execute(f"SELECT {STATE} AS state, {picked} FROM r GROUP BY state").fetchall()
        return {
            name: Counter({state: counts[i] for state, *counts in rows})
            for i, name in enumerate(names)
        }

    def width(self, nodes: int, conditions: int) -> int:
        """How many of v0, v1, … there are."""
        return conditions

    def per_row(self, nodes: int) -> int:
        """How many readings of one condition a row may hold."""
        return 1

    def parts(
        self,
        found: Mapping[str, Array],
        base: Array,
        conditions: Sequence[str],
        kinds: Mapping[str, int],
    ) -> Iterator[Part]:
        """Per condition: the rows that have a reading of it, their cells, and the readings."""
        cell = base + found["id"]
        for i, name in enumerate(conditions):
            v = found[f"v{i}"]
            yield _there(name, ~np.isnan(v), cell, v)


class Long(Shape):
    """Long records: node, time, variable, value."""

    words = "long records"
    keys = ("node", "kind", "t")
    columns = "kind VARCHAR, unit VARCHAR, "
    join = " JOIN kind_label USING (kind)"

    def column(self, name: str) -> str:
        """All values stand in one column."""
        return "value"

    def series(self, kinds: int) -> str:
        """One per node and kind."""
        return f"CAST(id AS BIGINT) * {kinds} + kind_id"

    def labels(
        self,
        names: Sequence[str],
        nodes: Sequence[str],
        kinds: Sequence[str],
        wanted: Sequence[str] | None,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The conditions are the kinds that were asked for."""
        for name in wanted or ():
            if name not in kinds:
                raise InputError(
                    f"no condition {shown(name)!r}; found: {listing(kinds)}",
                    hint="Name one of these with conditions= (--condition)",
                )
        return tuple(nodes), tuple(kinds if wanted is None else wanted)

    def kinds(self, con: "duckdb.DuckDBPyConnection") -> list[str]:
        """As the rows name them."""
        rows = con.execute("SELECT DISTINCT kind FROM r WHERE bad IS NULL").fetchall()
        return sorted(row[0] for row in rows)

    def units(self, con: "duckdb.DuckDBPyConnection") -> list[tuple[str, str]]:
        """As the rows name them."""
        return con.execute(
            "SELECT DISTINCT kind, unit FROM r WHERE bad IS NULL AND unit <> '' ORDER BY kind, unit"
        ).fetchall()

    def counts(
        self, con: "duckdb.DuckDBPyConnection", names: Sequence[str], table: str = "used"
    ) -> dict[str, int]:
        """By kind."""
        return dict(con.execute(f"SELECT kind, count(v0) FROM {table} GROUP BY kind").fetchall())

    def cells(
        self, con: "duckdb.DuckDBPyConnection", names: Sequence[str]
    ) -> dict[str, Counter[str]]:
        """By kind; a row whose kind cannot be read is counted among the rows only."""
        out: dict[str, Counter[str]] = {}
        for kind, state, n, readings in con.execute(
            f"SELECT kind, {STATE} AS state, count(*), count(v0) FROM r "
            "WHERE kind IS NOT NULL AND kind <> '' GROUP BY kind, state"
        ).fetchall():
            out.setdefault(kind, Counter()).update({"read": n, state: readings})
        return out

    def width(self, nodes: int, conditions: int) -> int:
        """One column for all."""
        return 1

    def parts(
        self,
        found: Mapping[str, Array],
        base: Array,
        conditions: Sequence[str],
        kinds: Mapping[str, int],
    ) -> Iterator[Part]:
        """The rows of each kind."""
        cell, v = base + found["id"], found["v0"]
        for name in conditions:
            yield _there(name, ~np.isnan(v) & (found["kind_id"] == kinds[name]), cell, v)


class Matrix(Shape):
    """A ready matrix: time, then one column per node."""

    words = "a ready matrix"
    column_is = "node"

    def labels(
        self,
        names: Sequence[str],
        nodes: Sequence[str],
        kinds: Sequence[str],
        wanted: Sequence[str] | None,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns are the nodes, and their one condition has no name."""
        return tuple(names), ("value",)

    def counted_as(self, name: str) -> str:
        """One condition for all."""
        return "value"

    def width(self, nodes: int, conditions: int) -> int:
        """One column per node."""
        return nodes

    def per_row(self, nodes: int) -> int:
        """One of each node."""
        return nodes

    def parts(
        self,
        found: Mapping[str, Array],
        base: Array,
        conditions: Sequence[str],
        kinds: Mapping[str, int],
    ) -> Iterator[Part]:
        """The one condition, from every column."""
        width = sum(name[0] == "v" for name in found)
        readings = np.stack([found[f"v{i}"] for i in range(width)], axis=1)
        seen, node = np.nonzero(~np.isnan(readings))
        yield conditions[0], seen, base[seen] + node, readings[seen, node]


class Crossed(Matrix):
    """Time, then one column per node and condition."""

    words = "a matrix of nodes and conditions"
    column_is = "column"

    def __init__(self, cross: Mapping[str, tuple[str, str]]) -> None:
        self.cross = dict(cross)
        self.nodes = tuple(dict.fromkeys(node for node, _ in self.cross.values()))

    def labels(
        self,
        names: Sequence[str],
        nodes: Sequence[str],
        kinds: Sequence[str],
        wanted: Sequence[str] | None,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """As the columns' names have them."""
        there = tuple(dict.fromkeys(kind for _, kind in self.cross.values()))
        for name in wanted or ():
            if name not in there:
                raise InputError(
                    f"no condition {shown(name)!r}; found: {listing(there)}",
                    hint="Name one of these with conditions= (--condition)",
                )
        return self.nodes, there if wanted is None else tuple(wanted)

    def counted_as(self, name: str) -> str:
        """Its own."""
        return self.cross[name][1]

    def width(self, nodes: int, conditions: int) -> int:
        """One column per node and condition."""
        return len(self.cross)

    def parts(
        self,
        found: Mapping[str, Array],
        base: Array,
        conditions: Sequence[str],
        kinds: Mapping[str, int],
    ) -> Iterator[Part]:
        """Each condition, from its columns."""
        pairs = list(self.cross.values())
        for name in conditions:
            columns = [i for i, (_, kind) in enumerate(pairs) if kind == name]
            nodes = np.array([self.nodes.index(pairs[i][0]) for i in columns])
            readings = np.stack([found[f"v{i}"] for i in columns], axis=1)
            seen, at = np.nonzero(~np.isnan(readings))
            yield name, seen, base[seen] + nodes[at], readings[seen, at]


def merged(shapes: Sequence[Shape], names: Sequence[str]) -> Shape:
    """The shape of several sources that are of one kind, for v0, v1, … of these names."""
    crosses = [shape.cross for shape in shapes if isinstance(shape, Crossed)]
    if not crosses:
        return shapes[0]
    return Crossed({name: next(c[name] for c in crosses if name in c) for name in names})


def _there(name: str, there: Array, cell: Array, v: Array) -> Part:
    if there.all():
        return name, slice(None), cell, v
    seen = np.flatnonzero(there)
    return name, seen, cell[seen], v[seen]


RECORDS, LONG, MATRIX = Shape(), Long(), Matrix()
