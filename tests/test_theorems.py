"""The paper's theorems, checked on numbers: convergence rate, error bound, exact recovery."""

import numpy as np
import pytest

import fieldmend as fm
import naive
from fieldmend.core.apg import PaperSolver
from fieldmend.core.problem import Problem
from fieldmend.diagnostics import recovery_bound


def draw(slots, nodes, rate, seed):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(slots, 2)) @ rng.normal(size=(2, nodes))
    R = R + 0.2 * rng.normal(size=R.shape)
    R[rng.random(R.shape) < 0.05] += 5.0
    O = rng.random(R.shape) < rate
    return R * O, O


# Theorem 2 and its lemma: the rate of the accelerated proximal gradient

RATE_CASES = [(20, 12, 1.0, 0.3, 1.0), (12, 20, 0.6, 0.3, 0.5), (15, 15, 0.4, 0.2, 0.3)]


def descent(slots, nodes, rate, lam, mu, *, steps):
    """F(X_k) − F*, k = 1 … steps, along Table III at a fixed μ; and ‖X_1 − X*‖²."""
    R, O = draw(slots, nodes, rate, seed=slots)
    L, S, least = naive.solve(R, O, lam, mu, iterations=50_000, enough=1e-13)
    solver = PaperSolver(Problem(R, O, lam, mu), continuation=False)
    state, values, first = solver.init(), [], None
    for _ in range(steps):
        state = solver.step(state)
        assert state.mu == mu
        values.append(naive.objective(R, O, (state.dense, state.S), lam, mu))
        if first is None:
            first = ((state.dense - L) ** 2).sum() + ((state.S - S) ** 2).sum()
    assert solver.problem.objective(state.dense, state.S) == pytest.approx(values[-1], rel=1e-12)
    assert state.progress.objective == pytest.approx(values[-1], rel=1e-12)
    return np.array(values) - least, first


@pytest.mark.parametrize(("slots", "nodes", "rate", "lam", "mu"), RATE_CASES)
def test_theorem_2_the_objective_falls_like_one_over_k_squared(slots, nodes, rate, lam, mu):
    """F(X_k) − F(X*) ≤ 4‖X_1 − X*‖_F²/k² for all k ≥ 1."""
    excess, first = descent(slots, nodes, rate, lam, mu, steps=300)
    k = np.arange(1, 301)
    assert excess[0] > 0
    assert (excess >= -1e-10).all()
    assert (excess <= 4 * first / k**2 + 1e-10).all()


@pytest.mark.parametrize(("slots", "nodes", "rate", "lam", "mu"), RATE_CASES[:2])
def test_lemma_one_over_root_epsilon_iterations(slots, nodes, rate, lam, mu):
    """From the first k with k ≥ 2‖X_1 − X*‖/√ε on, F(X_k) − F(X*) ≤ ε."""
    excess, first = descent(slots, nodes, rate, lam, mu, steps=300)
    tried = 0
    for epsilon in 10.0 ** np.arange(2, -6, -0.5):
        enough = int(np.ceil(2 * np.sqrt(first / epsilon)))
        if 1 <= enough <= 300:
            tried += 1
            assert (excess[enough - 1 :] <= epsilon).all()
    assert tried >= 5


def test_continuation_reaches_the_same_optimum():
    """With μ_k falling to μ (erratum 5) the rate is not the theorem's; the limit is the same."""
    R, O = draw(20, 12, 0.7, seed=1)
    lam, mu = 0.3, 0.5
    _, _, least = naive.solve(R, O, lam, mu)
    solver = PaperSolver(Problem(R, O, lam, mu))
    state = solver.init()
    levels = [state.mu]
    for _ in range(400):
        state = solver.step(state)
        levels.append(state.mu)
    assert levels[0] == pytest.approx(0.99 * np.linalg.norm(R, 2))
    assert levels[-1] == mu
    falling = np.array(levels[: levels.index(mu)])
    np.testing.assert_allclose(falling[1:] / falling[:-1], 0.9)
    assert naive.objective(R, O, (state.dense, state.S), lam, mu) == pytest.approx(least, rel=1e-7)
    assert not state.S[~O].any()  # erratum 1: S_0 = 0 keeps S zero off O


# Theorem 1: the error is bounded by the noise


@pytest.mark.parametrize("rate", [0.6, 1.0])
@pytest.mark.parametrize("noise", [0.01, 0.3])
@pytest.mark.parametrize("shape", [(40, 40), (60, 30)])
def test_theorem_1_the_error_is_within_the_bound(shape, noise, rate):
    """(‖L̂ − L‖² + ‖Ŝ − S‖²)^½ ≤ (8n√(40n + 40n/p + 5) + √2)δ, with δ = ‖P_O(Z)‖_F."""
    net = fm.simulate.network(
        *shape, rank=2, sampling=rate, noise=noise, anomaly_rate=0.03, seed=shape[0]
    )
    O = net.observed
    Z = np.where(O, net.readings - net.truth - net.anomalies, 0.0)
    delta = float(np.linalg.norm(Z))
    lam = 1 / np.sqrt(max(shape))
    out = fm.decompose(
        net.readings, delta=delta, lam=lam, center=False, scale=False, max_iter=20_000
    )
    left = np.where(O, net.readings - out.low_rank - out.sparse, 0.0)
    assert np.linalg.norm(left) <= delta * (1 + 1e-6)  # it is the constrained problem
    error = np.linalg.norm(out.low_rank - net.truth) ** 2
    error += np.linalg.norm(out.sparse - net.anomalies) ** 2
    bound = recovery_bound(max(shape), rate, delta)
    assert np.sqrt(error) <= bound
    if rate == 1:  # the theorem's constant is generous; the error is of the order of the noise
        assert np.sqrt(error) <= 20 * delta


def test_theorem_1_the_error_falls_with_the_noise():
    """The bound is linear in δ, and so is the error: no noise, no error."""
    errors, deltas = [], []
    for noise in (1.0, 0.1, 0.01):
        net = fm.simulate.network(
            40, 40, rank=2, sampling=0.8, noise=noise, anomaly_rate=0.03, seed=5
        )
        Z = np.where(net.observed, net.readings - net.truth - net.anomalies, 0.0)
        deltas.append(np.linalg.norm(Z))
        out = fm.decompose(net.readings, delta=deltas[-1], center=False, scale=False)
        errors.append(np.linalg.norm(out.low_rank - net.truth))
    ratios = np.array(errors) / np.array(deltas)
    assert ratios.max() < 10
    assert errors[0] > 5 * errors[1] > 25 * errors[2]


# Exact recovery without noise


@pytest.mark.parametrize("rate", [0.6, 0.8, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_recovery_in_the_data_s_own_units(rate, seed):
    """Rank 5, 100 × 100, 3 % anomalies: NSE < 1e-8 with λ = 1/√(pn) and a small μ."""
    net = fm.simulate.network(
        100, 100, rank=5, sampling=rate, anomaly_rate=0.03, noise=0.0, seed=seed
    )
    lam = 1 / np.sqrt(rate * 100)
    out = fm.decompose(net.readings, lam=lam, mu=0.01, center=False, scale=False)
    assert out.status is fm.Status.CONVERGED
    assert naive.nse(out.estimate, net.truth) < 1e-8
    assert out.rank == 5
    np.testing.assert_array_equal(np.abs(out.sparse) > 0.1, net.support)
    np.testing.assert_allclose(out.sparse, net.anomalies, atol=0.05)


@pytest.mark.parametrize("rate", [0.6, 1.0])
@pytest.mark.parametrize("debias", [False, True])
def test_exact_recovery_with_the_defaults(rate, debias):
    net = fm.simulate.network(100, 100, rank=5, sampling=rate, anomaly_rate=0.03, noise=0.0, seed=2)
    out = fm.decompose(net.readings, debias=debias)
    assert naive.nse(out.estimate, net.truth) < 1e-8
    size = np.abs(net.anomalies[net.support]).min()
    np.testing.assert_array_equal(np.abs(out.sparse) > 0.01 * size, net.support)


def test_exact_recovery_by_the_paper_s_algorithm():
    net = fm.simulate.network(40, 40, rank=2, sampling=0.9, anomaly_rate=0.03, noise=0.0, seed=3)
    out = fm.decompose(net.readings, method="apg", mu=0.1, center=False, scale=False)
    assert naive.nse(out.estimate, net.truth) < 1e-8


def test_separation_is_the_case_of_full_observation():
    """O = everything: LS-Separation, Section III's special case, recovers both parts."""
    net = fm.simulate.network(60, 40, rank=3, sampling=1.0, anomaly_rate=0.05, noise=0.0, seed=4)
    assert net.observed.all()
    out = fm.decompose(net.readings, mu=0.01, center=False, scale=False)
    assert naive.nse(out.low_rank, net.truth) < 1e-8
    np.testing.assert_array_equal(np.abs(out.sparse) > 0.1, net.support)
