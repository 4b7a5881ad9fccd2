"""What the other nodes say: each node's readings as all the others imply them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from fieldmend.core.ranks import counted
from fieldmend.core.small import each_inverted, each_solved
from fieldmend.faults.stretches import MAD, Array, Mask, node_medians, slot_medians

# Slots from which the loadings are learnt, evenly spaced; more does not help and costs.
LEARNT = 1500
# Slots that the levels and spreads of the nodes are told by: a median of so many is off by a
# fiftieth. All slots of a node that was heard in fewer of them than the second number.
LEVELS, HEARD = 5000, 1000
# Parts of them; a reference window leaves out two neighbouring ones.
WINDOWS = 6
RANKS = 4
# Slots on which the number of factors is tried.
TRIED = 300
TUKEY = 4.685
# Prior precision of a factor, whose changes have unit size: its levels may be some times larger.
RIDGE = 0.05
# Entries at once in what is done slot by slot: their arrays stay in the processor's cache.
BLOCK = 32_768
GOLDEN = 0.6180339887498949
# Nodes from which on a few singular vectors are not found by way of all of them.
MANY = 300


@dataclass(frozen=True)
class Implied:
    """Readings minus what the other nodes imply, in the data's units, and each node's spread.

    `residual` is NaN where nothing was observed or nobody else was; `spread` is the robust standard
    deviation of a node's residual, not below half the network's.
    """

    residual: Array
    spread: Array
    readings: Array
    trusted: Mask


def implied(X: Array, trusted: Mask, known: Implied | None = None) -> Implied:
    """Predict every reading from the other nodes of its slot, loadings learnt on trusted readings.

    A robust factor model: ``x_nt = m_n + a_nᵀb_t``, loadings ``a`` from trusted entries of evenly
    spaced slots with bounded influence, then slot by slot only ``b_t`` by Tukey-reweighted ridge
    regression with ``a`` fixed. The prediction of node n leaves node n out (through its
    leverage), so a fault cannot explain itself, however long it lasts. What is `known` is given
    back if it is of these very readings, the same of them trusted.

    Time O(T·N·r²), memory O(T·N).
    """
    if known is not None and known.readings is X and np.array_equal(known.trusted, trusted):
        return known
    centre, scale = _scaling(X, trusted)
    Z = (X - centre) / scale
    loadings, noise = _loadings(Z, trusted)
    loadings = _useful(Z, trusted, loadings, noise)
    # The nodes' levels, now that the factors are known, and how far they are off them.
    some = _scattered(len(X), LEVELS)
    residual = _residuals(Z[some], trusted[some], loadings, noise)
    level = np.nan_to_num(node_medians(np.where(trusted[some], residual, np.nan)))
    Z -= level
    noise = _spread(residual - level, trusted[some])
    residual = _residuals(Z, trusted, loadings, noise)
    return Implied(residual * scale, _spread(residual, trusted) * scale, X, trusted)


def by_median(X: Array, trusted: Mask) -> Implied:
    """The plainest prediction: every node does as the slot's median node does, at its own level."""
    own = X - np.nan_to_num(node_medians(np.where(trusted, X, np.nan)))
    residual = own - _typical(own, trusted)[:, None]
    residual -= np.nan_to_num(node_medians(np.where(trusted, residual, np.nan)))
    return Implied(residual, _spread(residual, trusted), X, trusted)


def _residuals(Z: Array, trusted: Mask, loadings: Array, noise: Array) -> Array:
    out = np.empty_like(Z)
    step = max(1, BLOCK // Z.shape[1])
    for start in range(0, len(Z), step):
        rows = slice(start, start + step)
        out[rows] = _left_out(Z[rows], trusted[rows], loadings, noise)
    return out


def _spaced(slots: int, count: int) -> Array:
    """So many slots at the most, evenly spaced."""
    return np.unique(np.linspace(0, slots - 1, min(count, slots)).astype(int))


def _scattered(slots: int, count: int) -> Array:
    """So many slots at the most, evenly spread but not at equal distances: days are periodic."""
    if slots <= count:
        return np.arange(slots)
    number = np.arange(count)
    return np.asarray(((number + number * GOLDEN % 1.0) * slots / count).astype(int))


def _scaling(X: Array, trusted: Mask) -> tuple[Array, Array]:
    centre, scale = _by_some(X, trusted, _middle_and_size)
    usual = scale[scale > 0]
    floor = 1e-3 * float(np.median(usual)) if usual.size else 1.0
    return centre, np.maximum(scale, floor if floor > 0 else 1.0)


def _middle_and_size(X: Array, trusted: Mask) -> Array:
    with np.errstate(all="ignore"):
        Y = np.where(trusted, X, np.nan)
        centre = np.nan_to_num(node_medians(Y))
        scale = np.nan_to_num(MAD * node_medians(np.abs(Y - centre)), nan=1.0)
    return np.array([centre, scale])


def _by_some(X: Array, trusted: Mask, measure: Callable[[Array, Mask], Array]) -> Array:
    """A measure of each node; of a long record, as some of its slots tell it."""
    some = _scattered(len(X), LEVELS)
    if len(some) == len(X):
        return measure(X, trusted)
    known = trusted[some]
    out = measure(X[some], known)
    seldom = np.count_nonzero(known, axis=0) < HEARD
    if seldom.any():
        out[..., seldom] = measure(X[:, seldom], trusted[:, seldom])
    return out


def _loadings(Z: Array, trusted: Mask) -> tuple[Array, Array]:
    """What each node makes of the common factors, nodes × r, and how well: its noise.

    Learnt from changes over a twentieth of the record: a fault that lasts is a component of the
    levels, but it changes only when it begins and when it ends. Factors from them with no node in
    charge of one (`_factors`); then node by node a robust regression on these, begun from the
    window that explains the node best (`_best_window`).
    """
    slots, nodes = Z.shape
    lag = max(1, slots // 20) if slots > 2 else 0
    rank = min(RANKS, max(1, (nodes - 1) // 3), slots)
    rows = _spaced(slots - lag, LEARNT)
    seen = trusted[rows] & trusted[rows + lag] if lag else trusted[rows]
    Y = Z[rows + lag] - Z[rows] if lag else Z[rows]
    Y = np.where(seen, np.clip(Y, -6, 6), 0.0)
    B = _factors(Y, seen, rank)
    A = _best_window(Y, B, seen)
    pairs = _pairs(B)
    for _ in range(6):
        error = np.abs(Y - B @ A.T)
        weight = seen * _weights(error / (MAD * _median_abs(error, seen)), soft=False)
        A = _solved(weight.T @ pairs, (weight * Y).T @ B)
    noise = MAD * _median_abs(np.abs(Y - B @ A.T), seen)
    return A, np.maximum(noise, 0.2 * float(np.median(noise)))


def _best_window(Y: Array, B: Array, seen: Mask) -> Array:
    """Loadings from the reference window that explains most of each node: nodes × r.

    The record without a third of it, for six thirds, and the whole: whichever leaves the smallest
    median error. A fault lies in the third that is left out, or it is too long to be told.
    """
    pairs = _pairs(B)
    cuts = np.array_split(np.arange(Y.shape[0]), WINDOWS)
    squares = np.stack([seen[c].astype(float).T @ pairs[c] for c in cuts])
    products = np.stack([Y[c].T @ B[c] for c in cuts])
    best, least = np.zeros((Y.shape[1], B.shape[1])), np.full(Y.shape[1], np.inf)
    for i in range(WINDOWS + 1):
        used = [k for k in range(WINDOWS) if i == WINDOWS or k not in (i, (i + 1) % WINDOWS)]
        A = _solved(squares[used].sum(axis=0), products[used].sum(axis=0))
        error = _median_abs(np.abs(Y - B @ A.T), seen)
        better = error < least
        best[better], least[better] = A[better], error[better]
    return best


def _pairs(B: Array) -> Array:
    """Products of each row's entries, flat: rows × r²."""
    return np.asarray((B[:, :, None] * B[:, None, :]).reshape(B.shape[0], -1))


def _solved(squares: Array, products: Array) -> Array:
    """Normal equations of all nodes."""
    rank = products.shape[1]
    matrices = squares.reshape(-1, rank, rank) + 1e-3 * np.eye(rank)
    return np.asarray(np.linalg.solve(matrices, products[:, :, None])[:, :, 0])


def _factors(Y: Array, seen: Mask, rank: int) -> Array:
    """Slots × r, unit size: the leading directions that several nodes share.

    A node that carries more than its part of them has a component of its own, which is what a
    lasting fault looks like: it is weighed down until it does not.
    """
    nodes = Y.shape[1]
    filled = np.where(seen, Y, _typical(Y, seen)[:, None])
    part = min(1.5 * rank / nodes, 0.9)
    weight = np.ones(nodes)
    leading = _Leading(filled, rank)
    for _ in range(20):
        V = leading(weight)
        share = (V**2).sum(axis=1)
        if share.max() <= part:
            break
        weight *= np.where(share > part, 0.7, 1.0)
    B = (filled * weight) @ V
    return np.asarray(B / np.sqrt(np.maximum((B**2).mean(axis=0), 1e-12)))


class _Leading:
    """Leading right singular vectors of a matrix whose columns are weighed, time after time.

    Of many nodes by Lanczos' method: the time of all vectors grows with the cube of the nodes, and
    a handful is wanted.
    """

    def __init__(self, matrix: Array, rank: int) -> None:
        self.matrix, self.rank = matrix, rank
        slots, nodes = matrix.shape
        self.short = rank <= slots < nodes
        self.gram = matrix.T @ matrix if not self.short and nodes <= MANY else None

    def __call__(self, weight: Array) -> Array:
        """Nodes × rank, the first first."""
        if self.short and (found := self._by_slots(weight)) is not None:
            return found
        if self.gram is None and (found := self._some(weight)) is not None:
            return found
        gram = self.matrix.T @ self.matrix if self.gram is None else self.gram
        return _last(gram * weight[:, None] * weight, self.rank)[1]

    def _by_slots(self, weight: Array) -> Array | None:
        """By way of the slots, which are fewer; None where they say next to nothing."""
        scaled = self.matrix * weight
        size, U = _last(scaled @ scaled.T, self.rank)
        if size[-1] <= 1e-9 * size[0]:
            return None
        return np.asarray(scaled.T @ U / np.sqrt(size))

    def _some(self, weight: Array) -> Array | None:
        """By Lanczos' method; None where it does not come to an end."""
        from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh  # slow to import

        scaled = self.matrix * weight
        if not scaled.any():
            return None
        nodes = len(weight)
        operator = LinearOperator(
            (nodes, nodes), matvec=lambda v: scaled.T @ (scaled @ v), dtype=np.float64
        )
        start = scaled.T @ scaled.sum(axis=1) + 1e-3 * np.abs(scaled).max()
        try:
            size, V = eigsh(operator, k=self.rank, v0=start, maxiter=300)
        except ArpackError:
            return None
        return np.asarray(V[:, np.argsort(-size)])


def _last(gram: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues of a symmetric matrix and their vectors, the first first."""
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=(size - count, size - 1), check_finite=False)
    return values[::-1], np.asarray(vectors[:, ::-1])


def _typical(Y: Array, seen: Mask) -> Array:
    """Median of what was seen in each slot; 0 where nothing was."""
    return np.asarray(np.nan_to_num(slot_medians(np.where(seen, Y, np.nan))))


def _median_abs(error: Array, seen: Mask) -> Array:
    """Median of each node's seen sizes, positive; a measure, in single precision: half the time."""
    some = np.where(seen, error.astype(np.float32), np.float32(np.nan))
    size = node_medians(some).astype(np.float64)
    return np.asarray(np.maximum(np.nan_to_num(size, nan=1.0), 1e-6))


def _useful(Z: Array, trusted: Mask, A: Array, noise: Array) -> Array:
    """Loadings without the factors that the others cannot tell a node.

    For each node as many leading factors as predict it best, itself left out, on evenly spaced
    slots. A factor that is one node's fault is known to nobody else, so it goes.
    """
    slots, nodes = Z.shape
    rows = _spaced(slots, TRIED)
    errors = np.full((A.shape[1], nodes), np.inf)
    for k in range(A.shape[1]):
        residual = _left_out(Z[rows], trusted[rows], A[:, : k + 1], noise)
        residual = np.where(trusted[rows], residual, np.nan)
        size = node_medians(np.abs(residual - node_medians(residual)))
        errors[k] = np.where(np.isnan(size), np.inf, size)
    kept = np.argmin(errors, axis=0)
    return np.asarray(np.where(np.arange(A.shape[1]) <= kept[:, None], A, 0.0))


def _left_out(Z: Array, trusted: Mask, A: Array, noise: Array) -> Array:
    """Residuals of one block of slots, each node predicted without itself."""
    observed = ~np.isnan(Z)
    Y = np.where(observed, Z, 0.0)
    rank = A.shape[1]
    pairs = _pairs(A)
    heard = counted(trusted)
    precision = trusted / np.maximum(noise, 1e-3) ** 2
    weight = precision
    for turn in range(6):
        G = (pairs.T @ weight.T).reshape(rank, rank, -1)
        G[range(rank), range(rank)] += RIDGE
        b = each_solved(G, (A.T @ (weight * Y).T)[:, None])[:, 0]
        error = Y - b.T @ A.T
        if turn == 5:
            break
        size = np.abs(error)
        size /= noise
        size /= _slot_scale(size, trusted, heard)[:, None]
        weight = _weights(size, soft=turn < 3)
        weight *= precision
    inverse = each_inverted(G).reshape(rank * rank, -1)
    leverage = np.minimum(weight * (inverse.T @ pairs.T), 0.999)
    alone = (heard[:, None] - trusted) < 2
    return np.where(observed & ~alone, error / (1 - leverage), np.nan)


def _weights(size: Array, *, soft: bool) -> Array:
    if soft:
        return np.asarray(1.5 / np.maximum(size, 1.5))
    inner = np.minimum(size / TUKEY, 1.0)
    return np.asarray((1 - inner**2) ** 2)


def _slot_scale(size: Array, trusted: Mask, heard: Array) -> Array:
    """How far a slot as a whole is off, at least 1; an event widens it, one node does not."""
    wide = 2 * counted(trusted & (MAD * size > 1)) >= heard  # else the median is below 1
    out = np.ones(len(size))
    out[wide] = np.maximum(1.0, MAD * _typical(size[wide], trusted[wide]))
    return out


def _spread(residual: Array, trusted: Mask) -> Array:
    out: Array = _by_some(residual, trusted, _size)
    known = out[~np.isnan(out)]
    usual = float(np.median(known)) if known.size else 1.0
    return np.asarray(np.maximum(np.nan_to_num(out, nan=usual), max(0.5 * usual, 1e-6)))


def _size(residual: Array, trusted: Mask) -> Array:
    return np.asarray(MAD * node_medians(np.where(trusted, np.abs(residual), np.nan)))
