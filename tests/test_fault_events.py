"""Events: what others see too is no fault."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from faulty import context, labels_of, readings
from fieldmend import faults
from fieldmend.faults import excursions, seen_too
from fieldmend.quantities import Kind, Quantity, identify


# Shares of the readings of an event that a search calls false; without the witnesses the rush
# hours had 26 %, the fireworks 15 %, the sun 54 %.
@pytest.mark.parametrize(
    ("kind", "most"),
    [("rush", 0.02), ("fireworks", 0.02), ("rain", 0.02), ("sun", 0.02), ("front", 0.02)],
)
def test_what_really_happens_is_not_called_false(kind, most):
    share = []
    for seed in (11, 12, 13):  # not those that the limits were looked at with
        net = fm.simulate.happening(kind, seed=seed)
        share.append(faults.persistent(net.readings, labels_of(net))[net.event].mean())
    assert np.mean(share) < most


def went(same, size=1.0, other=1.0, back=0.0):
    ones = np.ones(len(same))
    same, size, back = (ones * np.asarray(array, dtype=float) for array in (same, size, back))
    return excursions.Went(size, back, lambda: same, lambda: other * ones)


def test_witnesses_are_as_many_as_chance_hardly_makes():
    alone = [0.01] + 9 * [0.5]
    assert seen_too.by_chance(went(alone)) == pytest.approx(1 - 0.99**10)
    two = [0.01, 0.02] + 8 * [0.5]  # two of ten at 2 % each
    expected = 1 - 0.98**10 - 10 * 0.02 * 0.98**9
    assert seen_too.by_chance(went(two)) == pytest.approx(expected)
    assert seen_too.by_chance(went([])) == 1.0
    assert seen_too.by_chance(went([0.11] * 10)) == 1.0  # what is not rare is no witness
    assert seen_too.by_chance(went(two, size=0.2)) == 1.0  # nor what hardly moves
    assert seen_too.by_chance(went(two, other=0.005, back=1.0)) == 1.0  # all go the other way too
    assert seen_too.by_chance(went(two, other=0.005, back=0.1)) == pytest.approx(expected)
    against = went(two, other=0.005, back=1.0)
    assert seen_too.by_chance(against, 1.01 * expected) == 1.0
    assert seen_too.by_chance(against, 0.99 * expected) == pytest.approx(expected)  # nobody asks


def test_where_most_departures_are_events_less_is_asked():
    assert seen_too._odds(np.array([True] * 5 + [False])) == pytest.approx(3.0)
    assert seen_too._odds(np.array([True] * 99)) == seen_too.LENIENT
    assert seen_too._odds(np.array([True] + [False] * 9)) == 1.0
    assert seen_too._odds(np.zeros(0, dtype=bool)) == 1.0


def test_who_departs_amid_an_event_of_two_others_is_of_it():
    events, asked = np.zeros((60, 4), dtype=bool), np.zeros((60, 4), dtype=bool)
    events[20:40, [1, 2]] = asked[20:40, [1, 2]] = True
    asked[24:36, 0] = asked[24:36, 3] = True
    below = np.zeros((60, 4), dtype=bool)
    below[:, 3] = True  # it goes the other way
    parts = [((24, 36, 0), 0), ((24, 36, 3), 1), ((20, 40, 1), 0)]
    got = seen_too._amid_events(events, asked, below, parts)
    assert got[24:36, 0].all()
    assert got.sum() == 12
    events[:, 2] = False  # one other is not enough
    assert not seen_too._amid_events(events, asked, below, parts).any()


def test_a_short_move_of_others_is_no_witness_of_a_long_departure():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 12))
    X[900:1000, 0] += 30
    long, short = X.copy(), X.copy()
    long[900:1000, 1:4] += 30
    short[940:950, 1:4] += 30
    near = np.arange(1, 12)
    chances = [
        seen_too.by_chance(excursions.Course(part, alone=False)(900, 1000, 0, near))
        for part in (long, short)
    ]
    assert chances[0] < 1e-4
    assert chances[1] > 1e-2


def test_the_top_of_a_departure_is_where_it_is_half_as_large():
    course = np.array([0, 0, 1, 3, 8, np.nan, 6, 3.9, 4.0, 2, 0, 0.0])
    assert seen_too._top(course, 2, 10) == (4, 9)
    assert seen_too._top(-course, 2, 10) == (4, 9)
    assert seen_too._top(np.full(5, np.nan), 1, 4) == (1, 4)


def test_an_event_is_reported_with_those_who_saw_it():
    net = fm.simulate.happening("rush", days=5, seed=11)
    labels = labels_of(net, condition="speed", unit="mph")
    found = faults.search(net.readings, labels)
    assert found.events.any()
    assert not (found.events & found.faults).any()
    estimate = np.median(net.readings, axis=0) + 0 * net.readings
    told = faults.classify(net.readings, estimate, found.faults, labels, event=found.events)
    (first, *_) = [e for e in told if e.kind == "event"]
    assert first.readings == 0
    assert not first.certain
    assert "others see it too" in first.explanation


def test_another_condition_of_the_node_makes_an_event_and_the_same_sensor_does_not():
    X, damp = readings(1500), readings(1500, seed=5)
    X[700:740, 3] += 6.0
    alone = faults.search(X, context(X, companions={"humidity": damp}))
    assert alone.faults[700:740, 3].mean() > 0.9
    damp[702:745, 3] -= 5.0
    both = faults.search(X, context(X, companions={"humidity": damp}))
    assert both.events[700:740, 3].mean() > 0.9
    assert not both.faults[700:740, 3].any()
    largest = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    same = faults.search(X, context(X, companions={"the hour's maximum": largest}))
    assert same.faults[700:740, 3].mean() > 0.9


def test_a_stuck_companion_bears_no_witness():
    X, other = readings(1500), readings(1500, seed=5)
    X[700:740, 3] += 6.0
    X[690:750, 4] = X[690, 4] + 5.0
    found = faults.search(X, context(X, companions={"light": other}))
    assert found.faults[700:740, 3].mean() > 0.9
    assert found.gross[690:750, 4].all()


def test_what_cannot_be_true_is_a_fault_whatever_others_read():

    X = readings(1500)
    X[700:760, :12] += 200.0
    limits = Quantity(Kind.LINEAR, possible=(-90.0, 60.0))
    assert faults.search(X, context(X, quantity=limits)).faults[700:760, :12].all()
    assert not faults.search(X, context(X)).faults[700:760, :12].any()


def test_the_labelled_event_is_no_fault(real):
    """Two motes whose humidity and temperature rose for minutes: 496 of 614 were called false."""
    grid = fm.read(real("suthaharan_multihop.parquet")).grid()
    happened = grid.values["label"] > 0
    for name, other in (("temperature", "humidity"), ("humidity", "temperature")):
        labels = faults.Context(slot=grid.slot, companions={other: grid.values[other]})
        found = faults.search(grid.values[name], labels)
        assert found.faults[happened].mean() < 0.02


def test_steam_that_two_conditions_of_a_node_see_is_an_event_in_a_steady_room():
    rng = np.random.default_rng(4)
    warm, wet = (20 + 0.05 * rng.normal(size=(4000, 4)), 45 + 0.2 * rng.normal(size=(4000, 4)))
    rise = 15 * np.exp(-np.arange(60) / 20)
    warm[500:560, 1] += rise
    wet[500:560, 1] += 2 * rise
    kind = identify("temperature", "°C", warm)
    context = faults.Context(
        slot=5_000_000, condition="temperature", companions={"humidity": wet}, quantity=kind
    )
    assert faults.search(warm, context).faults[500:560, 1].mean() < 0.05
    alone = faults.search(warm, replace(context, companions={}))
    assert alone.faults[500:520, 1].any()


def test_singles_excuse_each_other_only_where_chance_makes_no_such_crowd():
    rng = np.random.default_rng(8)
    X = 20 + 0.1 * rng.normal(size=(3000, 10))
    false = rng.random(X.shape) < 0.03
    X[false] += 30.0
    assert faults.spared(X, false, faults.Context())[false].mean() < 0.05
    quiet = 20 + 0.1 * rng.normal(size=(3000, 10))
    quiet[1500, :6] += 5.0
    flash = np.zeros(quiet.shape, dtype=bool)
    flash[1500, :6] = True
    assert faults.spared(quiet, flash, faults.Context())[flash].all()


def test_gauges_that_are_off_beyond_everything_together_do_not_make_it_true():
    """Nor do they settle, though the mean of a slot falls between: 355, 180, 5."""
    rng = np.random.default_rng(21)
    common = np.cumsum(rng.normal(size=1200))[:, None] * 0.02
    X = 5 + common + 0.05 * np.cumsum(rng.normal(size=(1200, 12)), axis=0) * 0.1
    X += 0.01 * rng.normal(size=X.shape)
    false = np.zeros(X.shape, dtype=bool)
    false[600:608, 3] = false[600:616, 7] = True
    X[600:607, 3] += 350
    X[607, 3] += 175
    X[600:616, 7] += 570
    found = faults.search(X, context(X))
    assert found.faults[false].all()
    assert not found.events[false].any()
