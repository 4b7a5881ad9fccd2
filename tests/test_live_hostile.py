"""A network beside hostile senders and readers says what it would have said without them."""

import contextlib
import json
import socket

import pytest

from fieldmend.live.server import serving, start
from live_site import FITTED, NODES, record, site
from liveserver import Client, read_until

SLOTS = 12
NEW = 900  # names in each slot: ten thousand in all


class Neighbours:
    """What comes beside the readings, in every slot the same; all of it is answered."""

    def __init__(self, client, open_):
        self.client, self.statuses = client, {}
        slow = open_.enter_context(socket.socket())
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", client.port))
        host = f"Host: 127.0.0.1:{client.port}"
        slow.sendall(f"GET /v1/events HTTP/1.1\r\n{host}\r\n\r\n".encode())
        self.readers = [
            open_.enter_context(client.stream("/v1/events?brief=1")) for _ in range(100)
        ]
        self.idle = [
            open_.enter_context(socket.create_connection(("127.0.0.1", client.port)))
            for _ in range(50)
        ]

    def send(self, row, time):
        new = [
            {"node": f"x{row}-{k}", "time": time, "temperature": 1e9 * (-1) ** k}
            for k in range(NEW)
        ]
        self._post("new names", json.dumps(new).encode())
        ahead = [{"node": f"m{k}", "time": 2_147_483_648, "temperature": -60} for k in range(NODES)]
        self._post("2038", json.dumps(ahead).encode())
        unset = [{"node": f"m{k}", "time": 86_400, "temperature": -60} for k in range(NODES)]
        self._post("1970", json.dumps(unset).encode())
        self._post("NaN", b'[{"node": "m1", "temperature": NaN}, {"node": "m2", "t": 1e999}]')
        self._post("garbage", bytes(range(256)) * 8)
        self._post("deep", b"[" * 50_000)
        self._post("1 MB", b" " * 1_000_000)
        self._post("half a character", b'{"node": "\\ud800", "temperature": 1}')
        for path in ("/v1/now", "/metrics", "/v1/nodes/m1", "/v1/nodes/nobody", "/"):
            self.client.ask(path)

    def _post(self, what, body):
        self.statuses.setdefault(what, set()).add(self.client.post(body).status)


def said(folder, *, hostile):
    """What clean rows, episodes and counts say of our nodes; and how strangers were answered."""
    one = site(folder)
    server = start(one.view, one.station.intake, serving("127.0.0.1:0"))
    client, statuses = Client(server), {}
    try:
        with contextlib.ExitStack() as open_:
            beside = Neighbours(client, open_) if hostile else None
            for row in range(FITTED, FITTED + SLOTS):
                one.clock.time = int(record().times[row]) + one.station.slot // 2
                ours = [r._asdict() for r in one.reads(row, skip=("m3",))]
                body = [
                    {"node": r["node"], "time": r["time"], "temperature": r["value"]} for r in ours
                ]
                if beside is not None:
                    beside.send(row, one.clock.now())
                assert client.post(body).status == 200
                one.end(row)
            if beside is not None:
                statuses = beside.statuses
                for line in beside.readers:
                    read_until(line, "event: slot")
        names = record().nodes
        now = one.view.now()
        nodes = [one.view.node(name) for name in names]
        return {
            "nodes": nodes,
            "now": [node for node in now["nodes"] if node["node"] in names],
            "episodes": [e for e in now["episodes"] if e["node"] in names],
            "status": now["status"],
        }, {
            "statuses": statuses,
            "counts": one.view.counts(),
            "strangers": [node for node in now["nodes"] if node["node"] not in names],
            "followed": sum(
                node["conditions"]["temperature"]["estimate"][0] is not None
                for name in (n["node"] for n in now["nodes"] if n["node"] not in names)
                if (node := one.view.node(name))
            ),
        }
    finally:
        server.stop()
        one.close()


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    return [said(tmp_path_factory.mktemp("site"), hostile=hostile) for hostile in (False, True)]


def test_nothing_else_changes(both):
    (alone, _), (beside, _) = both
    assert len(alone["nodes"][0]["conditions"]["temperature"]["slot"]) == SLOTS
    assert 1 in alone["nodes"][0]["conditions"]["temperature"]["rev"], "settled, too"
    assert beside == alone


def test_all_of_it_is_answered_and_counted(both):
    _, (_, told) = both
    assert told["statuses"] == {
        "new names": {200}, "2038": {200}, "1970": {200}, "NaN": {200}, "garbage": {422},
        "deep": {422}, "1 MB": {413}, "half a character": {200},
    }  # fmt: skip
    why = told["counts"]["rejected"]
    assert why["clock ahead"] == SLOTS * NODES
    assert why["unreadable"] == 2 * SLOTS
    assert why["too large"] == SLOTS
    assert why["no node"] == SLOTS
    assert why["no number"] == 2 * SLOTS
    assert 0 < len(told["strangers"]) <= 100, "a flood of names is no network"
    assert told["followed"] <= 1 + NODES // 10, "the others are stored: to follow each costs most"
    assert why["new node"] >= SLOTS * NEW - 100
    readings = told["counts"]["readings"]
    assert readings["received"] == sum(readings[k] for k in ("stored", "duplicate", "rejected"))
