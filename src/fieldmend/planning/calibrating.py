"""A model for thinned readings: what it leans to, and how wide its intervals are, under a schedule.

A model is fitted to a record that has nearly everything, and learns from gaps like those it saw how
far to believe the common field, the line between a node's own readings, and itself. A schedule
makes gaps of another kind: every node at once, or all of one length. What to lean to there
is asked of the record itself: thinned by the schedule, the left-out readings are the witnesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fieldmend.core.line import lines
from fieldmend.field.fitted import FittedField
from fieldmend.field.holdout import calibrate, distances, remoteness
from fieldmend.field.honest import Honest
from fieldmend.field.lean import CLASSES, Lean
from fieldmend.field.model import estimate
from fieldmend.field.record import Record
from fieldmend.field.trials import Trial, numbered_runs
from fieldmend.grid import Array

FEWEST = 200  # readings that were not sent, to learn from


def witnesses(part: FittedField, X: Array, sent: Array, true: Array, first: int) -> Trial:
    """What a model that has not seen these slots says of readings that were not sent.

    Parameters
    ----------
    part
        The model of one condition.
    X
        Its readings, slots × nodes, NaN where lost.
    sent
        True where a message arrived.
    true
        True for readings that may be believed.
    first
        Number of the first slot to the model.
    """
    slots = np.arange(len(X))
    every = Record.of(X, ~np.isnan(X) & true, part.view, first).data(slots)
    data = Record.of(X, ~np.isnan(X) & sent, part.view, first).data(slots)
    now, clean = part.window(data)
    hidden = every.used & ~data.used
    model, variance = estimate(now, clean)
    unasked = np.full(int(hidden.sum()), np.nan)
    second = unasked if part.second is None else part.second.estimate(model, clean)[hidden]
    node, slot = np.nonzero(hidden)
    back, ahead = (d[hidden] for d in distances(clean.used, clean.slots))
    return Trial(
        node=node,
        slot=slot,
        truth=every.readings[hidden],
        model=model[hidden],
        common=now.common()[hidden],
        line=lines(clean.readings, clean.used)[hidden],
        second=unasked,
        later=second,
        joint=unasked,
        sd=np.sqrt(variance[hidden]),
        remote=remoteness(back, ahead),
        gap=np.ones(len(node), dtype=np.intp),
        routine=unasked,
        run=numbered_runs(clean.used, hidden),
        outage=np.full(len(node), -1, dtype=np.intp),  # silence is the rule here, not the exception
    )


def for_schedule(parts: Sequence[FittedField], trials: Sequence[Trial]) -> FittedField:
    """Of models that differ in their rules, the one that the witnesses of a schedule prefer.

    With the leans and intervals that they say; the first as it was if they are too few.
    """
    if len(trials[0].truth) < FEWEST:
        return parts[0]
    found = [_leaning(part, trial) for part, trial in zip(parts, trials, strict=True)]
    return min(found, key=lambda one: one[0])[1]


def _leaning(part: FittedField, trial: Trial) -> tuple[float, FittedField]:
    """A model with what its witnesses say, and the error at them."""
    mixed = Honest.of_other_slots(trial, part.level)
    line = _line(trial, part.level)
    second = replace(trial, second=trial.later)
    errors = [float(np.abs(trial.truth - one.of(second)).mean()) for one in (mixed, line)]
    return min(errors), replace(part, later=mixed if errors[0] <= errors[1] else line)


def _line(trial: Trial, level: float) -> Honest:
    """The line between a node's own readings and nothing else."""
    nothing, all_of_it = Lean(np.zeros(CLASSES)), Lean(np.ones(CLASSES))
    there = np.isfinite(trial.line)
    said = np.where(there, trial.line, trial.model)
    z = np.abs(trial.truth - said) / trial.sd
    return Honest(nothing, all_of_it, nothing, calibrate(z, trial.remote, trial.run, level))
