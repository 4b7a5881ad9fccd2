"""One value per node and slot, a stretch of time after the other, in memory or on disk.

Memory holds one stretch of rows and the grid; a grid that would take more than half of the memory
that is free lies in files that the system removes with it (`spill`).
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.sql import one
from fieldmend.spill import free_disk, free_memory, limit, on_disk

if TYPE_CHECKING:
    import duckdb

log = logging.getLogger(__name__)
Array = np.ndarray[Any, np.dtype[Any]]
PART = 4_000_000  # rows, and cells of the grid, that are held at once
BINS = 4096
STATED = 1 << 30  # bytes of a grid from which on its size is said
EMPTIEST = 1000  # cells per reading from which on a grid is not worth the disk
TINY = 2.0**-60
SHARE = 8  # of memory that is limited, a grid takes one part of so many


@dataclass(frozen=True)
class Frame:
    """Where the slots lie: `start` names the first, which begins `early` before that."""

    start: int
    slot: int
    slots: int
    nodes: int
    early: int = 0

    @property
    def begin(self) -> int:
        """Where the first slot begins."""
        return self.start - self.early


def stretches(
    con: "duckdb.DuckDBPyConnection", relation: str, frame: Frame, weight: int
) -> Iterator[tuple[int, int]]:
    """Stretches of slots, half open, of at most about PART rows × weight and PART cells each."""
    rows = one(con, f"SELECT count(*) FROM {relation}")[0]
    per_bin = -(-frame.slots // BINS)
    if rows * weight <= PART and frame.slots * frame.nodes <= PART:
        yield 0, frame.slots
        return
    found = con.execute(
        f"SELECT (t - $start) // $width AS b, count(*) AS n FROM {relation} GROUP BY b",
        {"start": frame.begin, "width": frame.slot * per_bin},
    ).fetchnumpy()
    counts = np.zeros(-(-frame.slots // per_bin), dtype=np.int64)
    counts[np.asarray(found["b"])] = np.asarray(found["n"]) * weight
    low, held = 0, 0
    for b, count in enumerate(counts.tolist()):
        cells = (b + 1 - low) * per_bin * frame.nodes
        if b > low and (held + count > PART or cells > PART):
            yield low * per_bin, b * per_bin
            low, held = b, 0
        held += count
    yield low * per_bin, frame.slots


def arrays(
    names: tuple[str, ...], frame: Frame, readings: int
) -> tuple[dict[str, Array], list[str]]:
    """Room for the grid, not yet filled, and what is to be said of its size."""
    shape = (frame.slots, frame.nodes)
    cells = frame.slots * frame.nodes * len(names)
    free, disk = free_memory(), free_disk()
    words = (
        f"{frame.slots:,} slots × {frame.nodes:,} nodes × {len(names)} conditions, "
        f"{8 * cells / 1e9:,.1f} GB"
    )
    if 8 * cells <= free // (2 if limit() is None else SHARE):
        notes = [f"the grid is {words}"] if 8 * cells >= STATED else []
        for note in notes:
            log.info(note)
        return {name: np.empty(shape) for name in names}, notes
    _refuse_size(words, frame, cells, free, disk, readings)
    note = f"the grid is {words}: kept on disk, as {free / 1e9:,.1f} GB of memory are free"
    log.info(note)
    return {name: on_disk(shape) for name in names}, [note]


def _refuse_size(  # noqa: PLR0917 - one call, what it needs
    words: str, frame: Frame, cells: int, free: int, disk: int, readings: int
) -> None:
    if 8 * cells <= disk and 16 * frame.slots <= free and cells <= EMPTIEST * readings:
        return
    raise InputError(
        f"the grid would be {words}, for {readings:,} readings; {free / 1e9:,.1f} GB of memory and "
        f"{disk / 1e9:,.1f} GB of disk are free",
        hint="Choose a longer slot (--slot), or fewer conditions",
    )


def mean(cell: Array, v: Array, key: Array, cells: int) -> Array:
    """The mean, as a departure from one of the readings: equal readings give that reading."""
    out = np.full(cells, np.nan)
    out[cell] = v
    counts = np.bincount(cell, minlength=cells)
    if len(cell) == np.count_nonzero(counts):
        return out
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.bincount(cell, weights=v - out[cell], minlength=cells)
        several = counts > 1
        out[several] += away[several] / counts[several]
        lost = several & ~np.isfinite(out)
    if lost.any():  # the readings of a slot are as far apart as numbers go
        sums = np.bincount(cell, weights=v * TINY, minlength=cells)
        out[lost] = sums[lost] / counts[lost] / TINY
    return out


def median(cell: Array, v: Array, key: Array, cells: int) -> Array:
    """The median; of an even number of readings the middle of the two."""
    out = np.full(cells, np.nan)
    order = np.lexsort((v, cell))
    cell, v = cell[order], v[order]
    starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    counts = np.diff(np.r_[starts, len(cell)])
    low, high = v[starts + (counts - 1) // 2], v[starts + counts // 2]
    out[cell[starts]] = np.where(low == high, low, low / 2 + high / 2)
    return out


def last(cell: Array, v: Array, key: Array, cells: int) -> Array:
    """The reading with the largest key."""
    out = np.full(cells, np.nan)
    order = np.argsort(key, kind="stable")
    out[cell[order]] = v[order]  # of several writes to one cell the last stays
    return out


def first(cell: Array, v: Array, key: Array, cells: int) -> Array:
    """The reading with the smallest key."""
    return last(cell, v, -key, cells)


Pick = Callable[[Array, Array, Array, int], Array]
VALUES: Mapping[str, Pick] = {
    "mean": mean, "median": median, "first": first, "last": last, "random": last,
}  # fmt: skip


def on_the_circle(pick: Pick, period: float) -> Pick:
    """The same for directions: readings of a slot on the turn on which they lie together.

    Examples
    --------
    >>> wind = on_the_circle(mean, 360.0)
    >>> wind(np.array([0, 0]), np.array([350.0, 20.0]), np.arange(2), 1)
    array([5.])
    """

    def picked(cell: Array, v: Array, key: Array, cells: int) -> Array:
        angle = 2 * np.pi / period * v
        together = np.arctan2(
            *(np.bincount(cell, weights=f(angle), minlength=cells) for f in (np.sin, np.cos))
        )
        turns = np.rint(v / period - together[cell] / (2 * np.pi))
        out = pick(cell, v - period * turns, key, cells)
        low = -period / 2 if (v < 0).any() else 0.0
        return np.where((out < low) | (out > low + period), (out - low) % period + low, out)

    return picked


def shuffled(t: Array, node: Array, seed: int) -> Array:
    """Keys in an order that depends on time, node and seed, and not on the order of the rows."""
    mixed = t.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    mixed += node.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)
