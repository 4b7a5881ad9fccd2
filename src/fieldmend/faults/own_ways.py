"""Nodes that go their own ways: whom the others do not know, they cannot accuse of what they do.

Pumps that are switched, reservoirs with gates, tanks: each node moves when somebody moves it. What
the others imply is nothing there, and a node that stood still for most of a record is far off its
own past as soon as it moves. So where the others tell nothing of a node, it is asked how far they
themselves go.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from fieldmend.faults.stretches import (
    Array,
    Mask,
    bounded,
    joined,
    middle,
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
# Times that a node goes there make it a way of its own.
OCCASIONS = 3
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
    ways, company = _Ways(values, sound), _Company(sound)
    for n in map(int, accused):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        marks = found[at, n]
        for a, b in zip(*stretches(joined(marks, JOINED)), strict=True):
            own = at[a:b][marks[a:b]]
            out[own, n] = ways.usual(n, own, own_past=True)
        # Asked last: it costs most.
        if not habit and out[:, n].any() and company.foretells(n):
            out[:, n] = False
    return out & found


def as_others_do(X: Any, asked: Mask, false: Mask, *, real: bool = False) -> Mask:
    """Stretches of three readings or more as far as a quarter of the others go unflagged.

    Asked of nodes only whom the others do not foretell.

    Parameters
    ----------
    X
        Slots × nodes, NaN = not observed.
    asked
        Readings in question.
    false
        Readings that are false whatever others do: what stands beside them is no better.
    real
        Whether those in question pass: then they are each other's ways, and a node's own past
        counts.

    Returns
    -------
    ndarray of bool
    """
    out = np.zeros(asked.shape, dtype=np.bool_)
    asked = asked & ~false
    if not asked.any():
        return out
    values, _ = bounded(X)
    sound = np.where(asked | false, np.nan, values)
    known = np.where(false, np.nan, values) if real else sound
    ways, company = _Ways(values, known), _Company(sound)
    for n in map(int, np.flatnonzero(np.count_nonzero(asked, axis=0) >= VISIT)):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        marks, beside = asked[at, n], false[at, n]
        for a, b in zip(*stretches(joined(marks | beside, VISIT)), strict=True):
            own = at[a:b][marks[a:b]]
            if own.size >= VISIT and not beside[a:b].any():
                out[own, n] = ways.usual(n, own, own_past=real)
        if out[:, n].any() and company.foretells(n):  # asked last: it costs most
            out[:, n] = False
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
    ways, company = _Ways(values, sound), _Company(sound)
    for n in map(int, np.flatnonzero(flagged.any(axis=0))):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        first, stop = stretches(flagged[at, n])
        long = stop - first >= VISIT
        for a, b in zip(first[long], stop[long], strict=True):
            out[at[a:b], n] = ways.stepped(n, ways.jump(n, at[a:b]))
        if not habit and out[:, n].any() and company.foretells(n):  # asked last: it costs most
            out[:, n] = False
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


class _Ways:
    """How far nodes go from the rest of their record, beside what most of them do.

    `values` are all readings, `sound` those that tell what nodes do.
    """

    def __init__(self, values: Array, sound: Array) -> None:
        self.values = values
        self.level = node_medians(sound)
        self.common = np.nan_to_num(slot_medians(sound - self.level))
        self.apart = sound - self.level - self.common[:, None]
        self.heard = ~np.isnan(self.apart)
        self.step = np.array([_often(np.abs(np.diff(x[~np.isnan(x)]))) for x in self.apart.T])
        self._farthest: dict[int, Array] = {}
        self._own: _Own | None = None  # of the node that was asked last: nodes come one by one

    def usual(self, node: int, own: Array, *, own_past: bool = False) -> bool:
        """Whether others go half as far as a node goes in some slots, for a quarter as long.

        Not if it jumps there or back as they do not: levels that wander do not jump. With
        `own_past`, also whether the node itself goes so far at three other times.
        """
        if np.isnan(self.level[node]):
            return False
        first, stop = int(own[0]), int(own[-1]) + 1
        length = max(min(int(AS_LONG * (stop - first)), len(self.common) // 2), 1)
        length = 1 << (length.bit_length() - 1)  # few lengths: a power of two
        past = self._of(node)
        apart = np.full(stop - first, np.nan)
        apart[own - first] = past.beside[own] - self.level[node]
        way = float(_means(apart, length).max(initial=0.0))
        if own_past and past.again((first, stop), length, AS_FAR * way):
            return True
        jump = past.jump(own)
        if jump >= AS_FAR * way and not self.stepped(node, jump):
            return False
        return _habit(self._ways(length), node, way)

    def stepped(self, node: int, jump: float) -> bool:
        """Whether others make steps half as large, twice at least."""
        return jump > 0 and _habit(self.step, node, jump)

    def jump(self, node: int, own: Array) -> float:
        """The larger of the steps by which a node comes to some slots and goes from there."""
        return self._of(node).jump(own)

    def _of(self, node: int) -> _Own:
        if self._own is None or self._own.node != node:
            beside = self.values[:, node] - self.common
            self._own = _Own(node, beside, float(self.level[node]))
        return self._own

    @cached_property
    def _totals(self) -> tuple[Array, Array]:
        """How many of each node were heard before each slot, and their sum."""
        return _so_far(self.heard), _so_far(self.apart)

    def _ways(self, length: int) -> Array:
        """How far the mean of so many slots of each node is from that of its others."""
        if length not in self._farthest:
            (count, rest), (total, others) = (
                (inside := _between(so_far, length), so_far[-1] - inside) for so_far in self._totals
            )
            away = np.abs(total / np.maximum(count, 1) - others / np.maximum(rest, 1))
            away[(count < length / 4) | (rest < count)] = 0.0
            self._farthest[length] = away.max(axis=0)
        return self._farthest[length]


class _Own:
    """One node beside what most do; what every stretch of it asks for is made once."""

    def __init__(self, node: int, beside: Array, level: float) -> None:
        self.node, self.beside, self.level = node, beside, level
        self.heard = np.flatnonzero(~np.isnan(beside))
        self._sizes: dict[int, Array] = {}

    def jump(self, own: Array) -> float:
        """The larger of the steps by which it comes to some slots and goes from there."""
        heard = self.heard
        first, last = np.searchsorted(heard, own[[0, -1]])
        ends = [(first - 1, first), (last, last + 1)]
        return max(
            (
                float(abs(self.beside[heard[j]] - self.beside[heard[i]]))
                for i, j in ends
                if i >= 0 and j < heard.size
            ),
            default=0.0,
        )

    def again(self, where: tuple[int, int], length: int, far: float) -> bool:
        """Whether it goes so far for so long at three other times than these slots at least."""
        if far <= 0:
            return True
        if length not in self._sizes:
            self._sizes[length] = _means(self.beside - self.level, length)
        first, stop = where
        # Means that hold some of these slots are taken without them.
        begin = max(first - length + 1, 0)
        around = self.beside[begin : stop + length - 1] - self.level
        around[first - begin : stop - begin] = np.nan
        beside = _means(around, length)
        at = np.flatnonzero(self._sizes[length] >= far)
        at = at[(at < begin) | (at >= begin + beside.size)]
        size = np.concatenate([self._sizes[length][at], beside[beside >= far]])
        at = np.concatenate([at, begin + np.flatnonzero(beside >= far)])
        for _ in range(OCCASIONS - 1):
            if not at.size:
                return False
            others = np.abs(at - at[np.argmax(size)]) > stop - first
            at, size = at[others], size[others]
        return bool(at.size)


def _habit(sizes: Array, node: int, size: float) -> bool:
    """Whether a quarter of the others, two at least, are half as large."""
    others = np.delete(sizes, node) >= AS_FAR * size
    return bool(np.count_nonzero(others) >= max(HABIT * others.size, 2))


def _often(steps: Array) -> float:
    """The size that a node's steps have twice at least."""
    return float(np.sort(steps)[-STEPS]) if steps.size >= STEPS else 0.0


def _means(apart: Array, length: int) -> Array:
    """Sizes of the means of so many slots from each on; 0 where hardly any is heard."""
    count, total = (_sums(part[:, None], length)[:, 0] for part in (~np.isnan(apart), apart))
    return np.where(count >= length / 4, np.abs(total / np.maximum(count, 1)), 0.0)


def _sums(values: Array, length: int) -> Array:
    """Sum of so many rows from each on, NaN as nothing."""
    return _between(_so_far(values), length)


def _so_far(values: Array) -> Array:
    """Sum of the rows before each, and of all; NaN as nothing."""
    out = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(np.nan_to_num(values), axis=0, out=out[1:])
    return out


def _between(so_far: Array, length: int) -> Array:
    return np.asarray(so_far[length:] - so_far[:-length])


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
        return self._is_close() and self.left_over(node) <= UNTOLD

    def _is_close(self) -> bool:
        if self._close is None:
            heard = np.flatnonzero((~np.isnan(self.sound)).sum(axis=0) >= FEWEST)
            some = np.unique(np.linspace(0, max(heard.size - 1, 0), ASKED_OF).astype(int))
            told = [self.left_over(int(n)) for n in heard[some[: heard.size]]]
            self._close = bool(np.median(told) <= UNTOLD) if told else True
        return self._close

    @cached_property
    def _usual(self) -> tuple[Array, Array]:
        """Level of each node, and its distance from there in the middle; 1 where it has none."""
        level = node_medians(self.sound)
        size = node_medians(np.abs(self.sound - level))
        return level, np.where(size > 0, size, 1.0)

    def left_over(self, node: int) -> float:
        """Which part of a node's distance from its level is left when the others foretell it.

        In parts of its record that they did not see: each quarter of its readings is foretold by
        the line through the other three. 0 where too few readings tell. Whatever is done for each
        node of a large network takes time with the square of the nodes: how the others are scaled
        is asked once, of all their readings.
        """
        at = np.flatnonzero(~np.isnan(self.sound[:, node]))
        if at.size < FEWEST:
            return 0.0
        at = at[np.unique(np.linspace(0, at.size - 1, min(ASKED, at.size)).astype(int))]
        level, size = self._usual
        there = _There(np.clip((self.sound[at] - level) / size, -CLIPPED, CLIPPED), node)
        off = away = 0.0
        for part in np.array_split(np.arange(at.size), PARTS):
            line, rest = there.errors(self.sound[at, node], part)
            off, away = off + line, away + rest
        return off / away if away > 0 else 1.0


class _There:
    """All nodes in the slots in which one was heard, each beside its level, in its own spread."""

    def __init__(self, scaled: Array, node: int) -> None:
        self.scaled, self.node = scaled, node
        heard = ~np.isnan(scaled)
        self.heard, self.known = heard.astype(np.float64), np.where(heard, scaled, 0.0)
        self.square = self.known**2
        count = scaled.shape[1]
        crowd = np.unique(np.linspace(0, count - 1, min(CROWD, count)).astype(int))
        self.crowd = np.nan_to_num(slot_medians(scaled[:, crowd[crowd != node]]))

    def errors(self, own: Array, part: Array) -> tuple[float, float]:
        """How far a node is off the line through the rest, and off its level there, in the middle.

        Medians, and a limit on what is learnt from: some of it may be false, and nobody knows yet.
        """
        rest = np.ones(own.size, dtype=np.bool_)
        rest[part] = False
        own = own - middle(own[rest])
        limit = CLIPPED * middle(np.abs(own[rest]))
        own = np.clip(own, -limit, limit) if limit > 0 else own
        likest = np.argsort(-self._likeness(np.where(rest, own, 0.0), rest), kind="stable")[:LIKEST]
        likest = likest[likest != self.node]
        told = self.crowd, np.nan_to_num(slot_medians(self.scaled[:, likest]))
        known = np.column_stack([np.ones(own.size), *told])
        squares = known[rest].T @ known[rest] + RIDGE * np.count_nonzero(rest) * np.eye(3)
        line = known @ np.linalg.solve(squares, known[rest].T @ own[rest])
        return middle(np.abs(own - line)[part]), middle(np.abs(own)[part])

    def _likeness(self, own: Array, rest: Mask) -> Array:
        """How each node goes with one in the rest; itself and the unheard last.

        About their means there: they have levels of their own in every part of a record.
        """
        heard, total, square = np.stack([rest, own, own**2]) @ self.heard
        known, both = np.stack([rest, own]) @ self.known
        count = np.maximum(heard, 1.0)
        spread = rest @ self.square - known**2 / count
        size = np.sqrt(np.maximum(spread * (square - total**2 / count), 0.0))
        out: Array = (both - known * total / count) / np.where(size > 0, size, 1.0)
        out[heard == 0] = -np.inf
        out[self.node] = -np.inf
        return out
