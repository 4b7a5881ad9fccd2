"""A table whose columns are unlike quantities: a plant's tags, a building's points."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.faults.gross import at_its_stops
from fieldmend.quantities import Kind, identify
from fieldmend.quantities.behaviour import behaviour, spreads
from fieldmend.report import contents

LEVELS = np.array([80.0, 4.0, 1200.0, 50.0, 2.0, 60.0, 90.0, 3000.0, 240.0, 12.0])
SIZES = np.array([8.0, 0.1, 90.0, 8.0, 0.5, 25.0, 4.0, 10.0, 15.0, 0.2])


def plant(seed=0, slots=900):
    """Ten tags that follow one load, each in its way; a valve that is shut or open for hours."""
    rng = np.random.default_rng(seed)
    load = np.repeat(np.cumsum(rng.normal(0, 1, slots // 90)), 90)
    load = load + np.convolve(rng.normal(0, 0.3, slots), np.ones(30) / 5, "same")
    way = rng.uniform(0.5, 1.5, len(LEVELS)) * rng.choice([-1, 1], len(LEVELS))
    X = LEVELS + SIZES * (load[:, None] * way + rng.normal(0, 0.05, (slots, len(LEVELS))))
    X[:, 4] = np.exp(0.4 * load)  # an analyser: far more at one load than at another
    X[:, 5] = np.clip(np.round(X[:, 5], 1), 0, 100)
    return X


def named(X):
    return identify("value", "", X).kind


@pytest.mark.parametrize("seed", range(4))
def test_unlike_columns_that_nobody_named_are_mixed(seed):
    X = plant(seed)
    assert named(X) is Kind.MIXED
    assert identify("temperature", "", X).kind is Kind.LINEAR  # the file says what all of them are
    assert identify("value", "°C", X).kind is not Kind.MIXED
    assert identify("value", "", X, kind="linear").kind is Kind.LINEAR


@pytest.mark.parametrize("seed", range(4))
def test_one_quantity_is_not(seed):
    for field in ("temperature", "low_rank"):
        net = fm.simulate.network(slots=400, nodes=12, field=field, sampling=0.8, seed=seed)
        assert named(net.readings) is not Kind.MIXED
    for made in fm.simulate.QUANTITIES.values():
        assert named(made(400, 9, seed=seed)) is not Kind.MIXED


def test_nodes_that_failed_make_no_mixture():
    X = fm.simulate.network(slots=400, nodes=8, field="temperature", sampling=1, seed=1).readings
    X[:, 2] = 1000 * np.random.default_rng(0).normal(size=400)
    assert behaviour(X).unlike < 3
    assert named(X) is not Kind.MIXED


def test_ranges_must_differ_both_ways():
    steps = np.linspace(0, 1, 101)[:, None]
    rivers = steps * 10.0 ** np.arange(6)  # of what each reads its range is the same share
    gauges = steps + 10.0 ** np.arange(6)  # above the sea: ranges alike
    assert behaviour(rivers).unlike == pytest.approx(1)
    assert behaviour(gauges).unlike == pytest.approx(1)
    both = steps * 10.0 ** np.arange(6) + 1e6
    assert behaviour(both).unlike == pytest.approx(995.5, rel=1e-3)  # 1000 and 991
    assert behaviour(both[:, :4]).unlike == 1.0  # four are too few to say


def test_where_most_of_its_range_ends_is_known():
    X = np.column_stack(
        [np.linspace(0, 10, 101), np.full(101, 3.0), np.r_[1.0, np.full(100, np.nan)]]
    )
    np.testing.assert_allclose(spreads(X), [8.0, np.nan, np.nan])


def test_stops_are_a_nodes_own_ends():
    X = np.array([[0.0, 5.0], [2.0, np.nan], [10.0, 7.0], [0.0, 6.0]])
    assert at_its_stops(X).tolist() == [[True, True], [False, False], [True, True], [True, False]]


@pytest.mark.parametrize("seed", range(3))
def test_setpoints_valves_and_analysers_are_no_faults(seed):
    truth = plant(seed)
    X = np.where(np.random.default_rng(seed + 10).random(truth.shape) < 0.2, np.nan, truth)
    rec = fm.recover(fm.Grid.of(X, slot_seconds=60.0), seed=seed)["value"]
    assert rec.quantity.kind is Kind.MIXED
    assert np.count_nonzero(rec.flag == 3) <= 0.01 * np.count_nonzero(~np.isnan(X))
    assert not rec.replaced.any()
    assert any("measure unlike things" in note for note in rec.notes)


def test_one_that_stands_still_in_the_middle_is_stuck():
    X = plant(1)
    X[300:500, 6] = X[300, 6]
    rec = fm.recover(fm.Grid.of(X, slot_seconds=60.0), holdout=False)["value"]
    assert (rec.flag[302:500, 6] == 3).mean() > 0.95
    assert "what is estimated without it from" in rec.episodes[0].explanation


def test_a_leap_of_the_column_with_the_least_numbers_is_told_by_its_own():
    X = plant(3)
    X[400, 1] += 3.0  # a pressure around 4 that never moves by more than 1
    rec = fm.recover(fm.Grid.of(X, slot_seconds=60.0), holdout=False)["value"]
    (found,) = [one for one in rec.episodes if one.node == 1]
    assert rec.flag[400, 1] == 3
    assert found.severity > 6
    assert "companion" not in found.explanation


def test_errors_are_told_in_parts_of_each_nodes_range():
    """No column counts for more because its numbers are large."""
    truth = plant(2)
    X = np.where(np.random.default_rng(5).random(truth.shape) < 0.2, np.nan, truth)
    unit = 10.0 ** np.array([0, 2, -2, 0, 0, 1, 0, -3, 0, 3])
    one, other = (fm.recover(fm.Grid.of(Y, slot_seconds=60.0))["value"] for Y in (X, X * unit))
    assert one.holdout.method.mae == pytest.approx(other.holdout.method.mae, rel=1e-3)
    hidden = np.isnan(X)
    real = np.mean((np.abs(one.estimate - truth) / spreads(truth))[hidden])
    assert 0.7 < real / one.holdout.method.mae < 1.4


def test_the_report_says_what_errors_are_parts_of():
    X = plant(1)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    rec = fm.recover(fm.Grid.of(X))
    card = contents.facts("value", rec.summary()["conditions"]["value"])
    assert card["error"].endswith(" of its range")
    assert card["line"].endswith(" of its range")
    assert contents.hidden_table(rec["value"])[0]["error"].endswith(" of its range")
    rec = fm.recover(fm.Grid.of(X, condition="temperature", unit="°C"))
    assert contents.facts("", rec.summary()["conditions"]["temperature"])["error"].endswith("°C")


def test_a_live_model_of_many_unlike_columns_is_fitted(monkeypatch):
    from fieldmend.live import refitting

    monkeypatch.setattr(refitting, "UNPLACED", 5)
    grid = fm.Grid.of(plant(0, slots=450), slot_seconds=60.0)
    assert list(refitting.fitted(grid, 0.9, {}).conditions) == ["value"]
