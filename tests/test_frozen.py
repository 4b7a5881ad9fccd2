"""Many nodes that stand still for the same slots: found; what really rests together: never."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults import ranking
from fieldmend.faults.frozen import _by_chance, _runs, frozen
from fieldmend.quantities import Kind, Quantity

HOUR = 3_600_000_000
HOURLY = faults.Context(slot=HOUR)
DAYS, NODES = 20, 12


def busy(seed, nodes=NODES):
    """Counts of a day with two peaks: never twice the same, near zero at night."""
    rng = np.random.default_rng(seed)
    hour = np.arange(24 * DAYS) % 24
    course = np.exp(-0.5 * ((hour - 8) / 2.5) ** 2) + np.exp(-0.5 * ((hour - 17) / 3) ** 2)
    X = (0.02 + course[:, None]) * rng.uniform(0.5, 2, nodes)
    return np.round(X * np.exp(0.2 * rng.normal(size=X.shape)), 4)


def spans(found):
    """(first, one past last) → nodes of each stretch."""
    out = {}
    for n in range(found.shape[1]):
        edges = np.flatnonzero(np.diff(found[:, n].astype(int), prepend=0, append=0))
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            out.setdefault((a, b), set()).add(n)
    return out


@pytest.mark.parametrize("nodes", [(1, 4, 7), range(NODES)])
@pytest.mark.parametrize("fill", ["last", 0.0])
def test_what_many_repeat_in_the_same_slots_nobody_measured(nodes, fill):
    for seed in range(3):
        X = busy(seed)
        for n in nodes:
            X[201:214, n] = X[200, n] if fill == "last" else fill
        start = 200 if fill == "last" else 201
        assert spans(frozen(X, HOURLY)) == {(start, 214): set(nodes)}


def test_sound_records_are_not_frozen():
    assert not any(frozen(busy(seed), HOURLY).any() for seed in range(5))


def test_two_are_no_crowd_and_three_equal_readings_no_freeze():
    X = busy(1)
    X[200:214, [2, 3]] = X[200, [2, 3]]
    X[300:303] = X[300]
    assert not frozen(X, HOURLY).any()


def test_those_that_begin_or_end_elsewhere_are_not_of_the_crowd():
    X = busy(1)
    X[200:214, :4] = X[200, :4]
    X[205:214, 5] = X[205, 5]
    X[200:209, 6] = X[200, 6]
    assert spans(frozen(X, HOURLY)) == {(200, 214): {0, 1, 2, 3}}


def test_readings_lost_at_the_edges_part_nobody():
    X = busy(2)
    X[200:214, :6] = X[200, :6]
    X[200, 1] = X[213, 2] = X[199, 3] = X[214, 4] = np.nan
    found = frozen(X, HOURLY)
    assert set(np.flatnonzero(found.any(axis=0)).tolist()) == set(range(6))
    assert not (found & np.isnan(X)).any()


def test_a_freeze_may_last_to_the_end_but_not_from_the_beginning():
    X = busy(3)
    X[-14:, :6] = X[-14, :6]
    assert spans(frozen(X, HOURLY)) == {(len(X) - 14, len(X)): set(range(6))}
    X = busy(3)
    X[:14, :6] = X[0, :6]
    assert not frozen(X, HOURLY).any()


def test_an_outage_of_all_begins_and_ends_no_run():
    """Whoever rests between two outages seems to begin and end with them."""
    X = busy(3)
    X[200:214, :6] = X[200, :6]
    for silent in (slice(195, 200), slice(214, 219)):
        Y = X.copy()
        Y[silent] = np.nan
        assert not frozen(Y, HOURLY).any()
    assert frozen(X, HOURLY).any()


# What rests together


def test_nights_are_not_frozen():
    """They come again, at the same hours; runs by day are as short as in any record."""
    X = busy(10)
    hour = np.arange(len(X)) % 24
    X[(hour >= 1) & (hour < 5)] = 0.0
    X[::7, ::3] += 0.01  # so that few of the runs are long
    assert not frozen(X, HOURLY).any()
    X[24 * 9 + 9 : 24 * 9 + 19] = 0.0
    assert spans(frozen(X, HOURLY)) == {(24 * 9 + 9, 24 * 9 + 19): set(range(NODES))}


def test_the_first_days_of_a_record_cannot_tell_a_night():
    X = busy(4)[: 24 * 2 + 10]
    X[20:30] = X[20]
    assert not frozen(X, HOURLY).any()
    long = busy(4)
    long[20:30] = long[20]
    assert frozen(long, HOURLY).any()
    assert not frozen(long, faults.Context()).any()
    assert frozen(long, faults.Context(slot=24 * HOUR)).any()  # a day has no hours


def test_of_those_that_rest_daily_more_must_not_make_a_freeze_of_it():
    X = busy(11)
    hour = np.arange(len(X)) % 24
    X[hour == 12, :4] = 7.0
    X[24 * 9 + 9 : 24 * 9 + 19, :7] = 7.0
    assert not frozen(X, HOURLY).any()
    X[24 * 9 + 9 : 24 * 9 + 19, 7:10] = 7.0
    assert frozen(X, HOURLY)[24 * 9 + 9 : 24 * 9 + 19, :10].all()


def test_what_stands_still_on_sundays_is_no_fault():
    weeks = np.concatenate([busy(seed)[: 24 * 14] for seed in range(2)])
    for sunday in range(6, 28, 7):
        part = slice(24 * sunday, 24 * sunday + 20)
        weeks[part] = weeks[24 * sunday]
    assert not frozen(weeks, HOURLY).any()
    once = np.concatenate([busy(seed)[: 24 * 14] for seed in range(2)])
    once[24 * 13 : 24 * 13 + 20] = once[24 * 13]
    assert frozen(once, HOURLY)[24 * 13 : 24 * 13 + 20].all()


def test_what_is_usual_for_slow_quantised_sensors_is_not_frozen():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        slow = np.cumsum(rng.normal(0, 0.2, 700))[:, None] + rng.normal(0, 0.1, (700, 30))
        assert not frozen(np.round(slow), faults.Context(slot=HOUR // 6)).any()


def test_values_sent_several_times_are_how_the_network_is():
    X = np.repeat(busy(5), 6, axis=0)
    assert not frozen(X, faults.Context(slot=HOUR // 6)).any()


def test_a_calm_is_ragged():
    X = busy(6)
    X[200:214, :3] = 0.0
    assert frozen(X, HOURLY).any()
    for n, (a, b) in enumerate([(196, 210), (198, 218), (203, 213)], start=3):
        X[a:b, n] = 0.0
    assert not frozen(X, HOURLY).any()


def test_chance_counts_how_many_runs_there_are():
    def crowd(others):
        X = np.arange(4000.0)[:, None] + np.zeros(60)
        X[200:205, :3] = -1.0
        for i in range(others):
            X[300 + 10 * (i % 300) : 305 + 10 * (i % 300), 3 + i // 300] = -1.0
        runs = _runs(X)
        same = np.flatnonzero((runs.first == 200) & (runs.length == 5))
        return _by_chance(runs.of(same), runs, len(X))

    # Of 4,000 slots one has three of 100 runs with a chance of 1 %.
    assert not crowd(80)
    assert crowd(140)


def test_a_value_that_the_hours_know_is_no_freeze():
    rng = np.random.default_rng(1)
    X = np.maximum(np.round(rng.normal(3, 2.4, (24 * DAYS, NODES)), 2), 0.0)  # calm now and then
    assert not frozen(X, HOURLY).any()
    X[203:216, :5] = 0.0
    assert not frozen(X, HOURLY).any()
    X[203:216, :5] = -0.5
    assert spans(frozen(X, HOURLY)) == {(203, 216): set(range(5))}


# All the way


def test_a_zero_filled_afternoon_is_flagged_at_every_node_and_told_in_one_line():
    X = busy(7)
    X[24 * 12 + 11 : 24 * 13] = 0.0
    X[24 * 5 + 9 : 24 * 5 + 20, :6] = X[24 * 5 + 9, :6]
    one = fm.recover(fm.Grid.of(X, condition="occupancy", slot_seconds=3600), holdout=False)
    found = one["occupancy"]
    flagged = np.isin(found.flag, (3, 4))
    assert flagged[24 * 12 + 11 : 24 * 13].all()
    assert flagged[24 * 5 + 9 : 24 * 5 + 20, :6].all()
    items = ranking.ranked({"occupancy": found.episodes}, NODES, len(X))
    assert [(item.kind, len(item.nodes)) for item in items[:2]] == [("stuck", NODES), ("stuck", 6)]
    assert all(item.together for item in items[:2])


def test_quantities_that_may_stand_still_are_not_asked():
    X = np.cumsum(busy(8), axis=0)
    X[200:214] = X[200]
    meter = faults.Context(slot=HOUR, quantity=Quantity(Kind.ACCUMULATOR, low=0.0))
    assert not faults.search(X, meter).frozen.any()
    assert faults.search(X, HOURLY).frozen[200:214].all()


def test_two_freezes_one_after_the_other_are_two_episodes():
    X = busy(9)
    for a, b in ((206, 216), (224, 236)):
        X[a:b, :5] = X[a, :5]
    found = faults.search(X, HOURLY)
    episodes = faults.classify(X, busy(9), found.faults, HOURLY, found.faults)
    mine = [(e.start, e.stop, str(e.kind)) for e in episodes if e.node == 2]
    assert mine == [(206, 216, "stuck"), (224, 236, "stuck")]
