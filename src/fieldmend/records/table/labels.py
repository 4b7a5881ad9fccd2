"""Names of nodes, conditions and units, as the rows hold them; in SQL they become numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.table.loading import Plan
from fieldmend.records.table.shapes import Shape
from fieldmend.records.vocabulary import listing
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb


def label(con: "duckdb.DuckDBPyConnection", shape: Shape) -> tuple[list[str], list[str]]:
    """Nodes and variables of the sound rows, in order, numbered in `label` and `kind_label`."""
    rows = con.execute("SELECT DISTINCT node FROM r WHERE bad IS NULL").fetchall()
    nodes = sorted((row[0] for row in rows), key=natural)
    _number(con, "label", "node", "id", nodes)
    kinds = shape.kinds(con)
    if kinds:
        _number(con, "kind_label", "kind", "kind_id", kinds)
    return nodes, kinds


def _number(
    con: "duckdb.DuckDBPyConnection", table: str, column: str, ids: str, names: Sequence[str]
) -> None:
    cells = np.empty(len(names), dtype=object)
    cells[:] = names
    con.register("given", {column: cells, ids: np.arange(len(names), dtype=np.int32)})
    con.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
    con.unregister("given")


def natural(name: str) -> tuple[int, int, str]:
    """Sort key: whole numbers by value and first, then names."""
    if name.isascii() and name.isdigit() and len(name) < 19:
        return (0, int(name), name)
    return (1, 0, name)


def units_of(
    con: "duckdb.DuckDBPyConnection",
    plans: Sequence[Plan],
    conditions: Sequence[str],
    shape: Shape,
) -> dict[str, str]:
    """Condition → unit, from the sources' heads and from long records; one unit each."""
    found = [(name, unit) for plan in plans for name, unit in plan.stage.units.items()]
    found += shape.units(con)
    units: dict[str, str] = {}
    for name, unit in found:
        if name in conditions and units.setdefault(name, unit) != unit:
            several = list(dict.fromkeys(u for n, u in found if n == name))
            raise InputError(
                f"{shown(name)} is given in {len(several)} units: {listing(several)}",
                hint="Bring it to one unit, or hand the parts in one after the other",
            )
    return units
