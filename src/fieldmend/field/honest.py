"""What hidden readings taught: how far to lean to what, how wide the intervals are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.prox import Array
from fieldmend.field.holdout import Calibration, calibrate
from fieldmend.field.lean import Lean, choose_lean, stack
from fieldmend.field.trials import Trial

Bounds = tuple[Array, Array]
"""Estimates, and half their intervals."""


@dataclass(frozen=True)
class Honest:
    """The leans and the calibration that make a model's estimate and standard deviation honest."""

    to_common: Lean
    to_line: Lean
    to_second: Lean
    calibration: Calibration

    @classmethod
    def learnt(cls, trial: Trial, level: float, usual: float = 0.5) -> Honest:
        """From hidden readings, with intervals that hold `level` of them.

        `usual` is the weight of the second look as long as they say nothing of it.
        """
        truth, remote, run = trial.truth, trial.remote, trial.run
        to_common = choose_lean(truth, trial.model, trial.common, remote, run)
        model = to_common.mix(trial.model, trial.common, remote)
        to_line = choose_lean(truth, model, trial.line, remote, run)
        first = to_line.mix(model, trial.line, remote)
        to_second = stack(truth, first, trial.second, remote, usual)
        z = np.abs(truth - to_second.mix(first, trial.second, remote)) / trial.sd
        return cls(to_common, to_line, to_second, calibrate(z, remote, run, level))

    @classmethod
    def of_other_slots(cls, trial: Trial, level: float) -> Honest:
        """The same for slots that the model is not fitted to.

        Of the second look nothing is believed there but what it showed in slots it had not seen.
        """
        return cls.learnt(replace(trial, second=trial.later), level, usual=0.0)

    def mix(self, model: Array, common: Array, line: Array, second: Array, remote: Array) -> Array:
        """The estimate from all that is said of an entry."""
        mean = self.to_common.mix(model, common, remote)
        mean = self.to_line.mix(mean, line, remote)
        return self.to_second.mix(mean, second, remote)

    def of(self, trial: Trial) -> Array:
        """The estimates of hidden readings."""
        return self.mix(trial.model, trial.common, trial.line, trial.second, trial.remote)


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
        lean = stack(truth, alone, joint, remote, usual=0.0)
        off = np.abs(truth - lean.mix(alone, joint, remote))
        if off.mean() > better * np.abs(truth - alone).mean():
            return None
        z = off / trial.sd[there]
        return cls(lean, calibrate(z, remote, trial.run[there], level))

    def mix(self, mean: Array, half: Array, joint: Array, sd: Array, remote: Array) -> Bounds:
        """Estimates and half their intervals, as they are where no company was heard."""
        there = np.isfinite(joint)
        half = np.where(there, sd * self.calibration.at(remote), half)
        return self.lean.mix(mean, joint, remote), half
