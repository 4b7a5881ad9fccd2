"""What a condition is decides how it is recovered: which solver, which tests, or none at all."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.faults import Context
from fieldmend.faults.stretches import stretches
from fieldmend.flags import Flag
from fieldmend.grid import Array, Grid
from fieldmend.quantities import Kind, Quantity, circle, counter
from fieldmend.quantities.behaviour import sampled
from fieldmend.quantities.power import PLAIN, Power
from fieldmend.quantities.scale import Scale
from fieldmend.recovery.circular import OnCircle
from fieldmend.recovery.counting import OnMeter
from fieldmend.recovery.skewed import OnScale, on_scale
from fieldmend.recovery.solving import ByModel, Solver
from fieldmend.recovery.storage import Storage
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.text import shown

log = logging.getLogger(__name__)

SAME = 1e-6  # readings of single precision
TOUCHING = 0.25  # of the nodes have been at a bound that was learnt from the readings
REST, AROUND = 0.05, 0.25  # of the usual range, next to a bound: a node is there, the others near


def solver_of(quantity: Quantity, base: Solver, X: Array, options: Options) -> Solver:
    """The solver for what a condition is, made of one that knows straight lines only.

    `X` are all readings of the condition: what has to be chosen for it is chosen here, once.
    """
    if quantity.kind is Kind.CIRCULAR:
        some = sampled(X)
        zero = circle.mean_direction(some, quantity.period)
        return OnCircle(base, quantity.period, zero, quantity.start, options.level, options.seed)
    if quantity.kind is Kind.ACCUMULATOR:
        amount = counter.counted(sampled(X)).amount
        amounts = Quantity(Kind.INTERMITTENT, low=0.0)
        return OnMeter(on_scale(base, amounts, amount, options), options.level, options.seed)
    return on_scale(base, quantity, X, options)


def taken_as(quantities: Mapping[str, Quantity]) -> list[str]:
    """Which conditions are not linear, in one sentence; nothing if all are."""
    by: dict[str, list[str]] = {}
    for name, quantity in quantities.items():
        if quantity.kind is not Kind.LINEAR:
            word = "passed through" if quantity.kind is Kind.PASSED else str(quantity.kind)
            by.setdefault(word, []).append(shown(name) + "?" * quantity.guessed)
    if not by:
        return []
    kinds = "; ".join(f"{word}: {', '.join(names)}" for word, names in by.items())
    return [f"taken as {kinds} (fieldmend inspect says why, --kind sets another)"]


def within_bounds(quantity: Quantity, base: Solver, X: Array) -> Solver:
    """The solver whose estimates stay within the bounds of what a condition is."""
    scale = Scale.of(quantity, X)
    return OnScale(base, scale) if scale.changes else base


def power_of(solver: Solver) -> Power:
    """The power of the readings that a solver solves."""
    scale = solver.scale.power if isinstance(solver, OnScale) else PLAIN
    base = solver.base if isinstance(solver, OnScale) else solver
    return base.fitted.view.power if scale == PLAIN and isinstance(base, ByModel) else scale


def on_its_scale(readings: Array, solver: Solver, context: Context) -> tuple[Array, Context]:
    """Readings on the scale they are solved on: there, what is usual is alike at all levels."""
    scale = power_of(solver)
    if scale == PLAIN:
        return readings, context
    low, high = scale.forward(np.array(context.quantity.possible)).tolist()
    quantity = replace(context.quantity, possible=(low, high))
    return scale.forward(readings), replace(context, quantity=quantity)


def at_rest(readings: Array, quantity: Quantity, found: Array | None = None) -> Array:
    """True where a reading stands at a bound and the others are not far from it.

    Light at night, humidity in fog, a calm: no fault, however long it lasts. A node at 0 while
    the others are not is not at rest. What is usual is told by readings that are not in question.
    """
    out = np.zeros(readings.shape, dtype=np.bool_)
    heard = np.isfinite(readings)
    if not quantity.bounded or not heard.any():
        return out
    sound = heard if found is None or not (heard & ~found).any() else heard & ~found
    low, high = np.quantile(readings[sound], (0.01, 0.99))
    some = heard.any(axis=1)
    middle = np.full(len(readings), np.nan)
    middle[some] = np.nanmedian(readings[some], axis=1)
    reach, around = REST * (high - low), AROUND * (high - low)
    with np.errstate(invalid="ignore"):
        for bound, sign in ((quantity.low, 1.0), (quantity.high, -1.0)):
            if np.isfinite(bound):
                there = np.abs(readings - bound) <= reach
                learnt = quantity.kind is Kind.POSITIVE and bound < 0
                if learnt and there.any(axis=0).mean() < TOUCHING:
                    continue  # where few ever are, no bound is, but their fault
                out |= there & (sign * (middle - bound) <= around)[:, None]
    return out


def resting(readings: Array, found: Array, quantity: Quantity) -> Array:
    """Stretches of `found` that are mostly at rest: no faults.

    Noise comes near a bound too, now and then; and one value is rest only to a node that at other
    times stays there more often than not. Most of a city's dust is near 0 beside its worst night,
    and 18 comes again, but does not stay.
    """
    rest = at_rest(readings, quantity, found) & found
    out = np.zeros_like(found)
    for n in np.flatnonzero(rest.any(axis=0)):
        at = np.flatnonzero(~np.isnan(readings[:, n]))
        column, marks = readings[at, n], found[at, n]
        for a, b in zip(*stretches(marks), strict=True):
            if 2 * np.count_nonzero(rest[at[a:b], n]) < b - a:
                continue
            value = column[a]
            stuck = b - a > 1 and np.abs(column[a:b] - value).max() <= SAME * abs(value)
            out[at[a:b], n] = not stuck or _stays(column[~marks], value)
    return out & found


def _stays(column: Array, value: float) -> bool:
    """Whether a node that reads a value reads it again at once, more often than not."""
    there = np.abs(column - value) <= SAME * abs(value)
    again = np.count_nonzero(there[1:] & there[:-1])
    return bool(there.any() and 2 * again >= np.count_nonzero(there))


def passed_through(grid: Grid, name: str, quantity: Quantity, storage: Storage) -> Recovered:
    """A label, an identifier, a sequence number: as it came, judged by nobody, nothing estimated.

    Its gaps are no lost readings.
    """
    X = grid.values[name]
    empty, zero = storage.array(X.shape), storage.array(X.shape)
    flag = storage.array(X.shape, np.int8)
    for block in blocks(*X.shape):
        empty[block], zero[block] = np.nan, 0.0
        lost = np.isnan(X[block])
        flag[block] = np.where(lost, np.int8(Flag.MISSING), np.int8(Flag.NOT_EVALUATED))
    note = f"passed through, not recovered: {quantity.reason} (another kind: --kind)"
    log.info("%s: %s", name, note)
    return Recovered(
        name=name, unit=quantity.unit, observed=X, estimate=empty, lower=None, upper=None,
        anomaly=zero, flag=flag, scale=np.zeros(X.shape[1]), method="passed", rank=0,
        gap=np.nan, status="no measurement", choice="", holdout=None, episodes=(), notes=(note,),
        quantity=quantity,
    )  # fmt: skip
