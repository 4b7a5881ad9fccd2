"""Which readings are lost: draws of `simulate.observe`, hours offline, silences, a real radio."""

from __future__ import annotations

import numpy as np

import accuracy_data as data
from fieldmend.simulate import observe

UNIFORM = {"uniform p=.5": 0.5, "uniform p=.1": 0.1}
OFFLINE = {"offline 24 h": 24}
# Only where the oracle is the measure: the rates between.
BETWEEN = {"uniform p=.9": 0.9, "uniform p=.7": 0.7, "uniform p=.3": 0.3, "uniform p=.2": 0.2}
SILENT = {"network silent 12 h": 12}
LOSSES = (*UNIFORM, *OFFLINE, *SILENT, "radio")
SHARE_OFFLINE, SHARE_SILENT = 0.2, 0.12
SEED = 11


def fits(loss: str, days: float) -> bool:
    """Can the record tell? An outage needs two thirds of its own length beside it."""
    return (OFFLINE | SILENT).get(loss, 0) / 24 * 5 / 3 <= days


def arrived(loss: str, slots: int, nodes: int, slots_a_day: int, draw: int = 0) -> data.BoolArray:
    """True where a reading arrives, slots × nodes; every draw has a seed of its own."""
    if loss in OFFLINE:
        return _offline(slots, nodes, OFFLINE[loss] * slots_a_day // 24, SEED + draw)
    if loss in SILENT:
        return _silent(slots, nodes, SILENT[loss] * slots_a_day // 24, SEED + draw)
    if loss == "radio":
        return _radio(slots, nodes)
    return observe(slots, nodes, rate=1 - (UNIFORM | BETWEEN)[loss], seed=SEED + draw)


def _silent(slots: int, nodes: int, length: int, seed: int) -> data.BoolArray:
    """The whole network silent for `length` slots, an eighth of all, and 5 % lost beside that."""
    rng = np.random.default_rng(seed)
    seen: data.BoolArray = rng.random((slots, nodes)) < 0.95
    for _ in range(max(2, round(SHARE_SILENT * slots / length))):
        first = int(rng.integers(1, slots - length))
        seen[first : first + length] = False
    return seen


def _offline(slots: int, nodes: int, length: int, seed: int) -> data.BoolArray:
    """Outages of exactly `length` slots, each node's apart from one another, a fifth of all.

    Every node's time is cut into pieces of that length from a start of its own; a piece is lost
    with probability 1/4 unless the one before it was, so that no two outages join: 1/5 are lost.
    """
    rng = np.random.default_rng(seed)
    chance = SHARE_OFFLINE / (1 - SHARE_OFFLINE)
    seen = np.ones((slots, nodes), dtype=bool)
    for node in range(nodes):
        first = int(rng.integers(min(length, slots - length) + 1))
        pieces = (slots - first) // length
        lost = rng.random(pieces) < chance
        for k in range(pieces):
            if lost[k] and (k == 0 or not lost[k - 1]):
                seen[first + k * length : first + (k + 1) * length, node] = False
            else:
                lost[k] = False
    return seen


def _radio(slots: int, nodes: int) -> data.BoolArray:
    """Redwood's radio: each node gets what one of the 19 motes got through, in another stretch.

    The stretches begin evenly over the 1500 slots and go on at the start where they reach the end.
    """
    heard = np.isfinite(data.redwood("temperature")[1])
    length, motes = heard.shape
    turns = -(-nodes // motes)
    starts = np.linspace(0, max(length - slots, 0), turns).astype(int)
    slot = np.arange(slots)
    columns = [heard[(starts[n // motes] + slot) % length, n % motes] for n in range(nodes)]
    return np.column_stack(columns)
