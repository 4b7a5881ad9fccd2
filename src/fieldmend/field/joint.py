"""Other conditions of the same nodes: where one is lost and another heard, the other may tell.

A thermometer says a good deal of the humidity beside it. It helps only where it was heard, so that
is where it is asked; a packet that is lost takes all its conditions along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fieldmend.core.line import lines
from fieldmend.core.prox import Array, Mask
from fieldmend.field.jumps import Index

_MOST = 3  # conditions asked: those that go most with the one in question
_FEWEST = 20  # lost entries with another condition heard
_SHARE = 0.05  # of all lost ones: with fewer it is not worth the time
_PAIRS = 30  # readings side by side that a correlation needs


@dataclass(frozen=True)
class OtherConditions:
    """Conditions × nodes × slots, without holes; and where any of them was heard."""

    values: Array
    heard: Mask


@dataclass(frozen=True)
class Companions:
    """The readings of other conditions, each slots × nodes, NaN where nothing was heard."""

    readings: tuple[Array, ...]
    asked: bool = False
    """Whatever hidden readings say."""

    def of(self, rows: slice | Index, order: Index) -> OtherConditions:
        """Some slots, nodes in a model's order; a straight line where readings are missing."""
        filled, heard = [], np.zeros(0)
        for one in self.readings:
            values = np.ascontiguousarray(one[rows][:, order].T, dtype=np.float64)
            seen = np.isfinite(values)
            line = lines(np.where(seen, values, 0.0), seen)
            silent = ~seen.any(axis=1)
            line[silent] = np.nanmedian(line) if not silent.all() else 0.0
            filled.append(line)
            heard = seen if not heard.size else heard | seen
        return OtherConditions(np.stack(filled), np.asarray(heard, dtype=np.bool_))


def worth_asking(
    X: Array, observed: Mask, others: Sequence[Array], *, ask: bool = False
) -> Companions | None:
    """The conditions to ask, or None: nothing was heard where this one was lost, or all differ.

    `ask` asks them wherever anything was heard.
    """
    usable = [other for other in others if np.isfinite(other).any()]
    if not usable or observed.all():
        return None
    lost = ~observed
    heard = np.zeros(X.shape, dtype=np.bool_)
    for other in usable:
        heard |= np.isfinite(other)
    there = int((lost & heard).sum())
    if there < (1 if ask else max(_FEWEST, _SHARE * int(lost.sum()))):
        return None
    likeness = [_likeness(X, observed, other) for other in usable]
    best = np.argsort(likeness, kind="stable")[::-1][:_MOST]
    kept = tuple(usable[k] for k in sorted(best) if likeness[k] > 0)
    return Companions(kept, asked=ask) if kept else None


def _likeness(X: Array, observed: Mask, other: Array) -> float:
    """Mean |correlation| of the nodes' readings of two conditions."""
    both = observed & np.isfinite(other)
    count = both.sum(axis=0)
    enough = count >= _PAIRS
    if not enough.any():
        return 0.0
    a, b = (np.where(both, np.clip(v, -1e100, 1e100), 0.0)[:, enough] for v in (X, other))
    both, count = both[:, enough], count[enough]
    a = np.where(both, a - a.sum(axis=0) / count, 0.0)
    b = np.where(both, b - b.sum(axis=0) / count, 0.0)
    size = np.sqrt((a**2).sum(axis=0)) * np.sqrt((b**2).sum(axis=0))
    r = np.abs((a * b).sum(axis=0)) / np.where(size > 0, size, np.inf)
    return float(r.mean())
