"""A network that runs: simulated nodes, a broker if mosquitto is there, `fieldmend live`, its page.

Thirty nodes send every two seconds; a slot is ten seconds long, and the hour before is sent first.
One node sticks, one drifts, one falls silent, some readings are false. Ends with Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.live.mosquitto import configuration

NODES, FITTED, BEFORE, SLOT, EVERY = 30, 600, 360, 10, 2  # slots; seconds
AT_ONCE = 60  # slots of the past in one POST
LOCAL = "127.0.0.1"
MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
FAULTS = {
    "n04": ("sticks", 2),
    "n11": ("drifts", 4),
    "n17": ("falls silent", 6),
}  # what, and after how many slots


class Network:
    """Truth that goes on for a day of slots, and what the nodes make of it."""

    def __init__(self) -> None:
        slots = FITTED + 8640
        net = fm.simulate.network(slots=slots, nodes=NODES, field="temperature", seed=4)
        self.truth, self.rng = net.truth, np.random.default_rng(4)
        self.names = [f"n{k:02d}" for k in range(NODES)]

    def past(self, begun: float) -> fm.Grid:
        noise = self.rng.normal(0.0, 0.05, (FITTED, NODES))
        start = np.datetime64(round((begun - FITTED * SLOT) * 1e6), "us")
        return fm.Grid.of(
            self.truth[:FITTED] + noise, nodes=self.names, condition="temperature", unit="°C",
            start=str(start), slot_seconds=SLOT,
        )  # fmt: skip

    def readings(self, begun: float, number: int, now: float) -> list[dict]:
        slot = FITTED + int((now - begun) // SLOT)
        out = []
        for k, name in enumerate(self.names):
            what, after = FAULTS.get(name, ("", 0))
            age = slot - FITTED - after
            value = self.truth[slot % len(self.truth), k] + self.rng.normal(0.0, 0.05)
            if self.rng.random() < 0.25 or (what == "falls silent" and age >= 0 and age % 60 < 30):
                continue
            if what == "sticks" and age >= 0:
                value = self.truth[FITTED + after, k]
            if what == "drifts" and age >= 0:
                value += 0.1 * age
            if self.rng.random() < 0.001:
                value += float(self.rng.choice((-8.0, 8.0)))
            body = {"node": name, "time": round(now, 3), "temperature": round(float(value), 3)}
            out.append(body | {"seq": number})
        return out


def broker(folder: Path) -> tuple[subprocess.Popen | None, str]:
    """A broker and its address; None where there is no mosquitto."""
    if not Path(MOSQUITTO).exists():
        return None, ""
    with socket.socket() as one:
        one.bind((LOCAL, 0))
        port = one.getsockname()[1]
    text = configuration(f"{folder}/").replace("listener 1883", f"listener {port}")
    (folder / "mosquitto.conf").write_text(f"{text}user root\n")
    process = subprocess.Popen(
        [MOSQUITTO, "-c", folder / "mosquitto.conf"], stderr=subprocess.DEVNULL
    )
    time.sleep(0.5)
    return process, f"mqtt://{LOCAL}:{port}"


def sender(address: str, listen: str):
    """How a gateway sends: by the broker, or by POST."""
    if address:
        from fieldmend.live.sources.mqtt import Address

        where = Address.of(f"{address}/site")
        client = where.client("gateway")
        client.connect(where.host, where.port)
        client.loop_start()
        return lambda rows: client.publish("site/gateway", json.dumps(rows), qos=1)
    return lambda rows: post(rows, listen, 1)


def post(rows: list[dict], listen: str, times: int) -> None:
    """By HTTP, repeated until it is answered."""
    request = urllib.request.Request(
        f"http://{listen}/v1/readings",
        json.dumps(rows).encode(),
        {"Content-Type": "application/json"},
    )
    for again in range(times):
        try:
            urllib.request.urlopen(request, timeout=5).close()
            return
        except (OSError, urllib.error.URLError) as error:
            if again + 1 == times:
                print(f"not sent: {error}", file=sys.stderr)
            time.sleep(0.5)


@contextmanager
def ended(process: subprocess.Popen) -> Iterator[subprocess.Popen]:
    """A process that ends when the block does, however that ends."""
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def run(folder: Path, listen: str, end: float) -> int:
    """Broker, nodes, live, page, until `end`, or until live ends; what it returned then."""
    print("simulating a network, fitting a model to its past ...", flush=True)
    network = Network()
    begun = float(round(time.time() / SLOT) * SLOT)
    fm.recover(network.past(begun), holdout=False).model.save(folder / "model.npz")
    with ExitStack() as running:
        process, address = broker(folder)
        if process is not None:
            running.enter_context(ended(process))
        source = f"{address}/site/#" if address else "http"
        print(f"nodes send to {address or 'POST /v1/readings'}; faults: ", end="")
        print(", ".join(f"{node} {what}" for node, (what, _) in FAULTS.items()), flush=True)
        out = ["--out", f"{address}/fieldmend/site"] if address else []
        live = running.enter_context(ended(subprocess.Popen([
            sys.executable, "-m", "fieldmend", "live", source, "--state", folder / "site",
            "--model", folder / "model.npz", "--slot", f"{SLOT}s", "--late", "2s",
            "--settle", "60s", "--listen", listen, *out,
        ])))  # fmt: skip
        number = 0
        for first in range(-BEFORE, 0, AT_ONCE):
            rows = []
            for slot in range(first, first + AT_ONCE):
                rows += network.readings(begun, number, begun + slot * SLOT + 1)
                number += 1
            post(rows, listen, 60)  # until live is there
        send = sender(address, listen)
        while live.poll() is None and time.time() < end:
            send(network.readings(begun, number, time.time()))
            number += 1
            time.sleep(EVERY)
        return live.poll() or 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", default=f"{LOCAL}:8765")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # both end all that was started
        signal.signal(number, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory() as name:
            failed = run(Path(name), given.listen, time.time() + given.seconds)
    except KeyboardInterrupt:
        print("\nended")
        return
    if failed:
        raise SystemExit(failed)


if __name__ == "__main__":
    main()
