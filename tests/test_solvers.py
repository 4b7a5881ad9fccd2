"""Every method against the slow reference, and the convex ones against CVXPY."""

import numpy as np
import pytest

import fieldmend as fm
import naive
from fieldmend.core.huber import HuberSolver
from fieldmend.core.loop import Limits, Status, run
from fieldmend.core.problem import LowRank, Problem

LITERAL = {"center": False, "scale": False}  # the paper's problem, in the data's own units


def draw(slots, nodes, *, rank=2, rate=0.7, seed=0, noise=0.1):
    """Readings with spikes, NaN where lost, and the mask."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(slots, rank)) @ rng.normal(size=(rank, nodes))
    X = X + noise * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.08] += 4.0
    O = rng.random(X.shape) < rate
    O[rng.integers(slots), rng.integers(nodes)] = True
    return np.where(O, X, np.nan), O


def check(X, out, lam, mu, *, least):
    """Within 1e-6 of the optimum, proven, and S zero off O."""
    O = ~np.isnan(X)
    assert out.status is fm.Status.CONVERGED
    value = naive.objective(X, O, (out.low_rank, out.sparse), lam, mu)
    assert value == pytest.approx(least, rel=1e-6)
    assert out.objective == pytest.approx(value, rel=1e-9)
    assert 0 <= out.gap <= 1e-6
    true_gap = naive.dual_gap(X, O, out.low_rank, lam, mu) / value
    assert -1e-12 <= true_gap <= 1e-6
    assert not out.sparse[~O].any()
    assert out.rank == np.linalg.matrix_rank(out.low_rank)


# Random shapes, sampling rates and weights, slots above and below nodes; the first few by hand.
def cases():
    rng = np.random.default_rng(2024)
    fixed = [(20, 6, 1.0, 0.3, 0.5), (6, 20, 0.5, 0.3, 0.5), (1, 9, 0.8, 0.5, 0.3)]
    fixed += [(9, 1, 0.8, 0.5, 0.3), (1, 1, 1.0, 2.0, 0.1), (15, 15, 0.2, 0.4, 0.2)]
    for _ in range(14):
        slots, nodes = rng.integers(2, 28, 2)
        rate = rng.uniform(0.15, 1.0)
        lam, mu = 10 ** rng.uniform(-1.2, 0.2), 10 ** rng.uniform(-1.2, 0.7)
        fixed.append((int(slots), int(nodes), rate, lam, mu))
    return [pytest.param(*c, id=f"{c[0]}x{c[1]} p={c[2]:.2f}") for c in fixed]


@pytest.mark.parametrize(("slots", "nodes", "rate", "lam", "mu"), cases())
def test_ls_apg_and_mc_reach_the_reference(slots, nodes, rate, lam, mu):
    X, O = draw(slots, nodes, rate=rate, seed=slots + 100 * nodes)
    _, _, least = naive.solve(X, O, lam, mu)
    for method in ("ls", "apg"):
        out = fm.decompose(X, method=method, lam=lam, mu=mu, max_iter=20_000, **LITERAL)
        check(X, out, lam, mu, least=least)
    _, _, least = naive.solve(X, O, np.inf, mu)
    out = fm.decompose(X, method="mc", mu=mu, max_iter=20_000, **LITERAL)
    check(X, out, np.inf, mu, least=least)
    assert not out.sparse.any()


def test_the_reference_itself_descends_from_plain_ista():
    """FISTA's answer is a fixed point of one plain proximal step."""
    X, O = draw(12, 8, seed=3)
    L, S, _ = naive.solve(X, O, 0.4, 0.5, enough=1e-13)
    residual = naive.only(O, X) - naive.only(O, L) - S
    np.testing.assert_allclose(naive.shrink_singular_values(L + residual, 0.5), L, atol=1e-8)


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
@pytest.mark.parametrize("method", ["ls", "mc"])
def test_any_tolerance_is_kept(method, tol):
    X, O = draw(25, 9, seed=11)
    lam = np.inf if method == "mc" else 0.4
    weights = {"mu": 0.5} if method == "mc" else {"lam": 0.4, "mu": 0.5}
    out = fm.decompose(X, method=method, tol=tol, **weights, **LITERAL)
    value = naive.objective(X, O, (out.low_rank, out.sparse), lam, 0.5)
    assert out.gap <= tol
    assert naive.dual_gap(X, O, out.low_rank, lam, 0.5) <= tol * value * (1 + 1e-6)


# CVXPY


def convex(X, O, lam, mu, *, smooth=None):
    """min μ‖L‖_* + μλ‖S‖₁ (or μλS(L)) + ½‖P_O(R − L − S)‖², by an interior point method."""
    cp = pytest.importorskip("cvxpy")
    R, M = np.where(O, X, 0.0), O.astype(float)
    L = cp.Variable(R.shape)
    cost, S = mu * cp.normNuc(L), np.zeros(R.shape)
    if smooth is not None:
        for axis in (0, 1):
            if R.shape[axis] > 1:
                cost += mu * smooth * cp.sum_squares(cp.diff(L, axis=axis))
    elif np.isfinite(lam):
        S = cp.Variable(R.shape)
        cost += mu * lam * cp.sum(cp.abs(S))
    cost += 0.5 * cp.sum_squares(cp.multiply(M, R - L - S))
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL)  # to 1e-8
    return problem.value


@pytest.mark.parametrize(
    ("slots", "nodes", "rate", "lam", "mu"),
    [
        (10, 6, 1.0, 0.4, 0.5),
        (6, 10, 0.6, 0.25, 0.3),
        (8, 8, 0.4, 0.6, 1.0),
        (9, 4, 0.8, np.inf, 0.4),
        (4, 9, 0.5, np.inf, 0.8),
    ],
)
def test_ls_apg_and_mc_reach_cvxpy(slots, nodes, rate, lam, mu):
    X, O = draw(slots, nodes, rate=rate, seed=slots)
    least = convex(X, O, lam, mu)
    for method in ("ls", "apg") if np.isfinite(lam) else ("mc",):
        weights = {"mu": mu} if method == "mc" else {"lam": lam, "mu": mu}
        out = fm.decompose(X, method=method, **weights, **LITERAL)
        check(X, out, lam, mu, least=least)


@pytest.mark.parametrize(("slots", "nodes"), [(9, 6), (5, 8), (1, 6), (6, 1)])
def test_srmf_reaches_cvxpy(slots, nodes):
    X, O = draw(slots, nodes, rate=0.7, seed=slots)
    lam, mu = 0.3, 0.4
    out = fm.decompose(X, method="srmf", lam=lam, mu=mu, tol=1e-9, **LITERAL)
    value = naive.smooth_objective(X, O, out.low_rank, lam, mu)
    assert out.objective == pytest.approx(value, rel=1e-9)
    assert value == pytest.approx(convex(X, O, np.inf, mu, smooth=lam), rel=1e-6)
    assert np.isnan(out.gap)
    assert not out.sparse.any()


# SRMF in factors


def test_factored_srmf_is_stationary_and_never_worse_than_its_neighbours():
    X, O = draw(14, 7, rate=0.7, seed=1)
    lam = 0.2
    out = fm.decompose(X, method="srmf", factored=True, rank=2, lam=lam, tol=1e-12, **LITERAL)
    B, A = out.factors.left, out.factors.right
    value = naive.factored_smooth_objective(X, O, A, B, lam)
    assert out.objective == pytest.approx(value, rel=1e-9)
    assert out.rank == 2
    np.testing.assert_allclose(out.low_rank, B @ A.T, atol=1e-12)
    h = 1e-5
    for F, other in ((A, False), (B, True)):
        for index in np.ndindex(F.shape):
            bump = np.zeros(F.shape)
            bump[index] = h
            up, down = (
                naive.factored_smooth_objective(X, O, A + e, B, lam)
                if not other
                else naive.factored_smooth_objective(X, O, A, B + e, lam)
                for e in (bump, -bump)
            )
            assert abs(up - down) / (2 * h) < 1e-3 * value


def test_factored_srmf_falls_in_every_sweep():
    X, _ = draw(20, 10, rate=0.6, seed=2)
    out = fm.decompose(X, method="srmf", factored=True, rank=3, lam=0.1, tol=1e-9)
    values = [row.objective for row in out.trace]
    assert (np.diff(values) <= 1e-9 * values[0]).all()


# The oracle


def test_oracle_told_the_spaces_is_least_squares():
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(12, 2)), rng.normal(size=(9, 2))
    X = (
        U @ rng.normal(size=(2, 9))
        + rng.normal(size=(12, 2)) @ V.T
        + 0.1 * rng.normal(size=(12, 9))
    )
    support = rng.random(X.shape) < 0.1
    X[support] += 50.0
    O = rng.random(X.shape) < 0.85
    X = np.where(O, X, np.nan)
    support &= O
    out = fm.decompose(X, method="oracle", support=support, space=(U, V), tol=1e-12)
    expected = naive.oracle(np.where(O, X, 0.0), O & ~support, U, V)
    np.testing.assert_allclose(out.estimate, expected, atol=1e-6)
    np.testing.assert_allclose(out.sparse[support], (X - expected)[support], atol=1e-6)
    assert not out.sparse[~support].any()
    assert out.objective == pytest.approx(0.5 * naive.misfit(X, O & ~support, expected), rel=1e-9)


def test_oracle_told_the_spaces_recovers_a_field_without_noise():
    net = fm.simulate.network(60, 25, rank=3, noise=0.0, sampling=0.6, seed=2)
    U, _, Vt = np.linalg.svd(net.truth)
    out = fm.decompose(
        net.readings,
        method="oracle",
        support=net.support,
        space=(U[:, :3], Vt[:3].T),
        tol=1e-12,
    )
    assert naive.nse(out.estimate, net.truth) < 1e-16
    np.testing.assert_allclose(out.sparse, net.anomalies, atol=1e-5)


def test_oracle_told_the_rank():
    net = fm.simulate.network(60, 25, rank=3, noise=0.0, sampling=0.7, seed=1)
    out = fm.decompose(net.readings, method="oracle", support=net.support, rank=3, tol=1e-14)
    assert naive.nse(out.estimate, net.truth) < 1e-10
    assert out.rank == 3
    np.testing.assert_array_equal(out.sparse != 0, net.support)


def test_oracle_told_the_rank_of_everything_observed_is_the_truncated_svd():
    X = np.random.default_rng(3).normal(size=(20, 8)) * [9, 7, 5, 3, 1, 1, 1, 1]
    out = fm.decompose(X, method="oracle", rank=2, tol=1e-13)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(out.estimate, (U[:, :2] * s[:2]) @ Vt[:2], atol=1e-4)


# Large problems run in single precision first


@pytest.fixture(scope="module")
def large():
    """Above the 2e5 entries from which single precision is used."""
    return fm.simulate.network(2100, 100, rank=4, sampling=0.5, seed=6)


def test_single_precision_first_agrees_with_double(large):
    X, O = large.readings, large.observed
    lam, mu = 0.05, 1000.0
    out = fm.decompose(X, lam=lam, mu=mu, **LITERAL)
    assert out.status is fm.Status.CONVERGED
    assert out.estimate.dtype == np.float64
    problem = Problem(np.where(O, X, 0.0), O, lam, mu)
    solver = HuberSolver(problem)
    assert solver.single
    solver.single = False
    double = run(solver, Limits(tol=1e-8))
    assert double.status is Status.CONVERGED
    assert out.objective == pytest.approx(double.proof.objective, rel=1e-6)
    assert problem.objective(out.low_rank, out.sparse) == pytest.approx(out.objective, rel=1e-9)
    difference = np.linalg.norm(out.low_rank - double.state.current.dense())
    assert difference < 1e-3 * np.linalg.norm(out.low_rank)


def test_single_precision_first_agrees_with_the_paper_s_algorithm():
    X = fm.simulate.network(20_100, 10, rank=2, seed=1).readings  # few nodes: a cheap full SVD
    lam, mu = 0.01, 8000.0
    assert HuberSolver(Problem(X, ~np.isnan(X), lam, mu)).single
    fast = fm.decompose(X, lam=lam, mu=mu, **LITERAL)
    slow = fm.decompose(X, method="apg", lam=lam, mu=mu, **LITERAL)
    assert fast.objective == pytest.approx(slow.objective, rel=1e-6)
    assert max(fast.gap, slow.gap) <= 1e-6


def test_a_start_close_to_the_optimum_needs_few_steps():
    X, O = draw(60, 20, rate=0.6, seed=8)
    problem = Problem(np.where(O, X, 0.0), O, 0.2, 1.0)
    cold = run(HuberSolver(problem), Limits())
    warm = run(HuberSolver(problem, start=cold.state.current), Limits())
    assert warm.status is Status.CONVERGED
    assert len(warm.trace) <= 3 < len(cold.trace)
    assert warm.proof.objective == pytest.approx(cold.proof.objective, rel=1e-6)


def test_a_bad_start_does_no_harm():
    X, O = draw(30, 12, rate=0.6, seed=8)
    problem = Problem(np.where(O, X, 0.0), O, 0.3, 0.5)
    rng = np.random.default_rng(0)
    wild = LowRank(1e3 * rng.normal(size=(30, 5)), rng.normal(size=(12, 5)))
    cold, warm = (
        run(HuberSolver(problem), Limits()),
        run(HuberSolver(problem, start=wild), Limits()),
    )
    assert warm.status is Status.CONVERGED
    assert warm.proof.objective == pytest.approx(cold.proof.objective, rel=1e-6)
