"""Server-sent events: what every closing of a slot said, in order, to any number of readers.

Nobody has a queue. There is one short row of the newest events, and each reader knows the id of
the last that it was given: a slow one asks the journal for what it missed, and one that takes
nothing at all is let go by its connection. A slow reader costs no more than a fast one.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool

from fieldmend.live.server.answers import as_json
from fieldmend.live.view import View

LOG = logging.getLogger(__name__)
RING = 24  # newest events, in memory
PAGE = 12  # events that are taken from the journal at once
LOOK = 0.5  # seconds between two looks at the journal
TALLY = 5.0  # seconds between two tallies
STILL_HERE = 15.0  # seconds after which a quiet stream says so: proxies end those that do not
RETRY = 2000  # ms until a browser comes again
# Seconds for each page that reads: told one after the other, they do not all ask at once, and a
# gateway's POST does not wait behind a thousand of them.
SPREAD = 0.004
MOST = {"brief": 1500, "full": 100}  # readers: an event in full is long


class Hub:
    """Looks at the journal for everybody, and wakes those who wait.

    Parameters
    ----------
    view
        The journal.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._ring: deque[tuple[int, dict[str, bytes]]] = deque(maxlen=RING)
        self._tally: bytes = b""
        self._counted: dict[str, Any] = {}
        self._news, self._over = asyncio.Event(), asyncio.Event()
        self._reading = asyncio.Semaphore(2)  # readers that catch up from the journal
        self.newest = 0
        self.readers = {"brief": 0, "full": 0}
        self.ended = False

    async def begin(self) -> None:
        """See where the journal is, before anybody asks to be told what came after."""
        await self._look()

    async def watch(self) -> None:
        """Look for what is new until `end`."""
        said = 0.0
        while not self.ended:
            try:
                news = await self._look()
                now = asyncio.get_running_loop().time()
                if now - said >= TALLY:
                    said, news = now, await self._count() or news
                if news:
                    self._wake()
            except Exception:  # a journal that cannot be read now may be readable again
                LOG.exception("the journal cannot be read")
            await asyncio.sleep(LOOK)

    def end(self) -> None:
        """Let all readers go."""
        self.ended = True
        self._over.set()
        self._wake()

    def room(self, form: str) -> bool:
        """Whether one more may read."""
        return self.readers[form] < MOST[form]

    async def stream(self, after: int | None, form: str) -> AsyncIterator[bytes]:
        """Events after the one with this id, for ever; from now on where it is None.

        In brief, a reader that is behind is given the newest alone.
        """
        self.readers[form] += 1
        try:
            yield f"retry: {RETRY}\n\n".encode()
            last = self.newest - 1 if after is None else min(after, self.newest)
            tally = b""
            while not self.ended:
                news = self._news
                if form == "brief" and (last < self.newest or tally is not self._tally):
                    await self._pause(random.random() * SPREAD * self.readers[form])
                missed = await self._after(last, form)
                for last, event in missed:  # noqa: B007 - where this reader is
                    yield event
                if tally is not self._tally:
                    tally = self._tally
                    yield tally
                if not missed:
                    yield await _waited(news)
        finally:
            self.readers[form] -= 1

    async def _pause(self, seconds: float) -> None:
        """Wait; not for longer than the hub is there."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)

    async def _after(self, last: int, form: str) -> list[tuple[int, bytes]]:
        if last >= self.newest or not self._ring:
            return []
        if form == "brief":
            return [(self._ring[-1][0], self._ring[-1][1]["brief"])]
        if last >= self._ring[0][0] - 1:
            return [(number, forms[form]) for number, forms in self._ring if number > last]
        async with self._reading:
            missed = await run_in_threadpool(self._view.events_after, last, PAGE)
        return [(one["id"], _event(one)["full"]) for one in missed]

    async def _look(self) -> bool:
        after = self.newest or -1
        found = await run_in_threadpool(self._view.events_after, after, PAGE)
        for one in found:
            self._ring.append((one["id"], _event(one)))
            self.newest = one["id"]
        return bool(found)

    async def _count(self) -> bool:
        counts = await run_in_threadpool(self._view.counts)
        lasting = {name: counts[name] for name in counts if name not in ("lag_seconds", "model")}
        if lasting == self._counted:  # time alone has passed
            return False
        self._counted, self._tally = lasting, _message("counts", counts)
        return True

    def _wake(self) -> None:
        woken, self._news = self._news, asyncio.Event()
        woken.set()


async def _waited(news: asyncio.Event) -> bytes:
    """Wait for news; a comment where there were none for a while."""
    try:
        await asyncio.wait_for(news.wait(), STILL_HERE)
    except TimeoutError:
        return b": still here\n\n"
    return b""


def _event(one: dict[str, Any]) -> dict[str, bytes]:
    """An event in both forms."""
    brief = {name: one[name] for name in ("slot", "rev", "model")}
    return {
        "brief": _message("slot", brief, one["id"]),
        "full": _message("slot", {**one, "id": one["id"]}, one["id"]),
    }


def _message(kind: str, data: Any, number: int | None = None) -> bytes:
    # JSON holds no line breaks, so that one data line is enough.
    head = f"event: {kind}\n" + ("" if number is None else f"id: {number}\n")
    return head.encode() + b"data: " + as_json(data) + b"\n\n"
