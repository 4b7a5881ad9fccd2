"""Many nodes: regions against the whole, and networks that only regions can recover.

Four simulated kinds, every node with a place: ``roads`` (detectors along corridors, jams that run
upstream, so what happens is local), ``weather`` (fields of some length over a plain), ``buildings``
(thirty nodes share three causes of their own and one with all) and ``one`` (six causes act on all
nodes wherever they are: nothing is local, and regions can only lose). 30 % of the readings are lost
one by one, a further tenth in runs of twelve. Errors are mean absolute ones against the truth at
what was lost, by `decompose(method="auto")`: of all nodes at once, by regions cut by place, and by
regions cut by likeness. The goal is a ratio of 1.03 at the most. ``--wide`` recovers networks of up
to 100,000 nodes instead, by `recover` with report and score: what it costs, and how far off it is.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from table import write

Made = tuple[np.ndarray, np.ndarray, np.ndarray]  # truth, readings, places
NODES, SLOTS, SEEDS = 700, 200, (11,)
LOST, RUN, IN_RUNS = 0.3, 12, 0.1
WIDE = ("2000x300", "20000x300", "100000x100")
ALL_AT_ONCE = 10**9


def wandering(rng: np.random.Generator, slots: int, count: int, phi: float) -> np.ndarray:
    """Autoregressions of unit variance."""
    steps = np.sqrt(1 - phi**2) * rng.standard_normal((slots, count))
    out = np.empty((slots, count))
    state = rng.standard_normal(count)
    for t in range(slots):
        state = phi * state + steps[t]
        out[t] = state
    return out


def roads(slots: int, nodes: int, rng: np.random.Generator) -> Made:
    """Speeds along corridors: rush hours for all of one, jams that begin somewhere and run back."""
    t = np.arange(slots)
    rush = np.exp(-((((t % 288) - 96) / 24) ** 2)) + 1.1 * np.exp(-((((t % 288) - 210) / 30) ** 2))
    truth, at = [], []
    for part in np.array_split(np.arange(nodes), max(4, nodes // 25)):
        angle, along = rng.uniform(0, 2 * np.pi), np.sort(rng.uniform(0, 20, len(part)))
        at.append(rng.uniform(0, 40, 2) + along[:, None] * [np.cos(angle), np.sin(angle)])
        v = rng.uniform(55, 70) + rng.normal(0, 2, len(part)) * np.ones((slots, 1))
        v = v - rush[:, None] * rng.uniform(0, 8) * rng.uniform(0.5, 1.5, len(part))
        for _ in range(slots // 48 + 1):
            since, lasts = t[:, None] - rng.integers(0, slots), rng.uniform(6, 40)
            middle = rng.uniform(0, 20) - 0.15 * since
            shape = np.exp(-(((along - middle) / rng.uniform(1, 5)) ** 2))
            height = np.sqrt(np.sin(np.pi * np.clip(since / lasts, 0, 1)))
            v = v - rng.uniform(10, 40) * shape * height
        truth.append(np.maximum(v, 5))
    field = np.hstack(truth)
    return field, field + rng.normal(0, 2, field.shape), np.vstack(at)


def weather(slots: int, nodes: int, rng: np.random.Generator) -> Made:
    """A day for all, fields of a length of 15 on a square whose side grows with the nodes."""
    side = 100 * max(1.0, np.sqrt(nodes / 2000))
    at, length = rng.uniform(0, side, (nodes, 2)), 15.0
    count = int(np.ceil(side / length)) + 2
    truth = 15 + 4 * np.sin(2 * np.pi * np.arange(slots) / 144)[:, None] * rng.uniform(
        0.7, 1.3, nodes
    )
    for x in range(count):
        for y in range(count):
            far = ((at - (np.array([x, y]) - 0.5) * length) ** 2).sum(axis=1)
            near = np.flatnonzero(far < (4 * length) ** 2)
            weight = np.exp(-far[near] / (2 * length**2)) / 1.77
            truth[:, near] += 2 * wandering(rng, slots, 1, 0.97) * weight
    truth += 0.3 * wandering(rng, slots, nodes, 0.9) + rng.normal(0, 1, nodes)
    return truth, truth + rng.normal(0, 0.2, truth.shape), at


def buildings(slots: int, nodes: int, rng: np.random.Generator) -> Made:
    """Thirty nodes a building."""
    count = max(2, nodes // 30)
    own = rng.integers(0, count, nodes)
    at = rng.uniform(0, 100, (count, 2))[own] + rng.normal(0, 0.5, (nodes, 2))
    causes = wandering(rng, slots, 3 * count, 0.97).reshape(slots, count, 3)
    truth = 21 + wandering(rng, slots, 1, 0.99) * rng.uniform(0.5, 1.5, nodes)
    truth += np.einsum("tnk,nk->tn", causes[:, own], rng.standard_normal((nodes, 3)))
    truth += 0.2 * wandering(rng, slots, nodes, 0.9)
    return truth, truth + rng.normal(0, 0.2, truth.shape), at


def one(slots: int, nodes: int, rng: np.random.Generator) -> Made:
    """Six causes of everything everywhere."""
    truth = 20 + wandering(rng, slots, 6, 0.95) @ rng.standard_normal((6, nodes))
    truth += 0.3 * wandering(rng, slots, nodes, 0.9)
    return truth, truth + rng.normal(0, 0.2, truth.shape), rng.uniform(0, 1, (nodes, 2))


KINDS: dict[str, Callable[..., Made]] = {
    "roads": roads,
    "weather": weather,
    "buildings": buildings,
    "one": one,
}


def lost(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Single readings and runs."""
    gone = rng.random(shape) < LOST
    count = int(IN_RUNS * gone.size / RUN)
    starts, nodes = rng.integers(0, shape[0] - RUN, count), rng.integers(0, shape[1], count)
    for k in range(RUN):
        gone[starts + k, nodes] = True
    return gone


def compared(kind: str, seed: int) -> dict[str, object]:
    """One kind, three ways."""
    import fieldmend as fm
    from fieldmend import automatic

    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    truth, X, at = KINDS[kind](SLOTS, NODES, rng)
    gone = lost(X.shape, rng)
    X = np.where(gone, np.nan, X)
    error, seconds = {}, {}
    for way, limit, places in (
        ("whole", ALL_AT_ONCE, None),
        ("by place", 0, at),
        ("by likeness", 0, None),
    ):
        automatic.MANY = automatic.UNPLACED = limit
        start = time.process_time()
        out = fm.decompose(X, method="auto", places=places)
        seconds[way] = time.process_time() - start
        error[way] = float(np.abs(out.estimate - truth)[gone].mean())
    return {
        "kind": kind,
        "nodes": NODES,
        "slots": SLOTS,
        "whole": f"{error['whole']:.4f}",
        **{f"{w} ÷ whole": f"{error[w] / error['whole']:.3f}" for w in list(error)[1:]},
        "CPU s": " · ".join(f"{s:.0f}" for s in seconds.values()),
    }


def wide(nodes: int, slots: int) -> dict[str, object]:
    """Weather of many nodes, by `recover` with score and report."""
    import fieldmend as fm

    rng = np.random.default_rng(7)
    truth, X, at = weather(slots, nodes, rng)
    gone = lost(X.shape, rng)
    X[gone] = np.nan
    grid = fm.Grid.of(X, condition="temperature", unit="°C")
    places = {n: {"x": 1e3 * x, "y": 1e3 * y} for n, (x, y) in zip(grid.nodes, at, strict=True)}
    start = os.times()
    rec = fm.recover(replace(grid, places=places))
    with tempfile.TemporaryDirectory() as folder:
        rec.report(f"{folder}/report.html")
        size = os.path.getsize(f"{folder}/report.html")
    cpu = sum(os.times()[:4]) - sum(start[:4])
    found = rec["temperature"]
    given = gone & np.isfinite(found.estimate)
    self, others = (resource.getrusage(who).ru_maxrss for who in (0, resource.RUSAGE_CHILDREN))
    assert found.holdout is not None
    return {
        "nodes": nodes,
        "slots": slots,
        "CPU s": f"{cpu:.0f}",
        "µs an entry": f"{1e6 * cpu / X.size:.0f}",
        "seconds": f"{os.times().elapsed - start.elapsed:.0f}",
        "peak GB": f"{self / 1e6:.1f} + {others / 1e6:.1f}",
        "error": f"{np.abs(found.estimate - truth)[given].mean():.3f}",
        "printed": f"{found.holdout.method.mae:.3f}",
        "line": f"{found.holdout.line.mae:.3f}",
        "report MB": f"{size / 1e6:.1f}",
    }


def main(words: list[str]) -> None:
    if words[:1] == ["--one"]:
        print(json.dumps(wide(int(words[1]), int(words[2]))))
        return
    rows = []
    if words[:1] == ["--wide"]:
        for shape in words[1:] or WIDE:
            command = [sys.executable, __file__, "--one", *shape.split("x")]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            rows.append(json.loads(said))
            print(rows[-1], flush=True)
            write("wide", rows, __doc__ or "")
        return
    for kind in words or KINDS:
        for seed in SEEDS:
            rows.append(compared(kind, seed))
            print(rows[-1], flush=True)
            write("regions", rows, __doc__ or "")


if __name__ == "__main__":
    main(sys.argv[1:])
