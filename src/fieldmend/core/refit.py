"""Refit without shrinkage, on the support and rank found: what ``debias=True`` does.

The nuclear norm shrinks every singular value by μ and the ℓ₁ norm every anomaly by d. Starting from
that solution, fit its model directly, on the entries that are not anomalies:

    y_tn = m_n + a_nᵀb_t + e_tn,  e ~ ρ·N(0, σ_n²) + (1 − ρ)·(flat over the range of the readings),

by variational Bayes (Ilin & Raiko 2010): b_t ~ N(0, I), a_nk ~ N(0, 1/γ_k) with γ learnt, so that
slots and nodes with few readings are held back by what the others say instead of overfitting. The
weight of a reading is the probability that it is no anomaly. The rank is the one that predicts
hidden readings best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fieldmend.core.engine import Parts, blocks, sweep
from fieldmend.core.loop import Limits, Progress, run
from fieldmend.core.problem import LowRank
from fieldmend.core.prox import Array, Mask
from fieldmend.core.small import each_inverted

_ENOUGH = 5e5  # entries to choose the rank by; longer records are thinned to evenly spaced slots
_HIDDEN = 0.1  # share of the readings hidden to choose the rank
_BETTER = 0.995  # a larger rank has to lower the hidden error by this factor
_POOLED = 10.0  # readings' worth of the network's noise level in each node's own
_MEAN = 1e-2  # prior precision of m_n: readings are centred already
_LEAST = 1e-6  # noise level below which readings count as exact
_ROUGH = Limits(tol=3e-3, max_iter=40)  # to compare ranks
_FINE = Limits(tol=1e-4, max_iter=60)
_ANNEAL = 0.7  # σ may fall by this factor an iteration, not faster


@dataclass(frozen=True)
class Model:
    """Factors with their posterior covariances (packed), noise and the share of good readings."""

    slots: Array  # T × (r + 1), last column 1
    slot_cov: Array  # T × q, packed
    nodes: Array  # N × (r + 1), last column m_n
    node_cov: Array  # N × q, packed
    precision: Array  # γ, one per factor and one for m
    noise: Array  # σ_n
    good: float
    progress: Progress = field(default_factory=lambda: Progress(0.0, np.inf, 0))

    @property
    def low_rank(self) -> LowRank:
        """m_n + a_nᵀb_t as factors."""
        return LowRank(self.slots, self.nodes)


class MixtureSolver:
    """Variational Bayes for the model above at a fixed rank. O(T·N·r²) a sweep."""

    def __init__(
        self, readings: Array, observed: Mask, start: LowRank | Model, *, noise: float
    ) -> None:
        self.readings, self.observed = readings, observed
        self.start, self.noise = start, noise
        self.width = _width(readings, observed)

    def init(self) -> Model:
        """The start, balanced so that b_t has unit variance; certain of itself."""
        if isinstance(self.start, Model):
            return self.start
        rest = np.abs((self.readings - self.start.dense())[self.observed])
        noise = max(self.noise, 1.4826 * float(np.median(rest)) if rest.size else 0.0)
        slots, nodes = self.readings.shape
        L = self.start
        size = np.linalg.norm(L.left, axis=0) / np.sqrt(slots) + 1e-12
        B = np.hstack([L.left / size, np.ones((slots, 1))])
        A = np.hstack([L.right * size, np.zeros((nodes, 1))])
        q = B.shape[1] * (B.shape[1] + 1) // 2
        gamma = np.append(1.0 / np.maximum((A[:, :-1] ** 2).mean(axis=0), 1e-12), _MEAN)
        none = np.zeros((slots, q)), np.zeros((nodes, q))
        return Model(B, none[0], A, none[1], gamma, np.full(nodes, noise), 0.95)

    def step(self, m: Model) -> Model:
        """Weights and b_t block by block; then a_n, noise and γ from the sums."""
        arrays = self.readings, self.observed, m.slots, m.slot_cov
        (B, cov), sums = sweep(self._kernel(m), *arrays)
        return self._update(m, B, cov, sums)

    def _kernel(self, m: Model) -> Callable[..., Parts]:
        r, pack = m.nodes.shape[1] - 1, _Packing(m.nodes.shape[1])
        variance = m.noise**2
        node_moments = pack.outer(m.nodes) + m.node_cov
        onto_cov, onto_outer = pack.twice(m.node_cov).T, pack.twice(pack.outer(m.nodes)).T
        flat = (1 - m.good) / self.width
        peak = m.good / (np.sqrt(2 * np.pi) * m.noise)

        def kernel(R: Array, O: Mask, B: Array, cov: Array) -> Parts:
            R = R.astype(np.float64, copy=False)
            unsure = (pack.outer(B) + cov) @ onto_cov + cov @ onto_outer
            square = (R - B @ m.nodes.T) ** 2 + np.maximum(unsure, 0.0)
            likely = peak * np.exp(-0.5 * np.minimum(square / variance, 1400.0))
            good = O * (likely / (likely + flat))
            w = good / variance
            H = (node_moments.T @ w.T)[pack.place]
            H[range(r), range(r)] += 1.0
            # m_n is the loading of a factor that is always 1: its part goes to the right.
            cov_b = each_inverted(H[:r, :r])
            right = m.nodes[:, :r].T @ (w * R).T - H[:r, r]
            B = np.vstack([(cov_b * right).sum(axis=1), np.ones(len(R))]).T
            cov = np.pad(cov_b, ((0, 1), (0, 1), (0, 0)))[pack.i, pack.j].T
            moments = pack.outer(B) + cov
            fit = (good * square).sum(axis=0), good.sum(axis=0)
            return (B, cov), (w.T @ moments, (w * R).T @ B, *fit, moments.sum(axis=0))

        return kernel

    def _update(self, m: Model, B: Array, cov: Array, sums: tuple[Any, ...]) -> Model:
        H, target, square, weight, moments = sums
        r, pack = B.shape[1] - 1, _Packing(B.shape[1])
        node_cov = np.linalg.inv(pack.unpack(H) + np.diag(m.precision))
        A = np.einsum("nij,nj->ni", node_cov, target)
        # The scale between b and a is free: E[b²] = 1 fixes it.
        unit = np.sqrt(np.diag(pack.unpack(moments[None])[0]) / len(B))
        unit = np.append(np.maximum(unit[:r], 1e-12), 1.0)
        A, B = A * unit, B / unit
        node_cov = node_cov * np.outer(unit, unit)
        cov = cov / pack.outer(unit[None])
        size = (A**2 + np.einsum("nii->ni", node_cov)).mean(axis=0)
        gamma = np.append(1.0 / np.maximum(size[:r], 1e-12), _MEAN)
        usual = square.sum() / max(float(weight.sum()), 1.0)
        level = np.sqrt((square + _POOLED * usual) / (weight + _POOLED))
        noise = np.maximum(np.maximum(level, _ANNEAL * m.noise), _LEAST)
        good = min(float(weight.sum()) / max(int(self.observed.sum()), 1), 1 - 1e-6)
        moved = float(np.abs(noise / m.noise - 1).max())
        progress = Progress(float(square.sum()), moved, r)
        return Model(B, cov, A, pack.pack(node_cov), gamma, noise, good, progress)

    def certify(self, state: Model) -> tuple[Model, Progress]:
        """The relative change of the noise level in the last sweep."""
        return state, state.progress


@dataclass(frozen=True)
class Refit:
    """The refitted L (with the node means), its rank, and the rule for the anomalies' support."""

    low_rank: LowRank
    rank: int
    threshold: Array  # per node, beyond which a residual is more likely an anomaly than noise


def refit(
    readings: Array,
    observed: Mask,
    solution: LowRank,
    *,
    noise: float,
    seed: int = 0,
) -> Refit:
    """Choose the rank by hidden readings, then fit with all of them."""
    solution = solution.orthonormal()
    stride = max(1, int(readings.size / _ENOUGH))
    best = _best_rank(
        readings[::stride],
        observed[::stride],
        LowRank(solution.left[::stride], solution.right),
        noise=noise,
        seed=seed,
    )
    if best is None:
        return Refit(solution, solution.rank, np.full(readings.shape[1], 4 * noise))
    rank = best.progress.rank
    start = best if stride == 1 else _truncated(solution, rank, seed)
    model = _fit(readings, observed, start, noise, _FINE)
    return Refit(model.low_rank, rank, _crossing(model, _width(readings, observed)))


def _best_rank(
    readings: Array, observed: Mask, solution: LowRank, *, noise: float, seed: int
) -> Model | None:
    """The model of the rank that predicts hidden readings best."""
    rng = np.random.default_rng(seed)
    hidden = observed & (rng.random(observed.shape) < _HIDDEN)
    best, error, failures = None, np.inf, 0
    for candidate in _ranks(min(readings.shape), int(observed.sum()), readings.shape):
        start = _truncated(solution, candidate, seed)
        model = _fit(readings, observed & ~hidden, start, noise, _ROUGH)
        missed = _hidden_error(readings, hidden, model)
        if missed < _BETTER * error:
            best, error, failures = model, missed, 0
        else:
            failures += 1
            if failures == 2:
                break
    return best


def _fit(
    readings: Array, observed: Mask, start: LowRank | Model, noise: float, limits: Limits
) -> Model:
    return run(MixtureSolver(readings, observed, start, noise=noise), limits).state


def _ranks(limit: int, entries: int, shape: tuple[int, int]) -> Iterator[int]:
    """1, 2, 3, … in growing steps, while there are as many readings as parameters."""
    rank = 1
    while rank <= max(1, limit // 2) and rank * sum(shape) <= max(entries, sum(shape)):
        yield rank
        rank += max(1, rank // 3)


def _truncated(solution: LowRank, rank: int, seed: int) -> LowRank:
    """The leading part of the solution; tiny random factors where it has too few."""
    left, right = solution.left[:, :rank], solution.right[:, :rank]
    lacking = rank - left.shape[1]
    if lacking > 0:
        rng = np.random.default_rng(seed + 1)
        small = 0.1 * (np.linalg.norm(left) / np.sqrt(max(left.size, 1)) + 1e-6)
        left = np.hstack([left, small * rng.standard_normal((len(left), lacking))])
        right = np.hstack([right, rng.standard_normal((len(right), lacking)) / len(right) ** 0.5])
    return LowRank(left, right)


def _hidden_error(readings: Array, hidden: Mask, model: Model) -> float:
    """Mean error on hidden readings, the worst tenth left out: some of them are anomalies."""
    errors = [
        np.abs(readings[b] - model.slots[b] @ model.nodes.T)[hidden[b]]
        for b in blocks(*readings.shape)
    ]
    missed = np.sort(np.concatenate(errors))
    return float(missed[: max(1, int(0.9 * len(missed)))].mean()) if len(missed) else np.inf


def _width(readings: Array, observed: Mask) -> float:
    """The range over which anomalies are taken to lie; one absurd reading must not stretch it."""
    sizes = np.abs(readings[:: max(1, int(readings.size / _ENOUGH))])
    seen = sizes[observed[:: max(1, int(readings.size / _ENOUGH))]]
    return 2.0 * float(np.quantile(seen, 0.995)) + 1e-300 if seen.size else 1.0


def _crossing(model: Model, width: float) -> Array:
    """The residual at which noise and anomaly are equally likely."""
    odds = model.good * width / ((1 - model.good) * np.sqrt(2 * np.pi) * model.noise)
    threshold: Array = model.noise * np.sqrt(2 * np.log(np.maximum(odds, math.e)))
    return threshold


class _Packing:
    """Symmetric k × k matrices as vectors of k(k+1)/2 numbers, so that sums of them are GEMMs."""

    def __init__(self, k: int) -> None:
        self.i, self.j = np.triu_indices(k)
        self.place = np.empty((k, k), dtype=np.intp)  # of each entry in the vector
        self.place[self.i, self.j] = self.place[self.j, self.i] = np.arange(len(self.i))

    def outer(self, X: Array) -> Array:
        """xxᵀ for each row."""
        product: Array = X[:, self.i] * X[:, self.j]
        return product

    def pack(self, M: Array) -> Array:
        """Batch of matrices → rows."""
        rows: Array = M[:, self.i, self.j]
        return rows

    def unpack(self, rows: Array) -> Array:
        """Rows → batch of matrices."""
        M: Array = rows[:, self.place]
        return M

    def twice(self, rows: Array) -> Array:
        """Off-diagonal entries doubled: the inner product of two packed matrices needs it once."""
        return rows * np.where(self.i == self.j, 1.0, 2.0)
