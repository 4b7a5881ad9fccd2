"""Live and its broker, killed under traffic: what is lost? For the tests, and at full size for
`make check-live`. Processes listen on 127.0.0.1 only, and each is ended by its own pid.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from fieldmend.live.mosquitto import configuration
from fieldmend.live.sources.mqtt import Address
from fieldmend.live.view import View

AHEAD = 20_000  # messages that a gateway has on the way at most; MQTT numbers 65,535 of them
MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
LOCAL = "127.0.0.1"


@dataclass
class Found:
    sent: int = 0
    acknowledged: int = 0
    stored: int = 0
    expected: int = 0
    copies: dict = field(default_factory=dict)
    received: int = 0
    statuses: list = field(default_factory=list)
    gaps: int = 0
    seconds: float = 0.0

    @property
    def lost(self):
        return self.acknowledged - self.stored

    @property
    def distinct(self):
        return len(self.copies)

    @property
    def differing(self):
        return sum(len(one) > 1 for one in self.copies.values())


def until(what, seconds=60.0):
    end = time.monotonic() + seconds
    while True:
        with suppress(sqlite3.OperationalError):  # its tables are just being made
            if what():
                return
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def free_port():
    with socket.socket() as one:
        one.bind((LOCAL, 0))
        return one.getsockname()[1]


def listens(port):
    with socket.socket() as one:
        return one.connect_ex((LOCAL, port)) == 0


class Broker:
    """mosquitto with the configuration that `--print-mosquitto-conf` prints."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.port, self.conf = free_port(), folder / "mosquitto.conf"
        text = configuration(f"{folder}/").replace("listener 1883", f"listener {self.port}")
        self.conf.write_text(f"{text}user root\n")
        self.start()

    def start(self):
        self.process = subprocess.Popen([MOSQUITTO, "-c", self.conf], stderr=subprocess.DEVNULL)
        until(lambda: listens(self.port))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def client(self, name):
        out = Address.of(f"mqtt://{LOCAL}:{self.port}/x").client(name)
        out.max_inflight_messages_set(200)
        out.max_queued_messages_set(0)
        out.reconnect_delay_set(1, 1)
        return out


class LiveProcess:
    """`fieldmend live` in a process of its own."""

    def __init__(self, folder: Path, source: str, model, *more: str):
        self.state, self.log = folder / "site", folder / "live.log"
        file = folder / "model.npz"
        model.save(file)
        self.command = [
            sys.executable, "-m", "fieldmend", "live", source, "--state", str(self.state),
            "--model", str(file), "--refit", "1000d", *more,
        ]  # fmt: skip
        self.start()
        until(lambda: (self.state / "journal.db").exists())
        until(lambda: self.counts()["model"] is not None)

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def counts(self):
        return View(self.state).counts()

    def end(self):
        self.process.send_signal(signal.SIGTERM)  # SIGINT is ignored behind a shell's &
        self.process.wait(60)
        said = self.log.read_text()
        assert "Traceback" not in said, said


@contextmanager
def ended(*things):
    try:
        yield
    finally:
        for one in things:
            if isinstance(one, LiveProcess):
                one.end()
            elif isinstance(one, Broker):
                one.process.terminate()
                one.process.wait()
            else:
                one.disconnect()
                one.loop_stop()


def messages(grid, first, slots):
    """Each slot's, one a node, with a sequence number."""
    ((name, X),) = grid.values.items()
    for row in range(first, first + slots):
        time_ = int(grid.times[row]) // 1000
        yield [
            {"node": node, "time": time_, name: float(X[row, k]), "seq": row}
            for k, node in enumerate(grid.nodes)
        ]


def subscribed(live, gateway):
    """Its session is there: it refuses what is no message."""

    def answered():
        gateway.publish("site/x", "probe", qos=1).wait_for_publish(10)
        return live.counts()["readings"]["rejected"]

    until(answered)


def _first(grid, model):
    last = max(part.fitted_on.last for part in model.conditions.values())
    return int((last - grid.times[0]) // grid.slot) + 1


def _closed(live, slots):
    wanted = {"closed": slots, "settled": slots - 6}
    return live.counts()["slots"] == wanted


def kills_of_live(folder, grid, model, *, slots, kills, patience=120.0) -> Found:
    """A broker that stays; live killed; what comes in and goes out."""
    found, begun = Found(), time.monotonic()
    broker = Broker(folder / "broker")
    address = f"mqtt://{LOCAL}:{broker.port}"
    checker, gateway = broker.client("checker"), broker.client("gateway")

    def came(_, __, one):
        if one.topic == "clean/status":
            found.statuses.append(one.payload)
            return
        row = json.loads(one.payload)
        key = row["node"], row["condition"], row["slot"], row["rev"]
        found.copies.setdefault(key, set()).add(hash(one.payload))
        found.received += 1

    checker.on_message = came
    for client in (checker, gateway):
        client.connect(LOCAL, broker.port)
        client.loop_start()
    checker.subscribe([("clean/clean/#", 1), ("clean/status", 1)])
    live = LiveProcess(
        folder, f"{address}/site/#", model, "--listen", f"{LOCAL}:0", "--out", f"{address}/clean"
    )
    at = {round((k + 1) * slots / (kills + 1)) for k in range(kills)}
    with ended(checker, gateway, live, broker):
        subscribed(live, gateway)
        stored, sent = 0, deque()
        for number, rows in enumerate(messages(grid, _first(grid, model), slots)):
            for one in rows:
                sent.append(gateway.publish("site/x", json.dumps(one), qos=1))
                found.sent += 1
            while len(sent) > AHEAD:
                sent.popleft().wait_for_publish(patience)
            if number in at:  # while it is at work, not while it starts
                until(lambda before=stored: live.counts()["readings"]["stored"] > before, patience)
                time.sleep(0.1 * (number % 4))
                live.kill()
                stored = live.counts()["readings"]["stored"]
                live.start()
        for info in sent:
            info.wait_for_publish(patience)
        found.acknowledged = found.sent
        until(lambda: live.counts()["readings"]["stored"] == found.sent, patience)
        until(lambda: _closed(live, slots), patience)
        found.expected = len(grid.nodes) * (2 * slots - 6)
        until(lambda: found.distinct >= found.expected, patience)
        counts = live.counts()
        found.stored, found.gaps = counts["readings"]["stored"], counts["sequence_gaps"]
    found.seconds = time.monotonic() - begun
    return found


def kills_of_broker(folder, grid, model, *, slots, kills, patience=120.0) -> Found:
    """The broker killed: it loses what it has acknowledged; do sequence numbers say how much?"""
    found, begun = Found(), time.monotonic()
    broker = Broker(folder / "broker")
    gateway = broker.client("gateway")
    acknowledged = threading.Semaphore(0)

    def arrived(*_):
        found.acknowledged += 1
        acknowledged.release()

    gateway.on_publish = arrived
    gateway.connect(LOCAL, broker.port)
    gateway.loop_start()
    live = LiveProcess(
        folder, f"mqtt://{LOCAL}:{broker.port}/site/#", model, "--listen", f"{LOCAL}:0"
    )
    at = {round((k + 1) * slots / (kills + 1)) for k in range(kills)}
    with ended(gateway, live, broker):
        subscribed(live, gateway)
        found.acknowledged = 0
        for number, rows in enumerate(messages(grid, _first(grid, model), slots)):
            for one in rows:
                gateway.publish("site/x", json.dumps(one), qos=1)
                found.sent += 1
            if number == 0:  # what is lost before anything came is not known either
                until(lambda: live.counts()["readings"]["stored"] == len(grid.nodes), patience)
            if number in at:
                broker.kill()
                broker.start()
            time.sleep(0.002)
        until(lambda: found.acknowledged == found.sent, patience)
        acknowledged_once = found.acknowledged

        def arrives():
            """What comes last, again: a hole at the end of all is seen by nobody."""
            before = live.counts()["readings"]["received"]
            for one in rows:
                gateway.publish("site/x", json.dumps(one), qos=1)
            time.sleep(1.0)
            return live.counts()["readings"]["received"] >= before + len(rows)

        until(arrives, patience)
        found.acknowledged = acknowledged_once
        stored = -1
        while stored != (stored := live.counts()["readings"]["stored"]):
            time.sleep(1.0)  # what was sent last has come: little is on the way
        found.stored, found.gaps = stored, live.counts()["sequence_gaps"]
    found.seconds = time.monotonic() - begun
    return found


def kills_by_post(folder, grid, model, *, slots, kills, patience=120.0) -> Found:
    """A gateway that posts until it is answered 200; live killed."""
    found, begun = Found(), time.monotonic()
    port = free_port()
    live = LiveProcess(folder, "http", model, "--listen", f"{LOCAL}:{port}")
    at = {round((k + 1) * slots / (kills + 1)) for k in range(kills)}
    killer = None

    def post(rows):
        request = urllib.request.Request(
            f"http://{LOCAL}:{port}/v1/readings",
            json.dumps(rows).encode(),
            {"Content-Type": "application/json"},
        )
        end = time.monotonic() + patience
        while True:
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    assert answer.status == 200
                    return
            except (OSError, urllib.error.URLError):
                assert time.monotonic() < end, "no answer"
                time.sleep(0.05)

    def kill():
        live.kill()
        live.start()

    with ended(live):
        for number, rows in enumerate(messages(grid, _first(grid, model), slots)):
            if number in at:
                killer = threading.Thread(target=kill)
                killer.start()
            post(rows)
            found.sent += len(rows)
            if killer is not None:
                killer.join()
        found.acknowledged = found.sent
        until(lambda: _closed(live, slots), patience)
        found.stored = live.counts()["readings"]["stored"]
    found.seconds = time.monotonic() - begun
    return found
