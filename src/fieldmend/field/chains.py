"""Many AR(1) chains observed with noise, all nodes in one tridiagonal system.

A node's own part r_n is a stationary AR(1) chain: r_t = φ·r_{t−1} + innovation of variance q. Its
prior precision Q is tridiagonal, and so is Q + W with W = diag(observed/s2), the precision given
the readings. Chains of all nodes, one after the other with no link between them, are one long
tridiagonal matrix: one LAPACK call (``pttrf``, ``pttrs``) factors or solves them all, O(N·T).

Arrays here are nodes × slots, as in the paper: a chain has to be contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from fieldmend.core.prox import Array, Mask

_AT_HAND = 16_384  # numbers, of some nodes at a time, that stay in the processor's cache


@dataclass(frozen=True)
class NodeModel:
    """Each node's own AR(1) part and noise: φ, innovation variance, noise variance."""

    phi: Array
    innovation: Array
    noise: Array

    @property
    def spread(self) -> Array:
        """Stationary variance of the node's own part."""
        out: Array = self.innovation / (1.0 - self.phi**2)
        return out


def precision(phi: Array, innovation: Array, links: Mask) -> tuple[Array, Array]:
    """Diagonal and upper off-diagonal of the prior precision Q, chains × slots.

    ``links`` (slots − 1) is False where a chain is cut: what follows starts afresh. The last column
    of the off-diagonal is zero: it would lead to the next chain.
    """
    before = np.concatenate([[0.0], links])
    after = np.concatenate([links, [0.0]])
    square, scale = (phi**2)[:, None], 1.0 / innovation[:, None]
    diagonal = (1.0 + square * (before + after - 1.0)) * scale
    return diagonal, -phi[:, None] * scale * after


def precision_draw(phi: Array, innovation: Array, links: Mask, rng: np.random.Generator) -> Array:
    """Numbers drawn at random with the prior precision Q as their covariance, chains × slots."""
    out = rng.standard_normal((len(phi), len(links) + 1)) / np.sqrt(innovation)[:, None]
    out[:, np.append(True, ~links)] *= np.sqrt(1.0 - phi**2)[:, None]
    out[:, :-1] -= (phi[:, None] * links) * out[:, 1:]
    return out


class Chains:
    """(Q + W) of all nodes, factored; what can be asked of it is linear in its size."""

    def __init__(self, nodes: NodeModel, observed: Mask, links: Mask) -> None:
        self.nodes, self.links = nodes, links
        self.weight = observed / nodes.noise[:, None]
        self.diagonal, self.off = precision(nodes.phi, nodes.innovation, links)
        self.diagonal += self.weight
        self.factor = _factored(self.diagonal, self.off)

    def solve(self, V: Array) -> Array:
        """(Q + W)⁻¹V for V of shape (…, nodes, slots)."""
        flat = np.array(V, dtype=np.float64).reshape(-1, self.diagonal.size)
        return _solved(*self.factor, flat).reshape(V.shape)

    def smooth(self, V: Array) -> Array:
        """The posterior mean of r given r + e = V where observed."""
        weighted = self.weight * V
        return _solved(*self.factor, weighted.reshape(-1, self.diagonal.size)).reshape(V.shape)

    def whiten(self, V: Array) -> Array:
        """K⁻¹V with K = Cov(r + e) on the observed entries; zero elsewhere."""
        out = self.smooth(V)
        np.subtract(V, out, out=out)
        out *= self.weight
        return out

    def gram(self, Z: Array) -> Array:
        """ZK⁻¹Zᵀ of each node for the same Z (r × slots), nodes × r × r.

        Some nodes at a time: what is at hand stays in the processor's cache.
        """
        nodes, slots = self.diagonal.shape
        d, e = self.factor
        out = np.empty((nodes, len(Z), len(Z)))
        step = max(1, _AT_HAND // max(Z.size, 1))
        for first in range(0, nodes, step):
            some = slice(first, min(first + step, nodes))
            own = slice(some.start * slots, some.stop * slots)
            weighted = self.weight[some] * Z[:, None]
            rows = weighted.reshape(len(Z), -1).copy()
            smooth = _solved(d[own], e[own.start : own.stop - 1], rows).reshape(weighted.shape)
            left = np.subtract(Z[:, None], smooth, out=smooth)
            np.matmul(weighted.transpose(1, 0, 2), left.transpose(1, 2, 0), out=out[some])
        return (out + out.transpose(0, 2, 1)) / 2

    def draw(self, rng: np.random.Generator) -> Array:
        """K⁻¹(r + e) for r and e drawn at random: numbers with K⁻¹ as their covariance."""
        nodes = self.nodes
        heard = np.sqrt(self.weight) * rng.standard_normal(self.weight.shape)
        prior = precision_draw(nodes.phi, nodes.innovation, self.links, rng)
        out: Array = heard - self.weight * self.solve(heard + prior)
        return out

    def variance(self) -> Array:
        """Posterior variance of r at every slot: the diagonal of (Q + W)⁻¹, two-sided recursion."""
        ahead = self._pivots(self.factor)
        flipped = np.roll(self.off, 1, axis=1)[:, ::-1]
        flipped = np.hstack([flipped[:, :-1], np.zeros((len(flipped), 1))])
        back = self._pivots(_factored(self.diagonal[:, ::-1], flipped))[:, ::-1]
        out: Array = 1.0 / (ahead + back - self.diagonal)
        return out

    def _pivots(self, factor: tuple[Array, Array]) -> Array:
        out: Array = factor[0].reshape(self.diagonal.shape)
        return out


def _factored(diagonal: Array, off: Array) -> tuple[Array, Array]:
    flat = np.ascontiguousarray(diagonal).ravel()
    beside = np.ascontiguousarray(off).ravel()[:-1]
    if flat.size == 1:  # LAPACK's wrapper wants an entry beside
        return flat, beside
    d, e, info = lapack.dpttrf(flat, beside)
    assert info == 0
    return d, e


def _solved(d: Array, e: Array, rows: Array) -> Array:
    """Solve for every row, in place."""
    if d.size == 1:
        alone: Array = rows / d
        return alone
    out, info = lapack.dpttrs(d, e, rows.T, overwrite_b=True)
    assert info == 0
    solved: Array = out.T
    return solved
