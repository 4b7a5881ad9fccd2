"""The common factors b given the loadings: one large Gaussian posterior, by conjugate gradients.

With each node's own part marginalised, the posterior precision of b is Σ_n a_n a_nᵀ ⊗ K_n⁻¹ plus
the AR(1) precision of the factors. K_n⁻¹ is applied by the chains (O(T)); nothing is ever formed.
The
preconditioner takes the chains for stationary: in the cosine basis the system falls into one r × r
system per frequency. Zeros after the last slot make up a length whose transform is quick: of a
prime number of slots it takes thirty times as long.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.fft import dct, idct, next_fast_len

from fieldmend.core.prox import Array
from fieldmend.field.chains import Chains, precision, precision_draw

_FREQUENCIES = 64  # at which the preconditioner is computed; in between it hardly changes
_LONG = 1000  # slots from which on it matters how long a transform takes
_SMALL = 30_000  # products that are made at once sooner than frequency by frequency
_ALONE = 8192  # numbers that BLAS multiplies by itself: threads wait longer than that takes
# Denser where the spectra are steep: near frequency zero.
_OMEGA = np.pi * np.linspace(0.0, 1.0, _FREQUENCIES) ** 2


class FactorSystem:
    """Solves for factors (r × slots) given a right-hand side; loadings and nodes are fixed."""

    def __init__(self, loadings: Array, phi: Array, chains: Chains) -> None:
        self.loadings, self.phi, self.chains = loadings, phi, chains
        self.diagonal, self.off = precision(phi, 1.0 - phi**2, chains.links)
        self.preconditioner = _preconditioner(loadings, phi, chains)
        self.length = _quick_length(chains.weight.shape[1])
        self.bands = _bands(self.length)
        small = len(phi) ** 2 * self.length <= _SMALL
        self.spread_out = _spread_out(self.preconditioner, self.bands) if small else None

    def apply(self, v: Array) -> Array:
        """The posterior precision times v."""
        out = self._gathered(self.chains.whiten(self.loadings @ v))
        out += self.diagonal * v
        out[..., :-1] += self.off[:, :-1] * v[..., 1:]
        out[..., 1:] += self.off[:, :-1] * v[..., :-1]
        return out

    def precondition(self, v: Array) -> Array:
        """About the inverse of `apply`."""
        waves = dct(v, n=self.length, axis=-1, norm="ortho")
        if self.spread_out is not None:
            waves = np.einsum("ijt,jt->it", self.spread_out, waves)
        else:
            for inverse, band in zip(self.preconditioner, self.bands, strict=True):
                waves[:, band] = inverse @ waves[:, band]
        out: Array = idct(waves, axis=-1, norm="ortho", overwrite_x=True)[:, : v.shape[-1]]
        return out

    def evidence(self, readings: Array) -> Array:
        """What readings (nodes × slots) say of the factors: the right-hand side of their mean."""
        return self._gathered(self.chains.whiten(readings))

    def perturbed(self, rng: np.random.Generator) -> Array:
        """A right-hand side drawn at random, whose covariance is the posterior precision.

        Its solution is a draw from the posterior, about its mean.
        """
        own = self._gathered(self.chains.draw(rng))
        return own + precision_draw(self.phi, 1.0 - self.phi**2, self.chains.links, rng)

    def solve(self, rhs: Array, start: Array | None, *, tol: float, most: int) -> Array:
        """The posterior precision's inverse times the right-hand side."""
        x = np.zeros_like(rhs) if start is None else start.copy()
        rest = rhs.copy() if start is None else rhs - self.apply(x)
        z = self.precondition(rest)
        direction, rz = z.copy(), _dot(rest, z)
        size = rz if start is None else _dot(rhs, self.precondition(rhs))
        goal = tol**2 * max(size, 1e-300)
        for _ in range(most):
            if rz <= goal:
                break
            image = self.apply(direction)
            curve = _dot(direction, image)
            step = rz / curve if curve > 0 else 0.0
            x += step * direction
            rest -= step * image
            z = self.precondition(rest)
            new = _dot(rest, z)
            direction *= new / rz
            direction += z
            rz = new
        return x

    def _gathered(self, white: Array) -> Array:
        out: Array = self.loadings.T @ white
        return out


def _dot(a: Array, b: Array) -> float:
    """The sum of products; of many, piece by piece."""
    if a.size <= _ALONE:
        return float(np.vdot(a, b))
    a, b = a.ravel(), b.ravel()
    pieces = (slice(i, i + _ALONE) for i in range(0, a.size, _ALONE))
    return float(sum(np.dot(a[piece], b[piece]) for piece in pieces))


def _spread_out(inverses: Array, bands: list[slice]) -> Array:
    """The system of each frequency of the record, r × r × frequencies."""
    counts = [band.stop - band.start for band in bands]
    out: Array = np.repeat(inverses.transpose(1, 2, 0), counts, axis=2)
    return out


def _preconditioner(loadings: Array, phi: Array, chains: Chains) -> Array:
    """Inverse r × r systems, one per frequency."""
    n, r = loadings.shape
    outer = (loadings[:, :, None] * loadings[:, None, :]).reshape(n, r * r)
    systems = (_whiteness(chains).T @ outer).reshape(-1, r, r)
    systems[:, np.arange(r), np.arange(r)] += 1.0 / _spectrum(phi, 1.0 - phi**2).T
    out: Array = np.linalg.inv(systems)
    return out


def stationary_gram(chains: Chains, Z: Array) -> Array:
    """About ZK⁻¹Zᵀ of each node, nodes × r × r: exact if nothing were lost and chains endless."""
    r, length = len(Z), _quick_length(Z.shape[1])
    waves = dct(Z, n=length, axis=-1, norm="ortho")
    power = np.array([w @ w.T for w in (waves[:, band] for band in _bands(length))])
    out: Array = (_whiteness(chains) @ power.reshape(_FREQUENCIES, r * r)).reshape(-1, r, r)
    return out


def _quick_length(slots: int) -> int:
    """The next length that is a product of small primes; a short record is quick anyway."""
    return int(next_fast_len(slots, real=True)) if slots >= _LONG else slots


def _bands(slots: int) -> list[slice]:
    """For each of the frequencies those of a record that it stands for; of a short one, none."""
    nearest = np.rint(np.sqrt(np.arange(slots) / slots) * (_FREQUENCIES - 1))
    first = np.searchsorted(nearest, np.arange(_FREQUENCIES + 1)).tolist()
    return [slice(a, b) for a, b in pairwise(first)]


def _whiteness(chains: Chains) -> Array:
    """K⁻¹ as a function of frequency, nodes × frequencies, lost readings counted as noise."""
    nodes = chains.nodes
    rate = np.clip((chains.weight > 0).mean(axis=1), 1e-3, 1.0)
    floor = (nodes.noise + (1.0 - rate) * nodes.innovation) / rate
    out: Array = 1.0 / (_spectrum(nodes.phi, nodes.innovation) + floor[:, None])
    return out


def _spectrum(phi: Array, innovation: Array) -> Array:
    """Spectral density of AR(1) chains, chains × frequencies."""
    phi = phi[:, None]
    out: Array = innovation[:, None] / ((1.0 - phi) ** 2 + 2.0 * phi * (1.0 - np.cos(_OMEGA)))
    return out
