"""Nodes that answer to the others otherwise than in the rest of their record."""

import numpy as np
import pytest

from faulty import SLOT, context, readings
from fieldmend import faults
from fieldmend.faults import answers, who_moved
from fieldmend.quantities import Kind, Quantity


def four(seed, slots=1500):
    """Few nodes that see the same weather, each with a noise of its own."""
    rng = np.random.default_rng(seed)
    day = np.sin(2 * np.pi * np.arange(slots) / 288)
    field = 2 * day + np.cumsum(rng.normal(0, 0.05, slots))
    return field[:, None] * [1.0, 0.8, 1.2, 1.0] + 0.1 * rng.normal(size=(slots, 4))


def gain(X):
    X[300:1000] = np.median(X) + 4 * (X[300:1000] - np.median(X))
    return slice(300, 1000)


def unit(X):
    X[300:1000] = 1.8 * X[300:1000] + 32
    return slice(300, 1000)


def offset(X):
    X[800:] += 15
    return slice(800, None)


def drift(X):
    X[500:] += np.linspace(0, 25, X.size - 500)
    return slice(750, None)


@pytest.mark.parametrize("fault", [gain, unit, offset, drift])
@pytest.mark.parametrize("seed", range(3))
def test_what_lasts_for_half_of_a_record_of_few_nodes_is_found(fault, seed):
    """All of these were missed: the fault was half of what it was measured by."""
    X = four(seed)
    none = np.zeros(X.shape, dtype=bool)
    assert not answers.estranged(X, none, context(X))[0].any()
    part = fault(X[:, 2])
    found = faults.search(X, context(X)).faults
    assert found[part, 2].mean() > 0.8  # where a wrong gain crosses what is right, it is right
    assert not np.delete(found, 2, axis=1).any()
    first = 500 if fault is drift else part.start
    assert not found[: first - 20, 2].any()


@pytest.mark.parametrize("seed", range(3))
def test_of_three_nodes_the_two_that_agree_are_believed(seed):
    X = four(seed)[:, :3]
    X[400:900, 0] += 8.0
    found, _ = answers.estranged(X, np.zeros(X.shape, dtype=bool), context(X))
    assert found[400:900, 0].mean() > 0.95
    assert not found[:, 1:].any()


@pytest.mark.parametrize("share", [0.15, 0.2, 0.25, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_node_that_left_early_is_off_since_then_not_before(seed, share):
    """Of a sensor that failed in the first week of a month, the week was flagged."""
    X = readings(1500, seed=seed)
    start = int(share * len(X))
    X[start:, 2] += 12.0
    found, _ = answers.estranged(X, np.zeros(X.shape, dtype=bool), context(X))
    assert found[start:, 2].mean() > 0.95
    assert not found[:start, 2].any()
    assert not np.delete(found, 2, axis=1).any()


def test_a_restless_beginning_is_the_fault_itself():
    X = readings(1500)
    X[:400, 2] += np.random.default_rng(0).normal(0, 8, 400)
    found, _ = answers.estranged(X, np.zeros(X.shape, dtype=bool), context(X))
    assert not found[400:, 2].any()


def test_what_a_likest_node_sees_too_is_no_fault():
    X = readings(1500)
    X[400:800, [3, 4]] += 9.0
    found, _ = answers.estranged(X, np.zeros(X.shape, dtype=bool), context(X))
    apart = np.zeros(X.shape, dtype=bool)
    apart[400:800, [3, 4]] = True
    assert not found[~apart].any()
    both = answers._Seen(X).likest
    assert 4 in both[3]  # they are likest to each other by it
    assert not found.any()


@pytest.mark.parametrize("seed", range(3))
def test_nodes_that_change_for_good_by_habit_are_not_accused_of_it(seed):
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(0, 0.05, 1500))[:, None] + 0.1 * rng.normal(size=(1500, 12))
    one = X.copy()
    for n in range(6):
        X[int(rng.integers(300, 1200)) :, n] += rng.choice([-1, 1]) * rng.uniform(2, 6)
    labels, none = context(X), np.zeros(X.shape, dtype=bool)
    found, habit = answers.estranged(X, none, labels)
    assert habit
    assert not found.any()
    one[800:, 3] += 5.0
    found, habit = answers.estranged(one, none, labels)
    assert not habit
    assert found[800:, 3].mean() > 0.95


def test_a_network_far_from_its_usual_tells_nothing_of_its_nodes():
    """An event of an hour once made nodes alike that were not, and two of them false for days."""
    X = readings(1500)
    X[700:760, :12] += 200.0
    assert not answers.estranged(X, np.zeros(X.shape, dtype=bool), context(X))[0].any()


def test_either_half_may_be_false_and_sensors_come_sound():
    X = four(5)
    X[:750, 1] += 10.0
    found, _ = answers.estranged(X, np.zeros(X.shape, dtype=bool), context(X))
    assert found[:750, 1].mean() > 0.95  # the second half is where the others are
    X = four(5) + np.array([0.0, 40.0, -40.0, 80.0])
    X[750:, 1] += 10.0
    found, _ = answers.estranged(X, np.zeros(X.shape, dtype=bool), context(X))
    assert found[750:, 1].mean() > 0.95
    assert not found[:750, 1].any()


def test_a_short_record_few_nodes_and_left_out_readings_say_nothing():
    X = four(0)
    X[400:900, 0] += 8.0
    none = np.zeros(X.shape, dtype=bool)
    assert not answers.estranged(X[:600], none[:600], context(X[:600]))[0].any()  # two days
    assert not answers.estranged(X[:, :2], none[:, :2], context(X[:, :2]))[0].any()
    assert not answers.estranged(X[:50], none[:50], context(X[:50], slot=0))[0].any()
    known = none.copy()
    known[400:900, 0] = True
    assert not answers.estranged(X, known, context(X))[0].any()
    X[:, 1] = np.nan
    X[:, 3] = 7.0
    assert answers.estranged(X, none, context(X, slot=SLOT))[0].shape == X.shape


def test_a_wrong_gain_is_no_event_though_all_see_the_same_in_some_degree():
    X = four(1)
    part = gain(X[:, 2])
    found = faults.search(X, context(X))
    assert found.faults[part, 2].mean() > 0.8
    assert not found.events[:, 2].any()


def test_a_stretch_taken_whole_is_asked_for_its_ends_only():
    """Others step in the midst of a wrong gain, and the gain with them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    X[300:, :5] -= 8.0
    off = np.where(np.arange(600) < 300, 2.0, 12.0) * (np.arange(600) >= 200)
    asked = np.arange(600) >= 200
    moved = who_moved.OthersMoved(X)
    assert moved(5, off, asked).any()
    assert not moved(5, off, asked, whole=True).any()
    late = np.arange(600) >= 300
    assert moved(5, 12.0 * late, late, whole=True)[300:].all()  # it began as they moved


@pytest.mark.parametrize("seed", range(3))
def test_up_by_one_change_and_down_by_another_is_no_fault_where_nodes_change(seed):
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(0, 0.05, 1500))[:, None] + 0.1 * rng.normal(size=(1500, 12))
    for n in range(6):
        X[int(rng.integers(300, 1200)) :, n] += rng.choice([-1, 1]) * rng.uniform(2, 6)
    X[400:1000, 8] += 4.0
    X[600:603, 8] = np.nan
    assert not faults.search(X, context(X)).faults[:, 8].any()
    X[500:530, 9] += 30.0  # what lasts for hours is judged as ever
    assert faults.search(X, context(X)).faults[500:530, 9].all()


def test_what_is_not_linear_goes_twice_as_far():
    X = four(0)
    none = np.zeros(X.shape, dtype=bool)
    X[400:900, 0] += 1.0  # of a noise of 0.1 each
    light = context(X, quantity=Quantity(Kind.POSITIVE))
    assert answers.estranged(X, none, context(X))[0][400:900, 0].mean() > 0.9
    assert not answers.estranged(X, none, light)[0].any()
    X[400:900, 0] += 5.0
    assert answers.estranged(X, none, light)[0][400:900, 0].mean() > 0.9
