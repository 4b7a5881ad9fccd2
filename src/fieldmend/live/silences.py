"""Who has been silent for longer than it ever is: from each node's own cadence, in slots.

A node that is lost now and then has gaps; one that reports once an hour has them always. A silence
is one when it is longer than one and a half times the node's longest before, and so long that
chance makes one in a million at the share of slots in which it usually sends nothing.
"""

from __future__ import annotations

import math

import numpy as np

from fieldmend.grid import Array

LEAST = 3  # slots
LONGER = 1.5  # than the longest before
CHANCE = 1e-6
ENOUGH = 20  # slots with a reading before a node is known
MEMORY = 288  # slots that the usual share of empty ones is remembered over
DOWN, USUAL = 0.5, 24  # heard less than half of what was usual in so many slots: the network is


class Silences:
    """The silences of all nodes, slot by slot.

    Examples
    --------
    >>> silences = Silences(longest_learnt=288)
    >>> for _ in range(30):
    ...     silences.hear(np.array([True, True]))
    >>> for _ in range(4):
    ...     silences.hear(np.array([True, False]))
    >>> silences.silent().tolist(), silences.gap.tolist()
    ([False, True], [0, 4])
    """

    def __init__(self, longest_learnt: int) -> None:
        self.most = longest_learnt
        self.gap = np.zeros(0, np.int64)
        self.longest = np.zeros(0, np.int64)
        self.heard = np.zeros(0, np.int64)
        self.empty = np.zeros(0)  # usual share of slots without a reading
        self.recent: list[int] = []  # nodes heard in the newest slots
        self.low = 0  # slots in a row with far fewer than usual

    def hear(self, seen: Array) -> None:
        """One slot: who was heard in it."""
        self._widen(len(seen))
        self.low = self.low + 1 if self._far_fewer(int(seen.sum())) else 0
        if not self.low:
            self.recent = [*self.recent, int(seen.sum())][-USUAL:]
        known = self.heard > 0
        if not self.low:  # what the gateway lost is no habit of a node
            self._learn(seen & known & (self.gap <= self.most))
        self.gap = np.where(seen, 0, self.gap + known)
        self.heard = self.heard + seen

    def _learn(self, ended: Array) -> None:
        """Silences that have ended tell how long they may be, and how usual empty slots are."""
        self.longest = np.where(ended, np.maximum(self.longest, self.gap), self.longest)
        rate = 1.0 - (1.0 - 1.0 / np.minimum(self.heard + 1.0, MEMORY)) ** (self.gap + 1)
        share = self.gap / (self.gap + 1)
        self.empty = np.where(ended, self.empty + rate * (share - self.empty), self.empty)

    def allowed(self) -> Array:
        """How many empty slots are no silence yet, by node."""
        p = np.clip(self.empty, 1e-6, 0.99)
        chance = np.ceil(math.log(CHANCE) / np.log(p))
        out: Array = np.maximum(np.maximum(LEAST, np.ceil(LONGER * self.longest)), chance)
        return out

    def silent(self) -> Array:
        """True for nodes that are silent; for none while the network itself is."""
        out: Array = (self.gap > self.allowed()) & (self.heard >= ENOUGH)
        return out if not self.low else np.zeros_like(out)

    def network(self) -> bool:
        """Whether far fewer nodes are heard than usual, for some slots in a row."""
        return self.low > LEAST

    def _far_fewer(self, number: int) -> bool:
        return len(self.recent) >= USUAL // 2 and number < DOWN * float(np.median(self.recent))

    def _widen(self, nodes: int) -> None:
        new = nodes - len(self.gap)
        if new > 0:
            nothing = np.zeros(new, np.int64)
            self.gap = np.concatenate([self.gap, nothing])
            self.longest = np.concatenate([self.longest, nothing])
            self.heard = np.concatenate([self.heard, nothing])
            self.empty = np.concatenate([self.empty, np.zeros(new)])
