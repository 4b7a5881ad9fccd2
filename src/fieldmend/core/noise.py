"""The size of the noise, from observed entries only: what the default μ is made of.

Down the path of falling μ the recovered L explains more and more. At each level the shrinkage of L
is undone (the shrunk residual overstates the noise several times), the noise is read off what is
left, by its median, and the nodes are reweighted to have it alike: a node noisier than the rest
would otherwise claim a component of L for its noise. The path ends where μ meets the spectral norm
that such noise would have: every component above it is in L, everything below looks like noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fieldmend.core.engine import sweep
from fieldmend.core.huber import SMALL, HuberSolver
from fieldmend.core.problem import LowRank, Problem, default_lam, spectral_edge
from fieldmend.core.prox import Array, Mask
from fieldmend.core.ranks import quantiles, standing
from fieldmend.core.small import each_solved

_FALL = 0.5
_MET = 1.01  # μ this close to the noise's spectral norm has met it
_MARGIN = 1.01
_LEVELS = 60  # far more than it takes
_STEPS = 20  # iterations a level at most; the path needs the residual's median, not an optimum
_ENTRIES = 1e6  # larger readings are thinned to evenly spaced slots: the noise is the same
_LEAST = 1e-4  # the least noise, as a share of the readings' spread: below, solving takes for ever
_NONE = 1e-3  # share of the readings' spread below which noise is as good as none
_POOLED = 30.0  # readings' worth of the network's level in each node's own
_NORMAL = 1.4826  # median absolute deviation → standard deviation
_MOST = 40  # directions for which a regression of every slot is cheap beside the solve
_HUGE = 1e6  # spreads, of the largest reading: from there the path comes down to the noise


@dataclass(frozen=True)
class Noise:
    """The noise's level once each node is divided by its weight, and the L that the path led to."""

    level: float
    weight: Array  # per node, about its noise relative to the network's
    start: LowRank | None  # of the weighted readings, some of the slots; None if nearly noise-free
    directions: Array | None = None  # nodes × k, in which a solver's subspace may grow


def estimate_noise(readings: Array, observed: Mask, *, weigh: bool = True, seed: int = 0) -> Noise:
    """Standard deviation of the noise in scaled readings (zero where unobserved).

    O(T·N·r) for a few dozen passes over at most 1e6 entries, or 1000 slots.
    """
    slots, nodes = readings.shape
    stride = max(1, int(slots * nodes / max(_ENTRIES, 1000 * nodes)))
    readings, observed = readings[::stride], observed[::stride]
    readings = np.clip(readings, -_HUGE, _HUGE)
    if readings.size > SMALL:  # enough to measure, in half the time
        readings = readings.astype(np.float32)
    rate = float(observed.mean())
    heard, own_readings = np.flatnonzero(observed), _ByNode.of(observed)
    lam, edge = default_lam(readings.shape, rate), spectral_edge(readings.shape, rate)
    sizes = np.abs(readings[observed])
    sizes = sizes[sizes > 1e-150]  # constant nodes say nothing of the noise
    if not sizes.size:
        return Noise(1.0, np.ones(nodes), None)
    spread = _NORMAL * quantiles(sizes, 0.5)[0]
    floor = _LEAST * spread * edge
    problem = Problem(readings, observed, lam, floor)
    solver = HuberSolver(problem, seed=seed)
    solver.known = solver.reserve  # the path takes more than the first few
    state, weight = solver.init(), np.ones(nodes)
    for _ in range(_LEVELS):
        mu = state.mu
        for count in range(_STEPS):
            state = solver.step(replace(state, mu=mu, count=count))
            if state.settled:
                break
        rest, factor = _debiased_residual(solver.problem, state.current, lam * mu)
        level, each = _levels(rest.take(heard), own_readings.sorted(rest), factor)
        own = np.maximum(each * weight, _NONE * spread)
        # A node that seems free of noise must not rule the rest.
        new = np.sqrt(weight * np.clip(own / np.median(own), 0.1, 100.0)) if weigh else weight
        solver.problem = replace(problem, readings=readings / new.astype(readings.dtype))
        L = LowRank(state.current.left, state.current.right * (weight / new)[:, None])
        weight, end = new, max(edge * level, floor)
        if mu <= _MET * end:
            break
        state = solver.at(L, max(_FALL * mu, end), state.step)
    # Anomalies, clipped at two standard deviations, are part of what μ has to hold down: in a long
    # record the noise's singular values lie so close together that 2 % decide over all of them.
    held = np.minimum(factor / _NORMAL * rest.take(heard), 2 * level)
    level = max(level, _MARGIN * float(np.sqrt(np.mean(held**2))))
    # A node whose noise was underrated by chance must not stick out of them either.
    doubt = 3.5 / np.sqrt(max(float(np.median(observed.sum(axis=0))), 1.0))
    level *= 1.0 + max(0.0, doubt - np.sqrt(nodes / slots))
    # Without noise the path falls faster than its iterate can follow: no good start.
    start = L if level > _NONE * spread else None
    return Noise(max(level, _LEAST * spread), weight, start, solver.known)


def of_all_slots(L: LowRank, readings: Array, observed: Mask, mu: float) -> LowRank | None:
    """The L of every slot from that of some, evenly spaced: where it is about optimal at this μ.

    The directions stay. With them, an optimum asks of each slot for a ridge regression of what is
    no anomaly, whose penalty is μ over the singular value of a direction: a few small equations.
    """
    slots, d = readings.shape[0], mu * default_lam(readings.shape, float(observed.mean()))
    if slots == len(L.left) or not 0 < L.rank <= _MOST:
        return L if slots == len(L.left) else None
    L = L.orthonormal()
    size = np.linalg.norm(L.left, axis=0) * np.sqrt(slots / len(L.left))
    if not size.all():
        return None
    ridge, V = np.diag(mu / size)[:, :, None], L.right.astype(np.float32)
    i, j = np.triu_indices(L.rank)
    far = d + 3.0 * float(np.sqrt((size**2).sum() / (slots * len(V))))  # farther than the field is

    def kernel(R: Array, O: Mask) -> tuple[tuple[Array], tuple[()]]:
        R, pairs = R.astype(np.float32, copy=False), V[:, i] * V[:, j]
        left, square = np.zeros((len(R), L.rank), np.float32), np.empty((*ridge.shape[:2], len(R)))
        for limit in (far, d, d, d):
            away = np.abs(R - left @ V.T)
            weight = O * (limit / np.maximum(away, limit)).astype(np.float32)
            square[i, j] = square[j, i] = (weight @ pairs).T
            side = (weight * R) @ V
            left = each_solved(square + ridge, side.T[:, None])[:, 0].T.astype(np.float32)
        return (left,), ()

    (left,), _ = sweep(kernel, readings, observed)
    return LowRank(left[:], V)  # brought here, where they lie elsewhere


@dataclass(frozen=True)
class _ByNode:
    """Where each node's readings stand in slots × nodes, nodes × the most that one has."""

    place: NDArray[np.intp]
    beyond: Mask  # of the readings of a node that has fewer

    @classmethod
    def of(cls, observed: Mask) -> _ByNode:
        slots, nodes = observed.shape
        count, place = observed.sum(axis=0), np.flatnonzero(observed.T.copy())
        beyond = np.arange(count.max(initial=1)) >= count[:, None]
        out = np.zeros(beyond.shape, dtype=np.intp)
        out[~beyond] = place % slots * nodes + place // slots
        return cls(out, beyond)

    def sorted(self, sizes: Array) -> Array:
        """Each node's sizes, the smallest first; what it has not is infinite."""
        out: Array = sizes.take(self.place)
        out[self.beyond] = np.inf
        out.sort(axis=1)
        return out


def _levels(heard: Array, ranked: Array, factor: float) -> tuple[float, Array]:
    """The noise of the network, and of each node by its own sizes in order."""
    level = factor * _middle(heard)
    own, count = _middles(ranked)
    own *= factor
    # A node's own median is as good as its readings are many: lean on the network's meanwhile.
    each: Array = np.sqrt((count * own**2 + _POOLED * level**2) / (count + _POOLED))
    return level, each


def _debiased_residual(problem: Problem, L: LowRank, threshold: float) -> tuple[Array, float]:
    """|R − L| once the shrinkage of L is undone, and the factor from its median to the noise.

    The shrinkage is a multiple of UVᵀ; least squares on the entries that fit says which.
    """
    readings, observed = problem.readings, problem.observed
    slots, nodes = readings.shape
    size = np.linalg.norm(L.left, axis=0)
    unit = L.left[:, size > 0] / size[size > 0]
    right = L.right[:, size > 0]

    def kernel(R: Array, O: Mask, left: Array, unit: Array) -> tuple[tuple[()], tuple[float, ...]]:
        E = (R - left @ L.right.T) * O
        D = unit @ right.T
        inlier = O & (np.abs(E) <= threshold)
        C = np.clip(E, -threshold, threshold)
        return (), (float(np.vdot(C, D)), float(np.vdot(D * inlier, D)))

    _, (along, curvature) = sweep(kernel, readings, observed, L.left, unit)
    undo = float(along / curvature) if curvature > 0 else 0.0
    left = L.left + undo * np.divide(L.left, size, out=np.zeros_like(L.left), where=size > 0)
    rest = np.abs(readings - left @ L.right.T)
    freedom = 1.0 - L.rank * (slots + nodes - L.rank) / max(int(observed.sum()), 1)
    return rest, _NORMAL / float(np.sqrt(max(freedom, 0.25)))


def _middle(sizes: Array) -> float:
    """The median; for readings in coarse steps, where it is 0, half what the upper fifth implies.

    (For normal noise the 80th percentile is 1.9 times the median, so the half never wins there.)
    """
    if not sizes.size:
        return 0.0
    half, fifth = standing(sizes, len(sizes) // 2, (4 * len(sizes)) // 5)
    return float(max(half, 0.5 * fifth / 1.9))


def _middles(ranked: Array) -> tuple[Array, Array]:
    """`_middle` of each row's finite sizes, which are in order, and how many those are."""
    count, row = np.count_nonzero(ranked < np.inf, axis=1), np.arange(len(ranked))
    half, fifth = count // 2, 4 * count // 5
    out = np.maximum(ranked[row, half], 0.5 * ranked[row, fifth] / 1.9)
    return np.where(count > 0, out, 0.0).astype(np.float64), count
