"""One condition: set aside what cannot be evidence, solve, judge, score."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from fieldmend import faults
from fieldmend.decomposition import ConvergenceWarning, Decomposition, decompose
from fieldmend.grid import Array, Grid
from fieldmend.metrics import hidden_errors, interpolate
from fieldmend.recovery.holdout import hide
from fieldmend.recovery.judging import flags, judgeable, outside
from fieldmend.recovery.result import Holdout, Options, Recovered


@dataclass(frozen=True)
class _Solved:
    """The solve of one condition, at the nodes that were heard, and what it said."""

    out: Decomposition
    notes: tuple[str, ...]


def recover_condition(grid: Grid, name: str, options: Options) -> Recovered:
    """Recover one condition of a grid."""
    X = grid.values[name]
    observed = ~np.isnan(X)
    failed = outside(X, options.limits.get(name))
    evidence = np.where(failed, np.nan, X)
    heard: Array = (~np.isnan(evidence)).any(axis=0)
    if not heard.any():
        return _nothing(grid, name, failed)
    solved = _solve(evidence[:, heard], options)
    out = solved.out
    estimate = _spread_out(out.estimate, heard, X.shape)
    judged = judgeable(observed & ~failed)
    suspect = _suspect(evidence, estimate, out, heard) & judged
    anomaly = np.where(suspect | failed, _off(X, estimate), 0.0)
    context = faults.Context(
        nodes=grid.nodes,
        times=grid.times,
        slot=grid.slot,
        condition=name,
        unit=grid.units.get(name, ""),
        places=grid.places,
        companions={other: a for other, a in grid.values.items() if other != name},
    )
    episodes = faults.classify(evidence, estimate, suspect, context)
    return Recovered(
        name=name,
        unit=context.unit,
        observed=X,
        estimate=estimate,
        lower=None,
        upper=None,
        anomaly=anomaly,
        flag=flags(observed, judged, suspect, failed),
        scale=faults.spread(evidence, estimate),
        method=out.method,
        rank=out.rank,
        gap=out.gap,
        status=str(out.status),
        choice="",
        holdout=_score(np.where(suspect, np.nan, evidence)[:, heard], options, out),
        episodes=episodes,
        notes=(*solved.notes, *_notes(grid, heard, judged, observed)),
    )


def _solve(X: Array, options: Options) -> _Solved:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        out = decompose(X, method=options.method, seed=options.seed)
    return _Solved(out, tuple(str(w.message) for w in caught))


def _suspect(X: Array, estimate: Array, out: Decomposition, heard: Array) -> Array:
    """The method's own decision if it has one, else readings far off the field."""
    return faults.spikes(X, estimate)


def _off(X: Array, estimate: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        distance: Array = X - estimate
    return distance


def _spread_out(array: Array, heard: Array, shape: tuple[int, ...]) -> Array:
    """Back to all nodes; one that was never heard gets the median of the others, slot by slot."""
    if heard.all():
        return array
    full = np.empty(shape, dtype=array.dtype)
    full[:, heard] = array
    full[:, ~heard] = np.median(array, axis=1, keepdims=True)
    return full


def _score(X: Array, options: Options, out: Decomposition) -> Holdout | None:
    """Hide readings that passed, solve again, compare with a straight line on the same ones."""
    if not options.holdout:
        return None
    observed = ~np.isnan(X)
    hidden = hide(observed, options.seed + 1)
    if not hidden.any():
        return None
    left = np.where(hidden, np.nan, X)
    again: Array = np.asarray(_solve(left, options).out.estimate, dtype=np.float64)
    truth = np.where(hidden, X, np.nan)
    seen = observed & ~hidden
    ours = hidden_errors(again, truth, seen, readings=left)
    line = hidden_errors(interpolate(left), truth, seen, readings=left)
    return Holdout(ours, line)


def _nothing(grid: Grid, name: str, failed: Array) -> Recovered:
    X = grid.values[name]
    empty = np.full(X.shape, np.nan)
    why = "no reading within the limits" if failed.any() else "no reading at all"
    return Recovered(
        name=name, unit=grid.units.get(name, ""), observed=X, estimate=empty, lower=None,
        upper=None, anomaly=np.zeros(X.shape),
        flag=np.where(failed, np.int8(4), np.int8(9)), scale=np.zeros(X.shape[1]),
        method="none", rank=0, gap=np.nan, status="nothing to recover", choice="", holdout=None,
        episodes=(), notes=(f"{why}: nothing to recover",),
    )  # fmt: skip


def _notes(grid: Grid, heard: Array, judged: Array, observed: Array) -> list[str]:
    notes: list[str] = []
    silent = int(np.count_nonzero(~heard))
    if silent:
        notes.append(
            f"{silent} node{'s' * (silent != 1)} without a reading: estimated as the median of "
            "the others"
        )
    if not judged.any():
        notes.append("too few nodes or slots to compare with: flags are 2, values passed through")
    return notes
