"""`fieldmend live` and its broker, killed -9 under traffic: what is lost, what differs?

Writes benchmarks/results/live_kills.md. Everything listens on 127.0.0.1. Without mosquitto only the
part by POST runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

import fieldmend as fm

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from live_kills import MOSQUITTO, kills_by_post, kills_of_broker, kills_of_live

RESULTS = Path(__file__).parent / "results" / "live_kills.md"
FITTED = 300


def network(slots: int, nodes: int) -> fm.Grid:
    net = fm.simulate.network(slots=slots, nodes=nodes, field="temperature", seed=3)
    noise = np.random.default_rng(3).normal(0.0, 0.1, net.truth.shape)
    names = [f"m{k}" for k in range(nodes)]
    start = "2024-03-01"  # the past: stamps are never ahead of the clock
    return fm.Grid.of(net.truth + noise, nodes=names, condition="temperature", start=start)


def fitted(grid: fm.Grid) -> fm.FieldModel:
    part = fm.Grid(
        {name: X[:FITTED] for name, X in grid.values.items()},
        grid.nodes,
        grid.times[:FITTED],
        grid.slot,
    )
    return fm.FieldModel.fit(part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readings", type=int, default=1_000_000)
    parser.add_argument("--posted", type=int, default=1_000_000)
    parser.add_argument("--broker-readings", type=int, default=13_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--broker-kills", type=int, default=6)
    parser.add_argument("--nodes", type=int, default=50)
    given = parser.parse_args()
    lines = [
        "# Live: killed under traffic",
        "",
        f"`python benchmarks/live_kills.py {' '.join(sys.argv[1:])}`; {given.nodes} nodes; "
        "mosquitto as `--print-mosquitto-conf` configures it.",
        "",
        "| what is killed | kills | acknowledged readings | lost | reported by sequence numbers "
        "| rows out, distinct / expected | repeated | copies that differ | s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]

    def say(what, kills, f):
        out = f"{f.distinct:,} / {f.expected:,}" if f.expected else "-"
        again = f"{f.received - f.distinct:,}" if f.expected else "-"
        differ = f.differing if f.expected else "-"
        lines.append(
            f"| {what} | {kills} | {f.acknowledged:,} | {f.lost:,} | {f.gaps:,} | {out} "
            f"| {again} | {differ} | {f.seconds:.0f} |"
        )
        print(lines[-1], flush=True)
        RESULTS.write_text("\n".join(lines) + "\n")

    longest = max(given.readings, given.posted, given.broker_readings) // given.nodes
    grid = network(FITTED + longest, given.nodes)
    model = fitted(grid)
    patience = 3600.0
    with tempfile.TemporaryDirectory() as folder:
        slots = given.posted // given.nodes
        found = kills_by_post(
            Path(folder), grid, model, slots=slots, kills=given.kills, patience=patience
        )
        say("live, by POST repeated until 200", given.kills, found)
    if not Path(MOSQUITTO).exists():
        print("no mosquitto: the rest is left out")
        return
    with tempfile.TemporaryDirectory() as folder:
        slots = given.broker_readings // given.nodes
        found = kills_of_broker(
            Path(folder), grid, model, slots=slots, kills=given.broker_kills, patience=patience
        )
        say("mosquitto", given.broker_kills, found)
    with tempfile.TemporaryDirectory() as folder:
        slots = given.readings // given.nodes
        found = kills_of_live(
            Path(folder), grid, model, slots=slots, kills=given.kills, patience=patience
        )
        say("live, by MQTT", given.kills, found)


if __name__ == "__main__":
    main()
