"""Which power of a skewed quantity: the one under which hidden readings come out best."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fieldmend.field.holdout import Holdout
from fieldmend.field.quick import tried_quickly
from fieldmend.grid import Array
from fieldmend.quantities import Kind, Quantity
from fieldmend.quantities.power import PLAIN, POWERS, Power, fitting
from fieldmend.recovery.skewed import OnScale, Scale
from fieldmend.recovery.solving import Solver
from fieldmend.result.options import Options

MOST = 20_000  # entries that the powers are tried on
NODES = 50  # of which so many nodes at most
FEWEST = 200  # readings hidden from both, else nothing is chosen
BETTER = 0.97  # the hidden readings have to come out by this factor better than on the plain scale
CHOOSES = ("auto",)  # methods that hide readings themselves
SKEWED = (Kind.POSITIVE, Kind.INTERMITTENT)


def on_scale(base: Solver, quantity: Quantity, X: Array, options: Options) -> Solver:
    """The solver of a quantity that has bounds, or a tail; `base` for one with neither."""
    power, words = PLAIN, ""
    if quantity.kind in SKEWED and options.method in CHOOSES:
        power, words = chosen(X, quantity, options)
    scale = Scale.of(quantity, X, power)
    return OnScale(base, scale, words) if scale.changes else base


def chosen(X: Array, quantity: Quantity, options: Options) -> tuple[Power, str]:
    """The power under which hidden readings come out best, in the units of the readings; in words.

    Compared are the same hidden readings, on a part of the record: mean and root mean square error
    and the score of the intervals (width, and how far what they miss lies outside). A power has to
    be better by 3 % over all three, and not worse in mean error: powers of wind speeds were not.
    """
    some = _part(X, quantity)
    if some is None:
        return PLAIN, ""
    plain = _hidden(some, Scale.of(quantity, some), options)
    best, gain = PLAIN, 1.0
    for p in POWERS[1:]:
        power = fitting(p, some)
        other = _hidden(some, Scale.of(quantity, some, power), options)
        ratio = _ratio(plain, other, options.level)
        if ratio >= 1:
            break  # a stronger one will not mend it
        if ratio < min(BETTER, gain):
            best, gain = power, ratio
    if best == PLAIN:
        return best, "solved as read: on hidden readings no power of them was better"
    return best, f"solved on {best.name}: {100 * (1 - gain):.0f} % better on hidden readings"


def _part(X: Array, quantity: Quantity) -> Array | None:
    """Consecutive slots from the middle, of nodes that are heard there; None if too little."""
    enough = FEWEST // 10
    heard = np.count_nonzero(np.isfinite(X), axis=0)
    nodes = np.flatnonzero(heard >= max(enough, 0.2 * len(X)))
    if len(nodes) < 3:
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
    return some if some.shape[1] >= 3 and np.ptp(some[np.isfinite(some)]) > 0 else None


def _hidden(X: Array, scale: Scale, options: Options) -> Holdout | None:
    """Hidden readings and what became of them on a scale, one of each, in order."""
    Y = scale.forward(X)
    found = tried_quickly(Y, np.isfinite(Y), level=options.level, seed=options.seed)
    return None if found is None else scale.back_of(found)


def _some(found: Holdout, which: Array) -> Holdout:
    return Holdout(*(part[which] for part in vars(found).values()))


def _ratio(plain: Holdout | None, other: Holdout | None, level: float) -> float:
    """How far off `other` is over `plain` at the readings hidden from both; 1 if too few."""
    if plain is None or other is None or not len(plain.rows) or not len(other.rows):
        return 1.0
    width = int(max(plain.columns.max(), other.columns.max())) + 1
    keys = [found.rows.astype(np.int64) * width + found.columns for found in (plain, other)]
    _, a, b = np.intersect1d(keys[0], keys[1], return_indices=True)
    if len(a) < FEWEST:
        return 1.0
    mine, its = list(_losses(_some(plain, a), level)), list(_losses(_some(other, b), level))
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
