"""`fieldmend live` on IntelLab: episodes that are found, how soon, and those that are not there.

Runs over the two days after the three that the model was fitted to: untouched, with stuck nodes,
with nodes that drift by 1 °C an hour. Spikes and false flags: live_flags.py.
Writes benchmarks/results/live_detection.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.flags import BAD
from fieldmend.live.companions import Companions
from fieldmend.live.view import View
from live_network import asked_for_intellab, catch_up, cut, feed, intellab, station

RESULTS = Path(__file__).parent / "results" / "live_detection.md"
FITTED, BEFORE = 864, 150


def run(model, companions, grid, X, first):
    """Episodes as (kind, node, slot that opened it, nodes), and rev 0 flags, slots × nodes."""
    flags = np.zeros(X.shape, np.uint8)
    with station(model, int(grid.times[first]), companions) as one:
        catch_up(one, grid, range(first, FITTED), {"temperature": X})
        for row in range(FITTED, len(X)):
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


def untouched(grid, model, companions, say) -> None:
    """What is said of a network in which nothing was changed."""
    X, first = grid.values["temperature"], FITTED - BEFORE
    episodes, flags = run(model, companions, grid, X, first)
    after = [e for e in episodes if e[2] >= FITTED]
    days = X.shape[1] * (len(X) - FITTED) / 288
    faults = [e for e in after if e[0] not in ("event", "silent")]
    seen = np.isfinite(X[FITTED:])
    false = np.isin(flags[FITTED:], BAD) & seen
    say(f"\n| untouched: {', '.join(grid.values)} | |\n| --- | --- |")
    say(f"| episodes of a fault in {days:.0f} node-days | {len(faults)} |")
    say(f"| silences, events | {len(after) - len(faults)} |")
    say(f"| rev 0 flags in 10⁴ readings of temperature | {1e4 * false.sum() / seen.sum():.1f} |")
    for kind, node, row, text in after:
        say(f"| {kind} {node} at slot {row} | {text} |")


def stuck(grid, model, companions, say) -> None:
    """Every fourth node sticks, within the first day."""
    grid, rng = cut(grid, slice(0, FITTED + 288)), np.random.default_rng(3)
    X = grid.values["temperature"]
    begun = {k: int(rng.integers(FITTED, len(X) - 100)) for k in range(0, X.shape[1], 4)}
    Y = X.copy()
    for k, t in begun.items():
        Y[t:, k] = np.where(np.isfinite(X[t:, k]), X[t - 1, k], np.nan)
    episodes, _ = run(model, companions, grid, Y, FITTED - BEFORE)
    say(_delays("stuck, in the first 288 of them", begun, episodes, grid.nodes))


def drift(grid, model, companions, say) -> None:
    """Every fourth node drifts by 1 °C an hour."""
    X, rng = grid.values["temperature"], np.random.default_rng(4)
    begun = {k: int(rng.integers(FITTED, len(X) - 150)) for k in range(1, X.shape[1], 4)}
    Y = X.copy()
    for k, t in begun.items():
        Y[t:, k] += float(rng.choice((-1, 1))) * np.arange(len(X) - t) / 12.0
    episodes, _ = run(model, companions, grid, Y, FITTED - BEFORE)
    say(_delays("drift, 1 °C/h", begun, episodes, grid.nodes))
    others = set(grid.nodes) - {grid.nodes[k] for k in begun}
    more = [e for e in episodes if e[2] >= FITTED and e[0] not in ("event", "silent")]
    say(f"\nFaults opened at nodes beside the drifting ones: {sum(e[1] in others for e in more)}")


PARTS = {"untouched": untouched, "stuck": stuck, "drift": drift}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=576)
    parser.add_argument("--only", nargs="*", default=list(PARTS))
    given = parser.parse_args()
    asked_for_intellab()
    kept = RESULTS.with_suffix(".json")  # parts that are not run this time
    found: dict[str, str] = {}
    for part in given.only:
        conditions = ("temperature", "humidity") if part == "untouched" else ("temperature",)
        grid = cut(intellab(*conditions), slice(0, FITTED + given.slots))
        past = cut(grid, slice(0, FITTED))
        model = fm.recover(past, holdout=False).model
        lines: list[str] = []

        def say(text, lines=lines):
            print(text, flush=True)
            lines.append(text)

        PARTS[part](grid, model, Companions.fit(past, model), say)
        before = json.loads(kept.read_text()) if kept.exists() else {}
        found = {**before, part: f"\n{given.slots} slots from 7 March on:\n" + "\n".join(lines)}
        kept.write_text(json.dumps(found, indent=1) + "\n")
    head = (
        "# Live: detection\n\nIntelLab, 51 nodes, slots of 5 min; model of 4-6 March "
        "(`python benchmarks/live_detection.py`). Humidity is fed beside the temperature where "
        "nothing was changed; the others are of temperature alone."
    )
    RESULTS.write_text("\n".join([head, *(found[one] for one in PARTS if one in found)]) + "\n")


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
