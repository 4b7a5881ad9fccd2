"""Figs. 6–8: recovery error over sampling rates, nine matrices, all methods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fieldmend.experiments.cells import Cell, Store
from fieldmend.experiments.contestants import Answer, contestants, found_false, separation
from fieldmend.experiments.data import FloatArray, Matrix
from fieldmend.experiments.sampling import QUICK_RATES, RATES, partial, shown
from fieldmend.experiments.tables import Row, over_runs
from fieldmend.metrics import nse

RUNS = 10
# Fewer where one solve takes seconds: the full run has to end within 20 minutes on two cores.
FEWER = {
    ("intellab", "auto"): 5,
    ("ndbc", "auto"): 2,
    ("greenorbs", "auto"): 1,
    ("greenorbs", "mc"): 2,
    ("greenorbs", "srmf"): 2,
}


def cells(matrices: list[Matrix], store: Store, *, quick: bool) -> list[Cell]:
    """Matrix by matrix, so that a worker separates each once."""
    rates = QUICK_RATES if quick else RATES
    return [
        Cell("sweep", {"method": method, "rate": rate, "run": run}, store.keep(matrix))
        for matrix in matrices
        for method in contestants()
        for rate in rates
        for run in range(2 if quick else FEWER.get((matrix.deployment, method), RUNS))
    ]


def measure(matrix: Matrix, *, method: str, rate: float, run: int) -> list[Row]:
    """One recovery, against each reading of "ground truth", on all entries and on lost ones."""
    seen = shown(matrix, rate, run)
    told = separation(matrix)
    answer = contestants()[method].answer(partial(matrix.values, seen), told)
    truths = {"full": matrix.values, "separated": told.low_rank}
    if matrix.field is not None:
        truths["field"] = matrix.field
    labels: Row = {**matrix.labels, "method": method, "rate": rate, "run": run}
    rows: list[Row] = [
        {**labels, "truth": name, **_errors(answer, truth, matrix, seen)}
        for name, truth in truths.items()
        if np.nan_to_num(truth).any()  # of very few readings LS-Separation may leave L = 0
    ]
    return [*rows, *({**labels, **found} for found in _flags(answer, method, matrix, seen))]


def _flags(
    answer: Answer, method: str, matrix: Matrix, seen: NDArray[np.bool_]
) -> list[dict[str, float]]:
    """Precision and recall where the anomalies are known; the oracle is told those."""
    if matrix.false is None or not contestants()[method].detects:
        return []
    told = replace(answer, sparse=matrix.false) if method == "os" else answer
    return [found_false(told, matrix.false, seen)]


def _errors(
    answer: Answer,
    truth: FloatArray,
    matrix: Matrix,
    seen: NDArray[np.bool_],
) -> dict[str, float]:
    lost = matrix.known & ~seen
    off = (answer.estimate - truth)[lost]
    return {
        "nse": nse(answer.estimate, truth, matrix.known),
        "lost_nse": nse(answer.estimate, truth, lost),
        "lost_mae": float(np.abs(off).mean()),
        "lost_rmse": float(np.sqrt((off**2).mean())),
        "converged": float(answer.status == "converged"),
    }


def table(rows: list[Row]) -> list[Row]:
    """Mean and spread over runs."""
    by = ("deployment", "condition", "simulated", "truth", "method", "rate")
    return over_runs(rows, by, ("nse", "lost_nse", "lost_mae", "lost_rmse", "converged"))
