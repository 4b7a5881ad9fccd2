"""Small rules beneath the field model: when a solve is done, what is hidden, how sure one is."""

import numpy as np
import pytest

import naive_field
from fieldmend.core.loop import Limits, Progress, Status, run
from fieldmend.field import lean
from fieldmend.field.holdout import _upper_quantile, draw_hidden
from fieldmend.recovery.sinks import worst_gap


class Standing:
    """A solver whose gap stays what it is told to be."""

    def __init__(self, gap):
        self.progress = Progress(1.0, gap, 1)

    def init(self):
        return self

    def step(self, state):
        return state

    def certify(self, state):
        return state, self.progress


@pytest.mark.parametrize(("gap", "status"), [
    (1e-6, Status.CONVERGED), (1.01e-6, Status.ITERATION_LIMIT), (9e-6, Status.ITERATION_LIMIT),
])  # fmt: skip
def test_a_limit_that_is_hit_is_no_convergence(gap, status):
    found = run(Standing(gap), Limits(tol=1e-6, max_iter=1))
    assert found.status == status


def test_what_is_certified_of_windows_is_the_worst():
    assert worst_gap([1e-5, 3e-4, 1e-6]) == 3e-4


def test_readings_hidden_in_one_run_are_one_witness():
    z = np.arange(1.0, 101.0)
    assert _upper_quantile(z, 100, 0.9) == pytest.approx(91, abs=1)
    assert _upper_quantile(z, 10, 0.9) == 100.0  # ten runs: 0.9 · (1 + 1/10) of the errors
    assert _upper_quantile(z, 5, 0.9) == pytest.approx(110.0)


@pytest.mark.parametrize("seed", range(5))
def test_no_hold_out_empties_a_node(seed):
    rng = np.random.default_rng(seed)
    used = rng.random((40, 60)) < rng.uniform(0.02, 0.9, (40, 1))
    hidden = draw_hidden(used, ~used, 0.7, rng)
    assert hidden.any()
    assert not (hidden & ~used).any()
    had, left = used.sum(axis=1), (used & ~hidden).sum(axis=1)
    assert (left >= np.minimum(had, 2)).all()


def test_two_readings_are_enough_to_stay():
    rng = np.random.default_rng(0)
    used = rng.random((200, 9)) < 0.5
    hidden = draw_hidden(used, ~used, 0.6, rng)
    left = (used & ~hidden).sum(axis=1)[hidden.any(axis=1)]
    assert left.min() == 2


def test_a_lean_is_damped_as_far_as_it_may_be_chance():
    rng = np.random.default_rng(0)
    towards = rng.normal(size=400)
    error = 0.5 * towards + rng.normal(size=400)
    best, sure = naive_field.lean(error, towards, np.arange(400))
    assert lean._weight(error, towards, np.arange(400)) == pytest.approx(best * (1 - 1 / sure**2))
    assert lean._weight(error, towards, np.zeros(400, int)) == 0.0  # one witness is none


def test_what_jumps_leans_to_the_line_that_is_nearly_always_right():
    """A line between equal readings of a valve misses seldom and by far, the field always."""
    rng = np.random.default_rng(3)
    line = np.where(rng.random(4000) < 0.05, 1.0, 0.0)
    model = np.where(line > 0, 0.9, 0.05) + 0.02 * rng.normal(size=4000)
    weight = lean._weight(model, model - line, np.arange(4000))
    squares = model @ (model - line) / ((model - line) @ (model - line))
    assert squares < 0.7 < weight


def test_few_witnesses_leave_the_weight_near_the_usual():
    rng = np.random.default_rng(1)
    towards = rng.normal(size=200)
    error = 0.9 * towards + 2 * rng.normal(size=200)
    weights = [lean._shrunk(error, towards, n, 0.1) for n in (0.1, 10.0, 1e9)]
    assert abs(weights[0] - 0.1) < abs(weights[1] - 0.1) < abs(weights[2] - 0.1)
    assert weights[2] == pytest.approx(error @ towards / (towards @ towards), rel=1e-6)
    assert lean._shrunk(error, 0 * towards, 5.0, 0.3) == 0.3
