"""What can be asked: routes, each a few lines, over the journal's view and the intake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from fieldmend.live.intake import Intake
from fieldmend.live.messages import moment
from fieldmend.live.server import metrics, page
from fieldmend.live.server.answers import Answers
from fieldmend.live.server.events import Hub
from fieldmend.live.server.gate import Gate
from fieldmend.live.server.readings import Readings
from fieldmend.live.server.serving import Serving
from fieldmend.live.view import View

FRESH = 1.0  # seconds for which an answer about now holds
SAME = 600.0  # and one about slots, while no other slot was closed
LONGEST = 31 * 86_400_000_000  # µs of one node that are told at once
STATES = ("open", "close")


class Site:
    """The handlers, and what they share.

    Parameters
    ----------
    view
        The journal, to be read.
    intake
        Where readings go; None where none are taken.
    serving
        Who may ask.
    """

    def __init__(self, view: View, intake: Intake | None, serving: Serving) -> None:
        self._view, self._intake, self._serving = view, intake, serving
        self._answers = Answers()
        self.hub = Hub(view)

    def app(self) -> Starlette:
        """The application, with its gate before it."""
        routes: list[BaseRoute] = [
            Route("/v1/now", self.now),
            Route("/v1/nodes", self.node),
            Route("/v1/nodes/{node:path}", self.node),
            Route("/v1/episodes", self.episodes),
            Route("/v1/events", self.events),
            Route("/metrics", self.metrics),
            Route("/healthz", self.healthz),
        ]
        if self._intake is not None:
            routes.append(Route("/v1/readings", Readings(self._intake).post, methods=["POST"]))
        if self._serving.page:
            routes += page.routes()
        return Starlette(
            routes=routes,
            middleware=[Middleware(Gate, serving=self._serving)],
            exception_handlers={HTTPException: _refused, Exception: _failed},
            lifespan=self._lifespan,
        )

    async def now(self, request: Request) -> Response:
        """The network as it is now."""
        # With the newest closing in the key: whoever is told of one does not get an older answer.
        key = "now", self.hub.newest
        return (await self._answers.get(key, self._now, seconds=FRESH)).to(request)

    async def node(self, request: Request) -> Response:
        """One node's slots; ?node= for names that no address can hold, such as «..»."""
        name = request.path_params.get("node") or request.query_params.get("node", "")
        start, end = _span(request)
        key = "node", name, start, end, self.hub.newest

        def told() -> dict[str, Any]:
            found = self._view.node(name, start, end)
            if found is None:
                raise HTTPException(404, "no such node")
            return found

        return (await self._answers.get(key, told, seconds=SAME)).to(request)

    async def episodes(self, request: Request) -> Response:
        """Episodes; ?state=open or close, ?limit=."""
        state = request.query_params.get("state")
        limit = request.query_params.get("limit", "200")
        if state not in (*STATES, None) or not limit.isdecimal() or not 1 <= int(limit) <= 1000:
            raise HTTPException(422, "state is open or close, limit 1 to 1000")

        key = "episodes", state, limit, self.hub.newest

        def told() -> dict[str, Any]:
            return {"episodes": self._view.episodes(state=state, limit=int(limit))}

        found = await self._answers.get(key, told, seconds=FRESH)
        return found.to(request)

    async def events(self, request: Request) -> Response:
        """Closings of slots as they happen; ?brief=1 without the values."""
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        form = "brief" if "brief" in request.query_params else "full"
        if self.hub.ended or not self.hub.room(form):
            return _told(503, "too many readers; ask /v1/now instead", {"retry-after": "30"})
        given = request.headers.get("last-event-id", "")
        after = int(given) if given.isdecimal() and len(given) < 16 else None
        return StreamingResponse(
            self.hub.stream(after, form),
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},  # nginx would wait for more
        )

    async def metrics(self, request: Request) -> Response:
        """Numbers for Prometheus."""

        def told() -> bytes:
            return metrics.exposition(self._view.counts(), sum(self.hub.readers.values()))

        kept = self._answers.get("metrics", told, seconds=FRESH, media_type=metrics.MEDIA_TYPE)
        return (await kept).to(request)

    async def healthz(self, _: Request) -> Response:
        """A word, for whoever restarts services: 503 while readings cannot be stored."""
        said = self._intake.health()["status"] if self._intake is not None else "ok"
        return PlainTextResponse(f"{said}\n", 503 if said == "degraded" else 200)

    def _now(self) -> dict[str, Any]:
        counts = self._view.counts()
        health = {} if self._intake is None else self._intake.health()
        takes = {
            "post": self._intake is not None,
            "token": self._serving.token is not None,
            "source": self._serving.source,
            "check": self._serving.check,
        }
        degraded = health if health.get("status") == "degraded" else {}
        now = self._view.now()
        source = "" if self._intake is None else self._intake.health.source
        now["why"] = "; ".join(part for part in (source, now["why"]) if part)
        return {**now, "counts": counts, "takes": takes, **degraded}

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        await self.hub.begin()
        watching = asyncio.create_task(self.hub.watch())
        try:
            yield
        finally:
            self.hub.end()
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching


def _span(request: Request) -> tuple[int | None, int | None]:
    """From and to, as asked; the journal's last day where nothing was."""
    start, end = _time(request, "from"), _time(request, "to")
    if start is None:
        return None, end
    end = start + LONGEST if end is None else end
    if not 0 <= end - start <= LONGEST:
        raise HTTPException(422, "from comes before to, by 31 days at most")
    return start, end


def _time(request: Request, which: str) -> int | None:
    given = request.query_params.get(which)
    try:
        return None if given is None else moment(given)
    except (ValueError, OverflowError):
        raise HTTPException(422, f"{which} is no time: 2026-11-16T08:15:00Z, or seconds") from None


def _told(status: int, why: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": why}, status, headers)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _told(error.status_code, error.detail, dict(error.headers or {}))


async def _failed(_: Request, __: Exception) -> Response:
    return _told(500, "an error inside fieldmend; its log says more")
