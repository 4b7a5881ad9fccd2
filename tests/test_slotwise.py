"""The start from slots: its flags have to pay."""

from types import SimpleNamespace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import slotwise
from fieldmend.field.model import Data
from fieldmend.field.screens import DistanceScreen
from fieldmend.simulate import network


def trial(errors):
    errors = np.asarray(errors, float)
    return SimpleNamespace(truth=errors, model=np.zeros(len(errors)))


def test_flags_pay_if_hidden_readings_come_out_better_with_them():
    tight = trial([1.0] * 40)
    assert slotwise._pays(tight, trial([1.01] * 40))
    assert not slotwise._pays(tight, trial([1.0] * 40))
    assert not slotwise._pays(tight, trial([0.9] * 40))
    # What neither foresaw counts as far, not as far as it is: 4 times the nineteenth twentieth.
    assert not slotwise._pays(trial([1.0] * 39 + [50.0]), trial([0.9] * 39 + [70.0]))


def counts(seed, nodes=40, days=21, per=54):
    """Gates: peaks of workdays and weekends; noise grows with the level."""
    rng = np.random.default_rng(seed)
    hour = np.linspace(6, 24, per, endpoint=False)
    peaks = [(8, 0.6), (8.7, 0.9), (18, 1.0), (17.3, 0.7), (12.5, 2.5), (20.5, 1.5)]
    courses = np.array([np.exp(-0.5 * ((hour - c) / w) ** 2) for c, w in peaks])
    work = rng.gamma(0.8, 1.0, (nodes, 6)) * [2, 1.5, 2, 1.2, 0.8, 0.6]
    rest = rng.gamma(0.8, 1.0, (nodes, 6)) * [0.1, 0.1, 0.3, 0.3, 1.6, 1.0]
    size = np.exp(rng.normal(4.3, 0.9, (nodes, 1)))
    out = []
    for day in range(days):
        mix = np.exp(rng.normal(0, 0.08, 6) + rng.normal(0, 0.05, (nodes, 6)))
        rate = size * (((rest if day % 7 >= 5 else work) * mix) @ courses)
        out.append(rng.negative_binomial(160, 160 / (160 + rate)))
    return np.hstack(out).T.astype(float)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_peaks_that_come_back_every_morning_are_not_cut_off(seed):
    truth = counts(seed)
    lost = np.repeat(np.random.default_rng(seed).random((21, 40)) < 0.4, 54, axis=0)
    out = fm.decompose(np.where(lost, np.nan, truth), method="auto", faults=False)
    assert (out.sparse != 0).sum() < 0.003 * (~lost).sum()


def test_false_readings_in_slots_of_any_order_are_still_found():
    net = network(500, 24, field="low_rank", rank=3, noise=0.5, sampling=0.6, seed=10)
    out = fm.decompose(net.readings, method="auto")
    assert out.model["value"].start == "slots"
    false = net.anomalies != 0
    assert (out.sparse != 0)[false].mean() > 0.9


def test_slack_widens_the_limit_of_flags_and_nothing_else():
    rng = np.random.default_rng(1)
    field = SimpleNamespace(common=lambda: np.zeros((2, 50)))
    values = rng.normal(size=(2, 50))
    data = Data(values, np.ones((2, 50), dtype=bool), np.arange(50))
    threshold = np.array([0.5, 0.2])
    for slack in (1.0, 2.0):
        got = DistanceScreen(threshold, slack)._far(data, field, 2.0)
        np.testing.assert_array_equal(got, np.abs(values) > 2.0 * slack * threshold[:, None])
