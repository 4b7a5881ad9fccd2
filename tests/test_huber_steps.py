"""One step of the fast solver against the same written out with whole matrices."""

from dataclasses import replace

import numpy as np
import pytest

from fieldmend.core import huber
from fieldmend.core.huber import Descent, Expectation, HuberSolver, Inner
from fieldmend.core.loop import Progress
from fieldmend.core.problem import LowRank, Problem
from fieldmend.core.prox import huber as huber_function
from fieldmend.core.prox import singular_value_threshold

SLOTS, NODES = 30, 7


def problem(lam=0.25, mu=2.0, seed=0, rate=0.8):
    rng = np.random.default_rng(seed)
    O = rng.random((SLOTS, NODES)) < rate
    R = rng.normal(size=(SLOTS, 2)) @ rng.normal(size=(2, NODES)) + 0.2 * rng.normal(size=O.shape)
    R[3, 2], O[3, 2] = 9.0, True
    return Problem(R * O, O, lam, mu)


def low_rank(rank, seed):
    rng = np.random.default_rng(seed)
    L = LowRank(rng.normal(size=(SLOTS, rank)), rng.normal(size=(NODES, rank)))
    return L.orthonormal()


def between(solver, *, momentum=(3.0, 4.0), step=1.2, mu=2.0, seed=5):
    """A state on its way: two iterates of different ranks, a basis of all directions.

    As everywhere, the basis begins with the right singular vectors of the iterate.
    """
    now, before = low_rank(2, seed), low_rank(3, seed + 1)
    inner = Inner(*(float(np.vdot(a.dense(), b.dense()))
                    for a, b in ((now, now), (now, before), (before, before))))  # fmt: skip
    rest = np.random.default_rng(seed).normal(size=(NODES, NODES - now.rank))
    basis = np.linalg.qr(np.hstack([now.right, rest]))[0]
    basis[:, : now.rank] = now.right
    return Descent(now, before, basis, mu, momentum=momentum, step=step, inner=inner)


def extrapolated(state):
    t_before, t = state.momentum
    beta = (t_before - 1) / t
    return (1 + beta) * state.current.dense() - beta * state.previous.dense()


@pytest.fixture(params=[0.25, np.inf], ids=["anomalies", "completion"])
def solver(request):
    return HuberSolver(problem(lam=request.param))


@pytest.fixture(params=[(1.0, 1.0), (3.0, 4.0)], ids=["at rest", "moving"])
def state(request, solver):
    return between(solver, momentum=request.param, mu=5.0)


def clipped(solver, state):
    """C at the extrapolated point."""
    p = solver.problem
    d = p.lam * state.mu
    return np.clip(p.residual(extrapolated(state)), -d, d)


def seen_norm(solver, state):
    """‖C‖₂ as far as the subspace that the sweep went to shows it."""
    C = clipped(solver, state)
    Q = np.linalg.qr((extrapolated(state) + state.step * C) @ state.basis)[0]
    return np.linalg.norm(Q.T @ C, 2)


def test_a_sweep_gives_what_whole_matrices_give(solver, state):
    p, Y, C = solver.problem, extrapolated(state), clipped(solver, state)
    found = solver._sweep(state)
    W = (Y + state.step * C) @ state.basis
    np.testing.assert_allclose(found.rows, W, atol=1e-12)
    np.testing.assert_allclose(found.CtW, C.T @ W, atol=1e-10)
    np.testing.assert_allclose(found.gram, W.T @ W, atol=1e-10)
    d = p.lam * state.mu
    E = p.residual(Y)
    loss = 0.5 * (E**2).sum() if np.isinf(d) else huber_function(E, d).sum()
    assert found.loss == pytest.approx(loss)
    assert found.C_Y == pytest.approx(np.vdot(C, Y * p.observed))
    assert found.C_R == pytest.approx(np.vdot(C, p.readings))
    assert found.C_C == pytest.approx(np.vdot(C, C))
    assert found.C_current == pytest.approx(np.vdot(C, state.current.dense()))
    parts = [state.current.left] + ([state.previous.left] if state.beta else [])
    np.testing.assert_allclose(found.left_W, np.hstack(parts).T @ W, atol=1e-10)


def test_a_proximal_step_shrinks_the_singular_values_of_where_it_goes(solver, state):
    Y, C = extrapolated(state), clipped(solver, state)
    sums = solver._sweep(state)
    found = solver._proximal(state, sums)
    U, s, Vt = singular_value_threshold(Y + state.step * C, state.step * state.mu)
    new = (U * s) @ Vt
    assert 0 < len(s) < NODES
    np.testing.assert_allclose(found.new.dense(), new, atol=1e-10)
    assert found.new.rank == len(s)
    assert found.nuclear == pytest.approx(s.sum())
    assert found.dual_norm == pytest.approx(seen_norm(solver, state))
    assert found.dual_norm <= np.linalg.norm(C, 2)
    assert found.C_new == pytest.approx(np.vdot(C, new))
    L, before = state.current.dense(), state.previous.dense()
    assert found.inner.now == pytest.approx(np.vdot(new, new))
    assert found.inner.cross == pytest.approx(np.vdot(new, L))
    assert found.inner.before == pytest.approx(np.vdot(L, L))
    if state.beta:
        assert found.new_before == pytest.approx(np.vdot(new, before))
    np.testing.assert_allclose(found.ritz.T @ found.ritz, np.eye(NODES), atol=1e-10)


def test_progress_bounds_the_objective_and_compares_it_with_the_dual(solver, state):
    p, Y, C = solver.problem, extrapolated(state), clipped(solver, state)
    sums = solver._sweep(state)
    taken = solver._proximal(state, sums)
    new = taken.new.dense()
    distance = ((new - Y) ** 2).sum()
    assert huber._distance(state, taken) == pytest.approx(distance)
    found = solver._progress(state, sums, taken)
    bound = sums.loss - np.vdot(C, new - Y) + 0.5 * distance + state.mu * taken.nuclear
    assert found.objective == pytest.approx(bound)
    at_this = replace(p, mu=state.mu)
    assert found.objective >= at_this.objective(new) - 1e-9
    feasible = C * min(1.0, state.mu / seen_norm(solver, state))
    dual = np.vdot(feasible, p.readings) - 0.5 * np.vdot(feasible, feasible)
    assert found.gap == pytest.approx(abs(bound - dual) / bound)
    assert found.rank == taken.new.rank


def test_single_precision_never_claims_to_be_done():
    solver = HuberSolver(problem())
    state = between(solver)
    single = replace(state, basis=state.basis.astype(np.float32))
    sums = solver._sweep(state)
    taken = solver._proximal(state, sums)
    # A gap of nothing: the objective is made the dual.
    done = replace(taken, nuclear=0.0, dual_norm=0.0)
    zero = replace(
        sums, loss=0.0, C_R=0.0, C_C=0.0, C_Y=taken.C_new - 0.5 * huber._distance(state, taken)
    )
    assert solver._progress(state, zero, done).gap == 0.0
    assert solver._progress(single, zero, done).gap == 2e-6


def test_what_is_expected_of_the_next_point_is_the_linear_model_at_this_one(solver, state):
    Y, C = extrapolated(state), clipped(solver, state)
    sums = solver._sweep(state)
    taken = solver._proximal(state, sums)
    momentum = (4.0, 5.5)
    c = (momentum[0] - 1) / momentum[1]
    after = (1 + c) * taken.new.dense() - c * state.current.dense()
    found = huber._expect(state, sums, taken, momentum)
    assert found.loss == pytest.approx(sums.loss - np.vdot(C, after - Y))
    assert found.distance == pytest.approx(((after - Y) ** 2).sum())
    assert found.mu == state.mu


def test_momentum_grows_as_nesterov_says_and_restarts_uphill(solver):
    state = between(solver, momentum=(3.0, 4.0))
    sums = solver._sweep(state)
    taken = solver._proximal(state, sums)
    Y, L = extrapolated(state), state.current.dense()
    slopes = set()
    for size in (1.0, -0.4, 0.2, 3.0):  # other places for L₊
        new = size * taken.new.dense() + (1 - size) * Y
        inner = Inner(np.vdot(new, new), np.vdot(new, L), np.vdot(L, L))
        moved = replace(taken, inner=inner, new_before=np.vdot(new, state.previous.dense()))
        uphill = np.vdot(Y - new, new - L) > 0
        slopes.add(bool(uphill))
        wanted = (1.0, 1.0) if uphill else (4.0, 0.5 * (1 + np.sqrt(65)))
        found = solver._next_momentum(state, moved, overshot=False)
        assert found == pytest.approx(wanted)
        assert solver._next_momentum(state, moved, overshot=True) == (1.0, 1.0)
    assert slopes == {True, False}


def test_a_step_grows_by_a_quarter_and_never_again_beyond_one_that_overshot():
    solver = HuberSolver(problem())
    state = replace(between(solver, step=1.2), longest=1.4)
    sums = solver._sweep(state)

    def after(curvature, distance=2.0, mu=state.mu, **other):
        expected = Expectation(sums.loss - 0.5 * curvature * distance, distance, mu)
        return solver._next_step(replace(state, expected=expected, **other), sums)

    assert solver._next_step(state, sums) == (1.2, 1 / solver.rate)  # nothing is known yet
    assert after(0.5, mu=2 * state.mu) == (1.2, 1 / solver.rate)  # nor at another μ
    assert after(0.5) == pytest.approx((1.4, 1.4))
    assert after(0.5, longest=9.0) == pytest.approx((1.5, 9.0))
    assert after(0.86) == pytest.approx((0.9 / 0.86, 0.9 / 0.86))  # 1.2 · 0.86 > 1
    assert after(0.99) == (1.0, 1.0)  # one is always safe
    assert after(0.86, longest=1.01)[1] == pytest.approx(1.01)
    assert after(0.8) == pytest.approx((1.4, 1.4))  # 1.2 · 0.8 < 1
    scale = sums.loss + state.point.now
    blind = after(0.5, distance=0.5e-12 * scale)
    assert blind == pytest.approx((1.08, 1.4))
    assert after(0.5, distance=0.5e-12 * scale, step=1.05)[0] == 1.0
    assert after(0.5, distance=2e-12 * scale)[0] != pytest.approx(1.08)


def test_a_point_too_near_the_last_says_nothing_in_its_precision():
    solver = HuberSolver(problem())
    state = between(solver)
    sums = solver._sweep(state)
    scale = sums.loss + state.point.now
    assert state.point.now == pytest.approx((extrapolated(state) ** 2).sum())
    assert state.point.cross == pytest.approx(np.vdot(extrapolated(state), state.current.dense()))
    for kind, share in ((np.float32, 1e-5), (np.float64, 1e-12)):
        for part, blind in ((0.9, True), (1.1, False)):
            expected = Expectation(0.0, part * share * scale, state.mu)
            near = replace(state, basis=state.basis.astype(kind), expected=expected)
            assert huber._blind(near, sums) is blind
    assert not huber._blind(state, sums)


@pytest.mark.parametrize(
    ("nodes", "rank", "size"), [(40, 0, 6), (40, 4, 11), (40, 12, 21), (9, 0, 9)]
)
def test_the_basis_has_a_few_more_directions_than_the_rank(nodes, rank, size):
    """Half of all directions cost as much as all of them."""
    size = nodes if size > nodes // 2 else size
    rng = np.random.default_rng(1)
    R = rng.normal(size=(60, nodes))
    solver = HuberSolver(Problem(R, np.ones(R.shape, bool), 0.3, 1.0))
    given = np.linalg.qr(rng.normal(size=(nodes, rank)))[0]
    basis = solver._basis(given, rank)
    assert basis.shape == (nodes, size)
    np.testing.assert_array_equal(basis[:, :rank], given)
    np.testing.assert_allclose(basis.T @ basis, np.eye(size), atol=1e-10)
    more = np.linalg.qr(rng.normal(size=(nodes, nodes)))[0]
    np.testing.assert_array_equal(solver._basis(more, rank), more[:, :size])


def test_new_directions_are_the_readings_own_one_after_the_other():
    rng = np.random.default_rng(2)
    R = rng.normal(size=(80, 30)) * np.linspace(3, 0.1, 30)
    R[0, 0] = 1e3
    solver = HuberSolver(Problem(R, np.ones(R.shape, bool), 0.3, 1.0))
    limit = 3 * np.sqrt((R**2).mean())
    assert solver._limit == pytest.approx(limit)
    C = np.clip(R, -limit, limit)
    V = np.linalg.svd(C, full_matrices=False)[2].T
    first = solver._basis(np.zeros((30, 0)), 0)
    assert np.abs((V[:, :6] * first).sum(axis=0)) == pytest.approx(1.0)
    again = solver._basis(np.zeros((30, 0)), 0)
    assert np.abs((V[:, 6:12] * again).sum(axis=0)) == pytest.approx(1.0)
    assert solver._norm(first) == pytest.approx(np.linalg.norm(C @ first, 2))
    assert HuberSolver(solver.problem).init().mu == pytest.approx(
        0.5 * np.linalg.norm(C, 2), rel=0.01
    )


def test_the_limit_knows_how_much_was_seen():
    p = problem(rate=0.5)
    wanted = 3 * np.sqrt((p.readings[p.observed] ** 2).mean())
    assert HuberSolver(p)._limit == pytest.approx(wanted)


def test_the_first_directions_alone_are_those_of_all(monkeypatch):
    rng = np.random.default_rng(3)
    R = rng.normal(size=(200, 150)) * np.geomspace(5, 0.1, 150)
    p = Problem(R, np.ones(R.shape, bool), 0.3, 1.0)
    few, whole = HuberSolver(p), HuberSolver(p)
    assert huber._FIRST < 150 // 4
    basis = few._basis(np.zeros((150, 0)), 4)
    assert "reserve" not in few.__dict__
    monkeypatch.setattr(huber, "_FIRST", 0)
    other = whole._basis(np.zeros((150, 0)), 4)
    np.testing.assert_allclose(np.abs((basis * other).sum(axis=0)), 1.0)
    monkeypatch.setattr(huber, "_FIRST", 32)
    few._basis(np.zeros((150, 0)), 12)  # 21 more
    assert "reserve" not in few.__dict__
    few._basis(np.zeros((150, 0)), 4)  # more than the first
    assert "reserve" in few.__dict__


def test_of_very_many_nodes_directions_are_drawn(monkeypatch):
    monkeypatch.setattr(huber, "_EXACT", 20)
    R = np.random.default_rng(3).normal(size=(60, 21))
    p = Problem(R, np.ones(R.shape, bool), 0.3, 1.0)
    one, two = HuberSolver(p, seed=1), HuberSolver(p, seed=2)
    assert one.reserve.shape == (21, 10)
    assert one.first is one.reserve
    assert not np.allclose(one.reserve, two.reserve)
    monkeypatch.setattr(huber, "_EXACT", 21)
    assert HuberSolver(p).reserve.shape == (21, 21)


def test_whitening_makes_columns_orthonormal_and_drops_what_rounding_left():
    rng = np.random.default_rng(4)
    W = rng.normal(size=(50, 5)) * np.geomspace(1e-6, 1e6, 5)
    white = huber._whitening(W.T @ W)
    np.testing.assert_allclose((W @ white).T @ (W @ white), np.eye(5), atol=1e-6)
    twice = np.hstack([W, W[:, :1] * 2])
    assert huber._whitening(twice.T @ twice).shape == (6, 5)


# The stages of μ


def stepped(state, gap, monkeypatch, solver):
    monkeypatch.setattr(solver, "_progress", lambda *_: Progress(1.0, gap, 1))
    return solver.step(state)


@pytest.mark.parametrize(
    ("count", "gap", "falls"),
    [
        (0, 0.1, False),
        (1, 0.1, True),
        (1, 0.3, False),
        (28, 0.3, False),
        (29, 0.3, True),
        (1, 0.2, False),
    ],
)
def test_a_stage_ends_when_it_is_near_its_optimum_or_has_taken_long(count, gap, falls, monkeypatch):
    solver = HuberSolver(problem(mu=2.0))
    state = replace(between(solver, mu=9.0), count=count)
    found = stepped(state, gap, monkeypatch, solver)
    assert found.settled is falls
    assert found.mu == (4.5 if falls else 9.0)
    assert found.count == (0 if falls else count + 1)
    assert found.progress.gap == np.inf  # of another problem
    last = stepped(replace(state, mu=3.0), gap, monkeypatch, solver)
    assert last.mu == (2.0 if falls else 3.0)
    own = stepped(replace(state, mu=2.0), gap, monkeypatch, solver)
    assert (own.mu, own.count, own.progress.gap) == (2.0, count + 1, gap)


@pytest.mark.parametrize(
    ("count", "gap", "double"),
    [(3, 1e-3, False), (3, 0.9e-4, True), (19, 1e-3, False), (20, 1e-3, True)],
)
def test_single_precision_ends_near_the_optimum_or_after_twenty_steps(
    count, gap, double, monkeypatch
):
    solver = HuberSolver(problem(mu=2.0))
    state = replace(between(solver), count=count, basis=between(solver).basis.astype(np.float32))
    found = stepped(state, gap, monkeypatch, solver)
    assert found.basis.dtype == found.current.left.dtype == (np.float64 if double else np.float32)
    earlier = stepped(replace(state, mu=9.0), gap, monkeypatch, solver)
    assert earlier.basis.dtype == np.float32


def test_large_problems_start_in_single_precision(monkeypatch):
    p = problem()
    monkeypatch.setattr(huber, "SMALL", SLOTS * NODES)
    assert not HuberSolver(p).single
    monkeypatch.setattr(huber, "SMALL", SLOTS * NODES - 1)
    solver = HuberSolver(p)
    assert solver.single
    start = solver.init()
    assert start.basis.dtype == start.current.left.dtype == np.float32
    warm = HuberSolver(p, start=low_rank(2, 1), level=0.5).init()
    assert warm.mu == p.mu
    assert HuberSolver(p, start=low_rank(2, 1), level=5.0).init().mu == 5.0
    size = (low_rank(2, 1).dense() ** 2).sum()
    assert (warm.inner.now, warm.inner.cross, warm.inner.before) == pytest.approx([size] * 3)


def test_a_certificate_teaches_directions_only_at_the_problems_own_mu():
    p = problem(mu=0.5)
    solver = HuberSolver(p)
    state = replace(solver.init(), mu=4.0)
    same, proof = solver.certify(state)
    assert same is state
    assert proof.gap == p.certify(state.current).gap
    assert proof.excess.shape[1] > 0
    taught, _ = solver.certify(replace(state, mu=0.5))
    # Directions beyond μ are among those that the next step may take.
    made = np.linalg.lstsq(taught.basis[:, : proof.excess.shape[1]], proof.excess)[0]
    np.testing.assert_allclose(made, np.eye(proof.excess.shape[1]), atol=1e-8)
