"""A record and what is hidden of it so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldmend.holdout.strata import Index, Mask

Slots = NDArray[np.int32]
ENOUGH = 5  # readings of a node, or none of them is hidden
AT_MOST = 0.25  # of all readings: an outage that would hide more cannot be tried


class Canvas:
    """What was heard and lost, what is hidden, and where the nearest readings are.

    ``spare`` readings of each node may be hidden, ``room`` is what is left of them; ``able`` are
    the nodes that have any to spare. ``day``: slots of a day, 0 where that means nothing here.
    ``at`` and ``source`` grow with every copied gap, see `Hidden`.
    """

    def __init__(self, heard: Mask, lost: Mask, day: float = 0.0) -> None:
        self.heard, self.lost, self.day = heard, lost, day
        self.expected = heard | lost
        self.slots, self.nodes = heard.shape
        per_node = np.count_nonzero(heard, axis=0)
        self.readings = np.maximum(per_node, 1)
        self.total = int(per_node.sum())
        self.spare = np.where(per_node >= ENOUGH, per_node // 2, 0)
        self.room = self.spare.copy()
        self.able = np.flatnonzero(self.spare)
        self.hidden: Mask = np.zeros_like(heard)
        self.at: list[Index] = []
        self.source: list[Index] = []
        # Readings of a node in one row, to pick one at random: node n's begin at first[n].
        self.reading = np.nonzero(heard.T)[1]
        self.first = np.append(0, np.cumsum(per_node))
        self.count = 0
        self.survey()
        self.real_before, self.real_after, self.real_silent = self.before, self.after, self.silent

    def survey(self) -> None:
        """Nearest readings left on either side of each entry; how silent each slot is."""
        left = self.heard & ~self.hidden
        slot = np.arange(self.slots, dtype=np.int32)[:, None]
        self.before: Slots = np.maximum.accumulate(np.where(left, slot, np.int32(-1)), axis=0)
        after = np.where(left, slot, np.int32(self.slots))
        self.after: Slots = np.minimum.accumulate(after[::-1], axis=0)[::-1]
        self.silent = np.append(0, np.cumsum(np.count_nonzero(self.expected & ~left, axis=1)))

    def length(self, cells: Index) -> Index:
        """Of the real gaps that these lost entries lie in."""
        slot, node = np.divmod(cells, self.nodes)
        after, before = self.real_after[slot, node], self.real_before[slot, node]
        return np.asarray(after - before - 1, dtype=np.intp)

    @property
    def left(self) -> Index:
        """Readings of each node that are not hidden."""
        return np.asarray(self.readings - (self.spare - self.room), dtype=np.intp)

    def starts(self, cells: Index) -> Index:
        """First entries of the real gaps that these lost entries lie in."""
        slot, node = np.divmod(cells, self.nodes)
        first = self.real_before[slot, node].astype(np.intp) + 1
        return np.asarray(first * self.nodes + node, dtype=np.intp)

    def hide(self, at: Index, source: Index) -> None:
        """Hide readings, flat indices, as those of `source` were lost."""
        new = self.heard.ravel()[at] & ~self.hidden.ravel()[at]
        self.at.append(at[new])
        self.source.append(source[new])
        self.hidden.ravel()[at[new]] = True
        self.count += int(np.count_nonzero(new))
        self.room -= np.bincount(at[new] % self.nodes, minlength=self.nodes)
