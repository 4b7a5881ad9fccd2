"""Fewer points that tell the same story: extremes stay in curves, bad states stay in maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fieldmend.flags import Flag
from fieldmend.grid import Array
from fieldmend.report.palette import TENTHS

ROWS, COLUMNS, FEWEST = 1000, 720, 48
SEEN, UNJUDGED, SUSPECT, FAIL, ABSENT = 0, TENTHS + 1, TENTHS + 2, TENTHS + 3, TENTHS + 4
"""Codes of a cell; 1 to `TENTHS`: so many tenths of its readings were lost, rounded up.

A cell is `ABSENT` where there was no sensor in all of it.
"""


@dataclass(frozen=True)
class Cells:
    """How many slots and nodes one cell of a heat map holds."""

    slots: int
    nodes: int

    @classmethod
    def within(cls, shape: tuple[int, int], most: int) -> Cells:
        """Cells for a grid, at most `most` of them and `ROWS` × `COLUMNS`.

        Slots are joined first, nodes only when fewer than `FEWEST` columns would be left.
        """
        slots, nodes = shape
        rows = max(1, min(nodes, ROWS, most // min(slots, FEWEST)))
        per_row = -(-nodes // rows)
        columns = max(1, min(COLUMNS, most // -(-nodes // per_row)))
        return cls(-(-slots // columns), per_row)

    @property
    def single(self) -> bool:
        """True if every cell is one reading."""
        return self.slots == self.nodes == 1

    def starts(self, shape: tuple[int, int]) -> tuple[Array, Array]:
        """First slot of each column, first node of each row."""
        return np.arange(0, shape[0], self.slots), np.arange(0, shape[1], self.nodes)


def extremes(values: Array, most: int) -> Array:
    """Indices to draw: in each of `most`/2 stretches the first of the lowest and of the highest.

    A stretch without any number gives one index, so that a gap stays a gap. The indices rise.

    Examples
    --------
    >>> extremes(np.array([1.0, 9.0, 3.0, np.nan, np.nan, np.nan]), 4).tolist()
    [0, 1, 3]
    """
    if len(values) <= most:
        return np.arange(len(values))
    width = -(-len(values) // max(1, most // 2))
    padded = np.full(-(-len(values) // width) * width, np.nan)
    padded[: len(values)] = values
    blocks = padded.reshape(-1, width)
    first = np.arange(len(blocks)) * width
    low = first + np.where(np.isnan(blocks), np.inf, blocks).argmin(axis=1)
    high = first + np.where(np.isnan(blocks), -np.inf, blocks).argmax(axis=1)
    return np.unique(np.concatenate([low, high]))


def envelope(values: Array, most: int, pick: Callable[..., Array]) -> tuple[Array, Array]:
    """`pick` (np.fmin or np.fmax) of each stretch, at its first and last slot: (slots, values)."""
    if len(values) <= most:
        return np.arange(len(values)), values
    width = -(-len(values) // max(1, most // 2))
    first = np.arange(0, len(values), width)
    last = np.minimum(first + width, len(values)) - 1
    found = pick.reduceat(values, first)  # type: ignore[attr-defined]
    return np.column_stack([first, last]).ravel(), np.repeat(found, 2)


def state_cells(flag: Array, cells: Cells, absent: Array | None = None) -> Array:
    """One code per cell, rows × columns: the worst state in it; lost readings by their share.

    `absent` is True where there was no sensor; nothing is missing there.
    """
    gone = np.zeros(flag.shape, dtype=np.bool_) if absent is None else absent
    lost = _blocks(np.add, ((flag == Flag.MISSING) & ~gone).astype(np.int32), cells)
    size = _blocks(np.add, (~gone).astype(np.int32), cells)
    codes = np.where(size > 0, -(-lost * TENTHS // np.maximum(size, 1)), ABSENT)
    for code, bad in ((UNJUDGED, Flag.NOT_EVALUATED), (SUSPECT, Flag.SUSPECT), (FAIL, Flag.FAIL)):
        there = _blocks(np.logical_or, flag == bad, cells)
        codes[there & (codes == SEEN) if code == UNJUDGED else there] = code
    return codes.astype(np.uint8)


def mean_cells(values: Array, cells: Cells) -> Array:
    """Mean of the numbers in each cell, rows × columns; NaN where there are none."""
    known = np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        total = _blocks(np.add, np.where(known, values, 0.0), cells)
        mean: Array = total / _blocks(np.add, known.astype(np.int32), cells)
    return np.where(np.isfinite(mean), mean, np.nan)


def _blocks(combine: np.ufunc, array: Array, cells: Cells) -> Array:
    """Combine the entries of each cell; slots × nodes in, rows (nodes) × columns (slots) out."""
    slots, nodes = cells.starts((array.shape[0], array.shape[1]))
    out: Array = combine.reduceat(combine.reduceat(array, slots, axis=0), nodes, axis=1).T
    return out.copy()
