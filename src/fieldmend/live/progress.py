"""When a slot may close: by the wall clock, and while catching up by the nodes' own progress.

Never by the largest stamp seen: one wrong clock would move time. A node's lag is how old its
newest arrival was when it came. If the median node lags by more than a slot, what arrives is a
backlog (live was down, a file is read from its beginning): then a slot closes when nine in ten of
the nodes that keep up with each other have gone past it. When nothing has come for some seconds,
the wall clock rules again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fieldmend.live.clock import SECOND

QUIET = 5 * SECOND  # nothing came for so long: there is no backlog
BEHIND = 0.1  # of the nodes may still be behind a slot that closes
FAR = 12  # slots behind the median node: it is not waited for


class Progress:
    """How far each node has come.

    Parameters
    ----------
    slot, late
        Length of a slot, and how long its end is waited for, µs.

    Examples
    --------
    >>> progress = Progress(slot=300 * SECOND, late=60 * SECOND)
    >>> day = 86_400 * SECOND
    >>> progress.note([("a", 0), ("b", 0)], now=day)  # a day behind
    >>> progress.until(day), progress.until(day + QUIET) // SECOND
    (-60000000, 86345)
    """

    def __init__(self, *, slot: int, late: int) -> None:
        self.slot, self.late = slot, late
        self.newest: dict[str, int] = {}
        self.lag: dict[str, int] = {}
        self.arrived = 0

    def begin(self, now: int) -> None:
        """A source has just been opened: what waited for us may come now."""
        self.arrived = now
        self.lag.clear()

    def note(self, heard: Iterable[tuple[str, int]], now: int) -> None:
        """Nodes and the newest stamps that came of them."""
        newest, lag = self.newest, self.lag  # thousands of nodes a slot
        for node, stamp in heard:
            if stamp > newest.get(node, -1):
                newest[node] = stamp
            lag[node] = now - stamp
            self.arrived = now

    def behind(self, now: int) -> bool:
        """Whether what arrives now is a backlog; also just after the source was opened."""
        if now - self.arrived >= QUIET:
            return False
        if not self.lag:
            return True
        lags = sorted(self.lag.values())
        return lags[(len(lags) - 1) // 2] > self.late + self.slot

    def until(self, now: int) -> int:
        """Slots that end here or before may close, µs."""
        if not self.behind(now):
            return now - self.late
        newest = np.array([self.newest[node] for node in self.lag], np.int64)
        if not newest.size:
            return -1
        newest = newest[newest >= np.median(newest) - FAR * self.slot]
        rank = int(BEHIND * (newest.size - 1))
        return min(int(np.sort(newest)[rank]), now) - self.late
