"""Nodes that always depart together, and do nothing else together, excuse nobody."""

from __future__ import annotations

import numpy as np

from fieldmend.faults.stretches import Array, Mask, joined, stretches
from fieldmend.field.tied import tied

# Slots that do not part a departure; one of this many marks or fewer is a spike, and chance.
APART, SPIKE = 15, 2


def by_tied(found: Mask, values: Array, doubted: Mask) -> Mask:
    """Those of the departures `found` that are of the same nodes each time, three times or more.

    Who is like whom is told by readings that are not `doubted`.
    """
    out = np.zeros(found.shape, dtype=np.bool_)
    at = [
        (n, a, b - 1)
        for n in map(int, np.flatnonzero(found.any(axis=0)))
        for a, b in zip(*stretches(joined(found[:, n], APART)), strict=True)
        if np.count_nonzero(found[a:b, n]) > SPIKE
    ]
    if not at:
        return out
    node, first, last = np.array(at, dtype=np.intp).T
    bound = tied(node, first, last, values.T, ~(doubted | found | np.isnan(values)).T)
    for k in np.flatnonzero(bound):
        its = slice(first[k], last[k] + 1), node[k]
        out[its] = found[its]
    return out
