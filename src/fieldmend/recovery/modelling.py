"""From a recovery to the model that it fitted, and from a model to another recovery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np

from fieldmend import faults
from fieldmend.errors import InputError
from fieldmend.field import labels
from fieldmend.field.checking import check_fit
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.fitted import FittedField
from fieldmend.field.online import replay
from fieldmend.flags import KEPT, Flag
from fieldmend.grid import Array, Grid
from fieldmend.quantities import Kind, Quantity
from fieldmend.quantities.scale import Scale
from fieldmend.recovery.condition import Applying
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.result.result import Result

NEWEST = 4000  # slots that a filter is calibrated on, and a model asked about, at most
AFRESH = (Kind.CIRCULAR, Kind.ACCUMULATOR, Kind.POSITIVE, Kind.INTERMITTENT)
"""Kinds that a model may have no part for: solved on another scale, from the readings at hand."""


def model_of(result: Result) -> FieldModel:
    """The model of all conditions that were recovered by one."""
    parts = {
        name: _labelled(one, one.fitted, result.grid)
        for name, one in result.conditions.items()
        if one.fitted is not None
    }
    if not parts:
        raise InputError(
            f"method {result.options.method!r} fitted no model of these readings",
            hint="Method auto does, from 3 nodes and 5 slots on; not of directions, meters "
            "and networks recovered by regions",
        )
    return FieldModel(parts, tuple(result.grid.nodes), int(result.grid.slot))


def _labelled(one: Recovered, part: FittedField, grid: Grid) -> FittedField:
    """With the condition's unit and span, and its filter calibrated on the newest readings."""
    newest = slice(max(0, len(one.observed) - NEWEST), None)
    kept: Array = np.isin(one.flag[newest], KEPT)
    first, last = int(grid.times[0]), int(grid.times[-1])
    if part.fitted_on.first is not None:  # it came from elsewhere, and stays as it is
        return part
    return replace(
        part,
        fitted_on=replace(part.fitted_on, first=first, last=last),
        unit=one.unit,
        quantity=_bounds(one),
        live=replay(part, one.observed[newest], kept, first=newest.start, slot=int(grid.slot)),
    )


def _bounds(one: Recovered) -> dict[str, float] | None:
    """What it cannot be: for whoever follows it without looking at its readings."""
    if one.quantity is None:
        return None
    scale = Scale.of(one.quantity, one.observed)
    ends = {"low": scale.low, "high": scale.high, "least": scale.least}
    out = {name: float(end) for name, end in ends.items() if np.isfinite(end)}
    return out if one.quantity.tests.spikes else {**out, "spikes": 0.0}


@dataclass(frozen=True)
class Known:
    """A model that is to be applied."""

    model: FieldModel
    options: Options

    @classmethod
    def of(cls, given: FieldModel | str | PathLike[str], options: Options) -> Known:
        """The model, read from its file if need be; refused where another method is asked for."""
        if options.method != "auto" or options.joint or options.solving:
            method = f"method {options.method!r}" if options.method != "auto" else ""
            what = method or ", ".join(["joint"] * bool(options.joint) + [*options.solving])
            raise InputError(
                f"{what}: not with a model, which has its own way", hint="Leave it out"
            )
        return cls(given if isinstance(given, FieldModel) else FieldModel.load(given), options)

    def aligned(self, grid: Grid, quantities: Mapping[str, Quantity], new_nodes: str) -> Grid:
        """The grid with the model's nodes, where the model can be applied to it."""
        measured = {
            name: X
            for name, X in grid.values.items()
            if quantities[name].measured
            and not np.isnan(X).all()
            and (name in self.model.conditions or quantities[name].kind not in AFRESH)
        }
        for name in measured:
            level = self.model[name].level
            if level != self.options.level:
                raise InputError(
                    f"the model's intervals are of level {level:g}, not {self.options.level:g}",
                    hint=f"Take --level {level:g} (level={level:g}), or fit a model",
                )
        self.model.align(replace(grid, values=measured), new_nodes=new_nodes)
        out: Grid = labels.aligned(grid, self.model.nodes, new_nodes)
        return out

    def applying(self, name: str, grid: Grid) -> Applying | None:
        """What a condition takes from the model."""
        if name not in self.model.conditions:
            return None
        part = self.model[name]
        return Applying(part, self.model.first_slot(part, grid))


def _broken(one: Recovered) -> Array:
    """Readings in lasting faults: a fresh fit would follow a dying node, a model does not."""
    out = np.zeros(one.observed.shape, dtype=np.bool_)
    for episode in one.episodes:
        kind = faults.Kind.named(episode.kind)
        if kind is not None and kind.lasts:
            out[episode.start : episode.stop, episode.node] = True
    return out


def still_fitting(one: Recovered, applied: Applying, options: Options) -> Recovered:
    """With a warning if the model no longer fits the newest readings of sound nodes.

    It is compared with a fresh fit, which costs as much as one, where a hold-out is asked for;
    without, its intervals and what it calls false are looked at.
    """
    rows, own = slice(max(0, len(one.observed) - NEWEST), None), slice(0, applied.fitted.nodes)
    X, flag = one.observed[rows, own], one.flag[rows, own]
    seen = ~np.isnan(X) & (flag != Flag.FAIL) & ~_broken(one)[rows, own]
    if not seen.any():
        return one
    first = applied.first + rows.start
    found = check_fit(
        applied.fitted, X, seen, first=first, fresh=options.holdout, seed=options.seed
    )
    if found:
        return one
    return replace(one, warnings=(*one.warnings, f"{found.said}: recover without --model"))
