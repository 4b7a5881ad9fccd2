"""Nodes that leave their level for long or for good: measured by what the other nodes do.

A fault that lasts for half of a record is half of what the node's own spread is made of, so no
test that measures a node by itself can see it. Here a node's two levels, within a stretch and
outside it, are held against those of all nodes: each has a stretch in which it lies farthest from
the rest of its record, and a few have gone much farther than such things go in this network.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fieldmend.faults.events import DAY
from fieldmend.faults.implied import Implied
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array, Mask, joined, node_medians, rolling, slot_medians

# With fewer nodes nobody can say what is usual; nor with fewer blocks of time.
FEWEST_NODES, FEWEST_BLOCKS = 6, 8
# Two days do not tell how far nodes wander from one day to the next.
FEWEST_DAYS = 4
# Blocks of time, at the most; readings that a block's median needs.
BLOCKS, HEARD = 48, 3
# Share of its blocks that have to be left to say where a node belongs.
AT_HOME = 1 / 3
# A level that lasts has to be so many of its own block spreads away.
CLEAR = 6.0
# A normal distribution's quartile in standard deviations; and the least of these in a logarithm:
# a third, by which nodes differ though all be well.
QUARTILE, LEAST = 0.674, 1 / 3
# As many others on the same way at the same time make it no fault of one.
OTHERS = 2


@dataclass(frozen=True)
class _Shift:
    """Of each node the stretch of blocks in which it lies farthest from the rest of its record.

    `size` in the units of the readings, with its sign; `clear` in block spreads of what is left.
    """

    first: Array
    stop: Array
    home: Array
    size: Array
    clear: Array


def shifted(values: Array, field: Implied, left_out: Mask, context: Context) -> Mask:
    """Readings of nodes that left their level, against what the others imply.

    Parameters
    ----------
    values
        Slots × nodes.
    field
        What the others imply of `values`.
    left_out
        Readings known to be false.
    context
        Its slot length tells what a day is: what lasts for hours is left to other tests.

    Returns
    -------
    ndarray of bool
        A node is found if its shift is clear of its own unrest, and larger than the largest of as
        many nodes would be were their logarithms normal, by one standard deviation more.
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    residual = np.where(left_out, np.nan, field.residual)
    medians, edges = _blocks(residual)
    able = np.flatnonzero((~np.isnan(medians)).sum(axis=0) >= FEWEST_BLOCKS)
    shortest = _shortest(len(values), context)
    few = able.size < FEWEST_NODES or edges.size <= FEWEST_BLOCKS
    if few or len(values) < FEWEST_DAYS * shortest:
        return out
    blocks = max(2, int(np.ceil(shortest * (edges.size - 1) / len(values))))
    shift = _largest_shift(medians[:, able], blocks)
    far = (np.abs(shift.size) > _usual_largest(np.abs(shift.size))) & (
        shift.clear > max(CLEAR, _usual_largest(shift.clear))
    )
    alone = [i for i in map(int, np.flatnonzero(far)) if _is_alone(medians[:, able], shift, i)]
    off = values - slot_medians(values)[:, None]
    levels = node_medians(off)
    for i in alone:
        n = able[i]
        home, size = float(shift.home[i]), float(shift.size[i])
        inside = slice(edges[shift.first[i]], edges[shift.stop[i]])
        if shift.first[i] == 0 and _is_home(off[:, n], inside, levels):
            home, size = home + size, -size  # it began where it belongs, and left for good
        out[:, n] = _away(residual[:, n] - home, size, abs(size) / float(shift.clear[i]))
    return out & ~np.isnan(values)


def _blocks(residual: Array) -> tuple[Array, Array]:
    """Medians of stretches of equal length, blocks × nodes, and the stretches' edges."""
    slots = residual.shape[0]
    edges = np.linspace(0, slots, min(BLOCKS, max(1, slots // FEWEST_BLOCKS)) + 1).astype(int)
    medians = []
    for a, b in pairwise(edges):
        heard = (~np.isnan(residual[a:b])).sum(axis=0) >= HEARD
        medians.append(node_medians(np.where(heard, residual[a:b], np.nan)))
    return np.array(medians), edges


def _shortest(slots: int, context: Context) -> float:
    """Slots that a shift has to last: a day; a sixth of the record where slots have no length."""
    return DAY / context.slot if context.slot > 0 else slots / 6


def _largest_shift(medians: Array, shortest: int) -> _Shift:
    """Over all stretches of blocks, the one with the clearest difference in level."""
    known = ~np.isnan(medians)
    filled = np.where(known, medians, 0.0)
    counts, sums, squares = (
        np.vstack([np.zeros(medians.shape[1]), np.cumsum(part, axis=0)])
        for part in (known, filled, filled**2)
    )
    steps = node_medians(np.abs(np.diff(medians, axis=0)))
    usual = float(np.nanmedian(steps)) if np.isfinite(steps).any() else 0.0
    nodes = medians.shape[1]
    first, stop = np.zeros(nodes, dtype=int), np.zeros(nodes, dtype=int)
    home, size, clear = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
    for a in range(medians.shape[0]):
        for b in range(a + shortest, medians.shape[0] + 1):
            within = counts[b] - counts[a]
            rest = counts[-1] - within
            judged = (within >= 2) & (rest >= AT_HOME * counts[-1])
            level = (sums[b] - sums[a]) / np.maximum(within, 1)
            others = (sums[-1] - sums[b] + sums[a]) / np.maximum(rest, 1)
            spread = (squares[-1] - squares[b] + squares[a]) / np.maximum(rest, 1) - others**2
            unrest = np.maximum(np.sqrt(np.maximum(spread, 0.0)), usual)
            contrast = np.where(
                judged & (unrest > 0), np.abs(level - others) / np.where(unrest > 0, unrest, 1), 0
            )
            more = contrast > clear
            first[more], stop[more] = a, b
            home[more], size[more] = others[more], (level - others)[more]
            clear[more] = contrast[more]
    return _Shift(first, stop, home, size, clear)


def _usual_largest(sizes: Array) -> float:
    """The size that the largest of so many would hardly exceed, were their logarithms normal."""
    some = sizes[sizes > 0]
    if some.size < FEWEST_NODES:
        return np.inf
    # The lower half: faulty nodes are in the upper one.
    low, middle = np.quantile(np.log(some), (0.25, 0.5))
    reach = np.sqrt(2 * np.log(some.size)) + 1
    return float(np.exp(middle + reach * max((middle - low) / QUARTILE, LEAST)))


def _is_alone(medians: Array, shift: _Shift, i: int) -> bool:
    """Whether a node moved for all of the stretch, and hardly another over the same blocks.

    A third as far is far enough: seven in ten of the node's blocks, and the witnesses' medians.
    """
    within = np.zeros(medians.shape[0], dtype=np.bool_)
    within[shift.first[i] : shift.stop[i]] = True
    moved = node_medians(medians[within]) - node_medians(medians[~within])
    least = np.nanquantile((medians[within, i] - shift.home[i]) / shift.size[i], 0.3)
    return bool(least > 1 / 3 and (moved / shift.size[i] > 1 / 3).sum() - 1 < OTHERS)


def _is_home(off: Array, inside: slice, levels: Array) -> bool:
    """Whether a record's first stretch is where the node belongs, not what comes after.

    The part that lies nearer to the other nodes' levels; where that says little, the longer one;
    where both are of a length, the earlier: sensors come sound and fail later.
    """
    before, after = np.nanmedian(off[inside]), np.nanmedian(off[inside.stop :])
    low, middle, high = np.nanquantile(levels, (0.25, 0.5, 0.75))
    nearer = abs(after - middle) - abs(before - middle)
    if abs(nearer) > high - low:
        return bool(nearer > 0)
    return bool(inside.stop > AT_HOME * off.size)


def _away(departure: Array, size: float, unrest: float) -> Mask:
    """Where a node is on the side of its shift, a third of the way or more, for most of the time.

    Readings that came back are good: at least half of those around a false one are off.
    """
    heard = np.flatnonzero(~np.isnan(departure))
    limit = max(abs(size) / 3, 2 * unrest)
    off = departure[heard] * np.sign(size) > limit
    crowd = rolling(off.astype(float), 15) >= 0.5
    out = np.zeros(departure.size, dtype=np.bool_)
    out[heard] = off & joined(crowd, 15)
    return out
