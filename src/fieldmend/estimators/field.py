"""`FieldRecovery`: the automatic recovery for scikit-learn."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fieldmend.core.prox import Array, Mask
from fieldmend.decomposition import decompose
from fieldmend.estimators.nodespace import NodeSpace, noise_of, some_of, spectrum
from fieldmend.estimators.slots import RejectingFit
from fieldmend.field.fieldmodel import VALUE
from fieldmend.field.fitted import Applied, digest

_QUIET = 1e-6  # the least noise, over the node's scale
_FOLDS = 5  # hold-outs that the intervals of slots alone are calibrated on
_FEW = 60  # hidden readings below which nothing is said of the order of slots


class _Bounded(NamedTuple):
    estimate: Array
    lower: Array
    upper: Array


class FieldRecovery(NodeSpace):
    """The automatic recovery, for scikit-learn: nothing to set.

    `fit` recovers the training slots with the field model (``method="auto"`` of
    :func:`fieldmend.decompose`): `estimate_`, with `lower_` and `upper_`, uses each node's own past
    and future as well as its companions. `transform` applies the same model (`model_`, a
    :class:`fieldmend.FieldModel`) to other slots that follow each other; the training record itself
    gets `estimate_`, so `fit_transform` does. With ``ordered=False`` each slot stands alone: it
    is fitted against the learnt nodes, and slots can come in any order, one at a time.

    Parameters
    ----------
    level
        Of the intervals.
    ordered
        The rows given to `transform` are consecutive slots, in order of time.
    random_state
        An integer is the `seed` of :func:`fieldmend.decompose`.

    Attributes
    ----------
    estimate_, lower_, upper_
        The recovered training slots, with calibrated intervals.
    components_
        Loadings of the common field, rank × nodes: orthonormal rows in scaled units.
    singular_values_
        Of the common field in scaled units, about its mean.
    center_, scale_
        Per node: field = `center_` + `scale_`·(V b). A slot without readings gets `center_`.
    anomalies_
        Distance of the training readings that were judged false from the field; zero elsewhere.
    noise_
        Usual distance of a node's readings from the common field, in the units of X.
    ordered_
        Whether `transform` uses the order of slots: not if it was told otherwise, nor after a
        `fit` to so little that nothing can be said of it (fewer than 60 hidden readings).
    model_
        The fitted :class:`fieldmend.FieldModel`: to save, to apply, to follow live readings.
    choice_
        What the method found and chose, in words.
    rank_, gap_
        Number of common factors; NaN: the model is not convex and has no certificate.
    decomposition_
        The whole :class:`fieldmend.Decomposition` of the training slots.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=300, nodes=20, seed=1)
    >>> model = fm.FieldRecovery().fit(net.readings[:200])
    >>> lower, upper = model.predict_interval(net.readings[200:])
    >>> inside = (lower <= net.truth[200:]) & (net.truth[200:] <= upper)
    >>> bool(inside[net.lost[200:]].mean() > 0.8)
    True
    """

    def __init__(self, *, level: float = 0.9, ordered: bool = True, random_state: Any = 0) -> None:
        self.level = level
        self.ordered = ordered
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Recover the training slots and learn the space of the nodes.

        Parameters
        ----------
        X
            Readings, slots × nodes in order of time, NaN = not observed.
        y
            Not used; there for pipelines.

        Returns
        -------
        self

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> fm.FieldRecovery().fit(net.readings).rank_ > 0
        True
        """
        X = self._validated(X, reset=True)
        seed = self._seed()
        # What lasts, lasts in slots that follow each other.
        ordered = bool(self.ordered)
        out = decompose(X, method="auto", level=self.level, seed=seed, faults=ordered)
        self.decomposition_ = out
        self.estimate_, self.lower_, self.upper_ = out.estimate, out.lower, out.upper
        self.anomalies_, self.gap_, self.choice_ = out.sparse, out.gap, out.choice
        self.noise_ = noise_of(X, out.low_rank, out, debiased=False)
        mean, self.singular_values_, self.components_ = spectrum(out, about_mean=True)
        self.rank_ = len(self.components_)
        self.scale_ = out.scaling.scale
        self.center_ = out.scaling.center + out.scaling.scale * mean
        quiet = np.maximum(self.noise_ / self.scale_, _QUIET)
        self._slot_fit = RejectingFit(self.components_.T, len(X) / self.singular_values_**2, quiet)
        assert out.model is not None
        assert out.holdout is not None
        self.model_ = out.model
        self.ordered_ = bool(self.ordered) and len(out.holdout.truth) >= _FEW
        if not self.ordered_:
            self._reach = self._calibrated(X, (out.sparse == 0) & ~np.isnan(X), seed)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Recover the training slots: `estimate_`, where their order is used.

        Parameters
        ----------
        X, y
            As for `fit`.
        **fit_params
            Not used; there for pipelines.

        Returns
        -------
        Slots × nodes, in the units and the precision of X.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> fm.FieldRecovery().fit_transform(net.readings).shape
        (60, 8)
        """
        return super().fit_transform(X, y, **fit_params)

    def predict_interval(self, X: Any) -> tuple[Array, Array]:
        """The interval of the reading at every entry of these slots, at `level`.

        Calibrated on training readings that were hidden: in runs like the real gaps, or where slots
        stand alone, at random.

        Parameters
        ----------
        X
            Readings, slots × nodes, NaN = not observed, nodes as in `fit`.

        Returns
        -------
        lower, upper
            Slots × nodes.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> model = fm.FieldRecovery().fit(net.readings)
        >>> lower, upper = model.predict_interval(net.readings)
        >>> bool((lower <= upper).all())
        True
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        seen = ~np.isnan(X)
        if self.ordered_:
            out = self._applied(X, seen)
            return out.lower.copy(), out.upper.copy()
        field = self._field(X, seen)
        half = self._reach * self._doubt(seen)
        return (field - half).astype(X.dtype), (field + half).astype(X.dtype)

    def _field(self, X: Array, O: Mask) -> Array:
        """The field at every entry, from the entries O of X."""
        return self._applied(X, O).estimate.copy() if self.ordered_ else super()._field(X, O)

    def _applied(self, X: Array, O: Mask) -> _Bounded:
        """The model on consecutive slots; the record that it was fitted on is known already."""
        if self.model_[VALUE].fitted_on.sha256 == digest(X, O):
            known: tuple[Any, Any, Any] = (self.estimate_, self.lower_, self.upper_)
            return _Bounded(*known)
        out: Applied = self.model_.apply(X, O)
        return _Bounded(out.estimate, out.lower, out.upper)

    def _doubt(self, seen: Mask) -> Array:
        """Standard deviation of a reading about the fit of its slot, from what the slot has."""
        fit = self._slot_fit
        assert isinstance(fit, RejectingFit)
        return fit.deviation(seen) * self.scale_

    def _calibrated(self, X: Array, used: Mask, seed: int) -> float:
        """The quantile of |error|/deviation at hidden readings; the reach of the interval."""
        if not used.any():
            return 1.0
        found = []
        for fold in range(_FOLDS):
            hidden = some_of(used, np.random.default_rng([seed, fold]))
            seen = ~np.isnan(X) & ~hidden
            with np.errstate(over="ignore", invalid="ignore"):
                z = np.abs(X - super()._field(X, seen)) / self._doubt(seen)
            found.append(z[hidden])
        every = np.concatenate(found)
        rank = min(1.0, self.level * (1 + 1 / every.size))
        return float(np.quantile(every[np.isfinite(every)], rank)) if every.size else 1.0
