"""Faults of a third or half of a record, in networks whose nodes are not alike."""

from types import SimpleNamespace

import numpy as np
import pytest

from fieldmend import faults
from fieldmend.faults import levels, shifts
from fieldmend.faults.shifts import Blocks, outstanding

QUARTER = 900_000_000
SLOTS, NODES = 96 * 10, 24


def rooms(seed):
    """Rooms heated by a schedule, each with its own set point, inertia and windows."""
    rng = np.random.default_rng(seed)
    hour, day = (np.arange(SLOTS) % 96) / 4, np.arange(SLOTS) // 96
    target = np.where(
        ((hour > 6) & (hour < 20) & (day % 7 < 5))[:, None], rng.uniform(20, 22, NODES), 17
    )
    outside = 5 + 4 * np.sin(2 * np.pi * (hour - 9) / 24) + np.cumsum(rng.normal(0, 0.05, SLOTS))
    leak = rng.lognormal(-5, 0.7, NODES)
    X, room = np.empty((SLOTS, NODES)), rng.uniform(18, 21, NODES)
    for t in range(SLOTS):
        room = room + 0.12 * np.clip(target[t] - room, 0, 2) + leak * (outside[t] - room)
        X[t] = room
    X += rng.normal(0, 0.05, X.shape)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def found(X):
    marks = faults.persistent(X, faults.Context(slot=QUARTER))
    return {int(n): marks[:, n] for n in np.flatnonzero(marks.any(axis=0))}


@pytest.mark.parametrize("seed", [3, 4])
def test_offset_noise_and_drift_of_long_are_found_beside_each_other(seed):
    X = rooms(seed)
    assert not found(X)
    rng = np.random.default_rng(seed)
    half, third = SLOTS // 2, SLOTS // 3
    X[half:, 5] += 8
    X[-third:, 9] += rng.normal(0, 8, third)
    X[third : 2 * third, 13] += np.linspace(0, 10, third)
    marks = found(X)
    assert set(marks) == {5, 9, 13}
    heard = ~np.isnan(X)
    assert marks[5][half:][heard[half:, 5]].mean() > 0.98
    assert not marks[5][:half].any()
    assert marks[9][-third:][heard[-third:, 9]].mean() > 0.95
    assert marks[13][third + third // 2 : 2 * third].mean() > 0.85


def blocks(seed=0, nodes=20):
    rng = np.random.default_rng(seed)
    return Blocks(rng.normal(0, 1, (48, nodes)), np.arange(0, 481, 10))


CONTEXT = faults.Context(slot=shifts.DAY // 10)  # ten slots a day, 48 days


def test_a_shift_is_told_by_where_it_is_and_how_far():
    told = blocks()
    assert outstanding(told, CONTEXT) == []
    told.told[20:44, 7] += 12
    (shift,) = outstanding(told, CONTEXT)
    assert (shift.node, shift.inside) == (7, slice(200, 440))
    assert shift.size == pytest.approx(12, abs=1)
    assert shift.home == pytest.approx(0, abs=1)


def test_who_comes_back_to_where_it_was_has_been_away_for_most_of_the_record():
    told = blocks()
    told.told[5:43, 7] += 20
    (shift,) = outstanding(told, CONTEXT)
    assert (shift.node, shift.inside) == (7, slice(50, 430))
    assert shift.size == pytest.approx(20, abs=1)
    told.told[43:, 7] += 10  # half of the way: which of three levels is its own, nobody knows
    assert [one for one in outstanding(told, CONTEXT) if one.inside.start == 50] == []


def test_who_goes_up_and_down_by_and_by_for_most_of_the_record_has_not_left():
    told = blocks()
    told.told[5:43, 7] += 20 * np.hanning(38)
    assert [one for one in outstanding(told, CONTEXT) if one.inside.start < 100] == []


def test_who_was_away_for_most_of_the_record_is_compared_by_readings_whatever_side_they_went_to():
    told = blocks()
    told.told[5:43, 7] += 20
    distances = told.told.copy()
    assert outstanding(told, CONTEXT, distances=distances)
    distances[5:43, [8, 9]] -= 10
    assert outstanding(told, CONTEXT, distances=distances) == []
    told.told[22:43, 7] -= 20  # less than half of it: by what the others imply, as ever
    assert [one.node for one in outstanding(told, CONTEXT, distances=distances)] == [7]


def test_what_two_others_do_too_is_no_fault_of_one():
    told = blocks()
    told.told[20:44, [7, 8, 9]] += 12
    assert outstanding(told, CONTEXT) == []


def test_what_passes_within_two_days_is_weather_and_what_stays_is_not():
    told = blocks(nodes=40)
    told.told[20:22, 7] += 9
    assert outstanding(told, CONTEXT) == []
    told.told[20:34, 7] = 9 + told.told[:14, 7]
    assert [shift.node for shift in outstanding(told, CONTEXT)] == [7]


def test_a_node_that_is_as_restless_as_it_is_far_off_is_left():
    told = blocks()
    told.told[:, 7] *= 12
    told.told[20:44, 7] += 12
    assert outstanding(told, CONTEXT) == []


def test_few_nodes_and_short_records_are_not_judged():
    told = blocks(nodes=2)
    told.told[20:44, 1] += 50
    assert outstanding(told, CONTEXT) == []
    more = blocks()
    more.told[20:44, 3] += 50
    assert outstanding(more, faults.Context(slot=shifts.DAY // 200)) == []
    assert outstanding(more, CONTEXT)


@pytest.mark.parametrize("stop", [80, 160, 240])
@pytest.mark.parametrize("home", [True, False])
def test_a_beginning_is_home_however_short_unless_it_lies_farther_from_the_others(
    stop, home, monkeypatch
):
    values = np.tile([0.0, -0.5, 0.5, 0.0, 0.1], (480, 1))
    before, after = (0.0, 5.0) if home else (5.0, 0.0)
    values[:stop, 0], values[stop:, 0] = before, after
    one = shifts.Shift(0, slice(0, stop), after, before - after, 0.1)
    monkeypatch.setattr(levels, "outstanding", lambda *_, **__: [one])
    field = SimpleNamespace(residual=values)
    false = levels.shifted(values, field, np.zeros(values.shape, dtype=bool), CONTEXT)
    assert not false[:, 1:].any()
    assert false[stop:, 0].all() == home
    assert false[:stop, 0].all() != home


def test_where_nothing_moves_nothing_is_clear():
    assert not shifts._largest(np.zeros((12, 4)), 3).clear.any()
