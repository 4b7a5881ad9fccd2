"""The main job: from any source of records to the recovered field, with labels.

`job` (the order of the steps), `options` (checked first), `condition` (one condition, window after
window), `solving` (one window), `windows`, `room` (where results live), `witnesses` (who was
heard), `judging` (flags), `holdout` (readings hidden on purpose), `notes` (sentences);
what comes out: `result`, `frames`, `anomalies`, `summary`.
"""

from fieldmend.recovery.holdout import Holdout
from fieldmend.recovery.job import recover
from fieldmend.recovery.options import Options
from fieldmend.result.recovery import Recovered, Recovery

__all__ = ["Holdout", "Options", "Recovered", "Recovery", "recover"]
