"""Is it the paper's algorithm? Table III itself against the fast solver, on the same problem."""

from __future__ import annotations

import numpy as np

from fieldmend.experiments.cells import Cell, Store
from fieldmend.experiments.contestants import PAPER, TOLERANCE, paper_lam, solved
from fieldmend.experiments.data import Matrix
from fieldmend.experiments.sampling import partial, shown
from fieldmend.experiments.tables import Row
from fieldmend.metrics import nse


def cells(matrices: list[Matrix], store: Store, *, quick: bool) -> list[Cell]:
    """One draw of each matrix at half and at nine tenths of the readings."""
    rates = (0.5,) if quick else (0.5, 0.9)
    return [Cell("solver", {"rate": r}, store.keep(m)) for m in matrices for r in rates]


def measure(matrix: Matrix, *, rate: float) -> list[Row]:
    """NSE by the sweep's solver, and by the paper's algorithm at a tenth of the tolerance."""
    X = partial(matrix.values, shown(matrix, rate, 0))
    options = {"lam": paper_lam(X.shape), **PAPER}
    fast = solved(X, tol=TOLERANCE, **options)
    slow = solved(X, method="apg", mu=fast.mu, tol=TOLERANCE / 10, **options)
    apart = np.linalg.norm(fast.estimate - slow.estimate)
    return [
        {
            **matrix.labels,
            "rate": rate,
            "nse_fast": nse(fast.estimate, matrix.values, matrix.known),
            "nse_apg": nse(slow.estimate, matrix.values, matrix.known),
            "apart": float(apart / max(float(np.linalg.norm(slow.estimate)), 1e-300)),
            "fast_iterations": fast.iterations,
            "apg_iterations": slow.iterations,
            "apg_gap": slow.gap,
        }
    ]
