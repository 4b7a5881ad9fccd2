"""Anomaly detection on observed entries (in the paper's source, commented out)."""

from __future__ import annotations

from dataclasses import replace

from fieldmend import simulate
from fieldmend.experiments.cells import Cell, Store
from fieldmend.experiments.contestants import contestants, found_false, separation
from fieldmend.experiments.data import ANOMALIES, FloatArray, Matrix
from fieldmend.experiments.sampling import QUICK_RATES, RATES, generator, partial, shown
from fieldmend.experiments.tables import Row, over_runs

RUNS = 2  # of a real matrix; a simulated one has the runs of the sweep
FEWER = {("ndbc", "auto"): 1}  # one solve takes seconds


def cells(matrices: list[Matrix], store: Store, *, quick: bool) -> list[Cell]:
    """The sweep of the recovery, for the methods that look for anomalies, on real matrices.

    A simulated matrix has known anomalies from the start: there the sweep's own answers are graded.
    """
    rates = QUICK_RATES if quick else RATES
    detecting = [name for name, one in contestants().items() if one.detects]
    return [
        Cell("detection", {"method": method, "rate": rate, "run": run}, store.keep(matrix))
        for matrix in matrices
        if matrix.false is None
        for method in detecting
        for rate in rates
        for run in range(1 if quick else FEWER.get((matrix.deployment, method), RUNS))
    ]


def clean(matrix: Matrix) -> FloatArray:
    """A real matrix to put anomalies into: nobody knows its own; those LS-Separation finds go."""
    less: FloatArray = matrix.values - separation(matrix).sparse
    return less


def measure(matrix: Matrix, *, method: str, rate: float, run: int) -> list[Row]:
    """Precision and recall for 4 % spikes among the readings shown."""
    seen = shown(matrix, rate, run)
    rng = generator(matrix, rate, run + 1000)
    false = simulate.corrupt(partial(clean(matrix), seen), rate=ANOMALIES, seed=rng)
    told = replace(separation(matrix), sparse=false.deviation)
    answer = contestants()[method].answer(false.readings, told)
    found = found_false(answer, false.deviation != 0, seen)
    return [{**matrix.labels, "method": method, "rate": rate, "run": run, **found}]


def table(rows: list[Row]) -> list[Row]:
    """Mean and spread over runs."""
    by = ("deployment", "condition", "simulated", "method", "rate")
    return over_runs(rows, by, ("precision", "recall", "f1"))
