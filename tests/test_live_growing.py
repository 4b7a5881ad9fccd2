"""What grows little by little is a drift; what leaps, or comes and goes, is none."""

from itertools import pairwise

import numpy as np
import pytest

from fieldmend.live.growing import MEMORY, Past
from fieldmend.live.implied import beyond


def heard(*courses, every=1, restless=1.0):
    """Nodes' distances, in limits, slot by slot; each is heard in one slot of so many.

    `restless`: by slot, what the limits are multiplied by.
    """
    past = Past.of(len(courses))
    more = np.broadcast_to(restless, len(courses[0]))
    for time, way in enumerate(np.array(courses).T):
        which = np.arange(len(way)) % every == time % every
        past.hear(which, way / more[time], way, time)
    return past


def ramp(slots, at=60, to=1.2):
    return np.clip(np.arange(slots) - slots + at, 0, None) * to / (at - 1)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("slots", [70, 300])
def test_a_ramp_is_a_drift_since_it_was_a_third_as_far_and_a_step_is_none(slots, sign):
    rng = np.random.default_rng(slots)
    step = np.where(np.arange(slots) < slots - 40, 0.0, 1.2)
    noise = rng.normal(0, 0.03, (2, slots))
    past = heard(sign * (ramp(slots) + noise[0]), sign * (step + noise[1]))
    assert slots - 45 < past.drifts_since(0) < slots - 30
    assert past.drifts_since(1) is None
    assert past.drifts_since(1, known=True) is not None  # said before, and not gone


def test_what_came_and_went_or_is_below_its_limit_is_no_drift():
    hill = np.r_[np.zeros(20), np.linspace(0, 1.5, 30), np.linspace(1.5, 0.9, 10)]
    short = np.r_[np.zeros(54), np.linspace(0.6, 1.2, 6)]
    low = ramp(60, 60, 0.95)
    past = heard(hill, short, low)
    assert [past.drifts_since(k, known=True) for k in range(3)] == [None] * 3


def test_a_drift_longer_than_what_is_remembered_is_seen_and_rare_readings_are_enough():
    slow = np.linspace(0.0, 1.1, 150)
    assert len(slow) > MEMORY
    assert heard(slow).drifts_since(0) >= 150 - MEMORY
    rare = heard(*[np.linspace(0.0, 1.4, 60)] * 3, every=3)  # in one slot of three
    assert rare.heard.tolist() == [20, 20, 20]
    assert all(rare.drifts_since(k) is not None for k in range(3))


def test_what_became_calm_has_not_leapt_and_a_leap_is_none_where_it_became_restless():
    slots = np.arange(80)
    calm_now, calm_then = np.where(slots < 70, 4.0, 1.0), np.where(slots < 50, 1.0, 1.5)
    step = np.where(slots < 45, 0.0, 2.0)
    past = heard(ramp(80, 60, 1.5), restless=calm_now)
    assert past.drifts_since(0) is not None
    assert heard(ramp(80, 60, 1.5), restless=4.0).drifts_since(0) is None
    assert heard(step, restless=calm_then).drifts_since(0) is None


def test_of_more_days_the_largest_is_farther_and_less_beyond_it_is_enough():
    times = [beyond(days) for days in (1, 2, 3, 5, 10, 14, 30)]
    assert times[0] == times[1] == times[2]
    assert all(one > other for one, other in pairwise(times[2:]))
    assert times[-1] > 1.0
