"""The automatic recovery: fit, calibrate on hidden readings, and the field at every entry.

The parameters are fitted on part of a long record; the field is then smoothed window by window with
the same parameters, windows overlapping so that their seams do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldmend.core.loop import Iteration, Tell, silent, teller
from fieldmend.core.prox import Array, Mask
from fieldmend.field.choosing import choose_course
from fieldmend.field.cycles import Course, periods
from fieldmend.field.fitted import Applied, FittedField, FittedOn, Known, digest
from fieldmend.field.fitting import Fit, fit, silences
from fieldmend.field.holdout import Holdout
from fieldmend.field.honest import Honest, Together
from fieldmend.field.joint import Companions, worth_asking
from fieldmend.field.jumps import Index
from fieldmend.field.model import Data, Field, follow, loading_sums, with_loadings
from fieldmend.field.outages import closed_slots, usual_company
from fieldmend.field.power import PLAIN, Power
from fieldmend.field.record import Record, View
from fieldmend.field.scaling import node_scaling, scaled, single
from fieldmend.field.trials import Trial
from fieldmend.field.wandering import for_long_gaps
from fieldmend.field.windows import fit_slots, windows, worth_refining

_BETTER = 0.95  # other conditions have to lower the error on hidden readings by this factor
_ASKED = 60  # hidden readings whose company was heard, to learn from
_SLOTS = 2000  # of a long record, enough to tell the nodes apart


@dataclass(frozen=True)
class Learnt:
    """A fitted model, what fitting found in the record itself, and its hidden readings."""

    model: FittedField
    known: list[Known] | None  # of every window, where there is something to start from
    holdout: Holdout
    fitted: Fit


def recover_field(
    X: Array,
    observed: Mask,
    *,
    companions: Sequence[Array] = (),
    joint: bool = False,
    callback: Callable[[Iteration], object] | None = None,
    **options: Any,
) -> tuple[Applied, Learnt]:
    """Recover the field from readings, slots × nodes: fit a model, apply it to the same record.

    The options of `learn`; `companions` are other conditions of the same slots and nodes, asked
    where they were heard and this one was not if that lowers the error at hidden readings, or if
    `joint` says so. The callback is told of every part of the work.

    O(T·N·r) time; memory a few times that of one window besides the results.
    """
    tell = teller(callback)
    asked = worth_asking(X, observed, companions, ask=joint)
    learnt = learn(X, observed, companions=asked, tell=tell, **options)
    out = learnt.model.apply(X, observed, known=learnt.known, own=True, companions=asked, tell=tell)
    return out, learnt


def learn(  # noqa: PLR0913 - the options of the method, keyword-only
    X: Array,
    observed: Mask,
    *,
    level: float = 0.9,
    period: object = None,
    seed: int = 0,
    companions: Companions | None = None,
    power: Power = PLAIN,
    doubting: bool = True,
    tell: Tell = silent,
) -> Learnt:
    """Fit the model of one condition to readings, slots × nodes.

    `period` in slots, one or several: cycles to try, used if hidden readings come out better.
    `power` is the scale that the readings are modelled on; what comes of it is in their own units.
    Unless `doubting`, no reading may look false: whoever asks has judged them.
    """
    if not 0.0 < level < 1.0:
        msg = f"level must lie between 0 and 1, for example 0.9; it is {level!r}"
        raise ValueError(msg)
    asked = periods(period)
    modelled = power.forward(X)
    order, sign = _order(modelled, observed, seed)
    view = View(order, sign, node_scaling(modelled[:, order], observed[:, order]), power=power)
    sample = fit_slots(*X.shape)
    record = Record.of(X, observed, view, companions=companions)
    if asked:
        view = replace(view, course=choose_course(_sampled(record, asked), asked, len(X), seed))
        record = replace(record, view=view)
    # A course that is off already has no second part to play.
    taken = view.course is not None and bool(view.course.values.any())
    course = view.course if taken else None
    data = _sampled(record, asked)
    fitted = fit(data, seed, tell, lengths=asked, course=course, doubting=doubting)
    trial = Trial.pooled(fitted.trials)
    routine = _usual(fitted)
    later = Honest.of_other_slots(trial, level, routine)
    # Of a long record most slots are others than those fitted to.
    honest = Honest.learnt(trial, level, routine=routine) if len(sample) == len(X) else later
    together = None
    if fitted.joint is not None and np.isfinite(trial.joint).sum() >= _ASKED:
        better = np.inf if companions is not None and companions.asked else _BETTER
        together = Together.learnt(trial, honest, level, better=better)
    field, known = _refined(record, fitted, tell)
    nothing = np.zeros((field.rank, 0))
    model = FittedField(
        view=view,
        field=replace(field, factors=nothing, deviation=nothing, doubt=single(field.doubt)),
        screen=for_long_gaps(fitted.screen, fitted.clean, fitted.field.common()),
        second=fitted.second,
        honest=honest,
        later=later,
        level=level,
        choice=_choice(fitted, honest, view.course) + _company_words(together),
        start=fitted.start,
        fitted_on=FittedOn(len(X), int(observed.sum()), digest(X, observed)),
        joint=None if together is None else fitted.joint,
        together=together,
        routine=None if fitted.routine is None else fitted.routine.kept(),
        levels=None if fitted.levels is None else fitted.levels.kept(),
        company=usual_company(fitted.clean.used),
    )
    return Learnt(model, known, _reported(fitted, view, level), fitted)


def _sampled(record: Record, asked: Sequence[int]) -> Data:
    """The slots to fit to; of hours at which nobody is ever heard nothing is lost."""
    data = record.data(fit_slots(*record.X.shape))
    if not asked:
        return data
    closed = closed_slots(data.used.sum(axis=0) > 0, data.slots, min(asked))
    return replace(data, closed=closed) if closed.any() else data


def for_days_to_come(learnt: Learnt, seed: int) -> FittedField:
    """The model, with what one more hold-out says: other days may have gaps that these had not."""
    trials = [*learnt.fitted.trials, silences(learnt.fitted, seed)]
    later = Honest.of_other_slots(Trial.pooled(trials), learnt.model.level, _usual(learnt.fitted))
    return replace(learnt.model, later=later)


def _company_words(together: Together | None) -> str:
    if together is None:
        return ""
    share = 100 * together.lean.weight.max()
    return f", other conditions of the node count up to {share:.0f} % where they were heard"


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


def _refined(record: Record, fitted: Fit, tell: Tell) -> tuple[Field, list[Known] | None]:
    """The parameters, and what is known of the record's windows.

    Where the parameters come from few slots, a pass over the record sharpens the loadings.
    """
    plan, slots = windows(*record.X.shape), len(fitted.clean.slots)
    field = fitted.field
    if len(plan) == 1 and slots == len(record.X):
        false = record.data(plan[0].slots).used & ~fitted.clean.used
        routine, levels = (
            None if part is None else part.field.factors for part in (fitted.routine, fitted.levels)
        )
        bits = np.packbits(false)
        return field, [Known(bits, field.factors, settled=True, routine=routine, levels=levels)]
    if not worth_refining(slots, len(record.X)):
        return field, None
    known, sums = [], None
    for window in plan:
        data = record.data(window.slots)
        false, now = fitted.screen(data, field)
        clean = data.using(data.used & ~false)
        now = follow(now, clean, tol=1e-2, most=10)
        own = loading_sums(now, clean)
        sums = own if sums is None else sums + own
        known.append(Known(np.packbits(false), now.factors, settled=False))
        tell(field.rank)
    assert sums is not None
    return with_loadings(field, sums), known


def _usual(fitted: Fit) -> float:
    """Weight of the usual course where the network is silent, before outages say anything."""
    return 0.0 if fitted.routine is None else fitted.routine.usual


def _reported(fitted: Fit, view: View, level: float) -> Holdout:
    """The hold-outs in the units of the readings, each judged by what the others taught."""
    trials = fitted.trials
    means, halves = [], []
    for k, own in enumerate(trials):
        others = [t for i, t in enumerate(trials) if i != k] or [own]
        honest = Honest.learnt(Trial.pooled(others), level, routine=_usual(fitted))
        mean = honest.of(own)
        means.append(mean)
        halves.append(own.sd * honest.factor(own.remote, own.outage >= 0, mean))
    every, mean, half = Trial.pooled(trials), np.concatenate(means), np.concatenate(halves)
    scale, centre = view.sign * view.scaling.scale[every.node], view.scaling.center[every.node]
    half *= view.sign
    if view.course is not None:
        at = np.searchsorted(fitted.clean.slots, every.slot)
        centre = centre + scale * fitted.clean.usual[every.node, at]
    truth, mean, low, high = (
        view.power.back(end * scale + centre)
        for end in (every.truth, mean, mean - half, mean + half)
    )
    return Holdout(every.slot, view.order[every.node], truth, mean, low, high, every.gap)


def _choice(fitted: Fit, honest: Honest, course: Course | None) -> str:
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
    if fitted.levels is not None:
        weight = 100 * float(fitted.levels.lean.weight.max())
        words.append(f"how levels go together counts up to {weight:.0f} %")
    if fitted.second is not None:
        shares = 100 * honest.to_second.weight
        words.append(
            f"each node also by the nodes most like it ({shares.min():.0f} to {shares.max():.0f} %)"
        )
    for lean, what in (honest.to_line, "straight line"), (honest.to_common, "common field"):
        weight = float(lean.weight.max())
        if weight > 0:
            words.append(f"leans to the {what} by up to {100 * weight:.0f} %")
    if course is not None:
        words.append(course.said)
    if honest.apart is not None and honest.apart.to_routine is not None:
        weight = 100 * float(honest.apart.to_routine.weight.max())
        words.append(f"the usual course counts up to {weight:.0f} % where the network is silent")
    return ", ".join(words)
