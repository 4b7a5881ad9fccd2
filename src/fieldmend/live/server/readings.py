"""POST of readings: 200 means that they are on the disk."""

from __future__ import annotations

import asyncio
import math

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from fieldmend.errors import InputError
from fieldmend.live.intake import Busy, Intake

AT_ONCE = 256  # bodies that are read or wait for their commit, whole in memory: 128 MiB
COMMITTING = 16  # of them, those that may wait in a thread: slow senders take no place from others
PATIENCE = 30.0  # seconds for the body of one
DRAINED = 16  # times the largest body: so much of a larger one is taken, so that its sender
# gets to read the answer instead of a broken connection


class TooLargeError(Exception):
    """More bytes than one POST may have."""


class Readings:
    """The door for readings.

    Parameters
    ----------
    intake
        Where they go.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._inside = 0
        self._committing = asyncio.Semaphore(COMMITTING)

    async def post(self, request: Request) -> Response:
        """Take the body, wait for the commit, say what became of it."""
        if self._inside >= AT_ONCE:
            return _come_again("too many at once", 1.0)
        if request.headers.get("content-encoding", "identity") != "identity":
            return _told(422, "packed bodies are not taken; send it as it is", close=True)
        self._inside += 1
        try:
            body = await asyncio.wait_for(_body(request, self._intake.largest), PATIENCE)
            async with self._committing:
                return JSONResponse(await run_in_threadpool(self._intake.post_bytes, body))
        except TooLargeError:
            await self._count("too large")
            most = f"one POST has at most {self._intake.largest:,} bytes; send several"
            return _told(413, most, close=True)
        except TimeoutError:
            return _told(408, f"the body took longer than {PATIENCE:g} s", close=True)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except InputError as error:
            return _told(422, str(error))
        except Busy as error:
            return _come_again(str(error), error.seconds)
        finally:
            self._inside -= 1

    async def _count(self, why: str) -> None:
        """Refusals are counted too; that they cannot be now is no reason not to refuse."""
        try:
            await run_in_threadpool(self._intake.refuse, why, "")
        except Busy:
            pass


async def _body(request: Request, largest: int) -> bytes:
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > DRAINED * largest:
        raise TooLargeError
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size <= largest:
            parts.append(part)
        else:
            parts.clear()
        if size > DRAINED * largest:
            break
    if size > largest:
        raise TooLargeError
    return b"".join(parts)


def _told(status: int, why: str, *, close: bool = False) -> JSONResponse:
    return JSONResponse({"error": why}, status, {"connection": "close"} if close else None)


def _come_again(why: str, seconds: float) -> JSONResponse:
    return JSONResponse({"error": why}, 503, {"retry-after": str(max(1, math.ceil(seconds)))})
