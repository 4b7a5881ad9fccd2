"""The record's own gaps: every method at the readings that `recover` hides for its error."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from fieldmend.experiments.tables import Row
from fieldmend.grid import Grid
from fieldmend.holdout.scoring import Said
from fieldmend.metrics import GapErrors, HiddenErrors
from fieldmend.recovery import honest
from fieldmend.recovery.conditions import one_condition, scored_condition
from fieldmend.result.options import Options
from fieldmend.text import gap_range

FloatArray = NDArray[np.float64]
Estimate = Callable[[FloatArray], FloatArray]
RECOVER, LINE = "recover", "straight line"


def own_rows(
    grid: Grid, name: str, seed: int, chosen: Mapping[str, Estimate], kinds: Mapping[str, str]
) -> list[Row]:
    """Errors of every method, in all and by length of the gap; nothing if too little can be hidden.

    ``recover`` and the line are what `fieldmend recover` prints with this seed.
    """
    options = Options(seed=seed, kinds=dict(kinds)).for_grid(grid)
    first, scores = scored_condition(grid, name, options)
    doubt = honest.Doubt.of(first)
    whole = None if scores is None else scores.whole(doubt)
    if scores is None or whole is None:
        return []
    rows = error_rows(LINE, whole.line)
    if RECOVER in chosen:
        rows += error_rows(RECOVER, whole.method)
    asked = [method for method in chosen if method not in (LINE, RECOVER)]
    others = {method: honest.Scores(scores.quantity) for method in asked}
    for trial in honest.trials(grid, name, options):
        for method, its in others.items():
            said = Said(chosen[method](trial.grid.values[name]))
            its.add(trial, said)
    for method, its in others.items():
        total = its.whole(doubt)
        rows += [] if total is None else error_rows(method, total.method)
    heard = np.count_nonzero(~np.isnan(grid.values[name]))
    return [{"rate": round(1 - whole.method.count / heard, 2), **row} for row in rows]


def error_rows(method: str, errors: HiddenErrors) -> list[Row]:
    """The errors of a method as rows of the table: in all, then by length of the gap."""
    rows: list[Row] = [{"gap": "all", **_error(errors)}]
    rows += [{"gap": gap_range(one.shortest, one.longest), **_error(one)} for one in errors.by_gap]
    return [{"method": method, **row} for row in rows]


def _error(one: HiddenErrors | GapErrors) -> Row:
    return {"hidden": one.count, "mae": one.mae, "rmse": one.rmse}


def whole_pipeline(X: FloatArray) -> FloatArray:
    """`recover` of a plain array."""
    options = honest.everywhere(Options())
    return np.asarray(one_condition(Grid.of(X), "value", options).estimate)
