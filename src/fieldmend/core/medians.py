"""Medians of numbers with gaps: as NumPy's, several times quicker on what is small."""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Array


def medians(values: Array) -> Array:
    """Median of the numbers along the last axis, which is not empty; NaN where there are none.

    Examples
    --------
    >>> medians(np.array([[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]]))
    array([ 2., nan])
    """
    ranked = np.sort(values, axis=-1)  # NaN last
    ranked = ranked.reshape(-1, values.shape[-1])
    count = values.shape[-1] - np.isnan(ranked).sum(axis=-1)
    row = np.arange(len(ranked))
    low = ranked[row, np.maximum(count - 1, 0) // 2]
    high = ranked[row, count // 2]  # within: the axis is not empty
    # Halves first: the sum of two of 1e308 is none.
    return np.asarray((low / 2 + high / 2).reshape(values.shape[:-1]))


def median(values: Array) -> float:
    """Of a vector of numbers, not empty, that is not worth sorting.

    Examples
    --------
    >>> median(np.array([4.0, 1.0, 2.0, 9.0]))
    3.0
    """
    at = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, at)
    low, high = ordered[at[0]], ordered[at[1]]
    return float(low / 2 + high / 2)
