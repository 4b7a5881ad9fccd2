"""Rev 0: a slot as it is known when it is over. The filter, its nodes matched to the journal's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fieldmend.core.prox import Mask
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.online import Ahead, FilterState, Now, ahead, judge, start
from fieldmend.flags import Flag
from fieldmend.grid import Array, Grid
from fieldmend.live.afresh import LEAST
from fieldmend.live.onward import Onward, begun
from fieldmend.live.pacing import PACE, moved
from fieldmend.live.witnesses import Witness, judged, unrest
from fieldmend.quantities.scale import Scale
from fieldmend.recovery.judging import outside

# Pace of a network's intervals: a night's are too narrow for an hour of the morning, not for four.
# Ten readings a slot make them waver by 6 %, by chance alone: 0.36 √(pace / readings).
QUICK = 0.3
LONG = 0.9  # of the gaps that readings end are not longer than what they speak for

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


@dataclass(frozen=True)
class Calm:
    """How wide intervals have to be now, times the usual: two measures, and what they speak for."""

    held: float = 1.0  # by the intervals that readings would have got
    odd: float = 1.0  # by how odd readings are
    gap: float = 1.0  # slots: the longest gaps of late that readings ended


def _beyond(score: Array, allowed: Array | float) -> float:
    return float(np.mean(score > allowed))


def _long(gaps: Array) -> float:
    """A gap that few are longer than."""
    return float(np.sort(gaps)[int(LONG * (len(gaps) - 1))])


@dataclass(eq=False)
class Follower:
    """A model and where its filter stands.

    Parameters
    ----------
    model
        None while there is none: readings pass with flag 2.
    limits
        Condition → lowest and highest possible value.
    witnesses
        Condition → who is heard for its odd readings.
    units
        Of conditions, by name.
    level
        Of intervals that no model has.
    """

    model: FieldModel | None = None
    limits: Limits = field(default_factory=dict)
    name: str = ""
    states: dict[str, FilterState] = field(default_factory=dict)
    stop: int = 0
    told: dict[str, Now] = field(default_factory=dict)
    odd: dict[str, Mask] = field(default_factory=dict)  # as `told`: odd, whoever speaks for it
    witnesses: Mapping[str, Witness] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    level: float = 0.9
    nodes: tuple[str, ...] = ()
    onward: dict[str, Onward] = field(default_factory=dict)  # directions and meters
    _rows: dict[str, list[Array]] = field(default_factory=dict)  # first slots of what may be one
    _calm: dict[str, Calm] = field(default_factory=dict)
    _restless: dict[str, Array] = field(default_factory=dict)  # by node
    _bounds: dict[str, Scale] = field(default_factory=dict)
    _columns: Array = field(default_factory=lambda: np.zeros(0, np.intp))

    def replay(
        self, grid: Grid, hear: Callable[[dict[str, Said], int], object] = lambda said, time: None
    ) -> None:
        """Begin anew, and follow the readings of past slots: after a start, or with a new model.

        `hear` is told what is said of each.
        """
        self.states, self._calm, self._restless = {}, {}, {}
        self.onward, self._rows = {}, {}
        for row, time in enumerate(grid.times.tolist()):
            readings = {name: X[row] for name, X in grid.values.items()}
            hear(self.follow(readings, grid.nodes, time, grid.slot), time)

    def follow(
        self, readings: dict[str, Array], nodes: tuple[str, ...], time: int, slot: int
    ) -> dict[str, Said]:
        """One slot further; a slot that does not follow the last one begins anew."""
        if time != self.stop:
            self.states, self.onward, self._rows = {}, {}, {}
        self.stop = time + slot
        self._match(nodes)
        known = () if self.model is None else self.model.conditions
        nothing = np.full(len(nodes), np.nan)
        every = {
            name: readings.get(name, nothing)
            for name in [*readings, *(one for one in known if one not in readings)]
        }
        failed = {name: outside(y, self.limits.get(name)) for name, y in every.items()}
        rows = {
            name: np.where(
                self._columns >= 0, np.where(failed[name], np.nan, y)[self._columns], np.nan
            )
            for name, y in every.items()
            if name in known
        }
        self.told, self.odd = {}, {}
        self._judge({name: self._ahead(name, row, time, slot) for name, row in rows.items()}, rows)
        out = {name: self._said(name, y, failed[name]) for name, y in every.items()}
        for name, y in every.items():
            if name not in known:
                out[name] = self._carried_on(name, np.where(failed[name], np.nan, y), out[name])
        return out

    def _carried_on(self, name: str, y: Array, said: Said) -> Said:
        """A condition without a model: a direction or a meter goes on from where it was."""
        if name not in self.onward:
            rows = self._rows.setdefault(name, [])
            rows.append(y)
            if len(rows) == LEAST:
                found = begun(name, self.units.get(name, ""), rows, self.level)
                if found is not None:
                    self.onward[name] = found
                rows.clear()  # what is none of these may become one
            return said
        now = self.onward[name].follow(y)
        known = np.isfinite(now.estimate) & np.isfinite(now.lower)
        judged = np.where(now.believed, np.uint8(Flag.PASS), np.uint8(Flag.SUSPECT))
        unheard = np.where(known, np.uint8(Flag.MISSING), np.uint8(0))
        flag = np.where(np.isnan(said.observed), unheard, judged)
        flag = np.where(said.flag == Flag.FAIL, said.flag, flag)
        return replace(said, estimate=now.estimate, lower=now.lower, upper=now.upper, flag=flag)

    def _match(self, nodes: tuple[str, ...]) -> None:
        """Where the model's nodes stand among the journal's; −1: nowhere."""
        if nodes == self.nodes and self._columns.size:
            return
        self.nodes = nodes
        if self.model is None:
            return
        place = {name: k for k, name in enumerate(nodes)}
        self._columns = np.array([place.get(name, -1) for name in self.model.nodes], np.intp)

    def _said(self, name: str, y: Array, failed: Mask) -> Said:
        seen = ~np.isnan(y)
        flag = np.where(seen, np.uint8(Flag.NOT_EVALUATED), np.uint8(0))
        flag[failed] = Flag.FAIL
        estimate, lower, upper = (np.full(len(y), np.nan) for _ in range(3))
        if name in self.told:
            now = self.told[name]
            mine, at = self._columns >= 0, self._columns[self._columns >= 0]
            within = self._within(name)
            estimate[at], lower[at], upper[at] = (
                within.back(part[mine]) for part in (now.estimate, now.lower, now.upper)
            )
            judged = np.where(now.believed[mine], np.uint8(Flag.PASS), np.uint8(Flag.SUSPECT))
            flag[at] = np.where(
                seen[at], np.where(failed[at], np.uint8(Flag.FAIL), judged), np.uint8(Flag.MISSING)
            )
        return Said(y, estimate, lower, upper, flag)

    def _spikes(self, name: str) -> bool:
        """Whether single readings of it can be told to be false at all."""
        return self.model is None or judged(self.model[name].quantity)

    def _within(self, name: str) -> Scale:
        """What it can be: no concentration below zero, no humidity above 100 %."""
        if name not in self._bounds:
            known = (None if self.model is None else self.model[name].quantity) or {}
            ends = {end: float(x) for end, x in known.items() if isinstance(x, int | float)}
            self._bounds[name] = Scale(
                low=ends.get("low", -np.inf),
                high=ends.get("high", np.inf),
                least=ends.get("least", 0.0),
            )
        return self._bounds[name]

    def _state(self, name: str, time: int, slot: int) -> FilterState:
        assert self.model is not None
        if name not in self.states:
            part = self.model[name]
            first = part.fitted_on.first
            number = None if first is None else round((time - first) / slot)
            self.states[name] = start(part, number)
        return self.states[name]

    def _ahead(self, name: str, row: Array, time: int, slot: int) -> Ahead:
        assert self.model is not None
        return ahead(self.model[name], self._state(name, time, slot), row, np.isfinite(row))

    def _judge(self, before: dict[str, Ahead], rows: dict[str, Array]) -> None:
        """All conditions a slot further: readings that are odd, and alone with it, move nothing."""
        assert self.model is not None or not rows
        gates, signed = {}, {}
        for name, row in rows.items():
            witness = self.witnesses.get(name)
            if witness is not None:
                other = rows.get(witness.other, np.full(len(row), np.nan))
                gates[name] = witness.gates(other, self._restless.get(name, np.ones(len(row))))
            if not self._spikes(name):  # a shower is as odd as a false reading, and true
                gates[name] = np.full(len(row), np.inf)
            self._step(name, before[name], gates.get(name))
            signed[name] = self.told[name].score * np.sign(row - self.told[name].expected)
        for name, row in rows.items():
            witness, doubted = self.witnesses.get(name), self.odd[name]
            if witness is None or not doubted.any():
                continue
            other = signed.get(witness.other, np.full(len(row), np.nan))
            which, alone = np.flatnonzero(doubted), doubted.copy()
            alone[which] = witness.left(signed[name], other, which) > gates[name][which]
            calm = self._restless.get(name, np.ones(len(row)))
            self.odd[name] = doubted & (self.told[name].score > calm * witness.alone)
            if (doubted & ~alone).any():
                self._step(name, before[name], np.where(alone, gates[name], np.inf))
        for name, witness in self.witnesses.items():
            if name not in rows:
                continue
            self._restless[name] = unrest(self._restless.get(name), self.told[name].score)
            if witness.usual > 0.0:
                self.told[name] = self._as_wide_as_needed(name, witness.usual)

    def _as_wide_as_needed(self, name: str, usual: float) -> Now:
        """Intervals by how odd readings were of late: nights are calmer than mornings.

        They were calibrated on some days of the past. Each reading says whether the interval that
        it would have got, had it not come, would have held; so it speaks for gaps such as it ended.
        Of longer ones, it says no more than whether it was odder than usual: there the wider of the
        two is taken.
        """
        assert self.model is not None
        now, calm = self.told[name], self._calm.get(name, Calm())
        heard = now.believed & np.isfinite(now.score) & np.isfinite(now.gap)
        if heard.any():
            score, share = now.score[heard], 1.0 - self.model[name].level
            self._calm[name] = Calm(
                moved(calm.held, _beyond(score, calm.held * now.allowed[heard]) - share, QUICK),
                moved(calm.odd, _beyond(score, calm.odd * usual) - share, QUICK),
                calm.gap + PACE * (_long(now.gap[heard]) - calm.gap),
            )
        wide = np.where(now.gap <= max(1.0, calm.gap), calm.held, max(calm.held, calm.odd))
        lower, upper = (
            now.estimate + wide * (edge - now.estimate) for edge in (now.lower, now.upper)
        )
        return replace(now, lower=lower, upper=upper)

    def _step(self, name: str, before: Ahead, gate: Array | None) -> None:
        assert self.model is not None
        self.states[name], now = judge(self.model[name], before, gate)
        self.told[name] = now
        self.odd.setdefault(name, np.isfinite(now.score) & ~now.believed)

    def spread(self, values: Array, nodes: int) -> Array:
        """The model's nodes among the journal's: NaN at the others."""
        out = np.full(nodes, np.nan)
        mine = self._columns >= 0
        out[self._columns[mine]] = values[mine]
        return out
