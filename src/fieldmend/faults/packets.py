"""A corrupt packet: other conditions of the node are off in the very slot."""

from __future__ import annotations

import numpy as np

from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array, middle, rare

# Another condition's jump makes a packet of a spike if it is this rare, in decades beyond 1 %.
PACKET = 2.0


class Packets:
    """Other conditions of the same packets, node by node: each is looked at when it is asked for.

    What is rare for a node takes all of its record to tell, and is asked of each of its episodes.
    """

    def __init__(self, context: Context) -> None:
        self.others = {
            name: np.asarray(array)
            for name, array in context.companions.items()
            if name != context.condition
        }
        self._columns: dict[tuple[str, int], tuple[Array, Array, float]] = {}

    def off(self, node: int, slot: int) -> bool:
        """Whether another condition leaves its neighbours in time by a rare jump."""
        for name in self.others:
            at, readings, limit = self._column(name, node)
            place = int(np.searchsorted(at, slot))
            if place == at.size or at[place] != slot:
                continue
            around = middle(readings[max(place - 5, 0) : place + 6])
            if abs(readings[place] - around) > limit:
                return True
        return False

    def _column(self, name: str, node: int) -> tuple[Array, Array, float]:
        """Slots in which a condition was heard, its readings there, and the size of a rare jump."""
        found = self._columns.get((name, node))
        if found is None:
            column = self.others[name][:, node].astype(np.float64)
            at = np.flatnonzero(~np.isnan(column))
            found = at, column[at], rare(np.diff(column[at]), PACKET)
            self._columns[name, node] = found
        return found
