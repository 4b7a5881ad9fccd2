"""The field model: y = m_n + a_nᵀb_t + r_nt + e_nt, every part estimated from the readings.

b are common factors with AR(1) dynamics, r a node's own smooth wandering (AR(1)), e noise. A
straight line between a node's own readings (a = 0, φ → 1, no noise) and low-rank completion (r =
0) are its
limits. While loadings and factors are fitted, r is marginalised: they are generalised least
squares. Fitted as if r were white, the same model is an order of magnitude worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from fieldmend.core.prox import Array, Mask
from fieldmend.field.chains import Chains, NodeModel
from fieldmend.field.factors import FactorSystem, stationary_gram
from fieldmend.field.joint import OtherConditions
from fieldmend.field.jumps import Index
from fieldmend.field.nodes import PHI, fit_nodes

_LEVEL = 1e-2  # prior precision of m_n: readings are centred already
_STEADY = 0.9995  # largest φ
_LEAST = 1e-12
_MOSTLY = 0.8  # readings of all: with more lost, it matters where deviations are large
_SAMPLE = 0.03  # tolerance of a random draw: it loses a thousandth of its variance


@dataclass(frozen=True)
class Data:
    """Scaled readings, nodes × slots, zero where not used, and the number of each slot."""

    readings: Array
    used: Mask
    slots: Index
    others: OtherConditions | None = None
    taken: Array | None = None  # off the readings, nodes × slots
    closed: Mask | None = None  # slots in which nobody is ever heard

    @property
    def links(self) -> Mask:
        """True where the next slot here is the next in time."""
        out: Mask = np.diff(self.slots) == 1
        return out

    @property
    def lost(self) -> Mask:
        """Where a reading might have come that did not."""
        return ~self.used if self.closed is None else ~self.used & ~self.closed

    @property
    def usual(self) -> Array:
        """What was taken off the readings, nodes × slots."""
        return np.zeros(self.used.shape) if self.taken is None else self.taken

    def using(self, used: Mask) -> Data:
        """The same with some readings only."""
        return replace(self, readings=np.where(used, self.readings, 0.0), used=used)

    def at(self, some: Index) -> Data:
        """The same in some of the slots, without what other conditions say there.

        Taken, not indexed: that leaves each node's slots side by side.
        """
        return Data(
            self.readings.take(some, axis=1),
            self.used.take(some, axis=1),
            self.slots[some],
            taken=None if self.taken is None else self.taken.take(some, axis=1),
            closed=None if self.closed is None else self.closed[some],
        )

    def less(self, usual: Array) -> Data:
        """The same with something taken off the readings."""
        rest = np.where(self.used, self.readings - usual, 0.0)
        return replace(self, readings=rest, taken=self.usual + usual)


@dataclass(frozen=True)
class Field:
    """Parameters (levels, loadings, dynamics) and the factors' posterior mean and one sample of it.

    ``deviation`` is one draw from the posterior of b minus its mean: it carries the factors'
    uncertainty into loadings and variances at the cost of one more right-hand side.
    """

    level: Array  # nodes
    loadings: Array  # nodes × r
    mean_loading: Array  # r
    relevance: Array  # r: prior precision of the loadings around their mean
    doubt: Array  # nodes × (r + 1) × (r + 1): posterior covariance of loadings and level
    phi: Array  # r
    nodes: NodeModel
    factors: Array  # r × slots
    deviation: Array  # r × slots
    blur: Array  # r × r: mean square of the deviation

    @property
    def rank(self) -> int:
        """Number of factors."""
        return int(self.loadings.shape[1])

    def common(self) -> Array:
        """M + A·B, nodes × slots."""
        out: Array = self.level[:, None] + self.loadings @ self.factors
        return out


def start_field(data: Data, phi: tuple[float, ...] = PHI) -> Field:
    """Levels only; every node's readings are its own wandering."""
    n, t = data.readings.shape
    count = data.used.sum(axis=1)
    level = data.readings.sum(axis=1) / np.maximum(count, 1)
    rest = (data.readings - level[:, None]) * data.used
    nodes = fit_nodes(rest, data.used, data.links, phi=phi)
    nothing = np.zeros((0, t))
    empty = np.zeros(0)
    doubt = np.zeros((n, 1, 1))
    blur = np.zeros((0, 0))
    return Field(level, np.zeros((n, 0)), empty, empty, doubt, empty, nodes, nothing, nothing, blur)


def grow(field: Field, data: Data, rank: int) -> Field:
    """Add factors: the strongest common directions of what the nodes' own parts had to explain."""
    more = min(rank, *data.readings.shape) - field.rank
    if more <= 0:
        return field
    rest = (data.readings - field.common()) * data.used
    own = Chains(field.nodes, data.used, data.links).smooth(rest)
    own /= np.sqrt(field.nodes.innovation + field.nodes.noise)[:, None]
    new = _leading(own, more)
    one = np.ones(len(new))
    return replace(
        field,
        loadings=np.hstack([field.loadings, np.zeros((len(rest), len(new)))]),
        mean_loading=np.concatenate([field.mean_loading, 0.0 * one]),
        relevance=np.concatenate([field.relevance, one]),
        phi=np.concatenate([field.phi, np.clip(_lag_one(new, data.links), 0.0, _STEADY)]),
        factors=np.vstack([field.factors, new]),
        deviation=np.vstack([field.deviation, np.zeros_like(new)]),
        blur=np.pad(field.blur, (0, len(new))),
    )


def most_factors(rank: int, data: Data) -> int:
    """So many factors, or as many as nodes and slots can tell apart."""
    nodes, slots = map(int, data.readings.shape)
    return max(0, min(rank, nodes // 3 if nodes >= 6 else nodes - 1, slots // 3))


def _leading(own: Array, count: int) -> Array:
    """The first right singular vectors with mean square one, count × slots."""
    n, t = own.shape
    gram = own @ own.T if n <= t else own.T @ own
    size = len(gram)
    count = min(count, size)
    values, vectors = eigh(gram, subset_by_index=(size - count, size - 1))
    kept = values > _LEAST * max(float(np.trace(gram)), _LEAST)
    vectors = vectors[:, kept][:, ::-1]
    rows = vectors.T @ own if n <= t else vectors.T
    out: Array = rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + _LEAST)
    return out


def _lag_one(b: Array, links: Mask, d: Array | None = None) -> Array:
    """Lag-one correlation of factors (with their sampled deviations) over linked slots."""
    parts = (b,) if d is None else (b, d)
    across = sum((p[:, 1:] * p[:, :-1] * links).sum(axis=1) for p in parts)
    power = sum(((p[:, 1:] ** 2 + p[:, :-1] ** 2) * links).sum(axis=1) / 2 for p in parts)
    out: Array = np.asarray(across / (power + _LEAST))
    return out


@dataclass(frozen=True)
class LoadingSums:
    """What readings say of each node's loadings and level: add them up over stretches of slots."""

    square: Array  # nodes × (r + 1) × (r + 1)
    target: Array  # nodes × (r + 1)

    def __add__(self, other: LoadingSums) -> LoadingSums:
        return LoadingSums(self.square + other.square, self.target + other.target)

    def believed(self, share: Array) -> LoadingSums:
        """The same as from so many of each node's readings."""
        return LoadingSums(self.square * share[:, None, None], self.target * share[:, None])


class OwnParts:
    """The nodes' own parts: the same as long as their parameters and the readings stay.

    What a round asks of the readings and of the levels is solved for once, for all rounds.
    """

    def __init__(self, field: Field, data: Data) -> None:
        self.chains = Chains(field.nodes, data.used, data.links)
        self.readings = data.readings

    @cached_property
    def white(self) -> Array:
        """K⁻¹y of each node."""
        return self.chains.whiten(self.readings)

    @cached_property
    def unit(self) -> Array:
        """K⁻¹1 of each node."""
        return self.chains.whiten(np.ones(self.readings.shape))

    def above(self, level: Array) -> Array:
        """K⁻¹(y − m) of each node."""
        out: Array = self.white - level[:, None] * self.unit
        return out


def loading_sums(field: Field, data: Data, own: OwnParts | None = None) -> LoadingSums:
    """ZK⁻¹Zᵀ and ZK⁻¹y of each node, Z the factors and a row of ones, K⁻¹ from the node's chain."""
    r, B, D = field.rank, field.factors, field.deviation
    own = own or OwnParts(field, data)
    square = np.empty((len(own.white), r + 1, r + 1))
    square[:, r, r] = own.unit.sum(axis=1)
    if r:
        square[:, :r, :r] = own.chains.gram(B)
        square[:, r, :r] = square[:, :r, r] = own.unit @ B.T
    if D.any():
        unsure = stationary_gram if data.used.mean() > _MOSTLY else Chains.gram
        square[:, :r, :r] += unsure(own.chains, D)
    return LoadingSums(square, np.column_stack([own.white @ B.T, own.white.sum(axis=1)]))


def with_loadings(field: Field, sums: LoadingSums) -> Field:
    """Levels and loadings: ridge regression of each node's whitened readings on the factors."""
    r = field.rank
    prior = np.append(field.relevance, _LEVEL)
    centre = np.append(field.mean_loading, 0.0) * prior
    doubt = np.linalg.inv(sums.square + np.diag(prior))
    coefficients = np.einsum("nij,nj->ni", doubt, sums.target + centre)
    A, spread = coefficients[:, :r], doubt[:, np.arange(r), np.arange(r)]
    mean = A.mean(axis=0)
    return replace(
        field,
        loadings=A,
        level=coefficients[:, r],
        mean_loading=mean,
        relevance=1.0 / (((A - mean) ** 2 + spread).mean(axis=0) + _LEAST),
        doubt=doubt,
    )


def update_factors(
    field: Field,
    data: Data,
    rng: np.random.Generator,
    *,
    tol: float = 1e-2,
    most: int = 12,
    own: OwnParts | None = None,
) -> Field:
    """Factors given the rest, and one fresh sample of their posterior."""
    if not field.rank:
        return field
    own = own or OwnParts(field, data)
    system = FactorSystem(field.loadings, field.phi, own.chains)
    evidence = field.loadings.T @ own.above(field.level)
    factors = system.solve(evidence, field.factors, tol=tol, most=most)
    deviation = system.solve(system.perturbed(rng), None, tol=_SAMPLE, most=most)
    blur = deviation @ deviation.T / deviation.shape[1]
    return replace(field, factors=factors, deviation=deviation, blur=blur)


def follow(field: Field, data: Data, *, tol: float, most: int) -> Field:
    """Factors of other slots with the same parameters; what is there already is the start."""
    slots = data.readings.shape[1]
    start = field.factors if field.factors.shape[1] == slots else np.zeros((field.rank, slots))
    if not field.rank:
        return replace(field, factors=start, deviation=start)
    centred = (data.readings - field.level[:, None]) * data.used
    system = FactorSystem(field.loadings, field.phi, Chains(field.nodes, data.used, data.links))
    factors = system.solve(system.evidence(centred), start, tol=tol, most=most)
    return replace(field, factors=factors, deviation=np.zeros_like(start))


def slot_by_slot(field: Field, data: Data, weight: Array) -> Field:
    """Factors of each slot from its own readings alone, each with a weight from 0 to 1.

    Exact where nothing lasts over time. O(T·N·r²).
    """
    r = field.rank
    weight = weight * data.used / (field.nodes.spread + field.nodes.noise)[:, None]
    outer = (field.loadings[:, :, None] * field.loadings[:, None, :]).reshape(-1, r * r)
    systems = (weight.T @ outer).reshape(-1, r, r) + np.eye(r)
    target = (weight * (data.readings - field.level[:, None])).T @ field.loadings
    factors = np.linalg.solve(systems, target[:, :, None])[:, :, 0].T
    return replace(field, factors=factors, deviation=np.zeros_like(factors))


def update_dynamics(field: Field, data: Data) -> Field:
    """Factors rescaled to unit variance (loadings take it up); φ of each from lag-one moments."""
    if not field.rank:
        return field
    b, d = field.factors, field.deviation
    size = np.sqrt((b**2 + d**2).mean(axis=1) + _LEAST)
    both = np.append(size, 1.0)
    return replace(
        field,
        doubt=field.doubt * (both[:, None] * both),
        factors=b / size[:, None],
        deviation=d / size[:, None],
        loadings=field.loadings * size,
        mean_loading=field.mean_loading * size,
        relevance=field.relevance / size**2,
        blur=field.blur / (size[:, None] * size),
        phi=np.clip(_lag_one(b, data.links, d), 0.0, _STEADY),
    )


def update_nodes(field: Field, data: Data, phi: tuple[float, ...] = PHI) -> Field:
    """Each node's own dynamics and noise from what the (uncertain) common field leaves."""
    b = field.factors + field.deviation
    rest = (data.readings - field.level[:, None] - field.loadings @ b) * data.used
    nodes = fit_nodes(rest, data.used, data.links, near=field.nodes, phi=phi)
    return replace(field, nodes=nodes)


def improve(
    field: Field,
    data: Data,
    rng: np.random.Generator,
    *,
    rounds: int,
    nodes: bool = True,
    own: OwnParts | None = None,
    phi: tuple[float, ...] = PHI,
) -> Field:
    """Rounds of loadings, factors and dynamics; then the nodes' own parts.

    `own` are those of the field and the readings, if they are at hand; `phi` is how long they may
    last.
    """
    own = own or OwnParts(field, data)
    for _ in range(rounds):
        field = with_loadings(field, loading_sums(field, data, own))
        field = update_factors(field, data, rng, own=own)
        field = update_dynamics(field, data)
    return update_nodes(field, data, phi) if nodes else field


def estimate(field: Field, data: Data) -> tuple[Array, Array]:
    """M + A·B + r at every entry, and the variance of a reading there.

    Near a node's own readings its own part makes up for errors of the common field; the
    uncertainty of loadings and factors counts as much as the own part is uncertain.
    """
    chains = Chains(field.nodes, data.used, data.links)
    mean, own = smoothed(field, data, chains), chains.variance()
    loose = own / field.nodes.spread[:, None]
    return mean, own + loose * _common_variance(field) + field.nodes.noise[:, None]


def smoothed(field: Field, data: Data, chains: Chains | None = None) -> Array:
    """M + A·B + r at every entry; `chains` of the field and the readings, if they are at hand."""
    chains = chains or Chains(field.nodes, data.used, data.links)
    common = field.common()
    out: Array = common + chains.smooth((data.readings - common) * data.used)
    return out


def _common_variance(field: Field) -> Array:
    """Variance of m + A·B from uncertain loadings (over all slots) and factors (on average)."""
    Z = np.vstack([field.factors, np.ones(field.factors.shape[1])])
    # zᵀCz over all nodes and slots is one matrix product of packed triangles.
    i, j = np.triu_indices(len(Z))
    packed = field.doubt[:, i, j] * np.where(i == j, 1.0, 2.0)
    from_factors = ((field.loadings @ field.blur) * field.loadings).sum(axis=1)
    out: Array = np.maximum(packed @ (Z[i] * Z[j]), 0.0) + from_factors[:, None]
    return out
