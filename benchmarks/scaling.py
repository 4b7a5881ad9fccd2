"""How `ls` grows with the number of slots: 500 nodes, float32, one process per size.

Seconds are CPU seconds. ``exponent``: slope of log seconds over log slots. ``peak ÷ X``: the peak
resident memory beyond what the process held before X was made, with X and the results, over the
size of X. ``share``: the rate at which the sweeps' matrix products run, everything in a sweep
counted in the time, over the GEMM rate measured in the same process (thin: with the sweep's own
shapes; square: 2048³).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

NODES = 500
SLOTS = (10_000, 100_000, 1_000_000)
RANK, NOISE, RATE, ANOMALIES = 4, 0.5, 0.5, 0.04


def readings(slots: int, seed: int = 0) -> np.ndarray:
    """A rank-4 field with noise, spikes and loss, made block by block: no second copy in memory."""
    rng = np.random.default_rng(seed)
    nodes = rng.standard_normal((RANK, NODES)).astype(np.float32)
    X = np.empty((slots, NODES), np.float32)
    for start in range(0, slots, 10_000):
        n = min(10_000, slots - start)
        block = 50 + 8 * rng.standard_normal((n, RANK), dtype=np.float32) @ nodes
        block += NOISE * rng.standard_normal((n, NODES), dtype=np.float32)
        spiked = rng.random((n, NODES), dtype=np.float32)
        block[spiked < ANOMALIES] += 60
        block[spiked < ANOMALIES / 2] -= 120
        block[rng.random((n, NODES), dtype=np.float32) > RATE] = np.nan
        X[start : start + n] = block
    return X


def gemm_rate(m: int, n: int, k: int) -> float:
    """Best of five, in floating-point operations a second, float32."""
    A, B = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        A @ B
        best = min(best, time.process_time() - start)
    return 2 * m * n * k / best


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Meter:
    """Counts the floating-point operations of the sweeps' products, and the time of the sweeps."""

    def __init__(self) -> None:
        self.flops, self.seconds, self.width = 0.0, 0.0, 0

    def watch(self, solver: type) -> None:
        plain = solver._sweep

        def measured(this: object, state: object) -> object:
            entries = this.problem.readings.size
            columns = state.current.rank * (1 if state.beta == 0 else 2)
            k = state.basis.shape[1]
            start = time.process_time()
            sums = plain(this, state)
            self.seconds += time.process_time() - start
            self.flops += 2.0 * entries * (columns + 2 * k)
            self.width = k
            return sums

        solver._sweep = measured


def one(slots: int) -> dict[str, float]:
    """Solve one size in this process."""
    import fieldmend as fm
    from fieldmend.core.huber import HuberSolver

    fm.decompose(readings(200))  # everything imported and warm
    meter = Meter()
    before = peak_bytes()
    X = readings(slots)
    meter.watch(HuberSolver)
    start = time.process_time()
    out = fm.decompose(X)
    seconds = time.process_time() - start
    return {
        "slots": slots,
        "seconds": seconds,
        "iterations": out.iterations,
        "gap": out.gap,
        "rank": out.rank,
        "peak": (peak_bytes() - before) / X.nbytes,
        "rate": meter.flops / meter.seconds,
        "thin": gemm_rate(BLOCK, NODES, meter.width),
        "square": gemm_rate(2048, 2048, 2048),
    }


BLOCK = 2**18 // NODES


def main() -> None:
    found: list[dict[str, float]] = []
    for slots in SLOTS:
        done = subprocess.run(
            [sys.executable, __file__, str(slots)], check=True, capture_output=True, text=True
        )
        found.append(json.loads(done.stdout.splitlines()[-1]))
        print(found[-1], flush=True)
        store(found)


def store(found: list[dict[str, float]]) -> None:
    """The table of what was measured so far."""
    from table import write

    if len(found) < 2:
        return
    slots = [f["slots"] for f in found]
    exponent = np.polyfit(np.log(slots), np.log([f["seconds"] for f in found]), 1)[0]
    rows = [
        {
            "slots": f["slots"],
            "seconds": f"{f['seconds']:.2f}",
            "iterations": f["iterations"],
            "gap": f"{f['gap']:.1e}",
            "rank": f["rank"],
            "peak ÷ X": f"{f['peak']:.2f}",
            "sweep GFLOP/s": f"{f['rate'] / 1e9:.0f}",
            "share of thin GEMM": f"{f['rate'] / f['thin']:.0%}",
            "share of square GEMM": f"{f['rate'] / f['square']:.0%}",
            "exponent": f"{exponent:.2f}",
        }
        for f in found
    ]
    write("scaling", rows, __doc__ or "")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]))))
    else:
        main()
