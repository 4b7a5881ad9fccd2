"""The stretch in which each node lies farthest from the rest of its record, and who stands out.

A fault that lasts for half of a record is half of what the node's own spread is made of, so no
test that measures a node by itself can see it. Here nodes are held against each other: each has a
stretch in which it lies farthest from the rest of its record, and a few have gone much farther
than such things go in this network. Whatever is told in blocks of time can be asked so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fieldmend.faults.events import DAY
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array, node_medians

# With fewer nodes nobody can say what is usual; nor with fewer blocks of time.
FEWEST_NODES, FEWEST_BLOCKS = 3, 8
# Two days do not tell how far nodes wander from one day to the next. What has no times is taken
# for so many.
FEWEST_DAYS = 3
# Blocks of time, at the most; readings that a block needs.
BLOCKS, HEARD = 48, 3
# Share of its blocks that have to be left to say where a node belongs.
AT_HOME = 1 / 3
# Or less, if both sides of a stretch differ by this part of its size at the most; blocks that any
# of these needs.
BACK, SOME = 1 / 3, 2
# How clear what lasts has to be: six of the node's own block spreads in nine blocks.
CLEAR = 18.0
# By what nodes differ in a logarithm though all be well: the least; and what is assumed beforehand,
# with the weight of so many nodes, for half of a small network says little.
LEAST, ASSUMED, WEIGHT = 1 / 3, 0.5, 5
# As many others on the same way at the same time make it no fault of one.
OTHERS = 2


@dataclass(frozen=True)
class Blocks:
    """What each node does in stretches of equal length, blocks × nodes, and where these begin."""

    told: Array
    edges: Array

    @classmethod
    def of(cls, values: Array, summary: Callable[[Array], Array] = node_medians) -> Blocks:
        """A summary of each node's values in each block; NaN where it was hardly heard."""
        slots = values.shape[0]
        edges = np.linspace(0, slots, min(BLOCKS, max(1, slots // FEWEST_BLOCKS)) + 1).astype(int)
        told = []
        for a, b in pairwise(edges):
            heard = (~np.isnan(values[a:b])).sum(axis=0) >= HEARD
            told.append(summary(np.where(heard, values[a:b], np.nan)))
        return cls(np.array(told), edges)


@dataclass(frozen=True)
class Shift:
    """A node's stretch of slots, `size` away from its `home` in the rest of the record.

    `spread` is that of its blocks in the rest.
    """

    node: int
    inside: slice
    home: float
    size: float
    spread: float


@dataclass(frozen=True)
class _Largest:
    """Of each node the stretch of blocks in which it lies farthest from the rest of its record.

    `clear` is size over spread times the root of the blocks that speak for it: a front that passes
    a corner of the network is as large as a fault, but does not last.
    """

    first: Array
    stop: Array
    home: Array
    size: Array
    spread: Array
    clear: Array


def outstanding(
    blocks: Blocks, context: Context, days: int = FEWEST_DAYS, *, distances: Array | None = None
) -> list[Shift]:
    """Nodes that went farther than nodes of this network do, alone, and for a day at least.

    A shift has to be clear of the node's own unrest, and size and clearness together have to stand
    higher than the highest of as many nodes would, were their logarithms normal. Nothing is said
    of networks of fewer than three nodes, nor of records of fewer than so many days. `distances`
    are those of readings from the other nodes', blocks × nodes, where these are not what is asked.
    """
    able = np.flatnonzero((~np.isnan(blocks.told)).sum(axis=0) >= FEWEST_BLOCKS)
    slots = int(blocks.edges[-1])
    shortest = DAY / context.slot if context.slot > 0 else slots / FEWEST_DAYS
    few = able.size < FEWEST_NODES or blocks.edges.size <= FEWEST_BLOCKS
    if few or slots < days * shortest:
        return []
    told = blocks.told[:, able]
    shift = _largest(told, max(2, int(np.ceil(shortest * told.shape[0] / slots))))
    tall = height(np.abs(shift.size), shift.clear)
    far = (tall > 1) & (shift.clear > CLEAR)
    return [
        Shift(
            int(able[i]),
            slice(int(blocks.edges[shift.first[i]]), int(blocks.edges[shift.stop[i]])),
            float(shift.home[i]),
            float(shift.size[i]),
            float(shift.spread[i]),
        )
        for i in map(int, np.flatnonzero(far))
        if _is_alone(told, shift, i, told if distances is None else distances[:, able])
    ]


def _largest(told: Array, shortest: int) -> _Largest:
    """Over all stretches of blocks, the one with the clearest difference in level.

    At least a third of the record is left to say where the node belongs; or less, if it lies on
    both sides and these agree: who comes back to where it was has been away, however long. So few
    blocks do not tell how restless a node is, so those of the stretch are asked as well: a place
    that goes up and down by and by is as far off in its midst, but does not leave and come back.
    """
    known = ~np.isnan(told)
    filled = np.where(known, told, 0.0)
    sums = [
        np.vstack([np.zeros(told.shape[1]), np.cumsum(part, axis=0)])
        for part in (known, filled, filled**2)
    ]
    heard = sums[0][-1]
    steps = node_medians(np.abs(np.diff(told, axis=0)))
    usual = float(np.nanmedian(steps)) if np.isfinite(steps).any() else 0.0
    nodes = told.shape[1]
    first, stop = np.zeros(nodes, dtype=int), np.zeros(nodes, dtype=int)
    home, size, spread, clear = (np.zeros(nodes) for _ in range(4))
    for a in range(told.shape[0] - shortest + 1):
        ends = slice(a + shortest, None)  # all stretches that begin here, ends × nodes
        within, level, inner = _moments(*(part[ends] - part[a] for part in sums))
        rest, others, square = _moments(*(part[-1] - part[ends] + part[a] for part in sums))
        before, begun, _ = _moments(*(part[a] for part in sums))
        after, ended, _ = _moments(*(part[-1] - part[ends] for part in sums))
        back = (before >= SOME) & (after >= SOME) & (rest >= shortest)
        back &= np.abs(begun - ended) < BACK * np.abs(level - others)
        most = rest < AT_HOME * heard
        judged = (within >= SOME) & (back | ~most)
        both = (rest * square + within * inner) / np.maximum(heard, 1)
        unrest = np.maximum(np.sqrt(np.maximum(np.where(most, both, square), 0.0)), usual)
        speaking = np.sqrt(within * rest / np.maximum(heard, 1))
        contrast = np.where(
            judged & (unrest > 0),
            speaking * np.abs(level - others) / np.where(unrest > 0, unrest, 1),
            0,
        )
        best = np.argmax(contrast, axis=0)
        more = np.flatnonzero(contrast[best, np.arange(nodes)] > clear)
        at = best[more], more
        first[more], stop[more] = a, a + shortest + best[more]
        home[more], size[more] = others[at], (level - others)[at]
        spread[more], clear[more] = unrest[at], contrast[at]
    return _Largest(first, stop, home, size, spread, clear)


def _moments(count: Array, total: Array, squares: Array) -> tuple[Array, Array, Array]:
    """How many, their mean and their variance, of sums of blocks and of their squares."""
    number = np.maximum(count, 1)
    return count, total / number, squares / number - (total / number) ** 2


def began_at_home(off: Array, stop: int, levels: Array) -> bool:
    """Whether a node belongs where its record begins, up to a slot, not where it went from there.

    Parameters
    ----------
    off
        The node's distance from the others, slot by slot.
    stop
        One past the last slot of the beginning.
    levels
        Of each node, the level that it has by such distances.

    Returns
    -------
    bool
        Whether the beginning lies nearer to the other nodes' levels. Where that says little, or the
        beginning is most of the record, True: sensors come sound and fail later.

    Examples
    --------
    >>> off = np.array([0.0, 0.1, 0.0, 8.0, 8.1, 8.0])
    >>> began_at_home(off, 3, np.array([-0.2, 0.0, 0.2]))
    True
    >>> began_at_home(off[::-1], 3, np.array([-0.2, 0.0, 0.2]))
    False
    """
    heard = ~np.isnan(off)
    if np.count_nonzero(heard[:stop]) > np.count_nonzero(heard[stop:]):
        return True
    return not farther_off(off[:stop], off[stop:], levels)


def farther_off(some: Array, others: Array, levels: Array) -> bool:
    """Whether some of a node's distances are clearly farther from other nodes' than its others.

    By more than half of the nodes' levels differ.
    """
    low, middle, high = np.nanquantile(levels, (0.25, 0.5, 0.75))
    here, there = (abs(float(np.nanmedian(part)) - middle) for part in (some, others))
    return bool(here - there > high - low)


def height(*measures: Array) -> Array:
    """How high nodes stand, in the mean of all measures: 1 where the highest of so many might."""
    if any((sizes > 0).sum() < FEWEST_NODES for sizes in measures):
        return np.zeros(measures[0].shape)
    standing = np.mean([_standing(sizes) for sizes in measures], axis=0)
    return np.asarray(standing / _of_so_many(standing.size))


def highest(sizes: Array) -> float:
    """A size that the highest of as many nodes might have, though all be well.

    None is too high where fewer than three nodes have any.

    Examples
    --------
    >>> 1.2 < highest(np.array([1.0, 1.1, 0.9, 1.0, 1.2, 30.0])) < 3.0
    True
    """
    some = sizes[sizes > 0]
    if some.size < FEWEST_NODES:
        return np.inf
    middle, spread = _usual(np.log(some))
    return float(np.exp(middle + spread * _of_so_many(sizes.size)))


def _of_so_many(nodes: int) -> float:
    """Standard deviations by which the highest of so many nodes might stand above the middle."""
    return float(np.sqrt(2 * np.log(nodes)) + 0.5)


def _standing(sizes: Array) -> Array:
    """How many standard deviations of the logarithm a size lies above the median node's."""
    logs = np.log(np.maximum(sizes, np.finfo(float).tiny))
    middle, spread = _usual(logs[sizes > 0])
    return np.asarray((logs - middle) / spread)


def _usual(logs: Array) -> tuple[float, float]:
    """The median node's logarithm, and by what nodes differ in theirs.

    By the lower half: faulty nodes are in the upper one.
    """
    middle = float(np.median(logs))
    below = middle - logs[logs <= middle]
    variance = (np.sum(below**2) + WEIGHT * ASSUMED**2) / (below.size + WEIGHT)
    return middle, max(float(np.sqrt(variance)), LEAST)


def _is_alone(told: Array, shift: _Largest, i: int, distances: Array) -> bool:
    """Whether a node moved for all of the stretch, and hardly another over the same blocks.

    A third as far is far enough: seven in ten of the node's blocks, and the witnesses' medians.
    Who was away for most of the record is compared by the readings themselves: what the others
    imply was mostly learnt meanwhile, and two that went along imply each other. Whatever side they
    went to, and whoever accused them.
    """
    within = np.zeros(told.shape[0], dtype=np.bool_)
    within[shift.first[i] : shift.stop[i]] = True
    heard = ~np.isnan(told[:, i])
    most = (heard & ~within).sum() < AT_HOME * heard.sum()
    others = distances if most else told
    moved = (node_medians(others[within]) - node_medians(others[~within])) / shift.size[i]
    least = np.nanquantile((told[within, i] - shift.home[i]) / shift.size[i], 0.3)
    as_far = (np.abs(moved) if most else moved) > 1 / 3
    return bool(least > 1 / 3 and as_far.sum() - 1 < OTHERS)
