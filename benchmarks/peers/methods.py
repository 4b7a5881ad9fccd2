"""How each peer is called: readings in, (estimate, anomalies or None) out.

Readings are slots × nodes with NaN where nothing arrived. A function uses its peer's public API and
nothing else; with no settings given it is the peer's default. Weights are given free of size, so
that a setting found at one size can be tried at another: those of a nuclear norm beside a squared
error in units of √T + √N (the norm of a noise matrix), those of an ℓ₁ norm beside a nuclear norm
alone in units of 1/√max(T, N) (Candès et al. 2011), thresholds on entries in the data's units.
Peers are imported inside the functions: each lives in its own environment and this file is read in
all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Answer = tuple[Array, Array | None]


def run(function: Callable[..., Answer], readings: Array, settings: dict[str, Any]) -> Answer:
    """Call a method, with the nodes' medians taken out before and put back after if `center`.

    `standard` divides by the spread of what is left as well, one number for all nodes, so that
    weights in the data's units mean the same on every data set.
    """
    settings = dict(settings)
    standard = settings.pop("standard", False)
    if not settings.pop("center", standard):
        return function(readings.copy(), **settings)
    level = np.nanmedian(readings, axis=0)
    spread = float(np.nanstd(readings - level)) if standard else 1.0
    estimate, sparse = function((readings - level) / spread, **settings)
    return spread * estimate + level, None if sparse is None else spread * sparse


def _long(readings: Array) -> float:
    return float(np.sqrt(max(readings.shape)))


def _noise(readings: Array) -> float:
    return float(np.sqrt(readings.shape).sum())


def _given(**settings: Any) -> dict[str, Any]:
    """Keep what was given: the peer's own default holds for the rest."""
    return {name: value for name, value in settings.items() if value is not None}


def _filled(readings: Array, how: str) -> Array:
    """Fill lost readings for peers that know no mask: by the node's median or along a line."""
    out = readings.copy()
    slot = np.arange(len(readings))
    for node, values in enumerate(readings.T):
        seen = ~np.isnan(values)
        if how == "median":
            out[~seen, node] = np.median(values[seen])
        else:
            out[:, node] = np.interp(slot, slot[seen], values[seen])
    return out


def fieldmend_ls(readings: Array, *, debias: bool = False) -> Answer:
    """Run fieldmend's convex LS-Decomposition."""
    import fieldmend as fm

    out = fm.decompose(readings, debias=True) if debias else fm.decompose(readings)
    return out.estimate, out.sparse


def qolmat_pcp(
    readings: Array,
    *,
    lam: float | None = None,
    mu: float | None = None,
    max_iterations: int | None = None,
    tolerance: float | None = None,
) -> Answer:
    """Run qolmat RpcaPcp: principal component pursuit with a mask, by ADMM; no noise term."""
    from qolmat.imputations.rpca.rpca_pcp import RpcaPcp

    lam = None if lam is None else lam / _long(readings)
    options = _given(lam=lam, mu=mu, max_iterations=max_iterations, tolerance=tolerance)
    model = RpcaPcp(random_state=0, verbose=False, **options)
    low_rank, sparse = model.decompose(readings, ~np.isnan(readings))
    return low_rank, sparse


def qolmat_noisy(
    readings: Array,
    *,
    rank: int | None = None,
    tau: float | None = None,
    lam: float | None = None,
    mu: float | None = None,
    tolerance: float | None = None,
) -> Answer:
    """Run qolmat RpcaNoisy: factored low rank + sparse + noise; `lam` in the data's units."""
    from qolmat.imputations.rpca.rpca_noisy import RpcaNoisy

    tau = None if tau is None else tau * _noise(readings)
    options = _given(rank=rank, tau=tau, lam=lam, mu=mu, tolerance=tolerance)
    model = RpcaNoisy(random_state=0, verbose=False, **options)
    low_rank, sparse = model.decompose(readings, ~np.isnan(readings))
    return low_rank, sparse


def qolmat_soft(
    readings: Array,
    *,
    rank: int | None = None,
    tau: float | None = None,
    max_iterations: int | None = None,
) -> Answer:
    """Run qolmat SoftImpute. Its second output is the residual, not a sparse part: left out."""
    from qolmat.imputations.softimpute import SoftImpute

    tau = None if tau is None else tau * _noise(readings)
    options = _given(rank=rank, tau=tau, max_iterations=max_iterations)
    model = SoftImpute(random_state=0, verbose=False, **options)
    low_rank, _ = model.decompose(readings, ~np.isnan(readings))
    return low_rank, None


def tensorly_rpca(
    readings: Array,
    *,
    lam: float | None = None,
    n_iter_max: int | None = None,
    learning_rate: float | None = None,
) -> Answer:
    """Run tensorly robust_pca with its mask. A matrix has two unfoldings: ‖·‖* counts twice."""
    from tensorly.decomposition import robust_pca

    reg_sparse = None if lam is None else 2 * lam / _long(readings)
    options = _given(reg_E=reg_sparse, n_iter_max=n_iter_max, learning_rate=learning_rate)
    seen = ~np.isnan(readings)
    low_rank, sparse = robust_pca(np.nan_to_num(readings), mask=seen, verbose=0, **options)
    return low_rank, sparse


def pyproximal_fista(
    readings: Array,
    *,
    sigma: float = 1.0,
    mu: float | None = None,
    threshold: float = 1.0,
    niter: int = 100,
    tol: float | None = None,
) -> Answer:
    """Solve the LS problem itself with pyproximal's FISTA: f = ½‖P(L + S − R)‖², g = μ‖L‖* + d‖S‖₁.

    The toolbox has no default weights. Unless `mu` and `threshold` (d) are given they are the
    textbook's, from the noise: μ = √(2·max(T, N))·σ, d = μ/√max(T, N). S lives on the observed
    entries only. The gradient of the joint form has Lipschitz constant 2.
    """
    import pylops
    import pyproximal
    from pyproximal.optimization.primal import ProximalGradient

    if mu is None:
        weight, threshold = np.sqrt(2) * _long(readings) * sigma, np.sqrt(2) * sigma
    else:
        weight = mu * _noise(readings)
    seen = np.flatnonzero(~np.isnan(readings))
    model = pylops.HStack([pylops.Restriction(readings.size, seen), pylops.Identity(seen.size)])
    penalty = pyproximal.VStack(
        [pyproximal.Nuclear(readings.shape, weight), pyproximal.L1(threshold)],
        nn=[readings.size, seen.size],
    )
    found = ProximalGradient(
        pyproximal.L2(Op=model, b=readings.ravel()[seen]),
        penalty,
        x0=np.zeros(readings.size + seen.size),
        tau=0.5,
        niter=niter,
        acceleration="fista",
        tol=tol,
    )
    sparse = np.zeros(readings.size)
    sparse[seen] = found[readings.size :]
    return found[: readings.size].reshape(readings.shape), sparse.reshape(readings.shape)


def fancyimpute_soft(
    readings: Array,
    *,
    shrinkage: float | None = None,
    max_rank: int | None = None,
    convergence_threshold: float | None = None,
    max_iters: int | None = None,
    biscale: bool = False,
) -> Answer:
    """Run fancyimpute SoftImpute. It hands observed readings back as they came."""
    from fancyimpute import BiScaler, SoftImpute

    np.random.seed(0)  # noqa: NPY002 - it draws from the global generator
    warnings.filterwarnings("ignore", category=FutureWarning)
    shrinkage = None if shrinkage is None else shrinkage * _noise(readings)
    options = _given(
        shrinkage_value=shrinkage,
        max_rank=max_rank,
        convergence_threshold=convergence_threshold,
        max_iters=max_iters,
        normalizer=BiScaler(verbose=False) if biscale else None,
    )
    return SoftImpute(verbose=False, **options).fit_transform(readings), None


def _imputegap(name: str, readings: Array, params: dict[str, Any]) -> Answer:
    from imputegap.recovery.imputation import Imputation

    imputer = getattr(Imputation.MatrixCompletion, name)(readings)
    imputer.verbose = imputer.logs = False
    imputer.impute(params=params or None)
    return imputer.recov_data, None


def imputegap_cdrec(readings: Array, **params: Any) -> Answer:
    """Run ImputeGAP CDRec. It hands observed readings back as they came."""
    return _imputegap("CDRec", readings, params)


def imputegap_soft(readings: Array, **params: Any) -> Answer:
    """Run ImputeGAP SoftImpute."""
    return _imputegap("SoftImpute", readings, params)


def imputegap_rosl(readings: Array, **params: Any) -> Answer:
    """Run ImputeGAP ROSL, robust orthonormal subspace learning."""
    return _imputegap("ROSL", readings, params)


def cmfrec_cmf(readings: Array, **options: Any) -> Answer:
    """Run cmfrec CMF on the dense matrix and take its prediction at every entry."""
    from cmfrec import CMF

    model = CMF(**options).fit(readings)
    slots, nodes = (index.ravel() for index in np.indices(readings.shape))
    return model.predict(slots, nodes).reshape(readings.shape).astype(float), None


def hyperspy_rpca(readings: Array, *, rank: int, fill: str = "median", **options: Any) -> Answer:
    """Run hyperspy's RPCA (GoDec). It asks for a rank and knows no mask.

    Its first output still holds the dense residual; the model it means is the SVD it returns.
    """
    from hyperspy.learn import rpca_godec

    filled = _filled(readings, fill).T
    _, sparse, U, s, V = rpca_godec(filled, rank=rank, random_state=0, **options)
    return ((U[:, :rank] * s[:rank]) @ V[:, :rank].T).T, sparse.T


def hyperspy_orpca(readings: Array, *, rank: int, fill: str = "median", **options: Any) -> Answer:
    """Run hyperspy's online RPCA. It asks for a rank and knows no mask."""
    from hyperspy.learn import orpca

    filled = _filled(readings, fill).T
    low_rank, sparse, *_ = orpca(filled, rank=rank, store_error=True, random_state=0, **options)
    return low_rank.T, sparse.T


def sklearn_iterative(readings: Array, *, neighbours: int | None = None, **options: Any) -> Answer:
    """Run scikit-learn IterativeImputer. It hands observed readings back as they came."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    warnings.filterwarnings("ignore", message=".*Early stopping criterion not reached.*")
    model = IterativeImputer(n_nearest_features=neighbours, random_state=0, **options)
    return model.fit_transform(readings), None


def sklearn_knn(readings: Array, *, nodes: bool = False, **options: Any) -> Answer:
    """Run scikit-learn KNNImputer on slots that look alike, or on `nodes` that do.

    It hands observed readings back as they came. Slots that nobody reported are zero if `nodes`:
    centre beforehand.
    """
    from sklearn.impute import KNNImputer

    model = KNNImputer(keep_empty_features=nodes, **options)
    return (model.fit_transform(readings.T).T if nodes else model.fit_transform(readings)), None


def statsmodels_dynamic(readings: Array, *, factors: int = 1, **options: Any) -> Answer:
    """Run statsmodels DynamicFactorMQ: common factors, every node's own part an AR(1).

    By expectation maximisation, its own defaults; lost readings are what the smoother says. A
    frame, not an array: of that it takes means that are NaN where one reading is, and then
    everything for lost.
    """
    import pandas as pd
    from statsmodels.tsa.statespace.dynamic_factor_mq import DynamicFactorMQ

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rounds that were not enough
        model = DynamicFactorMQ(pd.DataFrame(readings), factors=factors, idiosyncratic_ar1=True)
        found = model.fit(disp=False, **options)
        smoothed = found.smoother_results.smoothed_forecasts.T
    level, spread = np.nanmean(readings, axis=0), np.nanstd(readings, axis=0, ddof=1)
    return np.where(np.isnan(readings), level + spread * smoothed, readings), None


def pypots_saits(
    readings: Array, *, steps: int = 48, stride: int = 48, epochs: int = 5, **options: Any
) -> Answer:
    """Run PyPOTS SAITS with the README's model: 2 layers, 256 wide, 4 heads, dropout .1, 5 epochs.

    It wants samples of equal length, standardised per node: stretches of `steps` slots (the
    README's data have 48), begun every `stride`; the last ends with the record. Where stretches
    overlap, their means count.
    """
    from pypots.imputation import SAITS
    from pypots.utils.random import set_random_seed

    set_random_seed(0)
    slots, nodes = readings.shape
    steps = min(steps, slots)
    first = np.unique([*range(0, slots - steps, stride), slots - steps])
    window = first[:, None] + np.arange(steps)
    level, spread = np.nanmean(readings, axis=0), np.nanstd(readings, axis=0)
    spread[spread == 0] = 1.0
    samples = {"X": ((readings - level) / spread)[window]}
    shape = {"n_layers": 2, "d_model": 256, "n_heads": 4, "d_k": 64, "d_v": 64, "d_ffn": 128}
    shape |= {"dropout": 0.1, "device": "cpu", "verbose": False} | options
    model = SAITS(n_steps=steps, n_features=nodes, epochs=epochs, **shape)
    model.fit(samples)
    total, count = np.zeros(readings.shape), np.zeros((slots, 1))
    for rows, answer in zip(window, model.impute(samples), strict=True):
        total[rows] += answer
        count[rows] += 1
    return total / count * spread + level, None
