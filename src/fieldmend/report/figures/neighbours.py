"""Which nodes a node is compared with: the nearest, or else the most alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fieldmend.grid import Array
    from fieldmend.recovery import Recovered, Recovery

COMPARED = 500  # slots that a likeness is measured on
FEWEST = 2  # nodes with a place that make "nearest" worth saying


@dataclass(frozen=True)
class Neighbours:
    """Indices of nodes, and in what way they are near."""

    nodes: tuple[int, ...]
    why: str


def neighbours_of(recovery: Recovery, one: Recovered, node: int, most: int) -> Neighbours:
    """At most `most` nodes that were heard, the best first."""
    heard: Array = np.asarray(~np.isnan(one.observed).all(axis=0))
    heard[node] = False
    far = _distances(recovery, node)
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


def positions(recovery: Recovery) -> tuple[Array, bool]:
    """Nodes × (x, y), NaN where unknown, and whether they are degrees east and north."""
    grid = recovery.grid
    places = grid.places or {}
    round_earth = any("lat" in place for place in places.values())
    names = ("lon", "lat") if round_earth else ("x", "y")
    nowhere = {name: np.nan for name in names}
    at = [[places.get(node, nowhere).get(name, np.nan) for name in names] for node in grid.nodes]
    return np.array(at, dtype=np.float64), round_earth


def _distances(recovery: Recovery, node: int) -> Array:
    at, round_earth = positions(recovery)
    away = at - at[node]
    if round_earth:
        away[:, 0] = (away[:, 0] + 180) % 360 - 180  # the shorter way around
        away[:, 0] *= np.cos(np.radians(at[node, 1]))
    distance: Array = np.hypot(away[:, 0], away[:, 1])
    return distance


def _likeness(estimate: Array, node: int) -> Array:
    """Correlation of the estimates; NaN with a node that does not vary."""
    step = -(-len(estimate) // COMPARED)
    some = estimate[::step]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        centred = some - some.mean(axis=0)
        size = np.sqrt((centred**2).sum(axis=0))
        alike: Array = centred.T @ centred[:, node] / (size * size[node])
    return alike
