"""What a source hands its readings to: comes back when they are committed, or nobody wants more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from fieldmend.live.clock import Clock
from fieldmend.live.intake import Busy, Intake
from fieldmend.live.messages import Read

log = logging.getLogger(__name__)


class Stopped(Exception):
    """Nobody wants more: what was handed over last is not committed."""


class Feed:
    """Readings into the intake, again and again until they are committed.

    Parameters
    ----------
    intake
        Where to.
    begun
        Called when a source has been opened: a backlog may come now.
    """

    def __init__(self, intake: Intake, begun: Callable[[], None] = lambda: None) -> None:
        self.intake, self.begun = intake, begun
        self.clock: Clock = intake.clock
        self.ended = threading.Event()

    def take(self, reads: Iterable[Read], arrived: int) -> None:
        """Come back when it is committed.

        Raises
        ------
        Stopped
            It is not, and will not be.
        """
        held = list(reads)
        while not self.ended.is_set():
            try:
                self.intake.take(held, arrived)
            except Busy as busy:
                log.warning("%s; again in %g s", busy, busy.seconds)
                self.ended.wait(busy.seconds)
            else:
                return
        raise Stopped


class Source(Protocol):
    """Where messages come from."""

    def run(self, feed: Feed) -> None:
        """Read until there is no more, or the feed has ended."""
