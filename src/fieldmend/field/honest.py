"""What hidden readings taught: how far to lean to what, how wide the intervals are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.prox import Array
from fieldmend.field.holdout import Calibration, calibrate
from fieldmend.field.lean import Lean, choose_lean, stack
from fieldmend.field.trials import Trial


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
