"""Daily cycles: used where all nodes fall silent for hours, and only if that helps."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import choosing
from fieldmend.field.cycles import course_of
from fieldmend.field.model import Data

DAY = 48


def outages(X, rng):
    """Three in ten slots lost, for all nodes together, hours at a time."""
    lost = np.zeros(len(X), dtype=bool)
    while lost.mean() < 0.3:
        start = rng.integers(len(X))
        lost[start : start + rng.integers(6, 14)] = True
    return np.where(lost[:, None], np.nan, X), np.broadcast_to(lost[:, None], X.shape)


def days(rng, cycle):
    t = np.arange(10 * DAY)[:, None]
    phase = rng.uniform(0, 0.6, 15)
    wander = rng.normal(size=(len(t), 15)).cumsum(axis=0)
    return cycle * np.sin(2 * np.pi * (t / DAY) + phase) ** 3 + 0.05 * wander


def rms(error):
    return np.sqrt(np.mean(error**2))


def test_a_strong_cycle_is_used_in_outages():
    rng = np.random.default_rng(0)
    truth = days(rng, 8.0)
    X, lost = outages(truth + 0.1 * rng.normal(size=truth.shape), rng)
    plain = fm.decompose(X, method="auto")
    cyclic = fm.decompose(X, method="auto", period=DAY)
    assert "the usual course counts up to 100 % where the network is silent" in cyclic.choice
    ratio = rms((cyclic.estimate - truth)[lost]) / rms((plain.estimate - truth)[lost])
    assert ratio < 0.7
    inside = (cyclic.lower <= truth) & (truth <= cyclic.upper)
    assert inside[lost].mean() > 0.75
    # What is reported as hidden are readings, in their own units.
    held = cyclic.holdout
    np.testing.assert_allclose(held.truth, X[held.rows, held.columns])


def test_no_cycle_is_made_up():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(10 * DAY, 15)).cumsum(axis=0)
    X, lost = outages(truth, rng)
    plain, cyclic = fm.decompose(X, method="auto"), fm.decompose(X, method="auto", period=DAY)
    assert "not used" in cyclic.choice
    off, without = (rms((out.estimate - truth)[lost]) for out in (cyclic, plain))
    assert off < 1.02 * without
    np.testing.assert_array_equal(plain.estimate[~lost], cyclic.estimate[~lost])


@pytest.mark.parametrize(("near", "used"), [(0.05, True), (0.5, False)])
def test_a_course_that_helps_in_outages_must_not_harm_where_others_are_heard(
    near, used, monkeypatch
):
    """Guesses as given: the plain one is good where nodes are heard, the other in outages."""
    rng = np.random.default_rng(3)
    lost = np.zeros(10 * DAY, dtype=bool)
    lost[100:140] = lost[250:290] = True
    truth = rng.normal(size=(9, lost.size))
    heard = rng.random(truth.shape) < np.where(lost, 0.1, 0.8)
    data = Data(truth, heard, np.arange(lost.size))
    plain = truth + np.where(lost, 5.0, 0.1)
    guesses = iter([plain, truth + np.where(lost, 1.0, near)])
    monkeypatch.setattr(choosing, "quick_mean", lambda *_: next(guesses))
    monkeypatch.setattr(choosing, "course_of", lambda rest, length: np.zeros((9, length)))
    monkeypatch.setattr(choosing, "with_kinds", lambda course, *_: course)
    monkeypatch.setattr(choosing, "_worth_it", lambda *_: True)
    hidden = data.used & (lost | (rng.random(truth.shape) < 0.1))
    monkeypatch.setattr(choosing, "draw_hidden", lambda *_: hidden)
    said = choosing.choose_course(data, [DAY], lost.size, 0).said
    assert said.endswith(": used") if used else "harms where others are heard" in said


@pytest.mark.parametrize(
    ("short", "brief", "used"),
    [(0.11, True, True), (0.15, True, False), (0.15, False, True)],
)
def test_a_course_must_not_lose_more_in_short_gaps_than_it_gains_in_all(
    short, brief, used, monkeypatch
):
    """Long gaps have the large errors: a gain of a tenth there once cost a half in all others."""
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(9, 10 * DAY))
    hidden = rng.random(truth.shape) < 0.1
    hidden[:, 1:] &= ~hidden[:, :-1]  # one by one,
    long = np.zeros(truth.shape, dtype=bool)
    long[2, 100:140] = long[5, 200:240] = True
    data = Data(truth, np.ones(truth.shape, bool), np.arange(truth.shape[1]))
    monkeypatch.setattr(choosing, "draw_hidden", lambda *_: hidden | long)
    guesses = iter([truth + np.where(long, 2.0, 0.1), truth + np.where(long, 1.6, short)])
    monkeypatch.setattr(choosing, "quick_mean", lambda *_: next(guesses))
    monkeypatch.setattr(choosing, "course_of", lambda rest, length: np.zeros((9, length)))
    monkeypatch.setattr(choosing, "_worth_it", lambda *_: True)
    monkeypatch.setattr(choosing, "_much_is_brief", lambda *_: brief)
    monkeypatch.setattr(choosing, "usual_company", lambda *_: np.inf)  # nobody is in company
    said = choosing.choose_course(data, [DAY], truth.shape[1], 0).said
    assert said.endswith(": used" if used else "not used, it harms in short gaps")


def test_much_is_brief_by_share_of_what_was_lost():
    lost = np.zeros((2, 10 * DAY), dtype=bool)
    lost[0, 20:100] = True
    lost[1, ::10] = True
    assert choosing._much_is_brief(lost, DAY)
    lost[1, ::2] = False
    lost[1, 100:] = False
    assert not choosing._much_is_brief(lost, DAY)


def test_short_gaps_are_no_question_of_cycles():
    rng = np.random.default_rng(2)
    X = days(rng, 8.0)
    X[rng.random(X.shape) < 0.3] = np.nan
    out = fm.decompose(X, method="auto", period=(DAY, 7 * DAY))
    assert "cycle" not in out.choice


def test_course_is_the_mean_at_each_phase():
    readings = np.array([[1.0, 3.0, 1.0, 5.0, 1.0, 0.0]])
    used = np.array([[True, True, True, True, True, False]])
    course = course_of(Data(readings, used, np.arange(6)), 2)
    mean = 11 / 5
    chance = (2 / 3) * (1 / 3 + 1 / 2) / 2  # days differ at the second phase only
    share = 1 - chance / (((1 - mean) ** 2 + (4 - mean) ** 2) / 2)
    plain = np.array([[(3 - 3 * mean) / 4, (8 - 2 * mean) / 3]])
    np.testing.assert_allclose(course, share * plain, rtol=1e-6)


def test_a_course_that_may_be_chance_is_held_back():
    rng = np.random.default_rng(4)
    used = rng.random((6, 30 * DAY)) < 0.1  # three readings at each phase
    readings = np.where(used, rng.normal(size=used.shape), 0.0)
    assert np.abs(course_of(Data(readings, used, np.arange(30 * DAY)), DAY)).mean() < 0.1
    own = np.where(used, readings + 3 * np.sin(2 * np.pi * np.arange(30 * DAY) / DAY), 0.0)
    assert np.abs(course_of(Data(own, used, np.arange(30 * DAY)), DAY)).mean() > 1.0


@pytest.mark.parametrize("period", [1, 0, -3, 2.5, "48", True])
def test_a_period_is_a_number_of_slots(period):
    with pytest.raises(ValueError, match="whole numbers of slots"):
        fm.decompose(np.ones((20, 4)), method="auto", period=period)
