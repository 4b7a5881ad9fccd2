"""Nodes that go away from what the others imply, ever farther, to the end of their record.

A ramp as long as the record has no level that it leaves, so no stretch stands out from the rest.
But it is a straight line in time, and what nodes do by themselves is none: each node's departures
are held against the line that begins at some time and goes on to the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.faults.events import DAY
from fieldmend.faults.implied import Implied
from fieldmend.faults.labels import Context
from fieldmend.faults.levels import away
from fieldmend.faults.shifts import (
    AT_HOME,
    CLEAR,
    FEWEST_BLOCKS,
    FEWEST_DAYS,
    FEWEST_NODES,
    OTHERS,
    Blocks,
    farther_off,
    height,
)
from fieldmend.faults.stretches import Array, Mask, node_medians, slot_medians

# Part of a node's way that makes another one a companion on it.
PART = 1 / 3


def ramped(values: Array, field: Implied, left_out: Mask, context: Context) -> Mask:
    """Readings of nodes that drift away from what the others imply, to the end of the record.

    A ramp has to be clear of the node's own unrest, and size and clearness together have to stand
    higher than the highest of as many nodes would (`shifts.height`); two others that go a third as
    far meanwhile make it no fault of one.

    Parameters
    ----------
    values
        Slots × nodes.
    field
        What the others imply of `values`.
    left_out
        Readings known to be false.
    context
        Its slot length tells what a day is: records of fewer than three are not asked.

    Returns
    -------
    ndarray of bool
        Readings a third of the way or more from where the node began; or ended, if its beginning
        lies farther from the other nodes.
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    slots = len(values)
    day = DAY / context.slot if context.slot > 0 else slots / FEWEST_DAYS
    residual = np.where(left_out, np.nan, field.residual)
    blocks = Blocks.of(residual)
    able = np.flatnonzero((~np.isnan(blocks.told)).sum(axis=0) >= FEWEST_BLOCKS)
    few = able.size < FEWEST_NODES or blocks.edges.size <= FEWEST_BLOCKS
    if few or slots < FEWEST_DAYS * day:
        return out
    told = blocks.told[:, able]
    lines = _Lines(told)
    tall = height(np.abs(lines.size), lines.clear)
    off = values - slot_medians(values)[:, None]
    levels = node_medians(off)
    for i in map(int, np.flatnonzero((tall > 1) & (lines.clear > CLEAR))):
        if lines.with_others(i):
            continue
        n, home, size = int(able[i]), float(lines.home[i]), float(lines.size[i])
        half = int(blocks.edges[(lines.first[i] + len(told)) // 2])
        if farther_off(off[:half, n], off[half:, n], levels):
            home, size = home + size, -size
        out[:, n] = away(residual[:, n] - home, size, float(lines.spread[i]))
    return out & ~np.isnan(values)


@dataclass(frozen=True)
class _Line:
    """Of each node a level, how far it goes from there, what is left, how clear that is."""

    home: Array
    size: Array
    spread: Array
    clear: Array


class _Lines:
    """Of each node the clearest ramp: still up to some block, then straight to the record's end.

    `clear` is its size over what is left of the node's blocks, times the root of the blocks that
    speak for it, as of `shifts`.
    """

    def __init__(self, told: Array) -> None:
        self.told = told
        steps = node_medians(np.abs(np.diff(told, axis=0)))
        self.usual = float(np.nanmedian(steps)) if np.isfinite(steps).any() else 0.0
        nodes = told.shape[1]
        self.first = np.zeros(nodes, dtype=int)
        self.home, self.size, self.spread, self.clear = (np.zeros(nodes) for _ in range(4))
        for first in range(int((1 - AT_HOME) * len(told))):
            line = self._from(first)
            more = line.clear > self.clear
            self.first[more] = first
            for name in ("home", "size", "spread", "clear"):
                getattr(self, name)[more] = getattr(line, name)[more]

    def _from(self, first: int) -> _Line:
        """Least squares of all nodes' blocks in the ramp from a block on, 1 at the end."""
        known = ~np.isnan(self.told)
        ramp = np.clip(np.arange(len(self.told)) - first, 0, None) / (len(self.told) - 1 - first)
        count = np.maximum(known.sum(axis=0), 1)
        middle, level = ramp @ known / count, np.nansum(self.told, axis=0) / count
        x = np.where(known, ramp[:, None] - middle, 0.0)
        y = np.where(known, self.told - level, 0.0)
        square = np.maximum((x**2).sum(axis=0), 1e-12)
        size = (x * y).sum(axis=0) / square
        left = np.sqrt(((y - size * x) ** 2).sum(axis=0) / count)
        spread = np.maximum(left, self.usual)
        clear = np.abs(size) * np.sqrt(square) / np.where(spread > 0, spread, np.inf)
        return _Line(level - size * middle, size, spread, clear)

    def with_others(self, i: int) -> bool:
        """Whether others go a third as far to the same side over the same time."""
        there = self._from(int(self.first[i])).size / self.size[i]
        return bool(np.count_nonzero(there > PART) - 1 >= OTHERS)
