"""Sensors that follow the others by less, or by more, than they did."""

import numpy as np
import pytest

from fieldmend import faults
from fieldmend.faults import gains
from fieldmend.faults.implied import implied

HOUR = 3_600_000_000
SLOTS, NODES = 24 * 20, 10
CONTEXT = faults.Context(slot=HOUR)


def street(seed):
    """A daily course and weather, each place its own part of them; some lost."""
    rng = np.random.default_rng(seed)
    day = np.sin(2 * np.pi * np.arange(SLOTS) / 24)[:, None]
    weather = np.cumsum(rng.normal(0, 0.2, (SLOTS, 1)), axis=0)
    X = 15 + rng.normal(0, 2, NODES) + (4 * day + weather) * rng.uniform(0.7, 1.3, NODES)
    X += 0.3 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def scaled(X, node, part, gain):
    level = np.nanmedian(X[:, node])
    X[part, node] = level + gain * (X[part, node] - level)


def found(X):
    none = np.zeros(X.shape, dtype=bool)
    return gains.rescaled(X, implied(X, ~np.isnan(X)), none, CONTEXT)


@pytest.mark.parametrize("gain", [0.15, 0.3, 4.0])
@pytest.mark.parametrize("part", [slice(150, 330), slice(250, None), slice(130, None)])
@pytest.mark.parametrize("seed", range(2))
def test_who_lost_its_gain_is_found_from_then_on(gain, part, seed):
    X = street(seed)
    assert not found(X).any()
    scaled(X, 4, part, gain)
    marks = found(X)
    false = np.zeros(SLOTS, dtype=bool)
    false[part] = True
    heard = ~np.isnan(X[:, 4])
    assert not np.delete(marks, 4, axis=1).any()
    assert marks[false & heard, 4].mean() > 0.95
    assert marks[~false & heard, 4].mean() < 0.05
    if gain > 1:  # what goes too far is found by other tests before
        return
    whole = faults.persistent(X, CONTEXT)
    assert whole[false & heard, 4].mean() > 0.95
    assert np.delete(whole, 4, axis=1).mean() < 0.001


def test_a_beginning_with_too_much_gain_is_false_itself():
    X = street(3)
    scaled(X, 4, slice(0, 120), 5.0)
    marks = found(X)[:, 4]
    assert marks[:110].sum() > 90
    assert not marks[130:].any()


def test_what_two_others_do_too_is_no_fault_of_one():
    X = street(4)
    for node in (2, 4, 7):
        scaled(X, node, slice(150, 330), 0.2)
    assert not found(X).any()


def test_days_on_which_nothing_moves_and_short_records_say_nothing():
    X = street(5)
    scaled(X, 4, slice(150, 330), 0.2)
    assert found(X)[:, 4].any()
    assert not found(X[100:280]).any()  # seven days and a half
    still = street(5)
    still[150:330] = np.nanmedian(still, axis=0) + 0.02 * (still[150:330] - 15)
    assert not found(still).any()


def test_edges_are_told_by_readings_not_by_days():
    X = street(6)
    scaled(X, 4, slice(157, 331), 0.15)
    (at,) = np.nonzero(found(X)[:, 4])
    assert abs(at[0] - 157) <= 6
    assert abs(at[-1] - 330) <= 6
