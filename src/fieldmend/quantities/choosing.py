"""Which power of a skewed quantity: the one under which hidden readings come out best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

import numpy as np

from fieldmend.field.holdout import Holdout
from fieldmend.field.quick import Tried, tried_quickly
from fieldmend.quantities.behaviour import ENOUGH, Array, behaviour
from fieldmend.quantities.finding import NEGATIVE, SKEWED
from fieldmend.quantities.kinds import Kind
from fieldmend.quantities.power import PLAIN, POWERS, Power, fitting
from fieldmend.quantities.quantity import Quantity
from fieldmend.quantities.scale import Scale

MOST = 20_000  # entries that the powers are tried on
NODES = 50  # of which so many nodes at most
FEWEST = 200  # readings hidden from both, else nothing is chosen
BETTER = 0.97  # the hidden readings have to come out by this factor better than on the plain scale
SPARED = 0.003  # of the readings: more than should ever be called false where nothing is
TAILED = (Kind.POSITIVE, Kind.INTERMITTENT)


def of_readings(X: Array, level: float, seed: int) -> tuple[Power, str]:
    """The power for readings of which nothing but themselves is known.

    One is asked about only where hardly any reading is negative and the upper tail is the longer,
    and taken only if readings look false as they are and do not under it: a scale on which floods
    are false readings is the wrong one. (By hidden readings alone, roots of light in a building
    were better and turned out worse: what an array is, nobody says.)
    """
    seen = behaviour(X)
    if seen.count < ENOUGH or seen.negative > NEGATIVE or seen.q99 <= 0 or seen.tail < SKEWED:
        return PLAIN, ""
    return chosen(X, Quantity(Kind.POSITIVE), level, seed, spares=SPARED)


def chosen(
    X: Array, quantity: Quantity, level: float, seed: int, *, spares: float = -inf
) -> tuple[Power, str]:
    """The power under which hidden readings come out best, in the units of the readings; in words.

    Compared are the same hidden readings, on a part of the record: mean and root mean square error
    and the score of the intervals (width, and how far what they miss lies outside). A power has to
    be better by 3 % over all three, and not worse in mean error: powers of wind speeds were not.
    `spares` is the share of the readings that has to jump out as read, and not under the power.
    """
    some = _part(X, quantity)
    if some is None:
        return PLAIN, ""
    plain = _hidden(some, Scale.of(quantity, some), level, seed)
    if _share(plain) < spares:
        return PLAIN, ""
    best, gain = PLAIN, 1.0
    for p in POWERS[1:]:
        power = fitting(p, some)
        other = _hidden(some, Scale.of(quantity, some, power), level, seed)
        ratio = _ratio(plain, other, level)
        if ratio >= 1:
            break  # a stronger one will not mend it
        if ratio < min(BETTER, gain) and _spared(plain, other) >= spares:
            best, gain = power, ratio
    if best == PLAIN:
        return best, "solved as read: on hidden readings no power of them was better"
    return best, f"solved on {best.name}: {100 * (1 - gain):.0f} % better on hidden readings"


def _share(found: Tried | None) -> float:
    """Of the hidden readings, how many jump out."""
    return 0.0 if found is None or not len(found.jumps) else float(found.jumps.mean())


def _spared(plain: Tried | None, other: Tried | None) -> float:
    return _share(plain) - _share(other)


def _part(X: Array, quantity: Quantity) -> Array | None:
    """Consecutive slots from the middle, of nodes that are heard there; None if too little."""
    enough = FEWEST // 10
    heard = np.count_nonzero(np.isfinite(X), axis=0)
    nodes = np.flatnonzero(heard >= max(enough, 0.2 * len(X)))
    if not len(nodes):
        return None
    if len(nodes) > NODES:
        nodes = nodes[np.linspace(0, len(nodes) - 1, NODES).round().astype(int)]
    length = max(MOST // len(nodes), enough)
    start = max(0, (len(X) - length) // 2)
    some = np.asarray(X[start : start + length][:, nodes], dtype=np.float64)
    low, high = quantity.possible
    with np.errstate(invalid="ignore"):
        some = np.where((some < low) | (some > high), np.nan, some)
    some = some[:, np.count_nonzero(np.isfinite(some), axis=0) >= enough]
    return some if some.shape[1] and np.ptp(some[np.isfinite(some)]) > 0 else None


def _hidden(X: Array, scale: Scale, level: float, seed: int) -> Tried | None:
    """Hidden readings and what became of them on a scale, one of each, in order."""
    Y = scale.forward(X)
    found = tried_quickly(Y, np.isfinite(Y), level=level, seed=seed)
    return None if found is None else replace(found, holdout=scale.back_of(found.holdout))


def _some(found: Holdout, which: Array) -> Holdout:
    return Holdout(*(part[which] for part in vars(found).values()))


def _ratio(plain: Tried | None, other: Tried | None, level: float) -> float:
    """How far off `other` is over `plain` at the readings hidden from both; 1 if too few.

    What jumps out on both scales may be false and is left out. What does so on one of them is not:
    it may be the flood that this scale takes for a false reading.
    """
    if plain is None or other is None or not len(plain.jumps) or not len(other.jumps):
        return 1.0
    first, second = plain.holdout, other.holdout
    width = int(max(first.columns.max(), second.columns.max())) + 1
    keys = [found.rows.astype(np.int64) * width + found.columns for found in (first, second)]
    _, a, b = np.intersect1d(keys[0], keys[1], return_indices=True)
    kept = ~(plain.jumps[a] & other.jumps[b])
    a, b = a[kept], b[kept]
    if len(a) < FEWEST:
        return 1.0
    mine, its = list(_losses(_some(first, a), level)), list(_losses(_some(second, b), level))
    if min(mine) <= 0 or min(its) <= 0 or its[0] > 1.01 * mine[0]:
        return 1.0
    return float(np.exp(np.mean(np.log(its) - np.log(mine))))


def _losses(found: Holdout, level: float) -> Iterator[float]:
    """Mean error, root mean square error, and the interval score."""
    error = np.abs(found.truth - found.estimate)
    yield float(error.mean())
    yield float(np.sqrt((error**2).mean()))
    missed = np.maximum(found.lower - found.truth, 0) + np.maximum(found.truth - found.upper, 0)
    yield float((found.upper - found.lower + 2 / (1 - level) * missed).mean())
