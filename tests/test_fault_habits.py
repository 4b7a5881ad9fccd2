"""Who goes where at its hours, who goes wrong together, where a jump leads: rule by rule."""

import numpy as np
import pytest

from fieldmend.faults import Context, Episode, history, ranking
from fieldmend.faults.daily import _Habits
from fieldmend.faults.events import _bridged, _typical
from fieldmend.faults.frozen import Runs, _resting

DAY = 24


def _habitual(own, stretch, day):
    return _Habits(own, day).have(*stretch)


def course(*, days=20, hour=7, length=2, size=5.0, share=1.0, seed=0):
    """A quiet node that goes up for some hours at the same time of most days."""
    rng = np.random.default_rng(seed)
    own = 0.3 * rng.normal(size=days * DAY)
    for day in range(days):
        if rng.random() < share:
            own[day * DAY + hour : day * DAY + hour + length] += size
    return own


@pytest.mark.parametrize("day", [0, 1, 10, 19])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_comes_at_its_hour_on_most_days_is_a_habit_on_any_of_them(day, sign):
    start = day * DAY + 7
    assert _habitual(sign * course(), (start, start + 2), DAY)
    # An hour earlier or later is that hour too, twice as large is no other thing.
    moved = course()
    moved[start : start + 2] = 0.0
    moved[start + 1 : start + 3] = 9.0
    assert _habitual(sign * moved, (start + 1, start + 3), DAY)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("size", [2.0, -4.0])
def test_as_far_is_half_as_far_for_half_as_long_within_an_hour_of_it(length, size):
    rng = np.random.default_rng(length)
    own = rng.integers(-3, 4, 300).astype(float)
    own[rng.random(300) < 0.3] = np.nan
    habits = _Habits(own, 26.5)
    days = np.array([-3.0, -2.0, -1.0, -0.75, 0.5, 1.0, 2.0, 5.0, 9.0])
    far = habits._far(size, length)
    went = heard = 0
    for day in days:
        first = 100 - habits.hour + int(np.round(26.5 * day))
        hours = [own[t] for t in range(first, first + length + 2 * habits.hour) if 0 <= t < 300]
        hours = [v for v in hours if not np.isnan(v)]
        as_far = sum(v * np.sign(size) >= abs(size) / 2 for v in hours)
        assert far(np.array([first]))[0] == (as_far >= (length + 1) // 2)
        heard += len(hours) >= (length + 1) // 2
        went += as_far >= (length + 1) // 2
    assert habits._came(far, 100, length, days) == (went, heard)


def test_what_comes_seldom_elsewhere_or_the_other_way_is_none():
    start = 10 * DAY + 7
    once = course(share=0.0)
    once[start : start + 2] = 5.0
    assert not _habitual(once, (start, start + 2), DAY)
    seldom = course(share=0.2)
    seldom[start : start + 2] = 5.0
    assert not _habitual(seldom, (start, start + 2), DAY)
    other = -course()
    other[start : start + 2] = 5.0
    assert not _habitual(other, (start, start + 2), DAY)
    larger = course()
    larger[start : start + 2] = 11.0  # twice as far as ever, and more
    assert not _habitual(larger, (start, start + 2), DAY)
    always = sum(course(hour=h) for h in (1, 7, 13, 19))  # at any hour: no hour of its own
    assert not _habitual(always, (start, start + 2), DAY)


def test_days_on_which_nothing_was_heard_say_nothing():
    own = course()
    start = 10 * DAY + 7
    for day in (2, 3, 5, 8, 13, 14):
        own[day * DAY : (day + 1) * DAY] = np.nan
    assert _habitual(own, (start, start + 2), DAY)
    deaf = np.where(np.arange(own.size) // DAY == 10, own, np.nan)
    assert not _habitual(deaf, (start, start + 2), DAY)


def test_marks_are_carried_over_silence_and_not_round_its_ends():
    deviation = np.array([np.nan, np.nan, 0.0, 5.0, np.nan, 5.0, 0.0, np.nan, 5.0, np.nan])
    marks = deviation == 5.0
    got = _bridged(marks, deviation)
    assert np.flatnonzero(got).tolist() == [3, 4, 5, 8, 9]


def test_the_typical_of_a_part_takes_more_than_half_of_it():
    for part, typical in (
        ([1.0, 5.0, 9.0], 5.0),
        ([1.0, np.nan, 9.0], 5.0),
        ([4.0, np.nan], 0.0),
        ([np.nan, np.nan], 0.0),
    ):
        assert _typical(np.array(part), np.array([0]), len(part)) == [typical]


def test_the_typical_of_parts_beyond_the_end_is_of_what_is_left_of_them():
    series = np.array([7.0, 1.0, 3.0, np.nan])
    assert _typical(series, np.array([0, 1, 2, 3, 4]), 2).tolist() == [4.0, 2.0, 0.0, 0.0, 0.0]
    assert _typical(series, np.array([1, 2]), 4).tolist() == [2.0, 0.0]


# Together


def faults(*starts, node=None):
    return [Episode(n if node is None else node, "t", t, t + 5, "stuck", 5, 3.0, 0.9, "…")
            for n, t in enumerate(starts)]  # fmt: skip


def test_a_crowd_is_five_nodes_and_a_fifth_of_all_within_two_slots():
    at_once = faults(102, 100, 101, 102, 100)
    assert [len(crowd) for crowd in ranking._crowds(at_once, 25, 10_000)] == [5]
    assert not ranking._crowds(at_once, 26, 10_000)  # a fifth of 26 is more than five
    assert not ranking._crowds(at_once[:4], 4, 10_000)
    assert not ranking._crowds(faults(100, 101, 102, 103, 102), 10, 10_000)
    assert not ranking._crowds(faults(*[100] * 9, node=3), 10, 10_000)  # one node, often
    later = faults(50, 100, 101, 102, 100, 101, 200)
    (crowd,) = ranking._crowds(later, 10, 10_000)
    assert sorted(e.start for e in crowd) == [100, 100, 101, 101, 102]


def test_where_faults_are_many_chance_makes_crowds():
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 300, 300)
    many = [Episode(k % 20, "t", int(t), int(t) + 1, "spike", 1, 3.0, 0.9, "…")
            for k, t in enumerate(starts)]  # fmt: skip
    assert not ranking._crowds(many, 20, 300)
    assert not ranking._crowds(many[:0], 20, 0)


# Jumps out and back


def test_a_stretch_is_false_if_it_is_farther_off_than_what_is_around_it():
    off = np.zeros(40)
    off[10:14] = 6.0
    assert history._farther(off, 10, 14, 0.0)
    assert not history._farther(off, 14, 18, 0.0)  # between, the others are where the node belongs
    off[5:10], off[14:19] = 7.0, 7.0
    assert not history._farther(off, 10, 14, 0.0)


def test_the_way_back_leads_to_where_the_jump_began():
    values = np.zeros(60)
    values[20:30] = 8.0
    cuts = np.array([19, 29])
    assert history._Ways(values, cuts).back(0) == 1
    left = values.copy()
    left[30:] = 2.6  # within half of the way that it came back
    assert history._Ways(left, cuts).back(0) == 1
    left[30:] = 2.7
    assert history._Ways(left, cuts).back(0) == 2
    down = values.copy()
    down[29] = -8.0  # comes back from the other side
    assert history._Ways(down, cuts).back(0) == 2
    between = values.copy()
    between[21:29] = 1.0  # hardly ever away
    assert history._Ways(between, cuts).back(0) == 2
    # The first cut after which it is back, of several.
    steps = values.copy()
    steps[25:30] = 16.0
    assert history._Ways(steps, np.array([19, 24, 29])).back(0) == 2
    assert history._Ways(values, np.array([19])).back(0) == 1


def test_noise_is_from_its_first_wild_reading_to_its_last():
    half = history.NOISY_WINDOW // 2
    core, wild = np.zeros(300, dtype=bool), np.zeros(300, dtype=bool)
    core[100:150] = True
    wild[90:160] = True
    marks = np.isin(np.arange(300), range(90, 160))
    np.testing.assert_array_equal(history._trimmed(core, wild), marks)
    wild[:] = False
    wild[[100 - half, 150 + half - 1]] = True
    assert not history._trimmed(core, wild).any()  # too few
    wild[110 : 110 + half - 2] = True
    found = np.flatnonzero(history._trimmed(core, wild))
    assert (found[0], found[-1]) == (100 - half, 150 + half - 1)
    wild[110] = False
    assert not history._trimmed(core, wild).any()


@pytest.mark.parametrize("day", [0, 5])
def test_five_other_days_are_enough_and_none_of_them_is_forgotten(day):
    """A quarter to the fifth is below one in a thousand, to the fourth it is not."""
    own = course(days=6)
    start = day * DAY + 7
    assert _habitual(own, (start, start + 2), DAY)
    for other in (0, 1, 4, 5):
        if other != day:
            fewer = own.copy()
            fewer[other * DAY : (other + 1) * DAY] = np.nan
            assert not _habitual(fewer, (start, start + 2), DAY)


# At rest


def resting(still, days=12):
    """Whether a node that stands still on day 6 is at rest; it does so on other days too."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(days * DAY, 2)).cumsum(axis=0)
    for day in (6, *still):
        at = slice(day * DAY + 3, day * DAY + 15)
        X[at, 1] = X[at.start, 1]
    first = 6 * DAY + 3
    run = Runs(*map(np.asarray, (1, 12, first - 1, first, first + 11, first + 12)))
    return _resting(X, run, Context(slot=3_600_000_000))


def test_who_rests_at_these_hours_of_a_third_of_the_other_days_is_at_rest():
    assert not resting([])
    assert not resting([2])
    assert not resting([2, 9, 10])  # three of eleven
    assert resting([2, 4, 9, 10])
    assert resting([], days=8) is resting([1], days=8) is False
