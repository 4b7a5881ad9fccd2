"""The one loop: what ends a solve, what it tells, and that only a certificate counts."""

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from fieldmend.core import loop
from fieldmend.core.loop import Iteration, Limits, Progress, Status, run


@dataclass(frozen=True)
class Proof:
    objective: float
    gap: float


@dataclass(frozen=True)
class State:
    number: int = 0
    learnt: int = 0
    progress: Progress = field(default_factory=lambda: Progress(1.0, np.inf, 0))


class Halving:
    """Claims the gaps it is given; certifies with others."""

    def __init__(self, claims, proofs=None):
        self.claims, self.proofs = claims, proofs or claims
        self.certified = []

    def init(self):
        return State()

    def step(self, state):
        gap = self.claims(state.number + 1)
        return replace(
            state, number=state.number + 1, progress=Progress(10.0 + gap, gap, state.number)
        )

    def certify(self, state):
        self.certified.append(state.number)
        gap = self.proofs(state.number)
        return replace(state, learnt=state.learnt + 1), Proof(20.0 + gap, gap)


def test_converges_when_the_certificate_says_so():
    seen = []
    solver = Halving(lambda k: 2.0**-k)
    outcome = run(solver, Limits(tol=1e-3, max_iter=100, callback=seen.append))
    assert outcome.status is Status.CONVERGED
    assert outcome.state.number == 10
    assert outcome.proof.gap == 2.0**-10
    assert [row.number for row in outcome.trace] == list(range(1, 11))
    assert tuple(seen) == outcome.trace
    assert outcome.trace[0] == Iteration(1, 10.5, 0.5, 0, outcome.trace[0].seconds)
    assert outcome.trace[-1].objective == 20.0 + 2.0**-10  # the proof's, not the claim's
    seconds = [row.seconds for row in outcome.trace]
    assert seconds == sorted(seconds)
    assert solver.certified == [10]


def test_an_optimistic_claim_does_not_end_a_solve():
    solver = Halving(lambda _: 0.0, lambda k: 2.0**-k)
    outcome = run(solver, Limits(tol=1e-3, max_iter=1000))
    assert outcome.status is Status.CONVERGED
    assert outcome.proof.gap <= 1e-3
    assert outcome.state.learnt == len(solver.certified) > 1  # what a certificate teaches is kept
    waits = np.diff(solver.certified)
    assert (np.diff(waits) > 0).all()  # it asks ever more rarely


def test_claims_that_are_never_proven_stall():
    outcome = run(Halving(lambda _: 0.0, lambda _: 0.5), Limits(tol=1e-3, max_iter=10_000))
    assert outcome.status is Status.STALLED
    assert outcome.proof.gap == 0.5
    assert len(outcome.trace) < 10_000


def test_iteration_limit_ends_with_a_certificate():
    solver = Halving(lambda _: 0.3, lambda _: 0.4)
    outcome = run(solver, Limits(tol=1e-3, max_iter=7))
    assert outcome.status is Status.ITERATION_LIMIT
    assert len(outcome.trace) == 7
    assert solver.certified == [7]
    assert outcome.proof == Proof(20.4, 0.4)


def test_the_last_certificate_may_still_be_good_enough():
    outcome = run(Halving(lambda _: 0.3, lambda _: 1e-9), Limits(tol=1e-3, max_iter=7))
    assert outcome.status is Status.CONVERGED


@pytest.mark.parametrize(("gap", "good"), [(1e-3, True), (1.0001e-3, False), (9e-3, False)])
def test_at_a_limit_the_tolerance_is_still_the_tolerance(gap, good):
    for limits, status in (
        (Limits(tol=1e-3, max_iter=7), Status.ITERATION_LIMIT),
        (Limits(tol=1e-3, max_iter=7, max_seconds=0.0), Status.TIME_LIMIT),
    ):
        outcome = run(Halving(lambda _: 0.3, lambda _: gap), limits)
        assert outcome.status is (Status.CONVERGED if good else status)
    never = run(Halving(lambda _: 0.0, lambda _: 1.0001e-3), Limits(tol=1e-3, max_iter=10_000))
    assert never.status is Status.STALLED


def test_a_proof_that_just_fails_goes_on():
    solver = Halving(lambda _: 1e-3, lambda k: 1.1e-3 if k < 3 else 1e-3)
    outcome = run(solver, Limits(tol=1e-3, max_iter=20))
    assert outcome.status is Status.CONVERGED
    assert outcome.state.number == 3
    assert solver.certified == [1, 3]


def test_time_limit(monkeypatch):
    clock = itertools.count(100.0)  # a second from one look to the next
    monkeypatch.setattr(loop.time, "perf_counter", lambda: next(clock))
    outcome = run(
        Halving(lambda _: 0.3, lambda _: 0.4), Limits(tol=1e-3, max_iter=1000, max_seconds=5.0)
    )
    assert outcome.status is Status.TIME_LIMIT
    assert [row.seconds for row in outcome.trace] == [1, 2, 3, 4, 5, 6]  # the first beyond it ends
    assert outcome.proof.gap == 0.4


def test_a_bad_number_is_named_not_iterated_on():
    class Broken(Halving):
        def step(self, state):
            number = state.number + 1
            objective = np.nan if number == 3 else 1.0
            return replace(state, number=number, progress=Progress(objective, 0.5, 0))

    with pytest.raises(FloatingPointError, match="iteration 3"):
        run(Broken(lambda _: 0.5), Limits())


@pytest.mark.parametrize("status", list(Status))
def test_every_status_says_what_to_do(status):
    assert status.advice.endswith(".")
    assert len(status.advice.split()) > 8
    assert str(status) == status.value
