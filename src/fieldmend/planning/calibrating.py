"""A model for thinned readings: what it leans to, and how wide its intervals are, under a schedule.

A model is fitted to a record that has nearly everything, and learns from gaps like those it saw how
far to believe the common field, the line between a node's own readings, and itself. A schedule
makes gaps of another kind: every node at once, or all of one length. What to lean to there
is asked of the record itself: thinned by the schedule, the left-out readings are the witnesses.
"""

from __future__ import annotations

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


def for_schedule(part: FittedField, trial: Trial) -> FittedField:
    """The model with what the witnesses of a schedule say; as it was if they are too few."""
    if len(trial.truth) < FEWEST:
        return part
    mixed = Honest.of_other_slots(trial, part.level)
    line = _line(trial, part.level)
    second = replace(trial, second=trial.later)
    best = min(mixed, line, key=lambda one: float(np.abs(trial.truth - one.of(second)).mean()))
    return replace(part, later=best)


def _line(trial: Trial, level: float) -> Honest:
    """The line between a node's own readings and nothing else."""
    nothing, all_of_it = Lean(np.zeros(CLASSES)), Lean(np.ones(CLASSES))
    there = np.isfinite(trial.line)
    said = np.where(there, trial.line, trial.model)
    z = np.abs(trial.truth - said) / trial.sd
    return Honest(nothing, all_of_it, nothing, calibrate(z, trial.remote, trial.run, level))
