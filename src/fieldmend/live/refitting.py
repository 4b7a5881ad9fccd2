"""The child process that fits a model: reads the journal, writes a model file, prints one line."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.core.prox import Mask
from fieldmend.errors import InputError
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.holdout import draw_runs
from fieldmend.field.online import start, step
from fieldmend.field.regions import UNPLACED
from fieldmend.grid import Array, Grid
from fieldmend.live.companions import Companions
from fieldmend.live.journal import read_only
from fieldmend.live.modelling import WORSE, companions_file
from fieldmend.live.recent import means, turns
from fieldmend.live.witnesses import matched
from fieldmend.quantities import Kind, identify
from fieldmend.recovery import recover
from fieldmend.recovery.judging import outside

HIDDEN = 0.3
NEWEST, SHARE = (
    288,
    0.25,
)  # slots that models are compared on: a day of five minutes, at most a part
ENTRIES, LEAST = 2_000_000, 400  # of a network of many nodes that one model is fitted to; slots
STRAIGHT = (Kind.LINEAR, Kind.BOUNDED, Kind.POSITIVE, Kind.INTERMITTENT, Kind.MIXED)
FEWEST = 50  # hidden readings, else there is nothing to compare


def past(folder: str, first: int, stop: int, slot: int) -> Grid:
    """The journal's slots before `stop` as a grid, from the first one with a reading on."""
    with closing(read_only(folder)) as connection:
        oldest = connection.execute(
            "SELECT min(time) FROM readings WHERE time >= ? AND time < ?", (first, stop)
        ).fetchone()[0]
        if oldest is None:
            raise InputError("no readings to fit a model to")
        first = oldest // slot * slot
        nodes = tuple(row[0] for row in connection.execute("SELECT name FROM nodes ORDER BY id"))
        names = dict(connection.execute("SELECT id, name FROM conditions"))
        units = dict(connection.execute("SELECT name, unit FROM conditions"))
        slots = (stop - first) // slot
        found = means(connection, first, slots, slot, len(nodes), turns(connection))
    times = first + slot * np.arange(slots, dtype=np.int64)
    values = {names[k]: X for k, X in sorted(found.items())}
    heard = np.any([np.isfinite(X).any(axis=0) for X in values.values()], axis=0)
    return Grid(
        {name: X[:, heard] for name, X in values.items()},
        tuple(name for name, there in zip(nodes, heard, strict=True) if there),
        times,
        slot,
        units={name: unit for name, unit in units.items() if unit and name in values},
    )


def fitted(grid: Grid, level: float, limits: dict[str, tuple[float, float]]) -> FieldModel:
    """The model that a recovery fits: readings that it calls false have no part in it."""
    there = {name: pair for name, pair in limits.items() if name in grid.values}
    if len(grid.nodes) > UNPLACED:  # recovered by regions, each by a model of its own
        rows = slice(-max(LEAST, ENTRIES // len(grid.nodes)), None)
        within = {
            name: np.where(outside(X[rows], there.get(name)), np.nan, X[rows])
            for name, X in grid.values.items()
            if identify(name, grid.units.get(name, ""), X[rows]).kind in STRAIGHT
        }
        if not within:
            raise InputError("too many nodes for one model of directions or meters")
        return FieldModel.fit(replace(grid, values=within, times=grid.times[rows]), level=level)
    return recover(grid, level=level, limits=there, holdout=False).model


def replay_error(model: FieldModel, grid: Grid) -> float | None:
    """The filter's error at hidden readings over that of the last value; None if too few."""
    grid = matched(model, grid)
    ratios = []
    for name, X in grid.values.items():
        if name not in model.conditions:
            continue
        seen = np.isfinite(X)
        hidden = seen & draw_runs(seen.shape, HIDDEN, np.random.default_rng(0))
        if hidden.sum() < FEWEST:
            continue
        part, first = model[name], model.first_slot(model[name], grid)
        error, naive = _errors(part, X, seen & ~hidden, hidden, first)
        if error.size and np.median(naive) > 0:
            ratios.append(float(np.mean(error) / np.mean(naive)))
    return float(np.mean(ratios)) if ratios else None


def _errors(part: Any, X: Array, shown: Mask, hidden: Mask, first: int) -> tuple[Array, Array]:
    """Errors at hidden readings: the filter's, and the last value's."""
    state, last = start(part, first), np.full(X.shape[1], np.nan)
    ours, naive = [], []
    for t in range(len(X)):
        state, now = step(part, state, np.where(shown[t], X[t], np.nan), shown[t])
        at = hidden[t] & np.isfinite(last)
        ours.append(np.abs(now.estimate[at] - X[t, at]))
        naive.append(np.abs(last[at] - X[t, at]))
        last = np.where(shown[t], X[t], last)
    return np.concatenate(ours), np.concatenate(naive)


def refit(order: dict[str, Any]) -> dict[str, Any]:
    """Fit, compare, write; what came of it."""
    grid = past(order["folder"], order["first"], order["stop"], order["slot"])
    limits = {name: (pair[0], pair[1]) for name, pair in order["limits"].items()}
    if order["old"] is None:
        model = fitted(grid, order["level"], limits)
        model.save(order["out"])
        _save_companions(grid, model, order["out"])
        return {"taken": True, "why": f"the first, fitted to {len(grid.times)} slots"}
    newest = min(NEWEST, int(SHARE * len(grid.times)))
    before, day = _parts(grid, newest)
    model = fitted(before, order["level"], limits)
    old = FieldModel.load(order["old"])
    error, its = replay_error(model, day), replay_error(old, day)
    found = {"error": error, "before": its}
    if error is None:
        why = "too few of the newest readings to compare it with the one in use"
        return {**found, "taken": False, "why": why}
    if its is not None and error > WORSE * its:
        why = f"on the newest readings its error is {error / its:.2f} times that of the one in use"
        return {**found, "taken": False, "why": why}
    # The intervals and the gate come from the newest part, which it has not seen.
    model.replayed(matched(model, day)).save(order["out"])
    _save_companions(grid, model, order["out"])
    said = "" if its is None else f", its error {error / its:.2f} of the old one's"
    return {**found, "taken": True, "why": f"fitted to {len(before.times)} slots{said}"}


def _save_companions(grid: Grid, model: FieldModel, out: str) -> None:
    mine = {name: X for name, X in grid.values.items() if name in model.conditions}
    Companions.fit(replace(grid, values=mine), model).save(companions_file(Path(out)))


def _parts(grid: Grid, newest: int) -> tuple[Grid, Grid]:
    def cut(rows: slice) -> Grid:
        values = {name: X[rows] for name, X in grid.values.items()}
        return replace(grid, values=values, times=grid.times[rows])

    return cut(slice(None, -newest)), cut(slice(-newest, None))


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # the parent says what is to be said
    try:
        print(json.dumps(refit(json.loads(sys.argv[1]))))  # noqa: T201 - to the parent
    except (InputError, ValueError) as error:
        print(json.dumps({"taken": False, "why": str(error)}))  # noqa: T201
