"""Drifts, in hours: nodes that are off from what their companions imply, and more and more so.

A filter follows a node that drifts slowly, and the batch rules want most of a day. A drift here is
a distance of over some times the largest that was held for three slots in thirds of days left
out (`implied.py`), come to little by little: a node's own days say what is much, and what leaps
there (a door, the sun, a pump) is no drift. benchmarks/live_flags.py counts how often a sound node
is off by so much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.core.prox import Mask
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.flags import BAD
from fieldmend.grid import Array, Grid
from fieldmend.live import implied, witnesses
from fieldmend.live.episodes import Sighting
from fieldmend.live.following import Said
from fieldmend.live.growing import Past
from fieldmend.live.implied import Implied
from fieldmend.live.settings import DAY
from fieldmend.live.witnesses import Witness
from fieldmend.text import figure, shown

AGREES = 0.5  # of its own distance that another condition is off by, each in its limits
FIELDS = tuple(Implied.__annotations__)
Key = tuple[str, int, int]


@dataclass(frozen=True)
class Companions:
    """All conditions that could be fitted."""

    nodes: tuple[str, ...] = ()
    parts: Mapping[str, Implied] = field(default_factory=dict)
    witnesses: Mapping[str, Witness] = field(default_factory=dict)  # for odd readings

    @classmethod
    def fit(cls, grid: Grid, model: FieldModel | None = None) -> Companions:
        """From a record and the model that follows it; for drifts, of two days at least."""
        days = len(grid.times) * grid.slot // DAY
        parts = {}
        if days >= 2:
            parts = implied.fit(
                {
                    name: np.asarray(X, np.float64)
                    for name, X in grid.values.items()
                    if model is None
                    or name not in model.conditions
                    or witnesses.judged(model[name].quantity)
                },
                int(days),
                {} if model is None else {k: one.view.power for k, one in model.conditions.items()},
            )
        return cls(tuple(grid.nodes), parts, {} if model is None else witnesses.fit(model, grid))

    def save(self, path: Path) -> None:
        """Into a file of NumPy's."""
        arrays = {"nodes": np.array(self.nodes, dtype=np.str_)}
        for k, (name, part) in enumerate(self.parts.items()):
            arrays[f"name{k}"] = np.array(name)
            arrays |= {
                f"{what}{k}": getattr(part, what)
                for what in FIELDS
                if getattr(part, what) is not None
            }
        arrays |= witnesses.as_arrays(self.witnesses)
        np.savez(path, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> Companions:
        """From a file; nothing if it is not there."""
        if not path.exists():
            return cls()
        with np.load(path, allow_pickle=False) as found:
            parts = {
                str(found[key]): _part(found, key[4:]) for key in found if key.startswith("name")
            }
            return cls(tuple(found["nodes"].tolist()), parts, witnesses.from_arrays(found))


def _part(found: Mapping[str, Array], number: str) -> Implied:
    """One condition of a file; those of earlier versions know no other condition."""
    given: dict[str, Any] = {
        what: found[f"{what}{number}"] for what in FIELDS if f"{what}{number}" in found
    }
    return Implied(**{**given, "other": str(given.get("other", ""))})


class Drifts:
    """Watches distances slot by slot."""

    def __init__(self, companions: Companions) -> None:
        self.companions = companions
        self._past: dict[str, Past] = {}
        self._row: dict[Key, int] = {}  # slots in a row that it was seen in, up to the newest
        self._seen: dict[Key, Sighting] = {}  # since somebody asked
        # Condition → what is left of how far off nodes are, and all of it, in their limits.
        self._ratio: dict[str, tuple[Array, Array]] = {}
        self._names: dict[int, str] = {}
        self._nodes: tuple[str, ...] = ()
        self._columns = np.zeros(0, np.intp)  # where the model's nodes stand among those
        self._place: dict[int, int] = {}  # of a node, by its id, among the model's

    def hear(
        self,
        said: Mapping[str, Said],
        nodes: tuple[str, ...],
        time: int,
        ids: Mapping[str, int],
        aside: set[int],
    ) -> None:
        """One slot. `aside`: ids of nodes whose own fault is known."""
        columns = self._match(nodes)
        self._ratio = {}
        self._names = {number: name for name, number in ids.items()}
        if not columns.size or columns.min() < 0:
            self._row = {}
            return
        off, found = {}, list[Sighting]()
        for name, part in self.companions.parts.items():
            if name in said and name in ids:
                now = _Slot.of(part, said[name], columns, aside)
                if now is not None:
                    off[name] = now
        for name, now in off.items():
            other = off.get(now.part.other)
            now.take_off(None if other is None else other.off)
            self._ratio[name] = now.ratio, now.alone / now.part.limit
            found += self._far(name, now, columns, time, condition=ids[name], aside=aside)
        self._remember(one for one in found if self.may_be(one))

    def _match(self, nodes: tuple[str, ...]) -> Array:
        """Where the model's nodes stand among the journal's (ids count from 1); −1: nowhere."""
        if nodes != self._nodes:
            place = {name: k for k, name in enumerate(nodes)}
            found = [place.get(name, -1) for name in self.companions.nodes]
            self._nodes, self._columns = nodes, np.array(found, np.intp)
            self._place = {k + 1: at for at, k in enumerate(found)}
        return self._columns

    def _off(self, name: str, node: int) -> tuple[float, float]:
        """Of one node in the newest slot: what is left of how far off it is, and all of it."""
        at = self._place.get(node)
        if at is None:
            return 0.0, 0.0
        left, every = self._ratio[name]
        return float(left[at]), float(every[at])

    def _remember(self, found: Iterable[Sighting]) -> None:
        """For who asks: a drift may show at one time of day, and he come at another."""
        now = {one.key: one for one in found}
        self._row = {key: self._row.get(key, 0) + 1 for key in now}
        for key, one in now.items():
            before = self._seen.get(key)
            if before is None or self._row[key] >= before.times:
                self._seen[key] = replace(one, times=self._row[key])

    def news(self) -> list[Sighting]:
        """What drifted in the slots since this was last asked, and in how many in a row."""
        out = list(self._seen.values())
        self._row, self._seen = {}, {}
        return out

    def may_be(self, one: Sighting) -> bool:
        """Whether what companions imply speaks for a drift, wherever it was seen.

        Not where the node is no farther off than on its other days, nor where its other condition
        is off with it, as when a place grows warm and dry: then the place has changed.
        """
        name = self._names.get(one.condition, "")
        if one.kind != "drift" or name not in self._ratio:
            return True
        left, mine = self._off(name, one.node)
        witness = self.companions.witnesses.get(name)
        other = 0.0
        if witness is not None and witness.other in self._ratio:
            its = self._off(witness.other, one.node)[1]
            other = witness.side * its * np.sign(mine)
        largest = 1.0 / float(self.companions.parts[name].times)
        return abs(left) > largest and other < AGREES * abs(mine)

    def _far(
        self, name: str, now: _Slot, columns: Array, time: int, *, condition: int, aside: set[int]
    ) -> Iterator[Sighting]:
        past = self._past.setdefault(name, Past.of(len(columns)))
        by = (
            f"companions and its {shown(now.part.other)} imply" if now.heard else "companions imply"
        )
        past.hear(np.isfinite(now.y), now.ratio, now.left / now.limit, time)
        far = np.isfinite(now.y) & (np.abs(now.ratio) > 1.0) & ~np.isin(now.flag, BAD)
        for k in np.flatnonzero(far).tolist():
            # Whose drift is known has not come back because it no longer grows.
            since = past.drifts_since(k, known=int(columns[k]) + 1 in aside)
            if since is None:
                continue
            expected, largest = now.expected(k)
            off = float(now.y[k]) - expected
            text = (
                f"{figure(abs(off))} {'above' if off > 0 else 'below'} what its {by}, and growing; "
                f"on other days, as calm as now, it was never off by more than {figure(largest)}"
            )
            yield Sighting(
                "lasting", int(columns[k]) + 1, condition, "drift", since, text,
                value=float(now.y[k]), expected=expected, score=float(abs(now.ratio[k])),
            )  # fmt: skip


@dataclass
class _Slot:
    """One condition in one slot: how far off nodes are, all of it and what nobody explains."""

    part: Implied
    y: Array
    flag: Array
    off: Array
    restless: float
    apart: Mask  # who is off without those most like it
    left: Array
    limit: Array
    heard: bool = False  # its other condition is

    @classmethod
    def of(cls, part: Implied, said: Said, columns: Array, aside: set[int]) -> _Slot | None:
        """None while not every node has a reading or an estimate."""
        y, estimate, flag = said.observed[columns], said.estimate[columns], said.flag[columns]
        filled = np.where(np.isfinite(y), y, estimate)
        if not np.isfinite(filled).all():
            return None
        known = np.isin(columns + 1, list(aside))
        off, restless, apart = part.judged(part.scale.forward(filled), known)
        return cls(part, y, flag, off, restless, apart, off, part.limit)

    def take_off(self, other: Array | None) -> None:
        """What the other condition tells."""
        self.heard = other is not None and bool(self.part.other)
        left, limit = self.part.left(self.off, other)
        self.left, self.limit = left, limit

    def expected(self, node: int) -> tuple[float, float]:
        """What is implied of a node, and by how much it was off at most, as calm as now."""
        scale, left = self.part.scale, float(self.left[node])
        most = float(self.restless * self.limit[node] / self.part.times)
        less: Array = np.array([left, left - np.sign(left) * most])
        there: Array = scale.forward(self.y[[node, node]]) - less
        at, end = scale.back(there).tolist()
        return at, abs(end - at)

    @property
    def alone(self) -> Array:
        """Distances, were it calm."""
        out: Array = self.off / self.restless
        return out

    @property
    def ratio(self) -> Array:
        """What is left of them, in limits; nothing of what others share."""
        out: Array = np.where(self.apart, self.left / self.restless / self.limit, 0.0)
        return out
