"""Is the printed error true? ``make bench BENCH=honesty``.

Readings of real and simulated records are lost on purpose, `recover` gets the rest, and its printed
error is compared with the error at what was lost, which it never saw. Five patterns: ``random``
(40 %, one by one), ``bursts`` (25 %, in runs of 8 slots in the mean), ``offline`` (nodes silent for
6 to 72 h, as long as the record allows), ``own`` (the record's own loss, moved in time, for the
whole network at once; Redwood: what the radio really lost), ``outages`` (the whole network silent
for 1 to 12 h). Three seeds each.

``printed`` is what is printed by gap length, weighted as the lengths lost on purpose; ± is that of
the headline, which is for the record's own gaps too. ``real/printed``: mean of the three ratios of
mean absolute errors, and the lowest and highest of them. The bar is 0.80 to 1.25; what misses it is
marked. ``headline`` is the same over the headline: gaps of other lengths than were judged are in
it. ``within ±``: in how many of the three draws the real error lay within what was printed, the ±
of the headline taken as a share of it. ``held`` is the share of the lost readings inside the 90 %
interval, really and as printed. Errors at readings that a recovery of the whole record calls
suspect count with the same limit in both. ``line`` is real/printed of the straight line, which no
recovery touches: where it is off too, the lost stretches were harder or easier than the record's
usual ones. faultbench's injected faults are held against the values they
replaced, of all other records every reading is taken for true.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from multiprocessing import get_context
from typing import Any

import numpy as np

import accuracy_data as data
import fieldmend as fm
from fieldmend.flags import BAD
from fieldmend.holdout.scoring import Lost, Said, Witnesses, score
from fieldmend.result.holdout import Holdout
from honesty_data import Array, Record, records
from table import write

SEEDS = 3
LOW, HIGH = 0.8, 1.25
Row = dict[str, Any]


def patterns(record: Record, X: Array, seed: int) -> Iterator[tuple[str, Array]]:
    """Name → True where a reading is lost on purpose."""
    slots, nodes = X.shape
    heard = ~np.isnan(X)
    rng = np.random.default_rng([seed, 77])
    hour = max(record.slots_a_day / 24, 1.0)
    yield "random", heard & (rng.random(X.shape) < 0.4)
    seen = fm.simulate.observe(
        slots, nodes, loss="bursts", rate=0.25, mean_length=8.0, seed=int(rng.integers(1 << 30))
    )
    yield "bursts", heard & ~seen
    yield "offline", heard & _offline(slots, nodes, hour, rng)
    own = _own(record, X, rng)
    if own is not None:
        yield "own", heard & own
    quiet = np.zeros(slots, dtype=bool)
    lengths = [int(h * hour) for h in (1, 3, 6, 12) if h * hour <= slots / 20] or [1]
    while quiet.mean() < 0.12:
        length = int(rng.choice(lengths))
        start = int(rng.integers(1, slots - length))
        quiet[start : start + length] = True
    yield "outages", heard & quiet[:, None]


def _offline(slots: int, nodes: int, hour: float, rng: np.random.Generator) -> Array:
    """Each node silent once or twice for 6, 12, 24 or 72 h, of which a fifth of the record lets."""
    lengths = [int(h * hour) for h in (6, 12, 24, 72) if h * hour <= slots / 5] or [slots // 8]
    gone = np.zeros((slots, nodes), dtype=bool)
    for n in range(nodes):
        for _ in range(int(rng.integers(1, 3))):
            length = int(rng.choice(lengths))
            start = int(rng.integers(1, slots - length))
            gone[start : start + length, n] = True
    return gone


def _own(record: Record, X: Array, rng: np.random.Generator) -> Array | None:
    """The record's loss, moved in time until a twentieth of the readings is lost; None without."""
    if record.name.startswith("Redwood"):
        delivered = np.isfinite(data.redwood(record.condition)[1])
        return ~delivered[: len(X), : X.shape[1]]
    lost = np.isnan(X)
    life = np.maximum.accumulate(~lost) & np.maximum.accumulate(~lost[::-1])[::-1]
    lost &= life
    if lost.mean() < 0.002:
        return None
    out = np.zeros_like(lost)
    for _ in range(20):
        out |= np.roll(lost, int(rng.integers(1, len(X))), axis=0)
        if (out & ~np.isnan(X)).mean() >= 0.05:
            break
    return out


def recovered(record: Record, X: Array, **options: Any) -> Any:
    """All that `recover` does, on these readings."""
    grid = fm.Grid.of(
        X, condition=record.condition, unit=record.unit, slot_seconds=86400 / record.slots_a_day
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fm.recover(grid, **options)[record.condition]


def judged(record: Record, X: Array, gone: Array, doubted: Array) -> tuple[Holdout, Holdout] | None:
    """The error at what was lost on purpose, and the printed one."""
    Y = np.where(gone, np.nan, X)
    out = recovered(record, Y)
    given = gone & ~np.isnan(out.estimate)  # not where a node was not in service
    if out.holdout is None or not given.any():
        return None
    said = Said(out.estimate, out.lower, out.upper)
    known = X if record.truth is None else np.where(given, record.truth(), X)
    truth = np.where(gone & ~given, np.nan, known)
    seen = Witnesses.of(truth, given, np.isnan(X), said)
    real = score(seen, Lost.of(~np.isnan(Y), given), suspect=doubted[given])
    return None if real is None else (real, out.holdout)


def alike(real: Holdout, printed: Holdout, *, line: bool = False) -> float:
    """The printed error for such gaps as were lost on purpose.

    The headline is for all that was lost, the record's own gaps among it: where those are longer,
    it is larger. What is printed by gap length is weighted as the lengths lost on purpose.
    """
    said = {c.shortest: c.line_mae if line else c.mae for c in printed.classes if c.count}
    asked = {c.shortest: c.lost for c in real.classes if c.count and c.shortest in said}
    total = sum(asked.values())
    if not total:
        return float(printed.line.mae if line else printed.method.mae)
    return float(sum(share * said[c] for c, share in asked.items()) / total)


def within(found: list[tuple[Holdout, Holdout]]) -> Array:
    """Whether real errors lie as close to the printed ones as the printed ± says."""
    off = [abs(real.method.mae / alike(real, said) - 1) for real, said in found]
    return np.array(off) <= [said.sides / said.method.mae for _, said in found]


def row_of(name: str, pattern: str, found: list[tuple[Holdout, Holdout]]) -> Row:
    """One row: means over the seeds."""
    said = [alike(*pair) for pair in found]
    ratio = np.array([pair[0].method.mae / own for pair, own in zip(found, said, strict=True)])
    line = np.array([pair[0].line.mae / alike(*pair, line=True) for pair in found])
    real, printed = np.mean([pair[0].method.mae for pair in found]), np.mean(said)
    sides = np.mean([pair[1].sides for pair in found])
    held = [
        np.mean([pair[i].covered for pair in found if pair[i].covered is not None] or [np.nan])
        for i in (0, 1)
    ]
    mean = float(ratio.mean())
    return {
        "record": name,
        "pattern": pattern,
        "real": f"{real:.3g}",
        "printed": f"{printed:.3g} ± {sides:.2g}",
        "real/printed": f"{mean:.2f} ({ratio.min():.2f}–{ratio.max():.2f})",
        "headline": f"{np.mean([a.method.mae / b.method.mae for a, b in found]):.2f}",
        "within ±": f"{np.count_nonzero(within(found))} of {len(found)}",
        "bar": "met" if LOW <= mean <= HIGH else "missed",
        "line": f"{line.mean():.2f}",
        "held, real": f"{held[0]:.2f}",
        "held, printed": f"{held[1]:.2f}",
        "tested": f"{np.mean([pair[1].tested for pair in found]):.2f}",
    }


def work(name: str) -> tuple[dict[str, list[tuple[Holdout, Holdout]]], float]:
    """All patterns and seeds of a record, and the CPU they took."""
    start = time.process_time()
    record = next(r for r in records() if r.name == name)
    found: dict[str, list[tuple[Holdout, Holdout]]] = {}
    for seed in range(SEEDS):
        X = record.get(seed)
        doubted = np.isin(recovered(record, X, holdout=False).flag, BAD)
        for pattern, gone in patterns(record, X, seed):
            pair = judged(record, X, gone, doubted)
            if pair is not None:
                found.setdefault(pattern, []).append(pair)
    return found, time.process_time() - start


def by_class(found: list[tuple[str, Holdout, Holdout]]) -> list[str]:
    """Coverage by class of gap, really and printed, all records; outages apart."""
    lines = ["| gaps | pattern | hidden | held, real | held, printed | real/printed |",
             "| --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for shortest in (1, 4, 16, 64, 256):
        for silent in (False, True):
            rows = [
                (a, b)
                for pattern, real, printed in found
                for a in real.classes
                for b in printed.classes
                if (pattern == "outages") == silent
                and a.shortest == b.shortest == shortest
                and a.count >= 50 and b.count >= 50
                and a.covered is not None and b.covered is not None
            ]  # fmt: skip
            if not rows:
                continue
            total = sum(a.count for a, _ in rows)
            held = [np.mean([pair[i].covered for pair in rows]) for i in (0, 1)]
            ratio = np.exp(np.mean([np.log(a.mae / b.mae) for a, b in rows if a.mae and b.mae]))
            lines.append(
                f"| {rows[0][0].range} | {'outages' if silent else 'others'} | {total:,} | "
                f"{held[0]:.2f} | {held[1]:.2f} | {ratio:.2f} |"
            )
    return lines


def main(words: list[str]) -> int:
    """All records, or those whose name contains a word."""
    names = [r.name for r in records() if not words or any(word in r.name for word in words)]
    rows, classes, cpu = [], [], 0.0
    with get_context("spawn").Pool(2) as pool:
        for name, (found, seconds) in zip(names, pool.imap(work, names), strict=True):
            cpu += seconds
            for pattern, pairs in found.items():
                rows.append(row_of(name, pattern, pairs))
                classes += [(pattern, *pair) for pair in pairs]
                print(*rows[-1].values(), sep=" | ", flush=True)
    met = sum(row["bar"] == "met" for row in rows)
    ratios = {
        p: np.mean([float(r["real/printed"].split()[0]) for r in rows if r["pattern"] == p])
        for p in dict.fromkeys(r["pattern"] for r in rows)
    }
    means = ", ".join(f"{p} {r:.2f}" for p, r in ratios.items())
    held = [row["within ±"].split(" of ") for row in rows]
    share = sum(int(a) for a, _ in held) / sum(int(b) for _, b in held)
    summary = (
        f"Bar met in {met} of {len(rows)} cells. Mean of real/printed by pattern: {means}. "
        f"Real error within the printed ± in {share:.0%} of all draws. {cpu:.0f} s of CPU."
    )
    print(summary)
    text = [
        __doc__ or "",
        summary,
        "",
        "By class of gap, means over records:",
        "",
        *by_class(classes),
    ]
    print(*text[4:], sep="\n")
    if not words:
        write("honesty", rows, "\n".join(text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
