"""What the convex methods stand on, against slow and obvious code: medians, scales, noise."""

import numpy as np
import pytest

from fieldmend.core import engine, noise, problem
from fieldmend.core.loop import Iteration, teller
from fieldmend.core.problem import LowRank, Problem, Scaling
from fieldmend.core.ranks import each_median
from fieldmend.core.readings import checked


def rng(seed=0):
    return np.random.default_rng(seed)


# Medians


def test_medians_of_rows_are_those_of_their_numbers():
    x = rng().normal(size=(8, 7))
    for n in range(8):
        x[n, rng(n).permutation(7)[:n]] = np.nan
    found = each_median(x)
    np.testing.assert_allclose(found[:7], np.nanmedian(x[:7], axis=1))
    assert np.isnan(found[7])


def test_a_node_that_is_mostly_one_value_is_scaled_by_the_rest():
    X = np.zeros((9, 4))
    X[:3, 0] = [0.25, -0.5, 4.0]  # the night is most of the day
    X[:, 1] = np.arange(9.0)
    X[:, 2] = 5.0  # constant
    observed = np.ones(X.shape, dtype=bool)
    observed[:, 3] = False
    middle, width = problem.medians(X, observed)
    np.testing.assert_allclose(middle[:3], [0.0, 4.0, 5.0])
    np.testing.assert_allclose(width[:2], [1.4826 * 0.5, 1.4826 * 2])
    assert np.isnan(width[2:]).all()
    assert np.isnan(middle[3])
    scaling = Scaling.of(X, observed, center=True, scale=True)
    usual = 1.4826 * np.median([0.5, 2])
    np.testing.assert_allclose(scaling.scale, [1.4826 * 0.5, 1.4826 * 2, usual, usual])
    np.testing.assert_allclose(scaling.center, [0.0, 4.0, 5.0, 4.0])
    for center, scale in ((True, False), (False, True), (False, False)):
        some = Scaling.of(X, observed, center=center, scale=scale)
        np.testing.assert_allclose(some.center, scaling.center if center else 0.0)
        np.testing.assert_allclose(some.scale, scaling.scale if scale else 1.0)


def test_where_nothing_varies_the_scale_is_one():
    X = np.full((5, 2), 3.0)
    scaling = Scaling.of(X, np.ones(X.shape, dtype=bool), center=True, scale=True)
    assert (scaling.scale == 1).all()


def test_very_long_records_are_thinned_and_nodes_taken_some_at_a_time():
    assert [problem.thinned(slots) for slots in (1, 199_999, 200_000, 399_999)] == [1, 1, 2, 3]
    for slots, nodes in ((1000, 7), (1_000_000, 7), (2_000_000, 3)):
        parts = problem.at_once(slots, nodes)
        np.testing.assert_array_equal(np.concatenate(parts), np.arange(nodes))
        assert max(map(len, parts)) * slots <= max(problem._AT_ONCE, slots)


def test_absurd_readings_are_bounded_where_there_is_a_scale():
    X = np.array([[1e9, -1e9, 7.0], [2.0, 4.0, np.nan]])
    observed = np.isfinite(X)
    found = Scaling(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.5])).apply(X, observed)
    np.testing.assert_allclose(found, [[1e4, -1e4, 10.0], [2.0, 3.0, 0.0]])
    plain = Scaling(np.zeros(3), np.ones(3)).apply(X, observed)
    np.testing.assert_allclose(plain, np.where(observed, X, 0.0))


def test_a_matrix_in_another_scaling_is_the_same_in_units():
    L = LowRank(rng(1).normal(size=(6, 2)), rng(2).normal(size=(4, 2)))
    one, other = (Scaling(rng(k).normal(size=4), rng(k).uniform(0.5, 2.0, 4)) for k in (3, 4))
    dense = one.undo(L, np.dtype(float))
    np.testing.assert_allclose(dense, (L.left @ L.right.T) * one.scale + one.center)
    np.testing.assert_allclose(other.undo(one.rebase(L, other), np.dtype(float)), dense)


# Noise


@pytest.mark.parametrize("count", [1, 2, 5, 9, 40])
def test_the_middle_of_sizes_is_the_median_or_what_the_upper_fifth_implies(count):
    sizes = np.abs(rng(count).normal(size=(count, 3)))
    sizes[: 3 * count // 4, 1] = 0.0  # coarse steps
    sizes[rng(1).permutation(count)[: count // 3], 2] = np.inf  # not heard
    found, counts = noise._middles(np.sort(sizes.T, axis=1))
    for n in range(3):
        heard = sorted(sizes[np.isfinite(sizes[:, n]), n])
        wanted = max(heard[len(heard) // 2], heard[4 * len(heard) // 5] / 3.8)
        assert found[n] == pytest.approx(wanted)
        assert noise._middle(np.array(heard)) == pytest.approx(wanted)
        assert counts[n] == len(heard)
    silent, none = noise._middles(np.full((1, 4), np.inf))
    assert (silent[0], none[0], noise._middle(np.zeros(0))) == (0.0, 0, 0.0)


def test_a_nodes_noise_leans_on_the_networks_by_thirty_readings():
    rest = np.abs(rng(3).normal(size=(50, 4))) * np.array([1.0, 1.0, 1.0, 5.0])
    ranked = np.sort(rest.T, axis=1)
    level, each = noise._levels(rest.ravel(), ranked, 2.0)
    own, count = noise._middles(ranked)
    assert level == pytest.approx(2 * noise._middle(rest.ravel()))
    np.testing.assert_allclose(each**2, (count * (2 * own) ** 2 + 30 * level**2) / (count + 30))


def test_the_shrinkage_is_undone_by_least_squares_on_what_fits():
    R = rng(5).normal(size=(12, 5))
    observed = rng(6).random(R.shape) < 0.8
    R = np.where(observed, R, 0.0)
    U, s, Vt = np.linalg.svd(R, full_matrices=False)
    L = LowRank(np.column_stack([U[:, :2] * s[:2] * 0.7, np.zeros(12)]), Vt[:3].T)
    rest, factor = noise._debiased_residual(Problem(R, observed, 0.3, 1.0), L, 0.6)
    dense, unit = L.left @ L.right.T, U[:, :2] @ Vt[:2]
    E = np.where(observed, R - dense, 0.0)
    fits = observed & (np.abs(E) <= 0.6)
    along = (np.clip(E, -0.6, 0.6) * unit).sum() / (unit[fits] ** 2).sum()
    np.testing.assert_allclose(rest, np.abs(R - dense - along * unit))
    freedom = 1 - 3 * (12 + 5 - 3) / observed.sum()
    assert factor == pytest.approx(1.4826 / np.sqrt(max(freedom, 0.25)))


def test_readings_that_say_nothing_have_no_noise_to_tell():
    found = noise.estimate_noise(np.zeros((6, 3)), np.ones((6, 3), dtype=bool))
    assert (found.level, found.start) == (1.0, None)
    assert (found.weight == 1).all()


def test_nodes_are_weighed_by_their_noise_unless_told_not_to():
    size = np.where(np.arange(20) < 15, 0.1, 0.3)
    X = rng(7).normal(size=(200, 2)) @ rng(8).normal(size=(2, 20)) + size * rng(9).normal(
        size=(200, 20)
    )
    seen = np.ones(X.shape, dtype=bool)
    found = noise.estimate_noise(X, seen)
    np.testing.assert_allclose(found.level * found.weight, size, rtol=0.35)
    assert found.weight[15:].min() > 2 * found.weight[:15].max()
    assert (noise.estimate_noise(X, seen, weigh=False).weight == 1).all()


# What comes in


def test_one_reading_at_least_has_to_be_there_unless_none_is_asked_for():
    X = np.full((2, 2), np.nan)
    with pytest.raises(ValueError, match="no entry of X is observed"):
        checked(X, None)
    assert not checked(X, None, some=False)[1].any()
    X[0, 0] = 1.0
    with pytest.raises(ValueError, match="no entry of X is observed"):
        checked(X, np.array([[False, True], [True, True]]))


def test_infinite_readings_are_refused_where_they_are_observed():
    X = np.array([[1.0, 2.0], [np.inf, -np.inf]])
    with pytest.raises(ValueError, match="2 infinite entries, the first at slot 1, node 0"):
        checked(X, None)
    assert checked(X, np.isfinite(X))[1].tolist() == [[True, True], [False, False]]
    for shape in ((0, 3), (3, 0), (3,), (1, 1, 1)):
        with pytest.raises(ValueError, match="at least one of each"):
            checked(np.ones(shape), None)
    assert checked(np.ones((1, 1)), None)[1].all()
    assert checked(np.array([[1, 2]], dtype=">i2"), None)[0].dtype == np.float64
    assert checked(np.array([[1, 2]], dtype=">f4"), None)[0].dtype == np.dtype("=f4")
    with pytest.raises(ValueError, match="its dtype is float16"):
        checked(np.ones((1, 1), np.float16), None)


# Blocks, and who is told


@pytest.mark.parametrize("slots", [1, 3, 7])
def test_a_sweep_adds_sums_in_double_and_keeps_rows_as_they_are(slots, monkeypatch):
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", 6)
    x = rng(8).normal(size=(slots, 2)).astype(np.float32)
    rows, sums = engine.sweep(lambda b: ((b * 2,), (b.sum(axis=0), b.max() * 0 + 1)), x)
    np.testing.assert_array_equal(rows[0], x * 2)
    assert rows[0].dtype == np.float32
    np.testing.assert_allclose(sums[0], x.sum(axis=0), rtol=1e-6)
    assert sums[0].dtype == np.float64
    assert sums[1] == -(-slots // 3)


def test_steps_are_numbered_from_one_for_who_asks():
    told = []
    tell = teller(told.append)
    tell(2), tell(5)
    assert [(one.number, one.rank) for one in told] == [(1, 2), (2, 5)]
    assert all(isinstance(one, Iteration) and one.seconds >= 0 for one in told)
    assert np.isnan([told[0].objective, told[0].gap]).all()
    teller(None)(3)  # nobody is told
