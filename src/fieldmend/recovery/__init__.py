"""The main job: from any source of records to the recovered field, with labels.

`job` (the order of the steps), `options` (checked first), `condition` (one condition: what holds
for all of it, then `engine.each` window), `window` (one window, a pure function), `sinks` (where
its results go), `solving` (the field of a window), `windows`, `storage` (where arrays live),
`witnesses` (who was heard), `judging` (flags), `honest` (readings hidden before all that, and the
whole run once more), `notes` (sentences), `recovery` (what users get: the result and the ways out
of it).
"""

from fieldmend.recovery.job import recover
from fieldmend.recovery.recovery import Recovery
from fieldmend.result.holdout import Holdout
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered

__all__ = ["Holdout", "Options", "Recovered", "Recovery", "recover"]
