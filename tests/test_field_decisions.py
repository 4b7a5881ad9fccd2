"""What the field model decides from hidden readings, at the places where decisions turn."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from fieldmend.field import (
    auto,
    checking,
    choosing,
    fitting,
    joint,
    mixture,
    online,
    regions,
    slotwise,
)
from fieldmend.field import trials as tried
from fieldmend.field import windows as parts
from fieldmend.field.holdout import Calibration
from fieldmend.field.honest import Honest, Said
from fieldmend.field.lean import Lean
from fieldmend.field.likeness import _beside_all, _joined
from fieldmend.field.model import Data, most_factors, start_field
from fieldmend.field.power import Power
from fieldmend.field.regions import Region, coordinates, cut, said


def data_of(used, readings=None):
    used = np.asarray(used, dtype=bool)
    readings = np.zeros(used.shape) if readings is None else readings
    return Data(np.where(used, readings, 0.0), used, np.arange(used.shape[1]))


# Which slots, how many factors


def test_parameters_are_fitted_on_stretches_of_a_long_record():
    assert parts.fit_slots(500, 1000).tolist() == [*range(500)]
    long = parts.fit_slots(501, 1000)  # 1.25 times 400 and one more
    assert len(long) == 400
    assert (long[0], long[-1]) == (0, 500)
    pieces = np.split(long, np.flatnonzero(np.diff(long) > 1) + 1)
    assert {len(piece) for piece in pieces} <= {50, 100, 150, 200}
    assert len(parts.fit_slots(100_000, 4)) == 100_000
    assert parts.worth_refining(400, 401)
    assert not parts.worth_refining(400, 400)
    assert not parts.worth_refining(3000, 9000)


def trial_of(**columns):
    """Hidden readings, of which only what matters is said."""
    return SimpleNamespace(**{key: np.asarray(value) for key, value in columns.items()})


def test_another_start_has_to_be_better_in_company_too():
    outage = np.where(np.arange(130) < 30, -1, 0)

    def tried(company, silence):
        model = np.where(outage < 0, company, silence)
        return trial_of(truth=np.zeros(130), model=model, outage=outage)

    first = tried(1.0, 5.0)
    assert slotwise._better(tried(0.9, 4.5), first)
    assert not slotwise._better(tried(1.0, 2.5), first)
    assert not slotwise._better(tried(0.5, 5.0), first)
    outage[0] = 0  # 29 do not tell
    assert slotwise._better(tried(1.0, 2.5), tried(1.0, 5.0))


def test_windows_share_a_hundred_slots_with_the_next():
    found = parts.windows(3000, 1000)
    assert [(w.start, w.stop) for w in found] == [(0, 1000), (1000, 2000), (2000, 3000)]
    assert [(w.first, w.last) for w in found] == [(0, 1100), (900, 2100), (1900, 3000)]
    assert [w.kept for w in found] == [slice(0, 1000), slice(100, 1100), slice(100, 1100)]
    assert found[1].slots.tolist() == [*range(900, 2100)]
    assert len(parts.windows(600, 10**6)) == 1
    assert len(parts.windows(601, 10**6)) == 2


@pytest.mark.parametrize(("nodes", "slots", "most"), [
    (5, 90, 4), (6, 90, 2), (9, 90, 3), (36, 90, 12), (60, 90, 12), (60, 20, 6), (1, 9, 0),
])  # fmt: skip
def test_factors_have_three_nodes_and_three_slots_each(nodes, slots, most):
    data = data_of(np.ones((nodes, slots)))
    assert most_factors(12, data) == most
    assert most_factors(2, data) == min(2, most)


def lost_in_runs(slots, length):
    """A record of ten nodes of which each has a gap after as many readings."""
    used = np.ones((10, slots))
    for n, row in enumerate(used):
        row[np.arange(slots) // length % 2 == n % 2] = 0
    return data_of(used)


def test_a_record_is_hidden_until_enough_readings_or_runs_are():
    assert fitting._holdouts(data_of(np.ones((10, 300)))) == 4  # 1600 of 450 each, one by one
    assert fitting._holdouts(data_of(np.ones((10, 400)))) == 3
    assert fitting._holdouts(data_of(np.ones((10, 900)))) == 2
    assert fitting._holdouts(lost_in_runs(1800, 10)) == 4  # 135 runs each
    assert fitting._holdouts(lost_in_runs(10_000, 100)) == 3  # few runs, but 20,000 of 7,500 each
    assert fitting._holdouts(lost_in_runs(10_000, 10)) == 3  # 1600 of 750 runs each
    assert fitting._holdouts(lost_in_runs(11_000, 10)) == 2


def test_a_large_record_is_hidden_twice_and_outages_four_times():
    assert fitting._holdouts(data_of(np.ones((10, 90_000)))) == 2
    silent = np.ones((10, 9000))
    silent[:, 50:60] = 0
    assert fitting._holdouts(data_of(silent)) == 4
    silent[:, 60:] = np.random.default_rng(0).random((10, 8940)) < 0.8
    assert fitting._holdouts(data_of(silent)) == 2  # next to nothing of what was lost


def test_a_course_is_tried_on_some_pieces_of_a_long_record():
    assert choosing._some(10, 29_999).size == 29_999
    some = choosing._some(10, 40_000)  # twice what is enough: every other of eight pieces
    assert some.size == 20_000
    assert np.unique(some // 5000).tolist() == [1, 3, 5, 7]
    assert np.unique(choosing._some(10, 10**6) // 125_000).tolist() == [4]


@pytest.mark.parametrize(("day", "tried"), [(1.1, [8]), (0.9, [8, 56])])
def test_weeks_are_not_tried_where_days_do_not_help(day, tried, monkeypatch):
    data = data_of(np.random.default_rng(1).random((5, 400)) < 0.7)
    errors, seen = iter([(1.0,) * 3, (day,) * 3, (0.5,) * 3]), []
    monkeypatch.setattr(choosing, "_errors", lambda *_: next(errors))
    monkeypatch.setattr(choosing, "quick_mean", lambda some, _: some.readings)
    monkeypatch.setattr(choosing, "_worth_it", lambda *_: True)

    def course_of(rest, length):
        seen.append(length)
        return np.zeros((5, length))

    monkeypatch.setattr(choosing, "course_of", course_of)
    choosing.choose_course(data, [56, 8], 400, 0)
    assert seen[: len(tried)] == tried
    assert set(seen) == set(tried)


def test_the_worst_twentieth_of_errors_is_left_out():
    error = np.arange(1.0, 41.0)
    one = trial_of(truth=error, model=np.zeros(40))
    wanted = np.sqrt((error[:38] ** 2).mean())
    assert slotwise._error(one, np.ones(40, dtype=bool)) == pytest.approx(wanted)
    none = np.zeros(0)
    assert slotwise._error(trial_of(truth=none, model=none), none.astype(bool)) == 0.0


def test_a_course_is_judged_by_all_errors_gross_ones_as_far_and_no_farther():
    error = np.array([1.0] * 39 + [100.0])
    judged = np.ones((1, 40), dtype=bool)
    far = 4 * np.quantile(error, 0.95)
    wanted = np.sqrt((39 + far**2) / 40)
    got = choosing._errors(error[None, :], np.zeros((1, 40)), judged, ~judged)
    assert got == (pytest.approx(wanted), 0.0)


def test_rough_slots_are_worth_another_start():
    rng = np.random.default_rng(0)
    white = data_of(np.ones((8, 200)), rng.normal(size=(8, 200)))
    near = np.abs(np.diff(white.readings, axis=1))
    wanted = np.median(near) ** 2 / 2 / np.median(np.abs(white.readings)) ** 2
    assert mixture.roughness(white) == pytest.approx(wanted)
    assert mixture.worth_trying(white)
    assert not mixture.worth_trying(data_of(np.ones((5, 200)), white.readings[:5]))
    smooth = np.sin(np.arange(200) / 20) + np.zeros((8, 1))
    assert not mixture.worth_trying(data_of(np.ones((8, 200)), smooth))
    few = np.zeros((8, 200))
    few[:, ::2] = 1
    assert mixture.roughness(data_of(few, smooth)) == 1.0  # nothing side by side


def test_a_cycle_is_worth_a_trial_where_long_gaps_are_many():
    used = np.ones((4, 240))
    used[0, 10:12] = used[1, 30:33] = used[2, 50:55] = 0
    assert choosing._worth_it(data_of(used), 24)
    assert choosing._worth_it(data_of(used), 60)  # five of ten are in gaps of five
    assert not choosing._worth_it(data_of(used), 72)
    sparse = np.ones((4, 300))
    sparse[2, 50:61] = 0
    assert not choosing._worth_it(data_of(sparse), 24)  # eleven of 1,200
    sparse[2, 61] = 0
    assert choosing._worth_it(data_of(sparse), 24)


# Hold-outs


def test_hidden_entries_are_numbered_by_their_gap():
    used = np.array([[1, 0, 0, 1, 0, 1], [0, 0, 1, 0, 0, 1]]) > 0
    hidden = np.array([[0, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 0]]) > 0
    assert tried.numbered_runs(used, hidden).tolist() == [0, 0, 1, 2, 2, 3]
    runs = tried._renumbered([np.array([0, 2, -1]), np.array([1, -1, 0])])
    assert [one.tolist() for one in runs] == [[0, 2, -1], [4, -1, 3]]


def test_factors_forget_slots_that_are_mostly_hidden():
    field = SimpleNamespace(rank=1)
    kept = np.array([True, False, False, True])
    assert tried.bridged(field, np.ones(4, bool), np.arange(4)) is field
    assert tried.bridged(field, np.zeros(4, bool), np.arange(4)) is field
    rng = np.random.default_rng(0)
    base = start_field(data_of(np.ones((3, 4)), rng.normal(size=(3, 4))))
    one = replace(base, factors=np.array([[0.0, 9.0, 9.0, 6.0]]), loadings=np.ones((3, 1)))
    out = tried.bridged(one, kept, np.array([0, 1, 4, 6]))
    assert out.factors[0].tolist() == [0.0, 1.0, 4.0, 6.0]


def test_the_estimate_is_mixed_in_order_and_apart_in_outages():
    def lean(weight):
        return Lean(np.full(5, weight))

    calm, wide = (Calibration(np.zeros(1), np.full(1, f)) for f in (2.0, 5.0))
    alone = Honest(lean(0.0), lean(0.5), lean(0.0), wide, lean(0.25))
    one = Honest(lean(0.5), lean(0.25), lean(0.5), calm, None, alone)
    entries = [np.array([float(v)] * 2) for v in (0, 8, 16, 12)]
    told = Said(*entries, np.ones(2), np.array([False, True]), np.array([20.0, 20.0]))
    first = 0.5 * (0.5 * 8 + 0.0) + 0.5 * 12
    first += 0.25 * (16 - first)
    second = 0.5 * 16
    second += 0.25 * (20 - second)
    assert one.mix(told) == pytest.approx([first, second])
    assert one.factor(np.ones(2), told.silent, np.zeros(2)).tolist() == [2.0, 5.0]
    assert one.factor(np.ones(2), np.zeros(2, bool), np.zeros(2)).tolist() == [2.0, 2.0]


# The filter's gate


def test_the_gate_is_the_score_that_one_in_ten_thousand_passes():
    rng = np.random.default_rng(0)
    many = rng.exponential(size=20_000) * 2
    assert online._gate(many) == max(4.5, np.sort(many)[int(np.ceil(0.9999 * 19_999))])
    few = rng.exponential(size=5000) * 2
    tail = np.sort(few)[-50:]
    slope = np.log(tail / tail[0]).mean()
    wanted = min(tail[0] * (50 / 5000 / 1e-4) ** slope, 1.1 * tail[-1])
    assert online._gate(few) == pytest.approx(wanted)
    surer = min(tail[0] * 100 ** (slope * (1 + 1 / np.sqrt(50))), 1.1 * tail[-1])
    assert online.rare(few, sure=1.0) == pytest.approx(surer)
    thin = 4 + rng.exponential(size=5000) ** 0.3  # thins out fast: the power law decides
    tail = np.sort(thin)[-50:]
    slope = np.log(tail / tail[0]).mean()
    assert tail[0] * 100**slope < 1.1 * tail[-1]
    assert online._gate(thin) == pytest.approx(tail[0] * 100**slope)
    assert online.rare(few[:199]) == online.GATE
    assert online._gate(few / 100) == 4.5
    factor = online._unreplayed(0.9).calibration.at(np.array([3.0]))
    assert factor == pytest.approx(stats.norm.ppf(0.95))


# Company


def test_conditions_are_asked_where_enough_was_heard():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    other = 2 * X + 0.1 * rng.normal(size=X.shape)
    observed = np.ones(X.shape, dtype=bool)
    observed[:20, 0] = False
    assert joint.worth_asking(X, observed, [other]).readings[0] is other
    few = other.copy()
    few[0, 0] = np.nan  # nineteen
    assert joint.worth_asking(X, observed, [few]) is None
    assert joint.worth_asking(X, observed, [few], ask=True) is not None
    assert joint.worth_asking(X, np.ones(X.shape, bool), [other]) is None
    wide, seen = np.ones((2, 500, 4))
    seen[:20, 0] = seen[:, 1] = np.nan  # twenty of 520 lost were heard: not one in twenty
    heard = np.where(np.arange(4) == 0, wide, np.nan)
    assert joint.worth_asking(wide, ~np.isnan(seen), [heard]) is None


def test_likeness_of_conditions_is_a_mean_correlation():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    other = X * [1, -1, 0] + rng.normal(size=X.shape)
    observed = rng.random(X.shape) < 0.9
    other[35:, 2] = np.nan
    observed[:6, 2] = False  # twenty-nine pairs are too few
    wanted = []
    for n in range(2):
        both = observed[:, n]
        wanted.append(abs(np.corrcoef(X[both, n], other[both, n])[0, 1]))
    assert (observed[:, 2] & np.isfinite(other[:, 2])).sum() < 30
    assert joint._likeness(X, observed, other) == pytest.approx(np.mean(wanted))
    assert joint._likeness(X, observed, np.full(X.shape, np.nan)) == 0.0
    small = joint._likeness(1e-6 * X, observed, 1e-6 * other)  # whatever the units
    assert small == pytest.approx(np.mean(wanted))
    every = np.ones((30, 3), dtype=bool)  # thirty pairs are enough
    assert joint._likeness(X[:30], every, 2 * X[:30]) == pytest.approx(1.0)
    assert joint._likeness(X[:29], every[:29], 2 * X[:29]) == 0.0


# Regions


def test_regions_are_halves_along_the_longest_axis_with_their_nearest():
    rng = np.random.default_rng(0)
    at = np.column_stack([rng.uniform(0, 100, 40), rng.uniform(0, 1, 40)])
    found = cut(at, most=12, halo=3)
    decided = np.concatenate([region.decided for region in found])
    assert sorted(decided.tolist()) == [*range(40)]
    order = np.argsort(at[:, 0])
    assert [len(region.decided) for region in found] == [10, 10, 10, 10]
    for k, region in enumerate(found):
        assert set(region.decided) == set(order[10 * k : 10 * k + 10])
        others = [n for n in range(40) if n not in region.decided]
        away = [min(np.hypot(*(at[n] - at[m])) for m in region.decided) for n in others]
        nearest = [others[i] for i in np.argsort(away)[:3]]
        assert set(region.nodes) - set(region.decided) == set(nearest)
    assert len(cut(at, most=40)) == 1


def test_companions_are_looked_for_in_regions_nearby(monkeypatch):
    monkeypatch.setattr(regions, "_AROUND", 1)
    line = np.arange(40.0)[:, None]
    found = [region.nodes.tolist() for region in cut(line, most=10, halo=3)]
    assert found[0] == [*range(13)]
    assert all(len(nodes) == 13 for nodes in found)


def test_a_node_without_a_place_stands_where_its_likest_does():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(200, 2))
    X = common[:, [0, 0, 0, 1, 1, 1]] + 0.1 * rng.normal(size=(200, 6))
    places = np.array([[0.0, 0], [0, 0], [np.nan, 0], [9, 9], [9, 9], [9, 9]])
    seen = np.ones(X.shape, dtype=bool)
    assert coordinates(X, seen, places)[2].tolist() == [0.0, 0.0]
    known = np.nan_to_num(places)
    assert coordinates(X, seen, known) is known
    places[3:] = np.nan  # two of six
    assert coordinates(X, seen, places).shape != places.shape
    places[3] = 9.0  # half
    assert coordinates(X, seen, places).shape == places.shape


def test_regions_are_told_in_words():
    plan = [Region(np.arange(5), np.ones(5, bool)), Region(np.arange(7), np.ones(7, bool))]
    end = "2 regions of up to 7 nodes, each with its neighbours, of"
    assert said(plan, [3, 3]) == f"{end} 3 common factors"
    assert said(plan, [2, 5]) == f"{end} 2 to 5 common factors"


def test_nodes_are_joined_to_those_whose_series_go_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 12))
    observed = rng.random(X.shape) < 0.9
    series = _beside_all(X, observed)
    np.testing.assert_allclose((series**2).sum(axis=1), 1.0, rtol=1e-4)
    near, weight = _joined(series, np.arange(12))
    alike = (series @ series.T) ** 2
    for n in range(12):
        others = [m for m in np.argsort(-alike[n]) if m != n][:6]
        assert set(near[n]) == set(others)
        want = {m: alike[n, m] / alike[n, others].sum() for m in others}
        for m, share in zip(near[n], weight[n], strict=True):
            assert share == pytest.approx(want[m], rel=1e-3)


# Words, and the order of nodes


def test_the_order_of_nodes_hangs_on_their_readings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    seen = rng.random(X.shape) < 0.8
    order, sign = auto._order(X, seen, 0)
    turn = np.array([3, 0, 4, 1, 2])
    again, same = auto._order(X[:, turn], seen[:, turn], 0)
    assert turn[again].tolist() == order.tolist()
    down, other = auto._order(-X, seen, 0)
    assert (down.tolist(), other) == (order.tolist(), -sign)
    assert same == sign
    assert np.diff(seen[:, order].sum(axis=0)).min() >= 0  # the least heard first


def test_what_company_counts_is_said():
    together = SimpleNamespace(lean=Lean(np.array([0.1, 0.456])))
    assert auto._company_words(None) == ""
    assert "count up to 46 % where they were heard" in auto._company_words(together)


# Does it still fit?


@pytest.mark.parametrize(("course", "period"), [((3, 24), 24), ((3, 1), None), (None, None)])
def test_a_fresh_fit_tries_the_course_that_the_model_has(course, period, monkeypatch):
    asked = []
    fresh = (SimpleNamespace(sparse=0), None)
    monkeypatch.setattr(checking, "recover_field", lambda *_, **how: asked.append(how) or fresh)
    values = None if course is None else SimpleNamespace(values=np.zeros(course))
    part = SimpleNamespace(view=SimpleNamespace(course=values), level=0.8)
    assert checking._fresh(part, np.zeros((2, 3)), np.ones((2, 3), bool), 5) is fresh[0]
    assert asked == [{"level": 0.8, "period": period, "seed": 5}]


@pytest.mark.parametrize(("found", "wrong"), [
    ({}, None), ({"error": 1.11}, "1.11 times"), ({"error": 1.09}, None),
    ({"held": 0.79}, "intervals hold 79 %"), ({"held": 0.81}, None),
    ({"false": 0.11}, "calls 11 %"), ({"false": 0.11, "fresh_false": 0.06}, None),
    ({"fresh": np.nan, "error": 9.0}, None),
])  # fmt: skip
def test_a_model_is_judged_by_error_intervals_and_flags(found, wrong):
    given = {"error": 1.0, "held": 0.9, "false": 0.05, "fresh": 1.0} | found
    got = checking._judged(SimpleNamespace(level=0.9), checking._Found(**given), 70)
    assert bool(got) is (wrong is None)
    assert (wrong or "the model still fits: on 70 hidden readings") in got.said


def test_errors_are_over_the_nodes_scales_without_the_largest():
    view = SimpleNamespace(
        order=np.array([1, 0]), scaling=SimpleNamespace(scale=np.array([2.0, 4.0]))
    )
    part = SimpleNamespace(nodes=2, view=view)
    X = np.arange(40.0).reshape(20, 2)
    off = np.sort((X / [4.0, 2.0]).ravel())
    every = np.ones(X.shape, dtype=bool)
    assert checking._error(part, np.zeros(X.shape), X, every) == pytest.approx(off[:38].mean())
    assert np.isnan(checking._error(part, X, X, ~every))


def test_powers_have_names():
    names = [Power(p, 1.0).name for p in (1.0, 1 / 2, 1 / 3, 0.25)]
    assert names == ["as they are", "square roots", "cube roots", "power 0.25"]
