"""Connections that cost more than they bring are ended: the idle, the slow, the too many.

uvicorn waits without end for a request that began and for a client that no longer reads. Whatever
could pile up on our side is bounded here: connections by number, requests by time, and by time as
well answers that nobody takes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 2000  # connections: a thousand readers with a stream and a question each
FIRST_WORD = 10.0  # seconds for the head of a request
UNREAD = 30.0  # seconds for which a client may take nothing
UNSENT = 256 * 1024  # bytes the system holds for one client; it would go up to 4 MB by itself
ANSWERED = (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)


class Bounded(H11Protocol):
    """HTTP/1.1 with a patience that ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = _Patience(self.loop, FIRST_WORD)
        self._unread = _Patience(self.loop, UNREAD)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """One more, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT
            )
            self._head.begin(transport.abort)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request: the clock runs until its head is complete."""
        if self.conn.their_state is h11.SEND_BODY and self.conn.our_state in ANSWERED:
            self.transport.close()  # what still comes is of no use
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._head.begin(self.transport.abort)
        else:
            self._head.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """No clock outlives its connection."""
        self._head.end()
        self._unread.end()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not take what it asked for."""
        super().pause_writing()
        # Closing would first wait for what the client does not read.
        self._unread.begin(self.transport.abort)

    def resume_writing(self) -> None:
        """It takes it again."""
        self._unread.end()
        super().resume_writing()


class _Patience:
    """One clock: begun once, it runs out unless it is ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop, self._seconds = loop, seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, then: Callable[[], None]) -> None:
        """Run, if it does not run already."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, then)

    def end(self) -> None:
        """Stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
