"""Readings hidden on purpose, before anything looks at them: arrays only.

In: what was heard and what was lost of a condition. `strata` (in what kind of gap an entry lies),
`drawing` (copies of the real gaps, with their company), `scoring` (how far off an estimate is that
never saw them, weighted by what was really lost). `recovery.honest` runs the pipeline in between;
`recover`, `evaluate`, the report and the benchmarks print what comes out.
"""
