"""Stretches and excursions, number by number: what the search for faults and events is built of."""

import numpy as np
import pytest

from fieldmend.faults import Context, excursions, lasting, seen_too, stretches
from fieldmend.faults.excursions import Course, Shape

nan = np.nan


@pytest.mark.parametrize(
    ("length", "step", "inside", "lag"),
    [(1, 1, 1, 6), (6, 1, 6, 6), (11, 1, 11, 6), (12, 2, 6, 3), (48, 8, 6, 1), (100, 16, 7, 1)],
)
def test_a_stretch_is_looked_at_in_about_six_steps(length, step, inside, lag):
    shape = Shape.of(length)
    assert (shape.step, shape.inside, shape.lag) == (step, inside, lag)
    assert shape.centre == shape.around == inside + 2 * lag
    assert shape.lasts == max(1, inside // 2)


def test_means_of_blocks_leave_out_what_was_not_heard():
    values = np.array([[1.0, nan], [3.0, 4.0], [nan, nan], [nan, nan], [7.0, 0.0]])
    expected = [[2.0, 4.0], [nan, nan], [7.0, 0.0]]
    course = excursions.Course(values, alone=True)
    np.testing.assert_array_equal(course._means(2), expected)
    assert course._means(1) is values
    np.testing.assert_allclose(course._means(8), [np.nanmean(values, axis=0)])


def test_running_means_need_half_of_their_steps():
    part = np.array([[[1.0, 3.0, nan, nan, nan, 8.0]]])
    found = excursions._running_means(part, 3)[0, 0]
    np.testing.assert_array_equal(found, [2.0, nan, nan, nan])
    np.testing.assert_array_equal(
        excursions._running_means(part, 2)[0, 0], [2.0, 3.0, nan, nan, 8.0]
    )
    assert excursions._running_means(part, 1) is part


def test_medians_of_windows():
    part = np.array([[[1.0, nan], [5.0, nan], [2.0, 4.0]], [[nan, 1.0], [nan, 3.0], [6.0, nan]]])
    np.testing.assert_array_equal(excursions.window_medians(part), [[2.0, 4.0], [6.0, 2.0]])


@pytest.mark.parametrize("size", [1, 2, 3, 10, 11, stretches.FEW, stretches.FEW + 1])
def test_the_quick_median_is_numpys_to_the_last_bit(size):
    values = np.random.default_rng(size).normal(size=size)
    assert stretches.middle(values) == np.median(values)
    values[0] = nan
    assert np.isnan(stretches.middle(values))


def test_no_shape_reaches_beyond_the_silence_that_is_put_around():
    shapes = [Shape.of(length) for length in range(1, 3000)]
    assert max(shape.centre + 2 * shape.around for shape in shapes) <= excursions.WIDEST


def still(slots=600, columns=6):
    """Columns that rise by 1 for five slots, each at its own time, again and again."""
    X = np.zeros((slots, columns)) + 0.01 * np.random.default_rng(0).normal(size=(slots, columns))
    for n in range(1, columns):
        for start in range(40 + 15 * n, slots, 120):
            X[start : start + 5, n] += 1.0
    return X


def test_a_share_is_how_often_a_companion_goes_as_far():
    X = still()
    X[300:305, 0] += 1.0
    X[300:305, 1] += 3.0  # farther than ever
    X[300:305, 2] -= 3.0  # the other way
    near = np.arange(1, 6)
    went = Course(X, alone=True)(300, 305, 0, near)
    least = went.same[0]
    assert 0 < least < 0.02
    assert (went.same[1:] > 10 * least).all()
    assert went.other[1] == pytest.approx(least, rel=0.2)
    assert went.size[0] == pytest.approx(3.0, rel=0.5)
    assert went.back[1] > 1 > went.back[2]
    either = Course(X, alone=True, either=True)(300, 305, 0, near)
    assert either.same[0] <= 0.02
    assert either.same[1] <= 0.02


def test_what_comes_again_with_the_node_is_seen_each_time():
    X = np.random.default_rng(1).normal(size=(1200, 4))
    for start in range(50, 1200, 200):
        X[start : start + 10, :2] += 30
    went = Course(X, alone=True)(450, 460, 0, np.array([1, 2]))
    assert went.same[0] < 0.02  # in stretches in which the node is quiet it never goes so far
    assert went.same[1] > 0.02


def test_a_record_too_short_cannot_tell():
    X = np.random.default_rng(1).normal(size=(60, 4))
    went = Course(X, alone=True)(10, 40, 0, np.array([1, 2, 3]))
    for one in (went.same, went.other):  # how far they went is told, and counts for nothing
        np.testing.assert_array_equal(one, np.ones(3))
    assert seen_too.by_chance(went) == 1.0


def test_singles_coincide_as_chance_makes_them():
    alike = np.zeros((2, 10), dtype=bool)
    assert seen_too._coincide(alike, np.full(10, 0.01)) == 1.0
    alike[0, 3] = alike[1, 3] = True  # one companion, twice
    assert seen_too._coincide(alike, np.full(10, 0.01)) == pytest.approx(1 - np.exp(-0.2))
    alike[1, 5] = True
    chance = 1 - np.exp(-0.2) * 1.2
    assert seen_too._coincide(alike, np.full(10, 0.01)) == pytest.approx(chance)


def test_marks_are_carried_over_lost_slots_and_single_readings():
    readings = np.array([1.0, 1, nan, 1, 1, 1, 1, 1, 1])
    marks = np.array([0, 1, 0, 1, 0, 1, 0, 0, 1], dtype=bool)
    expected = np.array([0, 1, 1, 1, 1, 1, 0, 0, 1], dtype=bool)
    np.testing.assert_array_equal(seen_too._bridged(marks, readings), expected)


def test_a_node_off_for_three_quarters_to_its_last_reading_is_given_up():
    observed = np.ones((100, 3), dtype=bool)
    observed[90:, 2] = False
    found = np.zeros((100, 3), dtype=bool)
    found[40:, :] = True
    found[50:60, 0] = False  # it crosses the field now and then
    found[41:60, 1] = False  # too often: from slot 60 on only
    found[85:90, 2] = False  # well at its last reading
    out = lasting.given_up(found, observed)
    assert out[40:, 0].all()
    assert not out[:40].any()
    np.testing.assert_array_equal(out[:, 1:], found[:, 1:])


def test_limits_follow_the_tail():
    usual = np.abs(np.random.default_rng(0).normal(size=100_000))
    low, high = lasting._limits(usual)
    assert low == lasting.LOW
    assert high == pytest.approx(1.96 * (1.96 / 1.15) ** 2.5, rel=0.03)
    assert lasting._limits(0.1 * usual)[1] == pytest.approx(high * 0.1 if high > 45 else 4.5)
    assert lasting._limits(np.zeros(0)) == (np.inf, np.inf)


@pytest.mark.parametrize("either", [False, True])
def test_many_stretches_are_looked_at_as_each_alone(either, monkeypatch):
    monkeypatch.setattr(excursions, "BLOCK", 500)  # several blocks of a shape
    X = still()
    X[::7, 2] = nan
    at = [(0, 1, 0), (300, 305, 0), (598, 600, 3), (42, 43, 1), (10, 40, 2), (200, 201, 4)]
    near = [np.array(one, dtype=int) for one in ([1, 2], [1, 2, 3, 4], [0], [], [0, 5], [3])]
    side = [None, 0, 1, None, None, 1]
    found = dict(Course(X, alone=True, either=either).each(at, near, side))
    assert sorted(found) == list(range(len(at)))
    for i, went in found.items():
        alone = Course(X, alone=True, either=either)(*at[i], near[i], side[i])
        for part in ("size", "back", "same", "other"):
            np.testing.assert_array_equal(getattr(went, part), getattr(alone, part))
    far = dict(Course(X, alone=True, either=either).each(at, near, side, 0.5))
    assert sorted(far) == [i for i in range(len(at)) if (found[i].size >= 0.5).any()]
    assert 0 < len(far) < len(at)


def test_departures_are_held_against_those_of_all_nodes_readings_against_the_nodes_own(monkeypatch):
    made = []

    class Noted(Course):
        def __init__(self, values, *, alone, either=False):
            made.append((alone, either))
            super().__init__(values, alone=alone, either=either)

    monkeypatch.setattr(seen_too, "Course", Noted)
    X = np.random.default_rng(0).normal(size=(300, 8))
    flagged = np.zeros(X.shape, dtype=bool)
    flagged[100:110, 2] = True
    seen_too.spared(X, flagged, Context())
    # Of the field, then of the readings; the same without single ones, for what lasts.
    assert made == [(False, False), (True, False)] * 2
