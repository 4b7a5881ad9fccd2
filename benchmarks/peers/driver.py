"""Run one method on one case under a time limit, and remember every cell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

import numpy as np
from cases import Case, Truth
from environments import ENVIRONMENTS, HERE, ROOT
from grade import grade
from settings import Peer, Settings

Cell = dict[str, Any]
# Importing a peer and warming it up is not the method's time, but has to end some day. The slack is
# for writing the answer; a quick call that is repeated is far from its limit.
START_LIMIT, SLACK = 90.0, 2.0
FOLDERS = re.compile(r"(?:/[^\s/:]+)+/")  # a message is told without the paths of this machine


@dataclass(frozen=True)
class Limits:
    """How long a call may take, and with how many threads."""

    seconds: float
    threads: int


class Worker:
    """A process in a peer's environment that answers jobs; ended when one takes too long."""

    def __init__(self, peer: Peer, limits: Limits, log: Path) -> None:
        self.peer, self.limits, self.log = peer, limits, log
        self.process: subprocess.Popen[str] | None = None
        self.lines: SimpleQueue[str] = SimpleQueue()

    def run(self, settings: Settings, data: Path, out: Path) -> Cell:
        """Do one job: its seconds and memory, or what went wrong."""
        python = ENVIRONMENTS[self.peer.environment].python
        if not python.exists():
            return {"status": "error", "note": f"no environment {python.relative_to(ROOT)}"}
        process = self.process or self._start(python)
        job = {"method": self.peer.method, "settings": settings, "data": str(data), "out": str(out)}
        assert process.stdin is not None
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        try:
            line = self._next(START_LIMIT) and self._next(self.limits.seconds + SLACK)
        except Empty:
            self.close()
            return self._too_long()
        if not line:
            self.close()
            return {"status": "error", "note": f"the process ended ({process.returncode})"}
        return self._judge(json.loads(line))

    def _judge(self, answer: Cell) -> Cell:
        if "error" in answer:
            return {"status": "error", "note": FOLDERS.sub("", answer["error"])}
        if answer["seconds"] > self.limits.seconds:
            return self._too_long()
        return {"status": "done", "note": "", **answer}

    def _too_long(self) -> Cell:
        return {"status": "timeout", "note": f"over {self.limits.seconds:g} s"}

    def _next(self, seconds: float) -> str:
        """Return the worker's next line, or an empty string if it has ended."""
        return self.lines.get(timeout=seconds)

    def _start(self, python: Path) -> subprocess.Popen[str]:
        threads = {
            f"{library}_NUM_THREADS": str(self.limits.threads)
            for library in ("OPENBLAS", "OMP", "MKL", "NUMBA")
        }
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [python, HERE / "worker.py"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | threads,
            )
        self.lines = SimpleQueue()
        assert self.process.stdout is not None
        threading.Thread(target=_read, args=(self.process.stdout, self.lines), daemon=True).start()
        return self.process

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _read(stream: IO[str], lines: SimpleQueue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


@contextmanager
def worker(peer: Peer, limits: Limits, log: Path) -> Iterator[Worker]:
    """A worker that is ended with the block."""
    started = Worker(peer, limits, log)
    try:
        yield started
    finally:
        started.close()


class Cache:
    """Cells that were run before, one JSON object per line: an interrupted run goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.cells: dict[str, Cell] = {cell["key"]: cell for cell in map(json.loads, lines)}

    def get(self, key: str) -> Cell | None:
        """Return a remembered cell."""
        return self.cells.get(key)

    def put(self, cell: Cell) -> None:
        """Remember a cell, at once."""
        self.cells[cell["key"]] = cell
        with self.path.open("a") as file:
            file.write(json.dumps(cell) + "\n")


def solve(
    at_work: Worker, cache: Cache, case: Case, settings: Settings, prepared: tuple[Path, Truth]
) -> Cell:
    """Run and grade one cell, or take it from the cache."""
    key = _key(at_work, case, settings)
    if (known := cache.get(key)) is not None:
        return known
    data, truth = prepared
    out = data.with_name("answer.npz")
    cell = at_work.run(settings, data, out)
    if cell["status"] == "done":
        answer = np.load(out)
        cell |= grade(truth, answer["estimate"], answer.get("sparse"))
    cell |= {"key": key, "peer": at_work.peer.name, "settings": settings} | asdict(case)
    cell["when"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    cache.put(cell)
    return cell


def _key(at_work: Worker, case: Case, settings: Settings) -> str:
    """Name a cell by all that decides it: a changed package or pin is run anew."""
    parts = [at_work.peer.method, asdict(case), settings, asdict(at_work.limits)]
    parts.append(fingerprint(at_work.peer.environment))
    return json.dumps(parts, sort_keys=True)


def fingerprint(environment: str) -> str:
    """Hash of the pins, or for fieldmend of its source."""
    pins = ENVIRONMENTS[environment].pins
    files = [HERE / pins] if pins else sorted((ROOT / "src").rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
