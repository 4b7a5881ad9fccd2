"""`fieldmend evaluate`: hide readings of the user's own data and see which method finds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from math import exp, log
from statistics import fmean
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.evaluation import peers
from fieldmend.evaluation.hiding import PATTERNS, Mask
from fieldmend.evaluation.own import LINE, RECOVER, error_rows, own_rows, whole_pipeline
from fieldmend.experiments.contestants import solved
from fieldmend.experiments.data import FloatArray
from fieldmend.experiments.tables import Row, Table, column, over_runs, select
from fieldmend.grid import Grid
from fieldmend.holdout.strata import STARTS
from fieldmend.methods import METHODS
from fieldmend.metrics import hidden_errors, interpolate
from fieldmend.quantities import identify_all
from fieldmend.records import read

OWN = "gaps"  # as the record lost readings; the other ways are the paper's
RATES = (0.95, 0.8, 0.5)  # shares of the readings that stay
MOST = 50_000  # entries of a condition that are looked at,
MOST_OWN = 200_000  # in the record's own gaps
FEWEST = 20  # hidden readings that a score needs
Recover = Callable[[FloatArray], FloatArray]
Progress = Callable[[str, float], object]


def methods(*, with_peers: bool = True) -> dict[str, Recover]:
    """Title → method: a straight line, ours, and other libraries' where they are installed."""
    own: dict[str, Recover] = {LINE: interpolate, RECOVER: whole_pipeline}
    if "auto" in METHODS:
        own["auto"] = lambda X: solved(X, method="auto").estimate
    own["ls"] = lambda X: solved(X, tol=1e-5).estimate
    own["ls-debias"] = lambda X: solved(X, tol=1e-5, debias=True).estimate
    own["mc"] = lambda X: solved(X, method="mc", tol=1e-4).estimate
    own["srmf"] = lambda X: solved(X, method="srmf", tol=1e-4).estimate
    own["apg"] = lambda X: solved(X, method="apg", tol=1e-4).estimate
    return own | (peers.installed() if with_peers else {})


# The paper's algorithm reaches the optimum of `ls` with another λ, slowly: only if asked for.
DEFAULT_OUT = ("apg",)


@dataclass(frozen=True)
class Evaluation:
    """How far off each method was at readings it did not see."""

    rows: Table  # condition, hide, rate, method, run, gap ("all" or a range), hidden, mae, rmse
    units: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def table(self) -> list[Row]:
        """Mean error by condition, way of hiding, sampling rate and method; best first."""
        rows = select(self.rows, gap="all")
        out = over_runs(rows, ("condition", "hide", "rate", "method"), ("mae", "rmse"))
        return _ranked(out, ("condition", "hide", "rate"))

    def by_gap(self) -> list[Row]:
        """Error by condition, length of the gap and method, all draws together; best first."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            if row["gap"] != "all":
                key = row["condition"], row["gap"], row["method"]
                groups.setdefault(key, []).append(row)
        out = [
            {"condition": key[0], "gap": key[1], "method": key[2], **_pooled(rows)}
            for key, rows in groups.items()
        ]
        out.sort(key=lambda row: _first(str(row["gap"])))
        return _ranked(out, ("condition", "gap"))

    def ratios(self, condition: str | None = None) -> dict[str, float]:
        """Method → its mean absolute error over the line's, geometric mean over cells; best first.

        A cell is a condition, a way of hiding and a sampling rate.
        """
        logs: dict[str, list[float]] = {}
        for errors in self._cells(condition).values():
            for name, error in errors.items():
                logs.setdefault(name, []).append(_log_ratio(error, errors[LINE]))
        found = {name: exp(fmean(values)) for name, values in logs.items()}
        return dict(sorted(found.items(), key=lambda item: (item[1], item[0] != LINE)))

    def _cells(self, condition: str | None = None) -> dict[tuple[Any, ...], dict[str, float]]:
        cells: dict[tuple[Any, ...], dict[str, float]] = {}
        for row in self.table():
            if condition in (None, row["condition"]):
                key = row["condition"], row["hide"], row["rate"]
                cells.setdefault(key, {})[str(row["method"])] = float(row["mae"])
        return cells

    def best(self, condition: str | None = None) -> str:
        """The method with the lowest ratio, of one condition or of all."""
        return next(iter(self.ratios(condition)))

    @property
    def recommendation(self) -> str:
        """One sentence, with the number behind it."""
        ratios, best = self.ratios(), self.best()
        if len(ratios) == 1:
            return "Only the straight line was tried."
        if best == LINE:
            nearest = list(ratios)[1]
            return (
                "Keep to a straight line between each node's own readings: nothing came closer; "
                f"the nearest, {nearest}, was off {ratios[nearest]:.2f} times as far"
                f"{self._differing()}."
            )
        cells = self._cells()
        wins = sum(min(errors, key=lambda name: errors[name]) == best for errors in cells.values())
        return (
            f"Take {best}: its mean absolute error was {ratios[best]:.2f} times that of a straight "
            f"line (geometric mean over {len(cells)} cells; lowest of all in {wins})"
            f"{self._own(ratios)}{self._differing()}."
        )

    def _own(self, ratios: Mapping[str, float]) -> str:
        """If another library's method is best, the best of ours too."""
        ours = [name for name in ratios if not name.startswith("sklearn-")]
        if ours[0] == self.best():
            return ""
        return f"; the best that fieldmend has is {ours[0]} ({ratios[ours[0]]:.2f})"

    def _differing(self) -> str:
        names = dict.fromkeys(str(row["condition"]) for row in self.rows)
        by = {name: self.best(name) for name in names}
        if len(set(by.values())) < 2:
            return ""
        return "; by condition: " + ", ".join(f"{name} {best}" for name, best in by.items())

    def figure(self) -> Any:
        """Errors over the share of readings kept and over the length of the gap, for Plotly."""
        from fieldmend.evaluation.figure import draw

        return draw(self.table(), self.by_gap(), self.units)


def evaluate(  # noqa: PLR0913  (the options of the command)
    source: Any,
    *,
    hide: Sequence[str] = ("gaps",),
    rates: Sequence[float] = RATES,
    only: Sequence[str] | None = None,
    runs: int = 2,
    slot: str | float | None = None,
    with_peers: bool = True,
    kinds: Mapping[str, str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Any,
) -> Evaluation:
    """Hide readings of one's own data and compare the methods on them.

    Parameters
    ----------
    source
        Anything that `read` takes, or a `Grid`.
    hide
        Ways of hiding: ``gaps`` (as the record really lost readings: the very readings that
        `recover` hides with the same seed), ``uniform``, ``bursts``, ``blocks``.
    rates
        Shares of the readings that stay; not for ``gaps``.
    only
        Titles of the methods to compare (`methods`); the straight line always takes part.
    runs
        Draws of each.
    slot
        As for `Records.grid`.
    with_peers
        scikit-learn's imputers too, if it is installed.
    kinds
        As for `recover`; labels and sequence numbers are left out.
    seed
        Of everything random.
    progress
        Called with what is being done and the share done.
    **reading
        Options of `read`.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=80, nodes=8, field="temperature", sampling=0.9, seed=1)
    >>> grid = fm.Grid.of(net.readings, condition="temperature", unit="°C")
    >>> found = evaluate(grid, rates=[0.8], only=["ls"], runs=1)
    >>> sorted(str(row["method"]) for row in found.table())
    ['ls', 'straight line']
    """
    chosen = check(hide, rates, only, runs=runs, with_peers=with_peers)
    grid = source if isinstance(source, Grid) else _grid(source, slot, reading)
    say = progress or (lambda _, __: None)
    parts, notes = _parts(grid, kinds)
    plan = [
        (name, way, rate, run)
        for name in parts
        for way in hide
        for rate in ((None,) if way == OWN else rates)
        for run in range(runs)
    ]
    rows: list[Row] = []
    for i, (name, way, rate, run) in enumerate(plan):
        kept = "" if rate is None else f", {100 * rate:g} % kept"
        say(f"{name}: {way}{kept}", i / len(plan))
        labels: Row = {"condition": name, "hide": way, "run": run}
        if rate is None:
            own = _stretch(grid, name, notes)
            scores = own_rows(own, name, seed + 1000 * run, _safe(chosen), kinds or {})
        else:
            X = parts[name]
            hidden = PATTERNS[way](~np.isnan(X), rate, seed + 1000 * run)
            scores = [{"rate": rate, **row} for row in _scores(X, hidden, chosen)]
        rows += [{**labels, **row} for row in scores]
        if not scores:
            notes.append(
                f"{name}: {way}{kept}: not scored, fewer than {FEWEST} readings could be hidden"
            )
    say("done", 1.0)
    if not rows:
        raise InputError(
            f"fewer than {FEWEST} readings could be hidden: nothing to compare the methods on",
            hint="Hand in a longer record, hide more (a lower rate), or hide them one by one "
            "(uniform): gaps like the record's own need 200 readings",
        )
    return Evaluation(rows, dict(grid.units), tuple(dict.fromkeys(notes)))


def check(
    hide: Sequence[str],
    rates: Sequence[float],
    only: Sequence[str] | None = None,
    *,
    runs: int = 1,
    with_peers: bool = True,
) -> dict[str, Recover]:
    """The methods to compare, by title; what was asked for has to make sense."""
    _check(hide, rates, runs)
    known = methods(with_peers=with_peers)
    if only is None:
        return {name: one for name, one in known.items() if name not in DEFAULT_OUT}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise InputError(f"no method {unknown[0]!r}", hint=f"One of: {', '.join(known)}")
    return {name: known[name] for name in known if name == LINE or name in only}


def _check(hide: Sequence[str], rates: Sequence[float], runs: int) -> None:
    for way in hide:
        if way not in (OWN, *PATTERNS):
            raise InputError(f"no way of hiding called {way!r}", hint=", ".join((OWN, *PATTERNS)))
    if not hide or not rates or any(not 0 < rate < 1 for rate in rates):
        raise InputError(f"rates {list(rates)}", hint="Shares that stay, between 0 and 1, as 0.8")
    if runs < 1:
        raise InputError(f"{runs} runs", hint="At least one")


def _grid(source: Any, slot: str | float | None, reading: dict[str, Any]) -> Grid:
    with closing(read(source, **reading)) as records:
        return records.grid(slot)


def _parts(
    grid: Grid, kinds: Mapping[str, str] | None = None
) -> tuple[dict[str, FloatArray], list[str]]:
    """Each condition at the nodes heard, cut to the stretch with the most readings if long."""
    parts, notes = {}, list[str]()
    quantities = identify_all(grid.values, grid.units, kinds)
    for name, values in grid.values.items():
        if not quantities[name].measured:
            notes.append(f"{name}: left out, no measurement: {quantities[name].reason}")
            continue
        heard = (~np.isnan(values)).any(axis=0)
        X = values[:, heard]
        slots = max(2, MOST // max(1, X.shape[1]))
        if slots < len(X):
            first = _best(X, slots)
            X = X[first : first + slots]
            notes.append(f"{name}: {slots} of {len(values)} slots looked at, those heard best")
        if not heard.any():
            notes.append(f"{name}: no reading at all")
            continue
        parts[name] = X
    return parts, notes


def _stretch(grid: Grid, name: str, notes: list[str]) -> Grid:
    """The record, or the stretch of it that was heard best if it is long."""
    slots = max(2, MOST_OWN // grid.shape[1])
    if slots >= len(grid.times):
        return grid
    first = _best(grid.values[name], slots)
    rows = slice(first, first + slots)
    notes.append(
        f"{name}: gaps: {slots} of {len(grid.times)} slots looked at, those heard best; what "
        "recover prints is of the whole record"
    )
    values = {other: np.asarray(array[rows]) for other, array in grid.values.items()}
    return replace(grid, values=values, times=grid.times[rows])


def _best(X: FloatArray, slots: int) -> int:
    """First slot of the stretch with the most readings."""
    total = np.concatenate([[0], np.cumsum((~np.isnan(X)).sum(axis=1))])
    return int((total[slots:] - total[:-slots]).argmax())


def _safe(chosen: Mapping[str, Recover]) -> dict[str, Recover]:
    """The methods, each for arrays with nodes that were never heard."""
    return {name: partial(_everywhere, one) for name, one in chosen.items()}


def _scores(X: FloatArray, hidden: Mask, chosen: Mapping[str, Recover]) -> list[Row]:
    """Errors of every method at the hidden readings, in all and by length of the gap."""
    seen = ~np.isnan(X) & ~hidden
    if np.count_nonzero(hidden) < FEWEST or not seen.any():
        return []
    left = np.where(seen, X, np.nan)
    truth = np.where(hidden, X, np.nan)
    rows: list[Row] = []
    for method, recover in chosen.items():
        estimate = _everywhere(recover, left)
        out = hidden_errors(estimate, truth, seen, readings=left, gap_starts=STARTS)
        rows += error_rows(method, out)
    return rows


def _pooled(rows: Table) -> dict[str, float | int]:
    """One error over all hidden readings of several draws."""
    counts = np.array(column(rows, "hidden"))
    mae = np.average(column(rows, "mae"), weights=counts)
    mse = np.average(np.square(column(rows, "rmse")), weights=counts)
    return {"hidden": int(counts.sum()), "mae": float(mae), "rmse": float(np.sqrt(mse))}


def _everywhere(recover: Recover, left: FloatArray) -> FloatArray:
    """A node of which nothing is left gets the median of the others, whatever the method."""
    heard = (~np.isnan(left)).any(axis=0)
    estimate = np.empty_like(left)
    estimate[:, heard] = recover(left[:, heard])
    estimate[:, ~heard] = np.median(estimate[:, heard], axis=1, keepdims=True)
    return estimate


def _first(label: str) -> int:
    return int(label.rstrip("+").split("–")[0])


def _ranked(rows: Table, by: Sequence[str]) -> list[Row]:
    """Groups in their order, the lowest error first within each."""
    order = {key: i for i, key in enumerate(dict.fromkeys(tuple(r[n] for n in by) for r in rows))}
    return sorted(rows, key=lambda r: (order[tuple(r[n] for n in by)], float(r["mae"])))


def _log_ratio(error: float, line: float) -> float:
    tiny = 1e-12 * max(error, line) or 1.0
    return log(max(error, tiny) / max(line, tiny))
