"""Rev 0 of `fieldmend live` at hidden readings of later days: its error, and what intervals hold.

The filter alone, without a journal: minutes. Beside each figure the same without following how calm
it is. Readings are hidden in six draws; the first was in view while rules were chosen.
Writes benchmarks/results/live_intervals.md.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.core.prox import Mask
from fieldmend.grid import Array, Grid
from fieldmend.live import witnesses
from fieldmend.live.following import Follower
from live_accuracy import BEFORE, PATTERNS, hidden_mask
from live_network import asked_for_intellab, by_node, cut, intellab

RESULTS = Path(__file__).parent / "results" / "live_intervals.md"
DRAWS = 7, 8, 9, 10, 11, 12
DAYS = {  # fitted, followed
    "4-6 March | 7 March": (slice(0, 864), slice(864, 1152)),
    "4-6 March | 8 March": (slice(0, 864), slice(1152, 1440)),
    "5-7 March | 8 March": (slice(288, 1152), slice(1152, 1440)),
    "6-8 March | 5 March": (slice(576, 1440), slice(288, 576)),
}


def followed(follower: Follower, grid: Grid, hidden: Mask, later: slice) -> Array:
    """Of each hidden reading: held, width, error, the last value's error, node."""
    X = grid.values["temperature"]
    shown, rows = np.where(hidden, np.nan, X), []
    last, node = np.full(X.shape[1], np.nan), np.arange(X.shape[1])
    for t in range(later.start - BEFORE, later.stop):
        readings, slot = {"temperature": shown[t]}, int(grid.times[t])
        one = follower.follow(readings, grid.nodes, slot, grid.slot)["temperature"]
        if t >= later.start:
            inside = (one.lower <= X[t]) & (X[t] <= one.upper)
            errors = np.abs(one.estimate - X[t]), np.abs(last - X[t])
            rows.append(np.c_[inside, one.upper - one.lower, *errors, node][hidden[t]])
        last = np.where(np.isfinite(shown[t]), shown[t], last)
    return np.concatenate(rows)


def main() -> None:
    asked_for_intellab()
    grid = intellab()
    X = grid.values["temperature"]
    lines = [
        "# Live: intervals of rev 0",
        "",
        "IntelLab temperature, 51 nodes, slots of 5 min (`python benchmarks/live_intervals.py`): "
        "90 % intervals at hidden readings, asked .87-.93. Six draws; the first was in view "
        "while rules were chosen.",
        "",
        "| model of | followed | pattern | hidden | last value, MAE | rev 0, MAE | held "
        "| its standard error | each draw | width | held, always as wide | width |",
        "| --- " * 12 + "|",
    ]
    for days, (fitted, later) in DAYS.items():
        past = cut(grid, fitted)
        model = fm.recover(past, holdout=False).model
        found = witnesses.fit(model, past)
        for pattern, (run, share) in PATTERNS.items():
            figures, each = [], []
            for heard in (found, {}):
                rows = []
                for draw in DRAWS:
                    rng = np.random.default_rng(draw)
                    hidden = np.isfinite(X) & hidden_mask(X.shape, run, rng, share)
                    rows.append(followed(Follower(model, witnesses=heard), grid, hidden, later))
                figures.append(np.nanmean(np.concatenate(rows), axis=0))
                each.append([float(np.mean(part[:, 0])) for part in rows])
                if heard:
                    number, error_of = (
                        sum(map(len, rows)),
                        by_node([(part[:, 0], part[:, 4]) for part in rows]),
                    )
            (held, width, error, naive, _), (before, wide, *_) = figures
            lines.append(
                f"| {days} | {pattern} | {number:,} | {naive:.3f} | {error:.3f} | {held:.3f} "
                f"| {error_of:.3f} | {', '.join(f'{one:.3f}' for one in each[0])} | {width:.2f} "
                f"| {before:.3f} | {wide:.2f} |"
            )
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
