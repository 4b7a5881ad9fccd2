"""The refit of the convex solution: one sweep against loops, and the rules around it."""

import numpy as np
import pytest

from fieldmend.core import refit
from fieldmend.core.problem import LowRank

SLOTS, NODES, RANK = 14, 5, 2


@pytest.fixture
def case():
    """Readings, and a model on its way that is unsure of everything."""
    rng = np.random.default_rng(0)
    B = np.hstack([rng.normal(size=(SLOTS, RANK)), np.ones((SLOTS, 1))])
    A = np.hstack([rng.normal(size=(NODES, RANK)), 0.3 * rng.normal(size=(NODES, 1))])
    R = B @ A.T + 0.3 * rng.normal(size=(SLOTS, NODES))
    R[4, 1] += 3.0
    seen = rng.random(R.shape) < 0.8
    seen[4, 1] = True
    pack = refit._Packing(RANK + 1)
    spread = rng.normal(size=(SLOTS + NODES, RANK + 1, RANK + 1)) * 0.2
    cov = spread @ np.swapaxes(spread, 1, 2)
    cov[:SLOTS, RANK], cov[:SLOTS, :, RANK] = 0.0, 0.0  # the factor that is always 1 is known
    noise = rng.uniform(0.2, 0.6, NODES)
    gamma = np.array([0.7, 1.3, 0.01])
    m = refit.Model(B, pack.pack(cov[:SLOTS]), A, pack.pack(cov[SLOTS:]), gamma, noise, 0.9)
    solver = refit.MixtureSolver(R * seen, seen, LowRank(B, A), noise=0.3)
    return solver, m, cov[:SLOTS], cov[SLOTS:]


def naive(solver, m, slot_cov, node_cov):
    """One sweep of variational Bayes, entry by entry, as the module's text has it."""
    R, seen, r = solver.readings, solver.observed, RANK
    good, square = np.zeros(R.shape), np.zeros(R.shape)
    for t in range(SLOTS):
        for n in range(NODES):
            a, b = m.nodes[n], m.slots[t]
            # E(y − aᵀb)² with a and b independent.
            both = np.outer(a, a) + node_cov[n], np.outer(b, b) + slot_cov[t]
            square[t, n] = (R[t, n] - a @ b) ** 2 + np.trace(both[0] @ both[1]) - (a @ b) ** 2
            s = m.noise[n]
            fits = m.good * np.exp(-square[t, n] / (2 * s * s)) / (np.sqrt(2 * np.pi) * s)
            flat = (1 - m.good) / solver.width
            good[t, n] = seen[t, n] * fits / (fits + flat)
    w = good / m.noise**2
    B, cov = np.ones((SLOTS, r + 1)), np.zeros((SLOTS, r + 1, r + 1))
    moments = [np.outer(a, a) + c for a, c in zip(m.nodes, node_cov, strict=True)]
    for t in range(SLOTS):
        H = sum(w[t, n] * moments[n] for n in range(NODES))
        cov[t, :r, :r] = np.linalg.inv(H[:r, :r] + np.eye(r))
        pull = sum(w[t, n] * R[t, n] * m.nodes[n, :r] for n in range(NODES)) - H[:r, r]
        B[t, :r] = cov[t, :r, :r] @ pull
    A, held = np.zeros((NODES, r + 1)), np.zeros((NODES, r + 1, r + 1))
    for n in range(NODES):
        H = sum(w[t, n] * (np.outer(B[t], B[t]) + cov[t]) for t in range(SLOTS))
        held[n] = np.linalg.inv(H + np.diag(m.precision))
        A[n] = held[n] @ sum(w[t, n] * R[t, n] * B[t] for t in range(SLOTS))
    unit = np.array([np.sqrt((B[:, k] ** 2 + cov[:, k, k]).mean()) for k in range(r)] + [1.0])
    return B / unit, cov / np.outer(unit, unit), A * unit, held * np.outer(unit, unit), good, square


def test_a_sweep_is_variational_bayes_entry_by_entry(case):
    solver, m, *covs = case
    found, pack = solver.step(m), refit._Packing(RANK + 1)
    B, slot_cov, A, node_cov, good, square = naive(solver, m, *covs)
    np.testing.assert_allclose(found.slots, B, rtol=1e-9)
    np.testing.assert_allclose(pack.unpack(found.slot_cov), slot_cov, atol=1e-12)
    np.testing.assert_allclose(found.nodes, A, rtol=1e-9)
    np.testing.assert_allclose(pack.unpack(found.node_cov), node_cov, atol=1e-12)
    size = (A**2 + np.array([np.diag(c) for c in node_cov])).mean(axis=0)
    np.testing.assert_allclose(found.precision, [*1 / size[:RANK], refit._MEAN])
    usual = (good * square).sum() / good.sum()
    own = ((good * square).sum(axis=0) + 10 * usual) / (good.sum(axis=0) + 10)
    np.testing.assert_allclose(found.noise, np.maximum(np.sqrt(own), 0.7 * m.noise))
    assert found.good == pytest.approx(good.sum() / solver.observed.sum())
    moved = np.abs(found.noise / m.noise - 1).max()
    assert found.progress.gap == pytest.approx(moved)
    assert found.progress.objective == pytest.approx((good * square).sum())
    assert found.progress.rank == RANK
    assert solver.certify(found) == (found, found.progress)


def test_the_start_is_balanced_and_no_surer_than_its_residual(case):
    solver, *_ = case
    L = LowRank(4.0 * solver.start.left[:, :RANK], solver.start.right[:, :RANK])
    made = refit.MixtureSolver(solver.readings, solver.observed, L, noise=0.01).init()
    np.testing.assert_allclose((made.slots[:, :RANK] ** 2).mean(axis=0), 1.0)
    np.testing.assert_allclose(made.low_rank.dense(), L.dense())
    assert (made.slots[:, -1] == 1).all()
    assert (made.nodes[:, -1] == 0).all()
    rest = np.abs(solver.readings - L.dense())[solver.observed]
    np.testing.assert_allclose(made.noise, 1.4826 * np.median(rest))
    size = (made.nodes[:, :RANK] ** 2).mean(axis=0)
    np.testing.assert_allclose(made.precision, [*1 / size, 0.01])
    assert made.slot_cov.shape == (SLOTS, 6)
    assert not made.slot_cov.any()
    assert not made.node_cov.any()
    loud = refit.MixtureSolver(solver.readings, solver.observed, L, noise=50.0).init()
    assert (loud.noise == 50).all()
    nobody = np.zeros_like(solver.observed)
    assert (refit.MixtureSolver(solver.readings, nobody, L, noise=0.2).init().noise == 0.2).all()
    assert refit.MixtureSolver(solver.readings, solver.observed, made, noise=1.0).init() is made


def test_packed_matrices_come_back_and_their_products_are_sums():
    rng = np.random.default_rng(1)
    M = rng.normal(size=(4, 3, 3))
    M = M + np.swapaxes(M, 1, 2)
    pack = refit._Packing(3)
    assert pack.pack(M).shape == (4, 6)
    np.testing.assert_array_equal(pack.unpack(pack.pack(M)), M)
    x = rng.normal(size=(4, 3))
    np.testing.assert_allclose(pack.unpack(pack.outer(x)), x[:, :, None] * x[:, None, :])
    inner = (pack.twice(pack.pack(M)) * pack.outer(x)).sum(axis=1)
    np.testing.assert_allclose(inner, np.einsum("ni,nij,nj->n", x, M, x))


def test_where_noise_and_anomaly_are_equally_likely(case):
    _, m, *_ = case
    width = 50.0
    found = refit._crossing(m, width)
    fits = m.good / (np.sqrt(2 * np.pi) * m.noise) * np.exp(-0.5 * (found / m.noise) ** 2)
    np.testing.assert_allclose(fits, (1 - m.good) / width)
    # However narrow the range, a residual of less than √2 σ is noise.
    np.testing.assert_allclose(refit._crossing(m, 1e-9), np.sqrt(2) * m.noise)


def test_anomalies_lie_within_twice_the_range_of_nearly_all_readings(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 6))
    seen = rng.random(X.shape) < 0.7
    X[5, 3], seen[5, 3] = 1e9, True
    found = refit._width(X, seen)
    assert found == pytest.approx(2 * np.quantile(np.abs(X[seen]), 0.995))
    assert refit._width(X, np.zeros_like(seen)) == 1.0
    assert refit._width(np.zeros((3, 3)), np.ones((3, 3), bool)) > 0
    monkeypatch.setattr(refit, "_ENOUGH", 800)  # every third slot is looked at
    assert refit._width(X, seen) == pytest.approx(2 * np.quantile(np.abs(X[::3][seen[::3]]), 0.995))


def test_the_hidden_error_leaves_the_worst_tenth_out(case):
    solver, m, *_ = case
    rng = np.random.default_rng(3)
    for count in (1, 9, 10, 31):
        hidden = np.zeros(SLOTS * NODES, bool)
        hidden[rng.permutation(SLOTS * NODES)[:count]] = True
        hidden = hidden.reshape(SLOTS, NODES)
        off = np.sort(np.abs(solver.readings - m.slots @ m.nodes.T)[hidden])
        wanted = off[: max(1, int(0.9 * count))].mean()
        assert refit._hidden_error(solver.readings, hidden, m) == pytest.approx(wanted)
    assert refit._hidden_error(solver.readings, np.zeros_like(hidden), m) == np.inf


def test_a_start_of_too_few_factors_gets_small_random_ones():
    rng = np.random.default_rng(4)
    L = LowRank(rng.normal(size=(200, 2)), np.linalg.qr(rng.normal(size=(50, 2)))[0])
    same = refit._truncated(L, 1, 0)
    np.testing.assert_array_equal(same.left, L.left[:, :1])
    np.testing.assert_array_equal(same.right, L.right[:, :1])
    more = refit._truncated(L, 5, 0)
    assert more.rank == 5
    np.testing.assert_array_equal(more.left[:, :2], L.left)
    usual = np.sqrt((L.left**2).mean())
    assert np.sqrt((more.left[:, 2:] ** 2).mean()) == pytest.approx(0.1 * usual, rel=0.15)
    np.testing.assert_allclose(np.linalg.norm(more.right[:, 2:], axis=0), 1.0, rtol=0.3)
    np.testing.assert_array_equal(refit._truncated(L, 5, 0).left, more.left)
    assert not np.array_equal(refit._truncated(L, 5, 1).left, more.left)
    none = refit._truncated(LowRank.zero(200, 50), 2, 0)
    assert 0 < np.abs(none.left).max() < 1e-5


def test_long_records_choose_their_rank_on_some_slots_and_are_fitted_on_all(monkeypatch):
    looked = []
    monkeypatch.setattr(refit, "_ENOUGH", 300)
    choose = refit._best_rank

    def spy(readings, observed, solution, **more):
        looked.append((len(readings), len(observed), len(solution.left), more["noise"]))
        return choose(readings, observed, solution, **more)

    monkeypatch.setattr(refit, "_best_rank", spy)
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(90, 1)), rng.normal(size=(10, 1))
    R = left @ right.T + 0.05 * rng.normal(size=(90, 10))
    found = refit.refit(R, np.ones(R.shape, bool), LowRank(left, right), noise=0.05)
    assert looked == [(30, 30, 30, 0.05)]
    assert found.rank == 1
    assert len(found.low_rank.left) == 90
    assert np.abs(found.low_rank.dense() - left @ right.T).mean() < 0.05
    monkeypatch.setattr(refit, "_best_rank", lambda *_, **__: None)
    kept = refit.refit(R, np.ones(R.shape, bool), LowRank(left, right), noise=0.05)
    assert kept.rank == 1
    np.testing.assert_allclose(kept.low_rank.dense(), left @ right.T)
    np.testing.assert_allclose(kept.threshold, 0.2)
