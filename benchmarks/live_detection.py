"""`fieldmend live` on IntelLab: what is found, how soon, and what is found that is not there.

Three runs over the two days after the three that the model was fitted to: untouched, with stuck
nodes, with nodes that drift by 1 °C an hour; spikes are put into the stuck run at the other nodes.
Humidity is fed beside the temperature, as the motes sent it. Flags alone: live_flags.py.
Writes benchmarks/results/live_detection.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.flags import BAD
from fieldmend.live.companions import Companions
from fieldmend.live.view import View
from live_network import cut, feed, intellab, station

RESULTS = Path(__file__).parent / "results" / "live_detection.md"
FITTED, BEFORE = 864, 150
SPIKES = 0.5, 1.0, 2.0, 5.0


def run(model, companions, grid, X, first):
    """Episodes as (kind, node, slot that opened it, nodes), and rev 0 flags, slots × nodes."""
    flags = np.zeros(X.shape, np.uint8)
    with station(model, int(grid.times[first]), companions) as one:
        for row in range(first, len(X)):
            feed(one, grid, row, {"temperature": X})
        order = [one.intake.writer.nodes[name] - 1 for name in grid.nodes]
        for slot, blob in one.journal.connection.execute(
            "SELECT s.slot, k.flag FROM clean k JOIN slots s ON s.id = k.closing "
            "JOIN conditions c ON c.id = k.condition WHERE s.rev = 0 AND c.name = 'temperature'"
        ):
            row = (slot - int(grid.times[0])) // grid.slot
            flags[row] = np.frombuffer(blob, np.uint8)[order]
        found = View(one.journal.folder).episodes(limit=10_000)

    def row_of(text):
        at = np.datetime64(text[:-1], "us").astype(np.int64)
        return int((at - grid.times[0]) // grid.slot)

    return [(e["kind"], e["node"], row_of(e["first_seen"]), e["text"]) for e in found], flags


def main() -> None:  # noqa: PLR0915 - three runs, one after the other
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=576)
    given = parser.parse_args()
    grid = cut(intellab("temperature", "humidity"), slice(0, FITTED + given.slots))
    past = cut(grid, slice(0, FITTED))
    model = fm.recover(past, holdout=False).model
    companions = Companions.fit(past, model)
    X, first = grid.values["temperature"], FITTED - BEFORE
    rng = np.random.default_rng(3)
    lines = [
        "IntelLab temperature with humidity beside it, 51 nodes, slots of 5 min; model of "
        f"4-6 March, {given.slots} slots "
        "from 7 March on (`python benchmarks/live_detection.py`).",
        "",
    ]

    def say(text):
        print(text, flush=True)
        lines.append(text)

    episodes, flags = run(model, companions, grid, X, first)
    after = [e for e in episodes if e[2] >= FITTED]
    days = 51 * given.slots / 288
    faults = [e for e in after if e[0] not in ("event", "silent")]
    seen = np.isfinite(X[FITTED:])
    false = np.isin(flags[FITTED:], BAD) & seen
    say("| untouched | |\n| --- | --- |")
    say(f"| episodes of a fault in {days:.0f} node-days | {len(faults)} |")
    say(f"| silences, events | {len(after) - len(faults)} |")
    say(f"| rev 0 flags in 10⁴ readings | {1e4 * false.sum() / seen.sum():.1f} |")
    for kind, node, row, text in after:
        say(f"| {kind} {node} at slot {row} | {text} |")
    say("\n| spikes, ± °C | put | flagged in rev 0 |\n| --- | --- | --- |")
    stuck = {int(k): int(rng.integers(FITTED, FITTED + given.slots - 100)) for k in range(0, 51, 4)}
    Y = X.copy()
    for k, t in stuck.items():
        Y[t:, k] = np.where(np.isfinite(X[t:, k]), X[t - 1, k], np.nan)
    put = {}
    others = [k for k in range(51) if k not in stuck]
    for row in range(FITTED, len(X), 3):
        k = int(rng.choice(others))
        if np.isfinite(X[row, k]):
            size = float(rng.choice(SPIKES)) * float(rng.choice((-1, 1)))
            Y[row, k] += size
            put[row, k] = abs(size)
    episodes, flags = run(model, companions, grid, Y, first)
    for size in SPIKES:
        mine = [np.isin(flags[at], BAD) for at, s in put.items() if s == size]
        say(f"| {size:g} | {len(mine)} | {100 * np.mean(mine):.1f} % |")
    say(_delays("stuck", stuck, episodes, grid.nodes))
    drift = {int(k): int(rng.integers(FITTED, FITTED + given.slots - 150)) for k in range(1, 51, 4)}
    Y = X.copy()
    for k, t in drift.items():
        Y[t:, k] += float(rng.choice((-1, 1))) * np.arange(len(X) - t) / 12.0
    episodes, _ = run(model, companions, grid, Y, first)
    say(_delays("drift, 1 °C/h", drift, episodes, grid.nodes))
    untouched = {grid.nodes[k] for k in range(51) if k not in drift}
    more = [e for e in episodes if e[2] >= FITTED and e[0] not in ("event", "silent")]
    say(
        f"\nFaults opened at nodes beside the drifting ones: {sum(e[1] in untouched for e in more)}"
    )
    RESULTS.write_text("# Live: detection\n\n" + "\n".join(lines) + "\n")


def _delays(what, begun, episodes, names) -> str:
    delays = []
    for k, t in begun.items():
        mine = [e[2] - t for e in episodes if e[1] == names[k] and e[2] >= t and e[0] != "silent"]
        delays.append(min(mine, default=999))
    said = ", ".join(str(d) if d < 999 else "not found" for d in sorted(delays))
    return (
        f"\n| {what}: nodes | slots until its episode, median | each |\n| --- | --- | --- |\n"
        f"| {len(delays)} | {np.median(delays):g} | {said} |"
    )


if __name__ == "__main__":
    main()
