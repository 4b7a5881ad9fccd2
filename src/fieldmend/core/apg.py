"""The paper's algorithm: accelerated proximal gradient on (L, S), Table III, with a full SVD.

Errata of Table III, repaired here:

1. line 1 starts S at 1; it must be 0 (S = 0 off O, and Y_0 = X_0 has to be feasible);
2. line 1 uses δ for the ratio μ̄/μ_0, elsewhere δ is the noise bound;
3. line 6 writes L_k where the new iterate L_{k+1} is meant;
4. line 8 thresholds with λμ/2; the current μ_k is meant;
5. line 9 has μ_{k+1} = max(μ_k, μ̄), so that μ never falls; the rule of Lin, Ganesh, Wright et al.
   (2009), which the table is taken from, is max(η·μ_k, μ̄) with η = 0.9 and μ_0 = 0.99‖P_O R‖₂;
6. line 1 calls the inputs M, Ω; in the text they are P_O(R) and O.

The rate O(1/k²) of the paper's Theorem 2 is proven for a fixed μ (``continuation=False``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fieldmend.core.loop import Progress
from fieldmend.core.problem import Certificate, LowRank, Problem
from fieldmend.core.prox import Array, singular_value_threshold, soft_threshold

_ETA = 0.9
_LOOK = 5  # iterations between two looks at the gap


@dataclass(frozen=True)
class PaperState:
    """The iterates X_k = (L_k, S_k) and X_{k−1}, the momentum and μ_k."""

    L: LowRank
    dense: Array
    before: Array
    S: Array
    S_before: Array
    mu: float
    momentum: tuple[float, float] = (1.0, 1.0)
    count: int = 0
    progress: Progress = field(default_factory=lambda: Progress(0.0, np.inf, 0))


class PaperSolver:
    """Table III, one line of the table per line of code. O(T·N·min(T, N)) an iteration."""

    def __init__(self, problem: Problem, *, continuation: bool = True) -> None:
        self.problem = problem
        self.continuation = continuation

    def init(self) -> PaperState:
        """L_0 = L_{−1} = 0, S_0 = S_{−1} = 0, t_0 = t_{−1} = 1."""
        R = self.problem.readings
        zero = np.zeros_like(R)
        top = 0.99 * float(np.linalg.norm(R, 2)) if self.continuation else 0.0
        mu = max(top, self.problem.mu)
        return PaperState(LowRank.zero(*R.shape), zero, zero, zero, zero, mu)

    def step(self, s: PaperState) -> PaperState:
        """Lines 3–9 of Table III."""
        R, O, lam = self.problem.readings, self.problem.observed, self.problem.lam
        t_before, t = s.momentum
        beta = (t_before - 1) / t
        Y_L = s.dense + beta * (s.dense - s.before)  # line 3
        Y_S = s.S + beta * (s.S - s.S_before)  # line 4
        half = 0.5 * ((Y_L + Y_S - R) * O)
        U, sigma, Vt = singular_value_threshold(Y_L - half, s.mu / 2)  # lines 5, 6
        L = LowRank(U * sigma, Vt.T)
        S = soft_threshold(Y_S - half, lam * s.mu / 2)  # lines 7, 8
        after = 0.5 * (1 + np.sqrt(4 * t**2 + 1))
        mu = max(_ETA * s.mu, self.problem.mu)  # line 9
        new = PaperState(L, L.dense(), s.dense, S, s.S, mu, (t, after), s.count + 1)
        return replace(new, progress=self._progress(new, float(sigma.sum()), s.progress.gap))

    def certify(self, state: PaperState) -> tuple[PaperState, Certificate]:
        """The problem's certificate for L_k with the S that suits it best."""
        return state, self.problem.certify(state.L)

    def _progress(self, state: PaperState, nuclear: float, gap: float) -> Progress:
        p = self.problem
        misfit = p.residual(state.dense + state.S)
        objective = (
            p.mu * nuclear
            + p.threshold * float(np.abs(state.S).sum())
            + 0.5 * float((misfit**2).sum())
        )
        if state.mu == p.mu and state.count % _LOOK == 0:
            gap = p.certify(state.L).gap
        return Progress(objective, gap, state.L.rank)
