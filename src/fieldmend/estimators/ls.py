"""`LSDecomposition`: the paper's method for scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from fieldmend.decomposition import decompose
from fieldmend.estimators.nodespace import NodeSpace, noise_of, spectrum
from fieldmend.estimators.slots import HuberFit, RejectingFit

_QUIET = 1e-6  # the least noise, over the node's scale


class LSDecomposition(NodeSpace):
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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decompose the readings and keep the space of the nodes.

        Parameters
        ----------
        X
            Readings, slots × nodes, NaN = not observed.
        y
            Not used; there for pipelines.

        Returns
        -------
        self

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> fm.LSDecomposition().fit(net.readings).rank_ > 0
        True
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
        self.noise_ = noise_of(X, out.estimate, out, debiased=self.debias)
        mean, self.singular_values_, self.components_ = spectrum(out, about_mean=self.debias)
        self.rank_ = len(self.components_)
        self.scale_ = out.scaling.scale
        self.center_ = out.scaling.center + out.scaling.scale * mean
        self._slot_fit = self._fit_of_a_slot(len(X))
        return self

    def _fit_of_a_slot(self, slots: int) -> HuberFit | RejectingFit:
        """The fit of a slot to the learnt space, by the weights of the class's docstring."""
        V, s = self.components_.T, self.singular_values_
        if not self.debias:
            return HuberFit(V, self.mu_ / s, self.lam_ * self.mu_)
        return RejectingFit(V, slots / s**2, np.maximum(self.noise_ / self.scale_, _QUIET))
