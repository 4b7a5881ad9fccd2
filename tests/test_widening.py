"""Intervals that are wider where the field is far off its usual level."""

from __future__ import annotations

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field.holdout import calibrate, calibrated
from fieldmend.field.widening import _Lines, widening


def errors(count, slope, seed):
    """Levels with a long tail upwards, errors that grow with them."""
    rng = np.random.default_rng(seed)
    level = rng.exponential(1.0, count) - 0.7
    return level, np.abs(rng.standard_normal(count)) * (1.0 + slope * np.maximum(level, 0))


@pytest.mark.parametrize("slope", [0.0, 1.0, 3.0])
def test_it_finds_how_errors_grow_with_the_level(slope):
    level, error = errors(6000, slope, seed=1)
    found = widening(error, level, np.arange(6000))
    asked = np.array([-0.3, 0.0, 0.5, 1.0, 2.0, 4.0])
    want = 1.0 + slope * np.maximum(asked, 0)
    got = found.at(asked)
    np.testing.assert_allclose(got / got[1], want, rtol=0.2)


def test_a_level_between_which_is_the_worst_of_all():
    """Clouds over a solar plant: nothing at night, little at noon, most in between."""
    rng = np.random.default_rng(2)
    level = rng.uniform(-2, 2, 6000)
    size = np.exp(-((level - 0.5) ** 2) * 4) + 0.1
    found = widening(np.abs(rng.standard_normal(6000)) * size, level, np.arange(6000))
    low, worst, high = found.at(np.array([-1.9, 0.5, 1.9]))
    assert worst > 4 * low
    assert worst > 4 * high


def test_few_witnesses_change_little():
    level, error = errors(4000, 3.0, seed=3)
    none = widening(error[:50], level[:50], np.arange(50))
    assert (none.factor == 1).all()
    many, few = (widening(error[:n], level[:n], np.arange(n)) for n in (4000, 80))
    steep = [float(np.divide(*w.at(np.array([3.0, 0.0])))) for w in (many, few)]
    assert steep[0] > 1.5 * steep[1] > 1.5


def test_slopes_are_drawn_to_none_by_few_readings_though_they_be_plain():
    steep = []
    for times in (5, 100):
        level = np.repeat(np.linspace(-1.0, 3.0, 80), times)
        error = 1 + 3 * np.maximum(level, 0)
        lines = _Lines.fitted(level, error / error.mean())
        steep.append(float(np.divide(*lines.at(np.array([3.0, 0.0])))))
    assert steep[1] > 9  # of ten
    assert 2 < steep[0] < 5


def test_readings_of_one_run_are_one_witness():
    """A bump that lines cannot follow is believed by the runs that tell of it."""
    rng = np.random.default_rng(4)
    level = rng.uniform(-2, 2, 4000)
    error = np.abs(rng.standard_normal(4000)) * np.where(np.abs(level) < 0.7, 3.0, 1.0)
    many, few = (widening(error, level, np.arange(4000) // size) for size in (1, 1000))
    bump = [float(np.divide(*w.at(np.array([0.3, 1.5])))) for w in (many, few)]
    assert bump[0] > 2.0
    assert bump[1] < 1.5


def test_intervals_hold_at_peaks_and_are_narrower_between_them():
    level, error = errors(12000, 2.0, seed=5)
    learn, ask = slice(0, 6000), slice(6000, None)
    remote, run = np.ones(6000), np.arange(6000)
    plain = calibrate(error[learn], remote, run, 0.9)
    found = calibrated(error[learn], remote, run, 0.9, level[learn])
    top = level[ask] > np.quantile(level, 0.9)
    one = np.ones(6000)
    before, after = plain.at(one), found.at(one, level[ask])
    held = [error[ask] <= half for half in (before, after)]
    assert held[0][top].mean() < 0.75
    assert 0.86 <= held[1][top].mean() <= 0.94
    assert all(0.88 <= h.mean() <= 0.92 for h in held)
    assert after[~top].mean() < 0.85 * before[~top].mean()


def test_upside_down_gives_the_same_intervals_upside_down():
    rng = np.random.default_rng(6)
    X = np.exp(np.cumsum(0.1 * rng.standard_normal((300, 1)), axis=0)) * rng.uniform(0.5, 2, 6)
    X += 0.1 * X * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.2] = np.nan
    up, down = fm.decompose(X, method="auto"), fm.decompose(-X, method="auto")
    np.testing.assert_allclose(up.lower, -down.upper, rtol=1e-6)
    np.testing.assert_allclose(up.upper, -down.lower, rtol=1e-6)


def test_a_model_keeps_it_in_its_file(tmp_path):
    rng = np.random.default_rng(7)
    X = np.exp(np.cumsum(0.1 * rng.standard_normal((400, 1)), axis=0)) * rng.uniform(0.5, 2, 6)
    X += 0.1 * X * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = fm.FieldModel.fit(X)
    wider = model["value"].later.calibration.wider
    assert np.ptp(wider.factor) > 0.3
    model.save(tmp_path / "model.npz")
    back = fm.FieldModel.load(tmp_path / "model.npz")["value"].later.calibration.wider
    np.testing.assert_array_equal(back.levels, wider.levels)
    np.testing.assert_array_equal(back.factor, wider.factor)
