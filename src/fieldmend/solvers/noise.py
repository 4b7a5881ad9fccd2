"""The size of the noise, from observed entries only: what the default μ is made of.

Down the path of falling μ the recovered L explains more and more. At each level the shrinkage of L
is undone (the shrunk residual overstates the noise several times) and the noise is read off what is
left, by its median. The path ends where μ meets the spectral norm that such noise would have: every
component above it is in L, everything below looks like noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.engine import sweep
from fieldmend.problem import LowRank, Problem, default_lam, spectral_edge
from fieldmend.prox import Array, Mask
from fieldmend.solvers.huber import HuberSolver

_FALL = 0.5
_MET = 1.02  # μ this close to the noise's spectral norm has met it
_STEPS = 4  # iterations a level; the path needs the residual's median, not an optimum
_ENTRIES = 4e6  # larger readings are thinned to evenly spaced slots: the noise is the same
_POOLED = 10.0  # readings' worth of the network's level in each node's own
_NORMAL = 1.4826  # median absolute deviation → standard deviation


@dataclass(frozen=True)
class Noise:
    """Standard deviation of the noise, and the path's last iterate (None if slots were thinned)."""

    level: float
    nodes: Array  # each node's own
    start: LowRank | None


def estimate_noise(readings: Array, observed: Mask, *, seed: int = 0) -> Noise:
    """Standard deviation of the noise in scaled readings (zero where unobserved).

    O(T·N·r) for a few dozen passes over at most 4e6 entries.
    """
    slots, nodes = readings.shape
    stride = max(1, int(slots * nodes / _ENTRIES))
    readings, observed = readings[::stride], observed[::stride]
    rate = float(observed.mean())
    lam, edge = default_lam(readings.shape, rate), spectral_edge(readings.shape, rate)
    sizes = np.abs(readings[observed])
    sizes = sizes[sizes > 0]  # constant nodes say nothing of the noise
    if not sizes.size:
        return Noise(1.0, np.ones(nodes), None)
    spread = _NORMAL * float(np.median(sizes))
    floor = 1e-6 * spread * edge
    solver = HuberSolver(Problem(readings, observed, lam, floor), seed=seed)
    state = solver.init()
    mu = state.mu
    while True:
        for _ in range(_STEPS):
            state = solver.step(replace(state, mu=mu, count=0))
        level, each = _debiased_level(readings, observed, state.current, lam * mu)
        end = max(edge * level, floor)
        if mu <= _MET * end:
            break
        mu = max(_FALL * mu, end)
    start = state.current if stride == 1 else None
    smallest = 1e-6 * spread
    return Noise(max(level, smallest), np.maximum(each, smallest), start)


def _debiased_level(
    readings: Array, observed: Mask, L: LowRank, threshold: float
) -> tuple[float, Array]:
    """Median size of P_O(R − L), of all and by node, once the shrinkage of L is undone.

    The shrinkage is a multiple of UVᵀ; least squares on the entries that fit says which.
    """
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
    undo = along / curvature if curvature > 0 else 0.0
    left = L.left + undo * np.divide(L.left, size, out=np.zeros_like(L.left), where=size > 0)
    rest = np.abs(readings - left @ L.right.T)
    count = observed.sum(axis=0)
    freedom = 1.0 - L.rank * (slots + nodes - L.rank) / max(int(count.sum()), 1)
    factor = _NORMAL / float(np.sqrt(max(freedom, 0.25)))
    level = factor * _middle(rest[observed])
    own = np.array([_middle(rest[observed[:, n], n]) for n in range(nodes)])
    # A node's own median is as good as its readings are many: lean on the network's meanwhile.
    each = np.sqrt((count * (factor * own) ** 2 + _POOLED * level**2) / (count + _POOLED))
    return level, each


def _middle(sizes: Array) -> float:
    """The median; for readings in coarse steps, where it is 0, half what the upper fifth implies.

    (For normal noise the 80th percentile is 1.9 times the median, so the half never wins there.)
    """
    if not sizes.size:
        return 0.0
    median, upper = np.quantile(sizes, (0.5, 0.8))
    return float(max(median, 0.5 * upper / 1.9))
