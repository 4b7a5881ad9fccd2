"""Where the nodes are: from a file of positions, or from the rows themselves."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.errors import InputError
from fieldmend.records.sources.cutting import STAMP
from fieldmend.records.sources.opening import stages
from fieldmend.records.sources.stage import Chosen, Stage
from fieldmend.records.table import parts
from fieldmend.records.table.cells import cells_of, no_reading
from fieldmend.records.table.loading import node_sql
from fieldmend.records.table.naming import clean
from fieldmend.records.table.roles import Roles
from fieldmend.records.table.stamps import holds_stamps
from fieldmend.records.vocabulary import NODE, PLACE, TIME, VALUE, first_of, listing
from fieldmend.text import counted, shown

if TYPE_CHECKING:
    import duckdb


FEWEST = 3  # rows of a file of positions whose nodes have a name that is not known
FAR = 0.02  # degrees, some two kilometres: more than a position is uncertain


def read_places(
    stage: Stage, con: "duckdb.DuckDBPyConnection"
) -> dict[str, dict[str, float]] | None:
    """Node → place of a source that holds positions and no readings; None if it is none."""
    names = [name.casefold() for name in clean(stage.names)[0]]
    node = first_of(NODE, names)
    node = _own_names(stage, names) if node is None else node
    found = {PLACE[name]: i for i, name in enumerate(names) if name in PLACE}
    if node is None or first_of(TIME, names) is not None or first_of(VALUE, names) is not None:
        return None
    if not ({"lat", "lon"} <= found.keys() or {"x", "y"} <= found.keys()):
        return None
    if any(holds_stamps(cells_of(i, stage.sample)) for i in range(len(names))):
        return None
    if parts.found(names):
        return None
    cells = ", ".join(f"TRY_CAST(CAST(c{i} AS VARCHAR) AS DOUBLE)" for i in found.values())
    sql = f"SELECT {node_sql(f'c{node}', stage.kinds[node])}, {cells} FROM "
    rows = []
    if stage.batches is None:
        rows = con.execute(sql + stage.relation, stage.params).fetchall()
        con.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    else:
        for batch in stage.batches:
            con.register("batch", {f"c{i}": column for i, column in enumerate(batch)})
            rows += con.execute(sql + "batch").fetchall()
            con.unregister("batch")
    return _known((row[0], _place(dict(zip(found, row[1:], strict=True)))) for row in rows)


def _own_names(stage: Stage, names: Sequence[str]) -> int | None:
    """The first column that names each row of a file of positions: city, building_id."""
    if stage.layout is not None or len(stage.sample) < FEWEST:
        return None
    if any(
        no_reading(i, stage.sample) == "stamps" or any(map(STAMP.match, cells_of(i, stage.sample)))
        for i in range(len(names))
    ):
        return None
    for i, name in enumerate(names):
        cells = cells_of(i, stage.sample)
        if name not in PLACE and len(cells) == len(stage.sample) == len(set(cells)):
            return i
    return None


def _known(
    places: Iterable[tuple[str | None, dict[str, float]]],
) -> dict[str, dict[str, float]]:
    """Places of nodes with a name; half a position is none."""
    return {
        node: place
        for node, place in places
        if node and ({"lat", "lon"} <= place.keys() or {"x", "y"} <= place.keys())
    }


def given_places(
    locations: Any, con: "duckdb.DuckDBPyConnection", work: Path
) -> dict[str, dict[str, float]]:
    """Node → place of `locations`: a mapping, a file or a frame."""
    if isinstance(locations, Mapping):
        return _mapped(locations)
    found: dict[str, dict[str, float]] = {}
    for stage in stages(locations, Chosen(), con, work):
        places = read_places(stage, con)
        if places is None:
            raise InputError(
                f"it holds no positions; found: {listing(stage.names)}",
                file=stage.name,
                hint="Columns wanted: node, and lat, lon or x, y",
            )
        found |= places
    return found


def _mapped(locations: Mapping[Any, Any]) -> dict[str, dict[str, float]]:
    try:
        pairs = {str(n): {str(k): float(v) for k, v in p.items()} for n, p in locations.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"locations= cannot be used ({shown(error)})",
            hint='Write {"node": {"lat": 48.5, "lon": 9.2}}',
        ) from error
    return _known(pairs.items())


def row_places(
    con: "duckdb.DuckDBPyConnection", roles: Sequence[Roles]
) -> dict[str, dict[str, float]]:
    """Node → place, where the rows carry it: the middle of the range it was seen in."""
    keys = sorted({key for one in roles for key in one.places})
    if not keys:
        return {}
    cells = ", ".join(f"(min(p_{key}) + max(p_{key})) / 2" for key in keys)
    rows = con.execute(f"SELECT node, {cells} FROM r WHERE bad IS NULL GROUP BY node").fetchall()
    return _known((row[0], _place(dict(zip(keys, row[1:], strict=True)))) for row in rows)


def moving(con: "duckdb.DuckDBPyConnection", roles: Sequence[Roles]) -> list[str]:
    """A warning where rows have nodes at several places: buses, drifters, people."""
    keys = {key for one in roles for key in one.places}
    if not {"lat", "lon"} <= keys:
        return []
    far = f"max(p_lat) - min(p_lat) > {FAR} OR max(p_lon) - min(p_lon) > {FAR}"
    rows = con.execute(
        f"SELECT node FROM r WHERE bad IS NULL GROUP BY node HAVING {far} ORDER BY node"
    ).fetchall()
    if not rows:
        return []
    return [
        f"{counted(len(rows), 'node')} moved by over {FAR:g} degrees, such as {shown(rows[0][0])}: "
        "the middle of where it was is taken for its place"
    ]


def _place(cells: dict[str, float | None]) -> dict[str, float]:
    """Depth counts downwards, elevation upwards."""
    place = {
        key: float(value)
        for key, value in cells.items()
        if value is not None and math.isfinite(value)
    }
    if "depth" in place:
        place["elevation"] = -place.pop("depth")
    if "lat" in place and "z" in place:
        place["elevation"] = place.pop("z")
    return place
