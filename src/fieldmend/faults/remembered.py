"""Nodes that are no longer where a model of earlier days puts them.

A fault that is as old as the readings at hand changes nothing in them: no test that looks at these
alone can see it. A model fitted before remembers how the nodes stood to each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fieldmend.faults.events import DAY
from fieldmend.faults.labels import Context
from fieldmend.faults.levels import away
from fieldmend.faults.shifts import CLEAR, FEWEST_NODES, OTHERS, Blocks, height
from fieldmend.faults.stretches import Array, Mask, node_medians

# Nodes that may be found; of more than a quarter of them nobody can say that the others stayed.
MOST, SHARE = 6, 0.25
# Standard deviations that nine in ten lie within, and how many do in the middle node's readings, at
# the least, where a model knows the nodes: less, and it no longer fits, or never could tell.
WITHIN, HOLDS = 1.645, 0.8


@dataclass(frozen=True)
class Expected:
    """What a model expects of each node from the others alone; NaN of nodes that are new to it.

    `spread` is the standard deviation that its intervals stand for.
    """

    readings: Array
    spread: Array


Expect = Callable[[Mask], Expected]
"""What a model expects, given the readings that are not to be believed."""


@dataclass(frozen=True)
class _Farthest:
    """Of each node the stretch of blocks in which it is most clearly elsewhere than expected."""

    first: Array
    stop: Array
    size: Array
    clear: Array


def elsewhere(values: Array, expect: Expect, left_out: Mask, context: Context) -> Mask:
    """Readings of nodes that are elsewhere than a model of earlier days expects, for a day or more.

    Held against each other as in `shifts.outstanding`: a model grows old for all nodes, and a few
    that went much farther than such things go in this network stand out. Where a node belongs
    is what the model says, so it may be elsewhere from the first reading to the last.

    Parameters
    ----------
    values
        Slots × nodes.
    expect
        Asked for what the model expects, without what is known to be false.
    left_out
        Readings known to be false.
    context
        Its slot length tells what a day is: what lasts for hours is left to other tests.

    Returns
    -------
    ndarray of bool
        Readings a third of the way or more from where the model puts them.
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    day = DAY / context.slot if context.slot > 0 else len(values)
    z = _off(values, expect, left_out)
    for _ in range(min(MOST, int(SHARE * values.shape[1]))):
        n, found = _first(z, day)
        if not found.clear[n] > CLEAR:
            break
        # Where one is has moved what is expected of the others: they are judged without it.
        masked = left_out | out
        masked[:, n] = True
        others = _off(values, expect, masked)
        blocks = np.where(np.arange(z.shape[1]) == n, z, others)
        if not _stands_out(blocks, day, n):
            break
        out[:, n] = away(z[:, n], found.size[n], 1.0)
        z = others
    return out & ~np.isnan(values)


def _off(values: Array, expect: Expect, false: Mask) -> Array:
    """How far readings are off what is expected, in standard deviations."""
    expected = expect(false)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        z = (values - expected.readings) / expected.spread
    return np.where(np.isfinite(z) & ~false, z, np.nan)


def _first(z: Array, day: float) -> tuple[int, _Farthest]:
    """The node that is most clearly elsewhere."""
    far = _farthest(*_told(z, day))
    return int(np.argmax(far.clear)), far


def _told(z: Array, day: float) -> tuple[Array, int]:
    """Blocks × nodes, and how many of them are a day."""
    told = Blocks.of(z).told
    return told, max(2, int(np.ceil(min(day / len(z), 1.0) * len(told))))


def _stands_out(z: Array, day: float, n: int) -> bool:
    """Whether a node is farther off and more clearly so than nodes of this network are, alone.

    Not where the others are elsewhere than the model expects, too: such a model is no witness.
    """
    told, shortest = _told(z, day)
    far = _farthest(told, shortest)
    able = (~np.isnan(told)).sum(axis=0) >= 2
    if able.sum() < FEWEST_NODES or _held(np.delete(z, n, axis=1)) < HOLDS:
        return False
    standing = height(np.abs(far.size[able]), far.clear[able])
    high = standing[np.count_nonzero(able[:n])]
    moved = node_medians(told[far.first[n] : far.stop[n]]) / far.size[n]
    return bool(high > 1 and (moved > 1 / 3).sum() - 1 < OTHERS)


def _held(z: Array) -> float:
    """Share of readings that lie where they are expected, of the middle node."""
    heard = ~np.isnan(z)
    inside = np.count_nonzero(heard & (np.abs(z) <= WITHIN), axis=0)
    return float(np.median((inside / np.maximum(heard.sum(axis=0), 1))[heard.any(axis=0)]))


def _farthest(told: Array, shortest: int) -> _Farthest:
    """Over all stretches of blocks, the one whose mean is the clearest: in errors of that mean."""
    known = ~np.isnan(told)
    counts, sums = (
        np.vstack([np.zeros(told.shape[1]), np.cumsum(part, axis=0)])
        for part in (known, np.where(known, told, 0.0))
    )
    nodes = np.arange(told.shape[1])
    first, stop = np.zeros(nodes.size, dtype=int), np.zeros(nodes.size, dtype=int)
    size, clear = np.zeros(nodes.size), np.zeros(nodes.size)
    for a in range(len(told) - shortest + 1):
        ends = slice(a + shortest, None)  # all stretches that begin here, ends × nodes
        within, total = counts[ends] - counts[a], sums[ends] - sums[a]
        contrast = np.where(within >= 2, np.abs(total) / np.sqrt(np.maximum(within, 1)), 0.0)
        best = np.argmax(contrast, axis=0)
        more = np.flatnonzero(contrast[best, nodes] > clear)
        at = best[more], more
        first[more], stop[more] = a, a + shortest + best[more]
        size[more], clear[more] = (total / np.maximum(within, 1))[at], contrast[at]
    return _Farthest(first, stop, size, clear)
