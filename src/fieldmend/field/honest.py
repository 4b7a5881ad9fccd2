"""What hidden readings taught: how far to lean to what, how wide the intervals are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array
from fieldmend.field.holdout import Calibration, calibrate
from fieldmend.field.lean import Lean, choose_lean
from fieldmend.field.trials import Trial


@dataclass(frozen=True)
class Honest:
    """The leans and the calibration that make a model's estimate and standard deviation honest."""

    to_common: Lean
    to_line: Lean
    calibration: Calibration

    @classmethod
    def learnt(cls, trial: Trial, level: float) -> Honest:
        """From hidden readings, with intervals that hold `level` of them."""
        truth, remote, run = trial.truth, trial.remote, trial.run
        to_common = choose_lean(truth, trial.model, trial.common, remote, run)
        model = to_common.mix(trial.model, trial.common, remote)
        to_line = choose_lean(truth, model, trial.line, remote, run)
        z = np.abs(truth - to_line.mix(model, trial.line, remote)) / trial.sd
        return cls(to_common, to_line, calibrate(z, remote, run, level))

    def mix(self, model: Array, common: Array, line: Array, remote: Array) -> Array:
        """The estimate."""
        return self.to_line.mix(self.to_common.mix(model, common, remote), line, remote)
