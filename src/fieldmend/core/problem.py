"""The LS problem: objective, dual value, certificate, default weights.

For readings R seen on the entries O, the paper's Section VI minimises

    F(L, S) = μ‖L‖_* + μλ‖S‖₁ + ½‖P_O(R − L − S)‖_F²,   S = 0 off O.

For a fixed L the best S is known, ``soft(P_O(R − L), d)`` with d = λμ. What remains is a problem
in L alone,

    F(L) = μ‖L‖_* + Σ_O h_d(R − L),   h_d the Huber function,

with gradient ``−C``, ``C = P_O clip(R − L, ±d)``, and Lipschitz constant 1 (the paper's joint form
has 2). The same C, shrunk until ‖Y‖₂ ≤ μ, is dual feasible: ``Y = C·min(1, μ/‖C‖₂)``, with dual
value ⟨Y, R⟩ − ½‖Y‖_F². So F(L) − dual(Y) ≥ 0 bounds how far F(L) lies above the optimum: a
certificate that needs no trust in the solver. Matrix completion is the case λ = ∞ (d = ∞).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend.core import prox
from fieldmend.core.engine import blocks, sweep
from fieldmend.core.prox import Array, Mask
from fieldmend.core.ranks import each_median


@dataclass(frozen=True)
class LowRank:
    """L = left·rightᵀ, left: slots × r, right: nodes × r. Never dense unless asked."""

    left: Array
    right: Array

    @classmethod
    def zero(cls, slots: int, nodes: int, dtype: np.dtype | type = np.float64) -> LowRank:
        """The zero matrix, of rank 0."""
        return cls(np.zeros((slots, 0), dtype), np.zeros((nodes, 0), dtype))

    @property
    def rank(self) -> int:
        """Number of columns of the factors."""
        return int(self.left.shape[1])

    def dense(self) -> Array:
        """The matrix itself, slots × nodes."""
        return self.left @ self.right.T

    def transposed(self) -> LowRank:
        """Nodes and slots exchanged."""
        return LowRank(self.right, self.left)

    def astype(self, dtype: np.dtype | type) -> LowRank:
        """The same factors in another precision."""
        return LowRank(self.left.astype(dtype, copy=False), self.right.astype(dtype, copy=False))

    def orthonormal(self) -> LowRank:
        """The same matrix with orthonormal ``right``, singular values (falling) in ``left``.

        O((T + N)·r²), in float64.
        """
        Q, K = np.linalg.qr(self.left.astype(np.float64))
        P, H = np.linalg.qr(self.right.astype(np.float64))
        U, s, Vt = np.linalg.svd(K @ H.T, full_matrices=False)
        kept = s > np.finfo(np.float64).eps * max(s[0], 1e-300) if len(s) else np.zeros(0, bool)
        return LowRank(Q @ (U * s)[:, kept], P @ Vt.T[:, kept])

    def nuclear_norm(self) -> float:
        """‖L‖_*, from the factors alone."""
        K = np.linalg.qr(self.left.astype(np.float64))[1]
        H = np.linalg.qr(self.right.astype(np.float64))[1]
        return float(np.linalg.svd(K @ H.T, compute_uv=False).sum())


@dataclass(frozen=True)
class Certificate:
    """What a dual feasible point proves about a candidate L."""

    objective: float
    gap: float  # (F(L) − dual)/F(L): the optimum is at least F(L)·(1 − gap)
    excess: Array  # nodes × m: directions in which ‖C‖₂ exceeds μ, for the solver to add


@dataclass(frozen=True)
class Problem:
    """Readings (zero where unobserved), the observed mask, and the two weights.

    Cost of :meth:`certify`: one pass, O(T·N·(r + N)) time, O(block + N²) memory.
    """

    readings: Array
    observed: Mask
    lam: float
    mu: float

    @property
    def threshold(self) -> float:
        """D = λμ, beyond which a residual counts as an anomaly."""
        return self.lam * self.mu

    @property
    def shape(self) -> tuple[int, int]:
        """Slots, nodes."""
        slots, nodes = self.readings.shape
        return slots, nodes

    def residual(self, L: Array) -> Array:
        """P_O(R − L) for a dense L."""
        return (self.readings - L) * self.observed

    def anomalies(self, L: Array) -> Array:
        """The best S for a dense L: soft(P_O(R − L), d); zero off O by construction."""
        return prox.soft_threshold(self.residual(L), self.threshold)

    def objective(self, L: Array, S: Array | None = None) -> float:
        """F(L, S) as the paper writes it; with the best S if none is given."""
        nuclear = float(np.linalg.svd(L, compute_uv=False).sum())
        if S is None:
            return self.mu * nuclear + float(prox.huber(self.residual(L), self.threshold).sum())
        misfit = self.residual(L + S)
        size = float(np.abs(S).sum())
        weighted = self.threshold * size if size else 0.0
        return self.mu * nuclear + weighted + 0.5 * float((misfit**2).sum())

    def certify(self, L: LowRank) -> Certificate:
        """Bound how far F(L) lies above the optimum.

        ‖C‖₂ comes from the N×N Gram matrix CᵀC in float64, not from an iteration that could
        underestimate it.
        """
        norm, excess, size, inner, smooth = self._spectrum(L)
        objective = self.mu * L.nuclear_norm() + smooth
        shrink = 1.0 / max(norm, 1.0)
        # Y = 0 is feasible too: the optimum is never below 0, whatever rounding says.
        dual = max(shrink * inner - 0.5 * shrink**2 * size, 0.0)
        gap = max(objective - dual, 0.0) / objective if objective > 0 else 0.0
        return Certificate(float(objective), float(gap), excess)

    def _spectrum(self, L: LowRank) -> tuple[float, Array, float, float, float]:
        """‖C‖₂/μ, directions beyond μ, ‖C‖_F², ⟨C, R⟩ and Σ h_d(R − L) in one sweep.

        C is divided by μ before it is squared: the square of a small one would underflow to 0, and
        a norm of 0 would prove anything.
        """
        d, mu, right = self.threshold, self.mu, L.right.T.astype(np.float64)

        def kernel(R: Array, O: Mask, left: Array) -> tuple[tuple[()], tuple[object, ...]]:
            R = R.astype(np.float64, copy=False)
            E = (R - left.astype(np.float64, copy=False) @ right) * O
            C = np.clip(E, -d, d)
            inner, smooth = np.vdot(C, R), np.vdot(C, E) - 0.5 * np.vdot(C, C)
            C /= mu
            return (), (C.T @ C, inner, smooth)

        _, (gram, inner, smooth) = sweep(kernel, self.readings, self.observed, L.left)
        # At the optimum r singular values equal μ: those just above are what L still lacks.
        values, vectors = largest_eigenpairs(gram, L.rank + 8)
        norm = float(np.sqrt(max(values[-1], 0.0)))
        excess = vectors[:, values > 1.0]
        return norm, excess, mu**2 * float(np.trace(gram)), float(inner), float(smooth)


_DENSE = 1500  # nodes up to which a dense eigenproblem is cheap beside the sweep


def largest_eigenpairs(gram: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues (rising; the last is an upper bound) and their vectors.

    A certificate must not rest on an iteration that could underestimate the norm. For many nodes
    the eigenvalues come from Lanczos iteration, and a Cholesky factorisation of θI − gram, which
    exists only if no eigenvalue is above θ, proves the bound; should it fail, the dense
    eigenproblem is solved after all. O(N³/3) instead of O(4N³/3), and fast ones.
    """
    import scipy.linalg  # here: 0.25 s that who only imports fieldmend need not wait for

    nodes = len(gram)
    count = min(count, nodes)
    if nodes > _DENSE:
        import scipy.sparse.linalg

        some = min(count, 24)
        start = np.full(nodes, 1.0 / np.sqrt(nodes))
        values, vectors = scipy.sparse.linalg.eigsh(gram, k=some, which="LA", v0=start, tol=1e-8)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
        bound = values[-1] * (1 + 1e-7)
        try:
            scipy.linalg.cholesky(bound * np.eye(nodes) - gram, check_finite=False)
        except np.linalg.LinAlgError:
            pass
        else:
            values[-1] = bound
            return values, vectors
    values, vectors = scipy.linalg.eigh(
        gram, subset_by_index=(nodes - count, nodes - 1), check_finite=False
    )
    return values, vectors


def spectral_edge(shape: tuple[int, ...], rate: float) -> float:
    """√p·(√T + √N): the spectral norm of unit noise of this shape, seen at the rate p."""
    return float(np.sqrt(rate) * np.sqrt(shape).sum())


def default_lam(shape: tuple[int, ...], rate: float) -> float:
    """λ = 2/(√p(√T + √N)), which is Candès et al.'s 1/√(pn) for a square matrix.

    With μ at the spectral edge of the noise, the anomaly threshold d = λμ is then two standard
    deviations of the noise whatever the shape; 1/√(p·max(T, N)) makes it one for a long, narrow
    matrix, and every second good reading an anomaly.

    >>> round(default_lam((100, 100), 1.0), 3)
    0.1
    """
    return 2.0 / spectral_edge(shape, rate)


# Scaled readings beyond this are spikes whatever the field: the loss is linear there, so bounding
# them leaves L as it is, and keeps one absurd value from drowning the objective.
_ABSURD = 1e4
_LARGEST = 1e300  # readings beyond count as this: their differences, scaled, have to stay finite
_ENOUGH = 100_000  # slots for a median
_AT_ONCE = 2_000_000  # entries that medians are taken of at a time
_NORMAL = 1.4826  # median absolute deviation → standard deviation, for normal data


def thinned(slots: int) -> int:
    """Every so many slots are enough for a median."""
    return max(1, slots // _ENOUGH)


def at_once(slots: int, nodes: int) -> list[Any]:
    """The nodes whose medians are taken together, some after the others."""
    return np.array_split(np.arange(nodes), -(-slots * nodes // _AT_ONCE))


def medians(X: Array, observed: Mask) -> tuple[Array, Array]:
    """Of some nodes the median and 1.4826·MAD of what was observed, all of them at once."""
    x = np.where(observed, np.clip(X.astype(np.float64), -_LARGEST, _LARGEST), np.nan).T.copy()
    middle = each_median(x)
    off = np.abs(x - middle[:, None])
    usual = each_median(off)
    mostly = usual == 0
    if mostly.any():
        rest = off[mostly]
        usual[mostly] = each_median(np.where(rest > 0, rest, np.nan))
    return middle, np.where(usual > np.finfo(np.float64).tiny, _NORMAL * usual, np.nan)


@dataclass(frozen=True)
class Scaling:
    """Per-node centre and scale, from medians of the observed readings."""

    center: Array
    scale: Array

    @classmethod
    def of(cls, X: Array, observed: Mask, *, center: bool, scale: bool) -> Scaling:
        """Median and 1.4826·MAD per node; 0 and 1 where not asked for.

        A node without readings gets the other nodes' median centre and scale; a constant node,
        the median scale. A node of which more than half is one value (a light sensor's night) is
        scaled by the readings that differ from it. Of very long records, evenly spaced slots
        are enough.
        """
        nodes = X.shape[1]
        thin = slice(None, None, thinned(len(X)))
        X, observed = X[thin], observed[thin]
        if not center and not scale:
            return cls(np.zeros(nodes), np.ones(nodes))
        parts = [medians(X[:, some], observed[:, some]) for some in at_once(*X.shape)]
        return cls.of_medians(parts, center=center, scale=scale)

    @classmethod
    def of_medians(
        cls, parts: Sequence[tuple[Array, Array]], *, center: bool, scale: bool
    ) -> Scaling:
        """From medians and widths of some nodes after the others."""
        middle, width = (np.concatenate(part) for part in zip(*parts, strict=True))
        middle = np.where(np.isfinite(middle), middle, np.nanmedian(middle))
        usual = float(np.nanmedian(width)) if np.isfinite(width).any() else 1.0
        width = np.where(np.isfinite(width), width, usual)
        return cls(
            middle if center else np.zeros_like(middle),
            width if scale else np.ones_like(width),
        )

    def apply(self, X: Array, observed: Mask) -> Array:
        """(X − centre)/scale on observed entries, 0 elsewhere, in the precision of X.

        In float64, block by block; results beyond ±1e4 scales are bounded there.
        """
        out = np.empty_like(X)
        bound = _ABSURD if (self.scale != 1).any() else np.inf
        for block in blocks(*X.shape):
            x = np.where(observed[block], X[block], 0.0).astype(np.float64)
            with np.errstate(over="ignore"):  # a large one over a small scale: bounded below
                x = (np.clip(x, -_LARGEST, _LARGEST) - self.center) / self.scale
            out[block] = np.clip(x, -bound, bound) * observed[block]
        return out

    def undo(self, L: LowRank, dtype: np.dtype) -> Array:
        """The dense L in the units of the readings."""
        out = np.empty((len(L.left), len(L.right)), dtype)
        right = (L.right * self.scale[:, None]).T
        for block in blocks(*out.shape):
            out[block] = L.left[block] @ right + self.center
        return out

    def rebase(self, L: LowRank, other: Scaling) -> LowRank:
        """L, given in this scaling, in another one."""
        shift = (self.center - other.center) / other.scale
        right = L.right * (self.scale / other.scale)[:, None]
        left = np.hstack([L.left, np.ones((len(L.left), 1))])
        return LowRank(left, np.hstack([right, shift[:, None]]))
