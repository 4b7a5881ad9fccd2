"""Hold-outs of the field model: hide readings, fit without them, keep what became of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.line import lines
from fieldmend.core.prox import Array, Mask
from fieldmend.field.holdout import Index, distances, remoteness
from fieldmend.field.model import Data, Field, OwnParts, estimate, improve, update_factors
from fieldmend.field.outages import outage_numbers, silent_slots, usual_company
from fieldmend.field.second import Second, apart

_FORGET = 4.0  # a node that lost a quarter of its readings forgets its loadings
_AWAY = 0.3  # of the slots, at either end: they stand for days that were not fitted to
_HEARD = 0.7  # of a slot's readings: where fewer are left, the factors forget what they saw


@dataclass(frozen=True)
class Trial:
    """Hidden entries of one or several hold-outs: scaled values, one entry each."""

    node: Index
    slot: Index
    truth: Array
    model: Array
    common: Array
    line: Array
    second: Array  # NaN where there is no second look
    later: Array  # the second look in slots that it did not learn from; NaN elsewhere
    joint: Array  # the second look with other conditions; NaN where none was heard
    sd: Array
    remote: Array
    gap: Index
    routine: Array  # by the usual course; NaN where there is none
    run: Index  # entries hidden together, in one stretch of one node, share a number
    outage: Index  # those hidden in one silence of the network share a number; -1: in company

    @classmethod
    def pooled(cls, trials: list[Trial]) -> Trial:
        """Several hold-outs as one."""
        columns = zip(*(vars(t).values() for t in trials), strict=True)
        *rest, runs, outages = (list(c) for c in columns)
        runs, outages = _renumbered(runs), _renumbered(outages)
        return cls(*(np.concatenate(c) for c in (*rest, runs, outages)))

    def more(self, by: Array) -> Trial:
        """The same with something put back that had been taken off the readings."""
        said = "truth", "model", "common", "line", "second", "later", "joint", "routine"
        return replace(self, **{name: getattr(self, name) + by for name in said})

    def kept(self, which: Mask) -> Trial:
        """Some of the entries."""
        return Trial(*(array[which] for array in vars(self).values()))


def _renumbered(numbers: list[Index]) -> list[Index]:
    """Numbers of one hold-out are not those of another; -1 stays."""
    offset = np.cumsum([0, *(int(n.max(initial=0)) + 1 for n in numbers)])
    return [np.where(n < 0, n, n + o) for n, o in zip(numbers, offset, strict=False)]


def refitted(field: Field, every: Data, rest: Data, rng: np.random.Generator) -> Field:
    """A fitted field that forgets what it learnt from readings now hidden.

    Nodes that lose much start from the network's mean loadings; the factors are solved first, so
    that they carry nothing of the hidden readings into the loadings.
    """
    before = np.maximum(every.used.sum(axis=1), 1)
    lost = np.minimum(_FORGET * (1.0 - rest.used.sum(axis=1) / before), 1.0)[:, None]
    loadings = field.loadings + lost * (field.mean_loading - field.loadings)
    field = forgetful(replace(field, loadings=loadings), every, rest)
    own = OwnParts(field, rest)
    field = update_factors(field, rest, rng, own=own)
    return improve(field, rest, rng, rounds=2, nodes=False, own=own)


def forgetful(field: Field, every: Data, rest: Data) -> Field:
    """Factors interpolated across the slots most of whose readings are hidden now.

    Conjugate gradients stop early and stay near their start: one that saw the hidden readings would
    look better than a fit that never did. A slot without any reading, in an outage, has nothing but
    what it was told by those beside it, which may be hidden now: it is no end of a bridge.
    """
    left = rest.used.sum(axis=0)
    kept = (left > 0) & (left >= _HEARD * every.used.sum(axis=0))
    return bridged(field, kept, every.slots)


def bridged(field: Field, kept: Mask, slots: Index) -> Field:
    """Factors interpolated from some of the slots across the others."""
    if kept.all() or not kept.any() or not field.rank:
        return field
    factors = np.array([np.interp(slots, slots[kept], row[kept]) for row in field.factors])
    return replace(field, factors=factors)


def judged(
    field: Field,
    rest: Data,
    every: Data,
    hidden: Mask,
    *,
    looks: tuple[Second | None, Second | None] = (None, None),
    routine: Array | None = None,
    said: tuple[Array, Array] | None = None,
) -> Trial:
    """What the field, fitted to the rest, says of the hidden readings; and the second look.

    `routine` is what the usual course says, nodes × slots; `said` the field's estimates and their
    variances, where there are others than its own.
    """
    mean, variance = said or estimate(field, rest)
    looked, later, together = (one[hidden] for one in _looks(looks, mean, rest))
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
        looked,
        later,
        together,
        np.sqrt(variance[hidden]),
        remoteness(back, ahead),
        gap.astype(np.intp),
        np.full(len(node), np.nan) if routine is None else routine[hidden],
        numbered_runs(rest.used, hidden),
        _outages(rest, every)[slot],
    )


def _looks(
    looks: tuple[Second | None, Second | None], mean: Array, rest: Data
) -> tuple[Array, Array, Array]:
    """The second look; with regressions from the others, at either end; with other conditions.

    NaN where there is none, and between the ends.
    """
    second, joint = looks
    nothing = np.full(mean.shape, np.nan)
    if second is None:
        return nothing, nothing, nothing
    place = np.arange(rest.used.shape[1]) / rest.used.shape[1]
    ends = place < _AWAY, place >= 1.0 - _AWAY
    (every, *others), *together = apart(
        [(second, ends), *([] if joint is None else [(joint, ())])], mean, rest
    )
    later = nothing.copy()
    for away, other in zip(ends, others, strict=True):
        later[:, away] = other[:, away]
    return every, later, together[0][0] if together else nothing


def _outages(rest: Data, every: Data) -> Index:
    """Number of the network's silence in each slot."""
    return outage_numbers(silent_slots(rest.used, usual_company(every.used)), rest.slots)


def numbered_runs(used: Mask, hidden: Mask) -> Index:
    """Number the gaps that hidden entries lie in: a used reading, or another node, ends one."""
    fresh = used.copy()
    fresh[:, 0] = True
    number = np.cumsum(fresh.ravel()).reshape(used.shape)[hidden]
    return np.unique(number, return_inverse=True)[1].astype(np.intp)
