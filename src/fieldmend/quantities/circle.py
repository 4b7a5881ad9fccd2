"""Angles: differences, means and channels on the circle, whatever its length."""

from __future__ import annotations

import numpy as np

from fieldmend.quantities.behaviour import Array


def turned(difference: Array, period: float) -> Array:
    """Differences of angles, at most half a turn either way.

    Examples
    --------
    >>> turned(np.array([350.0, -190.0, 10.0]), 360.0).tolist()
    [-10.0, 170.0, 10.0]
    """
    half = period / 2
    with np.errstate(invalid="ignore"):
        return np.asarray(np.mod(difference + half, period) - half)


def near(angles: Array, around: Array, period: float) -> Array:
    """The same angles, on the turn on which they lie nearest to others; without a period as is.

    Examples
    --------
    >>> near(np.array([350.0, 10.0]), np.array([5.0, 355.0]), 360.0).tolist()
    [-10.0, 370.0]
    """
    return around + turned(angles - around, period) if period else angles


def first_turn(angles: Array, period: float, start: float = 0.0) -> Array:
    """Angles from `start` to before a turn later."""
    out = start + np.mod(angles - start, period)
    # −1e-17 + 360 rounds to 360.
    return np.asarray(np.where(out >= start + period, start, out))


def mean_direction(angles: Array, period: float) -> float:
    """Where all angles together point to; NaN is left out.

    Examples
    --------
    >>> round(mean_direction(np.array([350.0, 20.0]), 360.0), 6)
    5.0
    """
    radians = 2 * np.pi / period * angles[np.isfinite(angles)]
    if not radians.size:
        return 0.0
    return float(np.arctan2(np.sin(radians).mean(), np.cos(radians).mean()) * period / 2 / np.pi)


def channels(angles: Array, period: float, zero: float) -> Array:
    """Sines, then cosines of the angles counted from `zero`: slots × 2·nodes."""
    radians = 2 * np.pi / period * (angles - zero)
    return np.hstack([np.sin(radians), np.cos(radians)])


def angle_of(sines: Array, cosines: Array, period: float, zero: float) -> Array:
    """The angles of channels, counted from 0 again, on any turn."""
    return np.asarray(np.arctan2(sines, cosines) * period / (2 * np.pi) + zero)


def continuous(angles: Array, period: float) -> Array:
    """Each node's angles on the turn nearest to its reading before: lines between them are arcs.

    Examples
    --------
    >>> continuous(np.array([[350.0], [np.nan], [10.0]]), 360.0)[:, 0]
    array([350.,  nan, 370.])
    """
    out = angles.copy()
    for n in range(angles.shape[1]):
        heard = np.isfinite(angles[:, n])
        out[heard, n] = np.unwrap(angles[heard, n], period=period)
    return out
