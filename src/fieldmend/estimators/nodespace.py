"""What the estimators share: nodes learnt once, new slots fitted to them one by one."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldmend.core.engine import blocks
from fieldmend.core.problem import Scaling
from fieldmend.core.prox import Array, Mask
from fieldmend.decomposition import Decomposition

_HIDDEN = 0.1  # share of the readings that score hides
_TRIMMED = 0.1  # share of the hidden readings, the worst, that it forgives: some are false
_NORMAL = 1.4826  # median absolute deviation → standard deviation, for normal data


class SlotFit(Protocol):
    """How a slot is fitted to the space of the nodes."""

    def coefficients(self, R: Array, O: Mask) -> Array:
        """B, slots × r, from scaled readings seen on O."""


class NodeSpace(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base: `fit` sets center_, scale_, components_ and _slot_fit; the rest follows."""

    random_state: Any
    center_: Array
    scale_: Array
    components_: Array
    _slot_fit: SlotFit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any) -> Any:
        """The field at every entry of these slots, from their observed readings alone.

        Parameters
        ----------
        X
            Readings, slots × nodes, NaN or masked = not observed, nodes as in `fit`.

        Returns
        -------
        Slots × nodes, in the units and the precision of X.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> model = fm.LSDecomposition().fit(net.readings[:40])
        >>> model.transform(net.readings[40:]).shape
        (20, 8)
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

        Returns
        -------
        float

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=200, nodes=20, seed=1)
        >>> fm.LSDecomposition(debias=True).fit(net.readings).score(net.readings) > 0.5
        True
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        O = ~np.isnan(X)
        hidden = some_of(O, np.random.default_rng(self._seed()))
        field = self._field(X, O & ~hidden)
        usual = Scaling.of(X, O, center=True, scale=True)
        missed = _trimmed_mean(np.abs((X - field) / usual.scale)[hidden])
        spread = _trimmed_mean(np.abs((X - usual.center) / usual.scale)[hidden])
        if spread == 0:
            return float(missed == 0)
        return 1.0 - missed / spread

    def _validated(self, X: Any, *, reset: bool) -> Array:
        if isinstance(X, np.ma.MaskedArray):  # scikit-learn would drop the mask
            X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
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

    def _field(self, X: Array, O: Mask) -> Array:
        """The field at every entry, from the entries O of X, block by block."""
        scaling = Scaling(self.center_, self.scale_)
        out = np.empty_like(X)
        for block in blocks(*X.shape):
            R = scaling.apply(X[block], O[block]).astype(np.float64, copy=False)
            B = self._slot_fit.coefficients(R, O[block])
            out[block] = (B @ self.components_) * self.scale_ + self.center_
        return out


def spectrum(out: Decomposition, *, about_mean: bool) -> tuple[Array, Array, Array]:
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


def noise_of(X: Array, field: Array, out: Decomposition, *, debiased: bool) -> Array:
    """1.4826·median|X − field| of each node; one without readings gets the usual in its scale.

    Free of shrinkage, a fit of rank r uses up r(T + N − r) of the readings; with shrinkage far
    fewer, so then nothing is corrected.
    """
    slots, nodes = X.shape
    scale = out.scaling.scale
    E = np.abs((X - field).astype(np.float64) / scale)
    seen = ~np.isnan(E)
    level = np.full(nodes, np.nan)
    for n in np.flatnonzero(seen.any(axis=0)):
        level[n] = np.median(E[seen[:, n], n])
    level = np.where(np.isnan(level), np.nanmedian(level), level)
    used = out.rank * (slots + nodes - out.rank) / int(seen.sum()) if debiased else 0.0
    noise: Array = _NORMAL * level * scale / np.sqrt(max(1.0 - used, 0.25))
    return noise


def some_of(O: Mask, rng: np.random.Generator) -> Mask:
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
