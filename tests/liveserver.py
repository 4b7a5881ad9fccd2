"""A live server over a filled journal, and a client that asks it."""

import contextlib
import http.client
import json
import socket
import sqlite3
import time
from dataclasses import replace

from fieldmend.live.server import serving, start
from fieldmend.live.view import View
from livejournal import NOON, SECOND, network

TOKEN = "0123456789abcdef0123456789abcdef"
READING = {"node": "m1", "time": NOON // SECOND - 60, "temperature": 20.5}


class Client:
    """Questions to a server, one connection each."""

    def __init__(self, server, **headers):
        self.server, self.port, self.headers = server, server.serving.port, headers

    def ask(self, path, *, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            sent = {k.replace("_", "-"): v for k, v in (self.headers | headers).items()}
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            response.text = response.read().decode()
            return response

    def json(self, path, **options):
        response = self.ask(path, **options)
        assert response.status == 200, response.text
        return json.loads(response.text)

    def post(self, content, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.ask("/v1/readings", method="POST", body=body, **headers)

    def stream(self, path="/v1/events", **headers):
        """A raw connection that has asked for events."""
        line = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        return line


def read_until(line, what, seconds=20):
    """Bytes from a stream until they hold `what`."""
    got, end = b"", time.monotonic() + seconds
    while what.encode() not in got:
        assert time.monotonic() < end, f"no {what} in {got[-400:]}"
        part = line.recv(65_536)
        assert part, f"ended without {what}: {got[-400:]}"
        got += part
    return got.decode()


@contextlib.contextmanager
def served(filled, listen="127.0.0.1:0", *, source="", check="", **options):
    given = replace(serving(listen, **options), source=source, check=check)
    server = start(View(filled.folder), filled.intake, given)
    try:
        yield Client(server)
    finally:
        server.stop()


@contextlib.contextmanager
def served_anew(folder, nodes=4, *, slots=30):
    """A network with a journal of its own, as `client.filled`."""
    one = network(folder / "state", nodes, slots=slots)
    with served(one) as client:
        client.filled = one
        yield client


def stored(client):
    with contextlib.closing(sqlite3.connect(client.filled.folder / "journal.db")) as connection:
        return connection.execute("SELECT count(*) FROM readings").fetchone()[0]
