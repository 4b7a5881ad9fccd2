"""Another start for the field model, for slots that hardly depend on each other.

Where neighbouring slots say little (slots in random order, strong noise), jumps show nothing. The
convex problem and its refit without shrinkage look at the slots one by one: their factors and their
flags start the field model there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.core.huber import HuberSolver
from fieldmend.core.loop import Limits, run
from fieldmend.core.noise import Noise, estimate_noise, of_all_slots
from fieldmend.core.problem import LowRank, Problem, default_lam, spectral_edge
from fieldmend.core.prox import Array, Mask
from fieldmend.core.refit import refit
from fieldmend.field.model import Data, Field, start_field

_ROUGH = 0.02  # share of a reading's variance that the next slot does not tell
_LIMITS = Limits(tol=1e-4, max_iter=300)


def roughness(data: Data) -> float:
    """About the share of the variance that differs between a node's readings in adjacent slots.

    1 for slots in random order, near 0 for a smooth field.
    """
    near = data.used[:, 1:] & data.used[:, :-1] & data.links
    if near.sum() < 30:
        return 1.0
    jumps = np.abs(np.diff(data.readings, axis=1)[near])
    sizes = np.abs(data.readings[data.used])
    spread = float(np.median(sizes)) ** 2 + 1e-300
    return float(np.median(jumps)) ** 2 / (2.0 * spread)


def worth_trying(data: Data) -> bool:
    """True if there is enough, and rough enough, for the slot-by-slot start."""
    return min(data.readings.shape) >= 6 and roughness(data) > _ROUGH


def mixture_start(data: Data, every: Data, *, seed: int) -> tuple[Mask, Field, Array]:
    """Flags for all readings, a field fitted to `data`, and the thresholds of the flags."""
    R, O = np.ascontiguousarray(data.readings.T), np.ascontiguousarray(data.used.T)
    noise = estimate_noise(R, O, seed=seed)
    R = R / noise.weight
    L = _convex(R, O, noise, seed)
    found = refit(R, O, L, noise=noise.level, seed=seed)
    fitted = found.low_rank.left @ (found.low_rank.right * noise.weight[:, None]).T
    threshold = found.threshold * noise.weight
    false = every.used & (np.abs(every.readings - fitted.T) > threshold[:, None])
    return false, _as_field(fitted.T, found.rank, data.using(data.used & ~false)), threshold


def _convex(R: Array, O: Mask, noise: Noise, seed: int) -> LowRank:
    wide, rate = R.shape[0] < R.shape[1], float(O.mean())
    mu = noise.level * spectral_edge(R.shape, rate)
    start = None if noise.start is None else of_all_slots(noise.start, R, O, mu)
    if wide:
        R, O = np.ascontiguousarray(R.T), np.ascontiguousarray(O.T)
        start = None if start is None else start.transposed()
    problem = Problem(R, O, default_lam(R.shape, rate), mu)
    known = None if wide else noise.directions
    solver = HuberSolver(problem, start=start, level=mu, seed=seed, directions=known)
    L = run(solver, _LIMITS).state.current
    return L.transposed() if wide else L


def _as_field(fitted: Array, rank: int, data: Data) -> Field:
    """The dense L (nodes × slots) as factors of unit variance and loadings."""
    level = fitted.mean(axis=1)
    U, s, V = np.linalg.svd(fitted - level[:, None], full_matrices=False)
    kept = slice(0, max(1, min(rank, int((s > 1e-9 * s[0]).sum()))))
    size = np.sqrt(fitted.shape[1])
    B, A = V[kept] * size, U[:, kept] * s[kept] / size
    rest = data.using(data.used)
    inner = Data((rest.readings - fitted) * rest.used, rest.used, rest.slots)
    field = start_field(inner)
    one = np.ones(len(B))
    return replace(
        field,
        level=level,
        loadings=A,
        mean_loading=A.mean(axis=0),
        relevance=1.0 / (A.var(axis=0) + 1e-6),
        doubt=np.zeros((len(A), len(B) + 1, len(B) + 1)),
        phi=0.0 * one,
        factors=B,
        deviation=np.zeros_like(B),
        blur=np.zeros((len(B), len(B))),
    )
