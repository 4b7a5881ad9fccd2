"""Nodes that stand still from one slot to another, all the same slots: nobody measured.

A gateway or a database that repeats the last value, or writes 0, does so for many nodes. They begin
and end in one slot each, which what really rests does not: nights come again, calms are ragged.
Who comes to the end of its range by its usual steps, and leaves it so, has arrived: wind dies down.
"""

from __future__ import annotations

from math import exp

import numpy as np

from fieldmend.faults import history
from fieldmend.faults.events import DAY
from fieldmend.faults.labels import Context
from fieldmend.faults.runs import Runs, runs_of
from fieldmend.faults.stretches import Array, Mask

# Fewer nodes are no crowd; fewer equal readings may be one that was sent again.
NODES, READINGS = 3, 4
# How often a record may hold such a crowd by chance.
CHANCE = 0.01
# Share of the other days, or weeks, at whose same hours a node rests too: then it is its habit.
HABIT = 1 / 3
# Other days, or weeks, that can tell; and slots of a day that has hours.
DAYS, HOURS = 2, 4


def frozen(values: Array, context: Context, runs: Runs | None = None) -> Mask:
    """Runs of equal readings that three nodes or more begin together and end together.

    Asked of runs twice as long as 99 in 100 of the node and of the network are. A reading may be
    lost on either edge; a run may last to the end of the record, but not begin with it.
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    every = runs_of(values) if runs is None else runs
    long = every.of(np.flatnonzero(_unusual(every, values.shape)))
    long = long.of(np.argsort(long.first, kind="stable"))
    taken = np.zeros(long.node.size, dtype=np.bool_)
    for crowd in _crowds(long):
        crowd = crowd[~taken[crowd]]
        if not _by_chance(long.of(crowd), every, len(values)):
            each = [long.of(i) for i in crowd]
            odd = sum(not (_arrived(values, r) or _resting(values, r, context)) for r in each)
            # Who is often at rest is not now, if most of those who do the same are not.
            taken[crowd] |= odd >= NODES and 2 * odd > crowd.size
    for i in np.flatnonzero(taken):
        part = slice(long.first[i], long.last[i] + 1)
        out[part, long.node[i]] = ~np.isnan(values[part, long.node[i]])
    return out


def _unusual(runs: Runs, shape: tuple[int, ...]) -> Mask:
    """Long ones whose edges were seen."""
    if runs.node.size == 0:
        return np.zeros(0, dtype=np.bool_)
    usual = np.full(shape[1], np.quantile(runs.length, 0.99))
    long = (runs.length >= READINGS) & (runs.length > 2 * usual[runs.node])
    for n in np.unique(runs.node[long]):
        own = slice(*np.searchsorted(runs.node, (n, n + 1)))
        usual[n] = max(usual[n], np.quantile(runs.length[own], 0.99))
    seen = (runs.before >= 0) & (runs.first - runs.before <= history.LONGEST_GAP)
    seen &= runs.after - runs.last <= history.LONGEST_GAP
    return np.asarray(seen & long & (runs.length > 2 * usual[runs.node]))


def _crowds(runs: Runs) -> list[Array]:
    """Of runs in the order of their first slots those that may have begun and ended in one slot.

    The most first.
    """
    found = []
    for a, b in sorted(set(zip(runs.first.tolist(), runs.last.tolist(), strict=True))):
        low, high = np.searchsorted(runs.first, (a, a + history.LONGEST_GAP))
        near = np.arange(low, high)
        near = near[(runs.before[near] < a) & (runs.last[near] <= b) & (b < runs.after[near])]
        if near.size >= NODES:
            found.append(near)
    return sorted(found, key=lambda near: -near.size)


def _by_chance(crowd: Runs, every: Runs, slots: int) -> bool:
    """Whether so many runs may begin in one slot because runs are many, or a calm has set in.

    In a calm others stand still too, and share neither edge.
    """
    if crowd.node.size < NODES:
        return True
    shortest, a, b = int(crowd.length.min()), int(crowd.first.min()), int(crowd.last.max())
    others = np.count_nonzero(every.length >= shortest) - crowd.node.size
    if slots * _poisson(crowd.node.size, (others + 1) / slots) > CHANCE:
        return True
    about = (2 * every.length >= shortest) & (every.first <= b) & (every.last >= a)
    begun = (every.before < a) & (a <= every.first)
    ended = (every.last <= b) & (b < every.after)
    ragged = np.unique(every.node[about & (every.length > 1) & ~begun & ~ended])
    return int(np.setdiff1d(ragged, crowd.node).size) >= crowd.node.size


def _poisson(least: int, mean: float) -> float:
    """Chance of so many or more."""
    below, term = 0.0, exp(-mean)
    for k in range(least):
        below += term
        term *= mean / (k + 1)
    # What is left after rounding is at least the next term.
    return max(1.0 - below, term)


def _resting(values: Array, run: Runs, context: Context) -> bool:
    """Whether the node stands still, or comes to this value, at the same hours at other times.

    On a third of the other days or, for what rests on Sundays, weeks. Where hours are not known or
    too few other days are, nobody can tell, and it is held for rest.
    """
    day = round(DAY / context.slot) if context.slot > 0 else 0
    if 0 < day < HOURS:
        return False
    a, b = int(run.first), int(run.last) + 1
    column = values[:, int(run.node)]
    shares = []
    for period in (day, 7 * day) if day else ():
        apart = -(-(b - a) // period)  # its own end is no other day
        back, on = a // period, (len(values) - b) // period
        shifts = [*range(-back, 1 - apart), *range(apart, on + 1)]
        parts = [column[a + k * period : b + k * period] for k in shifts]
        rests = [_rests(part[~np.isnan(part)], column[a]) for part in parts if _heard(part)]
        if len(rests) >= DAYS:
            shares.append(sum(rests) / len(rests))
    return not shares or max(shares) >= HABIT


def _arrived(values: Array, run: Runs) -> bool:
    """Whether the node stands at the end of its range, and came and left by steps usual for it.

    A zero that somebody wrote into a breeze was not come to. Where a node ends up at other times
    too, it may come by one of its larger steps: all take it at once, so it is one draw.
    """
    column = values[:, int(run.node)]
    level, end = column[int(run.first)], int(run.after)
    if np.nanmin(column) < level < np.nanmax(column):
        return False
    elsewhere = np.concatenate([column[: int(run.first)], column[int(run.last) + 1 :]])
    known = bool((elsewhere == level).any())
    share = history.LARGE_STEP if known else history.USUAL_STEP
    usual = history.usual_step(column[~np.isnan(column)], share)
    edges = [column[int(run.before)], *column[end : end + 1]]
    return all(abs(edge - level) <= usual for edge in edges)


def _heard(part: Array) -> bool:
    """Whether at least half of it was."""
    return bool(2 * np.count_nonzero(~np.isnan(part)) >= part.size)


def _rests(part: Array, level: float) -> bool:
    still = 2 * int(history.repeats(part).length.max()) >= part.size
    return bool(still or (np.abs(part - level) <= 2e-7 * abs(level)).any())
