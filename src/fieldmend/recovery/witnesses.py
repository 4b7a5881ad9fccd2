"""Who was heard, when, and who only repeats another: what judging and the notes rest on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.grid import Array
from fieldmend.records.gridding.twins import alike
from fieldmend.recovery.judging import outside

Limits = tuple[float, float] | None


@dataclass(frozen=True)
class Witnesses:
    """Per node: number of readings within the limits, slots of the first and the last one.

    `twin` is the first node with the very same readings, the node itself if there is none before;
    nodes that never change are left alone: they agree by nature. `failed` counts readings beyond
    the limits.
    """

    readings: Array
    first: Array
    last: Array
    twin: Array
    failed: int

    @property
    def heard(self) -> Array:
        """True for nodes with a reading that can be used."""
        heard: Array = self.readings > 0
        return heard

    @property
    def distinct(self) -> Array:
        """Indices of the nodes that repeat no other."""
        return np.flatnonzero(self.heard & (self.twin == np.arange(len(self.twin))))


def witnesses(X: Array, limits: Limits) -> Witnesses:
    """One pass over blocks of slots."""
    slots, nodes = X.shape
    readings = np.zeros(nodes, dtype=np.int64)
    first, last = np.full(nodes, slots), np.full(nodes, -1)
    low, high = np.full(nodes, np.inf), np.full(nodes, -np.inf)
    failed = 0
    for block in blocks(slots, nodes):
        x = np.asarray(X[block])
        beyond = outside(x, limits)
        seen = ~np.isnan(x) & ~beyond
        failed += int(np.count_nonzero(beyond))
        readings += seen.sum(axis=0)
        any_seen = seen.any(axis=0)
        first = np.minimum(first, np.where(any_seen, block.start + seen.argmax(axis=0), slots))
        last = np.maximum(last, np.where(any_seen, block.stop - 1 - seen[::-1].argmax(axis=0), -1))
        low = np.minimum(low, np.where(seen, x, np.inf).min(axis=0))
        high = np.maximum(high, np.where(seen, x, -np.inf).max(axis=0))
    return Witnesses(readings, first, last, _twins(X, low < high), failed)


def _twins(X: Array, changes: Array) -> Array:
    """The first node with the same readings, for each node."""
    twin = np.arange(len(changes))
    for group in alike(X, np.flatnonzero(changes)):
        twin[group] = group[0]
    return twin
