"""Past memory: ``recover 'year/*.parquet' --memory 1GB`` on records of 10⁶ to 10⁸ entries.

Simulated temperatures of 500 nodes every ten minutes, 30 % lost, in Parquet files. Each run is a
process of its own, its working processes included in what is measured: CPU seconds, the peak of
anonymous memory (files that are mapped are not counted: the system takes them back), bytes that a
cell of the parts takes, before and after compression, and the size of the report. Two windows and
more are kept and written as parts; the readings hidden for the score are those of four windows.

Sizes are named on the command line, 10⁶ and 10⁷ if none are: ``python benchmarks/memory.py 1e8``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

from table import write

NODES, SLOT, LOST, RANK = 500, 600_000_000, 0.3, 3
LIMIT = 1_000_000_000
FILES = 10


def make(folder: Path, slots: int) -> None:
    """Parquet files of a field that wanders, written one at a time."""
    rng = np.random.default_rng(0)
    loadings, state = rng.standard_normal((RANK, NODES)), np.zeros(RANK)
    con = duckdb.connect()
    per = -(-slots // FILES)
    for file in range(FILES):
        steps = 0.1 * rng.standard_normal((per, RANK))
        factors = np.empty((per, RANK))
        for t in range(per):
            state = 0.99 * state + steps[t]
            factors[t] = state
        X = 20 + factors @ loadings + 0.05 * rng.standard_normal((per, NODES))
        heard = rng.random(X.shape) > LOST
        t, n = np.nonzero(heard)
        con.register("given", {"node": n, "t": file * per + t, "v": X[heard]})
        con.execute(
            f"COPY (SELECT node, make_timestamp(1700000000000000 + t * {SLOT}) AS time, "
            f"v AS temperature FROM given) TO '{folder}/{file:03d}.parquet' (FORMAT parquet)"
        )
        con.unregister("given")


def anonymous(pid: int) -> int:
    """Bytes of anonymous memory of a process and of all that it started."""
    total = 0
    for one in [pid, *children(pid)]:
        try:
            text = Path(f"/proc/{one}/status").read_text()
        except OSError:
            continue
        total += sum(int(x.split()[1]) for x in text.splitlines() if x.startswith("RssAnon")) * 1024
    return total


def children(pid: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            own = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        found += [below for one in own for below in [one, *children(one)]]
    return found


def measured(command: list[str]) -> tuple[float, int, float]:
    """CPU seconds, peak of anonymous memory, and seconds of a command."""
    start, before = time.monotonic(), os.times()
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while run.poll() is None:
        peak = max(peak, anonymous(run.pid))
        time.sleep(0.1)
    after = os.times()
    if run.returncode:
        msg = f"it ended with {run.returncode}"
        raise RuntimeError(msg)
    cpu = after.children_user + after.children_system
    return cpu - before.children_user - before.children_system, peak, time.monotonic() - start


def row(entries: int, folder: Path) -> dict[str, object]:
    """One size."""
    year, out = folder / "year", folder / "results"
    for one in (year, out):
        one.mkdir()
    make(year, entries // NODES)
    command = [sys.executable, "-m", "fieldmend", "recover", f"{year}/*.parquet", "--slot", "10min"]
    command += ["--out", str(out), "--memory", str(LIMIT)]
    cpu, peak, seconds = measured(command)
    parts = next(out.glob("*.recovered"))
    sizes = [path.stat().st_size for path in parts.glob("*.parquet")]
    cells, heard = duckdb.sql(
        f"SELECT count(*), count(temperature) FROM '{parts}/*.parquet'"
    ).fetchall()[0]
    return {
        "entries": f"{entries:.0e}",
        "windows": len(sizes),
        "CPU s": f"{cpu:.0f}",
        "µs an entry": f"{1e6 * cpu / cells:.0f}",
        "seconds": f"{seconds:.0f}",
        "peak ÷ limit": f"{peak / LIMIT:.2f}",
        "bytes a cell": f"{(4 * heard + 5 * cells + 8 * (cells - heard)) / cells:.1f}",
        "compressed": f"{sum(sizes) / cells:.1f}",
        "report MB": f"{next(out.glob('*.html')).stat().st_size / 1e6:.1f}",
    }


def main(sizes: list[str]) -> None:
    rows = []
    for size in sizes or ["1e6", "1e7"]:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(row(int(float(size)), Path(folder)))
        print(rows[-1], flush=True)
        write("memory", rows, __doc__ or "")


if __name__ == "__main__":
    main(sys.argv[1:])
