"""Stretches of slots and of readings: finding, joining and measuring them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldmend.core.ranks import column_quantiles, each_median, quantiles

Array = NDArray[Any]
Mask = NDArray[np.bool_]

# A normal distribution's standard deviation in units of its median absolute value.
MAD = 1.4826
LARGEST = 1023  # power of two that is a float
FEW = 100  # numbers that are sorted before `numpy.median` has begun


def stretches(marks: Mask) -> tuple[Array, Array]:
    """First and one past the last place of each run of True in a vector.

    Examples
    --------
    >>> stretches(np.array([True, False, True, True]))
    (array([0, 2]), array([1, 4]))
    """
    within = np.zeros(marks.size + 2, dtype=np.bool_)
    within[1:-1] = marks
    edges = np.flatnonzero(within[1:] != within[:-1])
    return edges[::2], edges[1::2]


def joined(marks: Mask, gap: int) -> Mask:
    """The marks of a vector, runs at most `gap` places apart made one.

    Examples
    --------
    >>> joined(np.array([True, False, True, False, False, True]), 1).astype(int)
    array([1, 1, 1, 0, 0, 1])
    """
    start, stop = stretches(~marks)
    inner = (start > 0) & (stop < marks.size) & (stop - start <= gap)
    return marks | _filled(start[inner], stop[inner], marks.size)


def grown(core: Mask, hull: Mask) -> Mask:
    """The runs of `hull` that hold at least one place of `core`: two thresholds, one stretch.

    Examples
    --------
    >>> grown(np.array([0, 0, 1, 0, 0]) > 0, np.array([1, 0, 1, 1, 0]) > 0).astype(int)
    array([0, 0, 1, 1, 0])
    """
    start, stop = stretches(hull | core)
    before = np.concatenate([[0], np.cumsum(core)])
    held = before[stop] > before[start]
    return _filled(start[held], stop[held], core.size)


def _filled(start: Array, stop: Array, size: int) -> Mask:
    """Marks of a vector from each first place to before each last one; runs do not overlap."""
    edge = np.zeros(size + 1, dtype=np.int8)
    edge[start] = 1
    edge[stop] -= 1  # where one run ends, the next may begin
    return np.cumsum(edge[:-1], dtype=np.int8).view(np.bool_)


def bounded(X: Any) -> tuple[Array, float]:
    """Readings as float64 of ordinary size, and the power of two they were divided by.

    Equal readings stay equal. What lies 10⁶⁰ times above the typical size is cut there: it is
    absurd either way, and its square has to be finite.
    """
    given = np.asarray(X, dtype=np.float64)
    if given.ndim != 2:
        msg = f"readings must be slots × nodes; their shape is {given.shape}"
        raise ValueError(msg)
    size = np.abs(given[np.isfinite(given) & (given != 0)])
    # Not the mean of two: of 1e308 and 1e308 there is none.
    typical = np.quantile(size, 0.5, method="higher") if size.size else 1.0
    power = min(int(np.frexp(typical)[1]), LARGEST) if size.size else 0
    with np.errstate(over="ignore"):  # beside 5e-324, anything is beyond the cut
        values = np.ldexp(given, -power)
    return np.clip(values, -1e60, 1e60, out=values), float(power)


def rolling(values: Array, width: int) -> Array:
    """Mean over `width` places around each, fewer at the ends, down the first axis."""
    half = width // 2
    total = np.cumsum(np.concatenate([np.zeros((1, *values.shape[1:])), values]), axis=0)
    place = np.arange(values.shape[0])
    low, high = np.maximum(place - half, 0), np.minimum(place + half + 1, values.shape[0])
    count = (high - low).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray((total[high] - total[low]) / count)


def rare(values: Array, decades: float = 3.0) -> float:
    """A size that one value in 10^(2 + decades) would exceed, were the tail a power law.

    ``q99·(q99/q90)^decades``: from the 90 % and 99 % quantiles of absolute values, which a few
    false ones cannot move. About 10 standard deviations for normal values and much more for
    heavy tails, so that what is usual for a node that jumps (light) is not rare.

    Examples
    --------
    >>> round(rare(np.linspace(0, 1, 101)), 2)
    5.4
    """
    if values.size == 0:
        return np.inf
    q90, q99 = quantiles(np.abs(values), 0.9, 0.99)
    # A quantised signal has one size of step and no tail to extrapolate.
    return float(max(q99 * (q99 / q90) ** decades, 6 * q90)) if q90 > 0 else np.inf


def middle(values: Array) -> float:
    """Median of a vector: `numpy.median`, quick for the many stretches of a few readings."""
    if values.size == 1:
        return float(values[0])
    if values.size == 0 or values.size > FEW:
        return float(np.median(values))
    ranked = np.sort(values)
    low, high = ranked[(values.size - 1) // 2], ranked[values.size // 2]
    return float("nan") if np.isnan(ranked[-1]) else float((low + high) / 2)


def node_medians(values: Array) -> Array:
    """Median of each column's numbers; NaN for a column that has none.

    As `numpy.nanmedian`, which warns of empty columns and is several times slower on small arrays.

    Examples
    --------
    >>> node_medians(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]]))
    array([ 2., nan])
    """
    if values.shape[0] == 0:
        return np.full(values.shape[1], np.nan)
    return each_median(values.T)


def medians(values: Array) -> Array:
    """Median of the numbers along the last axis, which is not empty; NaN where there are none.

    Examples
    --------
    >>> medians(np.array([[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]]))
    array([ 2., nan])
    """
    return each_median(values.reshape(-1, values.shape[-1])).reshape(values.shape[:-1])


def slot_medians(values: Array) -> Array:
    """Median of each row's numbers; NaN for a row that has none."""
    return node_medians(values.T)


def resolution(values: Array) -> Array:
    """The smaller steps that each node makes, 0 if it makes none: its resolution, or less."""
    step = np.abs(np.diff(values, axis=0))
    step[~(step > 0)] = np.nan
    out = np.zeros(values.shape[1])
    some = ~np.isnan(step).all(axis=0)
    (out[some],) = column_quantiles(step[:, some], 0.1)
    return out


def per_node(
    values: Array, left_out: Mask | None, test: Callable[[int, Array, Array], Mask]
) -> Mask:
    """Apply a test to each node's readings in time order, lost and left-out slots skipped."""
    out = np.zeros(values.shape, dtype=np.bool_)
    for n in range(values.shape[1]):
        used = ~np.isnan(values[:, n])
        if left_out is not None:
            used &= ~left_out[:, n]
        at = np.flatnonzero(used)
        out[at, n] = test(n, values[at, n], at)
    return out
