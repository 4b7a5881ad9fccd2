"""What a node makes of the others, its stretch apart: against the slow and obvious."""

import numpy as np
import pytest

import naive_faults as naive
from faulty import context
from fieldmend.faults import answers
from tiny import holed


def related(seed, slots=96, nodes=5, share=0.15):
    """Nodes that see the same, each in its own degree; one is off in a stretch."""
    rng = np.random.default_rng([seed, 7])
    field = np.cumsum(rng.normal(size=slots))
    X = field[:, None] * rng.uniform(0.5, 2, nodes) + 0.3 * rng.normal(size=(slots, nodes))
    first = int(rng.integers(0, slots // 2))
    X[first : first + slots // 3, 1] += 8.0
    X[np.isnan(holed(seed, X.shape, share))] = np.nan
    return X + 10 * np.arange(nodes)


@pytest.mark.parametrize("seed", range(3))
def test_readings_are_told_in_spreads_of_their_node(seed):
    X = related(seed)
    X[:, 3] = 7.0  # never moves: the spread of the others is its measure
    X[5, 0] = 1e6
    off = X - naive.medians(X)
    spread = 1.4826 * naive.medians(np.abs(off))
    least = 0.2 * np.median(spread[spread > 0])
    want = np.clip(off / np.maximum(spread, least), -30, 30)
    seen = answers._Seen(X)
    np.testing.assert_allclose(seen.z, want, rtol=1e-12)
    np.testing.assert_allclose(seen.common, naive.medians(want.T), rtol=1e-12)
    np.testing.assert_allclose(seen.apart, X - naive.medians(X.T)[:, None], rtol=1e-12)


def test_the_likest_are_those_who_go_along_while_the_network_is_as_usual():
    X = related(1)
    X[:, 3] = np.nan  # was never heard: like nobody
    X[40:44, [0, 4]] += 500.0  # and the network is strange
    X[40:44, 1:3] -= 500.0
    X[60:64] += 900.0  # all of it: no slot that tells who is like whom
    seen = answers._Seen(X)
    off = X - naive.medians(X)
    off[np.abs(np.nan_to_num(seen.common)) > answers.UNKNOWN] = np.nan
    assert np.isnan(off[60:64]).all()
    for n in (0, 1, 2, 4):
        others = [m for m in (0, 1, 2, 4) if m != n]
        others.sort(key=lambda m, n=n: -naive.correlation(off[:, n], off[:, m]))
        assert seen.likest[n].tolist() == others


@pytest.mark.parametrize("nodes", [5, answers.MANY])
def test_a_reading_is_told_by_most_others_and_by_its_likest(nodes):
    seen = answers._Seen(related(2, nodes=nodes))
    seen.z[7] *= 100  # what a node makes of that nobody knows
    seen.common[7] *= 100
    for node in (0, 3):
        others = [m for m in range(nodes) if m != node]
        most = naive.medians((seen.z if nodes >= answers.MANY else seen.z[:, others]).T)
        near = naive.medians(seen.z[:, seen.likest[node]].T)
        one = np.where((np.abs(most) > 5) | (np.abs(near) > 5), np.nan, 1.0)
        want = np.column_stack([one, most, near])
        np.testing.assert_allclose(seen.asked(node, slice(None)), want, rtol=1e-12)
        np.testing.assert_allclose(seen.asked(node, np.array([3, 7])), want[[3, 7]], rtol=1e-12)
        assert np.isnan(want[7, 0])


@pytest.mark.parametrize("seed", range(6))
def test_a_record_is_parted_where_its_spreads_differ_most(seed):
    seen = answers._Seen(related(seed))
    rows = np.arange(0, 96)
    edges = np.linspace(0, 96, 13).astype(int)
    for node in range(5):
        a, b, weights, usual = naive.parted(
            seen.asked(node, rows), seen.z[:, node], edges,
            shortest=3, heard=8, left=1 / 3, ridge=0.01,
        )  # fmt: skip
        got = answers._apart(seen, node, rows, edges, 3)
        if a == 0 and b and got.inside[-1] == rows[-1]:
            began = answers._Apart(np.arange(edges[b]), weights, usual)
            assert _is_the_other_half(seen, node, got, began)
            continue
        assert got.inside.tolist() == (list(range(edges[a], edges[b])) if b else [])
        if b:
            np.testing.assert_allclose(got.weights, weights, rtol=1e-6)
            np.testing.assert_allclose(got.usual, usual, rtol=1e-6)
            assert got.size == pytest.approx(_size(seen, node, got), rel=1e-6)


def _is_the_other_half(seen, node, got, began):
    """The rest of a record that began as it should: off from the beginning too, by its own line.

    As large as the beginning is from the rest; the beginning may end some blocks earlier.
    """
    size, own = _size(seen, node, began), _size(seen, node, got)
    assert got.size == pytest.approx(size)
    assert got.distance == pytest.approx(own * got.usual)
    assert own > min(0.7 * size, 3.0)
    return got.inside[0] <= began.inside[-1] + 1 and seen.at_home(node, began.inside)


def _size(seen, node, one):
    """How far off a node is in a stretch: by all of them, and by whichever likest is nearest."""
    inside = np.zeros(len(seen.z), dtype=bool)
    inside[one.inside[0] : one.inside[-1] + 1] = True
    views = [seen.z[inside, node] - seen.asked(node, inside.nonzero()[0]) @ one.weights]
    for other in seen.likest[node]:
        x, y = seen.z[:, other], seen.z[:, node]
        rest = ~inside & ~np.isnan(x) & ~np.isnan(y)
        if rest.sum() < answers.HEARD:
            continue
        dx, dy = x[rest] - x[rest].mean(), y[rest] - y[rest].mean()
        slope = np.mean(dx * dy) / (np.mean(dx**2) + answers.RIDGE)
        views.append(y[inside] - (y[rest].mean() + slope * (x[inside] - x[rest].mean())))
    sizes = [1.4826 * naive.median(np.abs(view)) for view in views]
    return min(size for size in sizes if not np.isnan(size)) / one.usual


@pytest.mark.parametrize(("heard", "asked"), [(7, False), (8, True)])
def test_a_likest_node_is_asked_if_it_was_heard_eight_times_elsewhere(heard, asked):
    X = related(4, share=0.0)
    X[heard:60, 0] = X[80:, 0] = np.nan
    got = answers._by_one(answers._Seen(X), 1, 0, np.arange(60, 80))
    assert np.isfinite(got).all() == asked
    assert np.isfinite(got).any() == asked


@pytest.mark.parametrize("seed", range(3))
def test_others_that_are_a_third_as_far_off_meanwhile_make_it_no_fault_of_one(seed):
    seen = answers._Seen(related(seed, slots=192))
    rows, edges = np.arange(192), np.linspace(0, 192, 13).astype(int)
    apart = [answers._apart(seen, n, rows, edges, 2) for n in range(5)]
    for node in range(5):
        inside, count = apart[node].inside, 0
        for m, one in enumerate(apart):
            if m != node and one.inside.size and inside.size:
                off = seen.z[inside, m] - seen.asked(m, inside) @ one.weights
                count += 1.4826 * naive.median(np.abs(off)) / one.usual > apart[node].size / 3
        if inside.size:
            assert answers._many(seen, apart, node) == (count >= 2)


@pytest.mark.parametrize("seed", range(4))
def test_readings_between_false_ones_of_a_day_are_false_if_most_of_them_are(seed):
    rng = np.random.default_rng(seed)
    one = answers._Apart(np.arange(3), np.zeros(3), 0.5, 6.0, 12.0)
    limit = 0.5 * 12.0 / 3
    off = rng.normal(size=300)
    off[80:200] = rng.choice([0.0, 5.0], size=120, p=[0.3, 0.7] if seed % 2 else [0.55, 0.45])
    off[rng.random(300) < 0.2] = np.nan
    heard = np.flatnonzero(~np.isnan(off))
    far = np.abs(off[heard]) > limit
    crowd = naive.rolling(far.astype(float), 15) >= 0.5
    runs = naive.grown(crowd, naive.joined(far, 20))
    most = runs.any() and far[runs].mean() > 0.5
    want = np.zeros(300, dtype=bool)
    want[heard] = runs if most else far & naive.joined(crowd, 15)
    np.testing.assert_array_equal(answers._away(off, one, 20), want)


def test_off_is_three_usual_distances_and_a_third_of_how_far_the_stretch_goes():
    off = np.concatenate([np.zeros(40), np.full(40, 2.9), np.full(40, 3.1)])
    for size, found in ((7.0, [*range(80, 120)]), (9.2, [*range(80, 120)]), (9.4, [])):
        one = answers._Apart(np.arange(3), np.zeros(3), 1.0, size, size)
        assert np.flatnonzero(answers._away(off, one, 30)).tolist() == found


@pytest.mark.parametrize("slots", [288 * 3 - 1, 288 * 3])
def test_three_days_are_the_least(slots):
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(0, 0.05, slots))[:, None] + 0.1 * rng.normal(size=(slots, 6))
    X[500:, 2] += 5.0
    found, _ = answers.estranged(X, np.zeros(X.shape, dtype=bool), context(X))
    assert found.any() == (slots == 288 * 3)
