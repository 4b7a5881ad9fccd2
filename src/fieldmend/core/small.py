"""Small systems of equations, one for each slot: column by column of all slots at once.

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
        below = slice(j + 1, None)
        part = (left[below, j] / left[j, j])[:, None]
        left[below, below] -= part * left[j, below]
        out[below] -= part * out[j]
    for j in reversed(range(rank)):
        out[j] /= left[j, j]
        out[:j] -= left[:j, j, None] * out[j]
    return np.asarray(out)


def each_inverted(squares: Array) -> Array:
    """Their inverses, r × r × slots."""
    rank, _, slots = squares.shape
    return each_solved(squares, np.repeat(np.eye(rank)[:, :, None], slots, axis=2))
