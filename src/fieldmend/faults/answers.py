"""Nodes that answer to the others otherwise than in the rest of their record, for a day or longer.

An offset, a drift, a wrong unit or gain that lasts for half of a record is half of what the node's
level, spread and likeness to the others are learnt from, so no test that measures it by these can
see it. Here what a node makes of the others is learnt without a stretch, for every stretch, and
asked is how far off it is there. And nodes are held against each other: what nodes of this network
do now and then (change their level for good, run dry) is no fault of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from fieldmend.faults.events import DAY
from fieldmend.faults.labels import Context
from fieldmend.faults.neighbours import correlations
from fieldmend.faults.shifts import FEWEST_BLOCKS, FEWEST_DAYS, FEWEST_NODES, began_at_home, height
from fieldmend.faults.stretches import (
    MAD,
    Array,
    Mask,
    grown,
    joined,
    node_medians,
    rolling,
    slot_medians,
)
from fieldmend.faults.who_moved import OthersMoved
from fieldmend.quantities import Kind

# Blocks of time at the most, and slots that a block needs.
BLOCKS, HEARD = 48, 8
# Slots that are asked, evenly spaced: sixty a block.
ASKED = 60 * BLOCKS
# Share of its readings that have to be left to say how a node answers.
AT_HOME = 1 / 3
# How far off a node has to be, in its usual distances: a normal one is so once in 10⁹. What is not
# linear goes twice as far: a lamp that is left on for two nights, smoke.
FAR, FARTHER = 6.0, 2.0
# Share of the nodes that may be as far off at some time: of more, it is what nodes here do.
HABIT = 0.25
# A node's likest: any of them whom it follows as ever speaks for it.
LIKEST = 3
# So many spreads are as far as a reading counts, and how little of a slope is believed beforehand.
CLIPPED, RIDGE = 30.0, 0.01
# What a node makes of a network that is so many spreads from its usual, nobody knows.
UNKNOWN = 5.0
# As many others that are a third as far off at the same time make it no fault of one.
OTHERS, PART = 2, 1 / 3
# Where either half of a record may be false, the other one is as far off from it.
ALIKE = 0.7
# A block in which so much less than the usual share of the readings is off belongs to what follows.
THROUGHOUT = 0.9
# Of so many nodes one does not move the median.
MANY = 12
# Readings around one that tell whether it came back, and usual distances that are off at all.
AROUND, OFF = 15, 3.0


def estranged(values: Array, left_out: Mask, context: Context) -> tuple[Mask, bool]:
    """Readings of nodes that are far from what they usually make of the others, alone, for a day.

    A node's reading is a line in what most others do and in what its likest do, learnt without the
    stretch that parts its record most clearly into two of different spread. There it has to be six
    of its usual distances off, by each of its three likest too, farther off than the farthest of so
    many nodes might be, and three times as far as three in four ever are.

    Parameters
    ----------
    values
        Slots × nodes.
    left_out
        Readings known to be false.
    context
        Its slot length tells what a day is.

    Returns
    -------
    tuple of (ndarray of bool, bool)
        And whether more than a quarter of the nodes are so far off at some time: then to change for
        good is what nodes of this network do, and nobody is accused.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> field = np.sin(np.arange(600.0) / 9)[:, None] + 0.1 * rng.normal(size=(600, 6))
    >>> field[200:500, 2] *= 4
    >>> found, habit = estranged(field, np.zeros(field.shape, bool), Context())
    >>> habit
    False
    >>> found.mean(axis=0).round(1)
    array([0. , 0. , 0.5, 0. , 0. , 0. ])
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    slots, nodes = values.shape
    day = DAY / context.slot if context.slot > 0 else slots / FEWEST_DAYS
    count = min(BLOCKS, slots // HEARD)
    if nodes < FEWEST_NODES or count < FEWEST_BLOCKS or slots < FEWEST_DAYS * day:
        return out, False
    seen = _Seen(np.where(left_out, np.nan, values))
    rows = np.unique(np.linspace(0, slots - 1, min(ASKED, slots)).astype(int))
    edges = np.searchsorted(rows, np.linspace(0, slots, count + 1).astype(int))
    shortest = max(2, int(np.ceil(day * count / slots)))
    apart = [_apart(seen, n, rows, edges, shortest) for n in range(nodes)]
    sizes = np.array([one.size for one in apart])
    some = max(HABIT * nodes, 1)
    if np.count_nonzero(sizes > FAR) > some:
        return out, True
    margin, moved = -(-slots // count), OthersMoved(seen.z)
    far = FAR if context.quantity.kind is Kind.LINEAR else FARTHER * FAR
    for n in map(int, np.flatnonzero((height(sizes) > 1) & (sizes > far))):
        one = apart[n]
        alone = np.count_nonzero(sizes > PART * one.size) <= some
        if alone and not _many(seen, apart, n):
            first, stop = max(int(one.inside[0]) - margin, 0), int(one.inside[-1]) + 1 + margin
            off = _off(seen, n, one, slice(None))
            out[first:stop, n] = _away(off[first:stop], one, int(day))
            # Which part of a record is strange when most others step, nobody knows.
            out[:, n] &= ~moved(n, off, out[:, n], whole=True)
    return out & ~np.isnan(values) & ~left_out, False


@dataclass(frozen=True)
class _Apart:
    """A node's stretch, what it makes of the others in the rest, and how far off it is there.

    `inside` are the slots of the stretch that were asked; `size` is the `distance` in usual ones.
    """

    inside: Array
    weights: Array
    usual: float
    distance: float = 0.0
    size: float = 0.0


class _Seen:
    """Readings in their node's spreads, and what a node's reading is told by."""

    def __init__(self, values: Array) -> None:
        deviation = values - node_medians(values)
        spread = MAD * node_medians(np.abs(deviation))
        some = spread[spread > 0]
        floor = 0.2 * float(np.median(some)) if some.size else 1.0
        self.z = np.clip(deviation / np.fmax(np.nan_to_num(spread), floor), -CLIPPED, CLIPPED)
        self.nodes = np.arange(values.shape[1])
        self.common = slot_medians(self.z)
        usual = np.abs(np.nan_to_num(self.common)) <= UNKNOWN
        likeness = correlations(np.where(usual[:, None], deviation, np.nan))
        np.fill_diagonal(likeness, -np.inf)
        likeness[:, np.isnan(values).all(axis=0)] = -np.inf
        self.likest = np.argsort(-likeness, axis=1, kind="stable")[:, :LIKEST]
        self.apart = values - slot_medians(values)[:, None]

    def at_home(self, node: int, inside: Array) -> bool:
        """Whether a record's first stretch is where the node belongs, not what comes after."""
        return began_at_home(self.apart[:, node], int(inside[-1]) + 1, self._levels)

    @cached_property
    def _levels(self) -> Array:
        return node_medians(self.apart)

    def asked(self, node: int, rows: Array | slice) -> Array:
        """1, what most others do, what its likest do: slots × 3."""
        part = self.z[rows]
        common = self.common[rows]
        if self.nodes.size < MANY:
            common = slot_medians(part[:, self.nodes != node])
        near = slot_medians(part[:, self.likest[node][self.likest[node] != node]])
        with np.errstate(invalid="ignore"):
            strange = (np.abs(common) > UNKNOWN) | (np.abs(near) > UNKNOWN)
        return np.column_stack([np.where(strange, np.nan, 1.0), common, near])


def _apart(seen: _Seen, node: int, rows: Array, edges: Array, shortest: int) -> _Apart:
    """The stretch by which a record falls into two of different spread, by their likelihood.

    What is left of the line through the rest has one spread there and another one in the stretch.
    """
    lines = _Lines(seen.asked(node, rows), seen.z[rows, node], edges)
    first, stop = np.triu_indices(edges.size, shortest)
    judged = lines.judged(first, stop)
    first, stop = first[judged], stop[judged]
    _, here, there = lines.without(first, stop)
    inside, rest = lines.counts[stop] - lines.counts[first], lines.left(first, stop)
    # A stretch that is calmer than the rest parts nothing.
    parts = here > there
    if not parts.any():
        return _Apart(rows[:0], np.zeros(0), 1.0)
    unlikely = np.where(parts, inside * np.log(here) + rest * np.log(there), np.inf)
    k = int(np.argmin(unlikely))
    best = int(first[k]), int(stop[k])
    found = _sized(seen, node, lines, rows, best)
    if best[0] == 0 and seen.at_home(node, found.inside):
        left = _leaves(seen, node, found, lines, rows)
        if lines.counts[left] >= HEARD:
            other = _sized(seen, node, lines, rows, (left, edges.size - 1))
            if other.size > min(ALIKE * found.size, OFF):
                # As large as from the rest: a short beginning knows little of what is usual, and a
                # sensor that lost its gain is calm.
                return replace(other, size=found.size)
    return found


def _leaves(seen: _Seen, node: int, one: _Apart, lines: _Lines, rows: Array) -> int:
    """Blocks that a record's beginning has without those at its end that are off less than usual.

    Where a stretch ends is rough: some readings of what comes after would make a short beginning
    look restless.
    """
    rows = rows[: one.inside.size]
    off, known = np.abs(_off(seen, node, one, rows)) > OFF * one.usual, seen.z[rows, node]
    shares = [
        off[a:b].sum() / max(np.count_nonzero(~np.isnan(known[a:b])), 1)
        for a, b in pairwise(lines.edges[lines.edges <= rows.size])
    ]
    stop, usual = len(shares), float(np.median(shares))
    while stop > 1 and shares[stop - 1] < THROUGHOUT * usual:
        stop -= 1
    return stop


class _Lines:
    """What a node makes of the others, learnt without a stretch of blocks: least squares."""

    def __init__(self, asked: Array, z: Array, edges: Array) -> None:
        self.asked = asked
        known = ~np.isnan(z) & ~np.isnan(asked).any(axis=1)
        table = np.where(known[:, None], np.column_stack([asked, z]), 0.0)
        width = table.shape[1]
        products = (table[:, :, None] * table[:, None, :]).reshape(len(table), -1)
        sums = np.vstack([np.zeros(width**2), np.cumsum(products, axis=0)])[edges]
        self.sums = sums.reshape(-1, width, width)
        self.counts = np.concatenate([[0], np.cumsum(known)])[edges]
        self.prior = np.diag([1e-9] + [RIDGE] * (width - 2))
        self.edges = edges

    def left(self, first: Array | int, stop: Array | int) -> Array:
        """Readings outside."""
        return np.asarray(self.counts[-1] - self.counts[stop] + self.counts[first])

    def judged(self, first: Array | int, stop: Array | int) -> Mask:
        """Whether enough is inside, and enough left."""
        left = self.left(first, stop)
        enough = max(AT_HOME * self.counts[-1], HEARD)
        return np.asarray((self.counts[-1] - left >= HEARD) & (left >= enough))

    def without(self, first: Array | int, stop: Array) -> tuple[Array, Array, Array]:
        """Of several stretches the line through the rest, its mean square inside and outside."""
        inner = self.sums[stop] - self.sums[first]
        outer = self.sums[-1] - inner
        left = self.left(first, stop)
        squares = outer[:, :-1, :-1] + self.prior * left[:, None, None]
        weights = np.linalg.solve(squares, outer[:, :-1, -1:])[:, :, 0]
        line = np.column_stack([-weights, np.ones(len(stop))])
        here, there = (
            np.maximum(np.einsum("bi,bij,bj->b", line, part, line) / size, 1e-8)
            for part, size in ((inner, self.counts[-1] - left), (outer, left))
        )
        return weights, here, there


def _sized(seen: _Seen, node: int, lines: _Lines, rows: Array, blocks: tuple[int, int]) -> _Apart:
    """How far off a node is in a stretch, in usual distances, whoever of its likest is asked."""
    weights, _, there = lines.without(blocks[0], np.array([blocks[1]]))
    part = slice(lines.edges[blocks[0]], lines.edges[blocks[1]])
    inside = rows[part]
    one = _Apart(inside, weights[0], float(np.sqrt(there[0])))
    own = seen.z[inside, node]
    views = [own - lines.asked[part] @ one.weights]
    views += [own - _by_one(seen, node, int(m), inside) for m in seen.likest[node] if m != node]
    off = min((_typical(view) for view in views if not np.isnan(view).all()), default=0.0)
    return replace(one, distance=off, size=off / one.usual)


def _off(seen: _Seen, node: int, one: _Apart, slots: Array | slice) -> Array:
    """How far a node is from what it usually makes of the others."""
    return np.asarray(seen.z[slots, node] - seen.asked(node, slots) @ one.weights)


def _by_one(seen: _Seen, node: int, other: int, inside: Array) -> Array:
    """A node's readings in a stretch as one other implies them, by the rest of their records."""
    rest = np.ones(len(seen.z), dtype=np.bool_)
    rest[inside[0] : inside[-1] + 1] = False
    x, y = seen.z[rest, other], seen.z[rest, node]
    both = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[both], y[both]
    if x.size < HEARD:
        return np.full(inside.size, np.nan)
    slope = ((x - x.mean()) @ (y - y.mean())) / (np.sum((x - x.mean()) ** 2) + RIDGE * x.size)
    return np.asarray(y.mean() + slope * (seen.z[inside, other] - x.mean()))


def _typical(off: Array) -> float:
    """Robust standard deviation about 0; 0 where nothing is known."""
    known = np.abs(off[~np.isnan(off)])
    return MAD * float(np.median(known)) if known.size else 0.0


def _many(seen: _Seen, apart: list[_Apart], node: int) -> bool:
    """Whether others are a third as far off meanwhile, by what they make of the others else."""
    inside, least = apart[node].inside, PART * apart[node].size
    as_far = [
        _typical(_off(seen, m, one, inside)) > least * one.usual
        for m, one in enumerate(apart)
        if m != node and one.inside.size
    ]
    return sum(as_far) >= OTHERS


def _away(off: Array, one: _Apart, day: int) -> Mask:
    """Of readings about a stretch, so far off, those that belong to it.

    A wrong gain crosses what is right every day: readings between false ones of one day are false,
    if these are most of them; else those that are off, as most of those about them are.
    """
    heard = np.flatnonzero(~np.isnan(off))
    out = np.zeros(off.size, dtype=np.bool_)
    far = np.abs(off[heard]) > max(OFF * one.usual, PART * one.distance)
    crowd = rolling(far.astype(float), AROUND) >= 0.5
    runs = grown(crowd, joined(far, day))
    out[heard] = runs if runs.any() and far[runs].mean() > 0.5 else far & joined(crowd, AROUND)
    return out
