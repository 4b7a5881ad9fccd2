"""Readings far off the field, for methods that have no decision of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FAR = 6.0  # robust standard deviations


def spread(X: Array, estimate: Array) -> Array:
    """Usual distance between a node's readings and the field: 1.4826 × median |X − L|."""
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.abs(X - estimate)
    heard = ~np.isnan(X).all(axis=0)
    out = np.zeros(X.shape[1])
    out[heard] = 1.4826 * np.nanmedian(distance[:, heard], axis=0)
    return out


def spikes(X: Array, estimate: Array) -> Array:
    """True where a reading lies more than six robust standard deviations off the field."""
    scale = spread(X, estimate)
    usual = np.median(scale[scale > 0]) if (scale > 0).any() else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        far: Array = np.abs(X - estimate) > FAR * np.maximum(scale, 0.1 * usual)
    return far & (np.maximum(scale, 0.1 * usual) > 0)
