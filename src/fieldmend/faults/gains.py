"""Nodes that follow what the others imply by more, or by less, than in the rest of their record.

A sensor that lost part of its gain stays where it was: its level is right, it is as calm as others,
and half of its readings are near what they should be. But when the others rise by ten it rises by
three. How much of their way it goes is told day by day, and asked as levels are (`shifts`).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fieldmend.faults.events import DAY
from fieldmend.faults.implied import Implied
from fieldmend.faults.labels import Context
from fieldmend.faults.shifts import (
    BLOCKS,
    FEWEST_BLOCKS,
    FEWEST_DAYS,
    Blocks,
    began_at_home,
    outstanding,
)
from fieldmend.faults.stretches import Array, Mask, node_medians, slot_medians

# Readings that tell how much of a way a node goes, and how much of its variance has to be implied
# meanwhile: where nothing moves, nothing is followed.
HEARD, MOVING = 8, 0.1
# Part of a node's variance that goes with what is implied: where it does something else by half,
# it has not just another gain.
FOLLOWS = 0.5


def rescaled(values: Array, field: Implied, left_out: Mask, context: Context) -> Mask:
    """Readings of nodes whose gain changed, against what the other nodes imply.

    Parameters
    ----------
    values
        Slots × nodes.
    field
        What the others imply of `values`.
    left_out
        Readings known to be false.
    context
        Its slot length tells what a day is: no block is shorter, or it would tell the hour.

    Returns
    -------
    ndarray of bool
        All readings of the stretch: those of a wrong gain that are right are so by accident.

    Examples
    --------
    >>> from fieldmend.faults.implied import implied
    >>> rng = np.random.default_rng(0)
    >>> field = np.sin(np.arange(480.0) / 4)[:, None] + 0.1 * rng.normal(size=(480, 6))
    >>> field[200:400, 2] *= 0.2
    >>> none, hour = np.zeros(field.shape, bool), Context(slot=3_600_000_000)
    >>> rescaled(field, implied(field, ~none), none, hour).mean(axis=0).round(1)
    array([0. , 0. , 0.4, 0. , 0. , 0. ])
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    slots = len(values)
    day = DAY / context.slot if context.slot > 0 else slots / FEWEST_DAYS
    count = min(BLOCKS, int(slots / max(day, HEARD)))
    if count < FEWEST_BLOCKS:
        return out
    own = np.where(left_out, np.nan, values)
    told = own - field.residual  # NaN where either is
    edges = np.linspace(0, slots, count + 1).astype(int)
    gains, moves = _followed(own, told, edges)
    for shift in outstanding(Blocks(gains, edges), context):
        n = shift.node
        first, stop = np.searchsorted(edges, (shift.inside.start, shift.inside.stop))
        inside = _between(own[:, n], told[:, n], edges, (int(first), int(stop)))
        if first == 0 and began_at_home(moves[:, n], int(stop), node_medians(moves)):
            inside = ~inside  # it began as it belongs
        out[:, n] = inside
    return out & ~np.isnan(own)


def _followed(own: Array, told: Array, edges: Array) -> tuple[Array, Array]:
    """Of readings the slope in what is implied, and how far they go beside most other nodes'.

    Logarithms, blocks × nodes.
    """
    known = ~np.isnan(told)
    number, filled = np.maximum(known.sum(axis=0), 1), np.where(known, told, 0.0)
    centred = np.where(known, told - filled.sum(axis=0) / number, 0.0)
    usual = (centred**2).sum(axis=0) / number
    gains, moves = [], []
    for a, b in pairwise(edges):
        heard = ~np.isnan(told[a:b])
        count = np.maximum(heard.sum(axis=0), 1)
        x, y = (np.where(heard, part[a:b], 0.0) for part in (told, own))
        x, y = (np.where(heard, part - part.sum(axis=0) / count, 0.0) for part in (x, y))
        square = (x**2).sum(axis=0)
        both, size = (x * y).sum(axis=0), (y**2).sum(axis=0)
        able = (heard.sum(axis=0) >= HEARD) & (square > MOVING * usual * count) & (square > 0)
        follows = able & (both > 0) & (both**2 > FOLLOWS * square * size)
        slope, size = np.where(follows, both / np.where(able, square, 1.0), 1.0), size / count
        gains.append(np.where(follows, np.log(slope), np.nan))
        moves.append(np.where(follows, 0.5 * np.log(np.where(size > 0, size, 1.0)), np.nan))
    far = np.array(moves)
    return np.array(gains), far - slot_medians(far)[:, None]


def _between(own: Array, told: Array, edges: Array, blocks: tuple[int, int]) -> Mask:
    """The stretch of some blocks, from the reading on, and up to it, at which one line ends.

    Blocks are days: of those at its edges a part is of the stretch, by the squares that its own
    line and that of the rest leave.
    """
    first, stop = blocks
    heard = ~np.isnan(told)
    out = np.zeros(own.size, dtype=np.bool_)
    out[edges[first] : edges[stop]] = True
    rough = np.zeros(own.size, dtype=np.bool_)
    for at in {first, stop} - {0, edges.size - 1}:
        rough[edges[at - 1] : edges[at + 1]] = True
    lines = heard & out & ~rough, heard & ~out & ~rough
    if min(np.count_nonzero(line) for line in lines) < HEARD:
        return out
    here, there = (
        (own - np.polyval(np.polyfit(told[line], own[line], 1), told)) ** 2 for line in lines
    )
    better = np.where(heard, there - here, 0.0)
    for at, inner in ((first, 1.0), (stop, -1.0)):
        if 0 < at < edges.size - 1:
            low, high = int(edges[at - 1]), int(edges[at + 1])
            gained = np.append(np.cumsum((inner * better[low:high])[::-1])[::-1], 0.0)
            change = low + int(np.argmax(gained))
            out[low:change], out[change:high] = inner < 0, inner > 0
    return out
