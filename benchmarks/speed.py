"""`ls` against `apg`: the same scaled problem, from zero to a certified gap of 1e-6, in one run.

The problem is the one that ``fm.decompose(X)`` sets up: its scaling, λ and μ. ``ls s`` and
``apg s`` are CPU seconds of the two solvers on it, certificates included. ``ls call`` and ``apg
call`` are those of ``fm.decompose(X)`` and ``fm.decompose(X, method="apg")``, which first measure
the noise to choose the weights and in the end put the results back into the units of X: ``as
called`` is the ratio that a user sees, and the one with a goal. But ``apg`` keeps the paper's λ
where none is given: as called it solves another problem, often a slower one. ``same λ`` is the
ratio of the calls were its λ that of ``ls``. For the large problem a few
iterations of ``apg`` are timed and multiplied by the number that it needs, counted in a run with
the Gram matrix's eigenvectors in the place of the SVD (the same iterates); rows estimated so are
marked, and their call is that of ``ls`` with the one solver in the place of the other, on the
problem that ``fm.decompose(X, method="apg")`` sets up: the paper's λ.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import fieldmend as fm
from fieldmend.core import apg, loop
from fieldmend.core.huber import HuberSolver
from fieldmend.core.problem import Problem
from table import write

SIZES = ((500, 54), (750, 326), (10_000, 1000))
RATES = (0.9, 0.5, 0.2)
GOALS = {(500, 54): 25, (750, 326): 60, (10_000, 1000): 150}  # as called
TIMED = 3  # iterations of apg that are timed where a whole solve takes many minutes


@dataclass(frozen=True)
class Timed:
    seconds: float
    iterations: int
    gap: float
    objective: float


def timed(make: Callable[[], Any], repeat: int) -> Timed:
    """The quickest of ``repeat`` solves."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        out = loop.run(make(), loop.Limits(tol=1e-6, max_iter=5000))
        best = min(best, time.process_time() - start)
    return Timed(best, len(out.trace), out.proof.gap, out.proof.objective)


def called(readings: np.ndarray, method: str, repeat: int) -> float:
    """CPU seconds of the quickest of some calls."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        fm.decompose(readings, method=method)
        best = min(best, time.process_time() - start)
    return best


def gram_threshold(X: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, V = np.linalg.eigh(X.T @ X)
    s = np.sqrt(np.maximum(values[::-1], 0.0))
    V = V[:, ::-1]
    kept = int(np.count_nonzero(s > threshold))
    U = (X @ V[:, :kept]) / s[:kept]
    return U, s[:kept] - threshold, V[:, :kept].T


def estimated(problem: Problem) -> Timed:
    """Seconds of a few iterations of apg, times the number of them that the solve takes."""
    exact = apg.singular_value_threshold
    apg.singular_value_threshold = gram_threshold
    try:
        counted = loop.run(apg.PaperSolver(problem), loop.Limits(tol=1e-6, max_iter=2000))
    finally:
        apg.singular_value_threshold = exact
    solver = apg.PaperSolver(problem)
    state = solver.init()
    start = time.process_time()
    for _ in range(TIMED):
        state = solver.step(state)
    each = (time.process_time() - start) / TIMED
    n = len(counted.trace)
    return Timed(each * n, n, counted.proof.gap, counted.proof.objective)


def as_apg(problem: Problem, beside: float) -> float:
    """CPU seconds of a call of apg: its own λ; what it does beside solving is what ls does."""
    paper = replace(problem, lam=1.0 / float(np.sqrt(max(problem.shape))))
    return beside + estimated(paper).seconds


def row(slots: int, nodes: int, rate: float) -> dict[str, Any]:
    net = fm.simulate.network(slots, nodes, sampling=rate, seed=0)
    large = slots * nodes > 1e6
    out = fm.decompose(net.readings)
    whole = called(net.readings, "ls", 1 if large else 5)
    readings = out.scaling.apply(net.readings, net.observed)
    problem = Problem(readings, net.observed, out.lam, out.mu)
    fast = timed(lambda: HuberSolver(problem), 3)
    slow = estimated(problem) if large else timed(lambda: apg.PaperSolver(problem), 3)
    other = as_apg(problem, whole - fast.seconds) if large else called(net.readings, "apg", 1)
    goal = GOALS[slots, nodes] if rate == 0.5 else None
    ratio = other / whole
    return {
        "nodes × slots": f"{nodes}×{slots}",
        "p": rate,
        "ls s": f"{fast.seconds:.3f}",
        "ls iterations": fast.iterations,
        "ls gap": f"{fast.gap:.1e}",
        "apg s": f"{slow.seconds:.2f}",
        "apg iterations": slow.iterations,
        "apg gap": f"{slow.gap:.1e}",
        "apg timed as": f"{TIMED} iterations × count" if large else "whole solve",
        "objectives differ by": f"{abs(fast.objective / slow.objective - 1):.1e}",
        "solvers": f"{slow.seconds / fast.seconds:.0f}×",
        "ls call": f"{whole:.3f}",
        "apg call": f"{other:.2f}",
        "as called": f"{ratio:.0f}×",
        "same λ": f"{(max(whole - fast.seconds, 0.0) + slow.seconds) / whole:.0f}×",
        "goal": f"{goal}× {'met' if ratio >= goal else 'missed'}" if goal else "–",
    }


def main() -> None:
    rows = []
    for slots, nodes in SIZES:
        for rate in RATES:
            rows.append(row(slots, nodes, rate))
            print(rows[-1], flush=True)
            write("speed", rows, __doc__ or "")


if __name__ == "__main__":
    main()
