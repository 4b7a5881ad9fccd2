"""``debias=True``: the refit beats the shrunk solution, finds the support, and does no harm."""

import numpy as np
import pytest

import fieldmend as fm
import naive


def score(out, net):
    return fm.metrics.detection(out.sparse != 0, net.support, net.observed)


NETWORKS = {
    "low rank": {"slots": 300, "nodes": 30},
    "temperature": {"slots": 300, "nodes": 40, "field": "temperature"},
    "noisy": {"slots": 300, "nodes": 30, "rank": 2, "noise": 2.0},
    "more nodes than slots": {"slots": 40, "nodes": 120},
    "all observed": {"slots": 200, "nodes": 25, "sampling": 1.0},
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_refit_is_nearer_the_truth_and_finds_the_support(name, seed):
    net = fm.simulate.network(**NETWORKS[name], seed=seed)
    plain = fm.decompose(net.readings)
    refit = fm.decompose(net.readings, debias=True)
    better = naive.nse(plain.estimate, net.truth) / naive.nse(refit.estimate, net.truth)
    assert better > 2
    assert score(refit, net).f1 > max(0.95, score(plain, net).f1)
    assert not refit.sparse[~net.observed].any()


def test_it_comes_near_the_oracle():
    """Told nothing, it is within a factor of two of least squares told the support and the rank."""
    net = fm.simulate.network(400, 40, rank=3, sampling=0.6, seed=4)
    refit = fm.decompose(net.readings, debias=True)
    told = fm.decompose(net.readings, method="oracle", support=net.support, rank=3)
    assert naive.nse(refit.estimate, net.truth) < 2 * naive.nse(told.estimate, net.truth)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_it_finds_the_rank(rank):
    """The node means are no part of the rank: a field of rank r holds r − 1 factors and a constant.

    (Rank one is a product without a constant.)
    """
    net = fm.simulate.network(300, 30, rank=rank, sampling=0.7, seed=rank)
    out = fm.decompose(net.readings, debias=True)
    assert out.rank == max(1, rank - 1)
    assert np.linalg.matrix_rank(out.low_rank, tol=1e-8 * np.linalg.norm(out.low_rank)) <= rank + 1


def test_anomalies_are_whole_not_shrunk():
    net = fm.simulate.network(300, 30, rank=2, noise=0.2, sampling=0.8, seed=3)
    refit = fm.decompose(net.readings, debias=True)
    plain = fm.decompose(net.readings)
    found = net.support & (refit.sparse != 0)
    assert found.sum() > 0.95 * net.support.sum()
    np.testing.assert_allclose(refit.sparse[found], net.anomalies[found], atol=1.5)
    lost = np.abs(net.anomalies[found]).mean() - np.abs(plain.sparse[found]).mean()
    assert lost > 5 * abs((np.abs(net.anomalies) - np.abs(refit.sparse))[found].mean())
    rest = np.where(net.observed, net.readings - refit.low_rank, 0.0)
    np.testing.assert_allclose(refit.sparse[found], rest[found], rtol=1e-12)


def test_a_clean_network_has_hardly_any_anomalies():
    net = fm.simulate.network(300, 30, anomaly_rate=0.0, sampling=0.7, seed=5)
    out = fm.decompose(net.readings, debias=True)
    assert (out.sparse != 0).sum() <= 0.002 * net.observed.sum()


def test_the_certificate_stays_that_of_the_convex_solve():
    net = fm.simulate.network(150, 20, seed=6)
    plain, refit = (fm.decompose(net.readings, debias=d) for d in (False, True))
    for name in ("gap", "objective", "iterations", "status", "lam", "mu"):
        assert getattr(refit, name) == getattr(plain, name)


def test_the_paper_s_solution_can_be_refitted_too():
    net = fm.simulate.network(150, 25, rank=3, sampling=0.7, seed=8)
    plain = fm.decompose(net.readings, method="apg")
    refit = fm.decompose(net.readings, method="apg", debias=True)
    assert naive.nse(refit.estimate, net.truth) < 0.5 * naive.nse(plain.estimate, net.truth)
    assert score(refit, net).f1 > 0.95


@pytest.mark.parametrize("seed", range(4))
def test_slots_with_few_readings_are_held_back(seed):
    """Half the readings of 20 nodes: some slots hold hardly more readings than factors."""
    net = fm.simulate.network(100, 20, seed=seed)
    plain = fm.decompose(net.readings)
    refit = fm.decompose(net.readings, debias=True)
    assert naive.nse(refit.estimate, net.truth) < naive.nse(plain.estimate, net.truth)
    low, high = np.nanmin(net.truth), np.nanmax(net.truth)
    assert refit.estimate.min() > low - 0.5 * (high - low)
    assert refit.estimate.max() < high + 0.5 * (high - low)


def test_a_node_or_a_slot_without_readings():
    net = fm.simulate.network(120, 20, rank=2, sampling=0.8, seed=9)
    X = net.readings.copy()
    X[:, 4] = np.nan
    X[33] = np.nan
    out = fm.decompose(X, debias=True)
    assert np.isfinite(out.estimate).all()
    others = np.arange(20) != 4
    seen = np.arange(120) != 33
    part = np.ix_(seen, others)
    assert naive.nse(out.estimate[part], net.truth[part]) < 1e-3


@pytest.mark.parametrize("value", [1e3, 1e30])
def test_one_absurd_reading_hides_no_other(value):
    """How large the largest reading is says nothing of the others."""
    net = fm.simulate.network(
        87, 21, field="temperature", sampling=1.0, anomaly_rate=0.037, noise=1.0, seed=1
    )
    X = net.readings.copy()
    t, n = np.argwhere(~net.support)[7]
    X[t, n] = value
    clean = fm.decompose(net.readings, debias=True)
    hurt = fm.decompose(X, debias=True)
    assert hurt.sparse[t, n] == pytest.approx(value, rel=0.1)
    assert score(hurt, net).hits >= 0.95 * score(clean, net).hits
