"""Where nodes are and which are near each other, on the round earth or in a plan of metres.

Everything that asks for neighbours asks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Place = Mapping[str, float]

EARTH = 6_371_000.0  # mean radius, metres


def round_earth(places: Sequence[Place | None]) -> bool:
    """Whether positions are degrees: then a place in metres has no relation to them."""
    return any(place is not None and "lat" in place for place in places)


def points(places: Sequence[Place | None]) -> Array:
    """Positions in space, metres: nodes × 3; NaN where a place is not known.

    Degrees become points of a sphere, so that neither the date line nor a pole is a special case,
    and the order of straight distances is that of great circles. Heights (`elevation`, or `z`
    beside `x` and `y`) count where every placed node has one: half of them would put the others
    at sea level.

    Parameters
    ----------
    places
        Of each node ``{"lat", "lon"[, "elevation"]}`` or ``{"x", "y"[, "z"]}``, or None.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> points([{"x": 3.0, "y": 4.0}, None])
    array([[ 3.,  4.,  0.],
           [nan, nan, nan]])
    """
    degrees = round_earth(places)
    names = ("lon", "lat", "elevation") if degrees else ("x", "y", "z")
    at = np.array(
        [[float((place or {}).get(name, np.nan)) for name in names] for place in places],
        dtype=np.float64,
    ).reshape(-1, 3)
    known = np.isfinite(at[:, :2]).all(axis=1)
    if not np.isfinite(at[known, 2]).all():
        at[:, 2] = 0.0
    if degrees:
        at = _on_the_sphere(at)
    at[~known] = np.nan
    return at


def _on_the_sphere(at: Array) -> Array:
    lon, lat = np.radians(at[:, 0]), np.radians(at[:, 1])
    unit = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    return np.asarray((EARTH + at[:, 2:]) * unit)


def distances(places: Sequence[Place | None], of: slice = slice(None)) -> Array:
    """Straight distances in metres, infinite to a node whose place is not known.

    Parameters
    ----------
    places
        As for `points`.
    of
        The nodes whose distances to all are wanted: rows of the result.

    Returns
    -------
    ndarray
        Nodes × nodes.

    Examples
    --------
    >>> pair = [{"lat": 0.0, "lon": 179.5}, {"lat": 0.0, "lon": -179.5}]
    >>> round(distances(pair)[0, 1] / 1000)
    111
    """
    at = points(places)
    far = np.zeros((len(at[of]), len(at)))
    for axis in at.T:
        far += (axis[of, None] - axis) ** 2
    return np.where(np.isnan(far), np.inf, np.sqrt(far))


def nearest(distance: Array, count: int, able: Array | None = None) -> Array:
    """The nearest other nodes of each, nodes × `count`, nearest first; −1 where there are no more.

    Parameters
    ----------
    distance
        Nodes × nodes, of `distances` or any other; infinite or NaN where there is none.
    count
        How many of each.
    able
        Nodes that may be named; all, if not given.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> nearest(distances([{"x": x, "y": 0.0} for x in (0.0, 5.0, 1.0)]), 2)
    array([[2, 1],
           [2, 0],
           [0, 1]])
    """
    far = np.where(np.isnan(distance), np.inf, distance)
    np.fill_diagonal(far, np.inf)
    if able is not None:
        far[:, ~able] = np.inf
    order = smallest(far, count)
    found = np.take_along_axis(far, order, axis=1)
    return np.where(np.isfinite(found), order, -1)


def smallest(values: Array, count: int) -> Array:
    """Of each row the columns of its smallest values, smallest first, the first of equals first.

    As a stable sort cut off, in time that does not grow with the logarithm of the row.

    Examples
    --------
    >>> smallest(np.array([[3.0, 1.0, 2.0, 1.0]]), 3)
    array([[1, 3, 2]])
    """
    if values.shape[1] <= max(4 * count, 64):
        return np.argsort(values, axis=1, kind="stable")[:, :count]
    some = np.sort(np.argpartition(values, count - 1, axis=1)[:, :count], axis=1)
    found = np.take_along_axis(values, some, axis=1)
    order = np.argsort(found, axis=1, kind="stable")
    out = np.take_along_axis(some, order, axis=1)
    # Equals on both sides of the cut: which of them are in is not the partition's to say.
    tied = np.count_nonzero(values <= found.max(axis=1, keepdims=True), axis=1) > count
    out[tied] = np.argsort(values[tied], axis=1, kind="stable")[:, :count]
    return out
