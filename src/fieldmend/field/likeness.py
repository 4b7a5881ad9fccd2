"""Which nodes are alike, without places: coordinates in which they lie together.

Two nodes are alike if what they do beside all others goes together, whichever way each moves: each
is joined to the few whose squared correlation with it is largest, and smooth functions on that
graph are coordinates. Nodes that share a cause get the same ones.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.core.prox import Array, Mask
from fieldmend.field.jumps import Index
from fieldmend.field.scaling import node_scaling, scaled

_SLOTS = 400  # enough to tell which series are alike
_LANDMARKS = 10_000  # nodes that the others are compared with: more would cost pairs
_JOINED = 6  # nodes that each is joined to
_DIMENSIONS = 16
_ROUNDS, _STEPS = 8, 8  # of smoothing, and in between of making coordinates differ
_BLOCK = 2**24  # correlations at a time


def likeness(X: Array, observed: Mask) -> Array:
    """Coordinates of the nodes, nodes × some; who was never heard is dealt out among the others."""
    heard: Index = np.flatnonzero(observed.any(axis=0))
    if 0 < len(heard) < X.shape[1]:
        where = np.searchsorted(heard, np.arange(X.shape[1])).clip(0, len(heard) - 1)
        out: Array = likeness(X[:, heard], observed[:, heard])[where]
        return out
    series = _beside_all(X, observed)
    nodes = len(series)
    landmarks = np.linspace(0, nodes - 1, min(nodes, _LANDMARKS)).astype(np.intp)
    near, weight = _joined(series, landmarks)
    smooth = _smoothed(near[landmarks], weight[landmarks])
    if len(landmarks) == nodes:
        return smooth
    return np.asarray(np.einsum("nk,nkd->nd", weight, smooth[near]))


def _beside_all(X: Array, observed: Mask) -> Array:
    """Series of unit length, nodes × slots, without what most nodes have in common."""
    step = max(1, -(-len(X) // _SLOTS))
    X, observed = X[::step], observed[::step]
    series = scaled(X, observed, node_scaling(X, observed)).astype(np.float32)
    seen = observed.T.astype(np.float32)
    common = np.linalg.eigh((series.T @ series).astype(np.float64))[1][:, -1].astype(np.float32)
    for usual in (common, np.ones_like(common)):
        share = (series @ usual) / (seen @ usual**2 + np.float32(1e-9))
        series -= share[:, None] * usual * seen
    length = np.sqrt((series**2).sum(axis=1, keepdims=True))
    series /= length + np.float32(1e-30)
    return series


def _joined(series: Array, landmarks: Index) -> tuple[Index, Array]:
    """Of each node the landmarks most like it, as numbers among landmarks, and their shares."""
    count = min(_JOINED, len(landmarks) - 1)
    near = np.empty((len(series), count), np.intp)
    weight = np.empty((len(series), count), np.float32)
    own = np.full(len(series), -1, np.intp)
    own[landmarks] = np.arange(len(landmarks))
    marks = series[landmarks].T.copy()
    for rows in blocks(len(series), len(landmarks), _BLOCK):
        alike = (series[rows] @ marks) ** 2
        here = own[rows]
        alike[np.flatnonzero(here >= 0), here[here >= 0]] = -1.0
        some = np.argpartition(alike, -count, axis=1)[:, -count:]
        near[rows] = some
        weight[rows] = np.take_along_axis(alike, some, axis=1)
    weight += np.float32(1e-9)  # a node that is like nobody
    weight /= weight.sum(axis=1, keepdims=True)
    return near, weight


def _smoothed(near: Index, weight: Array) -> Array:
    """Functions that vary as little as they can along the joins, and are unlike each other."""
    import scipy.sparse

    nodes, count = near.shape
    at = np.arange(0, nodes * count + 1, count)
    share = weight.ravel().astype(np.float64)
    joins = scipy.sparse.csr_array((share, near.ravel(), at), shape=(nodes, nodes))
    both = joins + joins.T
    degree = np.asarray(both.sum(axis=1)).ravel()
    out = np.random.default_rng(0).standard_normal((nodes, min(_DIMENSIONS, nodes - 1)))
    for _ in range(_ROUNDS):
        out = np.linalg.qr(out)[0]
        for _ in range(_STEPS):
            out = 0.5 * (out + (both @ out) / degree[:, None])
        out -= (degree @ out) / degree.sum()
    axes, length = np.linalg.svd(out, full_matrices=False)[:2]
    # What smoothing has hardly shortened tells nodes apart; what it has is chance.
    return np.asarray(axes * length**2)
