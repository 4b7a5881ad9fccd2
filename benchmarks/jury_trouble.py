"""What befalls the networks of `jury`: readings get lost, and sensors fail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jury_networks import Array, Network, Rng

FAULTS = ("spikes", "stuck", "offset", "drift", "noise", "dead", "gain", "unit", "late", "swapped")
# What such a node reads is true, at another time or place.
HARD = ("late", "swapped")


@dataclass(frozen=True)
class Faulty:
    """Readings with faults, which of them are false, and by node what is wrong with it.

    `doubtful` are those that nobody could tell: the first quarter of a drift.
    """

    readings: Array
    false: Array
    doubtful: Array
    kinds: dict[int, str]


def lost(rng: Rng, network: Network) -> Array:
    """Single readings, bursts, nodes offline for up to a twelfth of the record, two outages."""
    slots, nodes = network.readings.shape
    gone = rng.random((slots, nodes)) < 0.05
    for n in range(nodes):
        for _ in range(slots // 250):
            start = int(rng.integers(slots))
            gone[start : start + int(rng.geometric(1 / 8)), n] = True
        if rng.random() < 0.7:
            start = int(rng.integers(slots))
            gone[start : start + int(rng.uniform(slots / 60, slots / 12)), n] = True
    for _ in range(2):
        start = int(rng.integers(slots // 10, 9 * slots // 10))
        gone[start : start + int(rng.integers(3, slots // 60 + 4))] = True
    return gone


def break_some(rng: Rng, network: Network, kinds: tuple[str, ...]) -> Faulty:
    """Each kind at a node of its own, two nodes for those that are swapped."""
    readings, false = network.readings.copy(), np.zeros(network.readings.shape, dtype=bool)
    order = [int(n) for n in rng.permutation(readings.shape[1])]
    found: dict[int, str] = {}
    for kind in kinds:
        mine = [order.pop() for _ in range(2 if kind == "swapped" else 1)]
        break_one(rng, kind, mine, readings, false)
        found |= dict.fromkeys(mine, kind)
    other = readings != network.readings
    return Faulty(readings, false & other, other & ~false, found)


def chosen(rng: Rng, nodes: int) -> tuple[str, ...]:
    """Which kinds a network of so many nodes has: never at more than a third of them."""
    count = max(1, min(nodes // 4, 6))
    kinds = [str(k) for k in rng.permutation(FAULTS) if k != "swapped" or nodes >= 8]
    return tuple(kinds[:count])


def break_one(rng: Rng, kind: str, nodes: list[int], X: Array, false: Array) -> None:
    slots, n = len(X), nodes[0]
    own = X[:, n]
    size = max(float(own.std()), 1e-9)
    length = int(slots * rng.uniform(0.1, 0.5))
    start = int(rng.integers(slots // 10, slots - length))
    part, side = slice(start, start + length), rng.choice([-1.0, 1.0])
    if kind == "spikes":
        some = min(20, slots // 15)
        at = rng.choice(slots, some, replace=False)
        own[at] += size * rng.uniform(8, 15, some) * rng.choice([-1.0, 1.0], some)
        false[at, n] = True
        return
    if kind == "stuck":
        own[part] = own[start]
    elif kind == "offset":
        own[part] += side * size * rng.uniform(3, 10)
    elif kind == "drift":
        own[start:] += side * np.linspace(0, 8 * size, slots - start)
        part = slice(start + (slots - start) // 4, slots)  # before it nobody could tell
    elif kind == "noise":
        own[part] += rng.normal(0, 5 * size, length)
    elif kind == "dead":
        part = slice(2 * slots // 3, slots)
        own[part] = rng.choice([float(own.min() - 10 * size), -999.0])
    elif kind == "gain":
        own[part] = np.median(own) + rng.uniform(3, 6) * (own[part] - np.median(own))
    elif kind == "unit":
        own[part] = own[part] * 1.8 + 32 if rng.random() < 0.5 else own[part] * 10
    elif kind == "late":
        own[:] = np.where(np.arange(slots) < start, own, np.roll(own, int(rng.integers(6, 20))))
        part = slice(start, slots)
    else:
        other = X[start:, nodes[1]].copy()
        X[start:, nodes[1]] = own[start:]
        own[start:] = other
        part = slice(start, slots)
        false[part, nodes[1]] = True
    false[part, n] = True
