"""Kinds of days: told by all nodes together, used for a node that was silent all day."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import choosing, days
from fieldmend.field.cycles import Course, course_of, explained, relearnt, with_kinds, without
from fieldmend.field.model import Data

DAY = 24


def gates(seed=0, *, nodes=16, count=28, noise=0.05):
    """Counts whose days are alike; each node has its own workday and its own weekend."""
    rng = np.random.default_rng(seed)
    hour = np.arange(DAY)
    peaks = [np.exp(-0.5 * ((hour - c) / w) ** 2) for c, w in ((8, 1), (18, 1.5), (13, 4), (21, 2))]
    work, rest = (rng.gamma(1.0, 1.0, size=(nodes, 4)) @ peaks for _ in range(2))
    size = 100 * np.exp(0.5 * rng.normal(size=(nodes, 1)))
    out = [
        size * (rest if day % 7 >= 5 else work) * (1 + noise * rng.normal(size=(nodes, 1)))
        for day in range(count)
    ]
    return np.hstack(out).T * (1 + noise * rng.normal(size=(count * DAY, nodes)))


def silent_days(shape, seed, share=0.3):
    """Whole days of single nodes."""
    slots, nodes = shape
    lost = np.random.default_rng(seed).random((slots // DAY, nodes)) < share
    return np.repeat(lost, DAY, axis=0)


def data_of(X, slots=None):
    used = np.isfinite(X.T)
    slots = np.arange(len(X)) if slots is None else slots
    return Data(np.where(used, X.T, 0.0), used, slots)


def scaled(X):
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_a_node_silent_all_day_is_told_by_its_own_days_of_that_kind(seed):
    truth = gates(seed)
    lost = silent_days(truth.shape, seed)
    X = np.where(lost, np.nan, truth)
    out = fm.decompose(X, method="auto", period=(DAY, 7 * DAY), faults=False)
    assert "with kinds of days" in out.choice
    plain = fm.decompose(X, method="auto", faults=False)
    error, without_days = (np.abs(one.estimate - truth)[lost].mean() for one in (out, plain))
    assert error < 0.8 * without_days
    held = ((out.lower <= truth) & (truth <= out.upper))[lost].mean()
    assert held > 0.82


def test_where_a_record_begins_changes_nothing_but_its_ends():
    """A day is a day, whatever the hour of the first reading."""
    truth = gates(1)
    lost = silent_days(truth.shape, 5)
    X = np.where(lost, np.nan, truth)
    error = []
    for first in (0, 15):
        out = fm.decompose(X[first:], method="auto", period=(DAY, 7 * DAY))
        assert "with kinds of days" in out.choice
        inner = lost[first:].copy()
        inner[: 24 - first] = False
        error.append(np.abs(out.estimate - truth[first:])[inner].mean())
    assert error[1] < 1.1 * error[0]


def test_days_begin_at_night():
    X = scaled(gates(2))
    data = data_of(X)
    course = Course(course_of(data, DAY), "")
    rest = data.readings - course.at(data)
    assert days.ways_of(rest, data, DAY, 7).border in {0, 1, 2, 3, 4, 5, 23}
    later = days.ways_of(rest[:, 10:], data_of(X[10:]), DAY, 7)
    assert (later.border + 10) % DAY in {0, 1, 2, 3, 4, 5, 23}


def naive_went(ways, rest, used, slots):
    """Day by day, with NumPy's own least squares."""
    out = {}
    day = (slots - ways.border) // ways.length
    for one in sorted(set(day.tolist())):
        node, slot = np.nonzero(used & (day == one))
        x = ways.courses[:, node, slots[slot] % ways.length].T
        count = x.shape[1]
        x = np.vstack([x, np.sqrt(ways.doubt) * np.eye(count)])
        prior = ways.usual[:, one % ways.usual.shape[1]]
        y = np.concatenate([rest[node, slot], np.sqrt(ways.doubt) * prior])
        out[one] = np.linalg.lstsq(x, y)[0]
    return out


@pytest.mark.parametrize("first", [0, 100])
def test_what_day_it_was_is_least_squares_over_its_readings(first):
    rng = np.random.default_rng(3)
    ways = days.Ways(rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 7)), 2, 1.7, 0.9)
    slots = first + np.arange(31)
    used = rng.random((3, 31)) < 0.5
    used[:, 8:14] = False  # a day unheard: as usual
    rest = rng.normal(size=(3, 31))
    data = Data(np.where(used, rest, 0.0), used, slots)
    clipped = np.clip(rest, -0.9, 0.9)
    went = naive_went(ways, clipped, used, slots)
    want = np.zeros((3, 31))
    for t, slot in enumerate(slots):
        for n in range(3):
            want[n, t] = ways.courses[:, n, slot % 6] @ went[(slot - 2) // 6]
    np.testing.assert_allclose(ways.at(rest, data), want, atol=1e-9)


def test_courses_of_kinds_are_least_squares_over_days_one_of_them_for_nothing():
    rng = np.random.default_rng(4)
    went, seen = rng.normal(size=(2, 9)), rng.random((3, 9, 5)) < 0.7
    cube = np.where(seen, rng.normal(size=seen.shape), 0.0)
    got = days._courses(cube, seen.astype(float), went)
    for n in range(3):
        for p in range(5):
            x = np.vstack([went[:, seen[n, :, p]].T, np.eye(2)])
            y = np.append(cube[n, seen[n, :, p], p], [0.0, 0.0])
            np.testing.assert_allclose(got[:, n, p], np.linalg.lstsq(x, y)[0], atol=1e-9)


def test_long_courses_of_kinds_are_smoothed_evenly_to_either_side():
    cube = np.zeros((1, 7, 144))
    cube[:, :, 70] = 1.0
    out = days._courses(cube, np.ones_like(cube), np.ones((1, 7)))[0, 0]
    np.testing.assert_allclose(out[68:73], 7 / 8 / 5)
    assert np.abs(np.delete(out, range(68, 73))).max() < 1e-12


def test_few_days_have_no_kinds():
    X = scaled(gates(count=6))
    data = data_of(X)
    course = Course(course_of(data, DAY), "")
    assert with_kinds(course, data, 7).ways is None
    X = scaled(gates(count=9))
    assert len(with_kinds(course, data_of(X), 7).ways.courses) == 1
    X = scaled(gates(count=14))
    assert len(with_kinds(course, data_of(X), 7).ways.courses) == 2
    nothing = Data(np.zeros((2, 400)), np.zeros((2, 400), dtype=bool), np.arange(400))
    assert days.ways_of(nothing.readings, nothing, DAY, 7) is None


def test_a_silent_weekend_is_expected_to_be_one():
    X = scaled(gates(3, count=28))
    ways = with_kinds(Course(course_of(data_of(X), DAY), ""), data_of(X), 7).ways
    weekend = np.sort(np.argsort(-np.abs(ways.usual[0]))[:2])
    # Days begin at night, and may begin one early: Saturday and Sunday, counted from either.
    assert weekend.tolist() in ([5, 6], [4, 5])
    alone = with_kinds(Course(course_of(data_of(X), DAY), ""), data_of(X), 1).ways
    assert alone.usual.shape == (2, 1)


def test_one_absurd_reading_does_not_make_another_day():
    X = scaled(gates(5))
    course = with_kinds(Course(course_of(data_of(X), DAY), ""), data_of(X), 7)
    wrong = X.copy()
    wrong[300, 4] = 1e6
    moved = course.at(data_of(wrong)) - course.at(data_of(X))
    assert np.abs(moved).max() < 0.2


def test_days_that_repeat_exactly_are_told_without_a_breakdown():
    X = np.tile(np.sin(np.arange(DAY) / 4.0), 28)[:, None] * np.arange(1.0, 5.0)
    X[5 * DAY : 6 * DAY, 2] = np.nan
    out = with_kinds(Course(course_of(data_of(scaled(X)), DAY), ""), data_of(scaled(X)), 7)
    assert np.isfinite(out.at(data_of(scaled(X)))).all()


def test_hidden_readings_have_no_part_in_the_course_that_judges_them():
    X = scaled(gates(6))
    data = data_of(X)
    course = with_kinds(Course(course_of(data, DAY), ""), data, 7)
    clean = without(data, course)
    hidden = np.zeros_like(data.used)
    hidden[3, 10 * DAY : 11 * DAY] = True
    rest = clean.using(clean.used & ~hidden)
    other = clean.less(np.where(hidden, 50.0, 0.0))  # whatever they read
    got = relearnt(course, rest)
    np.testing.assert_array_equal(got, relearnt(course, other.using(rest.used)))
    fresh = with_kinds(Course(course_of(data.using(rest.used), DAY), ""), data.using(rest.used), 7)
    np.testing.assert_allclose(got, fresh.at(data.using(rest.used)), atol=1e-9)


def test_a_model_with_kinds_of_days_is_saved_and_applied_to_other_days(tmp_path):
    truth = gates(7, count=42)
    lost = silent_days(truth.shape, 7)
    X = np.where(lost, np.nan, truth)
    model = fm.FieldModel.fit(X[: 28 * DAY], period=(DAY, 7 * DAY))
    assert model["value"].view.course.ways is not None
    model.save(tmp_path / "m.npz")
    again = fm.FieldModel.load(tmp_path / "m.npz")
    new = X[28 * DAY :]
    out = model.apply(new, first=28 * DAY)
    np.testing.assert_array_equal(out.estimate, again.apply(new, first=28 * DAY).estimate)
    gone = lost[28 * DAY :]
    error = np.abs(out.estimate - truth[28 * DAY :])[gone].mean()
    plain = fm.decompose(X, method="auto").estimate[28 * DAY :]
    assert error < 0.9 * np.abs(plain - truth[28 * DAY :])[gone].mean()
    state = model.start()
    for row in new[:30]:
        state, now = model.step(state, row)
    assert np.isfinite(now.estimate).all()


def test_kinds_are_tried_only_where_days_repeat(monkeypatch):
    """Weather has days, but no kinds of them: fronts would be taken for one."""
    asked = []

    def tried(course, *_):
        asked.append(True)
        return course

    monkeypatch.setattr(choosing, "with_kinds", tried)
    rng = np.random.default_rng(8)
    common = np.cumsum(rng.normal(size=28 * DAY))
    front = common[:, None] * rng.uniform(0.8, 1.2, 8) + 0.1 * rng.normal(size=(28 * DAY, 8))
    for X, times in ((front, 0), (gates(8), 1)):
        lost = silent_days(X.shape, 1)
        choosing.choose_course(data_of(scaled(np.where(lost, np.nan, X))), [DAY], len(X), 0)
        assert len(asked) == times


def test_kinds_of_few_readings_are_not_told():
    X = scaled(gates(9, count=28))
    X[np.random.default_rng(1).random(X.shape) < 0.9] = np.nan
    assert with_kinds(Course(course_of(data_of(X), DAY), ""), data_of(X), 7).ways is None


def test_what_a_course_tells_is_a_share_of_the_variance():
    rng = np.random.default_rng(2)
    wave = np.tile(np.sin(2 * np.pi * np.arange(DAY) / DAY), 30)
    X = wave[:, None] * [1.0, 1.0] + np.sqrt(0.5) * rng.normal(size=(30 * DAY, 2)) + [5.0, -3.0]
    data = data_of(np.where(rng.random(X.shape) < 0.3, np.nan, X))
    course = Course(np.tile(np.sin(2 * np.pi * np.arange(DAY) / DAY), (2, 1)), "")
    assert explained(course, data) == pytest.approx(0.5, abs=0.03)
    assert explained(Course(np.zeros((2, DAY)), ""), data) == 0.0
