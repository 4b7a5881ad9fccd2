"""Proximal maps: the closed-form steps every solver is made of.

Each is compared in the tests with a brute-force argmin over a grid that crosses all its branches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]
Mask = npt.NDArray[np.bool_]


def soft_threshold(x: Array, threshold: float | Array) -> Array:
    """Shrink towards zero: argmin over s of ``threshold·|s| + ½(s − x)²``, entry by entry.

    The operator S_ε of the paper's Section VI.

    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    return x - np.clip(x, -threshold, threshold)


def huber(x: Array, threshold: float) -> Array:
    """The Huber function: min over s of ``threshold·|s| + ½(x − s)²``, entry by entry.

    Quadratic up to the threshold, linear beyond. This is what remains of the paper's objective
    when the anomalies S are eliminated; its derivative is ``clip(x, ±threshold)``.

    >>> huber(np.array([0.5, 3.0]), 1.0)
    array([0.125, 2.5  ])
    """
    inside = np.clip(x, -threshold, threshold)
    value: Array = inside * (x - 0.5 * inside)
    return value


def singular_value_threshold(X: Array, threshold: float) -> tuple[Array, Array, Array]:
    """Shrink the singular values: argmin over L of ``threshold·‖L‖_* + ½‖L − X‖_F²``.

    Returns the factors ``U, s, Vt`` of the minimiser, with the zero singular values dropped.
    A full SVD: O(T·N·min(T, N)). The fast solver replaces it by a warm subspace and is compared
    with it.

    >>> U, s, Vt = singular_value_threshold(np.diag([3.0, 1.0]), 1.5)
    >>> s
    array([1.5])
    """
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    kept = int(np.count_nonzero(s > threshold))
    return U[:, :kept], s[:kept] - threshold, Vt[:kept]
