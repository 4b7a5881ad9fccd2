"""What pages cost: CPU of the server and the wait of a POST, beside no reader, 100 and 1,000.

    python benchmarks/live_readers.py [--nodes 55] [--readers 0 100 1000]

Each reader does what the page does: it holds an event stream, and at each closing of a slot, within
0.7 s, asks for /v1/now. The server has a process of its own; a slot is closed every five seconds.
Writes benchmarks/results/live_readers.md.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results" / "live_readers.md"
SLOT = 300_000_000
BEGUN = 1_794_830_400_000_000
PAUSE, SLOTS = 5.0, 5


def serve(nodes: int) -> None:
    """The server; a line on standard input closes a slot, and is answered by the CPU so far."""
    from fieldmend.live.clock import SetClock
    from fieldmend.live.intake import Intake
    from fieldmend.live.journal import Journal
    from fieldmend.live.messages import Reading
    from fieldmend.live.modelling import Models
    from fieldmend.live.server import serving, start
    from fieldmend.live.settings import Settings
    from fieldmend.live.station import Station
    from fieldmend.live.view import View

    with tempfile.TemporaryDirectory() as folder:
        journal, clock = Journal.open(folder, slot=SLOT), SetClock(BEGUN)
        intake, settings = Intake(journal, clock), Settings()
        station = Station(intake, settings, clock, Models(journal, settings, None))
        station.start()
        server = start(View(folder), intake, serving("127.0.0.1:0"))
        print(server.serving.port, flush=True)
        for k, _ in enumerate(sys.stdin):
            time_ = BEGUN + k * SLOT
            clock.time = time_ + SLOT // 2
            values = 20 + np.sin(np.arange(nodes)) + math.sin(k / 10)
            reads = [Reading(f"m{n}", "temperature", time_, float(v)) for n, v in enumerate(values)]
            intake.take(reads, clock.now())
            clock.time = time_ + SLOT + settings.late
            station.tick()
            used = resource.getrusage(resource.RUSAGE_SELF)
            print(used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, flush=True)
        server.stop()


async def reader(port: int, answers: list[int]) -> None:
    """A page: its stream, and a question at each closing."""
    head = f"Host: 127.0.0.1:{port}\r\nAccept-Encoding: gzip\r\n\r\n".encode()
    events, to = await asyncio.open_connection("127.0.0.1", port)
    to.write(b"GET /v1/events?brief=1 HTTP/1.1\r\n" + head)
    while line := await events.readline():
        if line.startswith(b"event: slot"):
            await asyncio.sleep(0.7 * random.random())
            answer, ask = await asyncio.open_connection("127.0.0.1", port)
            ask.write(b"GET /v1/now HTTP/1.1\r\nConnection: close\r\n" + head)
            answers.append(len(await answer.read()))
            ask.close()


def post(port: int) -> None:
    """A gateway, in a process of its own: twenty POSTs a second; their waits, as JSON."""
    body = json.dumps([{"node": f"m{k}", "time": 1_794_830_000, "light": 1.5} for k in range(20)])
    waits = []
    end = time.monotonic() + SLOTS * PAUSE
    while time.monotonic() < end:
        begun = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/v1/readings", body)
        assert connection.getresponse().status == 200
        connection.close()
        waits.append(time.perf_counter() - begun)
        time.sleep(0.05)
    print(json.dumps(waits))


async def measured(number: int, nodes: int) -> str:
    child = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", "--nodes", str(nodes),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    port = int(await child.stdout.readline())
    answers: list[int] = []
    tasks = [asyncio.create_task(reader(port, answers)) for _ in range(number)]
    used = []
    for k in range(SLOTS + 1):
        if k == 1:  # the first slot is for everybody to arrive
            answers.clear()
            gateway = await asyncio.create_subprocess_exec(
                sys.executable, __file__, "--post", str(port), stdout=subprocess.PIPE
            )
        child.stdin.write(b"\n")
        used.append([float(x) for x in (await child.stdout.readline()).split()])
        await asyncio.sleep(PAUSE if k else 2 * PAUSE)
    child.stdin.write(b"\n")
    used.append([float(x) for x in (await child.stdout.readline()).split()])
    served = len(answers)
    waits = json.loads((await gateway.communicate())[0])
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    child.stdin.close()
    await child.wait()
    cpu = (used[-1][0] - used[1][0]) / SLOTS
    middle, slow = np.quantile(waits, [0.5, 0.99])
    return (
        f"| {number:,} | {cpu:.2f} s | {used[-1][1]:.0f} MB | {served:,} of {number * SLOTS:,} | "
        f"{1000 * middle:.0f} / {1000 * slow:.0f} ms |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=55)
    parser.add_argument("--readers", type=int, nargs="+", default=[0, 100, 1000])
    parser.add_argument("--post", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve(given.nodes)
    if given.post:
        return post(given.post)
    heads = "readers", "CPU of the server a slot", "memory", "answers", "wait of a POST, 50 / 99 %"
    lines = [
        "# Live: pages that are open",
        "",
        f"`python benchmarks/live_readers.py`; {given.nodes} nodes, {SLOTS} slots, one every "
        f"{PAUSE:g} s; 20 POSTs a second.",
        "",
        f"| {' | '.join(heads)} |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for number in given.readers:
        lines.append(asyncio.run(measured(number, given.nodes)))
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
