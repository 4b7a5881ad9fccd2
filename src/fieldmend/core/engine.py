"""Verbs over the long axis: `sweep` for iterative solvers, `each` for windows that stand alone.

T, the number of slots, grows without end; N, the number of nodes, does not. An iterative solver
hands a kernel to :func:`sweep`: the kernel sees one block of slots at a time, returns rows (one per
slot, concatenated) and sums (small arrays, added up over the blocks). In memory this keeps a block
inside the processor's cache; out of core or on a cluster the same kernel runs where the block lives
and only the sums travel. What can be done window by window is handed to :func:`each`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from fieldmend.core.crew import Alone, Crew
from fieldmend.core.prox import Array

Piece = TypeVar("Piece")
Made = TypeVar("Made")

# Rows and sums of one block.
Parts = tuple[tuple[Any, ...], tuple[Any, ...]]

# A block of this many entries stays in the second-level cache beside the kernel's temporaries, and
# is long enough for matrix products to run near full speed.
BLOCK_ENTRIES = 2**18


def blocks(slots: int, nodes: int, entries: int | None = None) -> Iterator[slice]:
    """Cut the slots into blocks of about that many entries, ``BLOCK_ENTRIES`` if not said.

    >>> list(blocks(5, BLOCK_ENTRIES // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    rows = max(1, (entries or BLOCK_ENTRIES) // max(nodes, 1))
    for start in range(0, slots, rows):
        yield slice(start, min(start + rows, slots))


def sweep(kernel: Callable[..., Parts], *arrays: Any) -> Parts:
    """Run ``kernel`` on each block of slots of ``arrays``; concatenate rows, add up sums.

    The first array decides the blocks: all have its number of slots; and if it lies elsewhere
    (`spread`), the kernel goes there. Sums are added in float64 whatever the kernel's precision.

    >>> x = np.arange(6.0).reshape(3, 2)
    >>> rows, sums = sweep(lambda b: ((b.sum(axis=1),), (b.T @ b,)), x)
    >>> rows[0], sums[0][0, 0]
    (array([1., 5., 9.]), np.float64(20.0))
    """
    first, *others = arrays
    if not isinstance(first, np.ndarray) and hasattr(first, "sweep"):
        parts: Parts = first.sweep(kernel, others)  # where its rows are
        return parts
    slots, nodes = first.shape
    outputs: tuple[Array, ...] = ()
    totals: tuple[Any, ...] = ()
    for block in blocks(slots, nodes):
        rows, sums = kernel(*(a[block] for a in arrays))
        if block.stop == slots and block.start == 0:
            return rows, tuple(np.float64(1) * s for s in sums)
        if block.start == 0:
            outputs = tuple(np.empty((slots, *r.shape[1:]), r.dtype) for r in rows)
            totals = tuple(np.zeros(np.shape(s)) for s in sums)
        for out, row in zip(outputs, rows, strict=True):
            out[block] = row
        totals = tuple(total + s for total, s in zip(totals, sums, strict=True))
    return outputs, totals


def each(
    kernel: Callable[[Piece], Made],
    windows: Iterable[Piece],
    sink: Callable[[Piece, Made], object],
    crew: Crew | None = None,
) -> None:
    """Run ``kernel`` on each window by itself; hand the results to ``sink`` one by one, in order.

    The kernel is pure: what it makes of a window depends on nothing else. So a crew may work on
    windows anywhere and in any order; the sink, which may hold state, is called here and in order.
    A window is asked for when it is needed, and nothing is kept of it.

    >>> each(lambda n: n * n, range(3), lambda n, made: print(n, made))
    0 0
    1 1
    2 4
    """
    for window, made in (crew or Alone()).ordered(kernel, windows):
        sink(window, made)
