"""Every battery falls; readings are doubted for it only where it is used up."""

import numpy as np
import pytest

from fieldmend.faults import Context, search
from fieldmend.faults.battery import Battery, battery, is_battery, on_low_battery


def falling(start, stop, slots=200, nodes=4):
    return np.tile(np.linspace(start, stop, slots)[:, None], nodes)


@pytest.mark.parametrize("scale", [1, 1000])  # volts, millivolts
def test_a_battery_that_was_never_as_low_is_not_low_before_a_tenth_is_gone(scale):
    assert not Battery("v", scale * falling(3.6, 3.3)).low(0, 150, 200)
    assert Battery("v", scale * falling(3.6, 3.0)).low(0, 150, 200)


def test_a_fifth_is_little_of_charge_in_percent():
    assert not Battery("battery", falling(100.0, 25.0)).low(0, 150, 200)
    assert Battery("battery", falling(100.0, 10.0)).low(0, 150, 200)


def test_what_is_low_but_was_as_low_before_is_usual():
    volts = falling(3.6, 3.0)
    volts[10:60, 1] = 2.9
    assert not Battery("v", volts).low(1, 150, 200)


def test_fresh_is_what_most_nodes_have_where_a_record_begins_late():
    volts = falling(2.7, 2.65, nodes=5)
    volts[:, 3] = np.linspace(2.45, 2.35, 200)
    assert Battery("v", volts).low(3, 150, 200)
    assert not Battery("v", volts[:, [3]]).low(0, 150, 200)  # nothing tells that it began late


def test_one_of_another_make_is_held_against_itself():
    volts = falling(3.6, 3.5, nodes=5)
    volts[:, 2] = np.linspace(12.6, 12.0, 200)
    assert not any(Battery("v", volts).low(n, 150, 200) for n in range(5))


def test_nothing_is_said_where_little_was_heard():
    volts = falling(3.6, 2.0)
    volts[9:150, 0] = np.nan
    volts[150:, 1] = np.nan
    volts[:, 2] = np.nan
    assert [Battery("v", volts).low(n, 150, 200) for n in range(4)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("name", "is_one"), [("voltage", True), ("Batt_V", True), ("vbat", True), ("light", False)]
)
def test_batteries_are_told_by_their_name(name, is_one):
    assert is_battery(name) is is_one
    X = np.zeros((3, 2))
    found = battery(Context(companions={"wind": X, name: X}))
    assert (found.name if found else None) == (name if is_one else None)


def test_stretches_begin_where_they_begin():
    volts = falling(3.6, 2.4)
    marks = np.zeros(volts.shape, bool)
    marks[20:30, 0] = marks[150:180, 0] = True
    low = on_low_battery(marks, Context(companions={"vbat": volts}))
    assert np.array_equal(np.flatnonzero(low[:, 0]), np.arange(150, 180))
    assert not on_low_battery(marks, Context()).any()


def test_an_event_late_in_the_life_of_sound_batteries_stays_an_event():
    """What three of twelve nodes saw was called a burst because voltages had fallen by 4 %."""
    rng = np.random.default_rng(0)
    slots, nodes = 1500, 12
    dust = np.exp(0.04 * np.cumsum(rng.normal(size=slots)))[:, None] * np.linspace(8, 20, nodes)
    dust += rng.normal(size=dust.shape)
    dust[1200:1215, 1:4] *= 6
    volts = falling(3.6, 3.45, slots, nodes) + 0.003 * rng.normal(size=dust.shape)
    found = search(dust, Context(slot=600_000_000, companions={"battery_v": volts}))
    assert found.events[1200:1215, 1:4].mean() > 0.9
    assert not found.faults[1200:1215, 1:4].any()
