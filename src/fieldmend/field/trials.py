"""Hold-outs of the field model: hide readings, fit without them, keep what became of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.holdout import Index, distances, remoteness
from fieldmend.field.lean import lines
from fieldmend.field.model import Data, Field, estimate, improve, update_factors

_FORGET = 4.0  # a node that lost a quarter of its readings forgets its loadings


@dataclass(frozen=True)
class Trial:
    """Hidden entries of one or several hold-outs: scaled values, one entry each."""

    node: Index
    slot: Index
    truth: Array
    model: Array
    common: Array
    line: Array
    sd: Array
    remote: Array
    gap: Index
    run: Index  # entries hidden together, in one stretch of one node, share a number

    @classmethod
    def pooled(cls, trials: list[Trial]) -> Trial:
        """Several hold-outs as one."""
        columns = zip(*(vars(t).values() for t in trials), strict=True)
        *rest, runs = (list(c) for c in columns)
        offset = np.cumsum([0, *(int(r.max(initial=0)) + 1 for r in runs)])
        shifted = [r + o for r, o in zip(runs, offset, strict=False)]
        return cls(*(np.concatenate(c) for c in (*rest, shifted)))


def refitted(field: Field, every: Data, rest: Data, rng: np.random.Generator) -> Field:
    """A fitted field that forgets what it learnt from readings now hidden.

    Nodes that lose much start from the network's mean loadings; the factors are solved first, so
    that they carry nothing of the hidden readings into the loadings.
    """
    before = np.maximum(every.used.sum(axis=1), 1)
    lost = np.minimum(_FORGET * (1.0 - rest.used.sum(axis=1) / before), 1.0)[:, None]
    loadings = field.loadings + lost * (field.mean_loading - field.loadings)
    field = update_factors(replace(field, loadings=loadings), rest, rng)
    return improve(field, rest, rng, rounds=2, nodes=False)


def judged(field: Field, rest: Data, every: Data, hidden: Mask) -> Trial:
    """What the field, fitted to the rest, says of the hidden readings."""
    mean, variance = estimate(field, rest)
    node, slot = np.nonzero(hidden)
    back, ahead = (d[hidden] for d in distances(rest.used, rest.slots))
    gap = np.where(np.isfinite(back + ahead), back + ahead - 1.0, np.fmin(back, ahead))
    gap = np.where(np.isfinite(gap), gap, hidden.shape[1])
    return Trial(
        node,
        rest.slots[slot],
        every.readings[hidden],
        mean[hidden],
        field.common()[hidden],
        lines(rest.readings, rest.used)[hidden],
        np.sqrt(variance[hidden]),
        remoteness(back, ahead),
        gap.astype(np.intp),
        _runs(rest.used, hidden),
    )


def _runs(used: Mask, hidden: Mask) -> Index:
    """Number the gaps that hidden entries lie in: a used reading, or another node, ends one."""
    fresh = used.copy()
    fresh[:, 0] = True
    number = np.cumsum(fresh.ravel()).reshape(used.shape)[hidden]
    return np.unique(number, return_inverse=True)[1].astype(np.intp)
