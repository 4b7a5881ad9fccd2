"""scikit-learn estimators: samples are slots, features are nodes, NaN is a reading that is missing.

``fit`` runs :func:`fieldmend.decompose` and keeps the space the nodes span. ``transform`` fits each
new slot against that space alone: a slot's coefficients, never the nodes' loadings, so slots can
come one at a time, in any order, without a second decomposition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldmend.decomposition import Decomposition, decompose
from fieldmend.engine import blocks
from fieldmend.problem import Scaling
from fieldmend.prox import Array, Mask, huber

_HIDDEN = 0.1  # share of the readings that score hides
_TRIMMED = 0.1  # share of the hidden readings, the worst, that it forgives: some are false
_REJECT = 4.0  # standard deviations at which a debiased fit gives a reading half its weight
_ANNEAL = 0.7  # fall of the noise a step on the way there
_QUIET = 1e-6  # the least noise, over the node's scale
_NORMAL = 1.4826  # median absolute deviation → standard deviation, for normal data
_STEPS, _SETTLED = 60, 1e-9  # of the slots' fits; five to ten steps are usual


class LSDecomposition(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Robust recovery of missing and false readings by LS-Decomposition, for scikit-learn.

    `fit` splits the readings into a low-rank field, sparse anomalies and noise (see
    :func:`fieldmend.decompose`) and keeps V, the space that the nodes span. `transform` gives the
    field at every entry of new slots. With y the slot's readings, centred and scaled, seen on O,

        b = argmin Σ_O h_d(y − V b) + ½ μ Σ_k b_k²/σ_k,   field = V b,

    h_d the Huber function, d = λμ, σ_k the singular values of the training field. The ridge is
    what the nuclear norm amounts to once V and σ are fixed, so a training slot gets back the very
    estimate that the decomposition gave it, up to `tol`.

    Parameters
    ----------
    lam, mu
        Weights of the anomalies and of the rank, for the scaled readings. By default from the
        readings: see :func:`fieldmend.decompose`.
    debias
        Refit without shrinkage. `transform` then weighs each node by its noise, holds b_k back by
        its variance over the training slots, not by σ_k/μ, and leaves out readings that are about
        four standard deviations off, rather than bound their pull.
    center, scale
        Remove each node's median, divide by its median absolute deviation.
    tol, max_iter
        Stop at this certified relative gap, or at this many iterations, with a warning.
    random_state
        An integer is the `seed` of :func:`fieldmend.decompose`, and also hides the same readings
        in every `score`.

    Attributes
    ----------
    components_
        Vᵀ, rank × nodes: orthonormal rows in scaled units, the strongest first.
    singular_values_
        σ, of the training field in scaled units (about its mean, if debiased).
    center_, scale_
        Per node: field = `center_` + `scale_`·(V b). A slot without readings gets `center_`.
    anomalies_
        S of the training slots: zero where nothing was observed.
    noise_
        Standard deviation of the noise per node, in the units of X, by the median of the training
        residuals. Without `debias` it holds what shrinkage left in them.
    rank_, gap_, n_iter_, status_, lam_, mu_
        Of the training decomposition: its rank, certified relative duality gap, iterations, how it
        ended, and the weights used.
    decomposition_
        The whole :class:`fieldmend.Decomposition` of the training slots.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    `fit_transform(X)` is `fit(X).transform(X)`. Without `debias` it also equals
    ``decomposition_.estimate``, up to `tol`; with it, the two differ where slots have few readings,
    because the refit knows how uncertain the loadings are, and `transform` does not.

    `transform` costs O(T·N·r²) a step for T new slots, and five to ten steps; memory O(T·N) and one
    block's normal matrices. No slot sees another, so any split of the slots gives the same field.
    `delta` of :func:`fieldmend.decompose` is left out: a bound on the whole residual means another
    problem for every number of slots, so cross-validation could not compare it.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=300, nodes=20, seed=1)
    >>> model = fm.LSDecomposition(debias=True).fit(net.readings[:200])
    >>> field = model.transform(net.readings[200:])
    >>> lost = net.lost[200:]
    >>> bool(abs(field - net.truth[200:])[lost].mean() < 1)  # of values from 0 to 100
    True
    """

    def __init__(
        self,
        *,
        lam: float | None = None,
        mu: float | None = None,
        debias: bool = False,
        center: bool = True,
        scale: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.lam = lam
        self.mu = mu
        self.debias = debias
        self.center = center
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decompose the readings and keep the space of the nodes.

        Parameters
        ----------
        X
            Readings, slots × nodes, NaN = not observed.
        y
            Not used; there for pipelines.
        """
        X = self._validated(X, reset=True)
        out = decompose(
            X,
            lam=self.lam,
            mu=self.mu,
            debias=self.debias,
            center=self.center,
            scale=self.scale,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self._seed(),
        )
        self.decomposition_ = out
        self.anomalies_ = out.sparse
        self.gap_, self.status_ = out.gap, out.status
        self.n_iter_, self.lam_, self.mu_ = out.iterations, out.lam, out.mu
        self.noise_ = _noise(X, out, debiased=self.debias)
        mean, self.singular_values_, self.components_ = _spectrum(out, about_mean=self.debias)
        self.rank_ = len(self.components_)
        self.scale_ = out.scaling.scale
        self.center_ = out.scaling.center + out.scaling.scale * mean
        self._slot_fit = self._fit_of_a_slot(len(X))
        return self

    def transform(self, X: Any) -> Any:
        """The field at every entry of these slots, from their observed readings alone.

        Parameters
        ----------
        X
            Readings, slots × nodes, NaN = not observed, nodes as in `fit`.

        Returns
        -------
        Slots × nodes, in the units and the precision of X.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self._field(X, ~np.isnan(X))

    def score(self, X: Any, y: Any = None) -> float:
        """How much better hidden readings are predicted than by their nodes' medians.

        One tenth of the readings of X is hidden, with `random_state`, and recovered from the
        others:

            1 − mean|x − field| / mean|x − median|,

        errors over their node's median absolute deviation, the worst tenth of each left out
        because hidden readings may be false too. 1 is perfect, 0 is no better than the medians.
        Both yardsticks come from X alone: models with any parameters compare, in any units.

        Parameters
        ----------
        X
            Readings, slots × nodes, NaN = not observed, nodes as in `fit`.
        y
            Not used; there for pipelines.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        O = ~np.isnan(X)
        hidden = _some_of(O, np.random.default_rng(self._seed()))
        field = self._field(X, O & ~hidden)
        usual = Scaling.of(X, O, center=True, scale=True)
        missed = _trimmed_mean(np.abs((X - field) / usual.scale)[hidden])
        spread = _trimmed_mean(np.abs((X - usual.center) / usual.scale)[hidden])
        if spread == 0:
            return float(missed == 0)
        return 1.0 - missed / spread

    def _validated(self, X: Any, *, reset: bool) -> Array:
        checked: Array = validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        return checked

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _fit_of_a_slot(self, slots: int) -> _HuberFit | _RejectingFit:
        """The fit of a slot to the learnt space, by the weights of the class's docstring."""
        V, s = self.components_.T, self.singular_values_
        if not self.debias:
            return _HuberFit(V, self.mu_ / s, self.lam_ * self.mu_)
        return _RejectingFit(V, slots / s**2, np.maximum(self.noise_ / self.scale_, _QUIET))

    def _field(self, X: Array, O: Mask) -> Array:
        """The field at every entry, from the entries O of X, block by block."""
        scaling = Scaling(self.center_, self.scale_)
        out = np.empty_like(X)
        for block in blocks(*X.shape):
            R = scaling.apply(X[block], O[block]).astype(np.float64, copy=False)
            B = self._slot_fit.coefficients(R, O[block])
            out[block] = (B @ self.components_) * self.scale_ + self.center_
        return out


@dataclass(frozen=True)
class _HuberFit:
    """b = argmin Σ_O h_d(y − V b) + ½ Σ ridge_k b_k², for all slots at once."""

    loadings: Array  # V, nodes × r
    ridge: Array  # r
    threshold: float  # d

    def coefficients(self, R: Array, O: Mask) -> Array:
        """B, slots × r."""
        return _settled(self._step, R, O, np.zeros((len(R), len(self.ridge))))

    def _step(self, R: Array, O: Mask, B: Array) -> Array:
        """The better of two steps, slot by slot.

        Reweighted least squares always descends, but creeps where false readings are all that
        holds a coefficient; Newton's step on the quadratic pieces ends exactly, but may overshoot.
        """
        V, d = self.loadings, self.threshold
        E = (R - B @ V.T) * O
        pull = np.minimum(1.0, d / np.maximum(np.abs(E), 1e-300))
        descent = _weighted_fit(R, np.where(O, pull, 0.0), V, self.ridge)
        inlier = np.where(O & (np.abs(E) <= d), 1.0, 0.0)
        slope = np.clip(E, -d, d) @ V - self.ridge * B
        newton = np.add(B, _solved(_normal(inlier, V, self.ridge), slope))
        better = self._objective(R, O, newton) < self._objective(R, O, descent)
        return np.where(better[:, None], newton, descent)

    def _objective(self, R: Array, O: Mask, B: Array) -> Array:
        misfit = huber((R - B @ self.loadings.T) * O, self.threshold).sum(axis=1)
        value: Array = misfit + 0.5 * (B**2 @ self.ridge)
        return value


@dataclass(frozen=True)
class _RejectingFit:
    """Least squares, each node over its noise, in which readings far off have no part.

    A reading weighs 1/(1 + exp((e² − 4²)/2)), e its residual over the noise: the odds of noise
    against something flat. That has local minima, so the noise is annealed: from half the size of
    the field, where only what no field would do is left out, down to what it is.
    """

    loadings: Array  # nodes × r
    ridge: Array  # r
    noise: Array  # nodes

    def coefficients(self, R: Array, O: Mask) -> Array:
        """B, slots × r."""
        B: Array = np.zeros((len(R), len(self.ridge)))
        variance = (self.loadings**2 / self.ridge).sum(axis=1)
        heat = 0.5 * float(np.sqrt((variance / self.noise**2).max()))
        while heat > 1.0:
            B = self._step(R, O, B, heat)
            heat *= _ANNEAL
        return _settled(self._step, R, O, B)

    def _step(self, R: Array, O: Mask, B: Array, heat: float = 1.0) -> Array:
        noise = self.noise * heat
        e = np.minimum(np.abs(R - B @ self.loadings.T) / noise, 30.0)
        weight = np.where(O, 1.0 / (1.0 + np.exp(0.5 * (e**2 - _REJECT**2))), 0.0)
        return _weighted_fit(R, weight / noise**2, self.loadings, self.ridge)


def _weighted_fit(R: Array, weight: Array, V: Array, ridge: Array) -> Array:
    return _solved(_normal(weight, V, ridge), (weight * R) @ V)


def _normal(weight: Array, V: Array, ridge: Array) -> Array:
    """Vᵀ diag(w_t) V + ridge, one r × r matrix a slot, by one matrix product."""
    rank = len(ridge)
    outer = (V[:, :, None] * V[:, None, :]).reshape(len(V), rank * rank)
    return (weight @ outer).reshape(-1, rank, rank) + np.diag(ridge)


def _solved(matrices: Array, sides: Array) -> Array:
    solution: Array = np.linalg.solve(matrices, sides[:, :, None])[:, :, 0]
    return solution


def _settled(step: Callable[[Array, Mask, Array], Array], R: Array, O: Mask, B: Array) -> Array:
    """Repeat a step, for each slot until its coefficients stand still."""
    B = B.copy()
    moving = np.flatnonzero(O.any(axis=1)) if B.shape[1] else np.zeros(0, np.intp)
    for _ in range(_STEPS):
        if not moving.size:
            break
        old = B[moving]
        new = step(R[moving], O[moving], old)
        B[moving] = new
        moved = np.abs(new - old).max(axis=1)
        moving = moving[moved > _SETTLED * (np.abs(new).max(axis=1) + 1e-300)]
    return B


def _spectrum(out: Decomposition, *, about_mean: bool) -> tuple[Array, Array, Array]:
    """Mean over the slots (0 unless asked for), σ and Vᵀ of the field, scaled, from its factors.

    O((T + N)·r²). The sign makes each component's largest entry positive.
    """
    left, right = (f.astype(np.float64) for f in (out.factors.left, out.factors.right))
    middle = left.mean(axis=0) if about_mean else np.zeros(left.shape[1])
    K = np.linalg.qr(left - middle, mode="r")
    P, H = np.linalg.qr(right)
    _, s, Vt = np.linalg.svd(K @ H.T, full_matrices=False)
    kept = s[: out.rank] > max(1e-12 * s.max(initial=0.0), 1e-100)
    s, components = s[: out.rank][kept], (Vt @ P.T)[: out.rank][kept]
    if components.size:
        largest = np.abs(components).argmax(axis=1)[:, None]
        components = components * np.sign(np.take_along_axis(components, largest, axis=1))
    return right @ middle, s, components


def _noise(X: Array, out: Decomposition, *, debiased: bool) -> Array:
    """1.4826·median|X − L| of each node; a node without readings gets the usual one in its scale.

    Free of shrinkage, a fit of rank r uses up r(T + N − r) of the readings; with shrinkage far
    fewer, so then nothing is corrected.
    """
    slots, nodes = X.shape
    scale = out.scaling.scale
    E = np.abs((X - out.estimate).astype(np.float64) / scale)
    seen = ~np.isnan(E)
    level = np.full(nodes, np.nan)
    for n in np.flatnonzero(seen.any(axis=0)):
        level[n] = np.median(E[seen[:, n], n])
    level = np.where(np.isnan(level), np.nanmedian(level), level)
    used = out.rank * (slots + nodes - out.rank) / int(seen.sum()) if debiased else 0.0
    noise: Array = _NORMAL * level * scale / np.sqrt(max(1.0 - used, 0.25))
    return noise


def _some_of(O: Mask, rng: np.random.Generator) -> Mask:
    """A random tenth of the observed entries, at least one."""
    entries = np.flatnonzero(O)
    if not entries.size:
        msg = "no entry of X is observed: nothing to score"
        raise ValueError(msg)
    hidden = np.zeros(O.shape, bool)
    chosen = rng.permutation(entries)[: max(1, round(_HIDDEN * entries.size))]
    hidden.flat[chosen] = True
    return hidden


def _trimmed_mean(errors: Array) -> float:
    kept = max(1, round((1 - _TRIMMED) * errors.size))
    return float(np.sort(errors)[:kept].mean())
