"""Levels that are left for long, and what is impossible by itself."""

import numpy as np
import pytest

import fieldmend as fm
from faulty import SLOT, context, labels_of, readings
from fieldmend import faults
from fieldmend.faults import astray, gross, implied, levels
from fieldmend.faults.gross import saturated
from fieldmend.quantities import Kind, Quantity


def mountain(seed, nodes=24, slots=1728):
    """Stations at heights of their own: weather, inversions, sun, ten-minute slots; 8 % lost."""
    rng = np.random.default_rng(seed)

    def wander(phi, *shape):
        out = rng.standard_normal((slots, *shape)) * np.sqrt(1 - phi**2)
        for t in range(1, slots):
            out[t] += phi * out[t - 1]
        return out

    height = rng.uniform(0.6, 3.2, nodes)
    sun = np.clip(np.sin(2 * np.pi * (np.arange(slots) / 144 - 0.25)), 0, None)
    inversion = np.clip(wander(0.995), 0, None)[:, None] * 2.5 * (height - 1.5)
    X = 18 + 5 * wander(0.998)[:, None] - 6.2 * height + inversion
    X += sun[:, None] * rng.uniform(2, 9, nodes) + 0.6 * wander(0.9, nodes)
    X[rng.random(X.shape) < 0.08] = np.nan
    return X


def offset_to_the_end(X, node):
    X[864:, node] += 20.0
    return slice(864, None)


def offset_from_the_start(X, node):
    X[:432, node] -= 20.0
    return slice(0, 432)


def long_drift(X, node):
    X[432:1008, node] += np.linspace(0, 25, 576)
    return slice(600, 1008)


def away_and_back(X, node):
    X[173:1555, node] += 20.0
    return slice(173, 1555)


@pytest.mark.parametrize(
    "fault", [offset_to_the_end, offset_from_the_start, long_drift, away_and_back]
)
@pytest.mark.parametrize("seed", range(2))
def test_a_level_left_for_days_is_found_though_it_is_half_of_the_record(fault, seed):
    X = mountain(seed)
    labels = context(X, slot=2 * SLOT)
    assert faults.persistent(X, labels).mean() < 0.001
    part = fault(X, 5)
    found = faults.persistent(X, labels)
    assert found[part, 5][~np.isnan(X[part, 5])].mean() > 0.95
    assert np.delete(found, 5, axis=1).mean() < 0.001
    sound = np.delete(np.arange(len(X)), part)
    assert found[sound, 5].mean() < 0.2  # of a drift some of its beginning


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_what_most_do_for_most_of_the_record_is_no_fault_of_who_does_it_less_or_more(seed):
    rng = np.random.default_rng(seed)
    X = mountain(seed, slots=1152)
    X[115:1037] += 20.0 * rng.uniform(0.3, 1.7, X.shape[1])
    assert faults.persistent(X, context(X, slot=2 * SLOT)).mean() < 0.001


def test_three_that_left_their_level_do_not_hide_each_other():
    X = mountain(3)
    for fault, node in ((offset_to_the_end, 2), (offset_from_the_start, 9), (long_drift, 17)):
        fault(X, node)
    found = faults.persistent(X, context(X, slot=2 * SLOT))
    assert list(np.flatnonzero(found.mean(axis=0) > 0.1)) == [2, 9, 17]


def test_where_two_others_go_along_it_is_no_fault():
    X = mountain(4)
    for node, size in ((5, 20.0), (6, 15.0), (7, 12.0)):
        X[864:1200, node] += size
    labels = context(X, slot=2 * SLOT)
    field = implied.implied(X, ~np.isnan(X))
    assert not levels.shifted(X, field, np.zeros(X.shape, dtype=bool), labels).any()


def test_two_days_do_not_tell_how_far_levels_wander():
    X = mountain(5)[:288]
    X[144:, 5] += 20.0
    field = implied.implied(X, ~np.isnan(X))
    none = np.zeros(X.shape, dtype=bool)
    assert not levels.shifted(X, field, none, context(X, slot=2 * SLOT)).any()
    assert levels.shifted(X, field, none, context(X, slot=0)).any()


def test_what_lasts_for_hours_is_not_judged_by_its_level():
    X = mountain(5)
    X[864:924, 5] += 20.0
    field = implied.implied(X, ~np.isnan(X))
    none = np.zeros(X.shape, dtype=bool)
    assert not levels.shifted(X, field, none, context(X, slot=2 * SLOT)).any()


@pytest.mark.parametrize("nodes", [3, 4])
def test_a_few_nodes_tell_who_left_for_good(nodes):
    rng = np.random.default_rng(nodes)
    common = np.cumsum(rng.normal(0, 0.1, 600))[:, None]
    own = rng.normal(0, 0.4, (600, nodes))
    X = 20 + common + own + rng.normal(0, 2, nodes)
    labels = faults.Context(slot=3_600_000_000)
    assert not faults.persistent(X, labels).any()
    X[300:, 1] += 15.0
    found = faults.persistent(X, labels)
    assert found[300:, 1].mean() > 0.95
    assert not np.delete(found, 1, axis=1).any()


def test_a_departure_below_the_resolution_is_none():
    rng = np.random.default_rng(0)
    volts = (
        2.7 + 0.002 * rng.standard_normal((900, 12)) + 0.05 * np.sin(np.arange(900) / 90)[:, None]
    )
    volts = np.round(volts, 2)
    volts[400:500, 5] = np.round(volts[400:500, 4] - 0.01, 2)
    assert not faults.persistent(volts, context(volts)).any()


# Gross tests


def test_a_flat_line_while_the_others_move_is_stuck_even_at_zero():
    """Beside nodes that rest for long, the network's runs alone say nothing."""
    X = readings(744)
    X[:, :4] = np.where(X[:, :4] > np.median(X[:, :4], axis=0), X[:, :4], 0.0)
    nothing = np.zeros(X.shape, dtype=bool)
    assert not gross.flat(X, nothing).any()
    X[300:328, 5] = 0.0
    found = gross.flat(X, nothing)
    assert found[300:328, 5].all()
    assert found.sum() == 28


def resting():
    """Light: dark for longer each night than a dead node has been dead."""
    X = readings(744)
    return np.where(X > np.median(X, axis=0), X, 0.0)


def test_one_value_beyond_all_others_for_good_is_a_dead_sensor():
    X = resting()
    end = 1.5 * X.max()
    X[724:, 5] = end
    found = gross.railed(X)
    assert found[724:, 5].all()
    assert found.sum() == 20
    assert faults.persistent(X, context(X))[724:, 5].all()
    X[733, 5] = 1.0  # it comes back: ten readings since
    assert gross.railed(X).sum() == 10
    X[734, 5] = 1.0
    assert not gross.railed(X).any()


def test_what_others_reach_too_is_no_dead_sensor():
    assert not gross.railed(resting()).any()
    high, together, always = resting(), resting(), resting()
    high[724:, 5] = 1.05 * high.max()
    assert not gross.railed(high).any()  # hardly beyond
    nodes = high.shape[1]
    together[724:, : nodes // 4 + 1] = 1.5 * together.max()
    assert not gross.railed(together).any()  # the sun
    together[724:, nodes // 4] = 0.0
    assert gross.railed(together)[724:, : nodes // 4].all()
    always[:, 5] = 1.5 * always.max()
    assert not gross.railed(always).any()  # it has never read anything else


def test_nodes_that_rest_together_are_not_stuck():
    X = readings(744)
    X[300:340, :3] = 0.0
    assert not gross.flat(X, np.zeros(X.shape, dtype=bool))[300:340, :3].any()


def test_one_reading_far_off_everything_is_a_fault():
    X = readings(744)
    X[200, 3] = -36.9
    assert faults.search(X, context(X)).faults[200, 3]
    assert faults.search(X, context(X)).faults.sum() == 1


def test_skewed_values_do_not_run_away():
    rng = np.random.default_rng(0)
    for seed in (1, 2, 3):
        net = fm.simulate.happening("fireworks", days=60, seed=seed)
        assert faults.persistent(net.readings, labels_of(net)).mean() < 0.002
    X = np.exp(rng.normal(0, 1.0, (900, 1)) + 0.3 * rng.normal(size=(900, 20)))
    assert faults.persistent(X).mean() < 0.002


def test_where_a_node_goes_again_and_again_is_no_running_away():
    X = readings(1500)
    once = X.copy()
    once[700:760, 3] += np.hanning(60) * 60
    again = once.copy()
    for start in (100, 333, 1010, 1200, 1333):
        again[start : start + 60, 3] += np.hanning(60) * 60
    nothing = np.zeros(X.shape, dtype=bool)
    assert astray.runaway(once, nothing, context(X))[:, 3].any()
    assert not astray.runaway(again, nothing, context(X))[:, 3].any()


def test_a_station_without_wind_in_a_gale(real):
    grid = fm.read(real("molene_radome.parquet")).grid()
    X = grid.values["ff"]
    node = grid.nodes.index("22135001")
    found = faults.search(X, faults.Context(slot=grid.slot)).faults
    calm = np.flatnonzero(X[:, node] == 0)
    longest = max(np.split(calm, np.flatnonzero(np.diff(calm) > 1) + 1), key=len)
    assert len(longest) == 28
    assert found[longest, node].all()


def test_one_node_of_four_at_its_bound_is_no_fog():
    humidity = np.full((20, 4), 60.0)
    humidity[:, 0] = 100.0
    what = Quantity(Kind.BOUNDED, 0.0, 100.0)
    assert not saturated(humidity, what).any()
    humidity[:, 1] = 100.0
    assert saturated(humidity, what)[:, :2].all()


def test_half_of_a_stretch_beyond_is_no_running_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    nothing = np.zeros(X.shape, dtype=bool)
    X[100:116, 3] += 90.0
    assert astray.runaway(X, nothing, context(X))[100:116, 3].all()
    X[104:112, 3] -= 90.0  # four, eight between, four
    assert not astray.runaway(X, nothing, context(X)).any()
    X[104, 3] += 90.0
    assert astray.runaway(X, nothing, context(X))[100:116, 3].all()


@pytest.mark.parametrize(
    ("shared", "common", "habit", "weak", "found"),
    [
        (False, False, False, False, True),
        (True, False, False, False, False),  # others go there with it,
        (False, True, False, False, False),  # or most of the way is everybody's,
        (False, False, True, False, False),  # or it goes there at other times too:
        (True, True, True, True, True),  # but for a battery that runs low.
    ],
)
def test_who_ran_away_by_itself(*, shared, common, habit, weak, found, monkeypatch):
    X = np.random.default_rng(2).normal(size=(400, 6))
    X[200:240, 3] += 60.0

    def always(answer):
        return lambda marks, *_: np.full(np.shape(marks), answer)

    monkeypatch.setattr(astray, "shared", always(shared))
    monkeypatch.setattr(astray, "mostly", always(common))
    monkeypatch.setattr(astray, "_habitual", always(habit))
    monkeypatch.setattr(astray, "on_low_battery", always(weak))
    got = astray.runaway(X, np.zeros(X.shape, dtype=bool), context(X))
    assert got[200:240, 3].all() == got.any() == found
