"""Tiny records and fields of chance: what the slow and obvious can be asked about."""

import numpy as np

import naive_field
from fieldmend.field.chains import NodeModel
from fieldmend.field.model import Data, Field


def holed(seed, shape, share=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    X[rng.random(shape) < share] = np.nan
    return X


def marked(seed, shape, share=0.4):
    return np.random.default_rng([seed, 1]).random(shape) < share


def record(seed, shape=(4, 30), share=0.8):
    """Readings, nodes × slots, zero where there is none."""
    rng = np.random.default_rng(seed)
    used = rng.random(shape) < share
    used[:, 0] = True
    readings = np.where(used, rng.normal(size=shape).cumsum(axis=1) / 3, 0.0)
    return Data(readings, used, np.arange(shape[1]))


def a_field(seed, shape=(4, 30), rank=2):
    rng = np.random.default_rng([seed, 1])
    nodes, slots = shape
    own = NodeModel(
        rng.uniform(0.5, 0.95, nodes), rng.uniform(0.1, 0.5, nodes), np.full(nodes, 0.2)
    )
    doubt = np.array([np.cov(rng.normal(size=(rank + 1, 9))) for _ in range(nodes)])
    b, d = rng.normal(size=(rank, slots)), 0.3 * rng.normal(size=(rank, slots))
    return Field(
        rng.normal(size=nodes), rng.normal(size=(nodes, rank)), rng.normal(size=rank),
        rng.uniform(0.5, 2, rank), doubt, rng.uniform(0.5, 0.9, rank), own, b, d,
        d @ d.T / slots,
    )  # fmt: skip


def covariance(field, node, data):
    """Of a node's own part and noise at its readings."""
    own = field.nodes
    C = naive_field.ar1_covariance(own.phi[node], own.innovation[node], data.links)
    seen = data.used[node]
    return C[np.ix_(seen, seen)] + own.noise[node] * np.eye(seen.sum())
