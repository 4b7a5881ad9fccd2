"""`ls` against `apg`: the same problem, the same certified gap of 1e-6, in one run.

Both are whole calls of ``fm.decompose`` with the weights that ``ls`` chose, so both include the
scaling, the noise estimate and the final certificate. For the large problem a few iterations of
``apg`` are timed and multiplied by the number that it needs, counted in a run with the Gram
matrix's eigenvectors in the place of the SVD (the same iterates); rows estimated so are marked.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

import fieldmend as fm
from fieldmend.problem import Problem
from fieldmend.solvers import apg, loop
from table import write

SIZES = ((500, 54), (750, 326), (10_000, 1000))
RATES = (0.9, 0.5, 0.2)
GOALS = {(500, 54): 20, (750, 326): 50, (10_000, 1000): 150}
TIMED = 3  # iterations of apg that are timed where a whole solve takes many minutes


@dataclass(frozen=True)
class Timed:
    seconds: float
    iterations: int
    gap: float
    objective: float


def whole(X: np.ndarray, repeat: int = 1, **options: object) -> tuple[Timed, fm.Decomposition]:
    """The quickest of ``repeat`` whole calls."""
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        out = fm.decompose(X, **options)
        best = min(best, time.perf_counter() - start)
    return Timed(best, out.iterations, out.gap, out.objective), out


def gram_threshold(X: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, V = np.linalg.eigh(X.T @ X)
    s = np.sqrt(np.maximum(values[::-1], 0.0))
    V = V[:, ::-1]
    kept = int(np.count_nonzero(s > threshold))
    U = (X @ V[:, :kept]) / s[:kept]
    return U, s[:kept] - threshold, V[:, :kept].T


def estimated(X: np.ndarray, ls: fm.Decomposition) -> Timed:
    """Seconds of a few iterations of apg, times the number of them that the solve takes."""
    O = ~np.isnan(X)
    problem = Problem(ls.scaling.apply(X, O), O, ls.lam, ls.mu)
    exact = apg.singular_value_threshold
    apg.singular_value_threshold = gram_threshold
    try:
        counted = loop.run(apg.PaperSolver(problem), loop.Limits(tol=1e-6, max_iter=2000))
    finally:
        apg.singular_value_threshold = exact
    solver = apg.PaperSolver(problem)
    state = solver.init()
    start = time.perf_counter()
    for _ in range(TIMED):
        state = solver.step(state)
    each = (time.perf_counter() - start) / TIMED
    n = len(counted.trace)
    return Timed(each * n, n, counted.proof.gap, counted.proof.objective)


def main(*, large: bool = True) -> None:
    rows = []
    for slots, nodes in SIZES if large else SIZES[:2]:
        for rate in RATES:
            net = fm.simulate.network(slots, nodes, sampling=rate, seed=0)
            fast, out = whole(net.readings, repeat=3)
            if slots * nodes > 1e6:
                slow, how = estimated(net.readings, out), f"{TIMED} iterations timed × count"
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", fm.ConvergenceWarning)
                    slow, _ = whole(net.readings, method="apg", lam=out.lam, mu=out.mu)
                how = "whole solve"
            goal = GOALS[slots, nodes] if rate == 0.5 else None
            ratio = slow.seconds / fast.seconds
            rows.append(
                {
                    "nodes × slots": f"{nodes}×{slots}",
                    "p": rate,
                    "ls s": f"{fast.seconds:.3f}",
                    "ls iterations": fast.iterations,
                    "ls gap": f"{fast.gap:.1e}",
                    "apg s": f"{slow.seconds:.2f}",
                    "apg iterations": slow.iterations,
                    "apg gap": f"{slow.gap:.1e}",
                    "apg timed as": how,
                    "objectives differ by": f"{abs(fast.objective / slow.objective - 1):.1e}",
                    "ratio": f"{ratio:.0f}×",
                    "goal": f"{goal}× {'met' if ratio >= goal else 'missed'}" if goal else "–",
                }
            )
            print(rows[-1], flush=True)
    write("speed", rows, __doc__ or "")


if __name__ == "__main__":
    main()
