"""Centre and scale of each node: its median, and the width of its central nine tenths.

Medians alone (MAD) mislead here: a light sensor reads almost the same all night, and its days would
become thousands of such scales high.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.problem import Scaling
from fieldmend.core.prox import Array, Mask
from fieldmend.core.ranks import quantiles

_TAILS = (0.05, 0.5, 0.95)
_NORMAL = 3.2897  # width of the central nine tenths of a normal distribution
_SLOTS = 4000  # of longer records evenly spaced slots are enough
_BOUND = 1e300  # readings beyond this are bounded: their differences must stay finite


def node_scaling(X: Array, observed: Mask) -> Scaling:
    """Per node; nodes without readings, or constant, take what is usual in the network."""
    step = max(1, len(X) // _SLOTS)
    X, observed = X[::step], observed[::step]
    nodes = X.shape[1]
    centre, width = np.full(nodes, np.nan), np.full(nodes, np.nan)
    for n in range(nodes):
        x = np.clip(X[observed[:, n], n].astype(np.float64), -_BOUND, _BOUND)
        if x.size:
            low, centre[n], high = quantiles(x, *_TAILS)
            off = np.abs(x - centre[n])
            width[n] = (high - low) / _NORMAL or float(off.mean())
    width[~(width > 1e-300)] = np.nan
    if not np.isfinite(centre).any():
        centre[:] = 0.0
    centre = np.where(np.isfinite(centre), centre, np.nanmedian(centre))
    usual = float(np.nanmedian(width)) if np.isfinite(width).any() else 1.0
    return Scaling(centre, np.where(np.isfinite(width), width, usual))


def scaled(X: Array, observed: Mask, scaling: Scaling) -> Array:
    """(X − centre)/scale on observed entries, 0 elsewhere, float64, nodes × slots."""
    x = np.where(observed, X, 0.0).astype(np.float64)
    x = (np.clip(x, -_BOUND, _BOUND) - scaling.center) / scaling.scale
    return np.ascontiguousarray((np.clip(x, -1e6, 1e6) * observed).T)


def single(values: Array) -> Array:
    """Rounded to seven digits, as parameters are kept that a model file has many of."""
    out: Array = values.astype(np.float32).astype(np.float64)
    return out
