"""Order statistics of many nodes: NumPy's to the last bit, in a fraction of its time.

NumPy takes ten times as long to find out which quantile is asked for as to sort a node's readings,
and parts an array at one place far quicker than at several.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHORT = 4000  # numbers that are sorted sooner than parted at several places

Array = NDArray[Any]


def parted(values: Array, *places: int) -> Array:
    """As `numpy.partition` of a vector: at each of the places what stands there in order."""
    out = values.copy()
    begin = 0
    for place in sorted(set(places)):
        out[begin:].partition(place - begin)
        begin = place + 1
    return out


def quantiles(values: Array, *shares: float) -> tuple[float, ...]:
    """As `numpy.quantile` of a vector without NaN.

    Examples
    --------
    >>> quantiles(np.array([4.0, 1.0, 3.0, 2.0]), 0.5, 0.9)
    (2.5, 3.7)
    """
    last = values.size - 1
    places = [last * share for share in shares]
    at = [min(math.floor(place), max(last - 1, 0)) for place in places]
    if values.size <= _SHORT:
        ranked = np.sort(values)
    else:
        ranked = parted(values, *at, *(low + 1 for low in at))
    return tuple(
        _between(float(ranked[low]), float(ranked[min(low + 1, last)]), place - low)
        for low, place in zip(at, places, strict=True)
    )


def higher(values: Array, share: float) -> float:
    """As `numpy.quantile` of a vector without NaN by its method "higher": one of the values.

    Examples
    --------
    >>> higher(np.array([4.0, 1.0, 3.0, 2.0]), 0.5)
    3.0
    """
    place = math.ceil((values.size - 1) * share)
    return float(np.partition(values, place)[place])


def _between(low: float, high: float, part: float) -> float:
    """From the nearer end, as NumPy does."""
    wide = high - low
    return high - wide * (1 - part) if part >= 0.5 else low + wide * part


def column_quantiles(values: Array, *shares: float) -> Array:
    """As `numpy.nanquantile` down the columns, each of which has a number; shares × columns.

    Examples
    --------
    >>> column_quantiles(np.array([[1.0, np.nan], [3.0, 5.0]]), 0.5)
    array([[2., 5.]])
    """
    ranked = np.sort(values.T, axis=-1)  # NaN last
    last = values.shape[0] - 1 - np.count_nonzero(np.isnan(ranked), axis=-1)
    row, out = np.arange(len(ranked)), np.empty((len(shares), len(ranked)))
    for k, share in enumerate(shares):
        place = last * share
        at = np.floor(place).astype(np.intp)
        low, high = ranked[row, at], ranked[row, np.minimum(at + 1, last)]
        wide, part = high - low, place - at
        out[k] = np.where(part >= 0.5, high - wide * (1 - part), low + wide * part)
    return out


def row_medians(values: Array) -> Array:
    """As `numpy.nanmedian` along the rows, each of which has a number.

    Examples
    --------
    >>> row_medians(np.array([[1.0, np.nan], [3.0, 5.0]]))
    array([1., 4.])
    """
    ranked = np.sort(values, axis=-1)
    count = values.shape[1] - np.count_nonzero(np.isnan(ranked), axis=-1)
    row = np.arange(len(ranked))
    out: Array = (ranked[row, (count - 1) // 2] + ranked[row, count // 2]) / 2
    return out
