"""The record played again: thinned by a schedule, recovered, each half by a model of the other.

Nothing that is scored was seen by the model that recovers it, nor by the witnesses that told the
model what to lean to under this schedule: those come from the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.fitted import FittedField
from fieldmend.field.trials import Trial
from fieldmend.flags import BAD
from fieldmend.grid import Array, Grid
from fieldmend.planning.calibrating import for_schedule, witnesses
from fieldmend.planning.schedule import Schedule, received
from fieldmend.planning.scoring import NOTHING, Score, blocks_of, few_days, score
from fieldmend.planning.seldom import both_rules
from fieldmend.quantities import Quantity
from fieldmend.recovery.condition import Applying, recover_condition
from fieldmend.recovery.storage import Storage
from fieldmend.result.options import Options

MESSAGES = 1000  # that an error is of, at least, if need be at several phases

Values = Mapping[str, Array]
Step = Callable[[str, float], object]


@dataclass(frozen=True, eq=False)
class Played:
    """What a schedule does to a record: the share of the readings sent, and errors by condition."""

    schedule: Schedule
    share: float
    scores: Mapping[str, Score]


@dataclass(frozen=True, eq=False)
class Half:
    """One half of a record, and the model of the other, with one rule or another."""

    grid: Grid
    false: Values  # readings that are flagged: no truth to compare with
    models: tuple[FieldModel, ...]

    def messages(self, schedule: Schedule) -> Array:
        """True where a message arrives."""
        return arriving(self.grid, schedule)

    def witnesses(self, name: str, sent: Array) -> list[Trial]:
        """What each model says of readings that were not sent."""
        true, X = ~self.false[name], self.grid.values[name]
        return [
            witnesses(model[name], X, sent, true, model.first_slot(model[name], self.grid))
            for model in self.models
        ]


class Replay:
    """A record that any schedule can be played on; what was played is remembered."""

    def __init__(
        self,
        grid: Grid,
        quantities: Mapping[str, Quantity],
        *,
        quantile: float | None = None,
        seed: int = 0,
        say: Step = lambda *_: None,
    ) -> None:
        """`grid` has the conditions that are planned for, and nodes heard in both halves."""
        self.grid, self.quantities, self.quantile = grid, quantities, quantile
        self.options = Options(holdout=False, everywhere=True, seed=seed).for_grid(grid)
        middle = len(grid.times) // 2
        parts = [cut(grid, slice(0, middle)), cut(grid, slice(middle, None))]
        say("fitting a model to each half", 0.0)
        models = [both_rules(FieldModel.fit(part, seed=seed)) for part in parts]
        self.false = false_readings(grid, quantities, self.options)
        rows = (slice(0, middle), slice(middle, None))
        self.halves = [
            Half(part, {name: mask[own] for name, mask in self.false.items()}, model)
            for part, own, model in zip(parts, rows, reversed(models), strict=True)
        ]
        self.block = blocks_of(len(grid.times), grid.slot)
        self.few_days = few_days(len(grid.times), grid.slot)
        self.readings = int(_there(grid).sum())
        self._played: dict[tuple[object, ...], Played] = {}

    def share(self, schedule: Schedule) -> float:
        """Of the readings that the record has, how many are sent."""
        return share_sent(self.grid, schedule)

    def play(self, schedule: Schedule) -> Played:
        """Thin, recover, score; at once if it was played before."""
        key = (schedule.design, schedule.every, *sorted(schedule.changes.items()))
        if key not in self._played:
            self._played[key] = self.fresh(schedule)
        return self._played[key]

    def fresh(self, schedule: Schedule) -> Played:
        """The same, whatever was played before.

        Where a schedule sends few messages, one false reading among them weighs much, and which
        are sent is luck: it is played again at other phases.
        """
        share = self.share(schedule)
        if share >= 1.0:
            return Played(schedule, 1.0, dict.fromkeys(self.quantities, NOTHING))
        shifts = schedule.shifted(ceil(MESSAGES / max(share * self.readings, 1.0)))
        scores = {}
        for name in self.quantities:
            off = np.stack([self._played_off(name, one) for one in shifts])
            scores[name] = score(off, self.block, self.quantile, few_days=self.few_days)
        return Played(schedule, share, scores)

    def _played_off(self, name: str, schedule: Schedule) -> Array:
        """Distances from the readings that a schedule leaves out."""
        sent = [half.messages(schedule) for half in self.halves]
        trials = [half.witnesses(name, s) for half, s in zip(self.halves, sent, strict=True)]
        return np.vstack(
            [
                self._off(half, name, s, schedule, trial)
                for half, s, trial in zip(self.halves, sent, reversed(trials), strict=True)
            ]
        )

    def _off(
        self, half: Half, name: str, sent: Array, schedule: Schedule, others: list[Trial]
    ) -> Array:
        """Distances from the readings of a half; rule and leans come from the other."""
        part = for_schedule([model[name] for model in half.models], others)
        first = half.models[0].first_slot(part, half.grid)
        return distances(
            half.grid, name, sent, self._how(schedule), self.quantities[name],
            model=Applying(part, first), false=half.false[name],
        )  # fmt: skip

    def _how(self, schedule: Schedule) -> Options:
        return replace(self.options, on_change=dict(schedule.changes) or None)

    def model(self, schedule: Schedule, whole: Sequence[FieldModel]) -> FieldModel:
        """Of the models of the whole record, what the witnesses of both halves prefer."""
        parts: dict[str, FittedField] = dict(whole[0].conditions)
        for name in self.quantities:
            halves = [half.witnesses(name, half.messages(schedule)) for half in self.halves]
            pooled = [Trial.pooled(list(both)) for both in zip(*halves, strict=True)]
            parts[name] = for_schedule([model[name] for model in whole], pooled)
        return replace(whole[0], conditions=parts)


def cut(grid: Grid, rows: slice, nodes: Array | None = None) -> Grid:
    """Some slots of a grid, and some of its nodes."""
    columns = np.arange(len(grid.nodes)) if nodes is None else nodes
    return replace(
        grid,
        values={name: np.asarray(X[rows][:, columns]) for name, X in grid.values.items()},
        times=grid.times[rows],
        nodes=tuple(grid.nodes[n] for n in columns),
    )


def thinned(grid: Grid, sent: Array) -> Grid:
    """What arrives of a grid."""
    values = {name: np.where(sent, X, np.nan) for name, X in grid.values.items()}
    return replace(grid, values=values)


def arriving(grid: Grid, schedule: Schedule) -> Array:
    """True where a message of the schedule arrives."""
    sent = schedule.sent(grid.values, grid.times)
    return received(sent, grid.values) if schedule.changes else sent


def share_sent(grid: Grid, schedule: Schedule) -> float:
    """Messages over readings."""
    return float(schedule.sent(grid.values, grid.times).sum() / max(_there(grid).sum(), 1))


def _there(grid: Grid) -> Array:
    """True where a node has a reading of any condition."""
    return np.asarray(np.any([~np.isnan(X) for X in grid.values.values()], axis=0))


def distances(
    grid: Grid,
    name: str,
    sent: Array,
    options: Options,
    quantity: Quantity,
    *,
    model: Applying,
    false: Array,
) -> Array:
    """How far the recovery of what was sent is from what was not; NaN elsewhere."""
    left = thinned(grid, sent)
    found, _ = recover_condition(left, name, quantity, options, Storage(), model=model)
    truth = np.where(sent | false, np.nan, grid.values[name])
    return np.asarray(np.abs(np.asarray(found.estimate)[:, : truth.shape[1]] - truth))


def false_readings(
    grid: Grid, quantities: Mapping[str, Quantity], options: Options
) -> dict[str, Array]:
    """Readings that a recovery which has all of them flags: no truth to compare with.

    What only a recovery of thinned readings holds to be false is scored.
    """
    out = {}
    for name, quantity in quantities.items():
        found, _ = recover_condition(grid, name, quantity, options, Storage())
        out[name] = np.isin(found.flag, BAD)
    return out
