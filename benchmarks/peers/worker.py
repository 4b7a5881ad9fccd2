"""Run methods for the driver, inside a peer's own environment.

One JSON object per line comes in (`method`, `settings`, `data`, `out`). Two go out: an empty one
when all is ready, so that the driver's time limit is the call's alone, and the answer (`seconds`,
`cpu` of the first run, `peak_mib`, `runs` or `error`). The clock and the memory gauge see the call
only: importing the peer and reading the data are over by then. The process stays, so that a peer is
imported once.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import methods
import numpy as np

# A quick call is repeated and the least time counts: a first call also pays for caches and pools.
REPEAT_BELOW, REPEATS = 0.3, 3
WARM_UP = (30, 12)


def main() -> None:
    """Answer jobs until the input ends."""
    answers = _own_stdout()
    for line in sys.stdin:
        job = json.loads(line)
        readings = np.load(job["data"])["readings"]
        _warm_up(job, readings)
        print("{}", file=answers, flush=True)
        try:
            answer = perform(job, readings)
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), file=answers, flush=True)


def perform(job: dict[str, Any], readings: methods.Array) -> dict[str, Any]:
    """Run one job, write its answer and tell what it took."""
    function = getattr(methods, job["method"])
    level, begun = _reset_peak(), time.process_time()
    estimate, sparse, seconds = _timed(function, readings, job["settings"])
    cpu = time.process_time() - begun
    peak_mib = max(0.0, (_peak() - level) / 2**20)
    runs = 1
    while seconds < REPEAT_BELOW and runs < REPEATS:
        seconds = min(seconds, _timed(function, readings, job["settings"])[2])
        runs += 1
    if estimate.shape != readings.shape:
        raise ArithmeticError(f"{estimate.shape} estimated of {readings.shape}")
    if not np.isfinite(estimate).all():
        raise ArithmeticError("the estimate is not finite")
    parts = {"estimate": estimate} | ({} if sparse is None else {"sparse": sparse})
    np.savez(job["out"], **parts)
    return {"seconds": seconds, "cpu": cpu, "peak_mib": peak_mib, "runs": runs}


def _timed(
    function: Any, readings: methods.Array, settings: dict[str, Any]
) -> tuple[methods.Array, methods.Array | None, float]:
    start = time.perf_counter()
    estimate, sparse = methods.run(function, readings, settings)
    return estimate, sparse, time.perf_counter() - start


_warm: set[str] = set()


def _warm_up(job: dict[str, Any], readings: methods.Array) -> None:
    """Let a method import and compile what it needs, once, on a corner of the data."""
    name, corner = job["method"], readings[: WARM_UP[0], : WARM_UP[1]]
    if name in _warm:
        return
    _warm.add(name)
    try:
        methods.run(getattr(methods, name), corner, job["settings"])
    except Exception as problem:
        print(f"warm-up: {problem!r}", file=sys.stderr)


def _own_stdout() -> TextIO:
    """Keep the real stdout for answers and send what peers print to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _reset_peak() -> int:
    """Give freed memory back, restart the kernel's peak gauge, return the level now in bytes."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # not Linux: the peak of the process's whole life
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    main()
