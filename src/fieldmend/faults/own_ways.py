"""Nodes that go their own ways: whom the others do not know, they cannot accuse of what they do.

Pumps that are switched, reservoirs with gates, tanks: each node moves when somebody moves it. What
the others imply is nothing there, and a node that stood still for most of a record is far off its
own past as soon as it moves. So where the others tell nothing of a node, it is asked how far they
themselves go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldmend.faults.stretches import (
    Array,
    Mask,
    bounded,
    joined,
    node_medians,
    slot_medians,
    stretches,
)

# Readings between two of a stretch that do not part it.
JOINED = 15
# Parts of a node's record, each foretold from the others; slots of it that are asked, at most.
PARTS, ASKED = 4, 2000
# A node's likest, and the part of its distance from its own level that they may leave untold.
LIKEST, UNTOLD = 3, 0.7
# Nodes that tell whether nodes are foretold here at all.
ASKED_OF = 12
# Part of the way that a node went, and of the time that it took, and share of the others (two at
# least) that go so far for so long.
AS_FAR, AS_LONG, HABIT = 0.5, 0.25, 0.25
# Times that a node goes there make it a way of its own; so many times as long lies between two.
OCCASIONS, APART = 3, 2
# Fewest readings of a node that tell anything.
FEWEST = 40
# Nodes that tell what most do, spreads that are as far as a reading counts, and how little of a
# slope is believed beforehand.
CROWD, CLIPPED, RIDGE = 60, 10.0, 1e-6
# Part of its usual step that the fifth of the largest steps of others exceed.
AS_ROUGH = 0.8
# Readings of a segment that may be a visit to another level, and steps of others that speak for it.
VISIT, STEPS = 3, 2


def own_ways(values: Array, found: Mask, *, habit: bool = False) -> Mask:
    """Stretches of `found` at nodes whom the others do not foretell, and who go as far themselves.

    Parameters
    ----------
    values
        Slots × nodes, NaN = not observed.
    found
        Readings in question.
    habit
        Whether nodes here are known to change for good now and then: then even those whom the
        others foretell at other times.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pumps = np.repeat(rng.integers(0, 2, (40, 8)), 20, axis=0) * 4.0
    >>> pumps[:, 0] = np.where(np.arange(800) < 600, 0.0, 4.0)
    >>> found = np.zeros(pumps.shape, dtype=bool)
    >>> found[600:, 0] = True
    >>> noise = 0.1 * rng.normal(size=pumps.shape)
    >>> own_ways(pumps + noise, found).any(), own_ways(3 * found + noise, found).any()
    (np.True_, np.False_)
    """
    out = np.zeros(found.shape, dtype=np.bool_)
    accused = np.flatnonzero(found.any(axis=0))
    sound = np.where(found, np.nan, values)
    others = np.flatnonzero(~np.isnan(sound).all(axis=0))
    if not accused.size or others.size < LIKEST:
        return out
    ways, company = _Ways(sound), _Company(sound)
    for n in map(int, accused):
        if not habit and company.foretells(n):
            continue
        at = np.flatnonzero(~np.isnan(values[:, n]))
        marks = found[at, n]
        for a, b in zip(*stretches(joined(marks, JOINED)), strict=True):
            own = at[a:b][marks[a:b]]
            out[own, n] = ways.usual(n, values, own)
    return out & found


def as_others_do(X: Any, flagged: Mask, gross: Mask) -> Mask:
    """Flagged stretches of three readings or more as far and as long as a quarter of the others go.

    Elsewhen, whether these are flagged or not: a warm wind breaks through here today and there
    tomorrow. Which of them are false, nobody knows.

    Parameters
    ----------
    X
        Slots × nodes, NaN = not observed.
    flagged
        Readings in question.
    gross
        Readings that are false whatever others do: they are nobody's ways.

    Returns
    -------
    ndarray of bool
    """
    out = np.zeros(flagged.shape, dtype=np.bool_)
    asked = flagged & ~gross
    if not asked.any():
        return out
    values, _ = bounded(X)
    sound, every = _Ways(np.where(flagged, np.nan, values)), _Ways(np.where(gross, np.nan, values))
    for n in map(int, np.flatnonzero(asked.any(axis=0))):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        marks = asked[at, n]
        for a, b in zip(*stretches(joined(marks, VISIT)), strict=True):
            own = at[a:b][marks[a:b]]
            if own.size >= VISIT:
                usual = sound.usual(n, values, own)
                out[own, n] = usual or every.usual(n, values, own, elsewhen=True)
    return out


def visits(X: Any, flagged: Mask, *, habit: bool = False) -> Mask:
    """Flagged segments of three readings or more that go as others do for good, at such nodes.

    Out and back by jumps is what a switch does, too. If a quarter of the others make steps half as
    large without coming back at once, this is what things here do.

    Parameters
    ----------
    X
        Slots × nodes, NaN = not observed.
    flagged
        Readings in question.
    habit
        As for `own_ways`.

    Returns
    -------
    ndarray of bool
    """
    out = np.zeros(flagged.shape, dtype=np.bool_)
    if not flagged.any():
        return out
    values, _ = bounded(X)
    sound = np.where(flagged, np.nan, values)
    apart = values - np.nan_to_num(slot_medians(sound - node_medians(sound)))[:, None]
    company = _Company(sound)
    steps: list[Array] | None = None
    for n in map(int, np.flatnonzero(flagged.any(axis=0))):
        at = np.flatnonzero(~np.isnan(apart[:, n]))
        marks = flagged[at, n]
        first, stop = stretches(marks)
        long = stop - first >= VISIT
        if not long.any() or (not habit and company.foretells(n)):
            continue
        steps = _steps(apart, flagged) if steps is None else steps
        others = [own for m, own in enumerate(steps) if m != n and own.size]
        jumps = np.abs(np.diff(apart[at, n]))
        for a, b in zip(first[long], stop[long], strict=True):
            ends = [jumps[i] for i in (a - 1, b - 1) if 0 <= i < jumps.size]
            least = AS_FAR * max(ends, default=np.inf)
            as_far = sum(np.count_nonzero(own >= least) >= STEPS for own in others)
            out[at[a:b], n] = as_far >= max(HABIT * len(others), 2)
    return out


def as_rough(values: Array, found: Mask) -> Mask:
    """Noisy stretches at such nodes, hardly rougher than a quarter of the others are by times.

    A pump that was off for most of a record is rough when it runs, as those are that run.
    """
    out = np.zeros(found.shape, dtype=np.bool_)
    if not found.any():
        return out
    sound = np.where(found, np.nan, values)
    company, by_times = _Company(sound), np.array([_step(column, 0.8) for column in sound.T])
    for n in map(int, np.flatnonzero(found.any(axis=0))):
        theirs = np.delete(by_times, n)
        here = AS_ROUGH * _step(np.where(found[:, n], values[:, n], np.nan), 0.5)
        many = np.count_nonzero(theirs >= here) >= max(HABIT * theirs.size, 2)
        if many and not company.foretells(n):
            out[:, n] = found[:, n]
    return out


def _step(column: Array, share: float) -> float:
    """The step that so many of a node's are below."""
    heard = column[~np.isnan(column)]
    return float(np.quantile(np.abs(np.diff(heard)), share)) if heard.size > 1 else 0.0


def _steps(apart: Array, flagged: Mask) -> list[Array]:
    """Of each node the sizes of its steps from one reading that is not flagged to the next."""
    out = []
    for n in range(apart.shape[1]):
        at = np.flatnonzero(~np.isnan(apart[:, n]))
        sound = ~flagged[at, n]
        out.append(np.abs(np.diff(apart[at, n]))[sound[1:] & sound[:-1]])
    return out


class _Ways:
    """How far nodes go from the rest of their record, beside what most of them do."""

    def __init__(self, readings: Array) -> None:
        self.level = node_medians(readings)
        self.common = np.nan_to_num(slot_medians(readings - self.level))
        self.apart = readings - self.level - self.common[:, None]
        self.heard = ~np.isnan(self.apart)
        self._away: dict[int, Array] = {}
        self._farthest: dict[int, Array] = {}

    def usual(self, node: int, values: Array, own: Array, *, elsewhen: bool = False) -> bool:
        """Whether others go half as far as a node goes in some slots, for a quarter as long."""
        if np.isnan(self.level[node]):
            return False
        first, stop = int(own[0]), int(own[-1]) + 1
        length = max(min(int(AS_LONG * (stop - first)), len(self.common) // 2), 1)
        length = 1 << (length.bit_length() - 1)  # few lengths: a power of two
        apart = np.full(stop - first, np.nan)
        apart[own - first] = values[own, node] - self.level[node] - self.common[own]
        way = float(_means(apart, length).max(initial=0.0))
        if self._again(node, values, (first, stop), length) >= AS_FAR * way:
            return True
        if elsewhen:
            away = self._windows(length)
            parts = away[: max(first - length + 1, 0)], away[stop:]
            theirs = np.max([part.max(axis=0, initial=0.0) for part in parts], axis=0)
        else:
            theirs = self._ways(length)
        others = np.delete(theirs, node) >= AS_FAR * way
        return bool(np.count_nonzero(others) >= max(HABIT * others.size, 2))

    def _again(self, node: int, values: Array, where: tuple[int, int], length: int) -> float:
        """How far a node itself goes for so long at three other times at least."""
        apart = values[:, node] - self.level[node] - self.common
        apart[where[0] : where[1]] = np.nan
        size, out = _means(apart, length), []
        while len(out) < OCCASIONS and size.size and size.max() > 0:
            k = int(np.argmax(size))
            out.append(float(size[k]))
            size[max(k - APART * length, 0) : k + APART * length + 1] = 0.0
        return out[-1] if len(out) == OCCASIONS else 0.0

    def _ways(self, length: int) -> Array:
        """How far each node goes for so long."""
        if length not in self._farthest:
            self._farthest[length] = self._windows(length).max(axis=0)
            self._away.clear()
        return self._farthest[length]

    def _windows(self, length: int) -> Array:
        """How far the mean of so many slots is from that of the others, by its first slot."""
        if length not in self._away:
            count, total = _sums(self.heard, length), _sums(self.apart, length)
            rest = self.heard.sum(axis=0) - count
            others = np.nansum(self.apart, axis=0) - total
            away = np.abs(total / np.maximum(count, 1) - others / np.maximum(rest, 1))
            away[(count < length / 4) | (rest < count)] = 0.0
            self._away[length] = away.astype(np.float32)
        return self._away[length]


def _means(apart: Array, length: int) -> Array:
    """Sizes of the means of so many slots from each on; 0 where hardly any is heard."""
    count, total = (_sums(part[:, None], length)[:, 0] for part in (~np.isnan(apart), apart))
    return np.where(count >= length / 4, np.abs(total / np.maximum(count, 1)), 0.0)


def _sums(values: Array, length: int) -> Array:
    """Sum of so many rows from each on, NaN as nothing."""
    total = np.cumsum(np.vstack([np.zeros((1, values.shape[1])), np.nan_to_num(values)]), axis=0)
    return np.asarray(total[length:] - total[:-length])


class _Company:
    """Whom the others foretell, told by readings that nobody doubts; learnt when it is asked."""

    def __init__(self, sound: Array) -> None:
        self.sound = sound
        self._close: bool | None = None

    def foretells(self, node: int) -> bool:
        """Whether the others tell where a node is.

        Not where they do so of fewer than half of the nodes: things that wander go alike now and
        then, and one of them may seem to be foretold.
        """
        return left_over(self.sound, node) <= UNTOLD and self._is_close()

    def _is_close(self) -> bool:
        if self._close is None:
            heard = np.flatnonzero((~np.isnan(self.sound)).sum(axis=0) >= FEWEST)
            some = heard[np.unique(np.linspace(0, heard.size - 1, ASKED_OF).astype(int))]
            told = [left_over(self.sound, int(n)) for n in some]
            self._close = bool(np.median(told) <= UNTOLD)
        return self._close


def left_over(sound: Array, node: int) -> float:
    """Which part of a node's distance from its level is left when the others foretell it.

    In parts of its record that they did not see: each quarter of its readings is foretold by the
    line through the other three. 0 where too few readings tell.
    """
    at = np.flatnonzero(~np.isnan(sound[:, node]))
    if at.size < FEWEST:
        return 0.0
    at = at[np.unique(np.linspace(0, at.size - 1, min(ASKED, at.size)).astype(int))]
    off = away = 0.0
    for part in np.array_split(np.arange(at.size), PARTS):
        line, level = _errors(sound[at], node, np.delete(np.arange(at.size), part), part)
        off, away = off + line, away + level
    return off / away if away > 0 else 1.0


def _errors(sound: Array, node: int, rest: Array, part: Array) -> tuple[float, float]:
    """Sum of what a node is off the line through the rest, and off its level there."""
    centre = node_medians(sound[rest])
    deviation = sound - centre
    size = node_medians(np.abs(deviation[rest]))
    scaled = np.clip(deviation / np.where(size > 0, size, 1.0), -CLIPPED, CLIPPED)
    likeness = _likeness(scaled[rest], node)
    likest = np.argsort(-likeness, kind="stable")[:LIKEST]
    some = np.unique(np.linspace(0, len(centre) - 1, min(CROWD, len(centre))).astype(int))
    told = [slot_medians(scaled[:, who[who != node]]) for who in (some, likest)]
    known = np.column_stack([np.ones(len(sound)), *np.nan_to_num(told)])
    own = deviation[:, node]
    squares = known[rest].T @ known[rest] + RIDGE * len(rest) * np.eye(3)
    line = known @ np.linalg.solve(squares, known[rest].T @ own[rest])
    return float(np.abs(own - line)[part].sum()), float(np.abs(own)[part].sum())


def _likeness(scaled: Array, node: int) -> Array:
    """How each node goes with one, where both were heard; itself and the unheard last."""
    own = scaled[:, [node]]
    both = ~np.isnan(scaled) & ~np.isnan(own)
    x, y = np.where(both, scaled, 0.0), np.where(both, own, 0.0)
    size = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    out: Array = (x * y).sum(axis=0) / np.where(size > 0, size, 1.0)
    out[~both.any(axis=0)] = -np.inf
    out[node] = -np.inf
    return out
