"""Drifts of 1 °C an hour on IntelLab: slots until companions see them, without a journal.

One node at a time, every fifth in turn. Then every fourth in one run, from a slot of its own on:
far more at once than in a network, so that they hide each other; then every twelfth, in four runs:
one run has five of them. All of it with humidity beside the temperature, and without.
live_detection.py has whole episodes.
Writes benchmarks/results/live_drifts.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.grid import Array, Grid
from fieldmend.live.companions import Companions, Drifts
from fieldmend.live.following import Follower
from live_network import asked_for_intellab, cut, intellab

RESULTS = Path(__file__).parent / "results" / "live_drifts.md"
DAYS = {  # fitted, followed
    "4-6 March | 7-8 March": (slice(0, 864), slice(864, 1440)),
    "5-7 March | 8 March": (slice(288, 1152), slice(1152, 1440)),
    "6-8 March | 4-5 March": (slice(576, 1440), slice(20, 576)),
}
LATEST = 150  # slots before the end that a drift begins
ALONE = 5  # of nodes that drift one at a time, every so-manieth
WHICH = {0: "one node at a time"}
RUNS = {12: (1, 4, 7, 10)}  # first nodes, where one run has few


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, nargs="*", default=[0, 4, 12])
    given = parser.parse_args()
    asked_for_intellab()
    lines = [
        "# Live: drifts",
        "",
        "IntelLab temperature, 51 nodes, slots of 5 min; some nodes drift by 1 °C an hour "
        "(`python benchmarks/live_drifts.py`).",
        "",
        "| beside it | which drift | model of | followed | slots until it is seen, median | each "
        "| other nodes seen |",
        "| --- " * 7 + "|",
    ]
    for beside, grid in (
        ("humidity", intellab("temperature", "humidity")),
        ("nothing", intellab("temperature")),
    ):
        for days, (fitted, later) in DAYS.items():
            past = cut(grid, fitted)
            model = fm.recover(past, holdout=False).model
            companions = Companions.fit(past, model)
            for every in given.every:
                if every:
                    delays, others = followed(grid, model, companions, later, every)
                else:
                    delays, others = one_by_one(grid, model, companions, later)
                each = ", ".join(str(d) if 0 <= d < 900 else "not seen" for d in delays)
                runs = len(RUNS.get(every, (1,)))
                said = f"one node in {every}, in {'one run' if runs == 1 else f'{runs} runs'}"
                which = WHICH.get(every, said)
                lines.append(
                    f"| {beside} | {which} | {days} | {np.median(delays):g} | {each} | {others} |"
                )
                print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


def followed(
    grid: Grid, model: fm.FieldModel, companions: Companions, later: slice, every: int
) -> tuple[list[int], int]:
    """Slots until each drift is seen, and how many other nodes are."""
    X, delays, others = grid.values["temperature"], [], 0
    for first in RUNS.get(every, (1,)):
        rng, Y, begun = np.random.default_rng(3 + first), X.copy(), {}
        for k in range(first, X.shape[1], every):
            begun[k + 1] = t = int(rng.integers(later.start + 12, later.stop - LATEST))
            Y[t:, k] += float(rng.choice((-1, 1))) * np.arange(len(X) - t) / 12.0
        seen = _seen(grid, Y, model, companions, later)
        delays += [seen.get(k, later.stop + 999) - t for k, t in begun.items()]
        others += len(set(seen) - set(begun))
    return sorted(delays), others


def one_by_one(
    grid: Grid, model: fm.FieldModel, companions: Companions, later: slice
) -> tuple[list[int], int]:
    """The same of nodes that drift alone, each in a run from some hours before it on."""
    X, delays, beside = grid.values["temperature"], [], 0
    for k in range(1, X.shape[1], ALONE):
        rng, Y = np.random.default_rng(100 + k), X.copy()
        t = int(rng.integers(later.start + 12, later.stop - LATEST))
        Y[t:, k] += float(rng.choice((-1, 1))) * np.arange(len(X) - t) / 12.0
        rows = slice(max(0, t - LATEST), t + LATEST)
        seen = _seen(grid, Y, model, companions, rows)
        delays.append(seen.get(k + 1, t + 999) - t)
        beside += len(set(seen) - {k + 1})
    return sorted(delays), beside


def _seen(
    grid: Grid, Y: Array, model: fm.FieldModel, companions: Companions, rows: slice
) -> dict[int, int]:
    """Nodes' ids, and the slot in which their temperature is first said to drift."""
    follower, drifts = Follower(model, witnesses=companions.witnesses), Drifts(companions)
    seen: dict[int, int] = {}
    for row in range(rows.start, rows.stop):
        readings = {name: X[row] for name, X in grid.values.items()} | {"temperature": Y[row]}
        said = follower.follow(readings, grid.nodes, int(grid.times[row]), grid.slot)
        ids = {"temperature": 1, "humidity": 2}
        drifts.hear(said, grid.nodes, int(grid.times[row]), ids, set(seen))
        for one in drifts.news():
            if one.condition == 1:
                seen.setdefault(one.node, row)
    return seen


if __name__ == "__main__":
    main()
