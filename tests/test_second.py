"""The second look: regressions on the nodes most like each, stacked as hidden readings say."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import second
from fieldmend.field.chains import Chains, NodeModel
from fieldmend.field.joint import OtherConditions
from fieldmend.field.lean import CLASSES, lean_to_second
from fieldmend.field.model import Data, Field
from fieldmend.field.trials import forgetful


def paired(seed, slots=600, pairs=12):
    """Nodes that go in pairs, each pair on a way of its own: too many ways for common factors."""
    rng = np.random.default_rng(seed)
    walk = rng.normal(size=(slots, pairs)).cumsum(axis=0)
    walk -= walk.mean(axis=0)
    return np.repeat(walk, 2, axis=1) + 0.05 * rng.normal(size=(slots, 2 * pairs))


def data_of(readings, used=None):
    values = np.ascontiguousarray(readings.T)
    used = np.ones(values.shape, dtype=bool) if used is None else used
    return Data(np.where(used, values, 0.0), used, np.arange(values.shape[1]))


def test_each_node_is_regressed_on_those_most_like_it():
    field = paired(1).T
    found = second.second_looks(field, data_of(field.T))[0]
    partner = np.arange(len(field)) ^ 1
    assert (found.like[:, 0] == partner).all()


def test_a_system_that_rounding_has_spoilt_has_no_slopes():
    np.testing.assert_array_equal(second._ridge(-np.eye(3), np.ones(3), 0.1), np.zeros(3))


def test_slopes_are_the_ridge_regression_written_out():
    rng = np.random.default_rng(2)
    field = rng.normal(size=(4, 200)).cumsum(axis=1)
    used = rng.random(field.shape) < 0.7
    found = second.second_looks(field, data_of(field.T, used))[0]
    z = (field - field.mean(axis=1)[:, None]) / field.std(axis=1)[:, None]
    n, seen = 2, used[2]
    before = np.column_stack([2 * z[:, 0] - z[:, 1], z[:, :-1]])
    after = np.column_stack([z[:, 1:], 2 * z[:, -1] - z[:, -2]])
    like = found.like[n]
    x = np.vstack([before[like], z[like], after[like], np.ones(200)])[:, seen]
    y = field[n, seen] - field[n, seen].mean()
    gram = x @ x.T
    ridge = found.penalty[n] * 0.1 * np.trace(gram) / len(x)
    slope = np.linalg.solve(gram + ridge * np.eye(len(x)), x @ y)
    np.testing.assert_allclose(found.slope[n], slope, rtol=1e-6, atol=1e-8)


def test_slots_that_do_not_follow_each_other_are_not_neighbours():
    field = np.array([[0.0, 1, 2, 3, 4, 5], [9, 9, 9, 0, 0, 0]])
    links = np.array([True, True, False, True, True])
    before, _, after = second._lagged(field, links)
    np.testing.assert_array_equal(before[0], [-1, 0, 1, 2, 3, 4])
    np.testing.assert_array_equal(after[0], [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(after[1], field[1])  # the step across the cut is none


def test_a_slot_on_its_own_has_no_neighbours():
    before, now, after = second._lagged(np.array([[1.0, 5.0, 6.0]]), np.array([False, True]))
    np.testing.assert_array_equal(before, [[1.0, 4.0, 5.0]])
    np.testing.assert_array_equal(now, [[1.0, 5.0, 6.0]])
    np.testing.assert_array_equal(after, [[1.0, 6.0, 7.0]])


def test_nodes_with_few_readings_have_no_second_look():
    field = paired(3, slots=100, pairs=3).T
    used = np.ones(field.shape, dtype=bool)
    used[1, 29:] = used[2, 30:] = False  # thirty are enough
    found = second.second_looks(field, data_of(field.T, used))[0]
    out = found.estimate(field, data_of(field.T, used))
    assert np.isnan(out[1]).all()
    assert np.isfinite(np.delete(out, 1, axis=0)).all()


def test_twins_that_common_factors_miss_are_found_in_long_gaps():
    truth = paired(4)
    seen = np.ones(truth.shape, dtype=bool)
    for node in range(0, 24, 2):  # one of each pair, in turn
        seen[20 + 20 * node : 60 + 20 * node, node] = False
    out = fm.decompose(np.where(seen, truth, np.nan), method="auto")
    error = np.sqrt(np.mean((out.estimate - truth)[~seen] ** 2))
    assert error < 0.5  # the walks go several units away meanwhile; without the second look: 1.4


@pytest.mark.parametrize(("right", "least", "most"), [("other", 0.95, 1.0), ("model", 0.0, 0.05)])
def test_the_weight_goes_where_hidden_readings_say(right, least, most):
    rng = np.random.default_rng(5)
    truth, remote = rng.normal(size=4000), np.full(4000, 1.0)
    wrong = truth + rng.normal(size=4000)
    model, other = (wrong, truth) if right == "other" else (truth, wrong)
    weight = lean_to_second(truth, model, other, remote).weight
    assert (weight >= least).all()
    assert (weight <= most).all()


def test_without_evidence_it_is_half_and_half():
    few = np.arange(5.0)
    weight = lean_to_second(few, few + 1, few - 1, np.ones(5)).weight
    np.testing.assert_array_equal(weight, np.full(CLASSES, 0.5))


def test_neighbours_in_one_long_gap_are_few_witnesses():
    rng = np.random.default_rng(6)
    truth = rng.normal(size=400)
    model = truth + rng.normal(size=400)
    other = truth + 0.5 * rng.normal(size=400)
    near = lean_to_second(truth, model, other, np.full(400, 0.5)).weight[0]
    far = lean_to_second(truth, model, other, np.full(400, 100.0)).weight[-1]
    assert far < near


def test_where_there_is_no_second_estimate_the_first_stays():
    model = np.array([1.0, 2.0])
    lean = lean_to_second(np.zeros(40), np.ones(40), np.zeros(40), np.ones(40))
    mixed = lean.mix(model, np.array([np.nan, 0.0]), np.ones(2))
    assert mixed[0] == 1.0
    assert mixed[1] < 2.0


def field_of(factors, nodes=10):
    one, slots = np.ones(1), len(factors)
    return Field(
        level=np.zeros(nodes), loadings=np.ones((nodes, 1)), mean_loading=one, relevance=one,
        doubt=np.zeros((nodes, 2, 2)), phi=0.5 * one, factors=factors[None],
        nodes=NodeModel(np.zeros(nodes), np.ones(nodes), np.ones(nodes)),
        deviation=np.zeros((1, slots)), blur=np.zeros((1, 1)),
    )  # fmt: skip


def heard_but(silent, slots=9):
    used = np.ones((10, slots), dtype=bool)
    used[:, silent] = False
    return Data(np.zeros(used.shape), used, np.arange(slots))


def test_factors_forget_the_slots_whose_readings_are_hidden():
    every, rest, slot = heard_but([]), heard_but([3, 4, 5]), np.arange(9)
    field = field_of(np.where((slot >= 3) & (slot < 6), 100.0, slot))
    np.testing.assert_allclose(forgetful(field, every, rest).factors[0], slot)
    np.testing.assert_array_equal(forgetful(field, every, every).factors, field.factors)


def test_an_outage_beside_hidden_readings_does_not_tell_of_them():
    every, rest, slot = heard_but([5, 6]), heard_but([3, 4, 5, 6]), np.arange(9)
    field = field_of(np.where((slot >= 3) & (slot < 7), 100.0, slot))
    np.testing.assert_allclose(forgetful(field, every, rest).factors[0], slot)


def regressed(look, field, data, used):
    """Each node's ridge regression on its regressors, one after the other, and its chain."""
    view, fitted = look._view(field, data), np.empty(field.shape)
    for n, seen in enumerate(used):
        x, y = view.of(n, look.like[n]), data.readings[n]
        level = y[seen].mean() if seen.any() else look.level[n]
        gram = x[:, seen] @ x[:, seen].T
        unit = 0.1 * np.trace(gram) / len(gram) + 1e-9
        ridge = gram + look.penalty[n] * unit * np.eye(len(gram))
        fitted[n] = level + np.linalg.solve(ridge, x[:, seen] @ (y[seen] - level)) @ x
    rest = np.where(data.used, data.readings - fitted, 0.0)
    return fitted + Chains(look.nodes, data.used, data.links).smooth(rest)


def test_slopes_without_some_slots_come_from_the_same_look():
    rng = np.random.default_rng(5)
    readings = paired(3, slots=300, pairs=4)
    used = rng.random(readings.T.shape) < 0.7
    used[3, 100:] = False  # nothing is left of it without the first third
    data = data_of(readings, used)
    field = readings.T + 0.1 * rng.normal(size=readings.T.shape)
    look, _ = second.second_looks(field, data)
    away = [np.arange(300) < 100, np.arange(300) >= 250]
    (found,) = second.apart([(look, away)], field, data)
    for own, left in zip(found, (used, *(used & ~slots for slots in away)), strict=True):
        np.testing.assert_allclose(own, regressed(look, field, data, left), rtol=1e-5, atol=1e-5)


def test_the_same_time_of_the_days_around_it_helps_where_days_are_alike():
    """Each node repeats a day of its own; a node that lost whole days is known by its others."""
    rng = np.random.default_rng(8)
    day, days, nodes = 24, 20, 10
    own = rng.normal(size=(day, nodes)) @ np.diag(rng.uniform(1, 3, nodes))
    truth = np.tile(own, (days, 1)) + 0.2 * rng.normal(size=(day * days, nodes)).cumsum(axis=0) / 5
    X = truth + 0.1 * rng.normal(size=truth.shape)
    for n in range(nodes):
        for k in rng.choice(days, 4, replace=False):
            X[day * k : day * (k + 1), n] = np.nan
    seen = ~np.isnan(X)
    data = Data(np.where(seen, X, 0.0).T.copy(), seen.T.copy(), np.arange(len(X)))
    field = np.where(seen, X, np.nanmean(X, axis=0)).T.copy()  # knows nothing of what is lost
    off = [
        second.second_looks(field, data, periods=periods)[0].estimate(field, data).T - truth
        for periods in ((), (day,))
    ]
    without, with_days = (np.sqrt((e[~seen] ** 2).mean()) for e in off)
    assert with_days < 0.7 * without


def test_the_same_time_is_looked_up_by_the_number_of_the_slot():
    z = np.array([[1.0, 2.0, 4.0, 8.0]])
    slots = np.array([0, 3, 6, 7])
    np.testing.assert_array_equal(second._same_time(z, slots, 3), [[2.0, 2.5, 2.0, 0.0]])


def test_penalties_are_tried_on_blocks_as_long_as_the_gaps():
    used = np.ones((3, 500), dtype=bool)
    used[1, 200:290] = False
    used[2, ::50] = False
    folds = second._Folds.of(data_of(np.zeros((500, 3)), used))
    np.testing.assert_array_equal(folds.fold[:180], np.repeat([0, 1], 90))
    used[1] = True  # single readings are lost: a block must only be longer than neighbours tell
    folds = second._Folds.of(data_of(np.zeros((500, 3)), used))
    np.testing.assert_array_equal(folds.fold[:48], np.repeat([0, 1], 24))
    used[1, 100:400] = False  # no longer than leaves five of them
    folds = second._Folds.of(data_of(np.zeros((500, 3)), used))
    np.testing.assert_array_equal(folds.fold, np.repeat(np.arange(5), 100))


def test_in_another_order_of_the_slots_they_still_lie_side_by_side():
    """Of any other layout all is copied for every node: time grows with the nodes' square."""
    rng, order = np.random.default_rng(3), np.array([4, 0, 1, 3, 2])
    field, again, others = (rng.normal(size=s) for s in ((3, 6, 5), (2, 6, 5), (2, 3, 6, 5)))
    heard = rng.random((6, 5)) < 0.5
    view = second._View(field, again, others, heard).at(order)
    for found, plain in zip(
        (view.field, view.again, view.others), (field, again, others), strict=True
    ):
        np.testing.assert_array_equal(found, plain[..., order])
        assert found.flags.c_contiguous
    np.testing.assert_array_equal(view.heard, heard[:, order])


def test_stretches_of_a_long_record_fill_every_fold():
    """By their place, not by their number: stretches far apart may all begin alike."""
    slots = np.concatenate([k * 6000 + np.arange(150) for k in range(8)])
    used = np.ones((2, 1200), dtype=bool)
    used[0, 30:150] = False
    folds = second._Folds.of(Data(np.zeros((2, 1200)), used, slots))
    assert (np.bincount(folds.fold) >= 200).all()


def test_half_of_what_was_lost_lies_in_gaps_as_long_as_the_usual_one():
    lost = np.zeros((2, 100), dtype=bool)
    assert second._usual_gap(lost) == 1
    lost[0, :20:2] = True
    assert second._usual_gap(lost) == 1
    lost[1, 30:60] = True
    assert second._usual_gap(lost) == 30


def test_all_nodes_have_a_say_in_the_penalty_of_one(monkeypatch):
    """A node whose own blocks hardly tell penalties apart takes the one that helps the others."""
    field, tried = paired(3, pairs=3).T, iter(range(6))
    kept = second._Tried.of

    def told(folds):
        n = next(tried)
        left = np.zeros(len(second._PENALTIES))
        left[1 if n == 0 else 5] = -0.1 if n == 0 else -1.0
        found = kept(folds)
        return second._Tried(left, found.gram, found.side)

    monkeypatch.setattr(second._Tried, "of", told)
    found = second.second_looks(field, data_of(field.T))[0]
    np.testing.assert_array_equal(found.penalty, second._PENALTIES[5])


def test_readings_of_one_fold_alone_prefer_no_penalty():
    slots, seen = 200, np.zeros(200, dtype=bool)
    seen[:20] = True
    data = data_of(np.zeros((slots, 2)))
    folds = second._Folds.of(data)
    seen = seen[folds.order]
    x = np.random.default_rng(4).normal(size=(3, slots)) * seen
    found = second._Tried.of(folds.sums(x, x[0], seen))
    assert np.ptp(found.left) == 0.0


def test_one_look_at_the_regressors_does_for_both_with_other_conditions_and_without():
    rng = np.random.default_rng(6)
    readings = paired(4, slots=200, pairs=4)
    field = readings.T + 0.1 * rng.normal(size=readings.T.shape)
    plain = data_of(readings, rng.random(field.shape) < 0.7)
    heard = rng.random(field.shape) < 0.9
    data = replace(plain, others=OtherConditions(rng.normal(size=(1, *field.shape)), heard))
    alone, nothing = second.second_looks(field, plain)
    look, joint = second.second_looks(field, data)
    assert nothing is None
    np.testing.assert_allclose(look.slope, alone.slope, rtol=1e-6)
    (said, *_), (together,) = second.apart(
        [(look, [np.arange(200) < 60]), (joint, [])], field, data
    )
    np.testing.assert_allclose(said, regressed(alone, field, plain, plain.used), rtol=1e-4)
    both = np.where(heard, regressed(joint, field, data, plain.used), np.nan)
    np.testing.assert_allclose(together, both, rtol=1e-4)
    assert np.nanmax(np.abs(together - said)) > 0.01
