"""Each node's own part: φ, innovation and noise by likelihood on a grid, nodes lending strength."""

from __future__ import annotations

import numpy as np

from fieldmend.prox import Array, Mask
from fieldmend.solvers.field.chains import Chains, NodeModel

PHI = (0.0, 0.5, 0.8, 0.93, 0.98, 0.995, 0.9995)
RATIO = (0.003, 0.03, 0.2, 1.0, 6.0, 60.0)  # noise variance over innovation variance
_ROUNDS = 12  # of the empirical-Bayes prior over the grid: it settles in fewer
_POOLED = 4.0  # readings' worth of the network's size of innovation in each node's own
_LEAST = 1e-10  # variance floor, in squared scales


def fit_nodes(
    rest: Array, observed: Mask, links: Mask, *, near: NodeModel | None = None
) -> NodeModel:
    """Fit r + e to the rest of the readings, nodes × slots, zero where unobserved.

    For every φ and ratio s2/q the likelihood is maximised over the size q. The prior over the grid
    is learnt from all nodes, so that a node with few readings behaves like the others. Of the grid
    only points next to one that some node had (`near`) are tried, if given.
    """
    count = observed.sum(axis=1)
    grid = _grid(near)
    loglik, size = np.empty((len(grid), len(rest))), np.empty((len(grid), len(rest)))
    pieces = 1 + int((~links).sum())
    ones = np.ones(len(rest))
    for g, (phi, ratio) in enumerate(grid):
        chains = Chains(NodeModel(phi * ones, ones, ratio * ones), observed, links)
        square = np.maximum((rest * chains.whiten(rest)).sum(axis=1), 0.0)
        log_det = chains.log_determinant() - pieces * np.log1p(-(phi**2)) + count * np.log(ratio)
        size[g] = square
        loglik[g] = -0.5 * log_det
    usual = np.median(size[:, count > 0] / count[count > 0], axis=1, keepdims=True)
    size = (size + _POOLED * usual) / (count + _POOLED) + _LEAST
    loglik -= 0.5 * (count + _POOLED) * np.log(size)
    best = _best(loglik)
    phi, ratio = np.array(grid)[best].T
    innovation = size[best, np.arange(len(rest))]
    return NodeModel(phi, innovation, ratio * innovation)


def _grid(near: NodeModel | None) -> list[tuple[float, float]]:
    points = np.ones((len(PHI), len(RATIO)), dtype=np.bool_)
    if near is not None:
        points[:] = False
        i = np.searchsorted(PHI, near.phi - 1e-9)
        j = np.searchsorted(np.log(RATIO), np.log(near.noise / near.innovation) - 1e-6)
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                points[np.clip(i + di, 0, len(PHI) - 1), np.clip(j + dj, 0, len(RATIO) - 1)] = True
    return [(PHI[a], RATIO[b]) for a, b in np.argwhere(points).tolist()]


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
