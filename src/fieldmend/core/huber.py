"""The fast solver of the LS problem: accelerated proximal gradient on the Huber form.

The anomalies S are eliminated (``problem``), which halves the paper's Lipschitz constant and
memory; L lives in factors; and the full SVD of the paper's Table III becomes one step of subspace
iteration from the last iterate's singular vectors, which are almost right already. One iteration is
one sweep over blocks of slots with three thin matrix products: O(T·N·k), k a little above the rank
of L.

Four things make it fast:

- *continuation*: μ falls geometrically to its target, so early iterations have a tiny rank;
- *steps longer than 1/Lipschitz*: along low-rank differences the loss is about p times as curved as
  the bound of 1 allows for; the curvature met between two extrapolated points sets the step;
- *restart* of the momentum when it points uphill (O'Donoghue & Candès 2015);
- *float32 first*: large problems run in single precision until the gap is small, then in double,
  block by block, so that no second copy of the readings is made.

Left out: exploiting the sparsity of O. Gathered dot products in NumPy are far slower than dense
matrix products.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fieldmend.core.engine import sweep
from fieldmend.core.loop import Progress
from fieldmend.core.problem import Certificate, LowRank, Problem
from fieldmend.core.prox import Array, Mask

_FALL = 0.5  # the factor by which μ falls during continuation
_STAGE, _LONGEST_STAGE = 2, 30  # iterations between two falls of μ: at least, at most
_STAGE_GAP = 0.2  # the gap at which a stage is done
_EXACT = 1000  # nodes up to which the subspace grows along the readings' singular vectors
_FIRST = 32  # singular vectors of the readings that are found alone, where all are many
SMALL = 2e5  # entries up to which single precision does not pay
_SINGLE_UNTIL, _SINGLE_STEPS = 1e-4, 20  # the gap and the iterations at which it ends


@dataclass(frozen=True)
class Expectation:
    """What a linear model at the last point says of the loss at the next one."""

    loss: float
    distance: float  # squared, between the two points
    mu: float


@dataclass(frozen=True)
class Inner:
    """Inner products of the iterates: ⟨L, L⟩, ⟨L, L₋⟩, ⟨L₋, L₋⟩."""

    now: float = 0.0
    cross: float = 0.0
    before: float = 0.0


@dataclass(frozen=True)
class Descent:
    """Two iterates, the subspace, momentum, step and the level of the continuation."""

    current: LowRank
    previous: LowRank
    basis: Array
    mu: float
    momentum: tuple[float, float] = (1.0, 1.0)
    step: float = 1.0
    longest: float = np.inf  # no step beyond this one again
    inner: Inner = field(default_factory=Inner)
    expected: Expectation | None = None
    count: int = 0  # iterations at this μ
    settled: bool = False  # near enough to the optimum at this μ for it to fall
    progress: Progress = field(default_factory=lambda: Progress(0.0, np.inf, 0))

    @property
    def beta(self) -> float:
        """Extrapolation: the point is L + β(L − L₋)."""
        before, now = self.momentum
        return (before - 1.0) / now

    @cached_property
    def point(self) -> Inner:
        """⟨Y, L⟩ and ⟨Y, Y⟩ of the extrapolated point Y (as ``cross`` and ``now``)."""
        b, i = self.beta, self.inner
        size = (1 + b) ** 2 * i.now - 2 * b * (1 + b) * i.cross + b**2 * i.before
        return Inner(now=size, cross=(1 + b) * i.now - b * i.cross)


@dataclass(frozen=True)
class Sums:
    """What one sweep brings back; C = P_O clip(R − Y, ±d), W = (Y + step·C)·basis."""

    rows: Array  # W
    CtW: Array
    left_W: Array
    gram: Array  # WᵀW
    loss: float
    C_Y: float
    C_R: float
    C_C: float
    C_current: float  # ⟨C, L⟩


@dataclass(frozen=True)
class Step:
    """A proximal step L → L₊ within the subspace."""

    new: LowRank
    nuclear: float
    ritz: Array  # nodes × k: approximate right singular vectors, L₊'s first
    dual_norm: float  # ‖C‖₂ within the subspace: a lower bound
    C_new: float  # ⟨C, L₊⟩
    inner: Inner  # of L₊ and L
    new_before: float  # ⟨L₊, L₋⟩


class HuberSolver:
    """Accelerated proximal gradient with a warm subspace; see the module's text.

    Parameters
    ----------
    problem
        The problem, with slots ≥ nodes for speed (the caller transposes).
    start
        A warm start, near the optimum at the μ given as ``level`` (default: the problem's own,
        so that continuation is skipped).
    seed
        Of the random directions in which the subspace grows.
    directions
        Those directions, nodes × any number, where they are known already.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        start: LowRank | None = None,
        level: float = 0.0,
        seed: int = 0,
        directions: Array | None = None,
    ) -> None:
        self.problem = problem
        self.start, self.level = start, level
        self.known = directions
        self.rng = np.random.default_rng(seed)
        self.rate = max(float(problem.observed.mean()), 1e-12)
        self.single = problem.readings.size > SMALL
        self.used = 0  # directions of the reserve taken so far

    def init(self) -> Descent:
        """Zero, or the warm start; μ starts at half the readings' spectral norm."""
        slots, nodes = self.problem.shape
        dtype: type[np.floating[Any]] = np.float32 if self.single else np.float64
        if self.start is not None:
            return self.at(self.start, max(self.problem.mu, self.level))
        zero = LowRank.zero(slots, nodes, dtype)
        basis = self._basis(np.zeros((nodes, 0)), 4).astype(dtype)
        return Descent(zero, zero, basis, max(self.problem.mu, 0.5 * self._norm(basis)))

    def at(self, L: LowRank, mu: float, step: float = 1.0) -> Descent:
        """The state of a fresh start from L at this μ."""
        dtype: type[np.floating[Any]] = np.float32 if self.single else np.float64
        L = L.orthonormal()
        inner = Inner(*[float((L.left**2).sum())] * 3)
        basis: Array = self._basis(L.right, L.rank).astype(dtype)
        L = L.astype(dtype)
        return Descent(L, L, basis, mu, step=step, inner=inner)

    def step(self, state: Descent) -> Descent:
        """One sweep, one proximal step within the subspace, one look at curvature and gap."""
        sums = self._sweep(state)
        taken = self._proximal(state, sums)
        progress = self._progress(state, sums, taken)
        step, longest = self._next_step(state, sums)
        momentum = self._next_momentum(state, taken, overshot=longest < state.longest)
        settled = state.count + 1 >= (_STAGE if progress.gap < _STAGE_GAP else _LONGEST_STAGE)
        mu, count, dtype = state.mu, state.count + 1, state.basis.dtype
        if mu > self.problem.mu:
            progress = Progress(progress.objective, np.inf, progress.rank)  # of another problem
            if settled:
                mu, count = max(self.problem.mu, _FALL * mu), 0
        elif progress.gap < _SINGLE_UNTIL or count > _SINGLE_STEPS or _blind(state, sums):
            dtype = np.dtype(np.float64)
        return Descent(
            current=taken.new.astype(dtype),
            previous=state.current.astype(dtype),
            basis=self._basis(taken.ritz, taken.new.rank).astype(dtype),
            mu=mu,
            momentum=momentum,
            step=step,
            longest=longest,
            inner=taken.inner,
            expected=_expect(state, sums, taken, momentum),
            count=count,
            settled=settled,
            progress=progress,
        )

    def certify(self, state: Descent) -> tuple[Descent, Certificate]:
        """The problem's certificate; directions that it finds missing join the subspace."""
        proof = self.problem.certify(state.current)
        if state.mu > self.problem.mu:  # stopped by a limit within the continuation
            return state, proof
        L = state.current
        basis = np.hstack([L.right, proof.excess, state.basis[:, L.rank :]])
        basis = self._basis(basis[:, : self.problem.shape[1]], L.rank)
        return replace(state, basis=basis.astype(state.basis.dtype)), proof

    def _sweep(self, state: Descent) -> Sums:
        """C at the extrapolated point Y, and the image W of the subspace under Y + step·C."""
        beta, step = state.beta, state.step
        d = self.problem.lam * state.mu
        L, before, B = state.current, state.previous, state.basis
        r, dtype = L.rank, B.dtype
        parts = (L,) if beta == 0.0 else (L, before)
        left = np.hstack([part.left for part in parts])
        scale = (1.0 + beta, -beta)
        right = np.hstack([c * part.right for c, part in zip(scale, parts, strict=False)])
        right = right.astype(dtype, copy=False)
        onto, along = np.ascontiguousarray(right.T), right.T @ B

        def kernel(R: Array, O: Mask, left: Array) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            R = R.astype(dtype, copy=False)
            E = left @ onto
            np.subtract(R, E, out=E)
            np.multiply(E, O, out=E)
            C = np.clip(E, -d, d) if np.isfinite(d) else E
            C_B = C @ B
            W = left @ along + step * C_B
            C_E, C_C, C_R = np.vdot(C, E), np.vdot(C, C), np.vdot(C, R)
            C_L = np.vdot(left[:, :r], C_B[:, :r])
            return (W,), (C.T @ W, left.T @ W, W.T @ W, C_E, C_C, C_R, C_L)

        (W,), (CtW, left_W, gram, C_E, C_C, C_R, C_L) = sweep(
            kernel, self.problem.readings, self.problem.observed, left
        )
        loss, C_Y = float(C_E - 0.5 * C_C), float(C_R - C_E)
        return Sums(W, CtW, left_W, gram, loss, C_Y, float(C_R), float(C_C), float(C_L))

    def _proximal(self, state: Descent, sums: Sums) -> Step:
        """Soft-threshold the singular values of G = Y + step·C within span(W).

        Q = W·transform is an orthonormal basis of span(W), and GᵀQ is small: its SVD is that of
        QQᵀG, one half-step of subspace iteration closer to G than the basis was.
        """
        beta, r = state.beta, state.current.rank
        GtW = state.step * sums.CtW + (1 + beta) * (state.current.right @ sums.left_W[:r])
        if beta:
            GtW -= beta * (state.previous.right @ sums.left_W[r:])
        transform = _whitening(sums.gram)
        V, s, Pt = np.linalg.svd(GtW @ transform, full_matrices=False)
        shrunk = np.maximum(s - state.step * state.mu, 0.0)
        rank = int(np.count_nonzero(shrunk))
        mix = transform @ (Pt.T[:, :rank] * shrunk[:rank])
        dtype = state.basis.dtype
        new = LowRank(sums.rows @ mix.astype(dtype), V[:, :rank].astype(dtype))
        C_Q = sums.CtW @ transform
        dual = np.linalg.eigvalsh(C_Q.T @ C_Q).max(initial=0.0)
        left_new = sums.left_W @ mix
        size = float((shrunk**2).sum())
        cross = float(np.vdot(left_new[:r], state.current.right.T @ V[:, :rank]))
        before = float(np.vdot(left_new[r:], state.previous.right.T @ V[:, :rank])) if beta else 0.0
        return Step(
            new=new,
            nuclear=float(shrunk.sum()),
            ritz=V,
            dual_norm=float(np.sqrt(dual)),
            C_new=float(np.vdot(sums.CtW @ mix, V[:, :rank])),
            inner=Inner(size, cross, state.inner.now),
            new_before=before,
        )

    def _progress(self, state: Descent, sums: Sums, taken: Step) -> Progress:
        """An upper bound of F(L₊) and an estimate of its gap, without another sweep.

        The loss is 1-smooth, so loss(L₊) ≤ loss(Y) − ⟨C, L₊ − Y⟩ + ½‖L₊ − Y‖². The dual value is
        that of C, but ‖C‖₂ is known only within the subspace: an estimate, which the loop checks.
        """
        distance = _distance(state, taken)
        loss = sums.loss - taken.C_new + sums.C_Y + 0.5 * distance
        objective = loss + state.mu * taken.nuclear
        shrink = min(1.0, state.mu / taken.dual_norm) if taken.dual_norm > 0 else 1.0
        dual = shrink * sums.C_R - 0.5 * shrink**2 * sums.C_C
        gap = abs(objective - dual) / objective if objective > 0 else 0.0
        if state.basis.dtype == np.float32:  # single precision must not end a solve
            gap = max(gap, 2e-6)
        return Progress(objective, gap, taken.new.rank)

    def _next_step(self, state: Descent, sums: Sums) -> tuple[float, float]:
        """A step that fits the curvature met between the last point and this one.

        Convexity and 1-smoothness make 1 always safe. A longer step grows while the curvature
        seen stays below its inverse; one that overshot is never tried again at this μ.
        """
        e = state.expected
        if e is None or e.mu != state.mu:
            return state.step, 1.0 / self.rate
        if _blind(state, sums):  # back to what is always safe
            return max(1.0, 0.9 * state.step), state.longest
        curvature = 2.0 * (sums.loss - e.loss) / e.distance
        if curvature * state.step > 1.0:
            longest = max(1.0, 0.9 / curvature)
            return longest, min(longest, state.longest)
        return min(1.25 * state.step, state.longest), state.longest

    def _next_momentum(self, state: Descent, taken: Step, *, overshot: bool) -> tuple[float, float]:
        """Grow it, or restart where it points uphill: ⟨Y − L₊, L₊ − L⟩ > 0, beyond rounding."""
        beta, inner = state.beta, taken.inner
        Y_new = (1 + beta) * inner.cross - beta * taken.new_before
        slope = Y_new - state.point.cross - inner.now + inner.cross
        if overshot or slope > 20 * np.finfo(state.basis.dtype).eps * inner.now:
            return 1.0, 1.0
        now = state.momentum[1]
        return now, 0.5 * (1 + math.sqrt(4 * now**2 + 1))

    def _basis(self, directions: Array, rank: int) -> Array:
        """The first ``rank`` directions, the next few, and fresh ones where those run out."""
        nodes = self.problem.shape[1]
        size = min(nodes, min(self.problem.shape), rank + 6 + rank // 4)
        if size > nodes // 2:
            size = nodes
        kept = directions[:, :size]
        lacking = size - kept.shape[1]
        if lacking == 0:
            return kept
        start = self.used % nodes
        self.used += lacking
        few = start + lacking <= _FIRST < nodes // 4
        reserve = self.first if few else self.reserve
        fresh = np.take(reserve, range(start, start + lacking), axis=1, mode="wrap")
        grown = np.hstack([kept, fresh])
        Q: Array = np.linalg.qr(grown)[0]
        Q[:, : kept.shape[1]] = kept
        return Q

    @cached_property
    def _limit(self) -> float:
        """Three times the readings' root mean square."""
        R = self.problem.readings
        return 3.0 * float(np.sqrt(np.vdot(R, R) / R.size / self.rate))

    @cached_property
    def reserve(self) -> Array:
        """Directions for the subspace to grow in, the most promising first.

        The readings' own singular vectors, so that the order of the nodes does not matter; random
        ones where the N×N eigenproblem would cost more than it saves.
        """
        nodes = self.problem.shape[1]
        if self.known is not None:
            return self.known
        if nodes > _EXACT:
            return self.rng.standard_normal((nodes, nodes // 2))
        vectors: Array = np.linalg.eigh(self._gram)[1][:, ::-1]
        return vectors

    @cached_property
    def first(self) -> Array:
        """The first of them: most solves ask for no more."""
        from scipy.linalg import eigh  # here: slow to import

        nodes = self.problem.shape[1]
        if nodes > _EXACT or self.known is not None:
            return self.reserve
        vectors: Array = eigh(self._gram, subset_by_index=(nodes - _FIRST, nodes - 1))[1][:, ::-1]
        return vectors

    @cached_property
    def _gram(self) -> Array:
        limit = self._limit

        def kernel(R: Array) -> tuple[tuple[()], tuple[Any, ...]]:
            C = np.clip(R.astype(np.float64, copy=False), -limit, limit)
            return (), (C.T @ C,)

        _, (gram,) = sweep(kernel, self.problem.readings)
        out: Array = gram
        return out

    def _norm(self, basis: Array) -> float:
        """About ‖P_O R‖₂ without the largest spikes, from the first basis's image."""
        B, limit = basis.astype(np.float64), self._limit

        def kernel(R: Array) -> tuple[tuple[()], tuple[Any, ...]]:
            image = np.clip(R.astype(np.float64, copy=False), -limit, limit) @ B
            return (), (image.T @ image,)

        _, (gram,) = sweep(kernel, self.problem.readings)
        return float(np.sqrt(np.linalg.eigvalsh(gram)[-1]))


# Squared distances are differences of inner products: below this share of those, and of the loss,
# they say nothing of the curvature any more.
_ROUNDING = {"float32": 1e-5, "float64": 1e-12}


def _blind(state: Descent, sums: Sums) -> bool:
    """Whether the last two points are too close together to see the curvature between them."""
    e = state.expected
    scale = sums.loss + state.point.now
    return e is not None and e.distance <= _ROUNDING[state.basis.dtype.name] * scale


def _distance(state: Descent, taken: Step) -> float:
    """‖L₊ − Y‖_F²."""
    b = state.beta
    Y_new = (1 + b) * taken.inner.cross - b * taken.new_before
    return max(taken.inner.now - 2 * Y_new + state.point.now, 0.0)


def _expect(state: Descent, sums: Sums, taken: Step, momentum: tuple[float, float]) -> Expectation:
    """The linear model of the loss at the next extrapolated point Y₊, made at this one, Y."""
    b, c = state.beta, (momentum[0] - 1.0) / momentum[1]
    point, inner = state.point, taken.inner
    C_next = (1 + c) * taken.C_new - c * sums.C_current
    Y_new = (1 + b) * inner.cross - b * taken.new_before
    Y_next = (1 + c) * Y_new - c * point.cross
    next_size = (1 + c) ** 2 * inner.now - 2 * c * (1 + c) * inner.cross + c**2 * inner.before
    distance = next_size - 2 * Y_next + point.now
    return Expectation(sums.loss - C_next + sums.C_Y, max(distance, 0.0), state.mu)


def _whitening(gram: Array) -> Array:
    """X with (WX)ᵀ(WX) = I for gram = WᵀW; directions lost to rounding are dropped.

    Columns are scaled first: warm-started, they are nearly orthogonal, and the scaled Gram matrix
    is then well conditioned however different their lengths.
    """
    length = np.sqrt(np.maximum(np.diag(gram), np.finfo(np.float64).tiny))
    values, vectors = np.linalg.eigh(gram / np.outer(length, length))
    kept = values > 1e-11
    white: Array = (vectors[:, kept] / np.sqrt(values[kept])) / length[:, None]
    return white
