"""Anomaly detection on observed entries (in the paper's source, commented out)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend import simulate
from fieldmend.experiments.cells import Cell, Store
from fieldmend.experiments.contestants import contestants, separation
from fieldmend.experiments.data import ANOMALIES, NOISE, SEED, FloatArray, Matrix
from fieldmend.experiments.sampling import QUICK_RATES, RATES, generator, partial, shown
from fieldmend.experiments.tables import Row, over_runs
from fieldmend.metrics import detection

RUNS = 2
FEWER = {"auto": 1}  # one solve takes seconds


def cells(matrices: list[Matrix], store: Store, *, quick: bool) -> list[Cell]:
    """The sweep of the recovery, for the methods that look for anomalies."""
    rates = QUICK_RATES if quick else RATES
    detecting = [name for name, one in contestants().items() if one.detects]
    return [
        Cell("detection", {"method": method, "rate": rate, "run": run}, store.keep(matrix))
        for matrix in matrices
        for method in detecting
        for rate in rates
        for run in range(1 if quick else FEWER.get(method, RUNS))
    ]


def clean(matrix: Matrix) -> FloatArray:
    """A matrix to put anomalies into: the true field with noise, or the readings less S.

    Of a real matrix nobody knows the anomalies; those that LS-Separation finds are taken out.
    """
    if matrix.field is None:
        less: FloatArray = matrix.values - separation(matrix).sparse
        return less
    noise = np.random.default_rng(SEED).normal(size=matrix.field.shape)
    noisy: FloatArray = matrix.field + NOISE * np.ptp(matrix.field) * noise
    return noisy


def measure(matrix: Matrix, *, method: str, rate: float, run: int) -> list[Row]:
    """Precision and recall for 4 % spikes among the readings shown."""
    seen = shown(matrix, rate, run)
    rng = generator(matrix, rate, run + 1000)
    false = simulate.corrupt(partial(clean(matrix), seen), rate=ANOMALIES, seed=rng)
    support = false.deviation != 0
    told = replace(separation(matrix), sparse=false.deviation)
    answer = contestants()[method].answer(false.readings, told)
    flagged = np.zeros_like(seen) if answer.sparse is None else answer.sparse != 0
    out = detection(flagged, support, seen)
    found = {"precision": out.precision, "recall": out.recall, "f1": out.f1}
    return [{**matrix.labels, "method": method, "rate": rate, "run": run, **found}]


def table(rows: list[Row]) -> list[Row]:
    """Mean and spread over runs."""
    by = ("deployment", "condition", "simulated", "method", "rate")
    return over_runs(rows, by, ("precision", "recall", "f1"))
