"""Who moved, the node or the others? A departure that begins as the network steps is no fault.

A departure is a distance between a node and what the others imply, and either of them makes it. A
keeper harvests five of six hives: the sixth goes on as it did, and is suddenly far from where the
others say it should be. What a node makes of a step that the network hardly ever takes (less, more
or nothing of it), nobody knows beforehand, so it is not held against it.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fieldmend.faults.events import WITNESSES
from fieldmend.faults.excursions import LAG
from fieldmend.faults.stretches import (
    Array,
    Mask,
    joined,
    middle,
    node_medians,
    stretches,
)

# Slots before and after a step that say how large it is, and how many of them have to be heard.
SIDE, HEARD = 7, 2
# Part of its way that a departure still has while it lasts, and readings that do not part it.
PART, JOINED = 1 / 3, 15
# Part of its size by which a departure changes when the others move: a drift has nothing to do
# with what they do.
STEPPED = 0.5
# Share of the record in which the others take as large a step: more often it is usual.
RARE = 0.01
# Others that take it: these parts of them.
CROWDS = (0.25, 0.5)


class OthersMoved:
    """Departures that begin or end as most others take a step that they hardly ever take.

    Parameters
    ----------
    values
        Slots × nodes, NaN = not observed; without their usual day.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> hives = rng.normal(size=(300, 6))
    >>> late = np.arange(300) >= 200
    >>> hives[200:, :5] -= 8.0
    >>> bool(OthersMoved(hives)(5, 8.0 * late, late).any())  # they went, it stayed
    True
    >>> hives[200:, :5] += 8.0
    >>> hives[200:, 5] += 8.0
    >>> bool(OthersMoved(hives)(5, 8.0 * late, late).any())  # it went, they stayed
    False
    """

    def __init__(self, values: Array) -> None:
        self.values = values

    @cached_property
    def spread(self) -> Array:
        """Of each node, positive."""
        spread = node_medians(np.abs(self.values - node_medians(self.values)))
        return np.where(spread > 0, spread, np.inf)

    @cached_property
    def steps(self) -> Array:
        """How far each node's next slots are from its last, before each slot, in its spreads.

        0 where too little was heard.
        """
        known = ~np.isnan(self.values)
        total, count = (
            np.cumsum(np.pad(a, ((1 + SIDE, SIDE - 1), (0, 0))), axis=0)
            for a in (np.where(known, self.values, 0.0), known.astype(float))
        )
        total, count = (a[SIDE:] - a[:-SIDE] for a in (total, count))
        mean = total / np.maximum(count, 1)
        heard = (count[SIDE:] >= HEARD) & (count[:-SIDE] >= HEARD)
        return np.where(heard, np.abs(mean[SIDE:] - mean[:-SIDE]), 0.0) / self.spread

    @cached_property
    def ordered(self) -> Array:
        """The steps of each slot, the largest last."""
        return np.sort(self.steps, axis=1)

    def __call__(self, node: int, departure: Array, asked: Mask, *, whole: bool = False) -> Mask:
        """Of one node: those of its readings in question that are off since, or until, they moved.

        Stretches are cut where the departure itself changes as the others move, but not if they
        are taken `whole`: a wrong gain moves as they do, and is seen when they move, at both ends.
        """
        out = np.zeros(asked.shape, dtype=np.bool_)
        slots, nodes = self.values.shape
        if not asked.any():
            return out
        # In a short record a step is the largest within some slots too easily; of few nodes, who
        # moved is undecided all the same.
        once = nodes <= WITNESSES or RARE * slots >= 2 * LAG + 1
        steps = [_Steps(step) for step in self._of_others(node)]
        # One that rests while the others wander is measured by them.
        size = departure / max(self.spread[node], float(np.median(self.spread)))
        heard = np.flatnonzero(~np.isnan(size))
        size, marks = size[heard], asked[heard]
        for a, b in zip(*stretches(joined(marks, 1)), strict=True):
            edges = [a, *([] if whole or not once else _turns(steps, heard, size, (a, b))), b]
            for start, stop in pairwise(edges):
                within = start + np.flatnonzero(marks[start:stop])
                if within.size and _since(steps, heard, size, within, once=once, twice=not whole):
                    out[heard[within]] = True
        return out

    def _of_others(self, node: int) -> list[Array]:
        """What a quarter of the others do at least, and what half of them do."""
        nodes, own = self.values.shape[1], self.steps[:, node]
        out = []
        for count in sorted({max(round(part * (nodes - 1)), 1) for part in CROWDS}):
            step = self.ordered[:, nodes - count]
            if count < nodes:
                step = np.where(own >= step, self.ordered[:, nodes - count - 1], step)
            out.append(step)
        return out


class _Steps:
    """What a part of the others does before each slot, and how often it does as much."""

    def __init__(self, size: Array) -> None:
        self.size = size

    @cached_property
    def ranked(self) -> Array:
        """The steps, the smallest first."""
        return np.sort(self.size)

    def smaller(self, size: float) -> int:
        """How many slots have a smaller step."""
        return int(np.searchsorted(self.ranked, size))

    def at_least(self, size: float) -> Array:
        """Slots with a step of that size or a larger one, in order."""
        return np.flatnonzero(self.size >= size)


def _turns(steps: list[_Steps], heard: Array, size: Array, part: tuple[int, int]) -> list[int]:
    """Readings in a stretch before which the others took a rare step, and the departure one."""
    start, stop = part
    if stop - start < 2 * SIDE:
        return []
    level = np.median(sliding_window_view(size[start:stop], SIDE), axis=1)
    before, after = level[:-SIDE], level[SIDE:]
    changed = np.abs(after - before)
    large = changed >= STEPPED * np.maximum(np.abs(before), np.abs(after))
    found: list[int] = []
    for i in map(int, np.flatnonzero(large & (changed > 0))):
        at = start + SIDE + i
        if found and at - found[-1] < SIDE:
            continue
        if _rare(steps, (int(heard[at - 1]), int(heard[at])), PART * float(changed[i])):
            found.append(at)
    return found


def _since(
    steps: list[_Steps],
    heard: Array,
    size: Array,
    within: Array,
    *,
    once: bool,
    twice: bool,
) -> bool:
    """Whether a departure, as far as it reaches to its side, begins or ends with such a step.

    One will do if asked `once`; asked `twice`, it begins *and* ends with steps less rare.
    """
    level = middle(size[within])
    side, least = np.sign(level), PART * abs(level)
    first = int(within[0]) - _reach(size[: within[0]][::-1], side, least)
    last = int(within[-1]) + _reach(size[within[-1] + 1 :], side, least)
    edges = [
        (int(heard[i - 1]), int(heard[i]))
        for i in (first, last + 1)
        if 0 < i < heard.size and _change(size, i) >= STEPPED * abs(level)
    ]
    if once and any(_rare(steps, edge, least) for edge in edges):
        return True
    both = twice and len(edges) == 2
    return both and all(_rare(steps, edge, least, RARE**0.5) for edge in edges)


def _reach(size: Array, side: float, least: float) -> int:
    """Over how many of the next readings a departure goes on, with some between that do not.

    A piece is looked at, and a longer one if it goes on to its end: most last for a few readings.
    """
    if not (size[: JOINED + 1] * side >= least).any():  # mostly
        return 0
    piece = 4 * JOINED
    while True:
        far = np.flatnonzero(size[:piece] * side >= least)
        after = np.flatnonzero(np.diff(far, prepend=-1) > JOINED + 1)
        reached = far[: after[0]] if after.size else far
        last = int(reached[-1]) + 1 if reached.size else 0
        if after.size or piece >= size.size or piece - last > JOINED:
            return last
        piece *= 4


def _change(size: Array, at: int) -> float:
    """By how much a departure changes before a reading."""
    return abs(middle(size[at : at + SIDE]) - middle(size[max(at - SIDE, 0) : at]))


def _rare(steps: list[_Steps], between: tuple[int, int], least: float, share: float = RARE) -> bool:
    """Whether a step of that size is taken about a time, and about few others as large a one."""
    slots = steps[0].size.size
    first, last = max(between[0] + 1 - LAG, 0), between[1] + LAG + 1
    # Elsewhere is before the one and from the other on.
    begin, end = max(first - LAG - SIDE, 0), min(last + LAG + SIDE, slots)
    elsewhere = begin + slots - end
    if not elsewhere:  # nothing to be rare among
        return False
    half = (last - first) // 2
    for step in steps:
        here = float(step.size[first:last].max())
        if not (here >= least and here > 0):
            continue
        # Mostly it is not rare by far: then nobody needs to know when.
        if slots - step.smaller(here) - (end - begin) > share * elsewhere:
            continue
        taken = step.at_least(here)
        if np.count_nonzero((taken < begin) | (taken >= end)) / elsewhere > share:
            continue
        # Slots that have one of them within so many slots, here left out.
        low = np.maximum(taken - half, 0)
        high = np.minimum(taken + half + 1, slots)
        low[1:] = np.maximum(low[1:], high[:-1])
        here_too = np.maximum(np.minimum(high, end) - np.maximum(low, begin), 0)
        if (high - low - here_too).sum() / elsewhere <= share:
            return True
    return False
