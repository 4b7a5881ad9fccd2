"""Who departs together: what several nodes go through at one time is an event, no fault.

Out and back by jumps is what a fault does, and what a road does where traffic breaks down. Faults
come one by one; of those that fall into one time, to one side, by chance, it is known how many
there are. Where there are far more of them, and not at one time only, as when a gateway fails, what
others join is real, unless it is always the same nodes that nothing else joins. And what happens
goes on from one reading to the next: garbage jumps about, or is one value.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.jumps import Index
from fieldmend.field.tied import tied

_MOMENTS = 3  # times at which several depart: a gateway may fail once, or twice
_CHANCE = 4.0  # times the company that chance makes
_JOINED = 0.5  # others that are away as well, in the mean over a segment
_MOST = 0.5  # of the nodes: what more of them depart from at once is a gateway's, or all see it
_STILL = 1e-9  # of a node's spread: rounding
_STEADY = 0.5  # of a departure, from one reading to the next


def joined(doubted: Mask, departure: Array, used: Mask, readings: Array) -> tuple[Mask, bool]:
    """Doubted readings in segments that some others join, to one side; and whether by no chance.

    Nodes × slots: `doubted` of the `used` readings, and their departure from what the nodes have in
    common.
    """
    node, column = np.nonzero(used)
    off = departure[used]
    start, length = _segments(doubted[used], node)
    kept = _steady(off, start, length) & _moving(readings[used], start, length)
    start, length = start[kept], length[kept]
    last, sound = column[start + length - 1], used & ~doubted
    bound = tied(node[start], column[start], last, readings, sound)
    start, length = start[~bound], length[~bound]
    out: Mask = np.zeros(used.shape, dtype=np.bool_)
    if not len(start):
        return out, False
    spans = column[start], column[start + length - 1]
    most = _MOST * np.count_nonzero(used.any(axis=1))
    with_others, events = _company(*spans, _sides(off, start, length), used.shape[1], most)
    for k in np.flatnonzero(with_others).tolist():
        mine = slice(int(start[k]), int(start[k] + length[k]))
        out[node[mine], column[mine]] = True
    return out, events


def _company(first: Index, last: Index, above: Mask, slots: int, most: float) -> tuple[Mask, bool]:
    """Which segments, from a first to a last slot, have company; if more than by chance."""
    company, chance = np.zeros(len(first)), np.zeros(len(first))
    sides = [_away(first[above == side], last[above == side], slots) for side in (False, True)]
    every, moments = sides[0] + sides[1], 0
    for side, away in zip((False, True), sides, strict=True):
        own = above == side
        # Who goes the other way at the time is no company, but speaks against it.
        company[own] = _mean(2 * away - every, first[own], last[own]) - 1.0
        chance[own] = (away.sum() - (last - first + 1)[own]) / slots
        moments += _moments(away, every, most)
    has = (company >= _JOINED) & (_mean(every, first, last) <= most)
    return has, moments >= _MOMENTS and bool(company.sum() > _CHANCE * chance.sum())


def _segments(doubted: Mask, node: Index) -> tuple[Index, Index]:
    """First reading and number of those of a node that are doubted in a row."""
    fresh = np.append(True, node[1:] != node[:-1])[: len(node)]
    before = np.append(False, doubted[:-1])[: len(node)] & ~fresh
    start = np.flatnonzero(doubted & ~before)
    number = np.cumsum(doubted & ~before) - 1
    return start, np.bincount(number[doubted], minlength=len(start)).astype(np.intp)


def _steady(departure: Array, start: Index, length: Index) -> Mask:
    """Segments of two readings or more with steps that are half the departure, in the mean."""
    step = np.append(0.0, np.cumsum(np.abs(np.diff(departure))))
    size = np.append(0.0, np.cumsum(np.abs(departure)))
    steps = (step[start + length - 1] - step[start]) / np.maximum(length - 1, 1)
    sizes = (size[start + length] - size[start]) / length
    return np.asarray((length > 1) & (steps <= _STEADY * sizes))


def _moving(readings: Array, start: Index, length: Index) -> Mask:
    """Segments in which readings move: one value again and again is what a gateway sends."""
    step = np.append(0.0, np.cumsum(np.abs(np.diff(readings)) > _STILL))
    return np.asarray(step[start + length - 1] > step[start])


def _sides(departure: Array, start: Index, length: Index) -> Mask:
    """Which segments lie above what is expected of them."""
    total = np.append(0.0, np.cumsum(departure))
    return np.asarray(total[start + length] > total[start])


def _mean(count: Index, first: Index, last: Index) -> Array:
    """Over the slots of each segment."""
    total = np.append(0, np.cumsum(count))
    return np.asarray((total[last + 1] - total[first]) / (last - first + 1))


def _moments(away: Index, every: Index, most: float) -> int:
    """Stretches of slots in which several are away to one side, and at no time `most` of all."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], away > 1, [False]]).astype(np.int8)))
    return sum(int(every[a:b].max() <= most) for a, b in zip(edges[::2], edges[1::2], strict=True))


def _away(first: Index, last: Index, slots: int) -> Index:
    """How many segments there are in each slot."""
    edges = np.bincount(first, minlength=slots + 1) - np.bincount(last + 1, minlength=slots + 1)
    return np.asarray(np.cumsum(edges[:-1]), dtype=np.intp)
