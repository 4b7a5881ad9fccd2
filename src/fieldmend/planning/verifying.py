"""A plan on later days: thinned by its schedule, recovered by its model, held against its word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.errors import InputError
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.grid import Array, Grid
from fieldmend.planning.replay import arriving, cut, distances, false_readings, share_sent
from fieldmend.planning.schedule import Schedule
from fieldmend.planning.scoring import statistic
from fieldmend.quantities import Quantity
from fieldmend.recovery.condition import Applying
from fieldmend.result.options import Options
from fieldmend.text import count as count_words
from fieldmend.text import figure, moment, named, shown


@dataclass(frozen=True)
class Found:
    """What became of a plan.

    Attributes
    ----------
    errors
        Condition → error at readings that were not sent and are not held to be false.
    counted
        The same with those that are held to be false counted as if they were true.
    share
        Of the readings, sent.
    count
        Readings that the errors are of.
    notes
        What was left out.
    """

    errors: Mapping[str, float]
    counted: Mapping[str, float]
    share: float
    count: int
    notes: tuple[str, ...] = ()


def verify(
    later: Grid,
    before: Grid,
    schedule: Schedule,
    model: FieldModel,
    quantities: Mapping[str, Quantity],
    *,
    quantile: float | None = None,
    seed: int = 0,
) -> Found:
    """Thin later readings by a schedule, recover them by its model, score what was not sent.

    `before` is the record that was planned on: a node that breaks is told from one that always
    was so by what it was before.
    """
    rest, notes = _later(later, before)
    grid = _matching(rest, schedule, quantities, notes)
    options = Options(holdout=False, everywhere=True, seed=seed).for_grid(grid)
    false = _false(grid, before, quantities, options)
    sent = arriving(grid, schedule)
    how = replace(options, on_change=dict(schedule.changes) or None)
    errors, counted, count = {}, {}, 0
    none = np.zeros(sent.shape, dtype=np.bool_)
    for name, quantity in quantities.items():
        part = model[name]
        applied = Applying(part, model.first_slot(part, grid))
        off = distances(grid, name, sent, how, quantity, model=applied, false=none)
        counted[name] = statistic(off, quantile)
        off = np.where(false[name], np.nan, off)
        errors[name] = statistic(off, quantile)
        count += int(np.isfinite(off).sum())
        gone = false[name] & ~sent
        if gone.any():
            nodes = [shown(schedule.nodes[n]) for n in np.flatnonzero(gone.any(axis=0))]
            notes.append(
                f"{shown(name)}: {count_words(int(gone.sum()))} readings that were not sent are "
                f"held to be false ({named('node', nodes)}) and not scored; with them the error "
                f"is {figure(counted[name])}"
            )
    return Found(errors, counted, share_sent(grid, schedule), count, tuple(notes))


def _false(
    grid: Grid, before: Grid, quantities: Mapping[str, Quantity], options: Options
) -> dict[str, Array]:
    """What is held to be false of the later readings, with what went before at hand."""
    gap = round((int(grid.times[0]) - int(before.times[-1])) / grid.slot) - 1
    if gap < 0 or gap > len(before.times):  # not later, or too much so to be one record
        return false_readings(grid, quantities, options)
    empty = np.full((gap, len(grid.nodes)), np.nan)
    values = {n: np.vstack([before.values[n], empty, grid.values[n]]) for n in quantities}
    slots = len(before.times) + gap + len(grid.times)
    times = int(grid.times[-1]) - grid.slot * np.arange(slots)[::-1]
    whole = replace(grid, values=values, times=times)
    found = false_readings(whole, quantities, options)
    return {name: mask[-len(grid.times) :] for name, mask in found.items()}


def _later(later: Grid, before: Grid) -> tuple[Grid, list[str]]:
    """What comes after the record that was planned on; all of it, and a note, if nothing does."""
    after = np.asarray(later.times > before.times[-1])
    if after.all():
        return later, []
    if not after.any():
        return later, ["the record to verify on is not later than the one planned on"]
    said = f"verified on what comes after {moment(int(before.times[-1]))} only"
    return cut(later, slice(int(after.argmax()), None)), [said]


def _matching(
    later: Grid, schedule: Schedule, quantities: Mapping[str, Quantity], notes: list[str]
) -> Grid:
    """The later readings of the nodes and conditions that are planned for, in the plan's order."""
    for name in quantities:
        if name not in later.values:
            raise InputError(
                f"verify: {shown(name)} is not in the later record",
                hint=f"It has {', '.join(shown(one) for one in later.values)}",
            )
    if later.slot != schedule.slot:
        raise InputError(
            f"verify: slots of {later.slot / 1e6:g} s, the plan is for {schedule.slot / 1e6:g} s",
            hint=f"Read both with --slot {schedule.slot / 1e6:g}s",
        )
    column = {name: n for n, name in enumerate(later.nodes)}
    there = [name for name in schedule.nodes if name in column]
    if not there:
        raise InputError(
            "verify: none of the plan's nodes is in the later record", hint="Look at their names"
        )
    kept = cut(later, slice(None), np.array([column[name] for name in there]))
    values = {}
    for name in quantities:
        X = np.full((len(kept.times), len(schedule.nodes)), np.nan)
        X[:, [schedule.nodes.index(one) for one in there]] = kept.values[name]
        values[name] = X
    new = [name for name in later.nodes if name not in schedule.nodes]
    if new:
        notes.append(f"{named('node', [shown(n) for n in new])} not in the plan: left out")
    gone = [name for name in schedule.nodes if name not in column]
    if gone:
        notes.append(f"{named('node', [shown(n) for n in gone])} not in the later record")
    return replace(kept, values=values, nodes=schedule.nodes)
