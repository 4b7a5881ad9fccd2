"""What others see too is an event: witnesses among the nodes, and other conditions of the node.

A departure of one node is held against what its companions did around that time, earlier or later.
Each companion is its own measure: it bears witness if it went as far, to the same side, in hardly
any other stretch of its record. How far that is does not matter: an event is seen in any degree.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import bdtrc, pdtrc

from fieldmend import geo
from fieldmend.faults.battery import is_battery, on_low_battery
from fieldmend.faults.events import DAY, WITNESSES, recurrent
from fieldmend.faults.excursions import LAG, Course, Went, window_medians
from fieldmend.faults.foretold import LONG, foretold
from fieldmend.faults.implied import Implied, implied
from fieldmend.faults.labels import Context
from fieldmend.faults.neighbours import companions, correlations
from fieldmend.faults.stretches import (
    Array,
    Mask,
    bounded,
    grown,
    joined,
    middle,
    node_medians,
    rolling,
    slot_medians,
    stretches,
)
from fieldmend.faults.tied import by_tied
from fieldmend.faults.who_moved import OthersMoved

# A departure is an event if companions go as far together as chance makes them this rarely. Single
# false readings are many and what happens mostly lasts, so one or two readings ask for more.
CHANCE, OF_A_SPIKE = 0.02, 0.005
# Where most departures are events, the next one is probably too: up to so many times less is asked.
LENIENT = 4.0
SPIKE = 2
# Of each node the five nearest and the five most alike, and a wider circle of up to twice forty:
# the sun, a plume and a queue do not ask who is near.
NEAR, WIDE = 5, 40
# Share of those who may go the other way: nodes that fail together go anywhere.
AGAINST = 1 / 3
# A witness goes this part of the node's way, each in its own spread, in so many stretches at most.
COMPARABLE, RARE = 0.25, 0.1
SAME_SENSOR = 0.9
# Others that are in an event meanwhile.
OTHERS = 2


def seen_too(
    values: Array,
    flagged: Mask,
    context: Context,
    mute: Mask,
    *,
    field: Implied | None = None,
    by_itself: Mask | None = None,
    judged: Mask | None = None,
) -> Mask:
    """Flagged readings in stretches that others see too: events, not faults.

    Parameters
    ----------
    values
        Slots × nodes.
    flagged
        Readings in question.
    context
        Places, where known: companions are the five nearest nodes and the five most alike.
    mute
        Readings that are certainly false (stuck, impossible): they are no events, and they bear
        no witness.
    field
        What the others imply, if it is at hand; used if it leaves out the flagged ones, no others.
    by_itself
        Readings that their node's own past accuses: whoever else moved, it did. Of few nodes, two
        that move at once are an event all the same.
    judged
        Readings whose likest nodes were asked already: a wrong gain is more of what all see.

    Returns
    -------
    ndarray of bool
        Without stretches that hold a muted reading or begin on a low battery: a node that fails
        takes all its conditions along.
    """
    seen = _by_nodes(
        values, flagged, context, mute, field=field, by_itself=by_itself, judged=judged
    )
    if seen.any():  # who fails does not know what time it is
        tied = by_tied(flagged, values, flagged)
        seen &= ~tied | recurrent(flagged, flagged.astype(np.float64), context)
    return _or_by_conditions(seen, values, flagged, context, mute)


def _or_by_conditions(
    seen: Mask, values: Array, flagged: Mask, context: Context, mute: Mask
) -> Mask:
    seen = seen | by_conditions(values, flagged & ~seen, context, mute)
    return seen & ~on_low_battery(seen, context)


def spared(X: Any, flagged: Mask, context: Context, gross: Mask | None = None) -> Mask:
    """Those of any method's flagged readings that others see too: events, to be kept.

    Nodes that always depart together bear witness here: a method that has flagged every rush hour
    has flagged it at the same places each day.

    Parameters
    ----------
    X
        Slots × nodes, NaN = not observed.
    flagged
        What was flagged.
    context
        Labels, places, companion conditions.
    gross
        Readings that are false whatever others see (`Search.gross`).

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> import fieldmend as fm
    >>> from fieldmend import faults
    >>> road = fm.simulate.happening("rush", days=5, seed=1)
    >>> kept = faults.spared(road.readings, road.event, faults.Context(slot=road.slot))
    >>> bool(kept[road.event].mean() > 0.9)
    True
    """
    values, _ = bounded(X)
    mute = np.zeros(flagged.shape, dtype=np.bool_) if gross is None else gross
    with np.errstate(over="ignore", invalid="ignore"):
        asked = flagged & ~np.isnan(values)
        seen = _by_nodes(values, asked, context, mute)
        return _or_by_conditions(seen, values, asked, context, mute)


def _by_nodes(
    values: Array,
    flagged: Mask,
    context: Context,
    mute: Mask,
    *,
    field: Implied | None = None,
    by_itself: Mask | None = None,
    judged: Mask | None = None,
) -> Mask:
    """Stretches that other nodes see, in their departures or in their readings."""
    out = np.zeros(flagged.shape, dtype=np.bool_)
    asked = flagged & ~mute
    if not asked.any() or values.shape[1] < 3:
        return out
    sound = np.where(mute, np.nan, values)
    field = implied(values, ~np.isnan(values) & ~flagged, field)
    departure = np.where(mute, np.nan, field.residual / field.spread)
    singles = _singles(values, departure, asked)
    usual = _without_habit(sound, context)
    courses = Course(departure, alone=False), Course(usual, alone=True)
    lasting = tuple(
        Course(np.where(singles != 0, np.nan, course.values), alone=course.alone)
        for course in courses
    )
    near, wide = _companions(sound, context, (NEAR, WIDE))
    often = {sign: (singles == sign).mean(axis=0) for sign in (1, -1)}
    at, sides = [], []
    for n, a, b in _stretches(values, asked, mute):
        at.append((a, b, n))
        sides.append(int(middle(departure[a:b, n][asked[a:b, n]]) < 0))
    lone = [bool((singles[a:b, n] != 0)[asked[a:b, n]].all()) for a, b, n in at]
    some = [i for i, single in enumerate(lone) if single]
    rest = [i for i, single in enumerate(lone) if not single]
    chance = np.ones(len(at))
    calm = [
        near[n][~singles[max(a - LAG, 0) : b + LAG, near[n]].any(axis=0)]
        for a, b, n in (at[i] for i in some)
    ]
    chance[some] = _least(
        courses, [at[i] for i in some], [sides[i] for i in some], (calm,), OF_A_SPIKE
    )
    for i in some:
        a, b, n = at[i]
        sign = 1 - 2 * sides[i]
        its = _coincide(singles[a:b, near[n]] == sign, often[sign][near[n]])
        chance[i] = min(chance[i], its)
    circles = tuple([circle[at[i][2]] for i in rest] for circle in (near, wide))
    chance[rest] = _least(lasting, [at[i] for i in rest], [sides[i] for i in rest], circles, CHANCE)
    for least, group in ((CHANCE, rest), (OF_A_SPIKE, some)):
        limit = least * _odds(chance[group] <= least)
        for i in group:
            if chance[i] <= limit:
                a, b, n = at[i]
                out[a:b, n] = asked[a:b, n]
    out |= _amid_events(out, asked, departure < 0, [(at[i], sides[i]) for i in rest])
    if judged is not None:
        out &= ~judged
    residual = np.where(mute, np.nan, field.residual)
    left = asked & ~out
    if by_itself is not None and values.shape[1] > WITNESSES:
        for n in map(int, np.flatnonzero(left.any(axis=0))):
            left[:, n] &= ~grown(by_itself[:, n] & asked[:, n], asked[:, n])
    return out | _as_others_moved(lasting[1].values, residual, left, judged)


def _amid_events(
    events: Mask, asked: Mask, below: Mask, parts: list[tuple[tuple[int, int, int], int]]
) -> Mask:
    """Readings in question of stretches, with their sides, that go along with others' events."""
    out = np.zeros(events.shape, dtype=np.bool_)
    for (a, b, n), side in parts:
        if events[a:b, n].any():
            continue
        about = slice(max(a - LAG, 0), b + LAG)
        alike = events[about] & (below[about] == side)
        alike[:, n] = False
        if _amid(alike, min(a, LAG), b - a):
            out[a:b, n] = asked[a:b, n]
    return out


def _amid(events: Mask, start: int, length: int) -> bool:
    """Whether two others are in an event for half of a stretch, some slots earlier or later.

    Who departs while others are known to do so for a reason, to the same side, has the same one.
    """
    there = events.any(axis=0)
    if np.count_nonzero(there) < OTHERS:
        return False
    near = rolling(events[:, there].astype(float), 2 * LAG + 1) > 1e-9
    return bool((near[start : start + length].sum(axis=1) >= OTHERS).mean() >= 0.5)


def _as_others_moved(values: Array, residual: Array, asked: Mask, judged: Mask | None) -> Mask:
    """Readings in question that are off since, or until, the others moved."""
    out = np.zeros(asked.shape, dtype=np.bool_)
    moved = OthersMoved(values)
    known = np.zeros_like(asked) if judged is None else asked & judged
    for part, whole in ((asked & ~known, False), (known, True)):
        for n in map(int, np.flatnonzero(part.any(axis=0))):
            out[:, n] |= moved(n, residual[:, n], part[:, n], whole=whole)
    return out


def _odds(seen: Mask) -> float:
    """How many times less is asked where most departures have turned out to be events."""
    events = np.count_nonzero(seen)
    return min(max((events + 1) / (seen.size - events + 1), 1.0), LENIENT)


def _singles(values: Array, departure: Array, asked: Mask) -> Array:
    """Readings in question that stand alone or in twos: 1 above what was expected, −1 below."""
    return np.where(alone(values, asked), np.where(departure < 0, -1, 1), 0).astype(np.int8)


def alone(readings: Array, flagged: Mask) -> Mask:
    """Those of the flagged readings that stand alone or in twos among what their node sent.

    Such a one in the midst of an event is judged by itself: a harvest excuses no spike.

    Examples
    --------
    >>> marks = np.array([[True], [False], [False], [True], [True], [True]])
    >>> alone(np.zeros((6, 1)), marks).T.astype(int)
    array([[1, 0, 0, 0, 0, 0]])
    """
    out = np.zeros(flagged.shape, dtype=np.bool_)
    for n in np.flatnonzero(flagged.any(axis=0)):
        heard = np.flatnonzero(~np.isnan(readings[:, n]))
        for a, b in zip(*stretches(flagged[heard, n]), strict=True):
            out[heard[a:b], n] = b - a <= SPIKE
    return out


def _coincide(alike: Mask, often: Array) -> float:
    """How often chance makes as many companions have a single of this sign at the very time.

    `alike` are the slots in question, `often` each companion's share of such singles. Singles are
    no witnesses but then: where many readings are false, some are near in time.
    """
    together = np.count_nonzero(alike.any(axis=0))
    expected = float(often.sum()) * len(alike)
    return float(pdtrc(together - 1, expected)) if together else 1.0


def _stretches(values: Array, asked: Mask, mute: Mask) -> Iterator[tuple[int, int, int]]:
    """Node, first slot and one past the last of each stretch without a muted reading."""
    for n in np.flatnonzero(asked.any(axis=0)):
        marks = _bridged(asked[:, n] | mute[:, n], values[:, n])
        for a, b in zip(*stretches(marks), strict=True):
            if not mute[a:b, n].any():
                yield int(n), int(a), int(b)


def by_conditions(values: Array, flagged: Mask, context: Context, mute: Mask) -> Mask:
    """Stretches of three readings or more in which another condition of the node departs too.

    One or two are a corrupt packet, but not in days, where other conditions foretell them. A
    condition that goes with this one at all times (the hour's mean and its maximum) is of the same
    sensor and bears no witness, nor does a battery.
    """
    out = np.zeros(flagged.shape, dtype=np.bool_)
    asked = flagged & ~mute
    others = [
        part
        for name, part in context.companions.items()
        if np.shape(part) == values.shape and not is_battery(name)
    ]
    brief = context.slot < LONG
    some = [
        (n, a, b)
        for n, a, b in (_stretches(values, asked, mute) if others else ())
        if not brief or np.count_nonzero(asked[a:b, n]) > SPIKE
    ]
    if not some:
        return out
    others = [_relative(np.asarray(part, dtype=np.float64)) for part in others]
    own = _relative(np.where(mute, np.nan, values))
    for n, its in groupby(some, key=itemgetter(0)):
        columns = np.column_stack([own[:, n], *(part[:, n] for part in others)])
        quiet = np.where(flagged[:, [n]], np.nan, columns)
        # Not their levels: warm air is dry, by two sensors. Their smallest moves.
        alike = correlations(np.diff(quiet, axis=0))[0, 1:] > SAME_SENSOR
        if alike.all():
            continue
        columns = columns[:, [True, *~alike]]
        course = Course(columns, alone=True, either=True)
        theirs = np.arange(1, course.values.shape[1])
        for _, a, b in its:
            these = a + np.flatnonzero(asked[a:b, n])
            if len(these) > SPIKE:
                share = course(*_top(columns[:, 0], a, b), 0, theirs).same.min()
                seen = bool(bdtrc(0, theirs.size, share) <= CHANCE)
            else:
                seen = foretold(columns, flagged[:, n], these)
            out[these, n] = seen
    return out


def _relative(values: Array) -> Array:
    """Readings minus their node's level and what the network does in the slot."""
    deviation = values - node_medians(values)
    if values.shape[1] < 3:
        return np.asarray(deviation)
    return np.asarray(deviation - slot_medians(deviation)[:, None])


def _least(
    courses: tuple[Course, ...],
    at: list[tuple[int, int, int]],
    sides: list[int],
    circles: tuple[list[Array], ...],
    enough: float,
) -> Array:
    """Of each stretch the least chance over circles of companions and courses.

    None further once one is small. To the side of its departure in the first course, in the other
    to its own.
    """
    least = np.ones(len(at))
    for near in circles:
        for course, given in zip(courses, (True, False), strict=True):
            left = np.flatnonzero(least > enough)
            asked = course.each(
                [at[i] for i in left],
                [near[i] for i in left],
                [sides[i] if given else None for i in left],
                COMPARABLE,
            )
            for k, went in asked:
                least[left[k]] = min(least[left[k]], by_chance(went, LENIENT * enough))
    return least


def by_chance(went: Went, most: float = 1.0) -> float:
    """How often chance makes as many companions go as far: the least over how many are counted.

    Each companion's share of other stretches in which it went as far is a probability. The k
    smallest of m are no larger than the k-th as often as a binomial says. A witness goes a part of
    the way and does so rarely: a false node moves what the others imply for each other a little,
    and all at once. At most a third as many may go the other way; where it is more than `most`
    anyway, nobody asks who did.
    """
    witness = went.size >= COMPARABLE
    if witness.any():
        witness &= went.same <= RARE
    if not witness.any():
        return 1.0
    share = np.sort(went.same[witness])
    count = np.arange(1, share.size + 1)
    chance = bdtrc(count - 1.0, went.same.size, share)
    against = went.back >= COMPARABLE
    if chance.min() > most or not against.any():
        return float(chance.min())
    others = np.sort(went.other[against])
    fit = np.searchsorted(others, share, side="right") <= AGAINST * count
    return float(chance[fit].min(initial=1.0))


def _top(departure: Array, start: int, stop: int) -> tuple[int, int]:
    """The part of a stretch from where it is half as far off as at its farthest until it is not.

    What goes away slowly is seen by others as long as it is large.
    """
    size = np.nan_to_num(np.abs(departure[start:stop]))
    high = np.flatnonzero(size >= 0.5 * size.max(initial=0.0))
    return (start + int(high[0]), start + int(high[-1]) + 1) if high.size else (start, stop)


def _bridged(marks: Mask, readings: Array) -> Mask:
    """Runs of marks, carried over slots in which the node was not heard, and single readings."""
    heard = np.flatnonzero(~np.isnan(readings))
    out = np.zeros_like(marks)
    for a, b in zip(*stretches(joined(marks[heard], 1)), strict=True):
        out[heard[a] : heard[b - 1] + 1] = True
    return out


def _companions(values: Array, context: Context, counts: tuple[int, ...]) -> list[list[Array]]:
    """Of each node so many nearest and so many most alike, for each count, the largest last."""
    deviation = values - node_medians(values)
    able = np.asarray(~np.isnan(values).all(axis=0))
    likeness = correlations(deviation)
    alike = geo.nearest(1 - likeness, counts[-1], able)
    near, _ = companions(deviation, context, counts[-1], likeness)
    return [[_both(a, b) for a, b in zip(alike[:, :n], near[:, :n], strict=True)] for n in counts]


def _both(some: Array, others: Array) -> Array:
    found = np.union1d(some, others)
    return found[found >= 0]


def _without_habit(values: Array, context: Context) -> Array:
    """Readings minus what is usual for their hour, where there are days enough to tell."""
    day = round(DAY / context.slot) if context.slot > 0 else 0
    days = len(values) // day if day else 0
    if day < 4 or days < 4:
        return values
    whole = values[: days * day].reshape(days, day, -1)
    usual = window_medians(whole.transpose(1, 0, 2))
    return np.asarray(values - np.nan_to_num(usual[np.arange(len(values)) % day]))
