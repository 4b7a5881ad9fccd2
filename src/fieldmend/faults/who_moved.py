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
    grown,
    joined,
    node_medians,
    rolling,
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
        are taken `whole`: a wrong gain moves as they do.
        """
        out = np.zeros(asked.shape, dtype=np.bool_)
        slots, nodes = self.values.shape
        # In a short record a step is the largest within some slots too easily; of few nodes, who
        # moved is undecided all the same.
        if not asked.any() or (nodes > WITNESSES and RARE * slots < 2 * LAG + 1):
            return out
        steps = self._of_others(node)
        # One that rests while the others wander is measured by them.
        size = departure / max(self.spread[node], float(np.median(self.spread)))
        heard = np.flatnonzero(~np.isnan(size))
        size, marks = size[heard], asked[heard]
        for a, b in zip(*stretches(joined(marks, 1)), strict=True):
            edges = [a, *([] if whole else _turns(steps, heard, size, (a, b))), b]
            for start, stop in pairwise(edges):
                within = np.zeros(heard.size, dtype=np.bool_)
                within[start:stop] = marks[start:stop]
                if within.any() and _since(steps, heard, size, within):
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


def _turns(steps: list[Array], heard: Array, size: Array, part: tuple[int, int]) -> list[int]:
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


def _since(steps: list[Array], heard: Array, size: Array, within: Mask) -> bool:
    """Whether a departure, as far as it reaches to its side, begins or ends with such a step."""
    middle = float(np.median(size[within]))
    as_far = size * np.sign(middle) >= PART * abs(middle)
    first, last = np.flatnonzero(grown(within, joined(as_far | within, JOINED)))[[0, -1]]
    return any(
        _rare(steps, (int(heard[i - 1]), int(heard[i])), PART * abs(middle))
        for i in (int(first), int(last) + 1)
        if 0 < i < heard.size and _change(size, i) >= STEPPED * abs(middle)
    )


def _change(size: Array, at: int) -> float:
    """By how much a departure changes before a reading."""
    return abs(float(np.median(size[at : at + SIDE]) - np.median(size[max(at - SIDE, 0) : at])))


def _rare(steps: list[Array], between: tuple[int, int], least: float) -> bool:
    """Whether a step of that size is taken about a time, and about few others as large a one."""
    first, last = max(between[0] + 1 - LAG, 0), between[1] + LAG + 1
    slot = np.arange(steps[0].size)
    elsewhere = (slot < first - LAG - SIDE) | (slot >= last + LAG + SIDE)
    if not elsewhere.any():  # nothing to be rare among
        return False
    for step in steps:
        here = float(step[first:last].max())
        if here >= least and here > 0 and np.mean(step[elsewhere] >= here) <= RARE:
            around = rolling((step >= here).astype(float), last - first) > 0
            if around[elsewhere].mean() <= RARE:
                return True
    return False
