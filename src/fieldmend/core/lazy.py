"""Readings that stay where they are (a file, zarr, Dask), and results that are made when asked for.

The solvers touch the long axis by blocks of slots only. So readings that do not fit in memory are
scaled block by block into a file without a name, and what would be as large as they are comes back
as a recipe: rows are made when they are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend import spill
from fieldmend.core.engine import blocks
from fieldmend.core.problem import Scaling
from fieldmend.core.prox import Array, Mask
from fieldmend.core.readings import checked

ENTRIES = 2**21  # read at a time
SAMPLED = 100_000  # slots that medians are taken of
ELSEWHERE = ("zarr", "dask", "h5py")  # packages whose arrays are read in slices


def stays(X: Any) -> bool:
    """Whether readings are to be read in slices, and not brought into memory."""
    package = type(X).__module__.partition(".")[0]
    return isinstance(X, np.memmap) or (package in ELSEWHERE and hasattr(X, "shape"))


class LazyRows:
    """A matrix, slots × nodes, whose rows are made when they are taken; `np.asarray` makes all.

    Examples
    --------
    >>> lazy = LazyRows((3, 2), np.dtype(float), lambda rows: np.arange(6.0).reshape(3, 2)[rows])
    >>> lazy[1], lazy[1:, 0], lazy.shape
    (array([2., 3.]), array([2., 4.]), (3, 2))
    """

    ndim = 2

    def __init__(
        self, shape: tuple[int, int], dtype: np.dtype[Any], make: Callable[[slice], Array]
    ) -> None:
        self.shape, self.dtype, self._make = shape, dtype, make

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """Entries."""
        return self.shape[0] * self.shape[1]

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(rows, int | np.integer):
            at = range(self.shape[0])[rows]
            return self._make(slice(at, at + 1))[0][columns]
        if not isinstance(rows, slice):
            chosen = np.arange(self.shape[0])[rows]
            found = [self._make(slice(t, t + 1))[0] for t in chosen.tolist()]
            return np.array(found, self.dtype).reshape(-1, self.shape[1])[:, columns]
        start, stop, step = rows.indices(self.shape[0])
        if step < 1:
            return self[:][rows, columns]
        return self._make(slice(start, max(start, stop)))[::step, columns]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            msg = "rows that are made when they are taken cannot be had without a copy"
            raise ValueError(msg)
        out = np.empty(self.shape, self.dtype if dtype is None else dtype)
        for block in blocks(*self.shape):
            out[block] = self._make(block)
        return out

    def count_nonzero(self) -> int:
        """Entries other than zero, counted by blocks."""
        return sum(int(np.count_nonzero(self._make(block))) for block in blocks(*self.shape))

    def __repr__(self) -> str:
        return f"<LazyRows {self.shape[0]} × {self.shape[1]}, {self.dtype}>"


@dataclass(frozen=True)
class Stayed:
    """Readings that stay where they are, checked: what was observed, and a sample of slots."""

    source: Any
    observed: Mask
    sample: Array
    seen: Mask  # of the sample

    @classmethod
    def of(cls, X: Any, observed: Any = None) -> Stayed:
        """Look through the readings once."""
        if len(X.shape) != 2 or 0 in X.shape:
            msg = f"X must be slots × nodes with at least one of each; its shape is {X.shape}"
            raise ValueError(msg)
        slots, nodes = map(int, X.shape)
        if observed is not None and tuple(observed.shape) != (slots, nodes):
            msg = f"observed must be a boolean mask of the shape of X, {(slots, nodes)}"
            raise ValueError(msg)
        step = max(1, slots // SAMPLED)
        O = spill.on_disk((slots, nodes), np.bool_)
        sample: list[Array] = []
        for block in blocks(slots, nodes, ENTRIES):
            given = None if observed is None else np.asarray(observed[block])
            x, seen = checked(np.asarray(X[block]), given, some=False)
            O[block] = seen
            sample.append(x[-block.start % step :: step].copy())
        if not O.any():
            msg = "no entry of X is observed: nothing to decompose"
            raise ValueError(msg)
        return cls(X, O, np.concatenate(sample), np.asarray(O[::step]))

    @property
    def shape(self) -> tuple[int, int]:
        """Slots, nodes."""
        slots, nodes = self.observed.shape
        return slots, nodes

    @property
    def dtype(self) -> np.dtype[Any]:
        """Single or double precision."""
        return self.sample.dtype

    def __getitem__(self, block: slice) -> Array:
        return checked(np.asarray(self.source[block]), None, some=False)[0]

    def scaling(self, *, center: bool, scale: bool) -> Scaling:
        """Centre and scale of each node, by the sample."""
        return Scaling.of(self.sample, self.seen, center=center, scale=scale)

    def scaled(self, scaling: Scaling) -> Array:
        """(X − centre)/scale on observed entries, 0 elsewhere, in a file without a name."""
        out = spill.on_disk(self.shape, self.dtype)
        for block in blocks(*self.shape, ENTRIES):
            out[block] = scaling.apply(self[block], self.observed[block])
        return out
