"""Sections IV and VI: the convergence rate, the error bound, and whether the conditions hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldmend import diagnostics, simulate
from fieldmend.core.apg import PaperSolver
from fieldmend.core.problem import Problem
from fieldmend.experiments.cells import Cell, Store
from fieldmend.experiments.contestants import PAPER, Separation, paper_lam, separation, solved
from fieldmend.experiments.data import SEED, FloatArray, Matrix
from fieldmend.experiments.tables import Row

NOISES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
EPSILONS = tuple(10.0**-e for e in range(1, 7))  # of F(X*)
Mask = NDArray[np.bool_]


def cells(matrices: list[Matrix], store: Store, *, quick: bool) -> list[Cell]:
    """The rate, the bound over the noise, and the conditions of every matrix."""
    size, steps = (30, 200) if quick else (100, 2000)
    rate = [
        Cell("theory", {"part": "rate", "size": size, "steps": steps, "falling": falling})
        for falling in (False, True)
    ]
    small = 30 if quick else 60
    bound = [
        Cell("theory", {"part": "bound", "size": small, "noise": noise, "rate": p})
        for noise in NOISES
        for p in (0.5, 0.9)
    ]
    conditions = [Cell("theory", {"part": "conditions"}, store.keep(m)) for m in matrices]
    return [*rate, *bound, *conditions]


def measure(
    matrix: Matrix | None = None,
    *,
    part: str,
    size: int = 0,
    steps: int = 0,
    falling: bool = False,
    noise: float = 0.0,
    rate: float = 0.5,
) -> list[Row]:
    """One part of the theory."""
    if matrix is not None:
        return [conditions(matrix)]
    if part == "rate":
        return descent(size, steps, falling=falling)
    return [bound(size, noise, rate)]


def descent(size: int, steps: int, *, falling: bool) -> list[Row]:
    """F(X_k) − F(X*) along Table III, beside the bound 4‖X_1 − X*‖²/k² of Theorem 2.

    With μ fixed, as the theorem has it, and with μ falling, as the algorithm is run.
    """
    net = simulate.network(size, size, rank=5, sampling=0.5, noise=1.0, seed=SEED)
    lam = paper_lam((size, size))
    best = solved(net.readings, lam=lam, tol=1e-12, max_iter=20_000, **PAPER)
    R = np.where(net.observed, net.readings, 0.0)
    problem = Problem(R, net.observed, lam, best.mu)
    least = problem.objective(best.low_rank, best.sparse)
    solver = PaperSolver(problem, continuation=falling)
    state, first, rows = solver.init(), 0.0, list[Row]()
    for k in range(1, steps + 1):
        state = solver.step(state)
        if k == 1:
            first = _pair(state.dense - best.low_rank, state.S - best.sparse) ** 2
        excess = state.progress.objective - least
        rows.append(
            {"mu": "falling" if falling else "fixed", "k": k, "excess": float(excess),
             "bound": 4 * first / k**2, "least": least, "slack": best.gap * least}
        )  # fmt: skip
    return [*_thinned(rows), *_iterations(rows)]


def _thinned(rows: list[Row]) -> list[Row]:
    """The first hundred iterations, then about fifty a decade, until rounding hides the excess."""
    out, last = [], 0
    for row in rows:
        k = int(row["k"])
        if k <= 100 or k >= last * 1.05:
            if float(row["excess"]) <= max(float(row["slack"]), 1e-12 * float(row["least"])):
                break
            out.append(row)
            last = k
    return out


def _iterations(rows: list[Row]) -> list[Row]:
    """Iterations after which the excess stays below ε·F(X*), beside the lemma's 2‖X_1 − X*‖/√ε."""
    out: list[Row] = []
    least, first = float(rows[0]["least"]), float(rows[0]["bound"])
    for epsilon in EPSILONS:
        above = [int(row["k"]) for row in rows if float(row["excess"]) > epsilon * least]
        needed = max(above, default=0) + 1
        if needed <= len(rows):
            allowed = float(np.sqrt(first / (epsilon * least)))
            line = {"epsilon": epsilon, "iterations": needed, "lemma": allowed}
            out.append({"mu": rows[0]["mu"], **line})
    return out


def bound(size: int, noise: float, rate: float) -> Row:
    """The error of the constrained problem at δ = ‖P_O(Z)‖, beside the bound of Theorem 1."""
    net = simulate.network(
        size, size, rank=2, sampling=rate, noise=noise, anomaly_rate=0.03, seed=SEED
    )
    Z = np.where(net.observed, net.readings - net.truth - net.anomalies, 0.0)
    delta = float(np.linalg.norm(Z))
    out = solved(
        net.readings, delta=delta, lam=paper_lam((size, size)), tol=1e-5, max_iter=20_000, **PAPER
    )
    error = _pair(out.low_rank - net.truth, out.sparse - net.anomalies)
    limit = diagnostics.recovery_bound(size, rate, delta)
    return {"rate": rate, "noise": noise, "delta": delta, "error": error, "bound": limit,
            "bound_over_error": limit / error}  # fmt: skip


def _pair(left: FloatArray, right: FloatArray) -> float:
    """‖(L, S)‖_F."""
    return float(np.hypot(np.linalg.norm(left), np.linalg.norm(right)))


def conditions(matrix: Matrix) -> Row:
    """What the theorem asks of L and of the support of S, measured on a separated matrix."""
    found = separation(matrix)
    if not found.low_rank.any():
        return {**matrix.labels, "rank": 0}
    spread = diagnostics.incoherence(found.low_rank, found.rank)
    support = found.support & matrix.known
    even = diagnostics.support_uniformity(support, matrix.known)
    n = max(matrix.values.shape)
    half = simulate.observe(*matrix.values.shape, rate=0.5, seed=SEED)
    return {
        **matrix.labels,
        "rank": found.rank,
        "incoherence_slots": spread.slots,
        "incoherence_nodes": spread.nodes,
        "incoherence_joint": spread.joint,
        "rho_r_needed": found.rank * spread.worst * float(np.log(n)) ** 2 / n,
        "rho_s_needed": float(support.sum()) / n**2,
        "lam": found.lam,
        "support_and_space": leakage(found, support),
        "lost_and_space": leakage(found, ~half),
        "clumping_slots": even.slots.ratio,
        "clumping_nodes": even.nodes.ratio,
        "clumping_runs": even.runs.ratio,
        "runs_p_value": even.runs.p_value,
    }


def leakage(found: Separation, on: Mask, *, steps: int = 60) -> float:
    """‖P_Ω P_T‖, by power iteration on P_T P_Ω P_T: a lower bound that is close after 60 steps."""
    U, V = found.space
    X = np.random.default_rng(SEED).normal(size=on.shape)
    size = 0.0
    for _ in range(steps):
        left = U @ (U.T @ X)
        X = left + ((X - left) @ V) @ V.T
        norm = float(np.linalg.norm(X))
        if norm == 0:
            return 0.0
        X /= norm
        size = float(np.linalg.norm(X[on]))
        X = np.where(on, X, 0.0)
    return size
