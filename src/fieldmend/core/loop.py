"""The one loop: counting, the certificate, the trace, limits and the callback for all solvers.

A solver gives ``init``, ``step`` and ``certify``. A step's own measure of progress may be cheap and
optimistic; the loop never stops on it. When it says "done", the loop asks for the certificate, and
only the certificate ends a solve as converged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Generic, Protocol, TypeVar

import numpy as np


class Status(StrEnum):
    """How a solve ended; ``advice`` says what to try next.

    Examples
    --------
    >>> Status.TIME_LIMIT.advice.split(":")[0]
    'The time limit came before the tolerance'
    """

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    STALLED = "stalled"

    @property
    def advice(self) -> str:
        """One sentence for a person who reads this status."""
        return _ADVICE[self]


_ADVICE = {
    Status.CONVERGED: "The solution is within the tolerance of the optimum; nothing to do.",
    Status.ITERATION_LIMIT: (
        "The iteration limit came before the tolerance: raise max_iter, loosen tol, pass this "
        "result as warm_start to go on from it, or take a larger mu, which converges faster."
    ),
    Status.TIME_LIMIT: (
        "The time limit came before the tolerance: raise max_seconds, loosen tol, or pass this "
        "result as warm_start to go on from it."
    ),
    Status.STALLED: (
        "Rounding keeps the gap above the tolerance: loosen tol, take a larger mu, or give "
        "float64 data with center=True and scale=True."
    ),
}


@dataclass(frozen=True)
class Progress:
    """Where a solver stands: objective, its own estimate of the relative gap, rank of L."""

    objective: float
    gap: float
    rank: int


@dataclass(frozen=True)
class Iteration:
    """One row of the trace; ``seconds`` counts from the start of the solve."""

    number: int
    objective: float
    gap: float
    rank: int
    seconds: float


class Judged(Protocol):
    """What a certificate tells the loop."""

    @property
    def objective(self) -> float:
        """F of the solution."""

    @property
    def gap(self) -> float:
        """How far F may lie above the optimum, relative to F."""


class HasProgress(Protocol):
    """A solver's state; only its progress is the loop's business."""

    @property
    def progress(self) -> Progress:
        """Where the solver stands."""


State = TypeVar("State", bound=HasProgress)
Proof = TypeVar("Proof", bound=Judged, covariant=True)


class Solver(Protocol[State, Proof]):
    """What a method has to give; see CONTRIBUTING.md, "Adding a method"."""

    def init(self) -> State:
        """The state before the first step."""

    def step(self, state: State) -> State:
        """One iteration."""

    def certify(self, state: State) -> tuple[State, Proof]:
        """The proof of how good the state is, and the state with what was learnt from it."""


@dataclass(frozen=True)
class Limits:
    """When to stop: relative gap, iterations, seconds; ``callback`` sees every iteration."""

    tol: float = 1e-6
    max_iter: int = 1000
    max_seconds: float | None = None
    callback: Callable[[Iteration], object] | None = None


Tell = Callable[[int], object]
"""Called after each part of the work, with the rank that it has reached."""


def silent(_rank: int) -> None:
    """Nobody is told."""


def teller(callback: Callable[[Iteration], object] | None) -> Tell:
    """For work that has steps but no objective: the callback sees them all the same."""
    start, told = time.perf_counter(), count(1)

    def tell(rank: int) -> None:
        if callback is not None:
            seconds = time.perf_counter() - start
            callback(Iteration(next(told), np.nan, np.nan, rank, seconds))

    return tell


@dataclass(frozen=True)
class Outcome(Generic[State, Proof]):
    """The last state with its proof, how the loop ended, and the trace."""

    state: State
    proof: Proof
    status: Status
    trace: tuple[Iteration, ...]


# A certificate costs a few iterations: after one that fell short, wait this many, times the number
# of those that did, before the next; after this many in vain, call the solve stalled.
_WAIT, _PATIENCE = 2, 12


def run(solver: Solver[State, Proof], limits: Limits) -> Outcome[State, Proof]:
    """Iterate until the certificate is good enough or a limit is reached."""
    start = time.perf_counter()
    state = solver.init()
    trace: list[Iteration] = []
    attempts, next_check = 0, 0
    status = Status.ITERATION_LIMIT
    for number in range(1, limits.max_iter + 1):
        state = solver.step(state)
        seconds = time.perf_counter() - start
        p = state.progress
        if not np.isfinite(p.objective):
            msg = (
                f"the objective became {p.objective} in iteration {number}; the readings differ "
                "too much in size for this precision: use scale=True or float64"
            )
            raise FloatingPointError(msg)
        row = Iteration(number, p.objective, p.gap, p.rank, seconds)
        proof = None
        if p.gap <= limits.tol and number >= next_check:
            state, proof = solver.certify(state)
            row = replace(row, objective=proof.objective, gap=proof.gap)
            attempts += 1
            next_check = number + _WAIT * attempts
        trace.append(row)
        if limits.callback is not None:
            limits.callback(row)
        if proof is not None and proof.gap <= limits.tol:
            return Outcome(state, proof, Status.CONVERGED, tuple(trace))
        if attempts > _PATIENCE:
            status = Status.STALLED
            break
        if limits.max_seconds is not None and seconds > limits.max_seconds:
            status = Status.TIME_LIMIT
            break
    state, last = solver.certify(state)
    if last.gap <= limits.tol:
        status = Status.CONVERGED
    return Outcome(state, last, status, tuple(trace))
