"""Long records: windows of slots that overlap: memory stays bounded and joins do not show."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fieldmend.grid import Array

WINDOW = 12_000_000
"""Entries (slots × nodes) solved together: `ls`, its hold-out included, peaks at 1.5 GB then."""
EACH = 400  # bytes that an entry of a window takes while it is solved by `auto`; 290 measured
SHARE = 0.3  # of the memory for one window; several may be worked on at a time
SMALLEST = 100_000  # entries, however little memory there is
SHORTEST = 512  # slots, however many nodes there are
OVERLAP = 8  # a window shares a part of this many with the next


@dataclass(frozen=True)
class Window:
    """Slots `start` to before `stop` are solved together, `first` to before `last` decided here.

    Around its ends, over `fade` slots either side, its estimate passes into its neighbours'.
    """

    start: int
    stop: int
    first: int
    last: int
    fade: int = 0

    @property
    def slots(self) -> slice:
        """What is solved."""
        return slice(self.start, self.stop)

    @property
    def decided(self) -> slice:
        """What is decided here, in slots of the record."""
        return slice(self.first, self.last)

    @property
    def inside(self) -> slice:
        """What is decided here, in slots of the window."""
        return slice(self.first - self.start, self.last - self.start)

    def blend(self, out: Array, part: Array) -> None:
        """Write the window's part into the whole, passing over from the window before."""
        low = 0
        if self.first > self.start:
            low = self.first + self.fade - self.start
            band = slice(self.first - self.fade - self.start, low)
            rows = slice(self.first - self.fade, self.first + self.fade)
            weight = ((np.arange(2 * self.fade) + 0.5) / (2 * self.fade))[:, None]
            out[rows] = (1 - weight) * out[rows] + weight * part[band]
        high = min(self.last + self.fade, self.stop)
        out[self.start + low : high] = part[low : high - self.start]


def fitting(memory: int) -> int:
    """Entries of a window that fit in so many bytes, and leave room for the rest.

    Examples
    --------
    >>> fitting(4_000_000_000)
    3000000
    """
    return int(np.clip(int(SHARE * memory) // EACH, SMALLEST, WINDOW))


def windows(slots: int, nodes: int, entries: int | None = None) -> list[Window]:
    """The windows of a record, evenly laid, each as long as memory allows.

    Examples
    --------
    >>> for one in windows(2000, 10, entries=10_000):
    ...     print(one.start, one.stop, one.first, one.last, one.fade)
    0 1000 0 750 62
    500 1500 750 1250 62
    1000 2000 1250 2000 62
    """
    length = max((WINDOW if entries is None else entries) // max(nodes, 1), SHORTEST)
    if slots <= length:
        return [Window(0, slots, 0, slots)]
    overlap = length // OVERLAP
    count = -((overlap - slots) // (length - overlap))
    starts = np.linspace(0, slots - length, count).round().astype(int).tolist()
    joins = [(a + length + b) // 2 for a, b in pairwise(starts)]
    return [
        Window(start, start + length, first, last, overlap // 2)
        for start, first, last in zip(starts, [0, *joins], [*joins, slots], strict=True)
    ]
