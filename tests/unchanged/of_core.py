"""The convex methods on small matrices: every number they give, and the way they took."""

from __future__ import annotations

import warnings

import numpy as np

import fieldmend as fm
from fieldmend.core.noise import estimate_noise
from fieldmend.decomposition import ConvergenceWarning

NUMBERS = ("objective", "lam", "mu", "rank", "iterations")


def readings(seed=0, slots=40, nodes=9, **more):
    """A field of rank two with noise, anomalies and losses."""
    options = {"rank": 2, "sampling": 0.7, "noise": 0.5} | more
    return fm.simulate.network(slots, nodes, seed=seed, **options)


def solved(X, **options):
    """All that a decomposition tells. Its gap is a difference: two digits of it are digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = fm.decompose(X, **options)
    out = {name: getattr(found, name) for name in NUMBERS}
    steps = [[float(f"{one.objective:.6g}"), one.rank] for one in found.trace]
    return out | {
        "gap": f"{found.gap:.1e}", "status": str(found.status), "low_rank": found.low_rank,
        "sparse": found.sparse, "steps": [str(step) for step in steps],
        "offset": found.scaling.center, "scale": found.scaling.scale,
    }  # fmt: skip


def noise(X):
    """How large the noise is, and each node's weight."""
    observed = ~np.isnan(X)
    centred = np.where(observed, X - np.nanmedian(X, axis=0), 0.0)
    found = estimate_noise(centred, observed)
    return {"level": found.level, "weight": found.weight}


def uneven(seed):
    """Nodes of very different size and noise, readings in coarse steps."""
    net = readings(seed, slots=60)
    X = net.readings * np.linspace(0.1, 10, 9)
    X[:, 3] = np.round(X[:, 3] / 8) * 8
    X[:, 5] += np.random.default_rng(seed).normal(0, 9, 60)
    X[:, 7] = 4.0
    return X


def told(seed):
    """The oracle: who is false is known."""
    net = readings(seed)
    U, _, V = np.linalg.svd(net.truth, full_matrices=False)
    return solved(net.readings, method="oracle", support=net.support, space=(U[:, :2], V[:2].T))


CASES = {
    "ls": lambda: solved(readings().readings),
    "ls, more nodes than slots": lambda: solved(readings(1, 9, 30).readings),
    "ls, a limit": lambda: solved(readings(2).readings, max_iter=7),
    "ls, debiased": lambda: solved(readings(3).readings, debias=True),
    "ls, debiased and long": lambda: solved(readings(13, 200, 6).readings, debias=True),
    "ls, given weights": lambda: solved(readings(4).readings, lam=0.3, mu=2.0, center=False),
    "ls, within δ": lambda: solved(readings(5).readings, delta=20.0),
    "ls, uneven nodes": lambda: solved(uneven(6)),
    "ls, noise-free": lambda: solved(readings(7, noise=0.0).readings, max_iter=60),
    "mc": lambda: solved(readings(8).readings, method="mc"),
    "srmf": lambda: solved(readings(9).readings, method="srmf"),
    "apg": lambda: solved(readings(10).readings, method="apg", tol=1e-3),
    "the oracle": lambda: told(14),
    "noise": lambda: noise(readings(11).readings),
    "noise, uneven nodes": lambda: noise(uneven(12)),
}
