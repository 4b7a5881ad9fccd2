"""Readings into the journal: committed, then acknowledged.

Whoever posts waits for the commit. Those who wait together share one: the first to get the
journal's lock writes what everybody brought.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fieldmend.errors import InputError
from fieldmend.grid import stamp
from fieldmend.live.bodies import reads
from fieldmend.live.clock import Clock
from fieldmend.live.journal import Journal
from fieldmend.live.messages import Read, Refused, from_json
from fieldmend.live.writing import UNSET, Writer
from fieldmend.text import shown

log = logging.getLogger(__name__)
LARGEST = 512 * 1024  # bytes of one message or body
MOST_WAITING = 200_000  # readings that wait for a commit: beyond that, come again
RETRY = 2.0  # seconds


class Busy(Exception):
    """Nothing was stored: come again in `seconds`."""

    def __init__(self, why: str, seconds: float = RETRY) -> None:
        super().__init__(why)
        self.seconds = seconds


@dataclass(eq=False)
class _Ticket:
    reads: list[Read]
    arrived: int
    result: dict[str, int] | None = None
    error: BaseException | None = None


@dataclass
class Health:
    """How it goes, from memory: a full disk cannot be written into the journal."""

    status: str = "starting"
    why: str = ""
    source: str = ""  # what keeps readings from coming, if anything: all is well but for that
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def set(self, status: str, why: str = "") -> None:
        """Say how it goes now."""
        with self.lock:
            self.status, self.why = status, why

    def __call__(self) -> dict[str, str]:
        """As a dict."""
        with self.lock:
            return {"status": self.status, "why": self.why}


class Intake:
    """Where readings come in. Any number of threads may post.

    Parameters
    ----------
    journal
        Where to.
    clock
        What time it is.

    Examples
    --------
    >>> import tempfile
    >>> from fieldmend.live.clock import WallClock
    >>> journal = Journal.open(tempfile.mkdtemp(), slot=300_000_000)
    >>> intake = Intake(journal, WallClock())
    >>> intake.post([{"node": "m7", "time": 1700000000, "temperature": 20.5, "humidity": "wet"}])
    {'stored': 1, 'duplicate': 0, 'rejected': 1}
    >>> intake.post([{"node": "m7", "time": 1700000000, "temperature": 20.5}])
    {'stored': 0, 'duplicate': 1, 'rejected': 0}
    >>> journal.close()
    """

    largest = LARGEST

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self.journal, self.clock = journal, clock
        self.health = Health()
        self.writer = Writer(journal)
        self._mutex = threading.Lock()
        self._arrived = 0
        self._pending: list[_Ticket] = []
        self._waiting = 0

    def arrival(self, messages: int = 1) -> int:
        """When so many messages arrive, µs: the first now, the others one later each.

        No two at once: of two of one node, without a time of their own, neither is a repeat.
        """
        with self._mutex:
            first = max(self.clock.now(), self._arrived + 1)
            self._arrived = first + messages - 1
        return first

    def post(self, messages: Sequence[Any]) -> dict[str, int]:
        """Decoded JSON messages; committed when this returns.

        Parameters
        ----------
        messages
            Each an object, or an array of them.

        Returns
        -------
        dict
            Readings ``stored``, ``duplicate`` and ``rejected``.

        Raises
        ------
        Busy
            Too many wait, the disk is full, our clock is not set: nothing was stored, come again.
        """
        arrived = self.arrival(len(messages))
        each = enumerate(messages, start=arrived)
        return self.take((read for at, one in each for read in from_json(one, at)), arrived)

    def post_bytes(self, body: bytes) -> dict[str, int]:
        """The body of a POST, of any format; committed when this returns.

        Raises
        ------
        InputError
            Where it can be read as none of them: counted as rejected.
        Busy
            As `post`.
        """
        arrived = self.arrival(body.count(b"\n") + 1)
        try:
            found = reads(body, arrived)
        except ValueError as error:
            self.refuse("unreadable", body[:200].decode("utf-8", "replace"))
            raise InputError(shown(error)) from None
        return self.take(found, arrived)

    def refuse(self, why: str, text: str = "") -> None:
        """Count a message that was refused before it was read."""
        self.take([Refused(why, text)], self.clock.now())

    def take(self, reads: Iterable[Read], arrived: int) -> dict[str, int]:
        """Readings of any format; committed when this returns.

        Raises
        ------
        Busy
            As `post`.
        """
        if arrived < UNSET:  # every true stamp would be ahead, and refused for good
            raise Busy(f"this machine's clock is not set: {stamp(arrived)}")
        ticket = _Ticket(list(reads), arrived)
        with self._mutex:
            if self._waiting and self._waiting + len(ticket.reads) > MOST_WAITING:
                raise Busy("too many readings wait to be written")
            self._waiting += len(ticket.reads)
            self._pending.append(ticket)
        with self.journal.lock:
            if ticket.result is None and ticket.error is None:
                self._write()
        if ticket.error is not None and not isinstance(ticket.error, sqlite3.Error | OSError):
            raise ticket.error  # this message's own fault: to come again would not help
        if ticket.error is not None:
            raise Busy(f"the journal cannot be written: {ticket.error}") from ticket.error
        return ticket.result or {}

    def _write(self) -> None:
        """Everything that waits, in one transaction."""
        with self._mutex:
            batch, self._pending = self._pending, []
            self._waiting = 0
        self._commit(batch)

    def _commit(self, batch: list[_Ticket]) -> None:
        """A batch in one transaction; where one of it cannot be stored, each in its own."""
        try:
            with self.journal.writing() as connection:
                results = [self.writer.store(connection, t.reads, t.arrived) for t in batch]
        except (sqlite3.Error, OSError) as error:
            self.writer.forget()
            if self.health.status != "degraded":
                log.error("the journal cannot be written: %s", error)
            self.health.set("degraded", f"the journal cannot be written: {error}")
            for ticket in batch:
                ticket.error = error
            return
        except Exception as error:
            self.writer.forget()
            if len(batch) == 1:
                batch[0].error = error
            else:
                for ticket in batch:
                    self._commit([ticket])
            return
        if self.health.status == "degraded":
            log.info("the journal can be written again")
            self.health.set("ok")
        for ticket, result in zip(batch, results, strict=True):
            ticket.result = result
