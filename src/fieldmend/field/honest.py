"""What hidden readings taught: how far to lean to what, how wide the intervals are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.holdout import Calibration, calibrated
from fieldmend.field.lean import Lean, choose_lean, lean_to_second
from fieldmend.field.trials import Trial

_OUTAGES, _FEW = 4, 60  # silences of the network, and readings hidden there, to learn from

Bounds = tuple[Array, Array]
"""Estimates, and half their intervals."""


@dataclass(frozen=True)
class Said:
    """All that is said of entries, scaled; NaN where one of them says nothing."""

    model: Array
    common: Array
    line: Array
    second: Array
    remote: Array
    silent: Mask  # the entries, or their slots
    routine: Array | None = None


@dataclass(frozen=True)
class Honest:
    """The leans and the calibration that make a model's estimate and standard deviation honest."""

    to_common: Lean
    to_line: Lean
    to_second: Lean
    calibration: Calibration
    to_routine: Lean | None = None
    apart: Honest | None = None  # the same where most of the network is silent

    @classmethod
    def learnt(cls, trial: Trial, level: float, usual: float = 0.5, routine: float = 0.0) -> Honest:
        """From hidden readings, with intervals that hold `level` of them.

        `usual` is the weight of the second look as long as they say nothing of it, `routine` that
        of the usual course in slots without company. What holds in
        slots without company is learnt apart, from readings that were hidden in such.
        """
        silent = trial.outage >= 0
        outages, company = len(np.unique(trial.outage[silent])), int((~silent).sum())
        if outages < _OUTAGES or min(int(silent.sum()), company) < _FEW:
            return cls._learnt(trial, level, usual)
        apart = cls._alone(trial.kept(silent), level, usual, routine)
        return replace(cls._learnt(trial.kept(~silent), level, usual), apart=apart)

    @classmethod
    def _alone(cls, trial: Trial, level: float, usual: float, routine: float) -> Honest:
        """Of hidden readings without company: one outage is one witness."""
        truth, remote, outage = trial.truth, trial.remote, trial.outage
        told = partial(lean_to_second, outage=outage, fresh=_fresh(trial))
        to_common = choose_lean(truth, trial.model, trial.common, remote, outage)
        model = to_common.mix(trial.model, trial.common, remote)
        to_second = told(truth, model, trial.second, remote, usual=usual)
        mean = to_second.mix(model, trial.second, remote)
        # Without company the model says little more than a line does: half and half to start from.
        to_line = told(truth, mean, trial.line, remote)
        mean = to_line.mix(mean, trial.line, remote)
        to_routine = None
        if np.isfinite(trial.routine).any():
            to_routine = told(truth, mean, trial.routine, remote, usual=routine)
            mean = to_routine.mix(mean, trial.routine, remote)
        z = np.abs(truth - mean) / trial.sd
        calibration = calibrated(z, remote, outage, level, mean, together=True)
        return cls(to_common, to_line, to_second, calibration, to_routine)

    @classmethod
    def _learnt(cls, trial: Trial, level: float, usual: float) -> Honest:
        truth, remote, run = trial.truth, trial.remote, trial.run
        to_common = choose_lean(truth, trial.model, trial.common, remote, run)
        model = to_common.mix(trial.model, trial.common, remote)
        to_second = lean_to_second(truth, model, trial.second, remote, usual=usual)
        mean = to_second.mix(model, trial.second, remote)
        to_line = choose_lean(truth, mean, trial.line, remote, run)
        mean = to_line.mix(mean, trial.line, remote)
        z = np.abs(truth - mean) / trial.sd
        return cls(to_common, to_line, to_second, calibrated(z, remote, run, level, mean))

    @classmethod
    def of_other_slots(cls, trial: Trial, level: float, routine: float = 0.0) -> Honest:
        """The same for slots that the model is not fitted to.

        Of the second look nothing is believed there but what it showed in slots it had not seen.
        """
        return cls.learnt(replace(trial, second=trial.later), level, usual=0.0, routine=routine)

    def mix(self, said: Said) -> Array:
        """The estimate from all that is said of entries."""
        mean = self.to_common.mix(said.model, said.common, said.remote)
        mean = self.to_second.mix(mean, said.second, said.remote)
        mean = self.to_line.mix(mean, said.line, said.remote)
        if self.to_routine is not None and said.routine is not None:
            mean = self.to_routine.mix(mean, said.routine, said.remote)
        if self.apart is None or not said.silent.any():
            return mean
        out: Array = np.where(said.silent, self.apart.mix(said), mean)
        return out

    def factor(self, remote: Array, silent: Mask, estimate: Array) -> Array:
        """How many standard deviations hold the level."""
        out = self.calibration.at(remote, estimate)
        if self.apart is None or not silent.any():
            return out
        return np.where(silent, self.apart.calibration.at(remote, estimate), out)

    def of(self, trial: Trial) -> Array:
        """The estimates of hidden readings."""
        said = trial.model, trial.common, trial.line, trial.second, trial.remote
        return self.mix(Said(*said, trial.outage >= 0, trial.routine))


def _fresh(trial: Trial) -> float:
    """Slots hidden by outages, over those of each outage added up: a short record repeats them."""
    each = np.unique(np.stack([trial.outage, trial.slot]), axis=1)
    return float(len(np.unique(each[1])) / each.shape[1])


@dataclass(frozen=True)
class Together:
    """How far to lean to the estimate that other conditions help to make, and its intervals.

    Their own intervals: a lost packet takes its company along, and the others' errors say nothing
    of an entry whose company was heard.
    """

    lean: Lean
    calibration: Calibration

    @classmethod
    def learnt(
        cls, trial: Trial, honest: Honest, level: float, *, better: float
    ) -> Together | None:
        """From hidden readings whose company was heard.

        None if their error does not fall by the factor `better`.
        """
        there = np.isfinite(trial.joint)
        alone, joint, truth = honest.of(trial)[there], trial.joint[there], trial.truth[there]
        remote = trial.remote[there]
        lean = lean_to_second(truth, alone, joint, remote, usual=0.0)
        mean = lean.mix(alone, joint, remote)
        off = np.abs(truth - mean)
        if off.mean() > better * np.abs(truth - alone).mean():
            return None
        z = off / trial.sd[there]
        return cls(lean, calibrated(z, remote, trial.run[there], level, mean))

    def mix(self, mean: Array, half: Array, joint: Array, sd: Array, remote: Array) -> Bounds:
        """Estimates and half their intervals, as they are where no company was heard."""
        there = np.isfinite(joint)
        mean = self.lean.mix(mean, joint, remote)
        return mean, np.where(there, sd * self.calibration.at(remote, mean), half)
