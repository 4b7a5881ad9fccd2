"""Names of nodes, conditions and units, as the rows hold them; in SQL they become numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.table.columns import listing
from fieldmend.records.table.loading import Plan
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb


def label(con: "duckdb.DuckDBPyConnection", *, long: bool) -> tuple[list[str], list[str]]:
    """Nodes and variables of the sound rows, in order, numbered in `label` and `kind_label`."""
    nodes = sorted(_distinct(con, "node"), key=natural)
    _number(con, "label", "node", "id", nodes)
    kinds = sorted(_distinct(con, "kind")) if long else []
    if long:
        _number(con, "kind_label", "kind", "kind_id", kinds)
    return nodes, kinds


def _distinct(con: "duckdb.DuckDBPyConnection", column: str) -> list[str]:
    rows = con.execute(f"SELECT DISTINCT {column} FROM r WHERE bad IS NULL").fetchall()
    return [row[0] for row in rows]


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


def chosen(kinds: Sequence[str], wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The variables of long records that were asked for."""
    for name in wanted or ():
        if name not in kinds:
            raise InputError(
                f"no condition {shown(name)!r}; found: {listing(kinds)}",
                hint="Name one of these with conditions=",
            )
    return tuple(kinds if wanted is None else wanted)


def units_of(
    con: "duckdb.DuckDBPyConnection",
    plans: Sequence[Plan],
    conditions: Sequence[str],
    *,
    long: bool,
) -> dict[str, str]:
    """Condition → unit, from the sources' heads and from long records; one unit each."""
    found = [(name, unit) for plan in plans for name, unit in plan.stage.units.items()]
    if long:
        found += con.execute(
            "SELECT DISTINCT kind, unit FROM r WHERE bad IS NULL AND unit <> '' ORDER BY kind, unit"
        ).fetchall()
    units: dict[str, str] = {}
    for name, unit in found:
        if name in conditions and units.setdefault(name, unit) != unit:
            several = list(dict.fromkeys(u for n, u in found if n == name))
            raise InputError(
                f"{shown(name)} is given in {len(several)} units: {listing(several)}",
                hint="Bring it to one unit, or hand the parts in one after the other",
            )
    return units
