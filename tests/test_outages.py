"""Slots in which most of the network is silent have leans, intervals and a course of their own."""

from types import SimpleNamespace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import honest, outages
from fieldmend.field.cycles import layered_course, long_enough
from fieldmend.field.fitting import quick_field
from fieldmend.field.holdout import calibrate
from fieldmend.field.lean import lean_to_second
from fieldmend.field.model import Data
from fieldmend.field.outages import outage_numbers, silent_slots, usual_company
from fieldmend.field.routine import Routine

DAY = 24


def test_silent_is_less_than_half_of_the_usual_company():
    used = np.ones((10, 6), dtype=bool)
    used[:, 2], used[4:, 3], used[5:, 4] = False, False, False
    assert usual_company(used) == 10  # slots without any reading do not make it less
    np.testing.assert_array_equal(silent_slots(used, 10.0), [0, 0, 1, 1, 0, 0])


def test_scattered_loss_is_no_outage():
    used = np.random.default_rng(0).random((60, 500)) < 0.3
    assert not silent_slots(used, usual_company(used)).any()


def test_a_cut_between_slots_ends_an_outage():
    silent = np.array([True, True, True, False, True])
    slots = np.array([0, 1, 5, 6, 7])
    np.testing.assert_array_equal(outage_numbers(silent, slots), [0, 0, 1, -1, 2])


def test_a_silence_lasts_from_a_twelfth_of_the_day_on():
    silent = np.array([1, 0, 1, 1, 0, 1, 1, 1, 0], dtype=bool)
    slots = np.arange(9)
    for length, wanted in ((36, [5, 6, 7]), (24, [2, 3, 5, 6, 7]), (7, [2, 3, 5, 6, 7]), (60, [])):
        found = outages.lasting_silence(silent, slots, length)
        np.testing.assert_array_equal(np.flatnonzero(found), wanted)
    assert not outages.lasting_silence(silent, 2 * slots, 24).any()  # each by itself
    assert not outages.lasting_silence(np.zeros(9, dtype=bool), slots, 24).any()


def test_the_usual_course_is_not_fitted_for_silences_that_are_bridged():
    truth = np.sin(2 * np.pi * np.arange(240) / 24) * np.ones((8, 1))
    field = quick_field(Data(truth, np.ones(truth.shape, dtype=bool), np.arange(240)), 0)
    for silent, learnt in ((np.s_[10::20], False), (np.s_[100:112], True)):
        used = np.ones(truth.shape, dtype=bool)
        used[:, silent] = False
        data = Data(np.where(used, truth, 0.0), used, np.arange(240))
        found = Routine.learnt(field, data, (24,), np.random.default_rng(0))
        assert (found is not None) is learnt


def test_one_outage_is_one_witness():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=400)
    bad, good = truth + rng.normal(size=400), truth + 0.4 * rng.normal(size=400)
    remote = np.full(400, 5.0)
    few, many = (
        lean_to_second(truth, bad, good, remote, usual=0.0, outage=np.arange(400) // size).weight[2]
        for size in (200, 2)
    )
    assert few < 0.6 < 0.8 < many


def test_outages_that_hide_the_same_slots_are_fewer_witnesses():
    rng = np.random.default_rng(1)
    truth, remote, outage = rng.normal(size=400), np.full(400, 5.0), np.arange(400) // 20
    bad, good = truth + rng.normal(size=400), truth + 0.4 * rng.normal(size=400)
    whole, half, few = (
        lean_to_second(truth, bad, good, remote, usual=0.0, outage=outage, fresh=fresh).weight[2]
        for fresh in (1.0, 0.5, 0.1)
    )
    fewer = lean_to_second(truth, bad, good, remote, usual=0.0, outage=outage // 2).weight[2]
    assert few < 0.8 * whole
    assert half == pytest.approx(fewer)

    slot = np.arange(400) % 20
    trial = SimpleNamespace(outage=outage, slot=slot)
    assert honest._fresh(trial) == pytest.approx(1 / 20)  # the same twenty slots every time
    trial.slot = np.arange(400) // 2  # two nodes of each slot
    assert honest._fresh(trial) == 1.0


def test_the_next_outage_may_be_worse_than_those_that_were_hidden():
    rng = np.random.default_rng(2)
    outage = np.repeat(np.arange(40), 30)
    alike = np.abs(rng.normal(size=1200))

    def stretch(z, outages):
        own = outage < outages
        plain = np.quantile(z[own], 0.9)
        found = calibrate(z[own], np.ones(own.sum()), outage[own], 0.9, together=True)
        return found.at(np.ones(1))[0] / plain

    assert stretch(alike, 40) < 1.15
    assert stretch(alike, 4) > 1.3
    sizes = np.exp(rng.normal(size=(200, 5)))  # four hidden, one to come
    held = [
        calibrate(
            np.abs(rng.normal(size=(4, 30)) * one[:4, None]).ravel(), np.ones(120),
            np.repeat(np.arange(4), 30), 0.9, together=True,
        ).factor[0]
        > np.abs(rng.normal(size=30)) * one[4]
        for one in sizes
    ]  # fmt: skip
    assert 0.83 < np.mean(held) < 0.95


def data_of(X):
    return Data(X.T.copy(), np.ones(X.T.shape, dtype=bool), np.arange(len(X)))


def test_days_of_the_week_differ_from_the_day_as_far_as_they_repeat():
    rng = np.random.default_rng(3)
    slot = np.arange(6 * 7 * DAY)
    weekend = slot // DAY % 7 >= 5
    course = np.sin(2 * np.pi * slot / DAY) * np.where(weekend, 0.2, 1.0)
    X = course[:, None] + 0.3 * rng.normal(size=(len(slot), 4))
    found, believed = layered_course(data_of(X), (DAY, 7 * DAY))
    off = found.at(data_of(X)) - (course - course.mean())
    assert np.sqrt((off**2).mean()) < 0.13  # as noise of six weeks
    assert believed > 0.9


def test_noise_has_no_course():
    X = np.random.default_rng(4).normal(size=(40 * DAY, 8))
    found, believed = layered_course(data_of(X), (DAY,))
    assert believed < 0.15
    assert np.abs(found.values).max() < 0.3


def test_periods_that_do_not_fit_each_other_are_left_out():
    slots = np.arange(100)
    assert long_enough([30, 10, 15, 40], slots) == [10, 30]


@pytest.fixture(scope="module")
def mixed():
    """Days that are alike; the network falls silent for hours, and nodes for days on their own."""
    rng = np.random.default_rng(5)
    slots, nodes = 24 * DAY, 14
    t = np.arange(slots)
    wander = np.zeros((slots, nodes))
    for k in range(1, slots):
        wander[k] = 0.9 * wander[k - 1] + 0.1 * rng.normal(size=nodes)
    shared = np.convolve(rng.normal(size=slots), np.ones(30) / 4, "same")
    course = 3.0 * np.maximum(0, np.sin(2 * np.pi * (t - 6) / DAY)) ** 2
    truth = (course + shared)[:, None] * rng.uniform(0.8, 1.2, nodes) + wander
    X = truth + 0.1 * rng.normal(size=truth.shape)
    silent = np.zeros(slots, dtype=bool)
    for start in rng.integers(0, slots - 10, 7):
        silent[start : start + 8] = True
    X[silent] = np.nan
    for n in range(nodes):
        for start in rng.integers(0, slots - 2 * DAY, 4):
            X[start : start + DAY + DAY // 2, n] = np.nan
    return truth, X, silent


@pytest.fixture
def refused(monkeypatch):
    """As if hidden readings had not wanted the course everywhere."""
    monkeypatch.setattr("fieldmend.field.auto.choose_course", lambda *_: None)


@pytest.mark.usefixtures("refused")
def test_the_course_counts_in_outages_by_a_weight_of_its_own(mixed):
    truth, X, silent = mixed
    plain = fm.decompose(X, method="auto")
    found = fm.decompose(X, method="auto", period=DAY)
    assert "where the network is silent" in found.choice

    def off(out, where):
        return np.sqrt(((out.estimate - truth)[where] ** 2).mean())

    assert off(found, silent) < 0.85 * off(plain, silent)
    assert off(found, ~silent) < 1.02 * off(plain, ~silent)


@pytest.mark.usefixtures("refused")
def test_what_outages_taught_is_saved_with_the_model(mixed, tmp_path):
    _, X, silent = mixed
    model = fm.decompose(X, method="auto", period=DAY).model
    assert model["value"].routine is not None
    assert model["value"].honest.apart is not None
    model.save(tmp_path / "site.npz")
    again = fm.FieldModel.load(tmp_path / "site.npz")
    for first in (0, 5):
        here, there = (m["value"].apply(X, ~np.isnan(X), first=first) for m in (model, again))
        np.testing.assert_array_equal(here.estimate, there.estimate)
        np.testing.assert_array_equal(here.lower[silent], there.lower[silent])
