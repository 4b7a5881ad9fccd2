"""The search for faults: what it finds, and every word it says, in small networks of all kinds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults.ranking import ranked, silences
from fieldmend.quantities import Kind, Quantity

MINUTES = 60_000_000
START = 1_078_358_400_000_000  # 4 March 2004


def labels(X, slot=30, **more):
    """Names, times and places on a crooked grid."""
    slots, nodes = X.shape
    names = tuple(f"n{k}" for k in range(nodes))
    at = np.random.default_rng(nodes).uniform(0, 100, (nodes, 2)).round(1).tolist()
    given = faults.Context(
        nodes=names, times=START + slot * MINUTES * np.arange(slots), slot=slot * MINUTES,
        places={name: {"x": x, "y": y} for name, (x, y) in zip(names, at, strict=True)},
        condition="temperature", unit="°C",
    )  # fmt: skip
    return replace(given, **more)


def judged(X, truth, about):
    """As a window of a recovery does it, with a field that is given."""
    found = faults.search(X, about)
    lasting = found.faults
    believed = np.where(lasting, np.nan, X)
    estimate = truth + 0.02 * np.sin(np.arange(truth.size)).reshape(truth.shape)
    jumped = faults.spikes(X, estimate, lasting)
    single = jumped & ~faults.daily(believed, jumped, about) & faults.jumping(believed, jumped)
    kept = faults.spared(X, single | lasting, about, found.gross)
    event = (found.events | kept) & ~lasting
    suspect = (single & ~event) | lasting
    episodes = faults.classify(X, estimate, suspect, about, persistent=lasting, event=event)
    items = ranked({about.condition: episodes}, X.shape[1], len(X))
    return {
        "lasting": lasting, "events": found.events, "gross": found.gross, "jumped": jumped,
        "spared": kept, "episodes": episodes,
        "first": [[item.kind.value, list(item.nodes), item.readings] for item in items],
        "silent": silences(~np.isnan(X)),
    }  # fmt: skip


def weather(slots, nodes, seed, noise=0.1):
    """A temperature-like field, and what nodes read of it; a twentieth is lost."""
    rng = np.random.default_rng(seed)
    truth = fm.simulate.climate_field(slots, nodes, seed=seed)
    X = truth + noise * rng.standard_normal(truth.shape)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, truth, rng


def broken():
    """Every kind of fault, one beside the other, and a battery that runs low."""
    X, truth, rng = weather(480, 14, seed=1)
    X[100:150, 0] = 21.5
    X[200:320, 1] += np.linspace(0, 8, 120)
    X[180:300, 2] += 6.0
    X[380:, 3] = np.minimum(X[380:, 3] + np.linspace(0, 80, 100), 90.0)
    X[150:230, 4] += rng.normal(0, 4, 80)
    X[[60, 170, 290], 5] += (9.0, -8.0, 40.0)
    X[200:204, 6] += 7.0
    X[260:275, 7] -= 5.0
    X[350:, 8] = np.nan
    X[250:260, 9:13] += 5.0
    volts = 2.7 + 0.02 * rng.standard_normal(X.shape)
    volts[360:, 3] -= np.linspace(0, 0.6, 120)
    damp = 50 - 2 * (truth - truth.mean()) + rng.normal(0, 0.5, X.shape)
    damp[170, 5] += 60.0
    about = labels(X, companions={"voltage": volts, "humidity": damp})
    return judged(X, truth, about)


def for_days():
    """Levels left for a third and half of ten days, unrest, and a slow drift."""
    X, truth, rng = weather(480, 12, seed=2)
    X[240:, 1] += 7.0
    X[:160, 4] -= 6.0
    X[160:330, 7] += np.linspace(0, 9, 170)
    X[320:, 9] += rng.normal(0, 6, 160)
    return judged(X, truth, labels(X))


def small():
    """Four nodes: one leaves, one repeats, one jumps."""
    X, truth, _ = weather(400, 4, seed=3)
    X[200:, 0] += 8.0
    X[50:120, 1] = X[50, 1] if np.isfinite(X[50, 1]) else 20.0
    X[[90, 300], 2] += (7.0, -30.0)
    return judged(X, truth, labels(X, places=None))


def two():
    """Two nodes, which can hardly judge each other."""
    X, truth, _ = weather(300, 2, seed=4)
    X[100:110, 0] += 6.0
    X[200, 1] += 12.0
    return judged(X, truth, labels(X))


def happened(kind, days, nodes, seed):
    """What really happens, with one false node in it."""
    net = fm.simulate.happening(kind, nodes, days, seed=seed)
    X = net.readings.copy()
    third = len(X) // 3
    X[third : third + 20, 2] += 4 * np.nanstd(X)
    names = [f"n{k}" for k in range(nodes)]
    places = {n: {"x": float(x), "y": float(y)} for n, (x, y) in zip(names, net.at, strict=True)}
    times = START + net.slot * np.arange(len(X))
    about = labels(X, nodes=names, places=places, slot=1, times=times, condition=kind, unit="")
    about = replace(about, slot=net.slot)
    truth = np.nanmedian(X, axis=1, keepdims=True) + np.nanmedian(
        X - np.nanmedian(X, axis=1, keepdims=True), axis=0
    )
    return judged(X, truth, about)


def habits():
    """Sun on one node every morning, another that is opened at the same hour."""
    X, truth, rng = weather(480, 9, seed=5)
    hour = np.arange(480) % 48
    X[(hour > 15) & (hour < 22), 3] += 5.0
    X[hour == 30, 6] += 6.0
    X[hour == 30, 7] += rng.normal(4, 1, 10)
    X[101, 6] += 9.0
    return judged(X, truth, labels(X))


def turning():
    """Wind directions, one vane stuck and one turned."""
    wind = fm.simulate.direction_field(360, 8, seed=6)
    X = wind.copy()
    X[100:160, 1] = 90.0
    X[200:300, 4] = (X[200:300, 4] + 120) % 360
    X[50, 2] = (X[50, 2] + 170) % 360
    about = Quantity(Kind.CIRCULAR, low=0.0, high=360.0, period=360.0)
    return judged(X, wind, labels(X, slot=60, condition="wind", unit="°", quantity=about))


def bounded():
    """Humidity that rests at 100, what cannot be, and readings of enormous size."""
    damp = fm.simulate.humidity_field(360, 8, seed=7)
    X = damp + 0.2 * np.random.default_rng(7).standard_normal(damp.shape)
    X = np.minimum(X, 100.0)
    X[120:200, 2] = 100.0
    X[250, 5] = 160.0
    X[300:304, 6] = 1e200
    about = Quantity(Kind.BOUNDED, low=0.0, high=100.0, possible=(-5.0, 110.0))
    return judged(X, damp, labels(X, slot=60, condition="humidity", unit="%", quantity=about))


def mixed(seed, nodes, slots, slot):
    """Faults of random kind, size and place; seeds choose."""
    X, truth, rng = weather(slots, nodes, seed)
    for n in rng.permutation(nodes)[: max(2, nodes // 3)]:
        a, length = rng.integers(0, slots - 40), rng.integers(1, 60)
        part = slice(a, min(a + length, slots))
        size = rng.choice([-1, 1]) * rng.uniform(2, 12)
        was, many = X[part, n], part.stop - part.start
        rough = rng.normal(0, abs(size), many)
        ways = (
            was + size,
            was + np.linspace(0, size, many),
            np.full(many, np.round(truth[a, n] + size / 4, 1)),
            was + rough,
            np.where(rough > abs(size), was + 2 * size, was),
        )
        X[part, n] = ways[rng.integers(len(ways))]
    about = labels(X, slot=max(slot, 1))
    return judged(X, truth, about if slot else faults.Context())


def together_for_long():
    """Most nodes jump at once and go back; a gateway is silent; two nodes are one."""
    X, truth, _ = weather(300, 8, seed=20)
    X[100:130, :6] += 6.0
    X[180:186, 2:5] += 4.0
    X[220:240] = np.nan
    X[:, 7] = X[:, 6]
    X[260:, 1] = np.round(X[260:, 1])
    return judged(X, truth, labels(X, slot=10))


CASES = {
    "every kind": broken,
    "for days": for_days,
    "four nodes": small,
    "two nodes": two,
    "rush hours": lambda: happened("rush", 3, 10, 8),
    "a front": lambda: happened("front", 4, 9, 9),
    "sun": lambda: happened("sun", 4, 9, 10),
    "habits": habits,
    "directions": turning,
    "at its bounds": bounded,
    "together": together_for_long,
    **{f"mixed {k}": partial(mixed, 30 + k, nodes, slots, slot)
       for k, (nodes, slots, slot) in enumerate(
           [(3, 200, 60), (6, 300, 30), (9, 300, 0), (12, 200, 10), (5, 700, 60), (20, 150, 15)])},
}  # fmt: skip
