"""Tall arrays whose rows lie with workers: kernels travel to them, sums come back, rows stay.

To the solvers such an array is one like any other: products with small matrices, columns, several
side by side and the triangle of a QR are made where the rows are, by NumPy's own names for them.
`engine.sweep` hands its kernels over. Only slices of rows, when they are asked for, travel.

What is made of rows remembers how it was made, so that it can be made again when its worker dies.
That memory grows with every iteration; factors are therefore put down afresh every tenth.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fieldmend.core import engine
from fieldmend.core.prox import Array

Packed = tuple[bytes, list[bytes]]
"""A kernel as it travels, and the arrays that it knows."""

RENEWED = 10  # sweeps after which the rows of a factor are put down afresh


class Holder(Protocol):
    """Who holds the parts: what is submitted runs where its part lies."""

    def submit(self, task: Callable[..., Any], *given: Any, part: int) -> Any:
        """Something that stands for what the task will make."""

    def gather(self, made: Sequence[Any]) -> list[Any]:
        """What was made, here."""

    def groups(self) -> list[list[int]]:
        """Parts that lie together: their sums are added there."""


@dataclass(frozen=True, eq=False)
class Spread:
    """A matrix, slots × columns, in parts; `edges` are their first slots, and the end."""

    holder: Holder
    parts: tuple[Any, ...]
    edges: tuple[int, ...]
    columns: int
    dtype: np.dtype[Any]
    age: int = 0  # sweeps since its rows were put down
    _seen: dict[str, float] = field(default_factory=dict)

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Slots, columns."""
        return self.edges[-1], self.columns

    @property
    def size(self) -> int:
        """Entries."""
        return self.edges[-1] * self.columns

    def __len__(self) -> int:
        return self.edges[-1]

    def like(self, given: Any) -> Spread:
        """An array that is here, laid out as this one; what is laid out already stays."""
        if isinstance(given, Spread):
            return given
        pieces = np.split(given, self.edges[1:-1])
        parts = [self.holder.submit(_same, one, part=i) for i, one in enumerate(pieces)]
        return Spread(self.holder, tuple(parts), self.edges, given.shape[1], given.dtype)

    def made(self, task: Callable[..., Any], *given: Any, columns: int, dtype: Any) -> Spread:
        """A matrix of the same slots: the task's answer to each part, and to what else is given."""
        parts = [
            self.holder.submit(
                task, own, *(o.parts[i] if isinstance(o, Spread) else o for o in given), part=i
            )
            for i, own in enumerate(self.parts)
        ]
        old = max([self.age, *(o.age for o in given if isinstance(o, Spread))])
        return Spread(self.holder, tuple(parts), self.edges, columns, np.dtype(dtype), old)

    def sums(self, task: Callable[[Any], Any], name: str) -> float:
        """The sum of one number of each part, remembered under a name."""
        if name not in self._seen:
            made = [self.holder.submit(task, own, part=i) for i, own in enumerate(self.parts)]
            self._seen[name] = float(np.sum(self.holder.gather(made)))
        return self._seen[name]

    def sweep(self, kernel: Callable[..., engine.Parts], others: Sequence[Any]) -> engine.Parts:
        """As `engine.sweep`, where the rows are."""
        held = self.holder.submit(_same, packed(kernel), part=0)  # a task: it can be done again
        arrays = [self, *(self.like(one) for one in others)]
        swept = [
            self.holder.submit(_swept, held, *(a.parts[i] for a in arrays), part=i)
            for i in range(len(self.parts))
        ]
        groups = self.holder.groups()
        made = self.holder.gather(
            [self.holder.submit(_added, *(swept[i] for i in own), part=own[0]) for own in groups]
        )
        totals = tuple(sum(one) for one in zip(*(sums for sums, _ in made), strict=True))
        age = 1 + max(a.age for a in arrays)
        rows = tuple(
            Spread(
                self.holder,
                tuple(self.holder.submit(_rows, one, j, part=i) for i, one in enumerate(swept)),
                self.edges,
                columns,
                np.dtype(kind),
                age,
            )
            for j, (columns, kind) in enumerate(made[0][1])
        )
        return rows, totals

    def renewed(self) -> Spread:
        """The same, its rows put down afresh if they are old."""
        return self if self.age < RENEWED else self.like(np.asarray(self))

    def __matmul__(self, other: Array) -> Spread:
        dtype = np.result_type(self.dtype, other.dtype)
        made = self.made(_product, other, columns=other.shape[1], dtype=dtype)
        return made.renewed()

    def __truediv__(self, by: Array) -> Spread:
        kind = np.result_type(self.dtype, by.dtype)
        return self.made(np.divide, by, columns=self.columns, dtype=kind)

    def astype(self, dtype: Any, copy: bool = True) -> Spread:
        """In another precision."""
        if np.dtype(dtype) == self.dtype:
            return self
        return self.made(_cast, np.dtype(dtype).str, columns=self.columns, dtype=dtype)

    def mean(self) -> float:
        """Of all entries."""
        return self.sums(np.sum, "sum") / self.size

    def max(self) -> float:
        """The largest entry."""
        return self._bound(np.max)

    def min(self) -> float:
        """The smallest entry."""
        return self._bound(np.min)

    def _bound(self, which: Callable[..., Any]) -> float:
        made = [self.holder.submit(which, own, part=i) for i, own in enumerate(self.parts)]
        return float(which(self.holder.gather(made)))

    def __getitem__(self, rows: slice) -> Array:
        """Rows, brought here."""
        start, stop, step = rows.indices(len(self))
        found = []
        for i, (first, last) in enumerate(zip(self.edges[:-1], self.edges[1:], strict=True)):
            low = max(start, first + (start - first) % step)
            if low < min(stop, last):
                own = slice(low - first, min(stop, last) - first, step)
                found.append(self.holder.submit(_slice, self.parts[i], own, part=i))
        if not found:
            return np.zeros((0, self.columns), self.dtype)
        return np.concatenate(self.holder.gather(found))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        whole = self[:]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __array_function__(self, name: Callable[..., Any], _: Any, given: Any, options: Any) -> Any:
        """`np.hstack`, `np.vdot` of one with itself, and the triangle of `np.linalg.qr`."""
        if name is np.hstack:
            (every,) = given
            kind = np.result_type(*(one.dtype for one in every))
            width = sum(one.shape[1] for one in every)
            laid = [self.like(one) for one in every]
            return laid[0].made(_beside, *laid[1:], columns=width, dtype=kind)
        if name is np.vdot and given[0] is given[1]:
            return self.sums(_square, "square")
        if name is np.linalg.qr:
            made = [self.holder.submit(_triangle, own, part=i) for i, own in enumerate(self.parts)]
            return None, np.linalg.qr(np.vstack(self.holder.gather(made)))[1]
        return NotImplemented


def packed(kernel: Callable[..., Any]) -> Packed:
    """A kernel that knows things of here."""
    import cloudpickle  # comes with who holds the parts

    arrays: list[bytes] = []
    text = cloudpickle.dumps(kernel, protocol=5, buffer_callback=lambda b: arrays.append(bytes(b)))
    return text, arrays


def unpacked(held: Packed) -> Callable[..., engine.Parts]:
    """The same at work, its arrays on even addresses: a sum's rounding depends on them."""
    kernel: Callable[..., engine.Parts] = pickle.loads(
        held[0], buffers=[bytearray(one) for one in held[1]]
    )
    return kernel


def _same(given: Any) -> Any:
    return given


def _laid(array: Array) -> Array:
    """The same numbers laid out the same way, wherever they came from: products round alike."""
    return np.require(array, requirements=("C", "A"))


def _swept(held: Packed, *arrays: Array) -> engine.Parts:
    return engine.sweep(unpacked(held), *(_laid(array) for array in arrays))


def _product(part: Array, other: Array) -> Array:
    return np.asarray(_laid(part) @ _laid(other))


def _rows(swept: engine.Parts, which: int) -> Any:
    return swept[0][which]


def _added(*swept: engine.Parts) -> tuple[tuple[Any, ...], list[tuple[int, str]]]:
    """Sums of parts that lie together, in order; and what rows there are."""
    totals = tuple(sum(one) for one in zip(*(sums for _, sums in swept), strict=True))
    return totals, [(rows.shape[1], rows.dtype.str) for rows in swept[0][0]]


def _cast(part: Array, dtype: str) -> Array:
    return part.astype(dtype)


def _beside(*parts: Array) -> Array:
    return np.hstack(parts)


def _slice(part: Array, rows: slice) -> Array:
    return part[rows]


def _square(part: Array) -> float:
    own = _laid(part)
    return float(np.vdot(own, own))


def _triangle(part: Array) -> Array:
    """R of a part, as many rows as columns: zeros stand for what a short part lacks."""
    R: Array = np.asarray(np.linalg.qr(_laid(part), mode="r"))
    return np.vstack([R, np.zeros((part.shape[1] - len(R), part.shape[1]), R.dtype)])
