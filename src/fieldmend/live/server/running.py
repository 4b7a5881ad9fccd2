"""The server in a thread of its own: started when it listens, stopped when it no longer does."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from dataclasses import replace

import uvicorn

from fieldmend.errors import InputError
from fieldmend.live.intake import Intake
from fieldmend.live.server.app import Site
from fieldmend.live.server.connections import MOST, Bounded
from fieldmend.live.server.serving import Serving
from fieldmend.live.view import View

LOG = logging.getLogger(__name__)
BACKLOG = 1024
PATIENCE = 3  # seconds for answers under way when it ends
STARTING = 30.0  # seconds


class Server:
    """A server that listens; `start` makes one.

    Attributes
    ----------
    url
        What to open in a browser.
    """

    def __init__(self, site: Site, serving: Serving, listening: socket.socket) -> None:
        self.serving = replace(serving, port=listening.getsockname()[1])
        self._site = site
        self._loop: asyncio.AbstractEventLoop | None = None
        self._uvicorn = _Quiet(_config(site, serving))
        self._failed: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, args=(listening,), name="fieldmend-server", daemon=True
        )

    @property
    def url(self) -> str:
        """What to open in a browser."""
        return self.serving.url

    def stop(self) -> None:
        """No more questions; those under way are answered."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join(PATIENCE + STARTING)

    def _end(self) -> None:
        self._site.hub.end()
        self._uvicorn.should_exit = True

    def _start(self) -> None:
        self._thread.start()
        if not self._uvicorn.listens.wait(STARTING) or self._failed is not None:
            raise RuntimeError("the server did not start") from self._failed

    def _run(self, listening: socket.socket) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            await self._uvicorn.serve([listening])

        try:
            asyncio.run(serve())
        except BaseException as error:
            self._failed = error
            LOG.exception("the server has ended")
        finally:
            listening.close()
            self._uvicorn.listens.set()


class _Quiet(uvicorn.Server):
    """uvicorn that tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()  # takes nothing, and would be waited for


def start(view: View, intake: Intake | None, serving: Serving) -> Server:
    """Listen, and answer from a thread.

    Parameters
    ----------
    view
        The journal, to be read.
    intake
        Where readings go; None where none are taken.
    serving
        Where to listen, and who may ask.

    Returns
    -------
    Server
        It answers already; `stop` it.

    Raises
    ------
    InputError
        Where the address cannot be had.
    """
    listening = _listen(serving)
    _more_files()
    server = Server(Site(view, intake, serving), serving, listening)
    server._start()
    for warning in server.serving.warnings:
        LOG.warning("%s", warning)
    return server


def _config(site: Site, serving: Serving) -> uvicorn.Config:
    return uvicorn.Config(
        site.app(),
        http=Bounded,
        ws="none",
        lifespan="on",
        # Its warnings are about what strangers send; paths and headers stay out of the log.
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=PATIENCE,
        h11_max_incomplete_event_size=16_384,
        ssl_certfile=serving.tls_cert,
        ssl_keyfile=None if serving.tls_key is None else str(serving.tls_key),
    )


def _listen(serving: Serving) -> socket.socket:
    try:
        family, _, _, _, place = socket.getaddrinfo(
            serving.host, serving.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(place[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise InputError(
            f"cannot listen on {serving.host}:{serving.port} ({why})",
            hint="Is another one running? --listen takes another address",
        ) from error


def _more_files() -> None:
    """Room for every connection: many systems give a process 1024 files, and let it have more."""
    try:
        import resource
    except ImportError:  # Windows counts otherwise
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
