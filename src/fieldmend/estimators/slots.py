"""A slot fitted to the space that the nodes span: its coefficients, from its readings alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array, Mask, huber

_REJECT = 4.0  # standard deviations at which a reading has half its weight
_ANNEAL = 0.7  # fall of the noise a step on the way there
_STEPS, _SETTLED = 60, 1e-9  # five to ten steps are usual


@dataclass(frozen=True)
class HuberFit:
    """b = argmin Σ_O h_d(y − V b) + ½ Σ ridge_k b_k², for all slots at once."""

    loadings: Array  # V, nodes × r
    ridge: Array  # r
    threshold: float  # d

    def coefficients(self, R: Array, O: Mask) -> Array:
        """B, slots × r."""
        return _settled(self._step, R, O, np.zeros((len(R), len(self.ridge))))

    def _step(self, R: Array, O: Mask, B: Array) -> Array:
        """The better of two steps, slot by slot.

        Reweighted least squares always descends, but creeps where false readings are all that
        holds a coefficient; Newton's step on the quadratic pieces ends exactly, but may overshoot.
        """
        V, d = self.loadings, self.threshold
        E = (R - B @ V.T) * O
        pull = np.minimum(1.0, d / np.maximum(np.abs(E), 1e-300))
        descent = _weighted_fit(R, np.where(O, pull, 0.0), V, self.ridge)
        inlier = np.where(O & (np.abs(E) <= d), 1.0, 0.0)
        slope = np.clip(E, -d, d) @ V - self.ridge * B
        newton = np.add(B, _solved(_normal(inlier, V, self.ridge), slope))
        better = self._objective(R, O, newton) < self._objective(R, O, descent)
        return np.where(better[:, None], newton, descent)

    def _objective(self, R: Array, O: Mask, B: Array) -> Array:
        misfit = huber((R - B @ self.loadings.T) * O, self.threshold).sum(axis=1)
        value: Array = misfit + 0.5 * (B**2 @ self.ridge)
        return value


@dataclass(frozen=True)
class RejectingFit:
    """Least squares, each node over its noise, in which readings far off have no part.

    A reading weighs 1/(1 + exp((e² − 4²)/2)), e its residual over the noise: the odds of noise
    against something flat. That has local minima, so the noise is annealed: from half the size of
    the field, where only what no field would do is left out, down to what it is.
    """

    loadings: Array  # nodes × r
    ridge: Array  # r
    noise: Array  # nodes

    def coefficients(self, R: Array, O: Mask) -> Array:
        """B, slots × r."""
        B: Array = np.zeros((len(R), len(self.ridge)))
        variance = (self.loadings**2 / self.ridge).sum(axis=1)
        heat = 0.5 * float(np.sqrt((variance / self.noise**2).max()))
        while heat > 1.0:
            B = self._step(R, O, B, heat)
            heat *= _ANNEAL
        return _settled(self._step, R, O, B)

    def deviation(self, O: Mask) -> Array:
        """Standard deviation of a reading about the fit, slots × nodes, if all seen on O are true.

        The noise, and what the slot's readings leave open: the posterior of b with prior 1/ridge.
        """
        V = self.loadings
        matrices = _normal(np.where(O, 1.0 / self.noise**2, 0.0), V, self.ridge)
        inverse = np.linalg.inv(matrices)
        open_ = inverse.reshape(len(O), V.shape[1] ** 2) @ _outer(V).T
        spread: Array = np.sqrt(np.maximum(open_, 0.0) + self.noise**2)
        return spread

    def _step(self, R: Array, O: Mask, B: Array, heat: float = 1.0) -> Array:
        noise = self.noise * heat
        e = np.minimum(np.abs(R - B @ self.loadings.T) / noise, 30.0)
        weight = np.where(O, 1.0 / (1.0 + np.exp(0.5 * (e**2 - _REJECT**2))), 0.0)
        return _weighted_fit(R, weight / noise**2, self.loadings, self.ridge)


def _weighted_fit(R: Array, weight: Array, V: Array, ridge: Array) -> Array:
    return _solved(_normal(weight, V, ridge), (weight * R) @ V)


def _normal(weight: Array, V: Array, ridge: Array) -> Array:
    """Vᵀ diag(w_t) V + ridge, one r × r matrix a slot, by one matrix product."""
    rank = len(ridge)
    return (weight @ _outer(V)).reshape(len(weight), rank, rank) + np.diag(ridge)


def _outer(V: Array) -> Array:
    """V vᵀ of each row, flat: nodes × r²."""
    return (V[:, :, None] * V[:, None, :]).reshape(len(V), V.shape[1] ** 2)


def _solved(matrices: Array, sides: Array) -> Array:
    solution: Array = np.linalg.solve(matrices, sides[:, :, None])[:, :, 0]
    return solution


def _settled(step: Callable[[Array, Mask, Array], Array], R: Array, O: Mask, B: Array) -> Array:
    """Repeat a step, for each slot until its coefficients stand still."""
    B = B.copy()
    moving = np.flatnonzero(O.any(axis=1)) if B.shape[1] else np.zeros(0, np.intp)
    for _ in range(_STEPS):
        if not moving.size:
            break
        old = B[moving]
        new = step(R[moving], O[moving], old)
        B[moving] = new
        moved = np.abs(new - old).max(axis=1)
        moving = moving[moved > _SETTLED * (np.abs(new).max(axis=1) + 1e-300)]
    return B
