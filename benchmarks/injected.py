"""Faults as de Bruijn et al. 2016 put them into IntelLab, put into networks of other kinds.

As faultbench has them: a stretch is a fortieth of the record (24 slots at least), four of fourteen
places hold one, and the first eighth of the record is sound. In standard deviations of the node:
``random``, 3 % of the readings 4 to 8 off; ``malfunction``, noise of 1.5 to 3; ``bias``, one value
2 to 5 off; ``drift``, an offset of 3 to 8 with noise of twice what the stretch varies by;
``polydrift``, a ramp from nothing to 5 to 10. What cannot be below zero goes up.

``few``: at a fifth of the nodes, each at places of its own. ``many``: at a third of them, at the
same places, which is what faultbench does. ``full`` and ``half``: all readings, and half of them at
random. F1 of `recover`'s flags and, beside it, of the slot median (`detection`), and what `recover`
flags of the true readings beside, in percent; means if there are seeds. ``goal``: F1 of .75 (random
.9), and no less than the slot median's; true readings flagged .5 % at the most, 2 % of traffic and
concentrations. A ramp's first readings are as good as true, and count as false.

``python benchmarks/injected.py wind,speed 5`` runs the networks so called, with seeds of one's own,
and stores nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np

import accuracy_data as data
import fieldmend as fm
from detection import Array, ours, scores, slot_median
from jury_networks import NETWORKS
from table import write

Rng = np.random.Generator
KINDS = ("random", "malfunction", "bias", "drift", "polydrift")
GOALS = {"random": 0.9}
GOAL, BESIDE, BESIDE_ROUGH = 0.75, 0.5, 2.0
SEEDS = (31, 32)
PLACES, HELD, SOUND = 14, 4, 8
NODES, SLOTS = 24, 1000


@dataclass(frozen=True)
class Net:
    """A network: how to get its sound readings, what they are, minutes a slot."""

    name: str
    column: str
    minutes: int
    get: Callable[[int], Array]  # of a seed; real ones do not look at it
    floor: bool = False  # never below zero
    rough: bool = False  # traffic and pollution


def networks() -> Iterator[Net]:
    """Simulated ones, and real ones where the files are."""
    for kind, column, rough in (("rush", "speed", True), ("fireworks", "pm25", True)):
        minutes = {"rush": 5, "fireworks": 60}[kind]
        yield Net(f"simulated {column}", column, minutes, partial(_happening, kind), True, rough)
    for kind in ("streets", "foehn"):
        one = NETWORKS[kind](np.random.default_rng(0))
        rough = kind == "streets"
        yield Net(kind, one.column, one.minutes, partial(_jury, kind), rough, rough)
    if not data.available():
        return
    for name, column in data.NDBC.items():
        wind = name == "wind"
        yield Net(f"NDBC {name}", column, 60, partial(_real, data.ndbc, name), wind)
    for what, column in data.MOLENE.items():
        wind = what in ("wind", "humidity")
        yield Net(f"Molène {what}", column, 60, partial(_real, data.molene, column), wind)
    yield Net("Redwood temperature", "temperature", 5, _redwood)
    yield Net("PM10", "pm10", 1440, partial(_real, data.pm10), True, True)


def _happening(kind: str, seed: int) -> Array:
    return fm.simulate.happening(kind, days=14 if kind == "fireworks" else 5, seed=seed).readings


def _jury(kind: str, seed: int) -> Array:
    return NETWORKS[kind](np.random.default_rng([seed, 99])).readings[:SLOTS, :NODES]


def _real(get: Callable[..., Array], *args: Any) -> Array:
    *names, _seed = args
    return get(*names)[:SLOTS, :NODES]


def _redwood(_seed: int) -> Array:
    return data.redwood("temperature")[0][:SLOTS]


def inject(rng: Rng, X: Array, kind: str, *, many: bool, floor: bool) -> tuple[Array, Array]:
    """Readings with faults of one kind, and which are false."""
    slots, nodes = X.shape
    out, false = X.copy(), np.zeros(X.shape, dtype=bool)
    size = np.nanstd(X, axis=0)
    size[~(size > 0)] = 1.0
    first, length = slots // SOUND, max(24, slots // 40)
    places = np.linspace(first, slots - length, PLACES).astype(int)
    who = rng.choice(nodes, max(2, nodes // 3 if many else nodes // 5), replace=False)
    for n in who:
        held = places[rng.permutation(PLACES)[:HELD]] if not many else places[2::3]
        if kind == "random":
            at = first + np.flatnonzero(rng.random(slots - first) < 0.03)
            sides = 1.0 if floor else rng.choice([-1.0, 1.0], at.size)
            out[at, n] += sides * size[n] * rng.uniform(4, 8, at.size)
            false[at, n] = True
            continue
        for start in held:
            part = slice(start, start + length), n
            side = 1.0 if floor else rng.choice([-1.0, 1.0])
            out[part] = _false(rng, kind, X[part], size[n], side)
            false[part] = True
    return out, false & ~np.isnan(X) & (out != X)


def _false(rng: Rng, kind: str, true: Array, size: float, side: float) -> Array:
    """What a faulty node makes of a stretch."""
    heard = true[~np.isnan(true)]
    varies = float(heard.std()) if heard.size else size
    noise = rng.standard_normal(true.size)
    if kind == "malfunction":
        return np.asarray(true + size * rng.uniform(1.5, 3) * noise)
    if kind == "bias":
        level = float(np.median(heard)) if heard.size else 0.0
        return np.where(np.isnan(true), np.nan, level + side * size * rng.uniform(2, 5))
    if kind == "drift":
        return np.asarray(true + side * size * rng.uniform(3, 8) + noise * 2 * varies)
    return np.asarray(true + side * size * rng.uniform(5, 10) * np.linspace(0, 1, true.size))


def judged(net: Net, kind: str, seed: int, *, many: bool, half: bool) -> tuple[float, ...]:
    """F1 of ours and of the slot median, and the share of true readings that ours flags."""
    rng = np.random.default_rng([seed, sum(map(ord, net.name + kind)), many])
    X, false = inject(rng, net.get(seed), kind, many=many, floor=net.floor)
    if half:
        gone = rng.random(X.shape) < 0.5
        X, false = np.where(gone, np.nan, X), false & ~gone
    slot = net.minutes * 60_000_000
    flags, plain = ours(X, slot, net.column), slot_median(X, slot)
    beside = 100 * float(flags[~false & ~np.isnan(X)].mean())
    return scores(flags, false)[2], scores(plain, false)[2], beside


def row(task: tuple[str, str, bool, bool, tuple[int, ...]]) -> dict[str, Any]:
    """One line of the table, in a process of its own."""
    name, kind, many, half, seeds = task
    net = next(one for one in networks() if one.name == name)
    each = [judged(net, kind, seed, many=many, half=half) for seed in seeds]
    ours_, plain, beside = np.mean(each, axis=0)
    least = max(GOALS.get(kind, GOAL), plain)
    most = BESIDE_ROUGH if net.rough else BESIDE
    missed = [w for w, bad in (("F1", ours_ < least), ("beside", beside > most)) if bad]
    return {
        "network": net.name,
        "fault": kind,
        "nodes": "many" if many else "few",
        "readings": "half" if half else "full",
        "F1": f"{ours_:.2f}",
        "slot median": f"{plain:.2f}",
        "beside": f"{beside:.2f}",
        "goal": f"{' and '.join(missed)} missed" if missed else "met",
    }


def main(words: list[str]) -> int:
    """All networks, or those whose names hold one of the first word's; seeds as a second."""
    names = words[0].split(",") if words else [""]
    seeds = tuple(map(int, words[1].split(","))) if len(words) > 1 else SEEDS
    if not data.available():
        print(f"no real data at {data.DATA}: simulated networks only", file=sys.stderr)
    called = [net.name for net in networks() if any(name in net.name for name in names)]
    both = (False, True)
    tasks = [(*task, seeds) for task in product(called, KINDS, both, both)]
    rows = []
    with get_context("spawn").Pool(2) as pool:
        for one in pool.imap(row, tasks):
            rows.append(one)
            print(*one.values(), sep=" | ", flush=True)
    if not words:
        write("injected", rows, __doc__ or "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
