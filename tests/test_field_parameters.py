"""Parameters of the field model, and what follows from them, by dense conditioning."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import naive_field as naive
from fieldmend.field import model, nodes, scaling, second
from fieldmend.field.chains import NodeModel
from fieldmend.field.model import Data
from tiny import a_field, covariance, record

SEEDS = range(2)


@pytest.mark.parametrize("seed", SEEDS)
def test_loadings_are_generalised_least_squares(seed, monkeypatch):
    monkeypatch.setattr(model, "_MOSTLY", 1.1)
    field, data = a_field(seed), record(seed)
    sums = model.loading_sums(field, data)
    found = model.with_loadings(field, sums)
    prior = np.diag(np.append(field.relevance, 1e-2))
    centre = np.append(field.mean_loading, 0.0)
    A, spread = np.zeros((4, 2)), np.zeros((4, 2))
    for n in range(4):
        seen = data.used[n]
        K = covariance(field, n, data)
        Z = np.vstack([field.factors, np.ones(30)])[:, seen]
        D = np.vstack([field.deviation, np.zeros(30)])[:, seen]
        square = Z @ np.linalg.solve(K, Z.T) + D @ np.linalg.solve(K, D.T)
        target = Z @ np.linalg.solve(K, data.readings[n, seen])
        doubt = np.linalg.inv(square + prior)
        both = doubt @ (target + prior @ centre)
        np.testing.assert_allclose(found.doubt[n], doubt, rtol=1e-6)
        A[n], spread[n] = both[:2], np.diag(doubt)[:2]
        assert found.level[n] == pytest.approx(both[2])
    np.testing.assert_allclose(found.loadings, A, rtol=1e-6)
    np.testing.assert_allclose(found.mean_loading, A.mean(axis=0))
    wanted = 1 / ((A - A.mean(axis=0)) ** 2 + spread).mean(axis=0)
    np.testing.assert_allclose(found.relevance, wanted, rtol=1e-6)
    twice = sums + sums
    np.testing.assert_allclose(twice.square, 2 * sums.square)
    np.testing.assert_allclose(twice.target, 2 * sums.target)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_estimate_is_the_field_and_what_is_left_conditioned(seed):
    field, data = a_field(seed), record(seed)
    mean, variance = model.estimate(field, data)
    Z = np.vstack([field.factors, np.ones(30)])
    for n in range(4):
        common = field.level[n] + field.loadings[n] @ field.factors
        params = field.nodes.phi[n], field.nodes.innovation[n], field.nodes.noise[n]
        rest = np.where(data.used[n], data.readings[n] - common, 0.0)
        _, own, doubt, _ = naive.condition(params, data.used[n], data.links, rest)
        np.testing.assert_allclose(mean[n], common + own, rtol=1e-6)
        from_loadings = np.array([z @ field.doubt[n] @ z for z in Z.T])
        from_factors = field.loadings[n] @ field.blur @ field.loadings[n]
        stationary = params[1] / (1 - params[0] ** 2)
        wanted = doubt + doubt / stationary * (from_loadings + from_factors) + params[2]
        np.testing.assert_allclose(variance[n], wanted, rtol=1e-6)


def test_factors_are_of_unit_size_and_loadings_take_it_up():
    field, data = a_field(5), record(5)
    found = model.update_dynamics(field, data)
    both = found.factors**2 + found.deviation**2
    np.testing.assert_allclose(both.mean(axis=1), 1.0)
    np.testing.assert_allclose(found.common(), field.common())
    size = found.loadings[0] / field.loadings[0]
    np.testing.assert_allclose(found.mean_loading, field.mean_loading * size)
    np.testing.assert_allclose(found.relevance, field.relevance / size**2)
    np.testing.assert_allclose(found.blur, field.blur / np.outer(size, size))
    np.testing.assert_allclose(model._common_variance(found), model._common_variance(field))
    b, d = field.factors, field.deviation
    across = (b[:, 1:] * b[:, :-1] + d[:, 1:] * d[:, :-1]).sum(axis=1)
    power = sum((p[:, 1:] ** 2 + p[:, :-1] ** 2).sum(axis=1) / 2 for p in (b, d))
    np.testing.assert_allclose(found.phi, np.clip(across / power, 0, 0.9995))
    cut = Data(data.readings, data.used, data.slots + 5 * (data.slots > 9))
    there = np.arange(29) != 9
    apart = model.update_dynamics(field, cut).phi
    across = sum((p[:, 1:] * p[:, :-1])[:, there].sum(axis=1) for p in (b, d))
    power = sum((p[:, 1:] ** 2 + p[:, :-1] ** 2)[:, there].sum(axis=1) / 2 for p in (b, d))
    np.testing.assert_allclose(apart, np.clip(across / power, 0, 0.9995))


def test_factors_of_a_slot_alone_are_ridge_regression():
    field, data = a_field(6), record(6)
    weight = np.random.default_rng(0).random((4, 30))
    found = model.slot_by_slot(field, data, weight).factors
    own = field.nodes.innovation / (1 - field.nodes.phi**2) + field.nodes.noise
    for t in range(30):
        w = np.diag(weight[:, t] * data.used[:, t] / own)
        A = field.loadings
        wanted = np.linalg.solve(
            A.T @ w @ A + np.eye(2), A.T @ w @ (data.readings[:, t] - field.level)
        )
        np.testing.assert_allclose(found[:, t], wanted, rtol=1e-9)


@pytest.mark.parametrize("shape", [(4, 30), (9, 5)])
def test_new_factors_are_the_leading_ones_of_unit_size(shape):
    own = np.random.default_rng(0).normal(size=shape)
    got = model._leading(own, 2)
    *_, right = np.linalg.svd(own, full_matrices=False)
    assert (got**2).mean(axis=1) == pytest.approx([1.0, 1.0])
    cosine = np.abs((got * right[:2]).sum(axis=1)) / np.linalg.norm(got, axis=1)
    assert cosine == pytest.approx([1.0, 1.0])
    assert len(model._leading(np.outer(np.ones(4), np.arange(6.0)), 3)) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_are_fitted_by_likelihood_with_strength_lent(seed):
    data = record(seed, (5, 40), 0.7)
    grid = [(p, s) for p in nodes.PHI for s in nodes.RATIO]
    loglik, size = np.zeros((len(grid), 5)), np.zeros((len(grid), 5))
    count = data.used.sum(axis=1)
    for g, (phi, ratio) in enumerate(grid):
        C = naive.ar1_covariance(phi, 1.0, data.links)
        for n in range(5):
            seen = data.used[n]
            K = C[np.ix_(seen, seen)] + ratio * np.eye(count[n])
            y = data.readings[n, seen]
            size[g, n] = y @ np.linalg.solve(K, y)
            loglik[g, n] = -0.5 * np.linalg.slogdet(K)[1]
    usual = np.median(size / count, axis=1, keepdims=True)
    size = (size + 4 * usual) / (count + 4) + 1e-10
    loglik -= 0.5 * (count + 4) * np.log(size)
    prior = np.zeros((len(grid), 1))
    for _ in range(12):
        post = np.exp(loglik + prior - (loglik + prior).max(axis=0))
        prior = np.log((post / post.sum(axis=0)).mean(axis=1, keepdims=True) + 1e-3 / len(grid))
    best = np.argmax(loglik + prior, axis=0)
    got = nodes.fit_nodes(data.readings, data.used, data.links)
    assert got.phi.tolist() == [grid[g][0] for g in best]
    np.testing.assert_allclose(got.innovation, size[best, np.arange(5)], rtol=1e-6)
    np.testing.assert_allclose(got.noise / got.innovation, [grid[g][1] for g in best])
    around = nodes._grid(NodeModel(np.array([0.8]), np.ones(1), np.array([0.2])))
    assert around == [(p, s) for p in (0.5, 0.8, 0.93) for s in (0.03, 0.2, 1.0)]
    corner = nodes._grid(NodeModel(np.array([0.0]), np.ones(1), np.array([60.0])))
    assert corner == [(p, s) for p in (0.0, 0.5) for s in (6.0, 60.0)]


def test_scale_is_the_width_of_the_middle_nine_tenths():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1, 5, 1, 1] + [0, 9, 3, 0]
    observed = rng.random(X.shape) < 0.8
    observed[:, 3] = False
    X[:, 2] = 3.0
    got = scaling.node_scaling(X, observed)
    wide = []
    for n in (0, 1):
        low, centre, high = np.percentile(X[observed[:, n], n], (5, 50, 95))
        wide.append((high - low) / (2 * stats.norm.ppf(0.95)))
        assert got.center[n] == pytest.approx(centre)
        assert got.scale[n] == pytest.approx(wide[n], rel=1e-4)
    usual = np.median(wide)
    assert got.scale[2:] == pytest.approx([usual] * 2, rel=1e-4)  # constant, silent
    assert got.center[2:] == pytest.approx([3.0, 3.0])
    out = scaling.scaled(X, observed, got)
    wanted = np.where(observed, (X - got.center) / got.scale, 0.0).T
    np.testing.assert_allclose(out, wanted)
    rare = np.zeros((100, 1))
    rare[:3] = 8.0  # its tails are beyond: the mean distance
    assert scaling.node_scaling(rare, np.ones((100, 1), bool)).scale[0] == pytest.approx(0.24)


# A second look


def test_lags_go_on_across_a_cut():
    z = np.array([[1.0, 2.0, 4.0, 8.0, 16.0]])
    before, now, after = second._lagged(z, np.array([True, True, False, True]))
    assert before[0].tolist() == [0.0, 1.0, 2.0, 0.0, 8.0]
    assert now is z or (now == z).all()
    assert after[0].tolist() == [2.0, 4.0, 6.0, 16.0, 24.0]


def test_other_conditions_are_standard_and_bounded():
    values = np.array([[0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 0, 0, 0, 0]])
    got = second._standard(values)
    np.testing.assert_allclose(got[0], (values[0] - 2) / values[0].std())
    assert not got[1].any()
    far = np.zeros((1, 400))
    far[0, 0] = 1e3
    assert second._standard(far)[0, 0] == 5.0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_penalty_is_the_one_that_predicts_other_days(seed):
    rng = np.random.default_rng(seed)
    slots = np.arange(200)
    folds = second._Folds.of(SimpleNamespace(slots=slots, lost=np.zeros((1, 200), dtype=bool)))
    seen = rng.random(200) < 0.8
    x = rng.normal(size=(6, 200)) * seen
    y = np.where(seen, x[0] + 0.5 * x[1] + 2 * rng.normal(size=200), 0.0)
    error = []
    for penalty in second._PENALTIES:
        total = 0.0
        for f in range(5):
            out = slots // 24 % 5 == f
            gram = x[:, ~out] @ x[:, ~out].T
            size = penalty * (0.1 * np.trace(gram) / 6 + 1e-9)
            slope = np.linalg.solve(gram + size * np.eye(6), x[:, ~out] @ y[~out])
            total += ((y[out] - slope @ x[:, out]) ** 2).sum()
        error.append(total)
    order = folds.order
    tried = second._Tried.of(folds.sums(x[:, order], y[order], seen[order]))
    assert np.argmin(tried.left) == np.argmin(error)
    np.testing.assert_allclose(tried.gram, x @ x.T)
    np.testing.assert_allclose(tried.side, x @ y)
