"""How fast a large CSV becomes a grid: rows a second and peak memory, a process per reader.

``python benchmarks/reading.py [--rows N]`` writes N rows (60 million by default: 200 nodes, a
reading of temperature and humidity every 30 s, ISO times) to a temporary folder and removes them.
``wc -l`` shows what the disk gives; the others do less than fieldmend: no row is accounted for, no
clock, zone or duplicate looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from table import write

ROWS, NODES = 60_000_000, 200
LIMIT = 1800  # seconds

FIELDMEND = """
import fieldmend as fm
grid = fm.read(path).grid(slot="5min")
shape = grid.shape
"""
DUCKDB = """
import duckdb
con = duckdb.connect()
con.execute("SET memory_limit = '1200MB'; SET enable_progress_bar = false")
rows = con.execute(
    "SELECT node, time_bucket(INTERVAL 5 MINUTE, time) AS slot, avg(temperature), avg(humidity) "
    "FROM read_csv($path) GROUP BY ALL", {"path": path}).fetchnumpy()
shape = (len(set(rows["slot"])), len(set(rows["node"])))
"""
POLARS = """
import polars as pl
long = (pl.scan_csv(path, try_parse_dates=True)
    .group_by("node", pl.col("time").dt.truncate("5m")).mean().collect(engine="streaming"))
shape = long.pivot("node", index="time", values="temperature").shape
shape = (shape[0], shape[1] - 1)
"""
PANDAS = """
import pandas as pd
frame = pd.read_csv(path, parse_dates=["time"])
grid = frame.pivot_table(index=frame["time"].dt.floor("5min"), columns="node",
                         values=["temperature", "humidity"])
shape = (len(grid), grid.shape[1] // 2)
"""
JOBS = {
    "wc -l": "import subprocess as s\ns.run(['wc', '-l', path], stdout=s.DEVNULL)\nshape = None",
    "fieldmend: read, account, grid": FIELDMEND,
    "DuckDB: read_csv, group by": DUCKDB,
    "Polars: scan_csv, group by, pivot": POLARS,
    "pandas: read_csv, pivot_table": PANDAS,
}
MEASURE = """
import json, resource, sys, time
path = sys.argv[1]
start = time.perf_counter()
{job}
wall = time.perf_counter() - start
own, child = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
cpu = own.ru_utime + own.ru_stime + child.ru_utime + child.ru_stime
print(json.dumps([wall, cpu, max(own.ru_maxrss, child.ru_maxrss) / 2**20, shape]))
"""


def generate(path: Path, rows: int) -> None:
    """Rows in the order in which a gateway writes them: all nodes, then the next half minute."""
    import duckdb

    con = duckdb.connect()
    literal = str(path).replace("'", "''")
    con.execute(
        f"COPY (SELECT 'node-' || (i % {NODES}) AS node, strftime(TIMESTAMP '2024-01-01' + "
        f"INTERVAL 30 SECOND * (i // {NODES}), '%Y-%m-%dT%H:%M:%S') AS time, "
        "round(20 + 5 * sin(i / 1e5) + (hash(i) % 1000) / 1000.0, 2) AS temperature, "
        "round(50 + 10 * cos(i / 1e5) + (hash(i + 7) % 1000) / 500.0, 2) AS humidity "
        f"FROM range({rows}) t(i)) TO '{literal}' (HEADER)"
    )


def measured(name: str, job: str, path: Path, rows: int) -> dict[str, str]:
    """One reader in a process of its own; pandas is left out where memory would not do."""
    need = 12 * path.stat().st_size if name.startswith("pandas") else 0
    if need > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        empty = dict.fromkeys(["CPU seconds", "M rows/s", "M rows/CPU s", "peak GB", "grid"], "")
        return {"reader": name, "seconds": "too large for memory", **empty}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(job=job), str(path)],
        capture_output=True, text=True, check=False, timeout=LIMIT,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    wall, cpu, peak, shape = json.loads(done.stdout.splitlines()[-1])
    return {
        "reader": name,
        "seconds": f"{wall:.1f}",
        "CPU seconds": f"{cpu:.1f}",
        "M rows/s": f"{rows / wall / 1e6:.2f}",
        "M rows/CPU s": f"{rows / cpu / 1e6:.2f}",
        "peak GB": f"{peak:.2f}",
        "grid": " × ".join(map(str, shape)) if shape else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "readings.csv"
        start = time.perf_counter()
        generate(path, rows)
        size = path.stat().st_size / 1e9
        print(f"{rows:,} rows, {size:.2f} GB, written in {time.perf_counter() - start:.0f} s")
        results = []
        for name, job in JOBS.items():
            results.append(measured(name, job, path, rows))
            print(results[-1], flush=True)
    load = os.getloadavg()[2]
    text = (
        f"{rows:,} rows ({size:.2f} GB, {NODES} nodes, two conditions) to a grid of 5-minute "
        "slots, each reader in a process of its own with as many threads as it takes. The others "
        "skip what fieldmend does besides: no row is judged or accounted for, no zone, clock or "
        f"duplicate looked at. Load of the machine over the last 15 minutes: {load:.1f} (2 cores)."
    )
    write("reading", results, text)


if __name__ == "__main__":
    main()
