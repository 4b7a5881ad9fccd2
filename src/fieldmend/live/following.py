"""Rev 0: a slot as it is known when it is over. The filter, its nodes matched to the journal's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.online import Now, start, step
from fieldmend.flags import Flag
from fieldmend.grid import Array, Grid
from fieldmend.recovery.judging import outside

Limits = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Said:
    """What a closing says of one condition; arrays have one entry a node, by the journal's id.

    A flag of 0: there is nothing to say of this node.
    """

    observed: Array
    estimate: Array
    lower: Array
    upper: Array
    flag: Array


@dataclass(eq=False)
class Follower:
    """A model and where its filter stands.

    Parameters
    ----------
    model
        None while there is none: readings pass with flag 2.
    limits
        Condition → lowest and highest possible value.
    """

    model: FieldModel | None = None
    limits: Limits = field(default_factory=dict)
    name: str = ""
    states: dict[str, Any] = field(default_factory=dict)
    stop: int = 0
    told: dict[str, Now] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    _columns: Array = field(default_factory=lambda: np.zeros(0, np.intp))

    def replay(self, grid: Grid) -> None:
        """Begin anew, and follow the readings of past slots: after a start, or with a new model."""
        self.states = {}
        for row, time in enumerate(grid.times.tolist()):
            self.follow(
                {name: X[row] for name, X in grid.values.items()}, grid.nodes, time, grid.slot
            )

    def follow(
        self, readings: dict[str, Array], nodes: tuple[str, ...], time: int, slot: int
    ) -> dict[str, Said]:
        """One slot further; a slot that does not follow the last one begins anew."""
        if time != self.stop:
            self.states = {}
        self.stop = time + slot
        self._match(nodes)
        known = () if self.model is None else self.model.conditions
        out = {}
        self.told = {}
        nothing = np.full(len(nodes), np.nan)
        for name in [*readings, *(one for one in known if one not in readings)]:
            out[name] = self._one(name, readings.get(name, nothing), time, slot)
        return out

    def _match(self, nodes: tuple[str, ...]) -> None:
        """Where the model's nodes stand among the journal's; −1: nowhere."""
        if nodes == self.nodes and self._columns.size:
            return
        self.nodes = nodes
        if self.model is None:
            return
        place = {name: k for k, name in enumerate(nodes)}
        self._columns = np.array([place.get(name, -1) for name in self.model.nodes], np.intp)

    def _one(self, name: str, y: Array, time: int, slot: int) -> Said:
        failed = outside(y, self.limits.get(name))
        seen = ~np.isnan(y)
        flag = np.where(seen, np.uint8(Flag.NOT_EVALUATED), np.uint8(0))
        flag[failed] = Flag.FAIL
        estimate, lower, upper = (np.full(len(y), np.nan) for _ in range(3))
        if self.model is not None and name in self.model.conditions:
            now = self._step(name, np.where(failed, np.nan, y), time, slot)
            self.told[name] = now
            mine, at = self._columns >= 0, self._columns[self._columns >= 0]
            estimate[at], lower[at], upper[at] = (
                part[mine] for part in (now.estimate, now.lower, now.upper)
            )
            judged = np.where(now.believed[mine], np.uint8(Flag.PASS), np.uint8(Flag.SUSPECT))
            flag[at] = np.where(
                seen[at], np.where(failed[at], np.uint8(Flag.FAIL), judged), np.uint8(Flag.MISSING)
            )
        return Said(y, estimate, lower, upper, flag)

    def _step(self, name: str, y: Array, time: int, slot: int) -> Now:
        assert self.model is not None
        part = self.model[name]
        if name not in self.states:
            first = part.fitted_on.first
            number = None if first is None else round((time - first) / slot)
            self.states[name] = start(part, number)
        row = np.where(self._columns >= 0, y[self._columns], np.nan)
        self.states[name], now = step(part, self.states[name], row, np.isfinite(row))
        return now

    def spread(self, values: Array, nodes: int) -> Array:
        """The model's nodes among the journal's: NaN at the others."""
        out = np.full(nodes, np.nan)
        mine = self._columns >= 0
        out[self._columns[mine]] = values[mine]
        return out
