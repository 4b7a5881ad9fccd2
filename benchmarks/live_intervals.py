"""Rev 0 of `fieldmend live` at hidden readings of later days: its error, and what intervals hold.

The filter alone, without a journal: half a minute. Beside each figure the same without following
how calm it is. Writes benchmarks/results/live_intervals.md.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.live import witnesses
from fieldmend.live.following import Follower
from live_accuracy import BEFORE, PATTERNS, hidden_mask
from live_network import asked_for_intellab, cut, intellab

RESULTS = Path(__file__).parent / "results" / "live_intervals.md"
DAYS = {  # fitted, followed
    "4-6 March | 7 March": (slice(0, 864), slice(864, 1152)),
    "4-6 March | 8 March": (slice(0, 864), slice(1152, 1440)),
    "5-7 March | 8 March": (slice(288, 1152), slice(1152, 1440)),
    "6-8 March | 5 March": (slice(576, 1440), slice(288, 576)),
}


def main() -> None:
    asked_for_intellab()
    grid = intellab()
    X = grid.values["temperature"]
    lines = [
        "# Live: intervals of rev 0",
        "",
        "IntelLab temperature, 51 nodes, slots of 5 min (`python benchmarks/live_intervals.py`): "
        "90 % intervals at hidden readings, asked .87-.93.",
        "",
        "| model of | followed | pattern | hidden | last value, MAE | rev 0, MAE | held | width "
        "| held, always as wide | width |",
        "| --- " * 10 + "|",
    ]
    for days, (fitted, later) in DAYS.items():
        past = cut(grid, fitted)
        model = fm.recover(past, holdout=False).model
        found = witnesses.fit(model, past)
        for pattern, (run, share) in PATTERNS.items():
            rng = np.random.default_rng(7)
            hidden = np.isfinite(X) & hidden_mask(X.shape, run, rng, share)
            shown = np.where(hidden, np.nan, X)
            figures = []
            for heard in (found, {}):
                follower, rows = Follower(model, witnesses=heard), []
                last = np.full(X.shape[1], np.nan)
                for t in range(later.start - BEFORE, later.stop):
                    readings = {"temperature": shown[t]}
                    slot = int(grid.times[t])
                    one = follower.follow(readings, grid.nodes, slot, grid.slot)["temperature"]
                    if t >= later.start:
                        inside = (one.lower <= X[t]) & (X[t] <= one.upper)
                        errors = np.abs(one.estimate - X[t]), np.abs(last - X[t])
                        rows.append(np.c_[inside, one.upper - one.lower, *errors][hidden[t]])
                    last = np.where(np.isfinite(shown[t]), shown[t], last)
                figures.append(np.nanmean(np.concatenate(rows), axis=0))
            (held, width, error, naive), (before, wide, _, _) = figures
            number = hidden[later].sum()
            lines.append(
                f"| {days} | {pattern} | {number:,} | {naive:.3f} | {error:.3f} | {held:.3f} "
                f"| {width:.2f} | {before:.3f} | {wide:.2f} |"
            )
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
