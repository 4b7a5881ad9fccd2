"""Networks of many nodes: when they are recovered by regions, and which nodes a region has."""

from __future__ import annotations

import numpy as np

from fieldmend import geo
from fieldmend.field.regions import (
    CORE,
    HALO,
    MANY,
    PLACED,
    UNPLACED,
    Region,
    coordinates,
    cut,
)
from fieldmend.grid import Array, Grid, Origin
from fieldmend.recovery.solving import DECIDES
from fieldmend.result.options import Options


def many(grid: Grid, options: Options) -> bool:
    """Whether a network is recovered region by region."""
    placed = sum(node in (grid.places or {}) for node in grid.nodes)
    limit = MANY if placed >= PLACED * len(grid.nodes) else UNPLACED
    return len(grid.nodes) > limit and options.method in DECIDES


def regions(grid: Grid, name: str) -> list[Region]:
    """By place where places are known, else by likeness of the condition's series."""
    places = [None if grid.places is None else grid.places.get(node) for node in grid.nodes]
    X = grid.values[name]
    return cut(coordinates(X, ~np.isnan(X), geo.points(places)), CORE, HALO)


def among(grid: Grid, nodes: Array) -> Grid:
    """Some nodes of a grid, as a network of their own."""
    names = tuple(grid.nodes[n] for n in nodes)
    places = grid.places
    if places is not None:
        places = {name: places[name] for name in names if name in places}
    return Grid(
        {name: np.asarray(X[:, nodes]) for name, X in grid.values.items()},
        names,
        grid.times,
        grid.slot,
        places or None,
        grid.units,
        Origin(),
    )
