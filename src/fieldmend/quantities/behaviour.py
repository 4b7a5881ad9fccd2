"""How the readings of a condition behave: what no name can hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend.core.ranks import quantiles

Array = np.ndarray[Any, np.dtype[Any]]

MOST = 400_000  # entries looked at, in stretches spread over the record
STRETCHES = 8
DISTINCT = 64  # values counted; more is many
SET_BACK = 0.15  # of a meter's steps, at most; rain amounts fall back far more often
ENOUGH = 20  # readings, or steps of a node, before anything is said
FEWEST_UNLIKE = 5  # nodes of which most can be alike
FEWEST_NODES = 3  # that can outvote one of them
LARGEST = 8e307  # the difference of two readings has to be a number


@dataclass(frozen=True)
class Behaviour:
    """What was seen. Shares are of the readings.

    Attributes
    ----------
    count
        Readings looked at.
    distinct
        Number of different values, at most 64 counted.
    whole
        All values are whole numbers.
    low, q01, middle, q90, q99, high
        Smallest value, quantiles, largest.
    lower, upper
        The 1 % and the 99 % quantiles that more than an eighth of the nodes, and more than one, go
        beyond: a few that failed do not move them.
    zero, negative
        Share that is exactly 0, and below.
    topped
        Share that is exactly the 99 % quantile: as far as an instrument sees. 0 if the others end
        farther below than they range: 999.9 over gusts of 18 to 23 is a code.
    tail
        How much farther the 99 % quantile lies from the median than the 1 % one.
    rising
        Share of nodes that only rise, but for settings back; `resets` how many of these there were.
    steady
        Share of steps that are the same whole number of counts per slot at every node.
    still
        Share of steps that are 0.
    wraps
        Steps of nearly a whole circle outnumber those of half a circle; for the circle of
        length `circle`.
    unlike
        By what factor the ranges of the nodes differ, as they are and as shares of what the nodes
        read: the geometric mean of both, but no more than either's square. Rivers differ by the
        one, gauges above the sea by the other; only different quantities differ by both.
    """

    count: int = 0
    distinct: int = 0
    whole: bool = False
    low: float = np.nan
    q01: float = np.nan
    middle: float = np.nan
    q90: float = np.nan
    q99: float = np.nan
    high: float = np.nan
    lower: float = np.nan
    upper: float = np.nan
    zero: float = 0.0
    negative: float = 0.0
    topped: float = 0.0
    tail: float = 1.0
    rising: float = 0.0
    resets: int = 0
    steady: float = 0.0
    still: float = 0.0
    wraps: bool = False
    circle: float = 0.0
    unlike: float = 1.0


def behaviour(X: Array) -> Behaviour:
    """Look at the readings, or at stretches of them if they are many.

    Examples
    --------
    >>> behaviour(np.arange(100.0)[:, None] + np.zeros((1, 4))).steady
    1.0
    """
    some = sampled(X)
    values = np.clip(some[np.isfinite(some)], -LARGEST, LARGEST)
    if not values.size:
        return Behaviour()
    q01, middle, q90, q99 = quantiles(values, 0.01, 0.5, 0.9, 0.99)
    different = len(np.unique(values))
    steps = _Steps(some)
    wraps, circle = _circle(values, steps)
    rising, resets = steps.rising()
    left = max(middle - q01, 1e-12 * max(abs(q99), 1e-300))
    return Behaviour(
        count=int(values.size),
        distinct=min(different, DISTINCT),
        whole=bool((values == np.round(values)).all()),
        low=float(values.min()),
        q01=q01,
        middle=middle,
        q90=q90,
        q99=q99,
        high=float(values.max()),
        **_of_most(some, q01, q99),
        zero=float((values == 0).mean()),
        negative=float((values < 0).mean()),
        topped=_topped(values, q99),
        tail=float(min((q99 - middle) / left, 1e6)),
        rising=rising,
        resets=resets,
        steady=steps.steady(),
        still=float((steps.step == 0).mean()) if steps.step.size else 1.0,
        wraps=wraps,
        circle=circle,
        unlike=_unlike(some),
    )


def spreads(X: Array) -> Array:
    """How far apart the nodes' 10 and 90 % quantiles are; NaN where it is not known, or nothing.

    Examples
    --------
    >>> spreads(np.linspace(0, 10, 101)[:, None] * np.array([1.0, 0.0])).tolist()
    [8.0, nan]
    """
    low, high = _ranges(X)
    return np.where(high > low, high - low, np.nan)


def _ranges(X: Array) -> tuple[Array, Array]:
    columns = (np.clip(c[np.isfinite(c)], -LARGEST / 2, LARGEST / 2) for c in np.asarray(X).T)
    ends = [quantiles(c, 0.1, 0.9) if c.size >= ENOUGH else (np.nan, np.nan) for c in columns]
    low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return low, high


def _topped(values: Array, top: float) -> float:
    rest = values[values < top]
    if rest.size and top - rest.max() > rest.max() - rest.min():
        return 0.0
    return float((values == top).mean())


def _unlike(some: Array) -> float:
    low, high = _ranges(some)
    own = high - low
    known = own > 0
    if np.count_nonzero(known) < FEWEST_UNLIKE:
        return 1.0
    share = own[known] / np.maximum(np.abs(low), np.abs(high))[known]

    def factor(of: Array) -> float:  # without the outermost: a node or two may have failed
        ends = np.sort(of)[[-(-(of.size - 1) // 10), (of.size - 1) * 9 // 10]]
        return float(ends[1] / ends[0])

    one, other = factor(own[known]), factor(share)
    return float(min(np.sqrt(one * other), one**2, other**2))


def _of_most(some: Array, q01: float, q99: float) -> dict[str, float]:
    """The nodes' own quantiles without the outermost; of all readings where nodes are too few."""
    columns = [column[np.isfinite(column)] for column in some.T]
    ends = [quantiles(own, 0.01, 0.99) for own in columns if own.size >= ENOUGH]
    if len(ends) < FEWEST_NODES:
        return {"lower": q01, "upper": q99}
    low, high = np.sort(ends, axis=0).T
    few = max(1, len(ends) // 8)
    return {"lower": float(low[few]), "upper": float(high[-1 - few])}


def sampled(X: Array) -> Array:
    """The readings, or stretches of consecutive slots from all over the record."""
    slots, nodes = X.shape
    if X.size <= MOST:
        return np.asarray(X, dtype=np.float64)
    length = max(MOST // (STRETCHES * max(nodes, 1)), 2)
    if STRETCHES * (length + 1) >= slots:
        return np.asarray(X, dtype=np.float64)
    starts = np.linspace(0, slots - length, STRETCHES).round().astype(int)
    gap = np.full((1, nodes), np.nan)
    parts = [part for s in starts for part in (np.asarray(X[s : s + length], np.float64), gap)]
    return np.vstack(parts)


class _Steps:
    """Differences between readings of a node that follow one another, per slot elapsed."""

    def __init__(self, X: Array) -> None:
        node, slot = np.nonzero(np.isfinite(X).T)
        value = X[slot, node]
        same = node[1:] == node[:-1]
        self.nodes = X.shape[1]
        self.node = node[1:][same]
        with np.errstate(over="ignore", invalid="ignore"):
            self.step = np.diff(value)[same]
        self.before, self.after = value[:-1][same], value[1:][same]
        self.elapsed = np.diff(slot)[same]

    def rising(self) -> tuple[float, int]:
        """Share of nodes that only rise, and how often one of them was set back.

        A node rises if all its steps but a few are up or zero, and each of the few leads into the
        lowest tenth of what the node ever read: to zero, or near it.
        """
        rising = judged = resets = 0
        edges = np.searchsorted(self.node, np.arange(self.nodes + 1))  # nodes stand in order
        for own in map(slice, edges[:-1], edges[1:]):
            step, after = self.step[own], self.after[own]
            moved = int(np.count_nonzero(step))
            if moved < ENOUGH // 2 or step.size < ENOUGH:
                continue
            judged += 1
            down = step < 0
            reach = np.concatenate([after, self.before[own]])
            low, high = float(reach.min()), float(reach.max())
            to_zero = (after[down] <= low + 0.1 * (high - low)).all()
            if down.sum() <= SET_BACK * moved and to_zero:
                rising += 1
                resets += int(down.sum())
        return (rising / judged if judged else 0.0), resets

    def steady(self) -> float:
        """Share of steps of the usual size per slot, if that size is the same everywhere."""
        if self.step.size < ENOUGH:
            return 0.0
        rate = self.step / self.elapsed
        usual = float(np.median(rate))
        if not usual > 0:
            return 0.0
        return float((np.abs(rate - usual) <= 0.02 * usual).mean())


CIRCLES = (360.0, 2 * np.pi, 24.0)


def _circle(values: Array, steps: _Steps) -> tuple[bool, float]:
    """Whether steps cross the seam of a circle that the range fills, and that circle's length."""
    low, high = float(values.min()), float(values.max())
    for circle in CIRCLES:
        fills = 0.9 * circle <= high - low <= circle * (1 + 1e-9)
        starts = min(abs(low), abs(low + circle / 2)) <= 0.06 * circle
        if not fills or not starts:
            continue
        size = np.abs(steps.step[steps.elapsed == 1]) / circle
        across = np.count_nonzero(size > 0.8)
        halfway = np.count_nonzero((size > 0.4) & (size <= 0.6))
        return bool(across >= 5 and across > 1.5 * halfway), circle
    return False, 0.0
