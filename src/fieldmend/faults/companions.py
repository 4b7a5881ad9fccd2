"""What the other nodes say: each node's readings as all the others imply them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.faults.stretches import MAD, Array, Mask

# Slots from which the loadings are learnt, evenly spaced; more does not help and costs.
LEARNT = 1500
RANKS = 4
TUKEY = 4.685
BLOCK = 4096


@dataclass(frozen=True)
class Implied:
    """Readings minus what the other nodes imply, in the data's units, and each node's spread.

    `residual` is NaN where nothing was observed or nobody else was; `spread` is the robust standard
    deviation of a node's residual, not below half the network's.
    """

    residual: Array
    spread: Array


def implied(X: Array, trusted: Mask) -> Implied:
    """Predict every reading from the other nodes of its slot, loadings learnt on trusted readings.

    A robust factor model: ``x_nt = m_n + a_nᵀb_t``, loadings ``a`` from trusted entries of evenly
    spaced slots with bounded influence, then slot by slot only ``b_t`` by Tukey-reweighted ridge
    regression with ``a`` fixed. The prediction of node n leaves node n out (through its
    leverage), so a fault cannot explain itself, however long it lasts.

    Time O(T·N·r²), memory O(T·N).
    """
    centre, scale = _scaling(X, trusted)
    Z = (X - centre) / scale
    loadings = _loadings(Z, trusted)
    residual = np.empty_like(Z)
    noise = np.ones(X.shape[1])
    for _ in range(2):
        for start in range(0, X.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            residual[rows] = _left_out(Z[rows], trusted[rows], loadings, noise)
        noise = _spread(residual, trusted)
    return Implied(residual * scale, noise * scale)


def _scaling(X: Array, trusted: Mask) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        Y = np.where(trusted, X, np.nan)
        some = trusted.any(axis=0)
        centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        centre[some] = np.nanmedian(Y[:, some], axis=0)
        scale[some] = MAD * np.nanmedian(np.abs(Y[:, some] - centre[some]), axis=0)
    usual = scale[scale > 0]
    floor = 1e-3 * float(np.median(usual)) if usual.size else 1.0
    return centre, np.maximum(scale, floor if floor > 0 else 1.0)


def _loadings(Z: Array, trusted: Mask) -> Array:
    """Nodes × r; directions of the bounded readings, which weigh a faulty node no more than any."""
    slots, nodes = Z.shape
    rank = min(RANKS, max(1, (nodes - 1) // 3), slots)
    rows = np.unique(np.linspace(0, slots - 1, min(LEARNT, slots)).astype(int))
    seen = trusted[rows]
    Y = np.where(seen, np.clip(Z[rows], -4, 4), 0.0)
    common = _median_of_seen(Y, seen)
    L = np.where(seen, Y, common[:, None])
    A = np.zeros((nodes, rank))
    for _ in range(12):
        _, V = np.linalg.eigh(L.T @ L)
        A = V[:, ::-1][:, :rank]
        B = L @ A
        fit = B @ A.T
        error = np.where(seen, Y - fit, 0.0)
        limit = 2 * MAD * _median_abs(error, seen)
        # Huber's way: what lies far off the fit pulls no more than the limit.
        L = fit + np.where(seen, np.clip(error, -limit, limit), 0.0)
    return np.asarray(A * np.sqrt(np.maximum((B**2).mean(axis=0), 1e-12)))


def _median_of_seen(Y: Array, seen: Mask) -> Array:
    out = np.zeros(Y.shape[0])
    some = seen.any(axis=1)
    out[some] = np.nanmedian(np.where(seen[some], Y[some], np.nan), axis=1)
    return out


def _median_abs(error: Array, seen: Mask) -> Array:
    some = seen.any(axis=0)
    out = np.ones(error.shape[1])
    out[some] = np.nanmedian(np.where(seen[:, some], np.abs(error[:, some]), np.nan), axis=0)
    return np.maximum(out, 1e-6)


def _left_out(Z: Array, trusted: Mask, A: Array, noise: Array) -> Array:
    """Residuals of one block of slots, each node predicted without itself."""
    observed = ~np.isnan(Z)
    Y = np.where(observed, Z, 0.0)
    rank = A.shape[1]
    pairs = (A[:, :, None] * A[:, None, :]).reshape(A.shape[0], -1)
    precision = 1.0 / np.maximum(noise, 1e-3) ** 2
    weight = trusted * precision
    for turn in range(6):
        G = (weight @ pairs).reshape(-1, rank, rank) + np.eye(rank)
        b = np.linalg.solve(G, ((weight * Y) @ A)[:, :, None])[:, :, 0]
        error = Y - b @ A.T
        if turn == 5:
            break
        size = np.abs(error) / noise
        size /= np.maximum(1.0, _slot_scale(size, trusted))[:, None]
        weight = trusted * precision * _weights(size, soft=turn < 3)
    inverse = np.linalg.inv(G).reshape(-1, rank * rank)
    leverage = np.minimum(weight * (inverse @ pairs.T), 0.999)
    alone = (trusted.sum(axis=1, keepdims=True) - trusted) < 2
    return np.where(observed & ~alone, error / (1 - leverage), np.nan)


def _weights(size: Array, *, soft: bool) -> Array:
    if soft:
        return np.asarray(1.5 / np.maximum(size, 1.5))
    inner = np.minimum(size / TUKEY, 1.0)
    return np.asarray((1 - inner**2) ** 2)


def _slot_scale(size: Array, trusted: Mask) -> Array:
    """How far a slot as a whole is off; an event widens it, one node does not."""
    return MAD * _median_of_seen(size, trusted)


def _spread(residual: Array, trusted: Mask) -> Array:
    known = trusted & ~np.isnan(residual)
    out = np.full(residual.shape[1], np.nan)
    some = known.any(axis=0)
    out[some] = MAD * np.nanmedian(np.where(known, np.abs(residual), np.nan)[:, some], axis=0)
    usual = float(np.nanmedian(out)) if some.any() else 1.0
    return np.maximum(np.where(np.isnan(out), usual, out), max(0.5 * usual, 1e-6))
