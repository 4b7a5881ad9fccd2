"""The main job: from any source of records to the recovered field, with labels.

`job` (the order of the steps), `condition` (one condition: mask, solve, judge), `holdout` (readings
hidden on purpose), `judging` (flags), `result`, `frames`, `anomalies`, `summary` (what comes out).
"""

from fieldmend.recovery.job import recover
from fieldmend.recovery.result import Holdout, Options, Recovered, Recovery

__all__ = ["Holdout", "Options", "Recovered", "Recovery", "recover"]
