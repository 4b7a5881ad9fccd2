"""The problem: objective, gradient, certificate, trivial solution, weights and scaling."""

import numpy as np
import pytest

import fieldmend as fm
import naive
from fieldmend.core import huber, noise, prox
from fieldmend.core.problem import LowRank, Problem, Scaling, default_lam, spectral_edge


def draw(slots, nodes, *, rank=2, rate=0.7, seed=0):
    """A small network: low rank, noise, a few spikes; zero where unobserved."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(slots, rank)) @ rng.normal(size=(rank, nodes))
    R = R + 0.1 * rng.normal(size=R.shape)
    R[rng.random(R.shape) < 0.1] += 4.0
    O = rng.random(R.shape) < rate
    O[0, 0] = True
    return R * O, O


def some(slots, nodes, rank, seed=9):
    rng = np.random.default_rng(seed)
    return LowRank(rng.normal(size=(slots, rank)), rng.normal(size=(nodes, rank)))


SHAPES = [(9, 6), (6, 9), (1, 5), (5, 1), (1, 1)]


# Objective, gradient, anomalies


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lam", [0.1, 0.5, 3.0])
def test_objective_and_anomalies_are_the_paper_s(shape, lam):
    R, O = draw(*shape)
    mu = 0.6
    problem = Problem(R, O, lam, mu)
    L = some(*shape, 2).dense()
    S = problem.anomalies(L)
    np.testing.assert_allclose(S, naive.best_anomalies(R, O, L, lam, mu), atol=1e-14)
    assert not S[~O].any()
    best = naive.objective(R, O, (L, S), lam, mu)
    assert problem.objective(L) == pytest.approx(best, rel=1e-12)
    assert problem.objective(L, S) == pytest.approx(best, rel=1e-12)
    rng = np.random.default_rng(1)
    for size in (1e-3, 0.1, 1.0):  # no other S is better
        other = S + size * rng.normal(size=shape) * O
        value = naive.objective(R, O, (L, other), lam, mu)
        assert problem.objective(L, other) == pytest.approx(value, rel=1e-12)
        assert value >= best


def test_without_anomalies_lambda_is_infinite():
    R, O = draw(8, 5)
    problem = Problem(R, O, np.inf, 0.5)
    L = some(8, 5, 1).dense()
    expected = naive.objective(R, O, (L, np.zeros(R.shape)), np.inf, 0.5)
    assert problem.objective(L) == pytest.approx(expected, rel=1e-12)
    assert problem.objective(L, np.zeros(R.shape)) == pytest.approx(expected, rel=1e-12)
    assert not problem.anomalies(L).any()


@pytest.mark.parametrize("lam", [0.2, 2.0, np.inf])
def test_gradient_by_differences(lam):
    R, O = draw(6, 5)
    problem = Problem(R, O, lam, 0.7)
    L, h = some(6, 5, 2).dense(), 1e-6

    def smooth(L):
        return prox.huber(problem.residual(L), problem.threshold).sum()

    slope = np.zeros(L.shape)
    for index in np.ndindex(L.shape):
        bump = np.zeros(L.shape)
        bump[index] = h
        slope[index] = (smooth(L + bump) - smooth(L - bump)) / (2 * h)
    C = np.clip(problem.residual(L), -problem.threshold, problem.threshold)
    np.testing.assert_allclose(-C, slope, atol=1e-7)
    assert not C[~O].any()


def is_trivial(problem):
    """L = 0 is optimal: its certificate says so."""
    return problem.certify(LowRank.zero(*problem.shape)).gap < 1e-12


# The certificate


@pytest.mark.parametrize("shape", [*SHAPES, (25, 7)])
@pytest.mark.parametrize("lam", [0.15, 1.0, np.inf])
@pytest.mark.parametrize("rank", [0, 1, 3])
def test_certificate_equals_the_dense_one(shape, lam, rank):
    R, O = draw(*shape, seed=rank)
    mu = 0.4
    L = some(*shape, rank, seed=rank)
    proof = Problem(R, O, lam, mu).certify(L)
    dense = L.dense()
    S = naive.best_anomalies(R, O, dense, lam, mu)
    value = naive.objective(R, O, (dense, S), lam, mu)
    assert proof.objective == pytest.approx(value, rel=1e-10)
    gap = min(naive.dual_gap(R, O, dense, lam, mu), value)  # 0 is a lower bound of F as well
    assert proof.gap * value == pytest.approx(gap, rel=1e-8)
    assert proof.gap >= 0


@pytest.mark.parametrize("lam", [0.15, 0.6, np.inf])
@pytest.mark.parametrize("shape", [(12, 7), (7, 12)])
def test_the_gap_is_a_bound_and_closes_at_the_optimum(shape, lam):
    R, O = draw(*shape, seed=4)
    mu = 0.5
    problem = Problem(R, O, lam, mu)
    best, _, least = naive.solve(R, O, lam, mu)
    U, s, Vt = np.linalg.svd(best, full_matrices=False)
    assert problem.certify(LowRank(U * s, Vt.T)).gap <= 1e-9
    for seed in range(5):
        rng = np.random.default_rng(seed)
        size = 10.0 ** rng.uniform(-4, 0)
        near = LowRank((U * s) + size * rng.normal(size=U.shape), Vt.T)
        proof = problem.certify(near)
        assert proof.objective * (1 - proof.gap) <= least * (1 + 1e-12)
        assert proof.objective >= least * (1 - 1e-12)


def test_any_feasible_dual_point_is_a_lower_bound():
    R, O = draw(10, 6, seed=5)
    lam, mu = 0.4, 0.5
    _, _, least = naive.solve(R, O, lam, mu)
    for seed in range(20):
        Y = np.random.default_rng(seed).normal(size=R.shape) * O
        Y = np.clip(Y, -lam * mu, lam * mu)
        Y = Y * min(1.0, mu / np.linalg.norm(Y, 2))
        assert (Y * R).sum() - 0.5 * (Y**2).sum() <= least


def test_excess_directions_are_those_beyond_mu():
    R, O = draw(20, 6, rate=1.0)
    problem = Problem(R, O, np.inf, 1.0)
    excess = problem.certify(LowRank.zero(20, 6)).excess
    s = np.linalg.svd(R, compute_uv=False)
    assert excess.shape == (6, int((s > 1.0).sum()))
    lengths = np.linalg.norm(R @ excess, axis=0)
    np.testing.assert_allclose(np.sort(lengths)[::-1], s[s > 1.0], rtol=1e-10)


@pytest.mark.parametrize("unit", [1e-140, 1e-30, 1e30])
def test_the_certificate_does_not_depend_on_the_unit(unit):
    R, O = draw(12, 5, seed=2)
    L = some(12, 5, 1)
    plain = Problem(R, O, 0.3, 0.5).certify(L)
    proof = Problem(R * unit, O, 0.3, 0.5 * unit).certify(LowRank(L.left * unit, L.right))
    assert proof.gap == pytest.approx(plain.gap, rel=1e-8)


def test_a_tiny_mu_proves_nothing_by_underflow():
    """Squares of small numbers underflow: a certificate must not take that for a proof."""
    R, O = draw(12, 5, seed=2)
    for mu in (1e-50, 1e-100):  # the least that decompose lets through
        d = 0.9 * mu
        shrink = mu / (d * np.linalg.norm(np.sign(R), 2))
        assert shrink < 0.5  # L = 0 is far from optimal
        proof = Problem(R, O, 0.9, mu).certify(LowRank.zero(12, 5))
        assert proof.gap == pytest.approx(1 - shrink, rel=1e-6)


# The trivial solution


@pytest.mark.parametrize("shape", [(9, 6), (6, 9)])
@pytest.mark.parametrize("lam", [0.3, 0.6, np.inf])
def test_trivial_exactly_when_zero_is_optimal(shape, lam):
    R, O = draw(*shape, seed=6)

    def norm(mu):  # of the clipped readings; L = 0 is optimal iff norm ≤ μ
        return np.linalg.norm(np.clip(R, -lam * mu, lam * mu), 2)

    low, high = 1e-6, 2 * np.linalg.norm(R, 2)
    assert norm(high) <= high
    if norm(low) <= low:
        pytest.fail("this λ is trivial at every μ: no edge to look at")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if norm(middle) <= middle else (middle, high)
    for mu, trivial in ((high * 1.001, True), (low * 0.98, False)):
        assert is_trivial(Problem(R, O, lam, mu)) is trivial
        L, _, _ = naive.solve(R, O, lam, mu, enough=1e-10)
        assert bool(np.abs(L).max() < 1e-9) is trivial


def test_the_paper_s_weights_are_trivial_for_positive_data_at_low_rates():
    """p√N ≤ 1 with λ = 1/√n: MATHS.md; the reason why ours are not the paper's."""
    slots, nodes = 400, 25
    rng = np.random.default_rng(0)
    R = 20.0 + rng.normal(size=(slots, nodes))
    trivial = []
    for rate in (0.15, 0.6):
        O = rng.random(R.shape) < rate
        trivial.append(is_trivial(Problem(R * O, O, 1 / np.sqrt(slots), 0.01)))
    assert trivial == [True, False]


# Weights


def test_default_lam_is_candes_s_for_a_square_and_two_sigma_at_the_edge():
    assert default_lam((80, 80), 0.5) == pytest.approx(1 / np.sqrt(0.5 * 80))
    for slots, nodes, rate in ((500, 20, 0.3), (20, 500, 1.0)):
        edge = spectral_edge((slots, nodes), rate)
        assert edge == pytest.approx(np.sqrt(rate) * (np.sqrt(slots) + np.sqrt(nodes)))
        assert default_lam((slots, nodes), rate) * edge == pytest.approx(2.0)


def test_spectral_edge_is_the_norm_of_noise():
    rng = np.random.default_rng(0)
    O = rng.random((600, 200)) < 0.4
    norm = np.linalg.norm(rng.normal(size=O.shape) * O, 2)
    assert norm == pytest.approx(spectral_edge((600, 200), 0.4), rel=0.05)


# Factors


def test_factors():
    L = some(9, 6, 3)
    dense = L.dense()
    assert L.rank == 3
    assert L.nuclear_norm() == pytest.approx(naive.nuclear_norm(dense), rel=1e-12)
    np.testing.assert_allclose(L.transposed().dense(), dense.T, atol=1e-14)
    o = L.orthonormal()
    np.testing.assert_allclose(o.dense(), dense, atol=1e-12)
    np.testing.assert_allclose(o.right.T @ o.right, np.eye(3), atol=1e-12)
    sizes = np.linalg.norm(o.left, axis=0)
    np.testing.assert_allclose(sizes, np.linalg.svd(dense, compute_uv=False)[:3], rtol=1e-12)
    single = L.astype(np.float32)
    assert single.left.dtype == single.right.dtype == np.float32


def test_factors_of_less_rank_than_columns():
    left = np.ones((7, 1)) @ np.ones((1, 4))
    L = LowRank(left, np.ones((5, 4)))
    assert L.orthonormal().rank == 1
    np.testing.assert_allclose(L.orthonormal().dense(), L.dense(), atol=1e-12)
    assert L.nuclear_norm() == pytest.approx(naive.nuclear_norm(L.dense()))


def test_zero_factors():
    zero = LowRank.zero(4, 3, np.float32)
    assert zero.rank == 0
    assert zero.nuclear_norm() == 0
    assert zero.orthonormal().rank == 0
    np.testing.assert_array_equal(zero.dense(), np.zeros((4, 3)))
    assert zero.dense().dtype == np.float32


# Scaling


def test_scaling_is_median_and_mad_of_what_was_observed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 4)) * [1, 10, 0.1, 5] + [0, 100, -3, 7]
    O = rng.random(X.shape) < 0.6
    scaling = Scaling.of(np.where(O, X, 1e9), O, center=True, scale=True)
    for n in range(4):
        x = X[O[:, n], n]
        middle = np.median(x)
        assert scaling.center[n] == pytest.approx(middle, rel=1e-14)
        assert scaling.scale[n] == pytest.approx(1.4826 * np.median(np.abs(x - middle)))
    R = scaling.apply(X, O)
    np.testing.assert_allclose(R[O], ((X - scaling.center) / scaling.scale)[O], rtol=1e-9)
    assert not R[~O].any()


def test_scaling_of_odd_nodes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 5)) * [1, 2, 3, 4, 5]
    X[:, 1] = 7.0  # constant
    X[:, 2] = np.where(np.arange(40) < 30, 0.0, X[:, 2])  # at night mostly zero
    O = np.ones(X.shape, bool)
    O[:, 3] = False  # never heard of
    scaling = Scaling.of(X, O, center=True, scale=True)
    assert scaling.center[1] == 7.0
    assert scaling.scale[2] == pytest.approx(1.4826 * np.median(np.abs(X[30:, 2])))
    usual = np.median(scaling.scale[[0, 2, 4]])
    assert scaling.scale[1] == scaling.scale[3] == pytest.approx(usual)
    assert scaling.center[3] == pytest.approx(np.median(scaling.center[[0, 1, 2, 4]]))


def test_no_scaling_when_not_asked_for():
    X = np.random.default_rng(2).normal(size=(9, 3)) * 50
    O = np.ones(X.shape, bool)
    neither = Scaling.of(X, O, center=False, scale=False)
    np.testing.assert_array_equal(neither.apply(X, O), X)
    centred = Scaling.of(X, O, center=True, scale=False)
    np.testing.assert_allclose(centred.apply(X, O), X - np.median(X, axis=0), atol=1e-13)


def test_undo_and_rebase_are_the_same_field():
    rng = np.random.default_rng(3)
    X, O = rng.normal(size=(30, 4)) * [1, 9, 0.2, 3] + 50, np.ones((30, 4), bool)
    a = Scaling.of(X, O, center=True, scale=True)
    b = Scaling.of(2 * X[::-1] + 7, O, center=True, scale=True)
    L = some(30, 4, 2)
    field = a.undo(L, np.dtype(np.float64))
    np.testing.assert_allclose(field, L.dense() * a.scale + a.center, rtol=1e-12)
    np.testing.assert_allclose(b.undo(a.rebase(L, b), np.dtype(np.float64)), field, rtol=1e-10)
    assert a.undo(L, np.dtype(np.float32)).dtype == np.float32


def test_absurd_readings_are_bounded_once_scaled():
    X = np.random.default_rng(4).normal(size=(50, 3))
    X[3, 1], X[4, 1], X[5, 2] = 1e308, -1e308, 1e30
    O = np.ones(X.shape, bool)
    scaling = Scaling.of(X, O, center=True, scale=True)
    R = scaling.apply(X, O)
    assert np.abs(R).max() <= 1e5
    assert R[3, 1] == -R[4, 1] == R[5, 2] == np.abs(R).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_middles_of_all_nodes_at_once_are_those_of_each(dtype):
    rng = np.random.default_rng(3)
    for slots in (1, 7, 200):
        sizes = np.abs(rng.normal(size=(slots, 6))).astype(dtype)
        sizes[:, 0] = 0
        seen = rng.random(sizes.shape) < 0.6
        seen[:, 1] = False
        each = [noise._middle(sizes[own, n]) for n, own in enumerate(seen.T)]
        ranked = noise._ByNode.of(seen).sorted(sizes)
        assert ranked.dtype == dtype
        found, count = noise._middles(ranked)
        np.testing.assert_array_equal(found, each)
        np.testing.assert_array_equal(count, seen.sum(axis=0))


def scaled_network():
    net = fm.simulate.network(300, 20, sampling=0.6, seed=4)
    return fm.decompose(net.readings).scaling.apply(net.readings, net.observed), net.observed


def test_noise_in_single_precision_is_that_in_double(monkeypatch):
    given, observed = scaled_network()
    double = noise.estimate_noise(given, observed)
    for module in (huber, noise):
        monkeypatch.setattr(module, "SMALL", 1000)
    single = noise.estimate_noise(given, observed)
    assert single.level != double.level
    # A hundredth of what chance leaves open of a level, and of each node's.
    assert abs(single.level / double.level - 1) < 0.01 / np.sqrt(observed.sum())
    off = np.abs(single.weight / double.weight - 1)
    assert (off < 0.01 / np.sqrt(observed.sum(axis=0))).all()


@pytest.mark.parametrize("small", [1000, 1e6])
def test_one_reading_however_large_is_no_noise(small, monkeypatch):
    for module in (huber, noise):
        monkeypatch.setattr(module, "SMALL", small)
    given, observed = scaled_network()
    plain = noise.estimate_noise(given, observed).level
    given[tuple(np.argwhere(observed)[100])] = 1e80
    assert plain / 2 < noise.estimate_noise(given, observed).level < plain * 2
