"""Real networks that fieldmend was not built on: is what it prints true, are faults found?

Ten conditions of four networks that public packages bring along (`elsewhere_data`): airports,
metro stations, wind turbines, a grid of ozone. As in `honesty`, readings are lost on purpose in
four patterns, two seeds each: ``real/printed`` is the error at what was lost over the printed one
(bar 0.80 to 1.25), ``held`` the share of it inside 90 % intervals, ``of line`` the error over the
straight line's. ``flagged``: percent of the readings of the record as it is, real faults among
them (an airport's 1,048 mph).

Then faults of seven kinds (`jury_trouble`; two seeds), each at a node of its own, never at more
than a quarter of them: percent of the false readings that is flagged, and of the true ones beside
them. A blade's angle (``Ba_avg``) is left out there: it jumps between three values.

These networks were looked at: a calm of the turbines was called stuck, and fog at one airport a
spike, until the rules were mended by them; no constant was chosen by these figures.

``python benchmarks/elsewhere.py airports`` runs some and stores nothing.
"""

from __future__ import annotations

import sys
import warnings
from multiprocessing import get_context
from typing import Any

import numpy as np

from elsewhere_data import records
from honesty import HIGH, LOW, alike, judged, patterns, recovered
from jury_trouble import break_one
from table import write

BAD = (3, 4)
SEEDS = (1, 2)
KINDS = ("spikes", "stuck", "offset", "drift", "noise", "dead", "gain")
Array = np.ndarray
Row = dict[str, Any]


def work(name: str) -> tuple[list[Row], dict[str, list[float]], list[float]]:
    """The rows of one record; shares found by kind of fault; true readings flagged beside."""
    record = next(one for one in records() if one.name == name)
    X = record.get(0)
    doubted = np.isin(recovered(record, X, holdout=False).flag, BAD)
    flagged = 100 * float(doubted.sum() / np.isfinite(X).sum())
    found: dict[str, list[Any]] = {}
    for seed in SEEDS:
        for pattern, gone in patterns(record, X, seed):
            pair = None if pattern == "own" else judged(record, X, gone, doubted)
            if pair is not None:
                found.setdefault(pattern, []).append(pair)
    rows = [row_of(name, X.shape[1], flagged, pattern, pairs) for pattern, pairs in found.items()]
    if record.condition == "Ba_avg":
        return rows, {}, []
    return rows, *faults(record, X)


def row_of(name: str, nodes: int, flagged: float, pattern: str, pairs: list[Any]) -> Row:
    """One row: means over the seeds."""
    ratio = float(np.mean([real.method.mae / alike(real, said) for real, said in pairs]))
    return {
        "record": name,
        "nodes": nodes,
        "flagged": f"{flagged:.2f}",
        "pattern": pattern,
        "real/printed": f"{ratio:.2f}",
        "bar": "met" if LOW <= ratio <= HIGH else "missed",
        "held": f"{np.mean([real.covered for real, _ in pairs]):.2f}",
        "of line": f"{np.mean([real.method.mae / real.line.mae for real, _ in pairs]):.2f}",
    }


def faults(record: Any, X: Array) -> tuple[dict[str, list[float]], list[float]]:
    """Shares found of each kind, and of true readings flagged beside them, in percent."""
    shares: dict[str, list[float]] = {kind: [] for kind in KINDS}
    beside = []
    heard = np.isfinite(X)
    together = max(1, min(X.shape[1] // 4, len(KINDS)))
    for seed in SEEDS:
        rng = np.random.default_rng([seed, X.shape[1]])
        for first in range(0, len(KINDS), together):
            kinds = KINDS[first : first + together]
            Y, false = np.where(heard, X, np.nanmedian(X, axis=0)), np.zeros(X.shape, dtype=bool)
            nodes = [int(n) for n in rng.permutation(X.shape[1])[: len(kinds)]]
            for kind, node in zip(kinds, nodes, strict=True):
                break_one(rng, kind, [node], Y, false)
            Y = np.where(heard & (rng.random(X.shape) > 0.1), Y, np.nan)
            flags = np.isin(recovered(record, Y, holdout=False).flag, BAD)
            there = np.isfinite(Y)
            for kind, node in zip(kinds, nodes, strict=True):
                mine = there[:, node] & false[:, node] & (Y[:, node] != X[:, node])
                shares[kind].append(100 * float(flags[mine, node].mean()))
            beside.append(100 * float(flags[there & (Y == X)].mean()))
    return shares, beside


def main(words: list[str]) -> int:
    """All records, or those whose name contains a word."""
    names = [r.name for r in records() if not words or any(word in r.name for word in words)]
    rows: list[Row] = []
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    beside: list[float] = []
    warnings.simplefilter("ignore")
    with get_context("spawn").Pool(2) as pool:
        for mine, shares, true in pool.imap(work, names):
            rows += mine
            beside += true
            for kind, values in shares.items():
                found[kind] += values
            for row in mine:
                print(*row.values(), sep=" | ", flush=True)
    told = ", ".join(f"{kind} {np.mean(one):.0f} % of {len(one)}" for kind, one in found.items())
    met = sum(row["bar"] == "met" for row in rows)
    summary = (
        f"Bar of real/printed met in {met} of {len(rows)} cells. Found: {told}; of the true "
        f"readings beside them {np.mean(beside):.2f} % flagged, {np.max(beside):.2f} % at the most."
    )
    print(summary)
    if not words:
        write("elsewhere", rows, f"{__doc__}\n{summary}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
