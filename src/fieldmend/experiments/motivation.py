"""Figs. 1 and 2: a few anomalies ruin matrix completion, and the low rank itself."""

from __future__ import annotations

import numpy as np

from fieldmend import diagnostics, simulate
from fieldmend.experiments.cells import Cell
from fieldmend.experiments.contestants import PAPER, solved
from fieldmend.experiments.data import SEED, FloatArray
from fieldmend.experiments.sampling import QUICK_RATES, RATES
from fieldmend.experiments.tables import Row

SHARES = (0.0, 0.005, 0.03)
VALUE = 100.0
# The example has no noise: a μ this small against singular values of thousands is equality.
MU = 1.0
RUNS = 3


def cells(*, quick: bool) -> list[Cell]:
    """The sweep of Fig. 1, then the spectra of Fig. 2."""
    size, runs = (40, 2) if quick else (100, RUNS)
    rates = QUICK_RATES if quick else RATES
    sweep = [
        Cell("motivation", {"size": size, "share": share, "rate": rate, "run": run})
        for share in SHARES
        for rate in rates
        for run in range(runs)
    ]
    return [*sweep, *(Cell("motivation", {"size": size, "run": run}) for run in range(runs))]


def measure(
    *, size: int, run: int, share: float | None = None, rate: float | None = None, rank: int = 5
) -> list[Row]:
    """One completion of Fig. 1; without a rate, the spectra of Fig. 2."""
    L = simulate.low_rank(size, size, rank=rank, seed=SEED + run)
    if rate is None or share is None:
        return _spectra(L, run)
    R = corrupted(L, share, run, added=True)
    seen = simulate.observe(size, size, rate=1 - rate, seed=_rng(run, round(100 * rate)))
    out = solved(R, observed=seen, method="mc", mu=MU, tol=1e-3, **PAPER)
    error = float(np.linalg.norm(out.estimate - L) / np.linalg.norm(L))
    return [{"anomalies": share, "rate": rate, "run": run, "error": error}]


def corrupted(L: FloatArray, share: float, run: int, *, added: bool) -> FloatArray:
    """Anomalies "with value = 100": added to the entry, as S is, or put in its place."""
    hit = simulate.observe(*L.shape, rate=share, seed=_rng(run, 7)) == 0
    return np.where(hit, L + VALUE if added else VALUE, L)


def _rng(run: int, stream: int) -> np.random.Generator:
    return np.random.default_rng([SEED, run, stream])


def _spectra(L: FloatArray, run: int) -> list[Row]:
    rows: list[Row] = []
    for share in SHARES:
        for added in (True, False):
            energy = diagnostics.singular_energy(corrupted(L, share, run, added=added))
            rows += [
                {"anomalies": share, "reading": "added" if added else "replaced",
                 "top": k + 1, "run": run, "energy": float(energy[k])}
                for k in range(len(energy))
            ]  # fmt: skip
    return rows
