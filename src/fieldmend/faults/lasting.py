"""Stuck, noisy, displaced, runaway, drifting nodes: masked before the field is estimated.

A fault that lasts is a component of its own to any low-rank method. So first each node is
held against its own past, which needs no field; then what is left against what the others imply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldmend.core.ranks import quantiles
from fieldmend.faults.answers import estranged
from fieldmend.faults.astray import absurd, displaced, runaway, strayed
from fieldmend.faults.battery import on_low_battery
from fieldmend.faults.events import (
    DAY,
    WITNESSES,
    keeps_its_distance,
    local,
    mostly,
    recurrent,
    shared,
)
from fieldmend.faults.frozen import frozen
from fieldmend.faults.gains import rescaled
from fieldmend.faults.gross import (
    at_its_stops,
    beyond,
    flat,
    noisy,
    often_told,
    railed,
    saturated,
    stuck,
    unreal,
)
from fieldmend.faults.implied import Implied, by_median, implied
from fieldmend.faults.labels import Context
from fieldmend.faults.levels import shifted
from fieldmend.faults.own_ways import as_rough, own_ways
from fieldmend.faults.ramps import ramped
from fieldmend.faults.relayed import relayed
from fieldmend.faults.remembered import Expect, elsewhere
from fieldmend.faults.runs import runs_of
from fieldmend.faults.seen_too import by_conditions, seen_too
from fieldmend.faults.settling import settled
from fieldmend.faults.shifts import FEWEST_DAYS, highest
from fieldmend.faults.stretches import (
    Array,
    Mask,
    bounded,
    grown,
    joined,
    resolution,
    rolling,
    stretches,
)
from fieldmend.faults.tied import by_tied
from fieldmend.faults.trembling import trembling
from fieldmend.quantities import Kind

# With fewer nodes nobody can say who is wrong.
FEWEST_NODES = 3
# Slots over which a departure from the others is averaged, and the least |mean z| that counts.
SMOOTH, LOW, HIGH = 15, 2.0, 4.5
# Part of a record that a departure lasts, at the most, if only what single nodes do makes it one.
BRIEF = 0.1
# Departures are looked for again with the last ones left out.
PASSES = 2
# One node that has moved far hides the next.
ROUNDS = 4
# Share of its last readings that a node has to be off to be given up.
OFF = 0.75


def persistent(X: Any, context: Context | None = None) -> Mask:
    """Readings in stretches of a lasting fault: stuck, noisy, displaced, dead, drifting.

    Parameters
    ----------
    X
        Slots × nodes, NaN = not observed.
    context
        Labels and companions; its slot length tells what recurs daily.

    Returns
    -------
    ndarray of bool
        True for readings to leave out when the field is estimated; False where nothing was
        observed, and everywhere with fewer than three nodes.

    Notes
    -----
    Time O(T·N·r²) with r ≤ 4, memory a few times that of X. Deterministic.

    Examples
    --------
    >>> import fieldmend as fm
    >>> from fieldmend import faults
    >>> net = fm.simulate.network(400, 20, field="temperature", anomaly="stuck", sampling=1, seed=3)
    >>> found = faults.persistent(net.readings)
    >>> round(fm.metrics.detection(found, net.support).recall, 1)
    1.0
    """
    return search(X, context).faults


@dataclass(frozen=True)
class Search:
    """Readings in lasting stretches, by what they are.

    Attributes
    ----------
    faults
        To leave out when the field is estimated.
    events
        Off as a fault would be, but others saw it too.
    gross
        Those of them that need no witness and may bear none: stuck, noisy, impossible, absurd.
    frozen
        Those of them that many nodes share: nobody measured, so others at the same value excuse
        nobody.
    since
        Those of them that only a model of earlier days accuses: no reading at hand need be sound.
    habit
        Whether nodes here change their level for good now and then.
    """

    faults: Mask
    events: Mask
    gross: Mask
    frozen: Mask
    since: Mask
    habit: bool = False


def search(X: Any, context: Context | None = None, expect: Expect | None = None) -> Search:
    """Lasting faults, and what would be one had nobody else seen it; as `persistent`.

    A model of earlier days may be asked what it expects: it knows who stood where before.
    """
    context = context or Context()
    values, power = bounded(X)
    observed = ~np.isnan(values)
    nothing = np.zeros(values.shape, dtype=np.bool_)
    gross = beyond(np.ldexp(values, int(power)), context.quantity.possible)
    if values.shape[0] == 0 or values.shape[1] < FEWEST_NODES:
        return Search(gross, nothing, gross, nothing, nothing)
    tests = context.quantity.tests
    gone = gross.copy()
    # Where many are saturated nobody is stuck or departs, and what is usual is told by other times.
    full = saturated(np.ldexp(values, int(power)), context.quantity)
    still, together = _still(values, gross, full, context)
    gross |= still
    gross |= _wild(values, gross, context)
    found, by_itself, judged = gross.copy(), gross, nothing
    field, habit = None, False
    if tests.drift:
        found |= absurd(values, found)  # those too that another condition of the node speaks for
        jumped = displaced(values, found)
        found |= jumped
        gone |= runaway(values, found, context)
        if context.quantity.kind is Kind.LINEAR:
            gone |= strayed(values, found)
        found |= gone
        by_itself = found.copy()
        free = np.where(full, np.nan, values) if full.any() else values
        moved = _moved(free, found, context)
        gone, found, habit = gone | moved.found, found | moved.found, moved.habit
        departures, field = _departures_of(free, found, gone, context, moved.field)
        found |= departures
        found &= ~undecided(found & ~by_itself, observed & ~found)
        if habit:  # up by one change and down by another is out and back
            accused = found & ~(by_itself & ~jumped)
            found &= ~_for_days(accused, observed, context) | on_low_battery(accused, context)
        away, judged = found & ~gross, moved.alone
        found &= ~settled(values, away) | on_low_battery(away, context)
    found = given_up(found, observed) & observed
    with np.errstate(over="ignore", invalid="ignore"):
        events = seen_too(
            values, found, context, gross, field=field, by_itself=by_itself, judged=judged
        )
    found = _accused(values, found & ~events, gross, context, habit=habit)
    told = Search(found, events, gross, together, nothing, habit)
    return _with_model(told, np.ldexp(values, int(power)), expect, context)


def _with_model(found: Search, values: Array, expect: Expect | None, context: Context) -> Search:
    """What is found, and who is elsewhere than a model of earlier days expects, if there is one.

    Who else moved is asked there.
    """
    if expect is None or not context.quantity.tests.drift:
        return found
    since = elsewhere(values, expect, found.faults, context) & ~found.faults
    faults, events = found.faults | since, found.events & ~since
    return replace(found, faults=faults, events=events, since=since)


def _accused(values: Array, found: Mask, gross: Mask, context: Context, *, habit: bool) -> Mask:
    """Without those whom the others do not know, and who do what the others do themselves."""
    away = found & ~gross
    if not away.any():
        return found
    excused = own_ways(np.where(gross, np.nan, values), away, habit=habit)
    return found & (~excused | on_low_battery(away, context))


def _still(values: Array, gross: Mask, full: Mask, context: Context) -> tuple[Mask, Mask]:
    """Readings that repeat for too long, and those of them that many nodes repeat together."""
    if not context.quantity.tests.stuck:
        return np.zeros_like(gross), np.zeros_like(gross)
    if context.quantity.kind is Kind.INTERMITTENT:
        return stuck(values, often_told(values)), np.zeros_like(gross)
    if context.quantity.kind is Kind.MIXED:
        return stuck(values, at_its_stops(values)), np.zeros_like(gross)
    runs = runs_of(values)
    together = (frozen(values, context, runs) | relayed(values, context.quantity, runs)) & ~full
    out = stuck(values, foot=context.quantity.kind is Kind.POSITIVE) & ~full
    out |= (flat(values, gross | out) | railed(values)) & ~full
    return out | together, together


def _wild(values: Array, gross: Mask, context: Context) -> Mask:
    """Noisy, far off in one jump, absurd: no witness is asked about these either."""
    tests, gross = context.quantity.tests, gross.copy()
    if tests.noisy:
        # A node is not noisy because it was dead for the rest of the record.
        rough = noisy(np.where(gross, np.nan, values), context)
        rough |= trembling(values, gross | rough, context)
        gross |= rough & ~as_rough(np.where(gross, np.nan, values), rough)
    if tests.drift:
        # Two gauges that read 350 m for an hour are no witnesses to each other.
        far = absurd(values, gross)
        # Only of what is known to be linear: smoke and light do such things.
        if context.quantity.kind is Kind.LINEAR and context.quantity.what:
            far |= unreal(values, gross)
        gross |= far & ~_accompanied(values, far, context)
    return gross


@dataclass(frozen=True)
class _Moved:
    """Readings of nodes that left their level for long.

    Attributes
    ----------
    found
        All of them.
    alone
        Those whose likest nodes saw nothing of it.
    field
        What the others imply without them.
    habit
        Whether nodes here do so by habit: then nobody is accused of it.
    """

    found: Mask
    alone: Mask
    field: Implied
    habit: bool


def _moved(values: Array, left_out: Mask, context: Context) -> _Moved:
    """Nodes that left their level for long, looked for again with the last ones left out."""
    alone, habit = estranged(values, left_out, context)
    out = alone.copy()
    field = implied(values, ~np.isnan(values) & ~left_out & ~out)
    for _ in range(0 if habit else ROUNDS):
        false = left_out | out
        fresh = shifted(values, field, false, context) | ramped(values, field, false, context)
        fresh &= ~false
        if not fresh.any():
            break
        out |= fresh
        field = implied(values, ~np.isnan(values) & ~left_out & ~out)
    if not habit:
        fresh = rescaled(values, field, left_out | out, context)
        if fresh.any():
            alone, out = alone | fresh, out | fresh
            field = implied(values, ~np.isnan(values) & ~left_out & ~out)
    return _Moved(out, alone, field, habit)


def undecided(accused: Mask, others: Mask) -> Mask:
    """Stretches in which those whom the others accuse are more than these others, for most of it.

    After a harvest of four hives in five, any of them is far from what some of the others imply.
    """
    return mostly((accused.sum(axis=1) > others.sum(axis=1))[:, None] & accused, accused)


def _for_days(accused: Mask, observed: Mask, context: Context) -> Mask:
    """Stretches that last for a day or longer, whatever was lost of them."""
    out = np.zeros(accused.shape, dtype=np.bool_)
    day = DAY / context.slot if context.slot > 0 else len(accused) / FEWEST_DAYS
    for n in np.flatnonzero(accused.any(axis=0)):
        at = np.flatnonzero(observed[:, n])
        for a, b in zip(*stretches(joined(accused[at, n], SMOOTH)), strict=True):
            out[at[a:b], n] = at[b - 1] - at[a] >= day
    return out & accused


def _departures_of(
    values: Array, found: Mask, gone: Mask, context: Context, field: Implied
) -> tuple[Mask, Implied]:
    """Departures from what the others imply, looked for again with the last ones left out.

    `field` is what they imply without those that are found, and so is what comes back of it. The
    edges of a departure are soft: with the worst left out, the next pass sees more of it.
    """
    found, gone = found.copy(), gone.copy()
    for turn in range(PASSES):
        if turn:
            field = implied(values, ~np.isnan(values) & ~found)
        fresh = departed(values, found, gone, context, field) & ~gone
        if not fresh.any():
            break
        gone |= fresh
        found |= fresh
    return found, field


def _accompanied(values: Array, far: Mask, context: Context) -> Mask:
    """Where another condition of the node departs around the same time: steam is hot and wet."""
    if not far.any() or not context.companions:
        return np.zeros_like(far)
    around = rolling(far.astype(float), 2 * SMOOTH + 1) > 0
    return by_conditions(values, around & ~np.isnan(values), context, np.zeros_like(far))


def departed(values: Array, left_out: Mask, gone: Mask, context: Context, field: Implied) -> Mask:
    """Stretches in which a node leaves what the others imply, further than the network's nodes do.

    Two witnesses are asked: `field`, and the plain median of the slot's nodes, which a third of
    them cannot lead astray. Each is measured by itself: where it explains nodes badly, they wander
    from it, and it accuses nobody.
    """
    middle = by_median(values, ~np.isnan(values) & ~left_out)
    out = _departed(values, left_out, gone, context, field)
    # A node that is accused as it is may have a wrong level: it is asked about in the next pass.
    level = ~(out & ~gone).any(axis=0)
    none = np.zeros_like(gone)
    return out | _brief(_departed(values, left_out, none, context, middle) & level)


def _departed(values: Array, left_out: Mask, gone: Mask, context: Context, field: Implied) -> Mask:
    """The same by one witness.

    z = residual/spread; |mean₁₅ z| has to exceed max(4.5, q95·(q95/q75)^2.5) of the network's own
    |mean₁₅ z|, or hold one of the readings that are `gone`; or be farther than hardly a node of so
    many would go (`highest`), in what is brief enough to ask others about. The stretch reaches as
    far as |mean₁₅ z| > max(2, q90). Nothing is said where neighbours depart with it (a local
    event), or where fewer than half of the nodes heard are trusted.
    """
    trusted = ~np.isnan(values) & ~left_out
    heard = (~np.isnan(values)).sum(axis=1)
    decided = (trusted.sum(axis=1) >= 0.5 * heard)[:, None]
    # A departure smaller than what the sensor can tell apart is none.
    z = np.clip(field.residual / np.maximum(field.spread, resolution(values)), -1e4, 1e4)
    known = ~np.isnan(z) & decided
    # What was found already must not make its neighbours look bad.
    usual = known & ~left_out
    mean = _rolling_mean(z, usual)
    low, high = _limits(np.abs(mean[usual]))
    out = _departures(z, mean, known, gone, (low, high))
    top = np.where(usual, np.abs(mean), 0.0).max(axis=0)
    crowd = values.shape[1] >= 2 * WITNESSES  # of fewer, half says little
    if crowd and (less := max(HIGH, highest(top))) < high:
        out |= _brief(_departures(z, mean, known, gone, (low, less)) & ~out)
    fresh = out & ~gone
    if not fresh.any():
        return out
    readings = np.where(left_out, np.nan, values)
    nearby = local(np.where(left_out, 0.0, mean), low, context, readings)
    together = shared(fresh, mean, left_out) | mostly(nearby, fresh)
    together |= keeps_its_distance(fresh, values, left_out)
    together &= ~on_low_battery(fresh, context)
    if together.any():
        together &= ~by_tied(out | left_out, values, left_out)
    return out & ~together & ~recurrent(fresh, mean, context)


def _brief(found: Mask) -> Mask:
    """Stretches of which a record holds enough for others to be asked: a tenth at the most."""
    out = np.zeros_like(found)
    for n in np.flatnonzero(found.any(axis=0)):
        for a, b in zip(*stretches(joined(found[:, n], SMOOTH)), strict=True):
            out[a:b, n] = found[a:b, n] & (b - a <= BRIEF * len(found))
    return out


def _departures(
    z: Array, mean: Array, known: Mask, gone: Mask, limits: tuple[float, float]
) -> Mask:
    """Stretches with a mean beyond the upper limit, or `gone`, as far as the lower one."""
    low, high = limits
    out = np.zeros(z.shape, dtype=np.bool_)
    core = (np.abs(mean) > high) | gone
    for n in np.flatnonzero((core & known).any(axis=0)):
        at = np.flatnonzero(known[:, n])
        hull = joined((np.abs(mean[at, n]) > low) | gone[at, n], SMOOTH // 2)
        for a, b in zip(*stretches(grown(core[at, n], hull)), strict=True):
            out[at[a:b], n] = _off(np.abs(z[at[a:b], n]), low)
    return out


def _off(sizes: Array, low: float) -> Mask:
    """Within a departure the runs that are off, by a third of its peak at least once.

    The mean over 15 slots blurs edges, and a node's usual wandering beside a fault is no fault.
    """
    runs = joined(sizes > low, SMOOTH // 2)
    if runs.sum() < SMOOTH // 2:
        return np.zeros_like(runs)
    return grown(runs & (sizes > sizes.max() / 3), runs)


def _rolling_mean(z: Array, known: Mask) -> Array:
    """Mean of the known z around each slot; at least a fifth of the window counts as known."""
    share = rolling(known.astype(float), SMOOTH)
    total = rolling(np.where(known, z, 0.0), SMOOTH)
    return np.where(known, total / np.maximum(share, 0.2), 0.0)


def _limits(sizes: Array) -> tuple[float, float]:
    """The least size that belongs to a departure, and the size that makes one."""
    if sizes.size == 0:
        return np.inf, np.inf
    q75, q90, q95 = quantiles(sizes, 0.75, 0.9, 0.95)
    return max(LOW, q90), max(HIGH, q95 * (q95 / q75) ** 2.5 if q75 > 0 else np.inf)


def given_up(found: Mask, observed: Mask) -> Mask:
    """Nodes that were off for three quarters of the time until their last reading: off throughout.

    A dying node's readings cross the field now and then; they are no better than the others. But
    from where on: at any time since then it had been off for a quarter of it. What happened once,
    long before it failed, is not the beginning of it.
    """
    out = found.copy()
    for n in np.flatnonzero(found.any(axis=0)):
        at = np.flatnonzero(observed[:, n])
        marks = found[at, n]
        if not marks[-1]:
            continue
        share = np.cumsum(marks[::-1])[::-1] / np.arange(at.size, 0, -1)
        # By how much it was off for longer than a quarter of the time, so far.
        off = np.concatenate([[0.0], np.cumsum(np.where(marks, OFF, OFF - 1))])
        least = np.minimum.accumulate(off[::-1])[::-1]
        start, _ = stretches(marks)
        enough = at.size - start >= 2 * SMOOTH
        lost = start[(share[start] >= OFF) & (least[start] >= off[start]) & enough]
        if lost.size:
            out[at[lost[0] :], n] = True
    return out
