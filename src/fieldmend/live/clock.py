"""What time it is: an object, so that a test's time passes without waiting."""

from __future__ import annotations

import time
from typing import Protocol

SECOND = 1_000_000  # µs


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> int:
        """Wall clock, µs since 1970, UTC."""


class WallClock:
    """The system's."""

    def now(self) -> int:
        """Wall clock, µs since 1970, UTC."""
        return time.time_ns() // 1000


class SetClock:
    """A clock that somebody sets.

    Examples
    --------
    >>> clock = SetClock(0)
    >>> clock.time += 2 * SECOND
    >>> clock.now()
    2000000
    """

    def __init__(self, now: int) -> None:
        self.time = now

    def now(self) -> int:
        """What it was set to."""
        return self.time
