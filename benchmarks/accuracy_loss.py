"""Which readings are lost: draws of `simulate.observe`, exact hours offline, a real radio."""

from __future__ import annotations

import numpy as np

import accuracy_data as data
from fieldmend.simulate import observe

UNIFORM = {"uniform p=.9": 0.9, "uniform p=.5": 0.5, "uniform p=.2": 0.2, "uniform p=.1": 0.1}
OFFLINE = {f"offline {hours} h": hours for hours in (1, 6, 24, 72)}
# Only where the oracle is the measure: the rates between.
BETWEEN = {"uniform p=.7": 0.7, "uniform p=.3": 0.3}
LOSSES = (*UNIFORM, "bursts", *OFFLINE, "radio")
SHARE_OFFLINE = 0.2


def fits(loss: str, days: float) -> bool:
    """Can the record tell? An outage needs two thirds of its own length beside it."""
    if loss == "radio":
        return data.available()
    return OFFLINE.get(loss, 0) / 24 * 5 / 3 <= days


def arrived(loss: str, slots: int, nodes: int, slots_a_day: int) -> data.BoolArray:
    """True where a reading arrives, slots × nodes. Seeds are fixed."""
    if loss in OFFLINE:
        return _offline(slots, nodes, OFFLINE[loss] * slots_a_day // 24)
    if loss == "radio":
        return _radio(slots, nodes)
    if loss == "bursts":
        return observe(slots, nodes, loss="bursts", rate=0.3, mean_length=10.0, seed=11)
    return observe(slots, nodes, rate=1 - (UNIFORM | BETWEEN)[loss], seed=11)


def _offline(slots: int, nodes: int, length: int) -> data.BoolArray:
    """Outages of exactly `length` slots, each node's apart from one another, a fifth of all.

    Every node's time is cut into pieces of that length from a start of its own; a piece is lost
    with probability 1/4 unless the one before it was, so that no two outages join: 1/5 are lost.
    """
    rng = np.random.default_rng(11)
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
