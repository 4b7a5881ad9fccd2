"""Faults do not know what time it is: what comes at the same hours of most days is no fault.

A sun fleck jumps out and back as a false reading does, nobody beside it sees it, and the next day
brings others, at the hours of the sun and never at night. A jam before one bottleneck is seen by no
other detector, and comes back at the hours of the rush.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
from scipy.special import bdtrc

from fieldmend.core.ranks import counted
from fieldmend.faults.events import DAY
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import (
    MAD,
    Array,
    Mask,
    bounded,
    middle,
    node_medians,
    slot_medians,
    stretches,
)

# Classes of the day; those next to an hour count as the hour, and the quietest third as quiet.
HOURS, QUIET = 24, 1 / 3
# Nodes that have to make such excursions, and how often chance may bring them on so many days.
NODES, CHANCE = 3, 0.1
# Excursions half as large are of the kind; quiet hours have them a quarter as often at the most.
ALIKE, SELDOM = 0.5, 0.25
# Share of the other days on which a node goes there at that hour, and how often chance may put so
# many of them there rather than a quarter, half or three quarters of a day later.
HABIT, BY_CHANCE = 0.1, 0.001
# Parts of a day that are such other times; readings half of which is one.
SHIFTS, SHORT = (0.25, 0.5, 0.75), 2


def daily(X: Any, flagged: Mask, context: Context) -> Mask:
    """Flagged readings of a kind that the hour brings: not false, whoever sees them.

    An excursion of a node is the hour's if, within an hour of its time of day, excursions half as
    large came on most of the other days (more than chance makes of one in two), at three nodes or
    more, and hours in which the network is quiet have them a quarter as often at the most. Or if
    the node itself, apart from what all do, goes half as far for half as long within an hour of
    that time on a tenth of the other days, more of them than chance puts there rather than at other
    times. A record of fewer than five days, or with slots longer than an hour, cannot tell.

    Parameters
    ----------
    X
        Slots × nodes, NaN = not observed.
    flagged
        Readings in question: all that a method flags, so that what is usual can be told.
    context
        Its slot length tells the hours.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(240, 4))
    >>> X[np.arange(240) % 24 < 8] = 0  # at night
    >>> fleck = np.zeros(X.shape, dtype=bool)
    >>> fleck[12::24] = True
    >>> X[fleck] += 50
    >>> bool(daily(X, fleck, Context(slot=3_600_000_000))[fleck].all())
    True
    """
    out = np.zeros(flagged.shape, dtype=np.bool_)
    a_day = DAY / context.slot if context.slot > 0 else 0.0
    days = int(len(flagged) // a_day) if a_day else 0
    if a_day < HOURS or bdtrc(days - 2, days - 1, 0.5) > CHANCE:
        return out
    values, _ = bounded(X)
    found = _excursions(values, flagged)
    if not len(found):
        return out
    clock = np.arange(len(values)) / a_day
    day, hour = clock.astype(int), (clock * HOURS).astype(int) % HOURS
    node, start, stop = (found[:, k].astype(int) for k in range(3))
    size = found[:, 3]
    quiet = _quiet(values, flagged, hour)
    heard = np.zeros((day[-1] + 1, HOURS), dtype=np.bool_)
    heard[day, hour] = ~np.isnan(values).all(axis=1)
    # The largest excursion of each day and hour, and of each node and hour.
    by_day, by_node = np.zeros(heard.shape), np.zeros((values.shape[1], HOURS))
    np.maximum.at(by_day, (day[start], hour[start]), size)
    np.maximum.at(by_node, (node, hour[start]), size)
    known, by_day, by_node = _around(heard), _around(by_day), _around(by_node)
    near = [_next_to(h) & ~quiet for h in range(HOURS)]
    sizes = [np.sort(size[part[hour[start]]]) for part in (quiet, *near)]
    hours = np.maximum([np.count_nonzero(heard[:, part]) for part in (quiet, *near)], 1)
    usual = ~quiet[hour[start]]
    for h in np.flatnonzero(~quiet).tolist():
        its = np.flatnonzero(hour[start] == h)
        least = ALIKE * size[its]
        other = known[:, [h]] & (np.arange(len(known))[:, None] != day[start[its]])
        came, asked = counted((other & (by_day[:, [h]] >= least)).T), counted(other.T)
        calm, busy = (
            (len(sizes[k]) - np.searchsorted(sizes[k], least)) / hours[k] for k in (0, h + 1)
        )
        usual[its] = (
            (came > 0)
            & (bdtrc(came - 1, asked.astype(int), 0.5) <= CHANCE)
            & (counted((by_node[:, [h]] >= least).T) >= NODES)
            & (calm <= SELDOM * busy)
        )
    own = _own(values, flagged)
    for its_own, group in groupby(np.flatnonzero(~usual).tolist(), key=lambda i: int(node[i])):
        habits, its = _Habits(own[:, its_own], a_day), np.array(list(group))
        short = stop[its] - start[its] <= SHORT
        for k in its[~short]:
            usual[k] = habits.have(int(start[k]), int(stop[k]))
        for length in range(1, SHORT + 1):
            some = its[short & (stop[its] - start[its] == length)]
            if some.size:
                usual[some] = habits.all_have(start[some], length)
    for n, a, b in zip(node[usual], start[usual], stop[usual], strict=True):
        out[a:b, n] = flagged[a:b, n]
    return out


def _own(values: Array, flagged: Mask) -> Array:
    """Readings without their node's level and without what most nodes do, each in its spread."""
    sound = np.where(flagged, np.nan, values)
    off = values - node_medians(sound)
    spread = MAD * node_medians(np.abs(np.where(flagged, np.nan, off)))
    scaled = np.divide(off, spread, out=np.full(off.shape, np.nan), where=spread > 0)
    return np.asarray(off - spread * np.nan_to_num(slot_medians(scaled))[:, None])


class _Habits:
    """What a node does again at an hour: looked up for each of its excursions, not looked for."""

    def __init__(self, own: Array, a_day: float) -> None:
        self.own, self.a_day, self.heard = own, a_day, _before(~np.isnan(own))
        self.hour = max(round(a_day / HOURS), 1)

    def have(self, start: int, stop: int) -> bool:
        """Whether it goes half as far for half as long around that hour, and hardly at others."""
        length = stop - start
        size = float(np.median(self.own[start:stop][~np.isnan(self.own[start:stop])]))
        days = np.arange(-(start // self.a_day) - 1, (len(self.own) - stop) // self.a_day + 2)
        days = days[days != 0]
        far = self._far(size, length)
        then, asked = self._came(far, start, length, days)
        if not then > HABIT * asked:
            return False
        total = then + sum(self._came(far, start, length, days + shift)[0] for shift in SHIFTS)
        return float(bdtrc(then - 1, total, 1 / (1 + len(SHIFTS)))) <= BY_CHANCE

    def all_have(self, start: Array, length: int) -> Mask:
        """The same of many excursions of one reading or two, which is what most are."""
        size = np.array(
            [middle(x[~np.isnan(x)]) for x in (self.own[a : a + length] for a in start)]
        )
        out = np.zeros(start.shape, dtype=np.bool_)
        last = len(self.own) // self.a_day + 1  # days before and after: any are within the record
        days = np.delete(np.arange(-last, last + 1), int(last))
        for side in (1.0, -1.0):
            at = np.flatnonzero(np.sign(size) == side)
            highest, least = self._highest(side, length), ALIKE * np.abs(size[at])
            then, asked = self._all_came(highest, least, start[at], length, days)
            often = then > HABIT * asked
            at, then, least = at[often], then[often], least[often]
            total = then + sum(
                self._all_came(highest, least, start[at], length, days + shift)[0]
                for shift in SHIFTS
            )
            out[at] = bdtrc(then - 1.0, total, 1 / (1 + len(SHIFTS))) <= BY_CHANCE
        return out

    def _all_came(
        self, highest: Array, least: Array, start: Array, length: int, days: Array
    ) -> tuple[Array, Array]:
        """Of each on how many of the other days it went as far, and on how many it was heard."""
        width = length + 2 * self.hour
        first = start[:, None] - self.hour + np.round(days * self.a_day).astype(np.intp)
        heard = _within(self.heard, first, width) >= 1
        far = highest[np.clip(first + width, 0, highest.size - 1)] >= least[:, None]
        return np.count_nonzero(far & heard, axis=1), np.count_nonzero(heard, axis=1)

    def _came(
        self, far: Callable[[Array], Mask], start: int, length: int, days: Array
    ) -> tuple[int, int]:
        """On how many of the other days it went as far, and on how many it was heard."""
        first = start - self.hour + np.round(days * self.a_day).astype(np.intp)
        heard = _within(self.heard, first, length + 2 * self.hour) >= (length + 1) // 2
        return int(np.count_nonzero(far(first[heard]))), int(np.count_nonzero(heard))

    def _far(self, size: float, length: int) -> Callable[[Array], Mask]:
        """Whether, in the hours from some slots on, it goes half as far for half as long."""
        width, half = length + 2 * self.hour, (length + 1) // 2
        count = _before(self.own * float(np.sign(size)) >= ALIKE * abs(size))
        return lambda first: _within(count, first, width) >= half

    def _highest(self, side: float, length: int) -> Array:
        """Of one reading or two, half of which is one, the highest of all hours is found once."""
        return _highest(self.own * side, length + 2 * self.hour)


def _before(marks: Mask) -> Array:
    """How many places before each are marked, and how many in all."""
    return np.concatenate([[0], np.cumsum(marks)])


def _within(before: Array, first: Array, width: int) -> Array:
    """How many are marked of so many places, those outside not counted."""
    low, high = (np.clip(at, 0, before.size - 1) for at in (first, first + width))
    return np.asarray(before[high] - before[low])


def _highest(values: Array, width: int) -> Array:
    """The largest number of each `width` places, from those just before the first one on."""
    out = np.pad(np.where(np.isnan(values), -np.inf, values), width, constant_values=-np.inf)
    span = 1
    while span < width:
        step = min(span, width - span)
        out = np.maximum(out[:-step], out[step:])
        span += step
    return out


def _excursions(values: Array, flagged: Mask) -> Array:
    """Node, first slot, one past the last, and the smaller of the jumps out and back."""
    found = []
    for n in np.flatnonzero(flagged.any(axis=0)):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        jump = np.abs(np.diff(values[at, n], prepend=np.inf, append=np.inf))
        for a, b in zip(*stretches(flagged[at, n]), strict=True):
            size = min(jump[a], jump[b])
            found.append((n, at[a], at[b - 1] + 1, size if np.isfinite(size) else 0.0))
    return np.array(found)


def _quiet(values: Array, flagged: Mask, hour: Array) -> Mask:
    """The third of the hours in which nodes move least, what was flagged left out."""
    move = np.abs(np.diff(np.where(flagged, np.nan, values), axis=0, prepend=np.nan))
    known = ~np.isnan(move)
    move = np.where(known, move, 0.0)
    usual = move.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    total, count = np.zeros(HOURS), np.zeros(HOURS)
    np.add.at(total, hour, (move / np.where(usual > 0, usual, 1.0)).sum(axis=1))
    np.add.at(count, hour, known.sum(axis=1))
    mean = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    order = np.argsort(mean, kind="stable")
    out = np.zeros(HOURS, dtype=np.bool_)
    out[order[: round(QUIET * HOURS)]] = True
    return out


def _next_to(hour: int) -> Mask:
    """An hour and those before and after it."""
    return np.asarray(np.isin(np.arange(HOURS), np.arange(hour - 1, hour + 2) % HOURS))


def _around(by_hour: Array) -> Array:
    """The largest of each hour and those next to it, round the clock."""
    sides = np.roll(by_hour, 1, axis=1), np.roll(by_hour, -1, axis=1)
    return np.asarray(np.maximum(by_hour, np.maximum(*sides)))
