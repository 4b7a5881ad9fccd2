"""The last word of hidden readings on a recovered condition: estimates that lean to the line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.diagnostics import gap_at
from fieldmend.grid import Array
from fieldmend.holdout.lastword import LastWord
from fieldmend.holdout.strata import silent_slots, strata_of
from fieldmend.metrics import interpolate
from fieldmend.quantities import Kind
from fieldmend.recovery.honest import Doubt
from fieldmend.recovery.solving import DECIDES
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import State

LEANS = (Kind.LINEAR, Kind.POSITIVE, Kind.BOUNDED)  # between two readings of these, all may be
ENTRIES = 4_000_000  # at a time


def has_last_word(found: Recovered) -> bool:
    """Whether the line is asked: of methods that choose, and of what runs straight."""
    return found.method in DECIDES and found.quantity is not None and found.quantity.kind in LEANS


def with_last_word(found: Recovered, word: LastWord, doubt: Doubt) -> Recovered:
    """Estimates of what was lost, led to the line between the readings that are kept.

    Intervals go with them and keep their width. O(T·N).
    """
    if not word.said:
        return found
    assert found.quantity is not None
    sides = [_own(end) for end in (found.estimate, found.lower, found.upper)]
    slots, nodes = found.observed.shape
    silent = np.zeros(slots, dtype=np.bool_)
    for rows in blocks(slots, nodes):
        read = ~np.isnan(found.observed[rows])
        expected = found.state_rows(rows) <= State.LOST
        silent[rows] = silent_slots(read & ~doubt.false[rows], expected)
    step = max(1, ENTRIES // max(slots, 1))
    for first in range(0, nodes, step):
        columns = slice(first, min(first + step, nodes))
        move = _moves(found, word, doubt, silent, columns)
        for end in sides:
            if end is not None:
                moved = np.clip(end[:, columns] + move, found.quantity.low, found.quantity.high)
                end[:, columns] = np.where(move == 0, end[:, columns], moved)
    estimate, lower, upper = sides
    choice = ", ".join(filter(None, (found.choice, word.words)))
    assert estimate is not None
    return replace(found, estimate=estimate, lower=lower, upper=upper, choice=choice)


def _own(array: Array | None) -> Array | None:
    """What may be written to: files are, arrays in memory may be somebody else's too."""
    return array if array is None or isinstance(array, np.memmap) else array.copy()


def _moves(found: Recovered, word: LastWord, doubt: Doubt, silent: Array, columns: slice) -> Array:
    """What to add to the estimates of some nodes; 0 where nothing was lost."""
    assert found.replaced is not None
    observed = np.asarray(found.observed[:, columns], dtype=np.float64)
    read = ~np.isnan(observed)
    kept = np.where(np.asarray(found.replaced[:, columns]), np.nan, observed)
    at = np.asarray(found.estimate[:, columns], dtype=np.float64)
    move = np.zeros(observed.shape)
    heard = np.flatnonzero(~np.isnan(kept).all(axis=0))
    if not len(heard):
        return move
    nodes = np.arange(found.observed.shape[1])[columns]
    lost = np.zeros_like(read)
    for k in heard:
        lost[:, k] = found.state_of(int(nodes[k])) == State.LOST
    lost &= ~np.isnan(at)
    used = read & ~np.asarray(doubt.false[:, columns])
    kind = strata_of(gap_at(used), silent)
    with np.errstate(over="ignore", invalid="ignore"):  # a node may send 1e308
        off = 4 * interpolate(kept[:, heard] / 4) - at[:, heard]
        led = word.move(off, kind[:, heard])
    move[:, heard] = np.where(lost[:, heard] & np.isfinite(led), led, 0.0)
    return move
