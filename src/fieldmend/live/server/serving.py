"""Where the server listens and who may ask: checked before anything listens."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fieldmend.errors import InputError
from fieldmend.text import shown

HOST, PORT = "127.0.0.1", 8765
TOKEN_ENV = "FIELDMEND_TOKEN"
SHORTEST = 16  # characters: 64 bits even where each is a hexadecimal digit

LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


class UnsafeError(InputError):
    """Options under which the server would be open to strangers; the command's exit code 2."""


@dataclass(frozen=True)
class Serving:
    """What the server needs to know before it listens.

    Attributes
    ----------
    host, port
        Where it listens; port 0 lets the system choose.
    token
        Who asks has to know it; None where only this machine can ask. Never shown.
    tls_cert, tls_key
        Files in PEM; the server speaks TLS when they are given.
    names
        Names beside the machine's own under which it may be asked for, in lower case.
    page
        Whether there is a page, or the API alone.
    source, check
        Where readings come from, as it was given, and the command that shows how they are read;
        for a page that is still empty. Nothing where they are posted.
    token_file
        Where the token came from, if from a file.

    Examples
    --------
    >>> Serving().url
    'http://127.0.0.1:8765/'
    """

    host: str = HOST
    port: int = PORT
    token: str | None = field(default=None, repr=False)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    names: frozenset[str] = frozenset()
    page: bool = True
    source: str = ""
    check: str = ""
    token_file: Path | None = None

    @property
    def local(self) -> bool:
        """Whether this machine alone can ask."""
        return is_loopback(self.host)

    @property
    def url(self) -> str:
        """What to open in a browser on this machine."""
        host = {"0.0.0.0": HOST, "::": "::1"}.get(self.host, self.host)
        scheme = "https" if self.tls_cert else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the operator should know, as sentences."""
        out = [
            f"{shown(str(file))} can be read by others on this machine: chmod 600 it"
            for file in (self.token_file, self.tls_key)
            if file is not None and file.stat().st_mode & stat.S_IROTH
        ]
        if not (self.local or self.tls_cert):
            out.append(
                f"{self.host} is asked without TLS: readings and token cross the network in clear. "
                "Give --tls-cert and --tls-key, or put a proxy that speaks TLS before it"
            )
        return tuple(out)


def serving(
    listen: str = f"{HOST}:{PORT}",
    *,
    token_file: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    names: Iterable[str] = (),
    page: bool = True,
) -> Serving:
    """Serving from the command's options, refused where strangers could read or write.

    Parameters
    ----------
    listen
        Address and port, one of them, or both: ``127.0.0.1:8765``, ``:9000``, ``[::1]:8765``.
    token_file
        File whose first line is the token; else the environment's FIELDMEND_TOKEN.
    tls_cert, tls_key
        Files in PEM.
    names
        Further names under which the server is asked for, as behind a proxy.
    page
        Whether there is a page.

    Raises
    ------
    UnsafeError
        If another machine could ask without a token, or the options do not fit together.

    Examples
    --------
    >>> serving("[::1]:9000").url
    'http://[::1]:9000/'
    >>> serving("0.0.0.0:8765")
    Traceback (most recent call last):
    fieldmend.live.server.serving.UnsafeError: 0.0.0.0 can be reached from other machines and ...
    """
    host, port = address(listen)
    token = _token(token_file)
    if token is None and not is_loopback(host):
        raise UnsafeError(
            f"{shown(host)} can be reached from other machines and there is no token",
            hint="Give --token-file FILE (openssl rand -hex 32 > FILE), or listen on 127.0.0.1",
        )
    if (tls_cert is None) != (tls_key is None):
        raise UnsafeError("TLS needs both --tls-cert and --tls-key")
    for file in (tls_cert, tls_key):
        if file is not None and not file.is_file():
            raise InputError("no such file", file=str(file))
    known = frozenset(name.lower() for name in (*names, *machine_names()))
    return Serving(host, port, token, tls_cert, tls_key, known, page, token_file=token_file)


def address(listen: str) -> tuple[str, int]:
    """Host and port of ``host:port``; either may be left out.

    Examples
    --------
    >>> address("0.0.0.0:80"), address(":9000"), address("::1"), address("[::1]:1")
    (('0.0.0.0', 80), ('127.0.0.1', 9000), ('::1', 8765), ('::1', 1))
    """
    if "@" in listen or "/" in listen:  # not repeated: it may hold a password
        raise UnsafeError("--listen takes ADDRESS:PORT and nothing else")
    if _is_address(listen):
        return listen, PORT
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(?::(\d{1,5}))?", listen.strip())
    if not found or int(found[2] or 0) > 65_535:
        raise UnsafeError(f"--listen {shown(listen)} is no ADDRESS:PORT")
    host = found[1].strip("[]") or HOST
    return host, int(found[2]) if found[2] else PORT


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address; a name is believed only if it is localhost.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("a")
    (True, True, False, False)
    """
    return ipaddress.ip_address(host).is_loopback if _is_address(host) else host == "localhost"


def machine_names() -> tuple[str, ...]:
    """The names that this machine gives itself, without asking the network."""
    name = socket.gethostname()
    return (name, f"{name.partition('.')[0]}.local") if name else ()


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _token(file: Path | None) -> str | None:
    """The token, from a file or the environment; what is too short to be one is refused unseen."""
    if file is None:
        given, where = os.environ.get(TOKEN_ENV), TOKEN_ENV
        if not given:
            return None
    else:
        try:
            text = file.read_text("utf-8")
        except UnicodeDecodeError:
            raise UnsafeError("the token is no text", file=str(file)) from None
        given, where = text.partition("\n")[0], str(file)
    token = given.strip()
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable():
        raise UnsafeError(
            f"{shown(where)}: a token has at least {SHORTEST} printable ASCII characters",
            hint="openssl rand -hex 32 makes one",
        )
    return token
