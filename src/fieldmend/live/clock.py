"""What time it is: an object, so that a test's time passes without waiting."""

from __future__ import annotations

import time
from typing import Protocol

SECOND = 1_000_000  # µs


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> int:
        """Wall clock, µs since 1970, UTC."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""


class WallClock:
    """The system's."""

    def now(self) -> int:
        """Wall clock, µs since 1970, UTC."""
        return time.time_ns() // 1000

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


class SetClock:
    """A clock that somebody sets.

    Examples
    --------
    >>> clock = SetClock(0)
    >>> clock.wait(2.5)
    >>> clock.now()
    2500000
    """

    def __init__(self, now: int) -> None:
        self.time = now

    def now(self) -> int:
        """What it was set to."""
        return self.time

    def wait(self, seconds: float) -> None:
        """Pass at once."""
        self.time += round(seconds * SECOND)
