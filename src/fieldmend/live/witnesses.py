"""Who speaks for an odd reading: the node's other conditions, and the nodes most like it.

When a slot is over, the first reading after a door was opened is as odd as a false one. But a false
reading is alone: a place that grew warm grew dry as well, and so did its neighbours'. What a
witness explains is taken off a reading's score, and the gate is what one reading in ten thousand
of the replayed past has left. So who is worth hearing, and where the gate is, the past decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.prox import Mask
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.filter import GATE
from fieldmend.field.fitted import FittedField
from fieldmend.field.online import rare, scored
from fieldmend.grid import Array, Grid

NEAR = 10  # nodes most like it
SPEAK = 2  # of them: with the node itself they are three, which is an event
ODD = 4.5  # scores from which on they speak
FAR = 2.0  # times the score: another condition that is off by more has a fault of its own
SURE = 1.28  # standard errors: nine times in ten a gate is no less than it should be
FEWEST = 2000  # readings of the past


@dataclass(frozen=True)
class Witness:
    """One condition: who is heard for its readings, and the gates."""

    near: Array  # nodes × NEAR
    alone: float  # gate where the other condition is not heard
    gate: float  # where it is
    other: str = ""  # a condition of the same node; "": none
    side: float = 1.0  # ±1: whether it goes up, or down, with this one
    usual: float = np.nan  # the score that an interval's share of readings stays below

    def gates(self, other: Array) -> Array:
        """One for each node, by whether its other condition is heard."""
        return np.where(np.isfinite(other), self.gate, self.alone)

    def left(self, score: Array, other: Array, nodes: Array) -> Array:
        """What nobody explains of some nodes' signed scores in a slot, without a sign."""
        own = _own(score[nodes], self.side * other[nodes])
        return own / _beside(score, self.near[nodes])


def _left(score: Array, other: Array, near: Array) -> Array:
    """The same of all slots × nodes; `other` up where this condition is up."""
    out: Array = _own(score, other) / _beside(score, near)
    return out


def _own(score: Array, other: Array) -> Array:
    """What the other condition leaves of a score."""
    score, other = np.nan_to_num(score), np.nan_to_num(other)
    size, rest = np.abs(score), score - other
    left = np.where(np.sign(rest) == np.sign(score), np.minimum(size, np.abs(rest)), 0.0)
    return np.where(np.abs(other) > FAR * size, size, left)


def _beside(score: Array, near: Array) -> Array:
    """1 where a reading is odd alone; more, the odder the nodes like it are."""
    if near.shape[1] < SPEAK:
        return np.ones(1)
    size = np.abs(np.nan_to_num(score))[..., near]
    second = np.partition(size, near.shape[1] - SPEAK, axis=-1)[..., -SPEAK]
    out: Array = np.maximum(1.0, second / ODD)
    return out


def fit(model: FieldModel, grid: Grid) -> dict[str, Witness]:
    """From the newest slots of a record, by condition; nothing where that is too little."""
    grid = matched(model, grid)
    found = {}
    for name, X in grid.values.items():
        if np.isfinite(X).sum() >= FEWEST:
            part = model[name]
            first = model.first_slot(part, grid)
            found[name] = scored(part, X, np.isfinite(X), first=first)
    out = {}
    for name, mine in found.items():
        near, good = nearest(model[name]), mine.good
        nothing = np.zeros(mine.score.shape)
        alone = max(GATE, rare(_left(mine.score, nothing, near)[good], sure=SURE))
        usual = float(np.quantile(np.abs(mine.score[good]), model[name].level))
        best = Witness(near, alone, alone, usual=usual)
        for other, its in found.items():
            if other == name:
                continue
            side = _side(mine.score, its.score, good)
            heard = good & np.isfinite(its.score)
            rest = _left(mine.score, side * its.score, near)[heard]
            gate = max(GATE, rare(rest, sure=SURE)) if heard.sum() >= FEWEST else alone
            if gate < best.gate:
                best = Witness(near, alone, gate, other, side, usual)
        out[name] = best
    return out


def _side(score: Array, other: Array, good: Mask) -> float:
    both = good & np.isfinite(other)
    product = np.clip(score[both], -GATE, GATE) * np.clip(other[both], -GATE, GATE)
    return 1.0 if product.sum() >= 0 else -1.0


def nearest(part: FittedField) -> Array:
    """Of each node those whose loadings point its way, nodes × NEAR."""
    loadings = part.field.loadings[part.view.back]
    unit = loadings / np.maximum(np.linalg.norm(loadings, axis=1, keepdims=True), 1e-12)
    count = min(NEAR, len(unit) - 1)
    out = np.empty((len(unit), count), np.intp)
    for k in range(len(unit) if count else 0):
        alike = unit @ unit[k]
        alike[k] = -np.inf
        out[k] = np.argpartition(-alike, count - 1)[:count]
    return out


def matched(model: FieldModel, grid: Grid) -> Grid:
    """The model's conditions and nodes of a grid."""
    mine = {name: X for name, X in grid.values.items() if name in model.conditions}
    out: Grid = model.align(replace(grid, values=mine), new_nodes="own")
    known = len(model.nodes)
    return replace(
        out, nodes=model.nodes, values={name: X[:, :known] for name, X in out.values.items()}
    )


def as_arrays(witnesses: Mapping[str, Witness]) -> dict[str, Array]:
    """For a file of NumPy's."""
    out: dict[str, Array] = {}
    for k, (name, one) in enumerate(witnesses.items()):
        out[f"witness{k}"] = np.array([name, one.other])
        out[f"gates{k}"] = np.array([one.alone, one.gate, one.side, one.usual])
        out[f"near{k}"] = one.near
    return out


def from_arrays(found: Mapping[str, Array]) -> dict[str, Witness]:
    """What `as_arrays` wrote."""
    out = {}
    for key in found:
        if key.startswith("witness"):
            k = key.removeprefix("witness")
            name, other = found[key].tolist()
            alone, gate, side, usual = found[f"gates{k}"].tolist()
            out[name] = Witness(found[f"near{k}"], alone, gate, other, side, usual)
    return out
