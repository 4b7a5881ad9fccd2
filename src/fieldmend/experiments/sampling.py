"""What the experiments share: the sweep over sampling rates and the readings that are dropped."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from fieldmend.experiments.data import SEED, FloatArray, Matrix

RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
QUICK_RATES = (0.2, 0.5, 0.9)


def generator(matrix: Matrix, rate: float, run: int) -> np.random.Generator:
    """The same for every method, another for every matrix, rate and run."""
    return np.random.default_rng([SEED, zlib.crc32(matrix.name.encode()), round(1000 * rate), run])


def shown(matrix: Matrix, rate: float, run: int) -> NDArray[np.bool_]:
    """The readings that a method sees: a share of those known, uniformly at random."""
    known = np.flatnonzero(matrix.known)
    count = max(1, round(rate * known.size))
    kept = generator(matrix, rate, run).choice(known, count, replace=False)
    mask = np.zeros(matrix.values.size, dtype=np.bool_)
    mask[kept] = True
    return mask.reshape(matrix.values.shape)


def partial(values: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """The readings shown, NaN elsewhere."""
    return np.where(seen, values, np.nan)
