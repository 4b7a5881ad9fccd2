"""Order statistics of many nodes: NumPy's to the last bit, in a fraction of its time.

NumPy takes ten times as long to find out which quantile is asked for as to sort a node's readings.
And it parts a long array by moving most of it, again and again, where a few looks at it tell which
tenth of the numbers can stand at a place: only these are parted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHORT = 4000  # numbers that are sorted sooner than parted at several places
_LONG = 2000  # numbers of which it pays to look at some first:
_SAMPLED = 4.0  # so many roots of their number,
_CROWD = 0.3  # share of the numbers that so small a part of the places should not hold
_WIDE = 600  # numbers of each of many rows from which on that pays,
_AT_HAND = 131_072  # of some rows at a time
_SLACK_OF_MANY = 1.2  # as the next, of many rows: one that is missed costs little
_SLACK = 1.5  # places that a sample may be wrong by, in roots of its own: three times the usual

Array = NDArray[Any]


def standing(values: Array, *places: int) -> Array:
    """What stands at each of the places of a vector in order, what is no number last.

    Examples
    --------
    >>> standing(np.array([4.0, 1.0, 3.0, 2.0]), 0, 2)
    array([1., 3.])
    """
    order = sorted(set(places))
    if values.size < _LONG:
        ordered = _parted(values, order)
        return ordered[list(places)]
    sample = np.sort(values[:: max(1, int(np.sqrt(values.size) / _SAMPLED))])
    found: dict[int, Any] = {}
    while order:
        few = 1 if len(order) == 1 or order[1] > order[0] + 1 else 2  # a median may be of two
        found.update(zip(order[:few], _among_some(values, sample, order[:few]), strict=True))
        order = order[few:]
    return np.array([found[place] for place in places], dtype=values.dtype)


def _among_some(values: Array, sample: Array, places: list[int]) -> Array:
    """What stands at neighbouring places, looked for between two numbers of a sorted sample.

    Among all, where it turns out not to lie between them.
    """
    rate, slack = len(sample) / len(values), _SLACK * np.sqrt(len(sample))
    low, high = int(places[0] * rate - slack), int(places[-1] * rate + slack) + 1
    inside, below = np.ones(len(values), dtype=np.bool_), 0
    if low >= 0:
        inside = values >= sample[low]
        below = int(np.count_nonzero(values < sample[low]))
    if high < len(sample):
        inside &= values <= sample[high]
    some, there = values[inside], [place - below for place in places]
    if there[0] < 0 or there[-1] >= len(some):
        some, there = values, places
    elif len(some) > _CROWD * len(values):  # of what rests, the least
        least = some.min()
        tied = int(np.count_nonzero(some == least))
        if there[-1] < tied:
            return np.full(len(places), least)
        if there[0] >= tied:
            some, there = some[some > least], [place - tied for place in there]
    out: Array = _parted(some, there)[there]
    return out


def counted(marks: NDArray[np.bool_]) -> Array:
    """How many are marked in each row.

    A product in single precision, exact up to 2²⁴, takes a quarter of the time of counting.

    Examples
    --------
    >>> counted(np.array([[True, False], [True, True]]))
    array([1., 2.])
    """
    sums = marks.astype(np.float32) @ np.ones(marks.shape[1], np.float32)
    return np.asarray(sums, dtype=np.float64)


def each_median(values: Array) -> Array:
    """Median of the numbers of each row; NaN where there are none. Rows are not empty.

    Of long rows as `standing`, of some at once: their arrays stay in the processor's cache.

    Examples
    --------
    >>> each_median(np.array([[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]]))
    array([ 2., nan])
    """
    rows, size = values.shape
    if size < _WIDE:
        ranked = np.sort(values, axis=1)  # NaN last
        count, row = _heard(ranked), np.arange(rows)
        low, high = ranked[row, np.maximum(count - 1, 0) // 2], ranked[row, count // 2]
        return np.where(count > 0, low + (high - low) / 2, np.nan)
    out, step = np.empty(rows, values.dtype), max(1, _AT_HAND // size)
    for first in range(0, rows, step):
        some = np.ascontiguousarray(values[first : first + step])
        count = _heard(some)
        low, high = _of_rows(some, count)
        out[first : first + step] = np.where(count > 0, low + (high - low) / 2, np.nan)
    return out


def _heard(values: Array) -> Array:
    """Numbers in each row."""
    out: Array = values.shape[1] - counted(np.isnan(values)).astype(np.intp)
    return out


def _of_rows(values: Array, count: Array) -> tuple[Array, Array]:
    """The two middle numbers of each row, of which so many are numbers.

    Looked for between two of a sorted sample of each row, all at once; among all of a row, where
    they turn out not to lie between them.
    """
    row, middle = np.arange(len(values)), (np.maximum(count - 1, 0) // 2, count // 2)
    sample = np.sort(values[:, :: max(1, int(np.sqrt(values.shape[1]) / _SAMPLED))], axis=1)
    known = _heard(sample)
    rate, slack = known / np.maximum(count, 1), _SLACK_OF_MANY * np.sqrt(known)
    first = (middle[0] * rate - slack).astype(np.intp)
    last = (middle[1] * rate + slack).astype(np.intp) + 1
    least = np.where(first > 0, sample[row, np.maximum(first, 0)], -np.inf).astype(values.dtype)
    most = sample[row, np.minimum(last, sample.shape[1] - 1)]
    most = np.where(last < known, most, np.inf).astype(values.dtype)
    inside = values >= least[:, None]
    below = count - counted(inside).astype(np.intp)
    inside &= values <= most[:, None]
    held = counted(inside).astype(np.intp)
    some = np.full((len(values), max(int(held.max(initial=1)), 1)), np.nan, values.dtype)
    some[np.arange(some.shape[1]) < held[:, None]] = values[inside]
    some.sort(axis=1)
    out = [some[row, np.clip(place - below, 0, some.shape[1] - 1)] for place in middle]
    missed = np.flatnonzero((middle[0] < below) | (middle[1] >= below + held))
    if missed.size:
        ranked = np.sort(values[missed], axis=1)
        for found, place in zip(out, middle, strict=True):
            at = np.minimum(place[missed], values.shape[1] - 1)
            found[missed] = ranked[np.arange(missed.size), at]
    return out[0], out[1]


def _parted(values: Array, places: list[int]) -> Array:
    """As `numpy.partition` at several places, in rising order: one by one is far quicker."""
    out = values.copy()
    begin = 0
    for place in places:
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
        pairs = [(ranked[low], ranked[min(low + 1, last)]) for low in at]
    else:
        found = standing(values, *(place for low in at for place in (low, low + 1))).tolist()
        pairs = list(zip(found[::2], found[1::2], strict=True))
    return tuple(
        _between(float(low), float(high), place - first)
        for (low, high), place, first in zip(pairs, places, at, strict=True)
    )


def higher(values: Array, share: float) -> float:
    """As `numpy.quantile` of a vector without NaN by its method "higher": one of the values.

    Examples
    --------
    >>> higher(np.array([4.0, 1.0, 3.0, 2.0]), 0.5)
    3.0
    """
    place = math.ceil((values.size - 1) * share)
    return float(standing(values, place)[0])


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
