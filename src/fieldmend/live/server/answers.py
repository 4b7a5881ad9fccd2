"""Answers made once for all who ask: a thousand readers cost as much as one.

An answer is JSON in bytes, packed for those who take it packed. It is kept for as long as nothing
new can have been said; those who ask meanwhile wait for the one that is being made.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

KEPT = 32_000_000  # bytes of answers
WORTH_PACKING = 1000  # bytes
AT_ONCE = 4  # questions to the journal
# Answers in one round of the event loop. A thousand that are ready at once would be given in one
# round, and a POST, which takes several rounds, would wait for each of them to end.
A_ROUND = 4


@dataclass(frozen=True)
class Answer:
    """Bytes and what they are."""

    body: bytes
    packed: bytes | None
    tag: str
    media_type: str = "application/json"

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return len(self.body) + len(self.packed or b"")

    def to(self, request: Request) -> Response:
        """The response: nothing if the asker has it already."""
        headers = {"etag": self.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        if self.packed and "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self.packed, headers=headers, media_type=self.media_type)
        return Response(self.body, headers=headers, media_type=self.media_type)


def answer(content: Any, media_type: str = "application/json") -> Answer:
    """Content as an answer; what is no bytes becomes JSON."""
    body = content if isinstance(content, bytes) else as_json(content)
    packed = gzip.compress(body, 1, mtime=0) if len(body) > WORTH_PACKING else None
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    return Answer(body, packed, tag, media_type)


def as_json(content: Any) -> bytes:
    """Compact JSON; what is no number is refused rather than written as NaN."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")  # half a surrogate pair is no UTF-8


class Answers:
    """The newest answers, by what was asked."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, Answer]] = OrderedDict()
        self._making: dict[Hashable, asyncio.Task[Answer]] = {}
        self._size = 0
        self._places = asyncio.Semaphore(AT_ONCE)
        self._turns = asyncio.Semaphore(A_ROUND)

    async def get(
        self, key: Hashable, make: Callable[[], Any], *, seconds: float, media_type: str = ""
    ) -> Answer:
        """The answer to `key`, made in a thread if there is none younger than `seconds`.

        Raises
        ------
        Exception
            What `make` raises; that is not kept.
        """
        found = await self._get(key, make, seconds, media_type)
        async with self._turns:
            await asyncio.sleep(0)
        return found

    async def _get(
        self, key: Hashable, make: Callable[[], Any], seconds: float, media_type: str
    ) -> Answer:
        there = self._kept.get(key)
        if there is not None and time.monotonic() - there[0] < seconds:
            self._kept.move_to_end(key)
            return there[1]
        task = self._making.get(key)
        if task is None:
            task = asyncio.create_task(self._make(key, make, media_type or "application/json"))
            self._making[key] = task
            task.add_done_callback(lambda _: self._making.pop(key, None))
        return await asyncio.shield(task)  # one who leaves does not take it from the others

    async def _make(self, key: Hashable, make: Callable[[], Any], media_type: str) -> Answer:
        began = time.monotonic()
        async with self._places:
            made = await run_in_threadpool(lambda: answer(make(), media_type))
        self._keep(key, began, made)
        return made

    def _keep(self, key: Hashable, began: float, made: Answer) -> None:
        before = self._kept.pop(key, None)
        self._kept[key] = began, made
        self._size += made.size - (before[1].size if before else 0)
        while self._size > KEPT and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1][1].size
