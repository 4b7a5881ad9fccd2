"""One value for days: a sensor that hangs, or a place where nothing moves."""

import numpy as np
import pytest

from faulty import SLOT, context
from fieldmend import faults
from fieldmend.faults import gross


def rooms(seed, slots=2000):
    """Rooms heated each by itself, in tenths of a degree: long runs of one value now and then."""
    rng = np.random.default_rng(seed)
    day = np.sin(2 * np.pi * np.arange(slots) / 144)
    own = np.cumsum(rng.normal(0, 0.06, (slots, 6)), axis=0)
    own -= np.linspace(0, 1, slots)[:, None] * own[-1]
    return np.round(20 + own + rng.uniform(0.3, 0.8, 6) * day[:, None], 1)


@pytest.mark.parametrize("seed", range(4))
def test_a_value_for_days_in_a_room_that_is_never_calm_is_stuck(seed):
    X = rooms(seed)
    labels = context(X, slot=2 * SLOT)
    assert not faults.search(X, labels).gross.any()
    X[800:1200, 2] = X[800, 2]
    assert faults.search(X, labels).gross[800:1200, 2].mean() > 0.99


def test_what_comes_to_rest_by_and_by_or_at_a_usual_value_is_not():
    X = rooms(0)
    run = np.zeros(X.shape, dtype=bool)
    run[800:1200, 2] = True
    X[800:1200, 2] = X[800, 2]
    assert gross._restless(X, run)[2]
    dry = X.copy()
    dry[1200:1400, 2] = X[800, 2] + np.repeat([0.1, 0.2], 100)  # slow before it moves again
    assert not gross._restless(dry, run)[2]
    dark = X.copy()
    dark[1500:1560, 2] = X[800, 2]
    dark[1700:1760, 2] = X[800, 2]
    assert not gross._restless(dark, run)[2]
    twentieth = np.arange(2000.0)[:, None] + np.zeros(3)
    twentieth[800:1200, 2] = -1.0
    twentieth[:800:10, 2] = -1.0  # 80 of 1600
    assert gross._restless(twentieth, run)[2]
    twentieth[5, 2] = -1.0
    assert not gross._restless(twentieth, run)[2]


def test_who_has_hardly_moved_before_and_after_is_not_known_to_be_restless():
    X = rooms(0)[:500]
    run = np.zeros(X.shape, dtype=bool)
    run[20:480, 2] = True
    X[20:480, 2] = X[20, 2]
    assert not gross._restless(X, run).any()
    X[:, 2] = np.where(run[:, 2], 1.0, 5.0)  # at rest elsewhere, too
    run[100:, 2] = False
    X[100:, 2] = 5.0
    assert not gross._restless(X, run).any()


def test_the_range_of_every_window_is_asked():
    series = np.array([0.0, 5.0, 5.0, 5.0, 1.0, 2.0])
    assert gross._ranges(series, 3).tolist() == [5.0, 0.0, 4.0, 4.0]
    assert gross._ranges(series, 2).tolist() == [5.0, 0.0, 0.0, 4.0, 1.0]


def sun(seed, *, floor=0.0, slots=720, nodes=8):
    """A day of radiation, every two minutes, to a tenth: all dark alike for half of it."""
    rng = np.random.default_rng(seed)
    height = np.maximum(0, np.sin(2 * np.pi * (np.arange(slots) * 24 / slots - 6) / 24))
    cloud = np.clip(1 - 0.3 * np.abs(rng.normal(0, 0.1, (slots, 1)).cumsum(axis=0) % 1), 0.1, 1)
    X = 300 * height[:, None] * cloud * rng.uniform(0.9, 1.1, nodes)
    X = np.round(X * (1 + 0.05 * rng.normal(size=X.shape)), 1) + floor
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


@pytest.mark.parametrize("power", [1.0, 0.5, 1 / 3])
@pytest.mark.parametrize("floor", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_the_one_night_of_a_short_record_is_no_fault(seed, floor, power):
    """All are dark: that others repeat the same value too long is what makes it night."""
    X = sun(seed, floor=floor) ** power
    assert not gross.stuck(X, foot=True).any()
    assert gross.stuck(X).any()  # of a temperature, nobody is dark


@pytest.mark.parametrize("seed", range(3))
def test_one_value_far_off_at_most_nodes_and_one_node_dark_at_noon_are_faults(seed):
    X = sun(seed)
    X[300:420, 2] = 0.0
    assert gross.stuck(X, foot=True)[300:420, 2].sum() == 120
    rng = np.random.default_rng(seed)
    T = np.round(15 + rng.normal(0, 0.1, (720, 8)).cumsum(axis=0), 2)
    for n in range(6):  # one after the other, to the end
        T[300 + 9 * n :, n] = 0.0
    assert gross.stuck(T, foot=True)[400:, :6].all()
    cold = np.round(15 - np.arange(720)[:, None] / 60 + rng.normal(0, 0.05, (720, 8)), 2)
    cold[400:] = cold[400]  # a database repeats each node's last value, its lowest so far
    assert gross.stuck(cold, foot=True)[400:].mean() > 0.9
