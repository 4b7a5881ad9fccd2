"""Gross faults of several quantities: each is found, and nobody else is flagged for it."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults import gross
from fieldmend.quantities import Kind, Quantity, identify
from fieldmend.simulate.fields import CLIMATES, climate_field

HOUR = 3_600_000_000
SLOTS, NODES, NODE = 720, 20, 4


def air(seed, climate="temperature"):
    rng = np.random.default_rng(seed)
    field = climate_field(SLOTS, NODES, climate=CLIMATES[climate], slots_per_day=24, seed=seed)
    return field + 0.2 * rng.normal(size=field.shape)


def pressure(seed):
    field = air(seed, "pressure")
    return 1010 + 8 * (field - field.mean()) / field.std()


# Name → readings, and how far off a node is that is far off everything.
NETWORKS = {
    "air_temp_c": (air, 15.0),
    "t_2m": (lambda seed: air(seed) + np.linspace(10, -12, NODES), 15.0),  # up a mountain
    "pressure_hpa": (pressure, 40.0),
    "humidity": (lambda seed: fm.simulate.humidity_field(SLOTS, NODES, seed=seed), -60.0),
    "pm10": (lambda seed: fm.simulate.skewed_field(SLOTS, NODES, seed=seed), 400.0),
}


def flat(X, _):
    X[300:340, NODE] = X[300, NODE]
    return slice(300, 340)


def zero(X, _):
    X[300:328, NODE] = 0.0
    return slice(300, 328)


def days_off(X, far):
    X[300:540, NODE] += far
    return slice(300, 540)


def leap(X, far):
    X[300:303, NODE] += 4 * far
    return slice(300, 303)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("fault", [flat, zero, days_off, leap])
def test_it_is_found_and_nobody_else_is(name, fault):
    make, far = NETWORKS[name]
    X = np.round(make(1), 1)
    rows = fault(X, far)
    if name in ("humidity", "pm10"):
        X = np.maximum(X, 0)
    known = identify(name, "", X)
    found = faults.persistent(X, faults.Context(slot=HOUR, condition=name, quantity=known))
    assert found[rows, NODE].mean() > 0.9
    assert np.delete(found, NODE, axis=1).mean() < 0.002


@pytest.mark.parametrize("seed", [3, 7, 8])
def test_fog_is_no_fault(seed):
    damp = fm.simulate.humidity_field(SLOTS, NODES, seed=seed)
    known = identify("humidity", "", damp)
    context = faults.Context(slot=HOUR, condition="humidity", quantity=known)
    assert faults.persistent(damp, context).mean() < 0.005


def test_saturated_is_what_a_quarter_of_the_nodes_are():
    X = np.full((3, 8), 50.0)
    X[0, :2], X[1, :1], X[2, :4] = 100.0, 100.0, 0.5
    X[2, 4:] = np.nan
    bounded = Quantity(Kind.BOUNDED, low=0.0, high=100.0)
    expected = np.zeros(X.shape, dtype=bool)
    expected[0, :2] = expected[2, :4] = True
    np.testing.assert_array_equal(gross.saturated(X, bounded), expected)
    assert not gross.saturated(X, Quantity(Kind.LINEAR)).any()
    assert not gross.saturated(X, Quantity(Kind.POSITIVE, low=0.0)).any()


def test_amounts_that_others_tell_often_are_no_sign():
    X = np.zeros((100, 4))
    X[:10, 0], X[10:20, 0] = 0.2, 1.3
    X[:60, 1] = 0.2
    X[60:64, 1] = 1.3  # four of 100
    X[:40, 2], X[40:60, 2] = 7.7, np.nan
    got = gross.often_told(X)
    assert got[:10, 0].all()
    assert got[20:, 0].all()  # zero
    assert not got[10:20, 0].any()
    assert got[:60, 1].all()
    assert not got[:60, 2].any()  # however often it says so itself
    assert got[:, 3].all()


def test_what_is_just_possible_is_possible():
    values = np.array([[-90.0, 60.0, np.nan], [-90.1, 60.1, 0.0]])
    wanted = [[False, False, False], [True, True, False]]
    assert gross.beyond(values, (-90.0, 60.0)).tolist() == wanted


@pytest.mark.parametrize("width", [2, 3, 5, 8, 13, 40])
def test_ranges_are_those_of_every_window(width):
    series = np.random.default_rng(width).normal(size=40)
    windows = np.lib.stride_tricks.sliding_window_view(series, width)
    np.testing.assert_array_equal(gross._ranges(series, width), np.ptp(windows, axis=1))


def test_who_repeats_its_value_while_nothing_happens_is_not_stuck():
    """Turbines in a calm: each draws a little power, and one meter shows the same all night."""
    rng = np.random.default_rng(4)
    wind = np.abs(np.cumsum(rng.normal(0, 1, 1200)))[:, None]
    power = 40 * wind * rng.uniform(0.8, 1.2, 5) + rng.normal(0, 20, (1200, 5))
    power[500:520] = -1 + 0.2 * rng.normal(size=(20, 5))
    power[502:518, 2] = -0.06
    assert not gross.stuck(power).any()
    jumped = power.copy()
    jumped[502:518, 2] = 300.0
    jumped[[505, 509], 2] = np.nan
    heard = sorted({*range(502, 518)} - {505, 509})
    assert np.flatnonzero(gross.stuck(jumped)[:, 2]).tolist() == heard
    power[502:518, [0, 1, 3, 4]] = 40 * wind[502:518] + rng.normal(0, 20, (16, 4))
    assert np.flatnonzero(gross.stuck(power)[:, 2]).tolist() == list(range(502, 518))
