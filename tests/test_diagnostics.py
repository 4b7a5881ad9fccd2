"""Diagnostics against values worked out by hand, enumeration, and slow obvious loops."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import gamma

from fieldmend.diagnostics import (
    anomaly_ratio,
    ecdf,
    gap_at,
    gap_lengths,
    incoherence,
    loss_rates,
    recovery_bound,
    singular_energy,
    support_uniformity,
    values_for_energy,
)
from fieldmend.simulate import corrupt, low_rank, network

masks = st.tuples(st.integers(1, 12), st.integers(1, 6)).flatmap(lambda s: arrays(bool, s))


def naive_gaps(observed):
    """Each node's runs of lost slots, by the obvious loop: their lengths, and those by entry."""
    lengths, at = [], np.zeros(observed.shape, dtype=int)
    for n in range(observed.shape[1]):
        t = 0
        while t < observed.shape[0]:
            end = t
            while end < observed.shape[0] and not observed[end, n]:
                end += 1
            if end > t:
                lengths.append(end - t)
                at[t:end, n] = end - t
            t = end + 1
    return lengths, at


# Loss


def test_loss_rates_by_hand():
    observed = np.array([[True, False, True], [True, False, False], [True, False, False]])
    np.testing.assert_allclose(loss_rates(observed), [0, 1, 2 / 3])


def test_ecdf_of_ties_and_single_values():
    out = ecdf(np.array([[0.3, 0.1], [0.3, 0.3]]))
    np.testing.assert_array_equal(out.values, [0.1, 0.3])
    np.testing.assert_array_equal(out.shares, [0.25, 1.0])
    np.testing.assert_array_equal(ecdf(np.array([2.0])).shares, [1.0])


@pytest.mark.parametrize("sample", [[], [1.0, np.nan]])
def test_ecdf_refuses_no_sample(sample):
    with pytest.raises(ValueError, match="sample"):
        ecdf(np.array(sample))


@given(masks)
def test_gaps_agree_with_a_loop(observed):
    lengths, at = naive_gaps(observed)
    np.testing.assert_array_equal(gap_lengths(observed), lengths)
    np.testing.assert_array_equal(gap_at(observed), at)
    assert gap_lengths(observed).sum() == (~observed).sum()


def test_gaps_of_all_and_nothing():
    np.testing.assert_array_equal(gap_lengths(np.zeros((4, 2), dtype=bool)), [4, 4])
    assert gap_lengths(np.ones((4, 2), dtype=bool)).size == 0


@pytest.mark.parametrize("function", [loss_rates, gap_at, gap_lengths])
@pytest.mark.parametrize("bad", [np.ones((2, 2)), np.ones(3, dtype=bool), np.ones((0, 2), bool)])
def test_masks_are_checked(function, bad):
    with pytest.raises(ValueError, match="boolean array, slots × nodes"):
        function(bad)


# Singular values


def test_energy_by_hand():
    X = np.zeros((3, 4))
    X[0, 1], X[1, 2], X[2, 0] = -6.0, 3.0, 1.0
    np.testing.assert_allclose(singular_energy(X), [0.6, 0.9, 1.0])
    np.testing.assert_allclose(singular_energy(X, squared=True), [36 / 46, 45 / 46, 1.0])


def test_values_for_energy_counts_a_share_reached_exactly():
    X = np.diag([6.0, 3.0, 1.0])
    assert values_for_energy(X).count == 2
    assert values_for_energy(X, share=0.91).count == 3
    assert values_for_energy(X, share=0.6).count == 1
    assert values_for_energy(X, share=0.95, squared=True).fraction == pytest.approx(2 / 3)
    assert values_for_energy(np.ones((5, 1)), share=1.0).count == 1


def test_one_minus_energy_is_the_nuclear_not_the_frobenius_error():
    X = low_rank(20, 15, rank=8, seed=0)
    U, s, Vt = np.linalg.svd(X)
    rest = X - (U[:, :3] * s[:3]) @ Vt[:3]
    nuclear = np.linalg.norm(rest, "nuc") / np.linalg.norm(X, "nuc")
    frobenius = np.linalg.norm(rest) / np.linalg.norm(X)
    np.testing.assert_allclose(1 - singular_energy(X)[2], nuclear)
    np.testing.assert_allclose(np.sqrt(1 - singular_energy(X, squared=True)[2]), frobenius)
    assert not np.isclose(nuclear, frobenius, rtol=0.1)


def test_anomalies_break_the_low_rank_structure():
    # Section I, Fig. 2: a rank-5 matrix in [0, 100] with 0.5 % and 3 % of anomalies.
    field = low_rank(100, 100, rank=5, seed=0)
    energy = [
        singular_energy(corrupt(field, kind="constant", rate=rate, seed=1).readings)[9]
        for rate in (0, 0.005, 0.03)
    ]
    assert energy[0] == pytest.approx(1)
    assert 0.9 > energy[1] > energy[2] + 0.1


@pytest.mark.parametrize("scale", [1e-300, 1e200])
def test_energy_has_no_units(scale):
    np.testing.assert_allclose(singular_energy(scale * np.diag([3.0, 1]), squared=True), [0.9, 1])


@pytest.mark.parametrize("bad", [np.zeros((2, 3)), np.array([[np.nan]]), np.ones(3)])
def test_energy_refuses_what_has_none(bad):
    with pytest.raises(ValueError, match=r"zeros|slots × nodes"):
        singular_energy(bad)


@pytest.mark.parametrize("share", [0.0, 1.1, np.nan])
def test_share_is_checked(share):
    with pytest.raises(ValueError, match="share"):
        values_for_energy(np.eye(2), share=share)


# Incoherence


def test_incoherence_by_hand():
    # Rank one: U = (3, 4)/5, V = (1, 0, 0).
    out = incoherence(np.array([[3.0, 0, 0], [4.0, 0, 0]]))
    assert out.rank == 1
    np.testing.assert_allclose([out.slots, out.nodes, out.joint], [32 / 25, 3, 96 / 25])
    assert out.worst == out.joint
    # The identity: U = V = I, rank 3, UVᵀ = I: 3·3/3.
    out = incoherence(np.eye(3))
    np.testing.assert_allclose([out.slots, out.nodes, out.joint], [1, 1, 3])


@given(st.integers(2, 15), st.integers(2, 15), st.integers(1, 4), st.integers(0, 50))
def test_incoherence_lies_between_its_ends_and_swaps_with_the_transpose(slots, nodes, rank, seed):
    rank = min(rank, slots, nodes)
    L = low_rank(slots, nodes, rank=rank, seed=seed)
    out, swapped = incoherence(L, rank), incoherence(L.T, rank)
    assert 1 - 1e-9 <= out.slots <= slots / rank + 1e-9
    assert 1 - 1e-9 <= out.nodes <= nodes / rank + 1e-9
    assert 1 - 1e-9 <= out.joint <= slots * nodes / rank + 1e-9
    np.testing.assert_allclose([out.slots, out.joint], [swapped.nodes, swapped.joint])


def test_incoherence_satisfies_the_condition_it_is_named_for():
    L = low_rank(40, 25, rank=3, seed=2)
    U, _, Vt = (part for part in np.linalg.svd(L, full_matrices=False))
    U, Vt, mu = U[:, :3], Vt[:3], incoherence(L).worst
    assert max(np.linalg.norm(row) ** 2 for row in U) <= mu * 3 / 40 * (1 + 1e-12)
    assert max(np.linalg.norm(row) ** 2 for row in Vt.T) <= mu * 3 / 25 * (1 + 1e-12)
    assert np.abs(U @ Vt).max() <= np.sqrt(mu * 3 / 1000) * (1 + 1e-12)


def test_rtol_decides_the_rank():
    L = np.diag([1.0, 0.1, 1e-3])
    assert [incoherence(L, rtol=r).rank for r in (1e-6, 1e-2, 0.5)] == [3, 2, 1]


def test_incoherence_refuses_vectors_that_are_not_there():
    for bad, rank in ((np.zeros((2, 2)), None), (np.ones((3, 3)), 2), (np.eye(2), 0)):
        with pytest.raises(ValueError, match="numerical rank"):
            incoherence(bad, rank)


# The support


def test_anomaly_ratio_by_hand():
    observed = np.array([[True, True, False], [True, True, False]])
    support = np.array([[True, False, False], [False, False, False]])
    assert anomaly_ratio(support, observed) == 0.25
    assert anomaly_ratio(np.zeros_like(observed), observed) == 0


def test_the_support_is_checked():
    observed = np.array([[True, False]])
    with pytest.raises(ValueError, match="outside the observed"):
        anomaly_ratio(np.array([[True, True]]), observed)
    with pytest.raises(ValueError, match="nothing was observed"):
        anomaly_ratio(np.array([[False]]), np.array([[False]]))
    with pytest.raises(ValueError, match="shapes differ"):
        support_uniformity(np.array([[False]]), observed)


def test_one_point_zero_is_the_exact_mean_under_a_uniform_support():
    # Every support of 3 among 9 unevenly placed readings, one by one.
    observed = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1], [0, 0, 0, 1]], dtype=bool)
    places = np.argwhere(observed)
    views = []
    for chosen in combinations(range(len(places)), 3):
        support = np.zeros_like(observed)
        support[tuple(places[list(chosen)].T)] = True
        out = support_uniformity(support, observed)
        views.append([out.slots.ratio, out.nodes.ratio, out.runs.ratio])
    np.testing.assert_allclose(np.mean(views, axis=0), 1.0)


def test_uniformity_by_hand():
    # A 4 × 2 grid, node 0 false in slots 0 and 1. k = 2, m = 8; six pairs in time.
    support = np.zeros((4, 2), dtype=bool)
    support[:2, 0] = True
    out = support_uniformity(support, np.ones((4, 2), dtype=bool))
    # Nodes: counts (2, 0), expected 1 each: 2 · 7/6 over 1.
    assert out.nodes.ratio == pytest.approx(7 / 3)
    # Slots: counts (1, 1, 0, 0), expected ½ each: 2 · 7/6 over 3.
    assert out.slots.ratio == pytest.approx(7 / 9)
    # Pairs: one, expected 6 · 2/(8·7).
    assert out.runs.ratio == pytest.approx(56 / 12)


def test_the_law_of_the_pairs_has_their_exact_mean_and_variance():
    observed = np.array([[1, 1], [1, 1], [1, 0], [1, 1], [0, 1]], dtype=bool)
    places = np.argwhere(observed)
    counts = []
    for chosen in combinations(range(len(places)), 4):
        support = np.zeros_like(observed)
        support[tuple(places[list(chosen)].T)] = True
        counts.append((support[1:] & support[:-1]).sum())
    mean, variance = np.mean(counts), np.var(counts)
    support = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 0]], dtype=bool)  # three pairs
    out = support_uniformity(support, observed).runs
    assert out.ratio == pytest.approx(3 / mean)
    law = gamma(mean**2 / variance, scale=variance / mean)
    assert out.p_value == pytest.approx(law.sf(2.5))


def test_p_values_are_fair_when_the_support_is_uniform():
    small = np.array(
        [
            [view.p_value for view in (out.slots, out.nodes, out.runs)]
            for out in (
                support_uniformity(net.support, net.observed)
                for net in (network(100, 30, anomaly_rate=0.15, seed=s) for s in range(400))
            )
        ]
    )
    share = (small < 0.05).mean(axis=0)
    assert (share > 0.01).all()
    assert (share < 0.09).all()


@pytest.mark.parametrize(
    ("anomaly", "clumped"), [("bursts", {"runs"}), ("dead", {"runs", "nodes"})]
)
def test_clumped_supports_are_seen(anomaly, clumped):
    net = network(300, 40, anomaly=anomaly, sampling=0.8, seed=1)
    out = support_uniformity(net.support, net.observed)
    for view in clumped:
        assert getattr(out, view).ratio > 3
        assert getattr(out, view).p_value < 1e-6


@pytest.mark.parametrize(
    ("support", "observed"),
    [
        (np.zeros((3, 3), bool), np.ones((3, 3), bool)),
        (np.ones((3, 3), bool), np.ones((3, 3), bool)),
        (np.array([[True]]), np.array([[True]])),
    ],
)
def test_nothing_to_compare_is_one(support, observed):
    out = support_uniformity(support, observed)
    for view in (out.slots, out.nodes, out.runs):
        assert (view.ratio, view.p_value) == (1, 1)


@given(masks, st.integers(0, 99))
def test_uniformity_is_always_a_number(observed, seed):
    if not observed.any():
        return
    support = observed & (np.random.default_rng(seed).random(observed.shape) < 0.5)
    out = support_uniformity(support, observed)
    for view in (out.slots, out.nodes, out.runs):
        assert view.ratio >= 0
        assert 0 <= view.p_value <= 1


# The bound


def test_recovery_bound_by_hand():
    # n = 2, p = ½: 40·2 + 40·4 + 5 = 245.
    assert recovery_bound(2, 0.5, 3.0) == pytest.approx((16 * np.sqrt(245) + np.sqrt(2)) * 3)
    assert recovery_bound(500, 0.5, 0.0) == 0


@pytest.mark.parametrize("n", [1, 2, 7, 54, 500])
def test_the_slips_of_the_proof_cancel(n):
    # The appendix: ‖H‖² <= (5·16·2n² + 1)‖H^Γ‖² with ‖H^Γ‖² <= 2 + 8n(2+p)/p, for δ = 1. Inserted
    # without slips this stays below the stated bound, down to a single reading.
    for p in np.geomspace(1 / n**2, 1, 50):
        gamma = 2 + (2 + p) / p * 8 * n
        assert (160 * n**2 + 1) * gamma <= recovery_bound(n, p, 1.0) ** 2


def test_the_printed_last_step_alone_does_not_give_the_bound():
    n, p = 500, 1 / 500**2
    printed = 320 * n**2 * (8 * n + 8 * n / p + 1) + (2 + p) / p * 8 * n + 2
    assert printed > recovery_bound(n, p, 1.0) ** 2
    inserted = 160 * n**2 * (2 + (2 + p) / p * 8 * n)
    assert inserted == pytest.approx(320 * n**2 * (4 * n + 8 * n / p + 1))


def test_the_bound_is_about_four_root_n_times_that_of_full_observation():
    n = 10_000
    full = 8 * np.sqrt(5) * n + np.sqrt(2)
    assert recovery_bound(n, 1.0, 1.0) / full == pytest.approx(4 * np.sqrt(n), rel=1e-4)


@pytest.mark.parametrize("arguments", [(0, 0.5, 1), (5, 0, 1), (5, 1.1, 1), (5, 0.5, -1)])
def test_recovery_bound_refuses_nonsense(arguments):
    with pytest.raises(ValueError, match="must"):
        recovery_bound(*arguments)
