"""What a recovery gives back, as plain data: all that report, export and the command know of it.

`result` (all conditions), `recovered` (one), `holdout` (errors on hidden readings), `options` (how
it was made); made from them: `frames`, `anomalies`, `summary`.
"""
