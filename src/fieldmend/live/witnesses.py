"""Who speaks for an odd reading: the node's other conditions, and the nodes most like it.

When a slot is over, the first reading after a door was opened is as odd as a false one. But a false
reading is alone: a place that grew warm grew dry as well, and so did its neighbours'. What a
witness explains is taken off a reading's score, and the gate is what one reading in ten thousand
of the replayed past has left. So who is worth hearing, and where the gate is, the past decides.
Who was odd a moment ago is so again: where no other condition speaks, gates are higher while a node
is restless, and lower at other times.
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
LIKE = 0.5  # of its score: the other condition, or a node like it, so odd the same way, is enough
RARELY = 0.25  # of it, where the other condition is as odd as one of its readings in ten thousand
RECENT = 6.0  # slots after which half of a node's unrest is forgotten
MOST = 4.0  # score that counts for unrest: one false reading must not blind for long
SURE = 1.28  # standard errors: nine times in ten a gate is no less than it should be
FEWEST = 2000  # readings of the past


@dataclass(frozen=True)
class Witness:
    """One condition: who is heard for its readings, and the gates."""

    near: Array  # nodes × NEAR
    alone: float  # gate of a calm node where the other condition is not heard
    gate: float  # where it is
    other: str = ""  # a condition of the same node; "": none
    side: float = 1.0  # ±1: whether it goes up, or down, with this one
    usual: float = np.nan  # the score that an interval's share of readings stays below
    seldom: float = np.inf  # the score that one in ten thousand of the other's readings passes

    def gates(self, other: Array, unrest: Array) -> Array:
        """One for each node: by whether its other condition is heard, else by how calm it is."""
        by_itself = np.maximum(GATE, unrest * self.alone)
        return np.where(np.isfinite(other), self.gate, by_itself) if self.other else by_itself

    def left(self, score: Array, other: Array, nodes: Array) -> Array:
        """What nobody explains of some nodes' signed scores in a slot, without a sign."""
        own, its = score[nodes], self.side * other[nodes]
        return _left(own, its, score[self.near[nodes]], self.seldom)


def _left(score: Array, other: Array, near: Array, seldom: float) -> Array:
    """The same of any readings: `other` up where this condition is up, `near` along the last axis.

    Where its own other condition is heard, and calm, nodes like it that jump both ways are half a
    reason: else, where all of them do, nothing would be false.
    """
    beside = _beside(score, near)
    half = np.isfinite(other) & ~_together(score, near)
    out: Array = _own(score, other, seldom) / np.where(half, beside**0.5, beside)
    return out


def _together(score: Array, near: Array) -> Mask:
    """Whether nodes like it went the way it went, and hardly any the other."""
    if near.shape[-1] < SPEAK:
        return np.zeros(1, np.bool_)
    along = np.nan_to_num(near) * np.sign(np.nan_to_num(score))[..., None]
    ends = np.partition(along, (SPEAK - 1, near.shape[-1] - SPEAK), axis=-1)
    same, opposite = ends[..., -SPEAK], -ends[..., SPEAK - 1]
    out: Mask = (same >= LIKE * np.abs(score)) & (opposite < LIKE * same)
    return out


def _own(score: Array, other: Array, seldom: float) -> Array:
    """What the other condition leaves of a score: nothing, where it is odd the same way.

    Nobody far odder than the reading itself is heard: that is a fault of its own. But two that are
    seldom so odd, and are at once, are hardly two faults: they may differ by more.
    """
    score, other = np.nan_to_num(score), np.nan_to_num(other)
    size, rest, same = np.abs(score), score - other, other * np.sign(score)
    left = np.where(np.sign(rest) == np.sign(score), np.minimum(size, np.abs(rest)), 0.0)
    share = np.where(same >= seldom, RARELY, LIKE)
    left = np.where((same >= ODD) & (same >= share * size), 0.0, left)
    return np.where(share * np.abs(other) > size, size, left)


def _beside(score: Array, near: Array) -> Array:
    """1 where a reading is odd alone; more, the odder the nodes like it (last axis) are."""
    if near.shape[-1] < SPEAK:
        return np.ones(1)
    score, near = np.nan_to_num(score), np.nan_to_num(near)
    second = np.partition(np.abs(near), near.shape[-1] - SPEAK, axis=-1)[..., -SPEAK]
    along = (near * np.sign(score)[..., None]).max(axis=-1)
    speaks = np.where(along >= LIKE * np.abs(score), np.maximum(second, along), second)
    out: Array = np.maximum(1.0, speaks / ODD)
    return out


def unrest(before: Array | None, score: Array) -> Array:
    """How restless each node is after a slot: 1, or more, from its scores of late."""
    kept = 0.5 ** (1.0 / RECENT)
    now = np.ones(len(score)) if before is None else before
    new = np.minimum(np.abs(score), MOST) ** 2
    square = np.where(np.isfinite(score), kept * now**2 + (1.0 - kept) * new, now**2)
    return np.sqrt(np.maximum(square, 1.0))


def _unrest(score: Array) -> Array:
    """Before each slot, slots × nodes."""
    out = np.ones(score.shape)
    for t in range(1, len(score)):
        out[t] = unrest(out[t - 1], score[t - 1])
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
        nothing, restless = np.full(mine.score.shape, np.nan), _unrest(mine.score)
        beside = mine.score[:, near]
        left = _left(mine.score, nothing, beside, np.inf)
        alone = rare((left / restless)[good], sure=SURE)
        usual = float(np.quantile(np.abs(mine.score[good]), model[name].level))
        best = Witness(near, alone, alone, usual=usual)
        for other, its in found.items():
            if other == name:
                continue
            side = _side(mine.score, its.score, good)
            heard = good & np.isfinite(its.score)
            seldom = rare(np.abs(its.score[its.good & np.isfinite(its.score)]), sure=SURE)
            rest = _left(mine.score, side * its.score, beside, seldom)[heard]
            gate = max(GATE, rare(rest, sure=SURE)) if heard.sum() >= FEWEST else alone
            if gate < best.gate:
                best = Witness(near, alone, gate, other, side, usual, seldom)
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


def judged(quantity: Mapping[str, object] | None) -> bool:
    """Whether readings of what a model follows can be told to be false: rain's cannot."""
    return (quantity or {}).get("spikes", 1.0) != 0.0


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
        out[f"gates{k}"] = np.array([one.alone, one.gate, one.side, one.usual, one.seldom])
        out[f"near{k}"] = one.near
    return out


def from_arrays(found: Mapping[str, Array]) -> dict[str, Witness]:
    """What `as_arrays` wrote."""
    out = {}
    for key in found:
        if key.startswith("witness"):
            k = key.removeprefix("witness")
            name, other = found[key].tolist()
            alone, gate, *rest = found[f"gates{k}"].tolist()  # those of earlier versions are fewer
            out[name] = Witness(found[f"near{k}"], alone, gate, other, *rest)
    return out
