"""Readings hidden on purpose, in gaps as long as the real ones."""

from __future__ import annotations

import numpy as np

from fieldmend.diagnostics import gap_lengths
from fieldmend.grid import Array

SHARE = 0.05  # of the readings are hidden
FEWEST = 20  # hidden readings that a score needs
LONGEST = 0.25  # of the record: a longer gap is cut, so that the node is still known


def hide(observed: Array, seed: int) -> Array:
    """A mask of observed readings to hide, about 5 % of them; all False if there are too few.

    Gap lengths are drawn from the record's own gaps, each as often as it took readings away; a
    record without gaps hides single readings. Gaps that touch the ends of the record (a node that
    was not there yet) are left out: they are no model for a gap inside.
    """
    rng = np.random.default_rng(seed)
    slots = len(observed)
    hidden = np.zeros_like(observed)
    wanted = int(SHARE * np.count_nonzero(observed))
    heard = np.flatnonzero(observed.sum(axis=0) >= 5)
    if wanted < FEWEST or len(heard) == 0:
        return hidden
    lengths = _lengths(observed, max(1, int(LONGEST * slots)))
    count = 0
    for _ in range(4 * wanted):
        if count >= wanted:
            break
        node = heard[rng.integers(len(heard))]
        length = int(lengths[rng.integers(len(lengths))])
        start = int(rng.integers(1 - length, slots))
        gap = slice(max(start, 0), max(start, 0) + length)
        new = observed[gap, node] & ~hidden[gap, node]
        left = np.count_nonzero(observed[:, node] & ~hidden[:, node]) - np.count_nonzero(new)
        if left < max(2, np.count_nonzero(observed[:, node]) // 2):
            continue
        hidden[gap, node] |= new
        count += int(np.count_nonzero(new))
    return hidden


def _lengths(observed: Array, longest: int) -> Array:
    """Lengths to draw from: one entry per lost reading inside the record."""
    first: Array = np.argmax(observed, axis=0)
    last: Array = len(observed) - np.argmax(observed[::-1], axis=0)
    slot = np.arange(len(observed))[:, None]
    inside = observed | (slot < first) | (slot >= last)
    found = np.minimum(gap_lengths(inside), longest)
    if found.size == 0:
        return np.ones(1, dtype=np.int64)
    return np.repeat(found, found)
