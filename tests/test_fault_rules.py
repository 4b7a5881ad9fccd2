"""Small rules of the search for faults, each by itself, at the places where they turn."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults import Kind, certainty, episodes, events, history, implied, together
from fieldmend.faults.settling import settled
from fieldmend.faults.stretches import bounded
from fieldmend.quantities import Kind as Quality
from fieldmend.quantities import Quantity

HOUR = 3_600_000_000


def context(slots, nodes=3, **options):
    given = {"condition": "t", "unit": "", "slot": HOUR} | options
    names = tuple(f"n{k}" for k in range(nodes))
    return faults.Context(nodes=names, times=np.arange(slots) * HOUR, **given)


def test_a_full_turn_is_no_turn():
    about = Quantity(Quality.CIRCULAR, low=0.0, high=360.0, period=360.0)
    turning = context(4, quantity=about)
    turns = about.start + np.array([360.0 - 1e-9, 361.0, -1.0, 720.0])
    read = episodes._as_read(turns, turning, 0) - about.start
    assert read == pytest.approx([0.0, 1.0, 359.0, 0.0], abs=1e-5)
    straight = np.array([400.0])
    assert episodes._as_read(straight, context(4), 0) is straight


@pytest.mark.parametrize("size", [5e307, 1e300, 1.0, 1e-290])
def test_readings_of_any_size_become_ordinary(size):
    X = size * np.array([[1.0, 3.0], [-2.0, np.nan]])
    values, power = bounded(X)
    assert 0.1 < np.nanmedian(np.abs(values)) < 10
    np.testing.assert_array_equal(np.ldexp(values, int(power)), X)


@pytest.mark.parametrize("largest", [1.6e308, 9e307])
def test_faults_of_the_largest_readings_are_told(largest):
    """Half of what a float can hold at the most: the power of two above them is none."""
    rng = np.random.default_rng(0)
    X = 1 + 0.05 * np.sin(np.arange(300) / 9)[:, None] + 0.01 * rng.normal(size=(300, 8))
    X[100:120, 2] = 0.4
    X[200:230, :6] -= 0.5
    X *= largest / X.max()
    found = faults.search(X).faults
    told = faults.classify(X, np.full(X.shape, 0.9 * largest), found)
    assert (100, 120, 2) in {(e.start, e.stop, e.node) for e in told}
    assert any(e.kind is Kind.EVENT for e in told)
    assert fm.recover(fm.Grid.of(X, condition="t"), holdout=False)["t"].estimate.shape == X.shape


@pytest.mark.parametrize(("away", "habit"), [(60, True), (61, False)])
def test_a_habit_comes_again_within_sixty_days(away, habit):
    found, deviation = np.zeros((200 * 24, 1), dtype=bool), np.zeros((200 * 24, 1))
    found[2402:2405] = True
    for day in (0, away - 1, away, -away):
        deviation[2402 + 24 * day : 2405 + 24 * day] = 5.0
    assert events.recurrent(found, deviation, context(4800, 1))[2402:2405].all() == habit


def test_a_habit_may_lie_as_many_days_off_as_there_are():
    """Two days and a half: the third morning is two days after the first."""
    found, deviation = np.zeros((60, 1), dtype=bool), np.zeros((60, 1))
    found[2:5] = True
    deviation[2:5] = deviation[50:53] = 5.0
    assert events.recurrent(found, deviation, context(60, 1))[2:5].all()
    assert not events.recurrent(found, np.where(found, 5.0, 0.0), context(60, 1)).any()


def test_runs_of_equal_readings_are_held_against_those_that_are_usual():
    usual, most = history.usual_repeats(np.full(50, 100))
    assert (usual, most) == (200, 200)  # all alike: nothing longer is to be expected
    usual, most = history.usual_repeats(np.concatenate([np.full(95, 10), np.full(5, 20)]))
    assert usual == 40
    assert most == pytest.approx(20 * 2**4)
    assert history.usual_repeats(np.zeros(0)) == (history.SHORTEST_STUCK,) * 2


def test_a_move_lasts_until_the_nodes_are_half_way_back():
    sound = np.array([0.0, 1.0, 1.0, 0.9, 0.4, 0.0])[:, None] * np.ones(3)
    assert together._undone(sound, 0, 1.0, 5) == 4
    assert together._undone(sound, 0, 1.0, 3) == 4  # as far as it is followed
    assert together._undone(-sound, 0, -1.0, 5) == 4
    sound[2] = np.nan  # nobody heard: no way back
    assert together._undone(sound, 0, 1.0, 5) == 4


def test_a_node_that_goes_nowhere_makes_no_spike_certain():
    spike = episodes.Stretch(
        0, np.array([5]), np.array([9.0]), np.array([7.0]), np.zeros(1), 1, False, False, 0.1
    )
    for farthest, sure in ((0.0, False), (1.0, True), (3.5, False)):
        allowed = certainty.Reach(np.zeros(1), np.array([farthest]), np.zeros(3))
        found = certainty.certain(Kind.SPIKE, spike, allowed, low_battery=False, impossible=False)
        assert found is sure


def test_a_node_that_never_moves_is_scaled_by_the_others():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), *np.ones((4, 200))])
    centre, scale = implied._scaling(X, np.ones(X.shape, dtype=bool))
    own = 1.4826 * np.median(np.abs(X[:, 0] - np.median(X[:, 0])))
    assert scale == pytest.approx([own, *[1e-3 * own] * 4], rel=1e-3)
    assert centre[1:].tolist() == [1.0] * 4


def test_a_place_settles_and_a_wrong_gain_does_not():
    """Both come back by small steps; the gain is what all do, only more of it."""
    course = 4 * np.sin(np.arange(1200) / 25)
    field = np.tile(course[:, None], (1, 5))
    start, stop = 236, 314  # half a wave: it begins and ends at nothing
    field[start:stop, 0] += 6 * np.exp(-np.arange(stop - start) / 15)
    field[start:stop, 1] += 2 * course[start:stop]
    found = np.abs(field - field[:, [3]]) > 0.3
    out = settled(field, found)
    assert out[start : start + 40, 0].all()
    assert not out[:, 1].any()
