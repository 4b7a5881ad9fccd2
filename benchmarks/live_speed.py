"""`fieldmend live`: CPU of a slot, readings a second into the journal, memory over many readings.

Writes benchmarks/results/live_speed.md. CPU is the process's own; a shared machine slows
the wall clock more.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.live.clock import SetClock
from fieldmend.live.companions import Companions
from fieldmend.live.following import Follower
from fieldmend.live.intake import Intake
from fieldmend.live.journal import Journal
from fieldmend.live.modelling import Models
from fieldmend.live.settings import DAY, Settings
from fieldmend.live.station import Station

RESULTS = Path(__file__).parent / "results" / "live_speed.md"
PASSES = 5  # over the same slots; their median: the first one after a fit finds cold caches
LIMITS = {54: 0.5, 1000: 2.0, 5000: 6.0}  # ms


def network(slots: int, nodes: int) -> fm.Grid:
    net = fm.simulate.network(slots=slots, nodes=nodes, field="temperature", seed=1)
    noise = np.random.default_rng(1).normal(0.0, 0.1, net.truth.shape)
    names = [f"m{k}" for k in range(nodes)]
    return fm.Grid.of(net.truth + noise, nodes=names, condition="temperature", start="2024-01-01")


def slot_cpu(nodes: int, fitted: int, slots: int) -> tuple[float, float, int]:
    """CPU ms of the filter with its flags, and of a whole closing with its transaction."""
    grid = network(fitted + slots, nodes)
    X = grid.values["temperature"]
    past = fm.Grid({"temperature": X[:fitted]}, grid.nodes, grid.times[:fitted], grid.slot)
    model = fm.FieldModel.fit(past)
    companions = Companions.fit(past, model)
    passes = []
    for _ in range(PASSES):
        follower = Follower(model, witnesses=companions.witnesses)
        begun = time.process_time()
        for row in range(fitted, fitted + slots):
            follower.follow({"temperature": X[row]}, grid.nodes, int(grid.times[row]), grid.slot)
        passes.append(1e3 * (time.process_time() - begun) / slots)
    filter_ms = float(np.median(passes))
    settings = Settings(refit=10_000 * DAY)
    with tempfile.TemporaryDirectory() as folder:
        with closing(Journal.open(folder, slot=grid.slot)) as journal:
            clock = SetClock(int(grid.times[fitted]))
            models = Models(journal, settings, model, companions)
            station = Station(Intake(journal, clock), settings, clock, models)
            station.start()
            spent = 0.0
            for row in range(fitted, fitted + min(slots, 50)):
                at = int(grid.times[row])
                clock.time = at + 1
                rows = [
                    {"node": n, "time": at // 1000, "temperature": float(X[row, k])}
                    for k, n in enumerate(grid.nodes)
                ]
                station.intake.post(rows)
                clock.time = at + grid.slot + settings.late
                begun = time.process_time()
                with journal.lock:
                    station.progress.note(station.intake.writer.news()[0].items(), clock.now())
                    station._close_due(clock.now())
                spent += time.process_time() - begun
    return filter_ms, 1e3 * spent / min(slots, 50), model["temperature"].rank


def journal_rate(readings: int, nodes: int, batch: int) -> dict[str, float]:
    """JSON in, committed: readings a second of one core; memory before and after."""
    with tempfile.TemporaryDirectory() as folder:
        with closing(Journal.open(folder, slot=300_000_000)) as journal:
            clock = SetClock(1_710_000_000_000_000)
            intake = Intake(journal, clock)
            kept, made, marks = 0, 0, []
            cpu, wall = time.process_time(), time.monotonic()
            while made < readings:
                stamp = clock.now() // 1_000_000
                body = json.dumps(
                    [
                        {"node": f"m{k % nodes}", "time": stamp + k // nodes, "temperature": 20.5}
                        for k in range(batch)
                    ]
                ).encode()
                clock.time += (batch // nodes + 1) * 1_000_000
                kept += intake.post_bytes(body)["stored"]
                made += batch
                if made % max(batch, readings // 10) < batch:
                    marks.append(_memory())
            cpu, wall = time.process_time() - cpu, time.monotonic() - wall
            assert kept == made
    return {
        "cpu": made / cpu,
        "wall": made / wall,
        "before": marks[0],
        "after": marks[-1],
        "readings": made,
    }


def _memory() -> float:
    """MB that the process has now."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="*", default=[54, 1000, 5000])
    parser.add_argument("--readings", type=int, default=1_000_000)
    given = parser.parse_args()
    lines = [
        "# Live: speed",
        "",
        f"`python benchmarks/live_speed.py {' '.join(sys.argv[1:])}`".replace(" `", "`"),
        "",
        "| nodes | factors | filter, CPU ms a slot | at most | closing, with its transaction |",
        "| --- | --- | --- | --- | --- |",
    ]
    for nodes in given.nodes:
        step, whole, rank = slot_cpu(nodes, 300 if nodes < 2000 else 150, 100)
        most = LIMITS.get(nodes, "-")
        lines.append(f"| {nodes:,} | {rank} | {step:.2f} | {most} | {whole:.1f} |")
        print(lines[-1], flush=True)
    rate = journal_rate(given.readings, 500, 500)
    lines += [
        "",
        "| readings stored | a second of CPU | a second | MB after a tenth | MB at the end |",
        "| --- | --- | --- | --- | --- |",
        f"| {rate['readings']:,} | {rate['cpu']:,.0f} | {rate['wall']:,.0f} "
        f"| {rate['before']:.0f} | {rate['after']:.0f} |",
    ]
    print(lines[-1])
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
