"""Small rules of the convex core: how much of a record is looked at, when a search ends."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.core import baselines, engine, lazy, loop, noise, refit, small
from fieldmend.core.apg import PaperSolver
from fieldmend.core.huber import HuberSolver
from fieldmend.core.loop import Progress
from fieldmend.core.problem import LowRank, Problem, default_lam, spectral_edge


def test_the_noise_of_a_long_record_is_told_by_a_thousand_slots(monkeypatch):
    looked = []
    real = noise.default_lam
    monkeypatch.setattr(noise, "default_lam", lambda *a: looked.append(a[0]) or real(*a))
    monkeypatch.setattr(noise, "_ENTRIES", 4000)
    rng = np.random.default_rng(0)
    X = np.outer(rng.normal(size=6000), np.ones(4)) + 0.1 * rng.normal(size=(6000, 4))
    found = noise.estimate_noise(X, np.ones(X.shape, dtype=bool))
    assert looked == [(1000, 4)]
    assert found.level == pytest.approx(0.1, rel=0.35)
    assert found.start.left.shape[0] == 1000  # of some slots
    whole = noise.estimate_noise(X[:900], np.ones((900, 4), dtype=bool))
    assert looked[1] == (900, 4)
    assert whole.start.left.shape[0] == 900
    bare = np.outer(rng.normal(size=90), np.ones(4))
    assert noise.estimate_noise(bare, np.ones(bare.shape, dtype=bool)).start is None


@pytest.mark.parametrize("seed", range(3))
def test_what_some_slots_say_is_all_but_the_answer_for_all_of_them(monkeypatch, seed):
    net = fm.simulate.network(slots=2000, nodes=20, seed=seed)
    X = np.where(net.observed, net.readings - np.nanmedian(net.readings, axis=0), 0.0)
    monkeypatch.setattr(noise, "_ENTRIES", 20_000)
    found = noise.estimate_noise(X, net.observed, weigh=False)
    rate = float(net.observed.mean())
    mu = found.level * spectral_edge(X.shape, rate)
    start = noise.of_all_slots(found.start, X, net.observed, mu)
    assert (len(found.start.left), len(start.left)) == (1000, 2000)
    problem = Problem(X, net.observed, default_lam(X.shape, rate), mu)
    best = loop.run(HuberSolver(problem), loop.Limits()).proof.objective
    near, zero = (
        problem.certify(L).objective / best for L in (start, LowRank.zero(2000, 20, np.float64))
    )
    assert 1 - 1e-6 <= near < 1.01 < zero
    assert noise.of_all_slots(start, X, net.observed, mu) is start


def test_directions_that_are_known_are_not_looked_for(monkeypatch):
    net = fm.simulate.network(slots=300, nodes=200, seed=1)
    plain, looked = fm.decompose(net.readings), []
    real = HuberSolver._gram.func
    monkeypatch.setattr(HuberSolver._gram, "func", lambda self: looked.append(1) or real(self))
    again = fm.decompose(net.readings)
    assert len(looked) == 1
    assert again.objective == pytest.approx(plain.objective, rel=1e-12)


def test_the_search_for_a_rank_ends_when_two_more_are_no_better(monkeypatch):
    errors = iter([5.0, 4.0, 3.99, 3.98, 0.1])
    tried = []
    monkeypatch.setattr(refit, "_ranks", lambda *_: iter([1, 2, 3, 4, 5]))
    monkeypatch.setattr(refit, "_truncated", lambda _, rank, __: rank)
    monkeypatch.setattr(refit, "_fit", lambda *a: tried.append(a[2]) or a[2])
    monkeypatch.setattr(refit, "_hidden_error", lambda *_: next(errors))
    X = np.ones((6, 6))
    best = refit._best_rank(X, X > 0, None, noise=1.0, seed=0)
    assert (best, tried) == (2, [1, 2, 3, 4])


def test_ranks_grow_by_a_third_while_there_are_readings():
    assert [*refit._ranks(20, 10**6, (50, 40))] == [1, 2, 3, 4, 5, 6, 8, 10]
    assert [*refit._ranks(20, 300, (50, 50))] == [1, 2, 3]
    assert [*refit._ranks(1, 0, (50, 50))] == [1]


def test_a_block_without_readings_is_no_empty_record(monkeypatch):
    monkeypatch.setattr(lazy, "ENTRIES", 20)
    X = np.random.default_rng(0).normal(size=(40, 5))
    X[4:8] = np.nan
    held = lazy.Stayed.of(X)
    np.testing.assert_array_equal(held.observed, ~np.isnan(X))
    assert np.isnan(held[4:8]).all()
    plain = held.scaling(center=False, scale=False)
    np.testing.assert_array_equal(held.scaled(plain), np.nan_to_num(X))
    with pytest.raises(ValueError, match="nothing to decompose"):
        lazy.Stayed.of(np.full((40, 5), np.nan))


def test_an_oracle_of_known_rank_stops_when_the_misfit_does():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 7)) + 0.1 * rng.normal(size=(12, 7))
    seen = rng.random(X.shape) < 0.8
    solver = baselines.KnownRankSolver(X, seen, rank=2)
    state = solver.init()
    for _ in range(3):
        before = state.progress.objective
        state = solver.step(state)
        left, right = state.L.left, state.L.right
        wanted = 0.5 * (((X - left @ right.T) * seen) ** 2).sum()
        assert state.progress.objective == pytest.approx(wanted)
    size = 0.5 * ((X * seen) ** 2).sum()
    assert state.progress.gap == pytest.approx((before - wanted) / size)
    assert isinstance(state.progress, Progress)
    assert state.progress.rank == 2


def test_singular_values_of_small_matrices_are_kept():
    rng = np.random.default_rng(2)
    small = LowRank(1e-9 * rng.normal(size=(9, 3)), 1e-9 * rng.normal(size=(7, 3)))
    out = small.orthonormal()
    assert out.rank == 3
    np.testing.assert_allclose(out.dense(), small.dense(), rtol=1e-6, atol=1e-30)


def test_before_the_first_step_nothing_is_claimed():
    rng = np.random.default_rng(3)
    X, seen = rng.normal(size=(9, 4)), np.ones((9, 4), dtype=bool)
    ls = Problem(X, seen, 0.3, 1.0)
    spaces = rng.normal(size=(9, 1)), rng.normal(size=(4, 1))
    for solver in (
        HuberSolver(ls),
        PaperSolver(ls),
        baselines.SmoothSolver(X, seen, lam=0.1, mu=1.0),
        baselines.FactoredSmoothSolver(X, seen, lam=0.1, rank=2),
        baselines.OracleSolver(X, seen, spaces),
        baselines.KnownRankSolver(X, seen, rank=2),
        refit.MixtureSolver(X, seen, LowRank(*spaces), noise=1.0),
    ):
        assert solver.init().progress == Progress(0.0, np.inf, 0)


@pytest.mark.parametrize("rank", [1, 2, 4, 9])
def test_small_systems_of_all_slots_are_each_solved(rank):
    rng = np.random.default_rng(rank)
    roots = rng.normal(size=(30, rank, 2 * rank + 2))
    squares, sides = roots @ roots.transpose(0, 2, 1), rng.normal(size=(30, rank, 3))
    found = small.each_solved(squares.transpose(1, 2, 0), sides.transpose(1, 2, 0))
    np.testing.assert_allclose(found.transpose(2, 0, 1), np.linalg.solve(squares, sides))
    inverse = small.each_inverted(squares.transpose(1, 2, 0)).transpose(2, 0, 1)
    np.testing.assert_allclose(inverse, np.linalg.inv(squares))


def test_factors_stop_when_the_objective_falls_by_little_of_itself():
    """Whatever the unit: of readings a thousand times smaller, the millionth part."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(20, 6))
    seen = rng.random(X.shape) < 0.8
    solver = baselines.FactoredSmoothSolver(1e-3 * X, seen, lam=0.1, rank=2)
    before = solver.step(solver.init())
    after = solver.step(before)
    fallen = before.progress.objective - after.progress.objective
    assert after.progress.objective < 1e-2
    assert after.progress.gap == pytest.approx(abs(fallen) / after.progress.objective)


def test_a_kernel_goes_to_where_the_rows_are():
    class Elsewhere:
        def sweep(self, kernel, others):
            return kernel(np.ones((2, 2)), *others)

    rows, sums = engine.sweep(lambda a, b: ((a + b,), ()), Elsewhere(), np.ones((2, 2)))
    assert (rows[0] == 2).all()
    assert sums == ()
