"""The automatic recovery: fit, calibrate on hidden readings, and the field at every entry.

The parameters are fitted on part of a long record; the field is then smoothed window by window with
the same parameters, windows overlapping so that their seams do not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.problem import LowRank, Scaling
from fieldmend.core.prox import Array, Mask
from fieldmend.field.cycles import Course, choose_course, periods, without
from fieldmend.field.fitting import Fit, fit
from fieldmend.field.holdout import (
    Calibration,
    Holdout,
    calibrate,
    distances,
    remoteness,
)
from fieldmend.field.jumps import Index
from fieldmend.field.lean import Lean, choose_lean, lines
from fieldmend.field.model import (
    Data,
    Field,
    estimate,
    follow,
    loading_sums,
    with_loadings,
)
from fieldmend.field.scaling import node_scaling, scaled
from fieldmend.field.trials import Trial
from fieldmend.field.windows import Window, fit_slots, windows, worth_refining

_SLOTS = 2000  # of a long record, enough to tell the nodes apart


@dataclass(frozen=True)
class Recovered:
    """What the automatic recovery gives back, slots × nodes, in the units of the readings."""

    estimate: Array
    low_rank: Array
    sparse: Array
    lower: Array
    upper: Array
    factors: LowRank
    scaling: Scaling
    holdout: Holdout
    choice: str
    rank: int

    def reordered(self, order: Index) -> Recovered:
        """With node i moved to place order[i]."""
        back = np.argsort(order)
        names = "estimate", "low_rank", "sparse", "lower", "upper"
        return replace(
            self,
            **{name: getattr(self, name)[:, back] for name in names},
            factors=LowRank(self.factors.left, self.factors.right[back]),
            scaling=Scaling(self.scaling.center[back], self.scaling.scale[back]),
            holdout=replace(self.holdout, columns=order[self.holdout.columns]),
        )


@dataclass(frozen=True)
class _Honest:
    """What hidden readings taught: how far to lean to what, how wide the intervals are."""

    to_common: Lean
    to_line: Lean
    calibration: Calibration

    @classmethod
    def learnt(cls, trial: Trial, level: float) -> _Honest:
        truth, remote, run = trial.truth, trial.remote, trial.run
        to_common = choose_lean(truth, trial.model, trial.common, remote, run)
        model = to_common.mix(trial.model, trial.common, remote)
        to_line = choose_lean(truth, model, trial.line, remote, run)
        z = np.abs(truth - to_line.mix(model, trial.line, remote)) / trial.sd
        return cls(to_common, to_line, calibrate(z, remote, run, level))

    def mix(self, model: Array, common: Array, line: Array, remote: Array) -> Array:
        """The estimate."""
        return self.to_line.mix(self.to_common.mix(model, common, remote), line, remote)


def recover_field(
    X: Array, observed: Mask, *, level: float = 0.9, period: object = None, seed: int = 0
) -> Recovered:
    """Recover the field from readings, slots × nodes.

    `period` in slots, one or several: cycles to try, used if hidden readings come out better.

    O(T·N·r) time; memory a few times that of one window besides the results.
    """
    if not 0.0 < level < 1.0:
        msg = f"level must lie between 0 and 1, for example 0.9; it is {level!r}"
        raise ValueError(msg)
    order, sign = _order(X, observed, seed)
    X, observed = X[:, order], observed[:, order]
    out = _Output(X, observed, node_scaling(X, observed), sign)
    asked = periods(period)
    if asked:
        out.course = choose_course(out.data(fit_slots(*X.shape)), asked, len(X), seed)
    fitted = fit(out.data(fit_slots(*X.shape)), seed)
    honest = _Honest.learnt(Trial.pooled(fitted.trials), level)
    for window, field, clean in _followed(out, fitted):
        out.add(window, field, clean, honest)
    holdout = _reported(fitted.trials, out, level)
    return out.finished(fitted, holdout, honest).reordered(order)


def _order(X: Array, observed: Mask, seed: int) -> tuple[Index, float]:
    """An order of the nodes by their readings, not by their place; and which way is up.

    Random numbers are dealt out in this order and this way up: a node gets the same ones wherever
    it stands, and readings turned upside down give the same field upside down.
    """
    step = max(1, len(X) // _SLOTS)
    X, observed = X[::step], observed[::step]
    values = scaled(X, observed, node_scaling(X, observed))
    key = np.abs(values) @ np.random.default_rng(seed).random(len(X))
    order = np.lexsort((key, observed.sum(axis=0)))
    return order, -1.0 if values[order].sum() < 0 else 1.0


def _followed(out: _Output, fitted: Fit) -> Iterator[tuple[Window, Field, Data]]:
    """Each window with its factors and without its false readings.

    Where the parameters come from few slots, a first pass over the record sharpens the loadings.
    """
    plan = windows(*out.X.shape)
    if len(plan) == 1 and len(fitted.clean.slots) == len(out.X):
        yield plan[0], fitted.field, fitted.clean
        return
    params, flags, starts = fitted.field, [], []
    sums = None
    refine = worth_refining(len(fitted.clean.slots), len(out.X))
    for window in plan:
        data = out.data(window.slots)
        false, field = fitted.screen(data, params)
        clean = data.using(data.used & ~false)
        field = follow(field, clean, tol=1e-2 if refine else 3e-3, most=10)
        if not refine:
            yield window, field, clean
            continue
        own = loading_sums(field, clean)
        sums = own if sums is None else sums + own
        flags.append(np.packbits(false))
        starts.append(field.factors)
    if sums is None:
        return
    params = with_loadings(params, sums)
    for window, packed, start in zip(plan, flags, starts, strict=True):
        data = out.data(window.slots)
        false = np.unpackbits(packed, count=data.used.size).reshape(data.used.shape).astype(bool)
        clean = data.using(data.used & ~false)
        yield window, follow(replace(params, factors=start), clean, tol=3e-3, most=10), clean


def _reported(trials: list[Trial], out: _Output, level: float) -> Holdout:
    """The hold-outs in the units of the readings, each judged by what the others taught."""
    means, halves = [], []
    for k, own in enumerate(trials):
        others = [t for i, t in enumerate(trials) if i != k] or [own]
        honest = _Honest.learnt(Trial.pooled(others), level)
        means.append(honest.mix(own.model, own.common, own.line, own.remote))
        halves.append(own.sd * honest.calibration.at(own.remote))
    every, mean, half = Trial.pooled(trials), np.concatenate(means), np.concatenate(halves)
    scale, centre = out.sign * out.scaling.scale[every.node], out.scaling.center[every.node]
    half *= out.sign
    if out.course is not None:
        values = out.course.values
        centre = centre + scale * values[every.node, every.slot % values.shape[1]]
    return Holdout(
        every.slot,
        every.node,
        every.truth * scale + centre,
        mean * scale + centre,
        (mean - half) * scale + centre,
        (mean + half) * scale + centre,
        every.gap,
    )


class _Output:
    """The results, filled window by window in the units and the precision of the readings."""

    def __init__(self, X: Array, observed: Mask, scaling: Scaling, sign: float) -> None:
        self.X, self.observed, self.scaling, self.sign = X, observed, scaling, sign
        names = "estimate", "low_rank", "sparse", "lower", "upper"
        self.arrays = {name: np.empty_like(X) for name in names}
        self.factors: list[Array] = []
        self.right: Array = np.zeros((X.shape[1], 0))
        self.course: Course | None = None  # what usually happens at this time, taken off

    def data(self, slots: Index) -> Data:
        """The scaled readings of some slots, nodes × slots."""
        whole = len(slots) == slots[-1] - slots[0] + 1
        rows: Index | slice = slice(slots[0], slots[-1] + 1) if whole else slots
        used = np.ascontiguousarray(self.observed[rows].T)
        values = self.sign * scaled(self.X[rows], self.observed[rows], self.scaling)
        data = Data(values, used, slots)
        return data if self.course is None else without(data, self.course)

    def add(self, window: Window, field: Field, clean: Data, honest: _Honest) -> None:
        """Estimate a window; keep its middle."""
        mean, variance = estimate(field, clean)
        remote = remoteness(*distances(clean.used, clean.slots))
        line = lines(clean.readings, clean.used)
        mean = honest.mix(mean, field.common(), line, remote)
        half = self.sign * np.sqrt(variance) * honest.calibration.at(remote)
        rows, kept = slice(window.start, window.stop), window.kept
        usual = 0.0 if self.course is None else self.course.at(clean.slots)
        for name, values in (
            ("estimate", mean),
            ("low_rank", field.common()),
            ("lower", mean - half),
            ("upper", mean + half),
        ):
            self.arrays[name][rows] = self._units((values + usual)[:, kept])
        with np.errstate(over="ignore", invalid="ignore"):
            off = self.X[rows] - self.arrays["estimate"][rows]
        largest = np.finfo(self.X.dtype).max
        false = self.observed[rows] & ~clean.used[:, kept].T
        self.arrays["sparse"][rows] = np.where(false, np.clip(off, -largest, largest), 0.0)
        self.factors.append(field.factors[:, kept].T)
        self.right = np.hstack([field.loadings, field.level[:, None]])

    def _units(self, values: Array) -> Array:
        largest = np.finfo(self.X.dtype).max
        with np.errstate(over="ignore"):
            out: Array = values.T * (self.sign * self.scaling.scale) + self.scaling.center
        return np.clip(out, -largest, largest)

    def finished(self, fitted: Fit, holdout: Holdout, honest: _Honest) -> Recovered:
        """Everything together."""
        field = fitted.field
        left = self.sign * np.hstack([np.vstack(self.factors), np.ones((len(self.X), 1))])
        factors = LowRank(left, self.right)
        return Recovered(
            **self.arrays,
            factors=factors,
            scaling=self.scaling,
            holdout=holdout,
            choice=_choice(fitted, honest, self.course),
            rank=field.rank,
        )


def _choice(fitted: Fit, honest: _Honest, course: Course | None) -> str:
    """One sentence: what was chosen and why."""
    field = fitted.field
    common = (field.loadings**2).sum(axis=1)
    own = field.nodes.spread
    share = float(np.median(own / (own + common + field.nodes.noise)))
    strength = (field.loadings**2).sum(axis=0)
    words = [f"{field.rank} common factors"]
    if field.rank:
        phi = float((strength * field.phi).sum() / (strength.sum() + 1e-300))
        words.append(f"time scale {1.0 / max(1.0 - phi, 1e-3):.0f} slots")
    words.append(f"own wandering {100 * share:.0f} % of a node's variance")
    if fitted.start == "slots":
        words.append("started slot by slot: hidden readings came out better")
    for lean, what in (honest.to_line, "straight line"), (honest.to_common, "common field"):
        weight = float(lean.weight.max())
        if weight > 0:
            words.append(f"leans to the {what} by up to {100 * weight:.0f} %")
    if course is not None:
        words.append(course.said)
    return ", ".join(words)
