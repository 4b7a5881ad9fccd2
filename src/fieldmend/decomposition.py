"""``decompose``: readings in, field and anomalies out, with a certificate. Arrays only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np

from fieldmend.automatic import Found
from fieldmend.core.engine import blocks
from fieldmend.core.lazy import LazyRows, Stayed, stays
from fieldmend.core.loop import Iteration, Limits, Status
from fieldmend.core.noise import Noise, estimate_noise, of_all_slots
from fieldmend.core.problem import LowRank, Scaling, spectral_edge
from fieldmend.core.prox import Array, Mask
from fieldmend.core.readings import checked
from fieldmend.core.room import keep_freed
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.holdout import Holdout
from fieldmend.methods import Solved, Task, check_options, debiased


class ConvergenceWarning(UserWarning):
    """A limit was reached before the tolerance; the message says what to try.

    Examples
    --------
    >>> import warnings
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     out = fm.decompose(net.readings, max_iter=1)
    >>> said[0].category.__name__, out.status
    ('ConvergenceWarning', <Status.ITERATION_LIMIT: 'iteration limit'>)
    """


@dataclass(frozen=True, repr=False)
class Decomposition:
    """The recovered field, the anomalies, and the proof of how good they are.

    Attributes
    ----------
    estimate
        The field at every entry: ``low_rank``; for ``auto`` plus each node's own departure.
    low_rank
        The matrix L.
    sparse
        The anomalies S: exactly zero where nothing was observed.
    rank
        Of ``low_rank``.
    gap
        The certified relative duality gap: the optimal objective is at least
        ``objective·(1 − gap)``. NaN for ``srmf``, ``oracle`` and ``auto``, which have none.
    objective, lam, mu
        Of the scaled problem.
    iterations, status, trace
        How many steps, how they ended, and an :class:`Iteration` for each.
    method
        Its name.
    scaling, factors
        What was removed from each node and divided by; L as the product of two thin matrices.
    lower, upper
        Of ``auto``, else None: bounds of the reading that would have been made at each place.
    holdout
        Of ``auto``: hidden readings with their estimates and bounds.
    choice
        Of ``auto``: what was chosen and why, in a sentence.
    model
        Of ``auto``: the fitted :class:`FieldModel`, for other slots of the same nodes.

    Examples
    --------
    >>> import fieldmend as fm
    >>> out = fm.decompose(fm.simulate.network(slots=60, nodes=8, seed=1).readings)
    >>> out.method, out.estimate.shape, out.gap < 1e-6
    ('ls', (60, 8), True)
    """

    estimate: Array
    low_rank: Array
    sparse: Array
    rank: int
    gap: float
    objective: float
    iterations: int
    status: Status
    trace: tuple[Iteration, ...]
    method: str
    lam: float
    mu: float
    scaling: Scaling
    factors: LowRank
    lower: Array | None = None
    upper: Array | None = None
    holdout: Holdout | None = None
    choice: str | None = None
    model: FieldModel | None = None

    @property
    def advice(self) -> str:
        """What the status means and what to try next."""
        return self.status.advice

    def __repr__(self) -> str:
        slots, nodes = self.estimate.shape
        if self.choice is not None:
            flagged = np.count_nonzero(self.sparse)
            size = f"{slots} slots × {nodes} nodes"
            return f"<Decomposition {self.method}: {size}, {flagged} anomalies, {self.choice}>"
        return (
            f"<Decomposition {self.method}: {slots} slots × {nodes} nodes, rank {self.rank}, "
            f"{_count(self.sparse)} anomalies, {self.status} in {self.iterations} "
            f"iterations, gap {self.gap:.1e}>"
        )


def decompose(  # noqa: PLR0913  (the options are the public contract)
    X: Any,
    observed: Any = None,
    *,
    method: str = "ls",
    lam: float | None = None,
    mu: float | None = None,
    delta: float | None = None,
    center: bool = True,
    scale: bool = True,
    debias: bool = False,
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    callback: Callable[[Iteration], object] | None = None,
    warm_start: Decomposition | None = None,
    client: Any = None,
    **options: Any,
) -> Decomposition:
    """Split readings into a low-rank field, sparse anomalies and noise.

    Minimises ``μ‖L‖_* + μλ‖S‖₁ + ½‖P_O(R − L − S)‖_F²`` with S = 0 off O, the paper's
    LS-Decomposition. R is X centred and scaled per node by medians, undone on the way out; with
    ``center=False, scale=False`` and ``lam``, ``mu`` given it is the paper's problem to the letter.
    With everything observed it is LS-Separation.

    Parameters
    ----------
    X
        Readings, slots × nodes, float32 or float64 (the same kind comes out). NaN = not observed.
        A `numpy.memmap`, a zarr or a Dask array stays where it is (all methods but ``auto``):
        it is read in slices, and ``estimate`` and ``sparse`` are made of rows as they are taken.
    observed
        Mask of what was observed; entries that are NaN are unobserved in any case.
    method
        ``auto`` (the field model: common factors and each node's own wandering, both smooth in
        time, everything estimated, with intervals; ``level=0.9``; ``period=``, in slots, one or
        several: cycles to try, used if hidden readings come out better; ``companions=``, a list
        of other conditions of the same slots and nodes, asked where they were heard if hidden
        readings come out better, or if ``joint=True``; lasting faults are looked for first and
        left out, unless ``faults=False``, or not asked for above 4·10⁶ entries; of readings that
        are hardly ever negative and have a long upper tail (discharge) the square or cube root is
        modelled if they look false as they are and hidden ones come out better so; ``factors`` are
        then of the roots; ``power=1`` keeps the readings as they are; ``doubting=False`` takes
        every reading for true; networks of over 600 nodes
        with ``places=``, nodes × coordinates, or of 2,000 without, are recovered region by region,
        and have neither ``model`` nor ``factors``),
        ``ls`` (fast), ``apg`` (the same problem by the paper's Table III), ``mc`` (matrix
        completion: no anomalies), ``srmf`` (smooth matrix completion; ``factored=True, rank=``
        for Kong et al.'s form), ``oracle`` (``support=`` with ``space=(U, V)`` or ``rank=``; in
        the data's own units).
    lam, mu
        Weights of the scaled problem. Defaults, from observed entries only: λ = 2/(√p(√T + √N))
        (``apg``: the paper's 1/√max(T, N); ``srmf``: 0.01), μ = σ√p(√T + √N) with σ an estimate
        of the noise.
    delta
        Instead of ``mu``: the bound ‖P_O(R − L − S)‖_F ≤ δ, in the units of X.
    center, scale
        Remove each node's median, divide by its median absolute deviation.
    debias
        Refit L without shrinkage on the support found, with the rank that predicts hidden readings
        best (``ls`` and ``apg``); ``gap`` stays that of the convex solve.
    tol, max_iter, max_seconds
        Stop at this certified relative gap, or at a limit, with a warning.
    seed
        Of everything random; the same seed gives the same result.
    callback
        Called with every :class:`Iteration`; for ``auto``, which has no objective, with one after
        each part of its work.
    warm_start
        An earlier result on readings of the same shape.
    client
        A client of Dask, or the address of its scheduler (extra ``dask``): a Dask array stays with
        its workers, which must be able to hold it, and kernels travel (``ls`` and ``mc``).
    **options
        Those of one method, named above; what a method has no use for is refused by name.

    Returns
    -------
    Decomposition

    Raises
    ------
    ValueError
        Where readings or options cannot be used; an option that means nothing to the method is
        refused, not ignored.
    TypeError
        Where the method has no option of that name.

    Notes
    -----
    ``ls``: O(T·N·r) an iteration and about three times the memory of X, results included.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=200, nodes=20, seed=1)
    >>> out = fm.decompose(net.readings)
    >>> out.status, out.gap < 1e-6
    (<Status.CONVERGED: 'converged'>, True)
    >>> bool((out.sparse[~net.observed] == 0).all())
    True
    """
    given: dict[str, object] = {
        "lam": lam,
        "mu": mu,
        "delta": delta,
        "center": center,
        "scale": scale,
    }
    given |= {"debias": debias, "tol": tol, "max_iter": max_iter, "max_seconds": max_seconds}
    given |= {"warm_start": warm_start, "client": client}
    row = check_options(method, {k: v for k, v in given.items() if _set(k, v)}, options)
    numbers = {"lam": lam, "mu": mu, "delta": delta, "tol": tol}
    _check_numbers(**numbers, max_iter=max_iter, max_seconds=max_seconds)
    keep_freed()
    stayed: Any = None
    if client is not None:
        stayed = _with_workers(X, observed, client, debias=debias)
    elif stays(X) and row.solve is not None:
        stayed = Stayed.of(X, observed)
    X, O = checked(X, observed) if stayed is None else (stayed, stayed.observed)
    if row.recover is not None:
        return _recovered(row.recover(X, O, seed=seed, callback=callback, **options), method)
    assert row.solve is not None
    asked = {"center": center and row.scaled, "scale": scale and row.scaled}
    scaling = Scaling.of(X, O, **asked) if stayed is None else stayed.scaling(**asked)
    R = scaling.apply(X, O) if stayed is None else stayed.scaled(scaling)
    _check_size(R)
    limits = Limits(tol, max_iter or row.max_iter, max_seconds, callback)
    noise, start, level, directions = 1.0, None, 0.0, None
    if row.scaled and (mu is None or scale or debias):
        R, scaling, found = _measured(R, O, scaling, seed=seed, scale=scale)
        noise, directions = found.level, found.directions
        level = noise * spectral_edge(R.shape, float(O.mean()))
        if found.start is not None and warm_start is None and method != "apg":
            start = of_all_slots(found.start, R, O, level)
    if warm_start is not None:
        start, level = _rebased(warm_start, scaling, X.shape), 0.0
    task = Task(R, O, scaling, limits, noise, lam, mu, delta, seed, start, level, directions)
    solved = row.solve(task, **options)
    if debias:
        solved = debiased(task, solved)
    del task, R  # room for the results
    out = _finish(X, O, scaling, solved, method)
    if client is not None:
        stayed.close()
    return out


def _with_workers(X: Any, observed: Any, client: Any, *, debias: bool) -> Any:
    """A Dask array, its parts with the workers."""
    from fieldmend.core.afar import Afar

    if debias:
        msg = "debias looks at all readings again and again: not with client="
        raise ValueError(msg)
    if len(getattr(X, "shape", ())) == 2 and X.shape[0] < X.shape[1]:
        msg = "client= is for more slots than nodes: the slots are what workers share"
        raise ValueError(msg)
    return Afar.of(X, observed, client)


def _count(sparse: Any) -> int:
    lazy = isinstance(sparse, LazyRows)
    return sparse.count_nonzero() if lazy else int(np.count_nonzero(sparse))


def _set(name: str, value: object) -> bool:
    """True if this option of `decompose` was set to something else than its default."""
    default = signature(decompose).parameters[name].default
    return value is not default and (isinstance(value, Decomposition) or value != default)


def _recovered(found: Found, method: str) -> Decomposition:
    applied = found.applied
    return Decomposition(
        estimate=applied.estimate,
        low_rank=applied.low_rank,
        sparse=applied.sparse,
        rank=found.rank,
        gap=np.nan,
        objective=np.nan,
        iterations=0,
        status=Status.CONVERGED,
        trace=(),
        method=method,
        lam=np.nan,
        mu=np.nan,
        scaling=applied.scaling,
        factors=applied.factors,
        lower=applied.lower,
        upper=applied.upper,
        holdout=found.holdout,
        choice=found.choice,
        model=None if found.model is None else FieldModel.of(found.model),
    )


def _measured(
    R: Array, O: Mask, scaling: Scaling, *, seed: int, scale: bool
) -> tuple[Array, Scaling, Noise]:
    """The noise; nodes reweighted to have it alike, if scaling is wanted; an L to start from."""
    if scale:
        noise = estimate_noise(R, O, seed=seed)
        R /= noise.weight.astype(R.dtype)
        return R, replace(scaling, scale=scaling.scale * noise.weight), noise
    if R.shape[0] >= R.shape[1]:
        return R, scaling, estimate_noise(R, O, weigh=False, seed=seed)
    # Unscaled, nodes and slots play the same part: the transpose has to give the same.
    noise = estimate_noise(R.T.copy(), O.T.copy(), weigh=False, seed=seed)
    start = None
    if noise.start is not None and len(noise.start.left) == R.shape[1]:
        start = noise.start.transposed()
    return R, scaling, replace(noise, start=start)


def _check_numbers(**given: float | None) -> None:
    """Weights, tolerance and limits: positive, and such that their squares are finite."""
    for name, value in given.items():
        if value is not None and not 1e-100 <= value <= 1e100:
            msg = f"{name} must be a positive number between 1e-100 and 1e100, not {value!r}"
            raise ValueError(msg)
    if given["mu"] is not None and given["delta"] is not None:
        msg = "give mu or delta, not both: each fixes how closely the readings are fitted"
        raise ValueError(msg)
    if given["max_iter"] is not None and given["max_iter"] < 1:
        msg = f"max_iter must be at least 1, not {given['max_iter']!r}"
        raise ValueError(msg)


def _check_size(R: Array) -> None:
    """Squares have to stay finite."""
    limit = 1e15 if R.dtype == np.float32 else 1e100
    largest = max(float(R.max()), -float(R.min()))
    if not largest < limit:
        msg = (
            f"readings of size {largest:.1e} cannot be squared safely in {R.dtype}: use "
            "scale=True, or change their unit"
        )
        raise ValueError(msg)


def _rebased(warm: Any, scaling: Scaling, shape: tuple[int, ...]) -> LowRank:
    if not isinstance(warm, Decomposition):
        msg = f"warm_start must be the result of an earlier decompose, not {type(warm).__name__}"
        raise ValueError(msg)
    if warm.estimate.shape != shape:
        msg = f"warm_start is for shape {warm.estimate.shape}, X has shape {shape}"
        raise ValueError(msg)
    return warm.scaling.rebase(warm.factors, scaling)


def _dense(X: Any, O: Mask, scaling: Scaling, solved: Solved) -> tuple[Array, Array]:
    """L and S in the units of X."""
    L = scaling.undo(solved.low_rank, X.dtype)
    S = np.empty_like(L)
    for block in blocks(*X.shape):
        S[block] = _anomalies(X[block], O[block], L[block], scaling, solved, block)
    return L, S


def _recipe(X: Any, O: Mask, scaling: Scaling, solved: Solved) -> tuple[Any, Any]:
    """The same of readings that stay where they are: rows when they are taken."""
    right = (solved.low_rank.right * scaling.scale[:, None]).T

    def field(rows: slice) -> Array:
        L = solved.low_rank.left[rows] @ right + scaling.center
        return L.astype(X.dtype, copy=False)

    def anomalies(rows: slice) -> Array:
        S = _anomalies(X[rows], O[rows], field(rows), scaling, solved, rows)
        return S.astype(X.dtype, copy=False)

    return LazyRows(X.shape, X.dtype, field), LazyRows(X.shape, X.dtype, anomalies)


def _anomalies(  # noqa: PLR0917 - one block of them
    X: Array, O: Mask, L: Array, scaling: Scaling, solved: Solved, block: slice
) -> Array:
    largest = np.finfo(L.dtype).max
    with np.errstate(over="ignore"):  # 1e308 − (−1e308)
        E = np.where(O, X - L, 0.0)
        return solved.split(np.clip(E, -largest, largest), scaling.scale, block)


def _finish(X: Any, O: Any, scaling: Scaling, solved: Solved, method: str) -> Decomposition:
    """Back to the units of X; warn if a limit was reached."""
    if solved.status is not Status.CONVERGED:
        text = f"{method}: {solved.status} after {len(solved.trace)} iterations, relative gap "
        warnings.warn(
            f"{text}{solved.trace[-1].gap:.1e}. {solved.status.advice}",
            ConvergenceWarning,
            stacklevel=3,
        )
    here = LowRank(*(np.asarray(side) for side in (solved.low_rank.left, solved.low_rank.right)))
    solved = replace(solved, low_rank=here)
    L, S = (_dense if isinstance(X, np.ndarray) else _recipe)(X, O, scaling, solved)
    return Decomposition(
        estimate=L,
        low_rank=L,
        sparse=S,
        rank=solved.rank,
        gap=solved.gap,
        objective=solved.objective,
        iterations=len(solved.trace),
        status=solved.status,
        trace=solved.trace,
        method=method,
        lam=solved.lam,
        mu=solved.mu,
        scaling=scaling,
        factors=solved.low_rank,
    )
