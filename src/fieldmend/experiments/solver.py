"""Is it the paper's algorithm? Table III itself against the fast solver, on the same problem."""

from __future__ import annotations

import numpy as np

from fieldmend.experiments.cells import Cell, Store
from fieldmend.experiments.contestants import PAPER, TOLERANCE, paper_lam, solved
from fieldmend.experiments.data import FloatArray, Matrix
from fieldmend.experiments.sampling import partial, shown
from fieldmend.experiments.tables import Row
from fieldmend.metrics import nse


def cells(matrices: list[Matrix], store: Store) -> list[Cell]:
    """One draw of a matrix of each deployment: Table III takes up to a minute."""
    first = {matrix.deployment: matrix for matrix in reversed(matrices)}
    return [Cell("solver", {"rate": 0.5}, store.keep(matrix)) for matrix in first.values()]


def measure(matrix: Matrix, *, rate: float) -> list[Row]:
    """NSE by the sweep's solver, and by the paper's algorithm at a tenth of the tolerance."""
    X = partial(matrix.values, shown(matrix, rate, 0))
    options = {"lam": paper_lam(X.shape), **PAPER}
    fast = solved(X, tol=TOLERANCE, **options)
    slow = solved(X, method="apg", mu=fast.mu, tol=TOLERANCE / 10, **options)
    L_fast: FloatArray = fast.estimate
    L_slow: FloatArray = slow.estimate
    apart = np.linalg.norm(L_fast - L_slow)
    return [
        {
            **matrix.labels,
            "rate": rate,
            "nse_fast": nse(L_fast, matrix.values, matrix.known),
            "nse_apg": nse(L_slow, matrix.values, matrix.known),
            "apart": float(apart / max(float(np.linalg.norm(L_slow)), 1e-300)),
            "fast_iterations": fast.iterations,
            "apg_iterations": slow.iterations,
            "apg_gap": slow.gap,
        }
    ]
