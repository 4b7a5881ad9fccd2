"""Which nodes a node is compared with: the nearest, or else the most alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fieldmend import geo

if TYPE_CHECKING:
    from fieldmend.grid import Array
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

COMPARED = 500  # slots that a likeness is measured on
BLOCK = 256  # nodes that are compared with all others at a time
LISTED = 8  # nodes near each, of which some may not measure a condition
FEWEST = 2  # nodes with a place that make "nearest" worth saying


@dataclass(frozen=True)
class Neighbours:
    """Indices of nodes, and in what way they are near."""

    nodes: tuple[int, ...]
    why: str


def neighbours_of(recovery: Result, one: Recovered, node: int, most: int) -> Neighbours:
    """At most `most` nodes that were heard, the best first."""
    heard: Array = np.asarray(~np.isnan(one.observed).all(axis=0))
    heard[node] = False
    far = geo.distances(_places(recovery), slice(node, node + 1))[0]
    placed = heard & np.isfinite(far)
    if np.count_nonzero(placed) >= FEWEST:
        order = np.argsort(np.where(placed, far, np.inf), kind="stable")
        return Neighbours(_first(order, placed, most), "the nearest nodes")
    alike = _likeness(one.estimate, node)
    heard &= np.isfinite(alike)
    order = np.argsort(np.where(heard, -alike, np.inf), kind="stable")
    return Neighbours(_first(order, heard, most), "the most alike nodes")


def _first(order: Array, usable: Array, most: int) -> tuple[int, ...]:
    return tuple(int(n) for n in order[:most] if usable[n])


def _places(recovery: Result) -> list[geo.Place | None]:
    known = recovery.grid.places or {}
    return [known.get(node) for node in recovery.grid.nodes]


def neighbour_table(recovery: Result, one: Recovered | None = None) -> list[list[int]] | None:
    """For each node the best few others: the nearest, or, of one condition, the most alike.

    None where no condition is given and too few places are known to say who is near.
    """
    if one is not None:
        return _most_alike(one.estimate)
    at = geo.points(_places(recovery))
    placed = np.flatnonzero(np.isfinite(at).all(axis=1))
    if placed.size <= FEWEST:
        return None
    from scipy.spatial import cKDTree

    _, found = cKDTree(at[placed]).query(at[placed], k=min(LISTED + 1, placed.size))
    out: list[list[int]] = [[] for _ in at]
    for i, row in zip(placed.tolist(), placed[found].tolist(), strict=True):
        out[i] = [n for n in row if n != i][:LISTED]
    return out


def _most_alike(estimate: Array) -> list[list[int]]:
    """By correlation, some nodes with all others at a time."""
    some = np.asarray(estimate[:: -(-len(estimate) // COMPARED)])
    known = ~np.isnan(some)
    out: list[list[int]] = []
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.where(known, some, 0.0).sum(axis=0) / known.sum(axis=0)
        centred = np.where(known, some - mean, 0.0)
        unit = centred / np.sqrt((centred**2).sum(axis=0))
        for first in range(0, unit.shape[1], BLOCK):
            alike = unit[:, first : first + BLOCK].T @ unit
            alike = np.where(np.isfinite(alike), alike, -np.inf)
            mine = np.arange(len(alike))
            alike[mine, first + mine] = -np.inf
            order = np.argsort(-alike, axis=1, kind="stable")[:, :LISTED]
            good = np.isfinite(np.take_along_axis(alike, order, axis=1))
            out += [row[ok].tolist() for row, ok in zip(order, good, strict=True)]
    return out


def positions(recovery: Result) -> tuple[Array, bool]:
    """Nodes × (x, y), NaN where unknown, and whether they are degrees east and north."""
    places = _places(recovery)
    degrees = geo.round_earth(places)
    names = ("lon", "lat") if degrees else ("x", "y")
    at = [[(place or {}).get(name, np.nan) for name in names] for place in places]
    return np.array(at, dtype=np.float64), degrees


def _likeness(estimate: Array, node: int) -> Array:
    """Correlation of the estimates; NaN with a node that does not vary."""
    step = -(-len(estimate) // COMPARED)
    some = estimate[::step]
    some = some[~np.isnan(some[:, node])]
    known = ~np.isnan(some)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.where(known, some, 0.0).sum(axis=0) / known.sum(axis=0)
        centred = np.where(known, some - mean, 0.0)
        size = np.sqrt((centred**2).sum(axis=0))
        alike: Array = centred.T @ centred[:, node] / (size * size[node])
    return alike
