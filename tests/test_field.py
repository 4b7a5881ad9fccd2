"""The field model behind ``method="auto"``: its algebra, and what it promises to users."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

import fieldmend as fm
import naive_field
from fieldmend.field import factors
from fieldmend.field.chains import Chains, NodeModel, precision_draw
from fieldmend.field.factors import FactorSystem, stationary_gram
from fieldmend.field.holdout import calibrate, distances, draw_hidden, remoteness
from fieldmend.field.jumps import log_student
from fieldmend.field.lean import choose_lean
from fieldmend.field.nodes import fit_nodes, innovations
from fieldmend.field.windows import fit_slots, windows
from fieldmend.metrics import detection, interpolate, nse

LINKS = np.array([True] * 6 + [False] + [True] * 4)


@pytest.fixture
def chains_case():
    rng = np.random.default_rng(0)
    nodes = NodeModel(
        np.array([0.0, 0.8, 0.99]), np.array([1.0, 0.3, 2.0]), np.array([0.5, 2, 0.1])
    )
    observed = rng.random((3, 12)) < 0.6
    values = rng.normal(size=(3, 12)) * observed
    return nodes, observed, values


def _dense(nodes, observed, values):
    params = zip(nodes.phi, nodes.innovation, nodes.noise, strict=True)
    return [
        naive_field.condition(p, o, LINKS, v)
        for p, o, v in zip(params, observed, values, strict=True)
    ]


def test_chains_equal_dense_conditioning(chains_case):
    nodes, observed, values = chains_case
    chains = Chains(nodes, observed, LINKS)
    white, mean, variance, _ = map(np.array, zip(*_dense(*chains_case), strict=True))
    np.testing.assert_allclose(chains.whiten(values), white, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(chains.smooth(values), mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(chains.variance(), variance, rtol=1e-9)


def test_innovations_give_the_dense_likelihood(chains_case):
    _, observed, values = chains_case
    grid = np.array([[0.0, 0.2], [0.8, 3.0], [0.99, 0.01]])
    square, log_det = innovations(values, observed, LINKS, grid)
    got = -0.5 * (square + log_det + observed.sum(axis=1) * np.log(2 * np.pi))
    for (phi, ratio), row in zip(grid, got, strict=True):
        nodes = NodeModel(np.full(3, phi), np.ones(3), np.full(3, ratio))
        want = [case[3] for case in _dense(nodes, observed, values)]
        np.testing.assert_allclose(row, want, rtol=1e-9)


def test_pieces_of_a_long_record_give_the_likelihood_of_the_whole():
    rng = np.random.default_rng(0)
    links = np.arange(1499) != 700
    wander = naive_field.sample(0.99, links, rng.normal(size=(2, 1500)))
    observed = rng.random((2, 1500)) < 0.5
    values = (wander + rng.normal(size=(2, 1500))) * observed
    grid = np.array([[0.99, 1.0], [0.8, 0.03]])
    nodes = [NodeModel(np.full(2, p), np.ones(2), np.full(2, q)) for p, q in grid]
    want = [(values * Chains(n, observed, links).whiten(values)).sum(axis=1) for n in nodes]
    np.testing.assert_allclose(innovations(values, observed, links, grid)[0], want, rtol=1e-6)


def test_factors_equal_the_dense_posterior(chains_case):
    nodes, observed, values = chains_case
    loadings = np.array([[1.0, 0.2], [0.5, -1.0], [-0.7, 0.3]])
    phi = np.array([0.9, 0.3])
    system = FactorSystem(loadings, phi, Chains(nodes, observed, LINKS))
    got = system.solve(system.evidence(values), None, tol=1e-12, most=100)
    params = list(zip(nodes.phi, nodes.innovation, nodes.noise, strict=True))
    want = naive_field.factor_mean(
        loadings, phi, params, observed=observed, links=LINKS, values=values
    )
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


def test_a_prime_number_of_slots_is_solved_as_quickly_and_as_well():
    rng, slots = np.random.default_rng(4), 2011
    nodes = NodeModel(np.full(6, 0.9), np.full(6, 0.3), np.full(6, 0.5))
    chains = Chains(nodes, rng.random((6, slots)) < 0.7, np.ones(slots - 1, dtype=bool))
    system = FactorSystem(rng.normal(size=(6, 2)), np.array([0.99, 0.9]), chains)
    assert system.length == 2025  # 3⁴ · 5²
    want = naive_field.sample(0.95, np.ones(slots - 1, dtype=bool), rng.normal(size=(2, slots)))
    got = system.solve(system.apply(want), None, tol=1e-6, most=30)
    np.testing.assert_allclose(got, want, atol=1e-4 * want.std())


@pytest.mark.parametrize("slots", [12, 1013])
def test_frequencies_taken_at_once_or_one_after_the_other_say_the_same(monkeypatch, slots):
    rng = np.random.default_rng(5)
    nodes = NodeModel(np.full(6, 0.9), np.full(6, 0.3), np.full(6, 0.5))
    chains = Chains(nodes, rng.random((6, slots)) < 0.7, np.ones(slots - 1, dtype=bool))
    given = rng.normal(size=(6, 2)), np.array([0.99, 0.9]), chains
    v = rng.normal(size=(2, slots))
    at_once = FactorSystem(*given).precondition(v)
    monkeypatch.setattr(factors, "_SMALL", 0)
    np.testing.assert_allclose(
        at_once, FactorSystem(*given).precondition(v), rtol=1e-12, atol=1e-14
    )


def test_products_of_long_vectors_are_summed_in_pieces(monkeypatch):
    monkeypatch.setattr(factors, "_ALONE", 7)
    a, b = np.random.default_rng(6).normal(size=(2, 3, 33))
    assert factors._dot(a, b[:, ::-1]) == pytest.approx((a * b[:, ::-1]).sum(), rel=1e-12)


def test_grams_equal_whitened_products(chains_case):
    nodes, observed, _ = chains_case
    chains = Chains(nodes, observed, LINKS)
    Z = np.random.default_rng(2).normal(size=(2, 12))
    want = [chains.whiten(np.tile(z, (3, 1))) @ Z.T for z in Z]
    np.testing.assert_allclose(chains.gram(Z), np.stack(want, axis=1), rtol=1e-9, atol=1e-12)


def test_stationary_gram_is_close_where_little_is_lost():
    rng = np.random.default_rng(3)
    nodes = NodeModel(np.array([0.5, 0.98]), np.array([1.0, 0.1]), np.array([0.5, 0.2]))
    chains = Chains(nodes, rng.random((2, 2000)) < 0.95, np.ones(1999, dtype=bool))
    Z = naive_field.sample(0.8, np.ones(1999, dtype=bool), rng.normal(size=(3, 2000)))
    error = np.abs(stationary_gram(chains, Z) - chains.gram(Z)).max(axis=(1, 2))
    assert (error < 0.05 * chains.gram(Z).max(axis=(1, 2))).all()


def test_draws_have_the_precision_as_their_covariance():
    phi, innovation, rng = np.full(40_000, 0.7), np.full(40_000, 0.5), np.random.default_rng(0)
    got = np.cov(precision_draw(phi, innovation, LINKS, rng).T)
    want = np.linalg.inv(naive_field.ar1_covariance(0.7, 0.5, LINKS))
    np.testing.assert_allclose(got, want, atol=0.15)
    observed = np.tile(rng.random(12) < 0.6, (40_000, 1))
    nodes = NodeModel(phi, innovation, np.full(40_000, 0.5))
    drawn = Chains(nodes, observed, LINKS).draw(rng)
    K = naive_field.ar1_covariance(0.7, 0.5, LINKS) + 0.5 * np.eye(12)
    seen = observed[0]
    want = np.linalg.inv(K[np.ix_(seen, seen)])
    np.testing.assert_allclose(np.cov(drawn[:, seen].T), want, atol=0.05)
    assert (drawn[:, ~seen] == 0).all()


def test_node_parameters_are_found_again():
    rng = np.random.default_rng(1)
    links = np.ones(1499, dtype=bool)
    wander = naive_field.sample(0.98, links, rng.normal(size=(30, 1500)))
    observed = rng.random((30, 1500)) < 0.5
    found = fit_nodes((wander + rng.normal(size=(30, 1500))) * observed, observed, links)
    assert np.median(found.phi) == 0.98
    assert 0.7 < np.median(found.innovation) < 1.4
    assert 0.7 < np.median(found.noise) < 1.4


def test_student_density_is_normalised():
    z = np.linspace(-400, 400, 400_001)
    assert np.trapezoid(np.exp(log_student(z, 3.0)), z) == pytest.approx(1, abs=1e-4)
    assert log_student(np.zeros(1), 1.0)[0] == pytest.approx(gammaln(1) - np.log(np.pi))


def test_distances_and_remoteness():
    used = np.array([[True, False, False, True], [False, False, True, False], [False] * 4])
    back, ahead = distances(used, np.array([0, 1, 2, 3]))
    got = remoteness(back, ahead)
    np.testing.assert_allclose(got[0], [0, 2 / 3, 2 / 3, 0])
    np.testing.assert_allclose(got[1], [2, 1, 0, 1])
    assert (got[2] >= 1e9).all()


def test_hidden_readings_look_like_the_gaps():
    rng = np.random.default_rng(0)
    used = np.ones((20, 400), dtype=bool)
    for n in range(20):
        used[n, 10 * n : 10 * n + 40] = False
    hidden = draw_hidden(used, ~used, 0.1, rng)
    assert not (hidden & ~used).any()
    assert 0.07 < hidden.sum() / used.sum() < 0.14
    lone = hidden[:, 1:-1] & ~hidden[:, :-2] & ~hidden[:, 2:]
    assert 0.15 < lone.sum() / hidden.sum() < 0.45


def test_who_loses_its_company_in_its_gaps_loses_it_in_its_hold_outs():
    used = np.ones((20, 400), dtype=bool)
    used[:15, 100:120] = False  # all gaps are of fifteen nodes together
    hidden = draw_hidden(used, ~used, 0.1, np.random.default_rng(0))
    together = hidden.sum(axis=0)
    assert (together >= 12).sum() >= 10
    apart = np.ones((20, 400), dtype=bool)
    for n in range(15):
        apart[n, 20 * n : 20 * n + 20] = False
    hidden = draw_hidden(apart, ~apart, 0.1, np.random.default_rng(0))
    assert hidden.sum(axis=0).max() < 10


def test_calibration_covers_what_it_was_made_from():
    rng = np.random.default_rng(0)
    remote = rng.uniform(0.5, 50, 4000)
    z = np.abs(rng.normal(size=4000)) * np.log1p(remote)
    factor = calibrate(z, remote, np.arange(4000), 0.9).at(remote)
    for part in (remote < 5, (remote >= 5) & (remote < 20), remote >= 20):
        assert 0.86 < (z <= factor)[part].mean() < 0.94


def test_leaning_only_where_the_line_is_clearly_better():
    rng = np.random.default_rng(0)
    truth, remote = rng.normal(size=2000), np.repeat([0.5, 5.0], 1000)
    good, bad = truth + 0.1 * rng.normal(size=2000), truth + rng.normal(size=2000)
    line = np.where(remote < 1, good, bad)
    model = np.where(remote < 1, bad, good)
    weight = choose_lean(truth, model, line, remote, np.arange(2000))
    assert weight.at(np.array([0.5]))[0] > 0.9
    assert weight.at(np.array([5.0]))[0] < 0.05
    one_run = choose_lean(truth, model, line, remote, np.zeros(2000, dtype=int))
    assert not one_run.weight.any()  # one witness proves nothing


@pytest.mark.parametrize(("slots", "nodes"), [(1, 1), (500, 54), (10_000, 1000), (10**6, 3)])
def test_windows_keep_every_slot_once(slots, nodes):
    kept = np.concatenate([np.arange(w.start, w.stop) for w in windows(slots, nodes)])
    np.testing.assert_array_equal(kept, np.arange(slots))
    assert max(w.last - w.first for w in windows(slots, nodes)) * nodes <= 2e6
    chosen = fit_slots(slots, nodes)
    assert (np.diff(chosen) > 0).all()
    assert chosen[-1] < slots


def test_intervals_hold_where_the_rank_is_larger_than_the_field_needs():
    """Spare factors fit noise: a noise level taken after the hold-outs would be too small."""
    truth = fm.simulate.low_rank(500, 54, rank=4, seed=21)
    rng = np.random.default_rng(13)
    seen = rng.random(truth.shape) < 0.5
    out = fm.decompose(
        np.where(seen, truth + rng.normal(0, 0.5, truth.shape), np.nan), method="auto"
    )
    would_be = truth + rng.normal(0, 0.5, truth.shape)
    held = ((would_be >= out.lower) & (would_be <= out.upper))[~seen].mean()
    assert 0.87 < held < 0.94


@pytest.fixture(scope="module")
def recovered():
    net = fm.simulate.network(500, 54, field="temperature", sampling=0.5, seed=1)
    return net, fm.decompose(net.readings, method="auto")


def test_beats_line_and_oracle(recovered):
    net, out = recovered
    U, _, Vt = np.linalg.svd(net.truth, full_matrices=False)
    space = U[:, :3], Vt[:3].T
    oracle = fm.decompose(net.readings, method="oracle", support=net.support, space=space)
    line = interpolate(net.readings)
    assert nse(out.estimate, net.truth) < 0.5 * nse(oracle.estimate, net.truth)
    lost = net.lost
    assert nse(out.estimate, net.truth, lost) < 0.1 * nse(line, net.truth, lost)


def test_flags_spikes(recovered):
    net, out = recovered
    assert detection(out.sparse != 0, net.support, net.observed).f1 > 0.95
    assert (out.sparse[net.lost] == 0).all()
    flagged = out.sparse != 0
    np.testing.assert_allclose(
        out.sparse[flagged], (net.readings - out.estimate)[flagged], rtol=1e-12
    )


def test_intervals_cover_readings(recovered):
    net, out = recovered
    again = net.truth + 0.5 * np.random.default_rng(9).normal(size=net.truth.shape)
    inside = (again >= out.lower) & (again <= out.upper)
    assert 0.87 < inside[net.lost].mean() < 0.93


def test_holdout_is_honest(recovered):
    net, out = recovered
    held = out.holdout
    np.testing.assert_allclose(held.truth, net.readings[held.rows, held.columns], rtol=1e-9)
    inside = (held.truth >= held.lower) & (held.truth <= held.upper)
    assert 0.86 < inside.mean() < 0.94
    error = held.truth - held.estimate
    again = net.truth + 0.5 * np.random.default_rng(9).normal(size=net.truth.shape)
    lost_error = (out.estimate - again)[net.lost]
    assert np.median(np.abs(error)) == pytest.approx(np.median(np.abs(lost_error)), rel=0.15)
    assert (held.gap >= 1).all()


def test_says_what_it_chose(recovered):
    _, out = recovered
    assert "common factors" in out.choice
    assert "auto" in repr(out)
    assert np.isnan(out.gap)


def test_long_gaps_come_from_the_other_nodes():
    field = fm.simulate.network(400, 30, field="temperature", sampling=1, noise=0.1, seed=3)
    X = np.where(
        fm.simulate.observe(400, 30, loss="blocks", rate=0.3, seed=1), field.readings, np.nan
    )
    out = fm.decompose(X, method="auto")
    lost = np.isnan(X)
    assert nse(out.estimate, field.truth, lost) < 0.1 * nse(interpolate(X), field.truth, lost)


def test_never_far_behind_the_line_on_wandering_nodes():
    """Independent random walks: nothing is common, the line is optimal."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(400, 12)).cumsum(axis=0)
    X = np.where(rng.random(truth.shape) < 0.5, truth, np.nan)
    lost = np.isnan(X)
    out = fm.decompose(X, method="auto")
    error = np.sqrt(((out.estimate - truth)[lost] ** 2).mean())
    assert error < 1.03 * np.sqrt(((interpolate(X) - truth)[lost] ** 2).mean())


def test_slots_in_random_order_are_no_obstacle():
    net = fm.simulate.network(300, 40, field="low_rank", sampling=0.5, seed=2)
    out = fm.decompose(net.readings, method="auto")
    best = fm.decompose(net.readings, debias=True)
    assert nse(out.estimate, net.truth) < 1.1 * nse(best.estimate, net.truth)
    assert detection(out.sparse != 0, net.support, net.observed).f1 > 0.98


def test_a_real_step_is_spared():
    rng = np.random.default_rng(0)
    X = 20 + 0.05 * rng.normal(size=(300, 20)).cumsum(axis=0)
    X[150:, 4] += 5.0
    out = fm.decompose(X, method="auto", faults=False)
    assert not out.sparse[:, 4].any()
    assert (out.sparse != 0).mean() < 0.005


def test_windows_agree_with_one_fit(monkeypatch):
    """A record cut into windows gives nearly the same field; seams do not show."""
    from fieldmend.field import windows as module

    net = fm.simulate.network(1500, 20, field="temperature", sampling=0.5, seed=5)
    whole = fm.decompose(net.readings, method="auto")
    monkeypatch.setattr(module, "_ENTRIES", 1e4)
    monkeypatch.setattr(module, "_WINDOW", 400)
    monkeypatch.setattr(module, "_FIT_ENTRIES", 1e4)
    cut = fm.decompose(net.readings, method="auto")
    lost = net.lost
    assert nse(cut.estimate, net.truth, lost) < 1.3 * nse(whole.estimate, net.truth, lost)
    jump = np.abs(np.diff(cut.low_rank, axis=0)).mean(axis=1)
    seams = [w.start - 1 for w in module.windows(1500, 20)][1:]
    assert jump[seams].max() < 5 * np.median(jump)


EDGES = {
    "one entry": lambda r: np.array([[3.0]]),
    "one slot": lambda r: r.normal(size=(1, 10)),
    "one node": lambda r: np.where(np.arange(60)[:, None] % 5 == 0, np.nan, r.normal(size=(60, 1))),
    "two by two": lambda r: np.array([[1.0, 2.0], [3.0, np.nan]]),
    "a single reading": lambda r: np.where(
        np.eye(6, 5) * 0 + (np.arange(30).reshape(6, 5) == 7), 2.0, np.nan
    ),
    "all equal": lambda r: np.where(np.arange(400).reshape(50, 8) == 77, np.nan, 7.0),
    "rank one": lambda r: _lossy(
        np.outer(np.sin(np.arange(200) / 9) + 2, np.arange(1, 13.0)), 0.4, r
    ),
    "few readings": lambda r: _lossy(_walks(r, 200, 20), 0.97, r),
    "huge": lambda r: _lossy(_walks(r, 120, 10) * 1e300, 0.3, r),
    "tiny": lambda r: _lossy(_walks(r, 120, 10) * 1e-290, 0.3, r),
    "far from zero": lambda r: _lossy(_walks(r, 120, 10) * 1e-3 + 1e9, 0.3, r),
    "more nodes than slots": lambda r: _lossy(_walks(r, 40, 120), 0.3, r),
    "three nodes": lambda r: _lossy(_walks(r, 300, 3), 0.3, r),
    "rare ones": lambda r: (r.random((200, 10)) < 0.05).astype(float),
    "heavy tails": lambda r: r.standard_cauchy((200, 10)),
    "silence": lambda r: _with(_walks(r, 200, 10), slice(60, 120), slice(None), np.nan),
    "silent node": lambda r: _with(_walks(r, 200, 10), slice(None), 3, np.nan),
    "constant node": lambda r: _with(_walks(r, 200, 10), slice(None), 3, 5.0),
    "absurd node": lambda r: _with(_walks(r, 200, 10), slice(0, 200, 2), 3, 1e308),
}


def _walks(rng, slots, nodes):
    return 20 + 0.3 * rng.normal(size=(slots, nodes)).cumsum(axis=0)


def _lossy(X, rate, rng):
    return np.where(rng.random(X.shape) < rate, np.nan, X)


def _with(X, slots, nodes, value):
    X[slots, nodes] = value
    return X


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_finite(name):
    X = EDGES[name](np.random.default_rng(0))
    out = fm.decompose(X, method="auto")
    for part in (out.estimate, out.low_rank, out.sparse, out.lower, out.upper):
        assert part.shape == X.shape
        assert np.isfinite(part).all()
    assert (out.lower <= out.estimate).all()
    assert (out.estimate <= out.upper).all()
    assert (out.sparse[np.isnan(X)] == 0).all()


def test_a_silent_node_follows_the_others():
    net = fm.simulate.network(300, 20, field="temperature", sampling=0.8, noise=0.1, seed=1)
    X = net.readings.copy()
    X[:, 7] = np.nan
    out = fm.decompose(X, method="auto")
    off = out.estimate[:, 7] - net.truth[:, 7]
    assert off.std() < 0.5 * net.truth[:, 7].std()


def test_options_are_checked():
    X = np.random.default_rng(0).normal(size=(20, 5))
    with pytest.raises(ValueError, match="level must lie"):
        fm.decompose(X, method="auto", level=1.5)
    with pytest.raises(ValueError, match="has no option 'mu'"):
        fm.decompose(X, method="auto", mu=1.0)
    with pytest.raises(TypeError, match="no option 'rank'"):
        fm.decompose(X, method="auto", rank=3)


def test_a_higher_level_is_wider():
    net = fm.simulate.network(200, 20, field="temperature", seed=1)
    some = fm.decompose(net.readings, method="auto", level=0.5)
    most = fm.decompose(net.readings, method="auto", level=0.95)
    assert ((most.upper - most.lower) > (some.upper - some.lower)).mean() > 0.99


def test_what_is_on_for_an_hour_is_not_called_false():
    rng = np.random.default_rng(3)
    truth = 90 + 4 * rng.normal(size=(600, 10))
    for start, node in zip(rng.integers(0, 590, 260), rng.integers(0, 10, 260), strict=True):
        truth[start : start + rng.integers(2, 9), node] += rng.choice([300, 900, 2000])
    seen = rng.random(truth.shape) < 0.5
    readings = np.where(seen, truth, np.nan)
    out = fm.decompose(readings, method="auto", faults=False)
    slots = np.arange(600)
    line = np.column_stack(
        [np.interp(slots, slots[s], y[s]) for s, y in zip(seen.T, truth.T, strict=True)]
    )
    ours, theirs = (np.sqrt(np.mean((e - truth)[~seen] ** 2)) for e in (out.estimate, line))
    assert (out.sparse != 0).mean() < 0.01
    assert ours < 1.1 * theirs
