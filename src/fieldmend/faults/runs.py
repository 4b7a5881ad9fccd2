"""Runs of equal readings, of all nodes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.faults import history
from fieldmend.faults.stretches import Array


@dataclass(frozen=True)
class Runs:
    """Runs of equal readings, one node's after the other's."""

    node: Array
    length: Array
    before: Array
    """Slot of the reading before, −1 if there is none."""
    first: Array
    last: Array
    after: Array
    """Slot of the reading after, one past the record if there is none."""

    def of(self, part: Array) -> Runs:
        """Some of them."""
        return Runs(*(getattr(self, name)[part] for name in self.__dataclass_fields__))


def runs_of(values: Array) -> Runs:
    """All runs of a network."""
    parts = []
    for n, column in enumerate(values.T):
        at = np.flatnonzero(~np.isnan(column))
        runs = history.repeats(column[at])
        first, last = at[runs.start], at[runs.start + runs.length - 1]
        before, after = np.append(-1, last[:-1]), np.append(first[1:], len(values))
        if at.size:
            parts.append((np.full(first.size, n), runs.length, before, first, last, after))
    if not parts:
        return Runs(*(np.zeros(0, int) for _ in Runs.__dataclass_fields__))
    return Runs(*(np.concatenate(one) for one in zip(*parts, strict=True)))
