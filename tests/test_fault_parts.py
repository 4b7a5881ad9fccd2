"""The parts of the search for faults, each by itself; invariance and edges of the whole."""

import numpy as np
import pytest

import fieldmend as fm
from faulty import FAULTS, NODES, context, diagnose, drift, readings
from fieldmend import faults
from fieldmend.faults import events, history, implied, stretches
from fieldmend.faults.events import keeps_its_distance


def test_a_run_is_longer_than_usual_only_against_its_kind():
    continuous = np.ones(1000, int)
    resting = np.random.default_rng(0).pareto(1.0, 1000).astype(int) + 1
    assert history.usual_repeats(continuous)[1] == history.SHORTEST_STUCK
    assert history.usual_repeats(resting)[1] > 10 * resting.max()


def test_what_begins_together_is_shared_and_what_dies_one_by_one_is_not():
    found = np.zeros((100, 6), dtype=bool)
    found[50:, :4] = True
    up = np.where(found, 9.0, 0.0)
    off = np.zeros_like(found)
    assert events.shared(found, up, off)[50:, :4].all()
    for n in range(4):
        found[50 : 50 + 25 * n, n] = False
    assert not events.shared(found, np.where(found, 9.0, 0.0), off).any()


def test_a_departure_of_neighbours_is_local_and_one_of_strangers_is_not():
    places = {f"n{i}": {"x": float(i), "y": 0.0} for i in range(20)}
    mean = np.full((50, 20), 0.1)
    labels = context(mean, places=places)
    mean[20:30, [3, 4, 5]] = 9.0
    assert events.local(mean, 2.0, labels, mean)[20:30, [3, 4, 5]].all()
    assert events.local(mean, 2.0, labels, mean).sum() == 30
    mean[20:30, [4, 5]] = 0.1
    mean[20:30, [12, 19]] = 9.0
    assert not events.local(mean, 2.0, labels, mean).any()


def test_what_comes_back_at_its_hours_is_a_habit():
    found = np.zeros((5 * 288, 2), dtype=bool)
    deviation = np.zeros(found.shape)
    found[600:640, :] = True
    deviation[600:640, :] = 9.0
    for day in (-1, 1):
        deviation[600 + 288 * day : 640 + 288 * day, 0] = 7.0
    habit = events.recurrent(found, deviation, context(deviation))
    assert habit[600:640, 0].all()
    assert habit.sum() == 40
    assert not events.recurrent(found, deviation, faults.Context()).any()  # no slot, no hours


def test_a_level_is_novel_if_jumped_to_and_seen_at_no_other_time():
    rng = np.random.default_rng(0)
    day = np.concatenate([np.linspace(0, 300, 100), np.linspace(300, 50, 100)])
    series = day + rng.normal(0, 2, 200)
    held = np.concatenate([series, np.full(50, 777.7), series])
    assert history.novel(held, 200, 250)
    dusk = np.concatenate([series, np.full(50, series[-1] - 0.5), series[::-1]])
    assert not history.novel(dusk, 200, 250)
    twice = np.concatenate([held, np.full(50, 777.7), series])
    assert not history.novel(twice, 200, 250)
    assert not history.novel(held[:250], 200, 250)


def test_no_node_vouches_for_itself():
    X = readings(300, 6)
    moved = X.copy()
    moved[150, 0] += 0.2
    every = np.ones(X.shape, dtype=bool)
    change = implied.implied(moved, every).residual - implied.implied(X, every).residual
    assert change[150, 0] == pytest.approx(0.2, rel=0.03)


def test_what_the_others_imply_is_taken_as_known_only_of_the_same_evidence():
    X = readings(300, 6)
    every = np.ones(X.shape, dtype=bool)
    known = implied.implied(X, every)
    assert implied.implied(X, every.copy(), known) is known
    fewer = every.copy()
    fewer[5, 1] = False
    for other in (implied.implied(X, fewer, known), implied.implied(X + 1, every, known)):
        assert other is not known
    np.testing.assert_array_equal(
        implied.implied(X, fewer, known).residual, implied.implied(X, fewer).residual
    )


@pytest.mark.parametrize("nodes", [4, 5])
def test_a_slot_is_off_by_the_median_of_its_nodes_or_not_at_all(nodes):
    rng = np.random.default_rng(nodes)
    size, trusted = rng.exponential(1.0, (300, nodes)), rng.random((300, nodes)) < 0.8
    plain = 1.4826 * np.nanmedian(
        np.where(trusted | ~trusted.any(1, keepdims=True), size, np.nan), 1
    )
    plain[~trusted.any(axis=1)] = 1.0
    assert 30 < (plain > 1).sum() < 270
    found = implied._slot_scale(size, trusted, trusted.sum(axis=1))
    np.testing.assert_allclose(found, np.maximum(1, plain), rtol=1e-14)


def test_readings_left_out_are_not_judged():
    X = readings()
    X[100, 3] += 9
    X[101, 3] += 9
    left_out = np.zeros(X.shape, dtype=bool)
    left_out[101, 3] = True
    found = faults.spikes(X, readings(noise=0), left_out)
    assert found[100, 3]
    assert not found[101, 3]


def test_opposite_departures_are_not_shared():
    found = np.zeros((100, 6), dtype=bool)
    found[50:, :4] = True
    sign = np.array([1, -1, 1, -1, 1, 1])
    assert not events.shared(found, found * sign * 9.0, np.zeros_like(found)).any()


def test_bounded_keeps_equal_readings_equal_and_squares_finite():
    X = np.array([[1e308, -1e308, 3.0], [1e308, 2.0, 3.0], [5.0, 2.0, 3.0]])
    values, _ = stretches.bounded(X)
    assert np.isfinite(values**2).all()
    assert values[0, 0] == values[1, 0]
    assert values[1, 2] == values[2, 2]


@pytest.mark.parametrize("slots", [80, 400], ids=["fewer slots", "fewer nodes"])
@pytest.mark.parametrize("many", [300, 1000], ids=["by Lanczos", "by all"])
def test_a_few_factors_of_many_nodes_are_those_of_all(slots, many, monkeypatch):
    rng = np.random.default_rng(4)
    Y = 5.0 * rng.normal(size=(slots, 3)) @ rng.normal(size=(3, 320))
    Y += rng.normal(size=Y.shape)
    weight = rng.uniform(0.5, 1.0, 320)
    monkeypatch.setattr(implied, "MANY", many)
    few = implied._Leading(Y, 3)(weight)
    every = np.linalg.svd(Y * weight, full_matrices=False)[2][:3].T
    np.testing.assert_allclose(np.abs((few * every).sum(axis=0)), 1.0, rtol=1e-9)
    nothing = implied._Leading(np.zeros((slots // 16, 400)), 2)(np.ones(400))
    assert nothing.shape == (400, 2)


def test_a_distance_that_a_node_often_has_is_no_departure_among_few():
    rng = np.random.default_rng(1)
    X = 50 + rng.normal(0, 0.1, (1000, 4))
    X[:, :2] += 9 * np.sin(np.arange(1000) / 60)[:, None]  # two indoors, two outside
    near = np.zeros(X.shape, dtype=bool)
    near[400:440, 3] = True
    X[400:440, 3] += 1.5
    nothing = np.zeros(X.shape, dtype=bool)
    assert keeps_its_distance(near, X, nothing)[400:440, 3].all()
    X[400:440, 3] += 40
    assert not keeps_its_distance(near, X, nothing).any()
    assert not keeps_its_distance(np.hstack([near] * 2), np.hstack([X] * 2), nothing).any()


# Invariance and edges


def test_the_same_twice():
    X = readings()
    drift(X, 3, slice(200, 400))
    assert diagnose(X)[0] == diagnose(X)[0]


def test_permuting_nodes_permutes_the_flags():
    X = readings()
    for node, kind in enumerate(FAULTS):
        FAULTS[kind][0](X, node, FAULTS[kind][1])
    order = np.random.default_rng(0).permutation(NODES)
    np.testing.assert_array_equal(faults.persistent(X[:, order]), faults.persistent(X)[:, order])
    estimate = fm.decompose(X).estimate
    np.testing.assert_array_equal(
        faults.spikes(X[:, order], estimate[:, order]), faults.spikes(X, estimate)[:, order]
    )


def test_units_do_not_matter():
    X = readings()
    for node, kind in enumerate(FAULTS):
        FAULTS[kind][0](X, node, FAULTS[kind][1])
    moved = faults.persistent(X * 1.8 + 32)
    assert (moved != faults.persistent(X)).mean() < 1e-3


def odd(name):
    X = readings(60, 6)
    return {
        "one slot": X[:1],
        "one node": X[:, :1],
        "two slots": X[:2],
        "one reading": np.where(np.arange(6) == 2, X[:1], np.nan),
        "constant": np.full((60, 6), 3.0),
        "zero": np.zeros((60, 6)),
        "all missing": np.full((60, 6), np.nan),
        "a node missing": np.where(np.arange(6) == 1, np.nan, X),
        "a slot missing": np.where(np.arange(60)[:, None] == 7, np.nan, X),
        "1e308": np.where(np.arange(6) == 1, 1e308 * np.sign(X - 20), X),
        "all 1e308": X * 4e306,
        "tiny": X * 1e-300,
        "float32": X.astype(np.float32),
        "no slots": X[:0],
    }[name]


ODD = [
    *("one slot", "one node", "two slots", "one reading", "constant", "zero", "all missing"),
    *("a node missing", "a slot missing", "1e308", "all 1e308", "tiny", "float32", "no slots"),
]


@pytest.mark.parametrize("name", ODD)
def test_odd_input_gives_finite_answers(name):
    X = odd(name)
    before = X.copy()
    lasting = faults.persistent(X, context(X))
    assert lasting.shape == X.shape
    assert not lasting[np.isnan(X)].any()
    estimate = np.full(X.shape, np.median(np.nan_to_num(X)) if X.size else 0.0)
    found = faults.spikes(X, estimate, lasting)
    assert not found[np.isnan(X)].any()
    every = ~np.isnan(X)
    for episode in faults.classify(X, estimate, every, context(X), lasting):
        assert np.isfinite([episode.severity, episode.confidence]).all()
        assert 0 <= episode.start < episode.stop <= X.shape[0]
        assert "nan" not in episode.explanation
        assert "inf" not in episode.explanation
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", ["constant", "zero", "one slot", "two slots", "one node"])
def test_nothing_is_said_about_what_cannot_be_compared(name):
    assert not faults.persistent(odd(name)).any()


def test_the_shapes_have_to_agree():
    with pytest.raises(ValueError, match="estimate"):
        faults.spikes(readings(), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="slots × nodes"):
        faults.persistent(np.zeros(5))


def test_some_slots_of_a_long_record_tell_the_levels(monkeypatch):
    rng = np.random.default_rng(4)
    common = rng.normal(size=(900, 2)).cumsum(axis=0)
    X = common @ rng.normal(size=(2, 12)) + rng.normal(size=(900, 12))
    X[rng.random(X.shape) < 0.1] = np.nan
    every = implied.implied(X, ~np.isnan(X))
    monkeypatch.setattr(implied, "LEVELS", 300)
    some = implied.implied(X, ~np.isnan(X))
    off = np.abs(some.residual - every.residual) / every.spread
    assert 0 < np.nanmedian(off) < 0.1
    np.testing.assert_allclose(some.spread, every.spread, rtol=0.1)
