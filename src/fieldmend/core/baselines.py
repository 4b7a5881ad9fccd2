"""The methods the paper compares with: SRMF in two forms, and the oracle.

(Matrix completion needs no file: it is the LS problem with λ = ∞.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fieldmend.core.loop import Progress
from fieldmend.core.problem import LowRank
from fieldmend.core.prox import Array, Mask, singular_value_threshold


@dataclass(frozen=True)
class Iterate:
    """The iterate in factors, and what a solver carries from step to step."""

    L: LowRank
    extra: tuple[Array, ...] = ()
    momentum: tuple[float, float] = (1.0, 1.0)
    progress: Progress = field(default_factory=lambda: Progress(0.0, np.inf, 0))


def smoothness(L: Array) -> float:
    """S(L) = ‖D_x L‖² + ‖D_y L‖²: squared differences between slots and between nodes.

    The paper's text defines D_x twice; the second, (N−1) × T, is the vertical one, D_y.
    """
    return float((np.diff(L, axis=0) ** 2).sum() + (np.diff(L, axis=1) ** 2).sum())


def _roughness(L: Array) -> Array:
    """Gradient of ½S(L): second differences along both axes."""
    out = np.zeros_like(L)
    for axis in (0, 1):
        step = np.diff(L, axis=axis)
        lead = [slice(None), slice(None)]
        lag = [slice(None), slice(None)]
        lead[axis], lag[axis] = slice(1, None), slice(None, -1)
        out[tuple(lead)] += step
        out[tuple(lag)] -= step
    return out


class SmoothSolver:
    """SRMF as the paper writes it: min μ‖L‖_* + μλ·S(L) + ½‖P_O(R − L)‖_F².

    The penalised form of its constrained problem, by accelerated proximal gradient with restart
    and a full SVD; the smooth part has Lipschitz constant 1 + 16μλ. O(T·N·min(T, N)) a step.
    """

    def __init__(self, readings: Array, observed: Mask, *, lam: float, mu: float) -> None:
        self.readings, self.observed = readings, observed
        self.lam, self.mu = lam, mu
        self.lipschitz = 1 + 16 * mu * lam

    def init(self) -> Iterate:
        """Zero."""
        zero = np.zeros_like(self.readings)
        return Iterate(LowRank.zero(*self.readings.shape), (zero, zero))

    def step(self, state: Iterate) -> Iterate:
        """One proximal gradient step from the extrapolated point."""
        L, before = state.extra
        t_before, t = state.momentum
        Y = L + (t_before - 1) / t * (L - before)
        down = (self.readings - Y) * self.observed - 2 * self.mu * self.lam * _roughness(Y)
        U, s, Vt = singular_value_threshold(Y + down / self.lipschitz, self.mu / self.lipschitz)
        factors = LowRank(U * s, Vt.T)
        new = factors.dense()
        uphill = float(np.vdot(Y - new, new - L)) > 0
        momentum = (1.0, 1.0) if uphill else (t, 0.5 * (1 + np.sqrt(4 * t**2 + 1)))
        misfit = (self.readings - new) * self.observed
        objective = self.mu * (float(s.sum()) + self.lam * smoothness(new))
        objective += 0.5 * float((misfit**2).sum())
        size = max(float(np.linalg.norm(new)), np.finfo(np.float64).tiny)
        moved = float(np.linalg.norm(new - Y)) / size
        progress = Progress(objective, moved, factors.rank)
        return Iterate(factors, (new, L), momentum, progress)

    def certify(self, state: Iterate) -> tuple[Iterate, Progress]:
        """The relative length of the last proximal step."""
        return state, state.progress


class FactoredSmoothSolver:
    """SRMF as Kong et al. (2013) write it, in factors L = BAᵀ of a given rank.

    min ‖P_O(R − BAᵀ)‖² + λ(‖A‖² + ‖B‖²) + λ·S(BAᵀ), by alternating least squares; each half is
    solved by conjugate gradients, warm. O(T·N·r) per inner iteration. Not convex: the result
    depends on the start, which is seeded.
    """

    def __init__(
        self, readings: Array, observed: Mask, *, lam: float, rank: int, seed: int = 0
    ) -> None:
        self.readings, self.observed = readings, observed
        self.lam, self.rank, self.seed = lam, rank, seed

    def init(self) -> Iterate:
        """Small random factors."""
        rng = np.random.default_rng(self.seed)
        slots, nodes = self.readings.shape
        B = rng.standard_normal((slots, self.rank)) / np.sqrt(self.rank)
        A = rng.standard_normal((nodes, self.rank)) / np.sqrt(self.rank)
        return Iterate(LowRank(B, A))

    def step(self, state: Iterate) -> Iterate:
        """The slots' factor for fixed nodes, then the nodes' for fixed slots."""
        B = self._half(state.L.left, state.L.right, self.readings, self.observed)
        A = self._half(state.L.right, B, self.readings.T, self.observed.T)
        L = LowRank(B, A)
        new = L.dense()
        misfit = (self.readings - new) * self.observed
        objective = float((misfit**2).sum()) + self.lam * (
            float((A**2).sum() + (B**2).sum()) + smoothness(new)
        )
        fallen = abs(state.progress.objective - objective) / max(objective, 1e-300)
        return Iterate(L, progress=Progress(objective, fallen, self.rank))

    def certify(self, state: Iterate) -> tuple[Iterate, Progress]:
        """The relative fall of the objective in the last sweep."""
        return state, state.progress

    def _half(self, start: Array, fixed: Array, R: Array, O: Mask) -> Array:
        import scipy.sparse.linalg  # here: heavy, and few need it

        def normal(x: Array) -> Array:
            half = x.reshape(start.shape)
            dense = half @ fixed.T
            image = (dense * O + self.lam * _roughness(dense)) @ fixed + self.lam * half
            return image.ravel()

        operator = scipy.sparse.linalg.LinearOperator(
            (start.size, start.size), matvec=normal, dtype=start.dtype
        )
        target = ((R * O) @ fixed).ravel()
        solved, _ = scipy.sparse.linalg.cg(
            operator, target, x0=start.ravel(), rtol=1e-8, maxiter=50
        )
        half: Array = solved.reshape(start.shape)
        return half


class OracleSolver:
    """The paper's oracle: least squares over L ∈ T on the entries known to be clean.

    T = {U·Qᵀ + P·Vᵀ} for known column and row spaces U (slots × r), V (nodes × r). Conjugate
    gradients on P_T P_O P_T; no regularisation, so it is not a lower bound for other methods.
    O(T·N·r) an iteration.
    """

    def __init__(self, readings: Array, clean: Mask, space: tuple[Array, Array]) -> None:
        self.readings, self.clean = readings, clean
        self.U = np.linalg.qr(space[0])[0]
        self.V = np.linalg.qr(space[1])[0]

    def onto(self, X: Array) -> Array:
        """P_T X = UUᵀX + XVVᵀ − UUᵀXVVᵀ."""
        left = self.U @ (self.U.T @ X)
        rest = X - left
        onto: Array = left + (rest @ self.V) @ self.V.T
        return onto

    def init(self) -> Iterate:
        """Zero; the residual is the data's image."""
        target = self.onto(self.readings * self.clean)
        zero = np.zeros_like(target)
        return Iterate(self._factors(zero), (zero, target, target))

    def step(self, state: Iterate) -> Iterate:
        """One conjugate gradient iteration."""
        L, residual, direction = state.extra
        size = float(np.vdot(residual, residual))
        if size == 0.0:
            return replace(state, progress=Progress(self._misfit(L), 0.0, state.L.rank))
        image = self.onto(direction * self.clean)
        curvature = float(np.vdot(direction, image))
        length = size / curvature if curvature > 0 else 0.0
        L = L + length * direction
        residual = residual - length * image
        after = float(np.vdot(residual, residual))
        scale = max(float(np.linalg.norm(self.readings)), np.finfo(np.float64).tiny)
        progress = Progress(self._misfit(L), np.sqrt(after) / scale, 2 * self.U.shape[1])
        return Iterate(
            state.L, (L, residual, residual + after / size * direction), progress=progress
        )

    def certify(self, state: Iterate) -> tuple[Iterate, Progress]:
        """The relative residual of the normal equations."""
        done = replace(state, L=self._factors(state.extra[0]))
        return done, state.progress

    def _factors(self, L: Array) -> LowRank:
        rest = L - self.U @ (self.U.T @ L)
        return LowRank(np.hstack([self.U, rest @ self.V]), np.hstack([L.T @ self.U, self.V]))

    def _misfit(self, L: Array) -> float:
        return 0.5 * float((((self.readings - L) * self.clean) ** 2).sum())


class KnownRankSolver:
    """The oracle told a rank instead of the spaces: alternating least squares on clean entries.

    Not convex; it starts from the leading singular vectors of the zero-filled readings.
    O(T·N·r²) a step.
    """

    def __init__(self, readings: Array, clean: Mask, *, rank: int) -> None:
        self.readings, self.clean = readings * clean, clean
        self.rank = rank

    def init(self) -> Iterate:
        """Truncated SVD of the readings, rescaled by the rate at which they were seen."""
        U, s, Vt = np.linalg.svd(self.readings / max(self.clean.mean(), 1e-12), full_matrices=False)
        r = self.rank
        return Iterate(LowRank(U[:, :r] * s[:r], Vt[:r].T))

    def step(self, state: Iterate) -> Iterate:
        """The slots' factor for fixed nodes, then the nodes' for fixed slots."""
        left = self._half(state.L.right, self.readings, self.clean)
        left = np.linalg.qr(left)[0]  # the same space, well conditioned
        right = self._half(left, self.readings.T, self.clean.T)
        L = LowRank(left, right)
        misfit = (self.readings - L.dense()) * self.clean
        objective = 0.5 * float((misfit**2).sum())
        size = max(0.5 * float((self.readings**2).sum()), np.finfo(np.float64).tiny)
        moved = abs(state.progress.objective - objective) / size
        return Iterate(L, progress=Progress(objective, moved, self.rank))

    def certify(self, state: Iterate) -> tuple[Iterate, Progress]:
        """The change of the misfit in the last sweep, relative to the readings."""
        return state, state.progress

    def _half(self, fixed: Array, R: Array, O: Mask) -> Array:
        r = fixed.shape[1]
        pairs = (fixed[:, :, None] * fixed[:, None, :]).reshape(len(fixed), r * r)
        H = (O.astype(np.float64) @ pairs).reshape(-1, r, r)
        # A row with fewer readings than r has no unique fit: the least one, not a crash.
        H = H + (1e-10 * np.trace(H.mean(axis=0)) / r or 1.0) * np.eye(r)
        half: Array = np.linalg.solve(H, (R @ fixed)[..., None])[..., 0]
        return half
