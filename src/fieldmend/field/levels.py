"""Levels first: how the nodes' levels go together, for gaps that last.

The model chooses how long each node's own wandering lasts by single steps, and its loadings then
fit how nodes step together. Over a gap of a day what counts is how their levels go together. So
other factors are fitted first, beside wandering that is forgotten within a few slots; the model's
own kind to what they leave; and both are solved together. How much of this estimate counts, hidden
readings decide: each time it is fitted anew without them, for it remembers well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.chains import NodeModel
from fieldmend.field.holdout import distances, remoteness, runs_of
from fieldmend.field.lean import Lean, lean_to_second
from fieldmend.field.model import (
    Data,
    Field,
    follow,
    grow,
    improve,
    loading_sums,
    most_factors,
    smoothed,
    start_field,
    update_factors,
    update_nodes,
    with_loadings,
)
from fieldmend.field.nodes import FORGETFUL
from fieldmend.field.outages import silent_slots, usual_company

_TOL, _MOST = 1e-3, 20  # of conjugate gradients
_LONG, _SHARE = 16, 0.2  # slots of a gap that lasts; share of the lost that makes it worth its time
_NODES = 6  # with fewer there is no telling levels from chance
_SLOW = ((4, 2), (12, 3))  # factors of levels at the most, rounds
_FAST = 6, 2  # factors of steps
_NOTHING = 0.1  # weight below which a first hold-out says that it is not worth more


@dataclass(frozen=True)
class Hidden:
    """What a hold-out says: readings, those hidden, the model's estimates, nodes × slots."""

    rest: Data
    hidden: Mask
    truth: Array
    model: Array
    company: float  # nodes heard in a usual slot


@dataclass(frozen=True)
class Levels:
    """Factors of levels and factors of steps, solved together, and how much they count."""

    field: Field  # with the factors of the slots that it was fitted to, or none
    lean: Lean

    @classmethod
    def learnt(
        cls, clean: Data, held: Sequence[Hidden], seed: int
    ) -> tuple[Levels | None, list[Array]]:
        """From all readings, weighed on hidden ones; and what it says in each hold-out.

        None, and nothing said, where few gaps last or hidden readings have no use for it.
        """
        if not lasting(clean):
            return None, []
        said: list[Array] = []
        for one in held:
            found = _fitted(one.rest, seed)
            said.append(smoothed(found.both, one.rest))
            lean = _weighed(held[: len(said)], said)
            if len(said) == 1 and lean.weight.max() < _NOTHING:
                return None, []
        return cls(_refitted(found, clean, seed), lean), said

    def mixed(self, model: Array, data: Data, company: float, said: Array | None = None) -> Array:
        """The model's estimates, and as much of these as counts; not where the network is silent.

        `said` is what this says at every entry, where that is known already.
        """
        if said is None:
            said = self._estimate(data)
        remote = remoteness(*distances(data.used, data.slots))
        silent = silent_slots(data.used, company)
        out: Array = np.where(silent, model, self.lean.mix(model, said, remote))
        return out

    def _estimate(self, data: Data) -> Array:
        field = self.field
        if field.factors.shape[1] != data.used.shape[1]:
            field = follow(field, data, tol=_TOL, most=2 * _MOST)
        return smoothed(field, data)

    def with_factors(self, factors: Array | None) -> Levels:
        """With the factors of some slots, if they are known."""
        return self if factors is None else replace(self, field=_having(self.field, factors))

    def kept(self) -> Levels:
        """Without the factors of the slots that it was fitted to."""
        return replace(self, field=_having(self.field, np.zeros((self.field.rank, 0))))


def _having(field: Field, factors: Array) -> Field:
    return replace(field, factors=factors, deviation=np.zeros_like(factors))


def lasting(data: Data) -> bool:
    """True if gaps that last are a good part of what was lost, in company."""
    if len(data.used) < _NODES:
        return False
    silent = silent_slots(data.used, usual_company(data.used))
    length = runs_of(data.lost & ~silent)[1]
    return bool(length[length >= _LONG].sum() > _SHARE * length.sum())


def _weighed(held: Sequence[Hidden], said: Sequence[Array]) -> Lean:
    """The weight that hidden readings give it, by remoteness: nothing to begin with."""
    parts = []
    for one, other in zip(held, said, strict=True):
        remote = remoteness(*distances(one.rest.used, one.rest.slots))
        here = one.hidden & ~silent_slots(one.rest.used, one.company)
        parts.append([array[here] for array in (one.truth, one.model, other, remote)])
    truth, model, other, remote = (np.concatenate(column) for column in zip(*parts, strict=True))
    return lean_to_second(truth, model, other, remote, usual=0.0)


@dataclass(frozen=True)
class _Fitted:
    """Factors of levels, those of steps, and both together."""

    slow: Field
    fast: Field
    both: Field


def _fitted(data: Data, seed: int) -> _Fitted:
    rng = np.random.default_rng([seed, 17])
    slow = start_field(data, FORGETFUL)
    for rank, rounds in _SLOW:
        slow = grow(slow, data, most_factors(rank, data))
        slow = improve(slow, data, rng, rounds=rounds, phi=FORGETFUL)
    fast = start_field(_less(data, slow))
    slow = _as_sure_as_it_is(slow, fast.nodes, data, rng)
    rest, (rank, rounds) = _less(data, slow), _FAST
    fast = improve(grow(fast, rest, most_factors(rank, rest)), rest, rng, rounds=rounds)
    return _Fitted(slow, fast, _solved(slow, fast, data, rng))


def _refitted(found: _Fitted, data: Data, seed: int) -> Field:
    """To all readings, from what was fitted to most of them: one round of each."""
    rng = np.random.default_rng([seed, 18])
    slow = improve(found.slow, data, rng, rounds=1, phi=FORGETFUL)
    slow = _as_sure_as_it_is(slow, start_field(_less(data, slow)).nodes, data, rng)
    fast = improve(found.fast, _less(data, slow), rng, rounds=1)
    return _solved(slow, fast, data, rng)


def _as_sure_as_it_is(
    slow: Field, lasting: NodeModel, data: Data, rng: np.random.Generator
) -> Field:
    """With loadings from as many readings as are news, and the factors that go with them."""
    slow = with_loadings(slow, loading_sums(slow, data).believed(_fresh(slow.nodes, lasting)))
    return update_factors(slow, data, rng, tol=_TOL, most=_MOST)


def _solved(slow: Field, fast: Field, data: Data, rng: np.random.Generator) -> Field:
    both = update_factors(_together(slow, fast), data, rng, tol=_TOL, most=_MOST)
    return update_nodes(both, data)


def _fresh(forgetful: NodeModel, lasting: NodeModel) -> Array:
    """Which share of the readings is news, if wandering lasts as long as it really does.

    Beside wandering that is forgotten soon every reading seems to say something new of the
    loadings, and a node that was heard for half a day would be as sure of them as any.
    """
    apart, real = ((1.0 - phi) / (1.0 + phi) for phi in (forgetful.phi, lasting.phi))
    out: Array = np.minimum(real / apart, 1.0)
    return out


def _less(data: Data, field: Field) -> Data:
    return replace(data, readings=(data.readings - field.common()) * data.used)


def _together(slow: Field, fast: Field) -> Field:
    """Both kinds of factors, with the nodes' own parts that are left beside the latter."""
    r = slow.rank + fast.rank
    columns = {
        name: np.concatenate([getattr(slow, name), getattr(fast, name)])
        for name in ("mean_loading", "relevance", "phi", "factors", "deviation")
    }
    return replace(
        slow,
        **columns,
        level=slow.level + fast.level,
        loadings=np.hstack([slow.loadings, fast.loadings]),
        doubt=np.zeros((len(slow.level), r + 1, r + 1)),  # intervals are the model's own
        nodes=fast.nodes,
        blur=np.zeros((r, r)),
    )
