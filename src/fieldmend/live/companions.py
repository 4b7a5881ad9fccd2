"""What a node's companions imply for it, and how far off it usually is: for drifts, in hours.

A filter follows a node that drifts slowly, and the batch rules want most of a day. Here each node
is regressed on the twenty that vary most like it, over days on which it was sound; how strongly,
the days that were left out decide. A drift is a distance of over twice the largest that was held
for three slots on days left out, grown to that for an hour: a node's own days say what is much.
Twice, because a new day may exceed the largest of the days before; benchmarks/live_detection.py
counts how often it exceeds that by so much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from fieldmend.core.line import lines
from fieldmend.core.prox import Mask
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.flags import BAD
from fieldmend.grid import Array, Grid
from fieldmend.live import witnesses
from fieldmend.live.episodes import Sighting
from fieldmend.live.following import Said
from fieldmend.live.settings import DAY
from fieldmend.live.witnesses import Witness
from fieldmend.text import figure

MOST = 20  # companions
RIDGES = 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0
BLOCKS = 3  # parts of the record, each left out once; a day each at least
HELD = 3  # slots
BEYOND = 2.0  # times the largest
GROWN = 12  # readings over which it has come to that
FEWEST = 6  # nodes
AGREES = 0.5  # of its own distance that another condition is off by, each in its limits
MANY = 0.08  # of the nodes (three at least) that are off with it: so many do not drift at once
MOST_FALSE = 12  # companions in a slot that were not known before


@dataclass(frozen=True)
class Implied:
    """One condition: each node from its companions."""

    mean: Array
    which: Array  # nodes × companions
    weight: Array
    limit: Array

    def off(self, y: Array) -> Array:
        """How far each node is from what its companions imply."""
        z = y - self.mean
        out: Array = z - (self.weight * z[self.which]).sum(axis=1)
        return out

    def soundly(self, y: Array, known: Mask) -> Array:
        """The same, false companions (`known`, and who is off by far) taken for what is implied.

        They must not make others false. One after the other, the farthest off first: it is less
        off than what it does to its companions.
        """
        false = known.copy()
        for _ in range(min(MOST_FALSE, len(y) // 4) + 1):
            sound = self._without(y, false)
            off = self.off(sound)
            ratio = np.where(false, 0.0, np.abs(off) / self.limit)
            most = int(np.argmax(ratio))
            if not ratio[most] > 0.5:
                break
            false[most] = True
        sound = self._without(y, false)
        out: Array = np.where(false, y - sound, self.off(sound))
        return out

    def common(self, off: Array, known: Mask) -> Array:
        """1 where a node is off alone; more where many others, half as much or more, are too.

        A drift is one node's. Where many are off, days are new, and what is implied is not so.
        """
        ratio = np.where(known, 0.0, np.abs(off) / self.limit)
        many = max(3, int(MANY * len(ratio)))
        first = np.sort(ratio)[::-1]
        others = np.where(ratio >= first[many - 1], first[many], first[many - 1])
        out: Array = np.maximum(1.0, 2.0 * others)
        return out

    def _without(self, y: Array, false: Mask) -> Array:
        """Readings, the false ones replaced by what the others imply, all at once."""
        which = np.flatnonzero(false)
        if not len(which):
            return y
        z = np.where(false, 0.0, y - self.mean)
        place = np.full(len(y), -1)
        place[which] = np.arange(len(which))
        A, among = np.eye(len(which)), place[self.which[which]]
        row, column = np.nonzero(among >= 0)
        np.subtract.at(A, (row, among[row, column]), self.weight[which][row, column])
        implied = (self.weight[which] * z[self.which[which]]).sum(axis=1)
        out = y.copy()
        out[which] = self.mean[which] + np.linalg.lstsq(A, implied, rcond=1e-6)[0]
        return out


@dataclass(frozen=True)
class Companions:
    """All conditions that could be fitted."""

    nodes: tuple[str, ...] = ()
    parts: Mapping[str, Implied] = field(default_factory=dict)
    witnesses: Mapping[str, Witness] = field(default_factory=dict)  # for odd readings

    @classmethod
    def fit(cls, grid: Grid, model: FieldModel | None = None) -> Companions:
        """From a record and the model that follows it; for drifts, of two days at least."""
        blocks = min(BLOCKS, len(grid.times) * grid.slot // DAY)
        parts = {}
        if blocks >= 2:
            for name, X in grid.values.items():
                if model is not None and name in model.conditions:
                    if not witnesses.judged(model[name].quantity):
                        continue
                found = _fitted(np.asarray(X, np.float64), int(blocks))
                if found is not None:
                    parts[name] = found
        return cls(tuple(grid.nodes), parts, {} if model is None else witnesses.fit(model, grid))

    def save(self, path: Path) -> None:
        """Into a file of NumPy's."""
        arrays = {"nodes": np.array(self.nodes, dtype=np.str_)}
        for k, (name, part) in enumerate(self.parts.items()):
            arrays[f"name{k}"] = np.array(name)
            arrays |= {f"{what}{k}": getattr(part, what) for what in Implied.__annotations__}
        arrays |= witnesses.as_arrays(self.witnesses)
        np.savez(path, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> Companions:
        """From a file; nothing if it is not there."""
        if not path.exists():
            return cls()
        with np.load(path, allow_pickle=False) as found:
            names = [key for key in found if key.startswith("name")]
            parts = {
                str(found[key]): Implied(
                    **{what: found[f"{what}{key[4:]}"] for what in Implied.__annotations__}
                )
                for key in names
            }
            return cls(tuple(found["nodes"].tolist()), parts, witnesses.from_arrays(found))


def _fitted(X: Array, blocks: int) -> Implied | None:
    heard = np.isfinite(X)
    if X.shape[1] < FEWEST or heard.mean(axis=0).min() < 0.2:
        return None
    Z = lines(X.T, heard.T).T
    edges = np.linspace(0, len(Z), blocks + 1).round().astype(int)
    best: tuple[float, float, Array] | None = None
    for ridge in RIDGES:
        off = np.empty_like(Z)
        for low, high in pairwise(edges.tolist()):
            rest = np.vstack([Z[:low], Z[high:]])
            part = _regressed(rest, ridge)
            for t in range(low, high):
                off[t] = part.off(Z[t])
        error = float(np.mean(np.abs(off)))
        if best is None or error < best[0]:
            best = error, ridge, off
    assert best is not None
    _, ridge, off = best
    largest = _held(np.abs(off)).max(axis=0)
    limit = BEYOND * np.maximum(largest, 0.5 * np.median(largest))
    part = _regressed(Z, ridge)
    return Implied(part.mean, part.which, part.weight, limit)


def _regressed(Z: Array, ridge: float) -> Implied:
    mean = Z.mean(axis=0)
    C = np.cov(Z.T)
    scale = np.sqrt(np.maximum(np.diag(C), 1e-12))
    alike = np.abs(C / np.outer(scale, scale))
    np.fill_diagonal(alike, -1.0)
    which = np.argsort(-alike, axis=1, kind="stable")[:, : min(MOST, len(C) - 1)]
    weight = np.empty(which.shape)
    for n, mine in enumerate(which):
        A = C[np.ix_(mine, mine)] + ridge * np.diag(np.maximum(np.diag(C)[mine], 1e-12))
        weight[n] = np.linalg.solve(A, C[mine, n])
    return Implied(mean, which, weight, np.full(len(C), np.inf))


def _held(distance: Array) -> Array:
    """The least of each slot and those before it."""
    out = distance.copy()
    for back in range(1, HELD):
        out[back:] = np.minimum(out[back:], distance[:-back])
    return out[HELD - 1 :]


class Drifts:
    """Watches distances slot by slot."""

    def __init__(self, companions: Companions) -> None:
        self.companions = companions
        self._past: dict[str, list[list[tuple[int, float]]]] = {}
        self._now: list[Sighting] = []
        self._ratio: dict[str, dict[int, float]] = {}  # condition → node → off, in limits
        self._names: dict[int, str] = {}

    def hear(
        self,
        said: Mapping[str, Said],
        nodes: tuple[str, ...],
        time: int,
        ids: Mapping[str, int],
        aside: set[int],
    ) -> None:
        """One slot. `aside`: ids of nodes whose own fault is known."""
        place = {name: k for k, name in enumerate(nodes)}
        columns = np.array([place.get(name, -1) for name in self.companions.nodes], np.intp)
        self._now, self._ratio = [], {}
        self._names = {number: name for name, number in ids.items()}
        if not columns.size or columns.min() < 0:
            return
        for name, part in self.companions.parts.items():
            if name in said and name in ids:
                self._now += self._one(name, part, said[name], columns, time, ids[name], aside)

    def sightings(self) -> list[Sighting]:
        """What drifts in the newest slot."""
        return [one for one in self._now if self.may_be(one)]

    def may_be(self, one: Sighting) -> bool:
        """Whether what companions imply speaks for a drift, wherever it was seen.

        Not where the node is no farther off than on its other days, nor where its other condition
        is off with it, as when a place grows warm and dry: then the place has changed.
        """
        name = self._names.get(one.condition, "")
        if one.kind != "drift" or name not in self._ratio:
            return True
        mine = self._ratio[name].get(one.node, 0.0)
        witness = self.companions.witnesses.get(name)
        other = 0.0
        if witness is not None and witness.other in self._ratio:
            other = witness.side * self._ratio[witness.other].get(one.node, 0.0) * np.sign(mine)
        return abs(mine) > 1.0 / BEYOND and other < AGREES * abs(mine)

    def _one(  # noqa: PLR0917 - what a slot is made of
        self,
        name: str,
        part: Implied,
        said: Said,
        columns: Array,
        time: int,
        condition: int,
        aside: set[int],
    ) -> Iterator[Sighting]:
        y, estimate, flag = said.observed[columns], said.estimate[columns], said.flag[columns]
        filled = np.where(np.isfinite(y), y, estimate)
        if not np.isfinite(filled).all():
            return
        known = np.array([k + 1 in aside for k in columns.tolist()])
        off = part.soundly(filled, known)
        alone = off / part.common(off, known)
        self._ratio[name] = dict(
            zip((columns + 1).tolist(), (alone / part.limit).tolist(), strict=True)
        )
        past = self._past.setdefault(name, [[] for _ in columns])
        for k in np.flatnonzero(np.isfinite(y)).tolist():
            past[k] = [*past[k], (time, float(alone[k]))][-GROWN:]
            if flag[k] in BAD or not _drifts(past[k], float(part.limit[k])):
                continue
            side = "above" if off[k] > 0 else "below"
            most = figure(float(part.limit[k]) / BEYOND)
            text = (
                f"{figure(abs(float(off[k])))} {side} what its companions imply, and growing; on "
                f"other days it was never off by more than {most}"
            )
            implied = float(y[k] - off[k])
            yield Sighting(
                "lasting", int(columns[k]) + 1, condition, "drift", past[k][0][0], text,
                value=float(y[k]), expected=implied,
                score=abs(float(off[k])) / max(float(part.limit[k]), 1e-12),
            )  # fmt: skip


def _drifts(past: list[tuple[int, float]], limit: float) -> bool:
    """Beyond the limit for three slots, and on that side of half of it for an hour."""
    if len(past) < GROWN:
        return False
    off = np.array([one[1] for one in past]) * np.sign(past[-1][1])
    return bool((off[-HELD:] > limit).all() and (off > limit / 2).all())
