"""The safety net: where hidden readings prefer something simpler than the model, lean towards it.

Far from a node's own readings its own part may have been carried too far: there the common field
alone may be better. Near them a straight line may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.core.ranks import quantiles
from fieldmend.field.jumps import Index

_EDGES = (0.75, 2.0, 8.0, 30.0)  # of remoteness
CLASSES = len(_EDGES) + 1
_FEW = 60  # hidden readings below which nothing is decided
_TOLD = 20  # hidden readings below which the usual weight stays
_PRIOR = 30.0  # witnesses' worth of the usual weight
_APART = 4.0  # remotenesses between two hidden readings that are two witnesses
_TRIED = np.linspace(0.0, 1.0, 21)  # weights of something simpler
_NOTHING = 1e-300
_SURE = 1.0  # standard errors that a mixture has to win by; how much it counts grows from there


@dataclass(frozen=True)
class Lean:
    """How much of something simpler to mix in, by remoteness."""

    weight: Array

    def at(self, remote: Array) -> Array:
        """Its weight at entries of this remoteness."""
        out: Array = self.weight[np.searchsorted(_EDGES, remote)]
        return out

    def mix(self, model: Array, simple: Array, remote: Array) -> Array:
        """The estimate; where there is nothing simpler (NaN), the model's."""
        there = np.isfinite(simple)
        weight = np.where(there, self.at(remote), 0.0)
        out: Array = model + weight * (np.where(there, simple, 0.0) - model)
        return out


def choose_lean(truth: Array, model: Array, simple: Array, remote: Array, run: Index) -> Lean:
    """Weights in [0, 1] per class of remoteness; 0 unless clearly better."""
    group = np.searchsorted(_EDGES, remote)
    weight = np.zeros(CLASSES)
    for k in range(len(weight)):
        here = (group == k) & np.isfinite(simple)
        if here.sum() >= _FEW:
            weight[k] = _weight(truth[here] - model[here], simple[here] - model[here], run[here])
    return Lean(weight)


def lean_to_second(
    truth: Array,
    model: Array,
    other: Array,
    remote: Array,
    *,
    usual: float = 0.5,
    outage: Index | None = None,
    fresh: float = 1.0,
) -> Lean:
    """Weights of a second estimate of the same standing as the first, per class of remoteness.

    Of two good estimates with errors of their own, some of each is better than either, so the
    usual weight is half and half until hidden readings say otherwise: first all of them together,
    then those of each class. Neighbours in a long gap say nearly the same: they are few witnesses;
    where the whole network was silent, `outage` numbers them: each is one, or the share of one that
    is `fresh`, where several hide the same slots.
    """
    there = np.isfinite(other)
    error, towards = (truth - model)[there], (other - model)[there]
    remote, group = remote[there], np.searchsorted(_EDGES, remote[there])
    number = None if outage is None else outage[there]

    def shrunk(own: Mask, usual: float) -> float:
        if number is None:
            witnesses = own.sum() / max(1.0, _APART * float(np.median(remote[own])))
        else:
            witnesses = fresh * len(np.unique(number[own]))
        return _shrunk(error[own], towards[own], witnesses, usual)

    every = np.ones(len(error), dtype=np.bool_)
    usual = shrunk(every, usual) if error.size >= _TOLD else usual
    classes = (group == k for k in range(CLASSES))
    weight = [shrunk(own, usual) if own.sum() >= _TOLD else usual for own in classes]
    return Lean(np.array(weight))


def _shrunk(error: Array, towards: Array, witnesses: float, usual: float) -> float:
    """The least-squares weight, drawn to the usual one as far as witnesses are few.

    And not where one of the two errs far less than they differ: then few witnesses are enough.
    """
    bound = 4.0 * quantiles(np.maximum(np.abs(error), np.abs(error - towards)), 0.95)[0]
    error, towards = np.clip(error, -bound, bound), np.clip(towards, -bound, bound)
    curve = float(towards @ towards)
    if curve <= 0:
        return usual
    prior = _PRIOR / witnesses
    less = min(float(error @ error), float(((error - towards) ** 2).sum()))
    prior *= min(1.0, less / curve)
    best = (float(error @ towards) / curve + prior * usual) / (1.0 + prior)
    return min(1.0, max(0.0, best))


def _weight(error: Array, towards: Array, run: Index) -> float:
    """The weight with the least product of mean and root mean square error, as far as it is sure.

    Squares alone smear what jumps: an estimate between two levels is never right, and the line
    nearly always. Where errors are normal both are least at one place.
    """
    # A few gross errors that neither foresaw must not decide: they count as less.
    least = np.minimum(np.abs(error), np.abs(error - towards))
    part = np.minimum(1.0, 4.0 * quantiles(least, 0.95)[0] / np.maximum(least, 1e-300))
    error, towards = part * error, part * towards
    total, square = np.abs(error).sum(), float(error @ error)
    if total == 0.0:
        return 0.0

    def left_by(weight: float) -> Array:
        """The share of the sum of errors, and of their squares, that a weight leaves."""
        off = error - weight * towards
        return np.array([np.abs(off).sum() / total, off @ off / square])

    left = [float(np.log(left_by(w) + _NOTHING) @ (1.0, 0.5)) for w in _TRIED]
    best = float(_TRIED[np.argmin(left)])
    off = error - best * towards
    gain = (np.abs(error) - np.abs(off)) / total + (error**2 - off**2) / (2.0 * square)
    # Readings hidden in one run are one witness.
    gains = np.bincount(np.unique(run, return_inverse=True)[1], gain)
    doubt = float(np.sqrt(((gains - gains.mean()) ** 2).sum()))
    sure = float(gain.sum()) / doubt if doubt > 0 else 0.0
    return best * (1.0 - 1.0 / sure**2) if sure > _SURE else 0.0
