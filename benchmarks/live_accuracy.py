"""`fieldmend live` on IntelLab: how far off are rev 0 and rev 1 at readings that were hidden?

The model is fitted to the first three days; on the days after, half of the readings are lost, or
nodes are offline for 1 h or 6 h. Beside them: the last value, the batch that knows the whole
future, and, at one slot in twelve, the batch that ends where the slot was settled.
Writes benchmarks/results/live_accuracy.md.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.live.companions import Companions
from live_network import asked_for_intellab, by_node, catch_up, cut, feed, intellab, station

RESULTS = Path(__file__).parent / "results" / "live_accuracy.md"
FITTED = 864  # slots: three days
BEFORE = 144  # slots that come at once, before hidden readings count
EVERY = 12  # slots, for the batch that knows no more than rev 1
PATTERNS = {  # slots of a run, share
    "50 % lost": (0, 0.5),
    "80 % lost": (0, 0.8),
    "offline 1 h": (12, 0.2),
    "offline 6 h": (72, 0.2),
}


def hidden_mask(
    shape: tuple[int, int], run: int, rng: np.random.Generator, share: float = 0.5
) -> np.ndarray:
    """A share of the readings, or runs that make up a fifth of the record."""
    if not run:
        return rng.random(shape) < share
    out = np.zeros(shape, np.bool_)
    for node in range(shape[1]):
        start = int(rng.integers(0, 5 * run))
        while start < shape[0]:
            out[start : start + run, node] = True
            start += int(run + rng.exponential(4 * run))
    return out


def columns(journal, rev: int, what: str) -> dict[int, np.ndarray]:
    rows = journal.connection.execute(
        f"SELECT s.slot, k.{what} FROM clean k JOIN slots s ON s.id = k.closing WHERE s.rev = ?",
        (rev,),
    )
    return {slot: np.frombuffer(blob, "<f8") for slot, blob in rows}


def measured(
    model: fm.FieldModel, companions: Companions, pattern: str, slots: int
) -> dict[str, float]:
    grid = intellab()
    first = FITTED - BEFORE
    grid = cut(grid, slice(first, FITTED + slots))
    X = grid.values["temperature"]
    run, share = PATTERNS[pattern]
    hidden = np.isfinite(X) & hidden_mask(X.shape, run, np.random.default_rng(7), share)
    shown = np.where(hidden, np.nan, X)
    out: dict[str, list[np.ndarray]] = {}
    with station(model, int(grid.times[0]), companions) as one:
        catch_up(one, grid, range(BEFORE), {"temperature": shown})
        begun = time.process_time()
        for row in range(BEFORE, len(X)):
            feed(one, grid, row, {"temperature": shown})
        seconds = time.process_time() - begun
        order = [one.intake.writer.nodes[name] - 1 for name in grid.nodes]
        settled = one.settings.settle_slots
        parts = {
            (rev, what): columns(one.journal, rev, what)
            for rev in (0, 1)
            for what in ("estimate", "lower", "upper")
        }
    batch = model.apply(replace(grid, values={"temperature": shown}))
    last = np.full(X.shape[1], np.nan)
    for row in range(len(X)):
        slot = int(grid.times[row])
        at = hidden[row] & np.isfinite(last) & (row >= BEFORE) & (slot in parts[1, "estimate"])
        truth = X[row, at]
        for rev in (0, 1):
            if slot not in parts[rev, "estimate"]:
                continue
            names = "estimate", "lower", "upper"
            got, low, high = (parts[rev, name][slot][order][at] for name in names)
            out.setdefault(f"rev {rev}", []).append(np.abs(got - truth))
            out.setdefault(f"held {rev}", []).append((low <= truth) & (truth <= high))
        out.setdefault("node", []).append(np.flatnonzero(at))
        out.setdefault("last value", []).append(np.abs(last[at] - truth))
        estimate = batch["temperature"].estimate[row, at]
        out.setdefault("batch", []).append(np.abs(estimate - truth))
        if row % EVERY == 0 and at.any():
            part = cut(replace(grid, values={"temperature": shown}), slice(0, row + 1 + settled))
            ended = model.apply(part)["temperature"].estimate[row, at]
            out.setdefault("ended", []).append(np.abs(ended - truth))
            out.setdefault("rev 1 there", []).append(out["rev 1"][-1])
        last = np.where(np.isfinite(shown[row]), shown[row], last)
    found = {name: float(np.concatenate(parts).mean()) for name, parts in out.items()}
    who = np.concatenate(out["node"])
    for rev in (0, 1):
        found[f"doubt {rev}"] = by_node([(np.concatenate(out[f"held {rev}"]), who)])
    return found | {"n": len(who), "cpu": seconds / slots}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=432)
    parser.add_argument("--only", nargs="*", default=list(PATTERNS), help="others are kept")
    given = parser.parse_args()
    asked_for_intellab()
    past = cut(intellab(), slice(0, FITTED))
    model = fm.recover(past, holdout=False).model
    companions = Companions.fit(past, model)
    lines = [
        f"IntelLab temperature, 51 nodes, slots of 5 min; model of 4-6 March, {given.slots} slots "
        "from 7 March on.",
        "`python benchmarks/live_accuracy.py`. One draw of what is hidden (live_intervals.md has "
        "six); ± a standard error, for which a node is one witness.",
        "",
        "| pattern | hidden readings | last value | rev 0 | rev 0 / last value | rev 1 | batch "
        "| rev 1 / batch | rev 1 / batch that ends when it settles | 90 % intervals hold, rev 0 "
        "| rev 1 | CPU s a slot |",
        "| --- " * 12 + "|",
    ]
    kept = RESULTS.with_suffix(".json")
    for name in given.only:
        f = measured(model, companions, name, given.slots)
        line = (
            f"| {name} | {f['n']:,} | {f['last value']:.3f} | {f['rev 0']:.3f} "
            f"| {f['rev 0'] / f['last value']:.2f} | {f['rev 1']:.4f} | {f['batch']:.4f} "
            f"| {f['rev 1'] / f['batch']:.2f} | {f['rev 1 there'] / f['ended']:.2f} "
            f"| {f['held 0']:.3f} ± {f['doubt 0']:.3f} | {f['held 1']:.3f} ± {f['doubt 1']:.3f} "
            f"| {f['cpu']:.3f} |"
        )
        print(line, flush=True)
        found = json.loads(kept.read_text()) if kept.exists() else {}
        found[name] = line
        kept.write_text(json.dumps(found, indent=1) + "\n")
        rows = [found[one] for one in PATTERNS if one in found]
        RESULTS.write_text("# Live: accuracy\n\n" + "\n".join([*lines, *rows]) + "\n")


if __name__ == "__main__":
    main()
