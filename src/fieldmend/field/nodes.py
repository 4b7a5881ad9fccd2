"""Each node's own part: φ, innovation and noise by likelihood on a grid, nodes lending strength."""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.chains import NodeModel

PHI = (0.0, 0.5, 0.8, 0.93, 0.98, 0.995, 0.9995)
FORGETFUL = PHI[:3]  # wandering that is forgotten within a few slots
RATIO = (0.003, 0.03, 0.2, 1.0, 6.0, 60.0)  # noise variance over innovation variance
_ROUNDS = 12  # of the empirical-Bayes prior over the grid: it settles in fewer
_POOLED = 4.0  # readings' worth of the network's size of innovation in each node's own
_LEAST = 1e-10  # variance floor, in squared scales
_WARM = 128  # slots after which a filter has all but forgotten how it was started
_LONG = 8000  # numbers in a vector from which on longer ones are no cheaper
_FOLD = 64  # innovation variances multiplied before a logarithm is taken: far from overflow


def fit_nodes(
    rest: Array,
    observed: Mask,
    links: Mask,
    *,
    near: NodeModel | None = None,
    phi: tuple[float, ...] = PHI,
) -> NodeModel:
    """Fit r + e to the rest of the readings, nodes × slots, zero where unobserved.

    For every φ and ratio s2/q the likelihood is maximised over the size q. The prior over the grid
    is learnt from all nodes, so that a node with few readings behaves like the others. Of the grid
    only points next to one that some node had (`near`) are tried, if given, and only some `phi`.
    """
    count = observed.sum(axis=1)
    grid = _grid(near, phi)
    size, log_det = innovations(rest, observed, links, np.array(grid))
    loglik = -0.5 * log_det
    usual = np.median(size[:, count > 0] / count[count > 0], axis=1, keepdims=True)
    size = (size + _POOLED * usual) / (count + _POOLED) + _LEAST
    loglik -= 0.5 * (count + _POOLED) * np.log(size)
    best = _best(loglik)
    chosen, ratio = np.array(grid)[best].T
    innovation = size[best, np.arange(len(rest))]
    return NodeModel(chosen, innovation, ratio * innovation)


def innovations(rest: Array, observed: Mask, links: Mask, grid: Array) -> tuple[Array, Array]:
    """yᵀK⁻¹y and log det K at every grid point for innovations of unit size, points × nodes.

    A Kalman filter of all points and nodes at once, slot by slot. Where that makes short vectors,
    also of several pieces of the record, each warmed up on the slots before it.
    """
    nodes, slots = rest.shape
    count = int(np.clip(_LONG // (nodes * len(grid)), 1, max(1, slots // (2 * _WARM))))
    length = -(-slots // count)
    warm = _WARM if count > 1 else 0
    at = np.arange(count) * length + np.arange(-warm, length)[:, None]  # a piece's slots × pieces
    inside = (at >= 0) & (at < slots)
    fresh = np.isin(at, np.append(0, 1 + np.flatnonzero(~links))).repeat(nodes, axis=1)

    def cut(rows: Array | Mask) -> Array:
        chosen = np.where(inside, rows[:, np.clip(at, 0, slots - 1)], 0.0)
        return np.ascontiguousarray(chosen.transpose(1, 2, 0).reshape(len(at), -1))

    run = _Filter(grid, fresh.shape[1])
    heard = cut(observed)
    starts, lost = (set(np.flatnonzero(m.any(axis=1)).tolist()) for m in (fresh, heard == 0))
    for t, (y, seen) in enumerate(zip(cut(rest), heard, strict=True)):
        run.predict(fresh[t] if t in starts else None)
        run.hear(y, seen)
        if t >= warm:
            run.count(seen > 0 if t in lost else None)
    return tuple(part.reshape(len(grid), count, nodes).sum(axis=1) for part in run.sums())


class _Filter:
    """Kalman filters of AR(1) chains, points × chains, and the sums of their innovations."""

    def __init__(self, grid: Array, chains: int) -> None:
        shape = (len(grid), chains)
        self.phi, self.ratio = (np.repeat(column[:, None], chains, axis=1) for column in grid.T)
        self.forget, self.start = self.phi**2, 1.0 / (1.0 - self.phi**2)
        self.mean, self.variance = np.zeros(shape), self.start.copy()
        self.square, self.log_det, self.product = np.zeros(shape), np.zeros(shape), np.ones(shape)
        self.spread, self.weight, self.off, self.gain, self.moved = np.empty((5, *shape))
        self.folded = 0

    def predict(self, fresh: Mask | None) -> None:
        """The next slot, which some chains start afresh with, if any."""
        self.mean *= self.phi
        self.variance *= self.forget
        self.variance += 1.0
        if fresh is not None:
            self.mean[:, fresh] = 0.0
            self.variance[:, fresh] = self.start[:, fresh]

    def hear(self, y: Array, seen: Array) -> None:
        """The slot's readings, where there are any."""
        np.add(self.variance, self.ratio, out=self.spread)
        np.divide(seen, self.spread, out=self.weight)
        np.subtract(y, self.mean, out=self.off)
        np.multiply(self.variance, self.weight, out=self.gain)
        self.weight *= self.off
        np.multiply(self.variance, self.weight, out=self.moved)
        self.mean += self.moved
        self.gain *= self.variance
        self.variance -= self.gain

    def count(self, seen: Mask | None) -> None:
        """Add what was heard to the sums; None where all were."""
        self.weight *= self.off
        self.square += self.weight
        self.product *= self.spread if seen is None else np.where(seen, self.spread, 1.0)
        self.folded += 1
        if self.folded % _FOLD == 0:
            self._fold()

    def sums(self) -> tuple[Array, Array]:
        """Σ innovation²/variance and Σ log variance."""
        self._fold()
        return self.square, self.log_det

    def _fold(self) -> None:
        self.log_det += np.log(self.product)
        self.product[:] = 1.0


def _grid(near: NodeModel | None, phi: tuple[float, ...] = PHI) -> list[tuple[float, float]]:
    points = np.ones((len(phi), len(RATIO)), dtype=np.bool_)
    if near is not None:
        points[:] = False
        i = np.searchsorted(phi, near.phi - 1e-9)
        j = np.searchsorted(np.log(RATIO), np.log(near.noise / near.innovation) - 1e-6)
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                points[np.clip(i + di, 0, len(phi) - 1), np.clip(j + dj, 0, len(RATIO) - 1)] = True
    return [(phi[a], RATIO[b]) for a, b in np.argwhere(points).tolist()]


def _best(loglik: Array) -> Array:
    """The most likely grid point of each node, under a prior that all nodes share."""
    log_prior = np.zeros((len(loglik), 1))
    for _ in range(_ROUNDS):
        post = loglik + log_prior
        post = np.exp(post - post.max(axis=0))
        share = (post / post.sum(axis=0)).mean(axis=1, keepdims=True)
        log_prior = np.log(share + 1e-3 / len(loglik))
    best: Array = np.argmax(loglik + log_prior, axis=0)
    return best
