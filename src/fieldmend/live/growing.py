"""Distances that have grown little by little, which is what a drift does.

A drift is on its way all the time; a door that is opened, the sun or a pump is at its end within a
few readings and stays there. So it is asked how long the way took, not only how far it went.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.grid import Array
from fieldmend.live.implied import HELD

GROWN = 12  # readings at the least over which it has come to that
MEMORY = 96  # readings that are looked back
SMOOTH = 6  # readings: single ones tell no way that was gone
STEADY = 1 / 3  # of the time since it was a third as far off that it took to twice that: half, if
# it grew steadily, and nothing, if it leapt


@dataclass
class Past:
    """The newest readings of each node: how far off, in limits, and their times: rings."""

    ratio: Array  # nodes × MEMORY; limits as restless as the network was
    way: Array  # in limits of a calm one: what became calm has not leapt
    time: Array
    heard: Array  # how many there were, by node

    @classmethod
    def of(cls, nodes: int) -> Past:
        """Of so many nodes, of which nothing was heard yet."""
        shape = nodes, MEMORY
        return cls(
            np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64), np.zeros(nodes, np.intp)
        )

    def hear(self, which: Array, ratio: Array, way: Array, time: int) -> None:
        """One slot."""
        at = np.flatnonzero(which)
        place = self.heard[at] % MEMORY
        self.ratio[at, place], self.way[at, place], self.time[at, place] = ratio[at], way[at], time
        self.heard[at] += 1

    def drifts_since(self, node: int, *, known: bool = False) -> int | None:
        """When a drift was a third as far off as now; None if it is none.

        Beyond its limit for three readings, on that side of half of it for an hour's worth, and,
        unless it is `known`, come there little by little.
        """
        number, there = int(self.heard[node]), self.heard[node] % MEMORY
        order = np.arange(number) if number < MEMORY else np.r_[there:MEMORY, :there]
        if number < GROWN:
            return None
        off, way = self.ratio[node, order], self.way[node, order]
        off, way = off * np.sign(off[-1]), way * np.sign(off[-1])
        limit = way[-1] / max(off[-1], 1e-12)
        if not ((off[-HELD:] > 1.0).all() and (way[-GROWN:] > 0.5 * limit).all()):
            return None
        begun = 0 if known else _gradual(way)
        return None if begun is None else int(self.time[node, order[begun]])


def _gradual(off: Array) -> int | None:
    """The first reading after a distance was last a third of the newest; None if it leapt there.

    Examples
    --------
    >>> _gradual(np.linspace(0.0, 1.5, 60)), _gradual(np.repeat([0.0, 1.5], 30))
    (22, None)
    """
    sums = np.cumsum(np.r_[np.zeros(SMOOTH), off])
    size = np.minimum(np.arange(len(off)) + 1, SMOOTH)
    calm = (sums[SMOOTH:] - sums[:-SMOOTH]) / size
    third, two = (_last(calm < part * calm[-1]) for part in (1 / 3, 2 / 3))
    since = len(calm) - 1 - third
    steady = two >= 0 and since >= GROWN and two - third >= STEADY * since
    return third + 1 if steady else None


def _last(where: Array) -> int:
    """Where it was true for the last time; −1: nowhere."""
    found = np.flatnonzero(where)
    return int(found[-1]) if found.size else -1
