"""`fieldmend live` and its broker, killed -9 under traffic: what is lost, what differs?

Writes benchmarks/results/live_kills.md. Everything listens on 127.0.0.1. Without mosquitto only the
part by POST runs.
"""

from __future__ import annotations

import argparse
import json
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
    parser.add_argument("--only", nargs="*", default=["post", "broker", "live"])
    given = parser.parse_args()
    kept = RESULTS.with_suffix(".json")  # rows of parts that are not run this time
    rows = json.loads(kept.read_text()) if kept.exists() else {}
    head = [
        "# Live: killed under traffic",
        "",
        f"`python benchmarks/live_kills.py`; {given.nodes} nodes; mosquitto as "
        "`--print-mosquitto-conf` configures it.",
        "",
        "| what is killed | kills | acknowledged readings | lost | reported by sequence numbers "
        "| rows out, distinct / expected | repeated | copies that differ | s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]

    def say(part, what, kills, f):
        out = f"{f.distinct:,} / {f.expected:,}" if f.expected else "-"
        again = f"{f.received - f.distinct:,}" if f.expected else "-"
        differ = f.differing if f.expected else "-"
        rows[part] = (
            f"| {what} | {kills} | {f.acknowledged:,} | {f.lost:,} | {f.gaps:,} | {out} "
            f"| {again} | {differ} | {f.seconds:.0f} |"
        )
        print(rows[part], flush=True)
        kept.write_text(json.dumps(rows, indent=1) + "\n")
        RESULTS.write_text("\n".join([*head, *rows.values()]) + "\n")

    sizes = {"post": given.posted, "broker": given.broker_readings, "live": given.readings}
    if not Path(MOSQUITTO).exists():
        print("no mosquitto: only what is posted is measured")
        sizes = {"post": given.posted}
    sizes = {part: size for part, size in sizes.items() if part in given.only}
    grid = network(FITTED + max(sizes.values()) // given.nodes, given.nodes)
    model = fitted(grid)
    words = {
        "post": ("live, by POST repeated until 200", kills_by_post, given.kills),
        "broker": ("mosquitto", kills_of_broker, given.broker_kills),
        "live": ("live, by MQTT", kills_of_live, given.kills),
    }
    for part, size in sizes.items():
        what, run, kills = words[part]
        with tempfile.TemporaryDirectory() as folder:
            slots = size // given.nodes
            found = run(Path(folder), grid, model, slots=slots, kills=kills, patience=3600.0)
        say(part, what, kills, found)


if __name__ == "__main__":
    main()
