"""Small systems of equations, one for each slot: row by row of all slots at once.

LAPACK is asked for one slot after the other, and takes longer to begin than to solve a handful of
equations.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Array


def each_solved(squares: Array, sides: Array) -> Array:
    """Positive definite systems, r × r × slots, solved for sides r × k × slots.

    Examples
    --------
    >>> squares = np.array([[[2.0, 4.0]]])
    >>> each_solved(squares, np.array([[[6.0, 6.0]]]))
    array([[[3. , 1.5]]])
    """
    left, out = squares.copy(), sides.copy()
    rank = len(left)
    for j in range(rank):
        for i in range(j + 1, rank):
            part = left[i, j] / left[j, j]
            left[i, j + 1 :] -= part * left[j, j + 1 :]
            out[i] -= part * out[j]
    for j in reversed(range(rank)):
        for i in range(j + 1, rank):
            out[j] -= left[j, i] * out[i]
        out[j] /= left[j, j]
    return np.asarray(out)


def each_inverted(squares: Array) -> Array:
    """Their inverses, r × r × slots."""
    rank, _, slots = squares.shape
    return each_solved(squares, np.repeat(np.eye(rank)[:, :, None], slots, axis=2))
