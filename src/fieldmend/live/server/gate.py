"""Before any answer: under which name it was asked, with which token, from which page.

A web page that its reader has open elsewhere can make the browser ask 127.0.0.1. Such questions
come under a foreign name (DNS rebinding) or with a foreign ``Origin``: both are refused here, and
no answer ever allows another origin.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fieldmend.live.server.serving import LOCAL, Serving

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
OPEN = frozenset({"/healthz"})  # answers a word, and whoever watches it has no token
SECRETS = frozenset({"token", "access_token", "api_key", "apikey", "key", "password"})


class Gate:
    """ASGI middleware: lets in whom `serving` lets in, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app, self._serving = app, serving
        self._token = None if serving.token is None else serving.token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # a websocket is closed unanswered

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refused = self._refused(scope, Headers(scope=scope))
        await (refused or self._app)(scope, receive, answer)

    def _refused(self, scope: Scope, headers: Headers) -> PlainTextResponse | None:
        # Two Hosts are asked for by no browser: which of them would a proxy have judged?
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._knows(hosts[0]):
            return _no(421, "asked under a name that is not this server's; --allow-host adds one")
        if _secret_in(scope["query_string"]):
            return _no(400, "a secret in an address ends up in logs; use the Authorization header")
        if scope["path"] not in OPEN and not self._admits(headers.get("authorization", "")):
            told = {"www-authenticate": 'Basic realm="fieldmend", charset="UTF-8"'}
            return _no(401, "the token is wanted: Authorization: Bearer TOKEN", told)
        if scope["method"] not in ("GET", "HEAD") and not _own_page(headers, hosts[0]):
            return _no(403, "sent by a page of another origin")
        return None

    def _knows(self, host: str) -> bool:
        """A name of ours. Addresses cannot be rebound, so whoever may reach us may name one."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in LOCAL or name == self._serving.host or name in self._serving.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return not self._serving.local

    def _admits(self, authorization: str) -> bool:
        if self._token is None:
            return True
        scheme, _, rest = authorization.partition(" ")
        given = rest.strip().encode("utf-8", "surrogateescape")
        if scheme.lower() == "basic":  # what a browser can send: any name, the token as password
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                return False
        elif scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(given, self._token)


def _no(status: int, why: str, headers: Mapping[str, str] | None = None) -> PlainTextResponse:
    # The connection ends: what was sent and is not read would be taken for the next question.
    return PlainTextResponse(f"{why}\n", status, {"connection": "close", **(headers or {})})


def _secret_in(query: bytes) -> bool:
    return any(name.lower() in SECRETS for name, _ in parse_qsl(query.decode("latin-1")))


def _own_page(headers: Headers, host: str) -> bool:
    """False if a browser says that another page made it send this; programs say nothing."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == host
