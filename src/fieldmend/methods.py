"""The table of methods: each turns a scaled task into a low-rank L and a rule for its anomalies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np

from fieldmend.automatic import Found, recover_auto
from fieldmend.core.apg import PaperSolver
from fieldmend.core.baselines import (
    FactoredSmoothSolver,
    KnownRankSolver,
    OracleSolver,
    SmoothSolver,
)
from fieldmend.core.engine import blocks
from fieldmend.core.huber import HuberSolver
from fieldmend.core.loop import Iteration, Limits, Outcome, Status, run
from fieldmend.core.problem import LowRank, Problem, Scaling, default_lam, spectral_edge
from fieldmend.core.prox import Array, Mask, soft_threshold
from fieldmend.core.refit import refit

# (residuals X − L of a block in the units of X and zero off O, scale per node, block) → anomalies.
Split = Callable[[Array, Array, slice], Array]
_BRACKETS = 40  # steps of log μ, of 1 or 2, in which δ is looked for


@dataclass(frozen=True)
class Task:
    """A scaled problem with everything a method may need."""

    readings: Array
    observed: Mask
    scaling: Scaling
    limits: Limits
    noise: float  # standard deviation, scaled
    lam: float | None = None
    mu: float | None = None
    delta: float | None = None
    seed: int = 0
    start: LowRank | None = None
    level: float = 0.0  # the μ at which the start is about optimal; 0: at the task's own
    directions: Array | None = None  # nodes × k, in which the subspace may grow

    @property
    def rate(self) -> float:
        """p, the share of entries observed."""
        return float(self.observed.mean())

    @property
    def default_mu(self) -> float:
        """The spectral norm of the noise: what lies below it cannot be told from noise."""
        return self.noise * spectral_edge(self.readings.shape, self.rate)


@dataclass(frozen=True)
class Solved:
    """What a method gives back, in scaled units."""

    low_rank: LowRank
    split: Split
    objective: float
    gap: float
    status: Status
    trace: tuple[Iteration, ...]
    lam: float
    mu: float
    rank: int


def solve_ls(task: Task) -> Solved:
    """The LS problem by the fast solver."""
    lam = default_lam(task.readings.shape, task.rate) if task.lam is None else task.lam
    return _solve_fast(task, lam)


def solve_mc(task: Task) -> Solved:
    """Matrix completion: λ = ∞, no anomalies."""
    return _solve_fast(task, np.inf)


def _solve_fast(task: Task, lam: float) -> Solved:
    """The fast solver, with the short axis in the place of the nodes."""
    wide = task.readings.shape[0] < task.readings.shape[1]
    R, O, start = task.readings, task.observed, task.start
    if wide:
        R, O = np.ascontiguousarray(R.T), np.ascontiguousarray(O.T)
        start = None if start is None else start.transposed()
    mu, first = task.default_mu if task.mu is None else task.mu, start

    def solve(mu: float, start: LowRank | None, limits: Limits) -> tuple[Solved, LowRank]:
        level = task.level if start is first else 0.0
        solver = HuberSolver(
            Problem(R, O, lam, mu),
            start=start,
            level=level,
            seed=task.seed,
            directions=None if wide else task.directions,
        )
        outcome = run(solver, limits)
        L = outcome.state.current
        return _certified(outcome, L.transposed() if wide else L, lam, mu), L

    return _solve_delta(solve, task, mu) if task.delta else solve(mu, start, task.limits)[0]


def solve_apg(task: Task) -> Solved:
    """The paper's Table III."""
    R, O = task.readings.astype(np.float64), task.observed
    lam = 1.0 / float(np.sqrt(max(R.shape))) if task.lam is None else task.lam

    def solve(mu: float, start: LowRank | None, limits: Limits) -> tuple[Solved, LowRank]:
        outcome = run(PaperSolver(Problem(R, O, lam, mu)), limits)
        return _certified(outcome, outcome.state.L, lam, mu), outcome.state.L

    mu = task.default_mu if task.mu is None else task.mu
    return _solve_delta(solve, task, mu) if task.delta else solve(mu, None, task.limits)[0]


def _solve_delta(
    solve: Callable[[float, LowRank | None, Limits], tuple[Solved, LowRank]],
    task: Task,
    mu: float,
) -> Solved:
    """The constrained form: the largest μ whose residual is within δ, by a warm root find.

    ‖P_O(R − L − S)‖_F, in the units of the readings, grows with μ, from 0 to ‖P_O R‖_F.
    """
    delta = float(task.delta or 0.0)
    coarse = replace(task.limits, tol=max(task.limits.tol, 1e-4), callback=None)
    warm: list[LowRank | None] = [None]

    def excess(log_mu: float, limits: Limits = coarse) -> float:
        solved, warm[0] = solve(float(np.exp(log_mu)), warm[0], limits)
        return float(np.log(max(_residual(task, solved), 1e-300) / delta))

    with np.errstate(over="ignore"):  # an infinite norm is above any delta
        norm = float(np.linalg.norm(task.readings * task.scaling.scale))
    if norm <= delta:  # L = S = 0 is within δ already
        lam = default_lam(task.readings.shape, task.rate) if task.lam is None else task.lam
        zero = np.linalg.norm(task.readings) + np.abs(task.readings).max() / min(lam, 1e300)
        return solve(max(2.0 * float(zero), 1e-12), None, task.limits)[0]
    root = _root(excess, float(np.log(mu)))
    for _ in range(100):
        root -= 1e-4
        solved, warm[0] = solve(float(np.exp(root)), warm[0], task.limits)
        if _residual(task, solved) <= delta:
            return solved
    return solved


def _root(f: Callable[[float], float], x: float) -> float:
    """The zero of a rising function, from a guess: bracketed by steps, then by Brent's method.

    Every value is dear: none is asked for twice.
    """
    f = cache(f)
    from scipy.optimize import brentq  # here: 0.1 s that few need

    step = -2.0 if f(x) > 0 else 1.0
    for _ in range(_BRACKETS):
        if f(x) * f(x + step) <= 0:
            return float(brentq(f, x, x + step, xtol=1e-5))
        x += step
    msg = "no mu gives this delta within working precision: take a larger delta"
    raise ValueError(msg)


def _residual(task: Task, solved: Solved) -> float:
    """‖P_O(R − L − S)‖_F in the units of the readings."""
    total, scale = 0.0, task.scaling.scale
    d = solved.lam * solved.mu
    for block in blocks(*task.readings.shape):
        L = solved.low_rank.left[block] @ solved.low_rank.right.T
        E = (task.readings[block] - L) * task.observed[block]
        with np.errstate(over="ignore"):
            total += float(((np.clip(E, -d, d) * scale) ** 2).sum())
    return float(np.sqrt(total))


def _certified(outcome: Outcome[Any, Any], L: LowRank, lam: float, mu: float) -> Solved:
    def split(E: Array, scale: Array, _: slice) -> Array:
        return soft_threshold(E, lam * mu * scale)

    p = outcome.proof
    return Solved(L, split, p.objective, p.gap, outcome.status, outcome.trace, lam, mu, rank=L.rank)


def solve_srmf(task: Task, *, factored: bool = False, rank: int | None = None) -> Solved:
    """Smooth matrix completion, as the paper writes it or as Kong et al. do."""
    if (task.mu is not None) if factored else (rank is not None):
        msg = "srmf takes rank with factored=True, and mu without it"
        raise ValueError(msg)
    R, O = task.readings.astype(np.float64), task.observed
    lam = 0.01 if task.lam is None else task.lam
    mu = np.nan
    if factored:
        rank = max(1, min(R.shape) // 10) if rank is None else rank
        _check_rank(rank, R.shape)
        return _uncertified(
            run(FactoredSmoothSolver(R, O, lam=lam, rank=rank, seed=task.seed), task.limits),
            lambda E, _, __: np.zeros_like(E),
            (lam, mu),
        )
    mu = task.default_mu if task.mu is None else task.mu
    outcome = run(SmoothSolver(R, O, lam=lam, mu=mu), task.limits)
    return _uncertified(outcome, lambda E, _, __: np.zeros_like(E), (lam, mu))


def solve_oracle(
    task: Task,
    *,
    support: Any = None,
    space: tuple[Any, Any] | None = None,
    rank: int | None = None,
) -> Solved:
    """Least squares, told where the anomalies are, and the spaces or the rank of L."""
    R, O = task.readings.astype(np.float64), task.observed
    known = np.zeros(R.shape, bool) if support is None else np.asarray(support)
    if known.shape != R.shape or known.dtype != np.bool_:
        msg = f"support must be a boolean mask of shape {R.shape}"
        raise ValueError(msg)
    clean = O & ~known
    if not clean.any():
        msg = "support covers every observed reading: nothing is left to fit"
        raise ValueError(msg)

    def split(E: Array, _: Array, block: slice) -> Array:
        anomalies: Array = E * known[block]
        return anomalies

    weights = (np.nan, np.nan)
    if space is not None:
        solver = OracleSolver(R, clean, _checked_space(space, R.shape))
        return _uncertified(run(solver, task.limits), split, weights)
    if rank is not None:
        _check_rank(rank, R.shape)
        return _uncertified(run(KnownRankSolver(R, clean, rank=rank), task.limits), split, weights)
    msg = "the oracle has to be told space=(U, V), with U slots × r and V nodes × r, or rank="
    raise ValueError(msg)


def _uncertified(outcome: Outcome[Any, Any], split: Split, weights: tuple[float, float]) -> Solved:
    L: LowRank = outcome.state.L
    p, trace = outcome.proof, outcome.trace
    rank = min(L.rank, len(L.left), len(L.right))
    return Solved(L, split, p.objective, np.nan, outcome.status, trace, *weights, rank=rank)


def _checked_space(space: Any, shape: tuple[int, ...]) -> tuple[Array, Array]:
    sides = tuple(np.asarray(side, dtype=np.float64) for side in space)
    shapes = [side.shape for side in sides]
    r = shapes[0][1] if len(sides) == 2 and sides[0].ndim == 2 else 0
    wanted = [(length, r) for length in shape]
    if shapes != wanted or not 1 <= r <= min(shape) or not all(np.isfinite(s).all() for s in sides):
        msg = f"space must be finite arrays (U, V), {shape[0]} × r and {shape[1]} × r"
        raise ValueError(msg)
    return sides[0], sides[1]


def _check_rank(rank: int, shape: tuple[int, ...]) -> None:
    if not 1 <= rank <= min(shape):
        msg = f"rank must be between 1 and {min(shape)}, not {rank!r}"
        raise ValueError(msg)


def debiased(task: Task, solved: Solved) -> Solved:
    """The solution refitted without shrinkage, on its support and the rank found."""
    found = refit(task.readings, task.observed, solved.low_rank, noise=task.noise, seed=task.seed)

    def split(E: Array, scale: Array, _: slice) -> Array:
        return np.where(np.abs(E) > found.threshold * scale, E, 0.0)

    return replace(solved, low_rank=found.low_rank, split=split, rank=found.rank)


# Which of decompose's general options mean something to whom. All know seed and callback.
_LOOP = ("tol", "max_iter", "max_seconds", "callback", "seed")
_SCALED = ("center", "scale")
_FAST = ("mu", "warm_start", "client")


@dataclass(frozen=True)
class Method:
    """One row of the table of methods: how it solves, which options it takes, its limit."""

    solve: Callable[..., Solved] | None
    max_iter: int
    general: tuple[str, ...]  # of the options that decompose has for all
    options: tuple[str, ...] = ()  # of its own
    recover: Callable[..., Found] | None = None  # readings in, field out: needs no task

    @property
    def scaled(self) -> bool:
        """True if it works on centred and scaled readings."""
        return "center" in self.general

    def taken(self) -> tuple[str, ...]:
        """All options that it takes."""
        return self.options + self.general


METHODS = {
    "ls": Method(
        solve_ls, 3000, ("lam", "mu", "delta", "debias", "warm_start", "client", *_SCALED, *_LOOP)
    ),
    "apg": Method(solve_apg, 5000, ("lam", "mu", "delta", "debias", *_SCALED, *_LOOP)),
    "mc": Method(solve_mc, 3000, ("delta", *_FAST, *_SCALED, *_LOOP)),
    "srmf": Method(solve_srmf, 2000, ("lam", "mu", *_SCALED, *_LOOP), options=("factored", "rank")),
    "auto": Method(
        None,
        1,
        ("callback", "seed"),
        options=("level", "period", "companions", "joint", "faults", "places", "power", "doubting"),
        recover=recover_auto,
    ),
    "oracle": Method(solve_oracle, 1000, _LOOP, options=("support", "space", "rank")),
}


def check_options(method: str, general: Mapping[str, object], own: Mapping[str, object]) -> Method:
    """The method's row, if it takes these options; else the first it does not take is refused.

    Parameters
    ----------
    method
        Its name.
    general
        Options that `decompose` has for all methods, as far as they were set.
    own
        The others.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        Where there is no such method, or it has no use for an option that others have.
    TypeError
        Where no method has such an option, or only another one.

    Examples
    --------
    >>> check_options("ls", {"tol": 1e-8}, {}).max_iter
    3000
    >>> check_options("auto", {}, {"perod": 24})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: method 'auto' has no option 'perod'; it takes ... Did you mean 'period'?
    """
    if method not in METHODS:
        msg = (
            f"unknown method {method!r}: use one of {', '.join(METHODS)}{_nearest(method, METHODS)}"
        )
        raise ValueError(msg)
    row = METHODS[method]
    for name in own:
        if name not in row.options:
            raise TypeError(_no_option(method, row, name))
    for name in general:
        if name not in row.general:
            raise ValueError(_no_option(method, row, name))
    return row


def _no_option(method: str, row: Method, name: str) -> str:
    others = [other for other, r in METHODS.items() if name in r.taken()]
    hint = f" ({name} is for {', '.join(others)})" if others else _nearest(name, row.taken())
    return f"method {method!r} has no option {name!r}; it takes {', '.join(row.taken())}{hint}"


def _nearest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(str(name), list(known), 1)
    return f". Did you mean {close[0]!r}?" if close else ""
