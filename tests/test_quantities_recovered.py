"""Each kind enters the field model and comes back as what it is."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldmend as fm
from fieldmend.quantities import Kind, Quantity, circle, counter
from fieldmend.quantities import choosing as powers
from fieldmend.quantities.power import PLAIN, POWERS, Power, fitting
from fieldmend.recovery.quantity import at_rest, resting

SLOTS, NODES = 300, 10


def field(kind, seed=3, slots=SLOTS, nodes=NODES):
    return fm.simulate.QUANTITIES[kind](slots, nodes, seed=seed)


def holes(shape, seed=4, share=0.2, length=4):
    rng = np.random.default_rng(seed)
    lost = np.zeros(shape, dtype=bool)
    while lost.mean() < share:
        t, n = rng.integers(0, shape[0]), rng.integers(0, shape[1])
        lost[t : t + rng.integers(1, 2 * length), n] = True
    return lost


def recovered(kind, name, truth, lost, *, holdout=False, **options):
    grid = fm.Grid.of(np.where(lost, np.nan, truth), condition=name, slot_seconds=3600)
    found = fm.recover(grid, kinds={name: kind}, holdout=holdout, **options)[name]
    np.testing.assert_array_equal(found.observed, grid.values[name])
    kept = np.isin(found.flag, (1, 2))
    np.testing.assert_array_equal(found.filled[kept], truth[kept])
    return found


def test_names_of_simulated_quantities_are_found():
    names = {"positive": "pm10", "circular": "dd", "intermittent": "rr1", "bounded": "u",
             "accumulator": "rain_total"}  # fmt: skip
    for kind, name in names.items():
        found = fm.quantities.identify(name, "", field(kind))
        assert found.kind == kind, found.in_words()
        assert not found.guessed


# --- powers ---------------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.sampled_from(POWERS), st.floats(1e-6, 1e3))
def test_powers_come_back(x, p, c):
    scale = Power(p, c)
    there = scale.forward(np.array([x, -x]))
    assert there[0] == -there[1]
    np.testing.assert_allclose(scale.back(there), [x, -x], rtol=1e-6, atol=1e-6 * c)


@pytest.mark.parametrize("power", [1, 2])
def test_the_power_is_chosen_that_makes_a_quantity_linear(power):
    rng = np.random.default_rng(power)
    course = np.cumsum(rng.normal(size=(3, 400)), axis=1)
    course -= course.mean(axis=1, keepdims=True)
    course /= course.std(axis=1, keepdims=True)
    Z = 3 + 0.6 * (rng.normal(size=(20, 3)) @ course).T + rng.normal(scale=0.15, size=(400, 20))
    X = np.clip(Z, 0, None) ** power
    X[rng.random(X.shape) < 0.15] = np.nan
    found, words = powers.chosen(X, Quantity(Kind.POSITIVE, low=0.0), 0.9, 0)
    assert found.name == {1: PLAIN.name, 2: "square roots"}[power]
    assert words.startswith("solved as read" if power == 1 else "solved on square roots")


def test_powers_keep_order_and_follow_units():
    x = np.linspace(-3, 50, 200)
    assert (np.diff(Power(1 / 3, 0.1).forward(x)) > 0).all()
    dust = field("positive")
    small, large = fitting(0.5, dust), fitting(0.5, 1000 * dust)
    np.testing.assert_allclose(large.forward(1000 * dust), 1000**0.5 * small.forward(dust))
    assert fitting(0.5, np.full((3, 3), np.nan)).c == 0
    assert PLAIN.forward(dust) is dust


def interval_score(found, truth):
    """Width, and how far outside what it misses lies: narrow intervals that miss are no gain."""
    missed = np.maximum(found.lower - truth, 0) + np.maximum(truth - found.upper, 0)
    return found.upper - found.lower + 2 / 0.1 * missed


def test_dust_is_solved_on_roots_where_that_is_better():
    truth = field("positive", seed=5)
    lost = holes(truth.shape)
    found = recovered("positive", "pm10", truth, lost)
    assert "roots" in found.choice
    assert "better on hidden readings" in found.choice
    assert (found.estimate >= 0).all()
    assert (found.lower >= 0).all()
    plain = recovered("linear", "pm10", truth, lost)
    assert plain.choice.find("roots") < 0
    assert (
        interval_score(found, truth)[lost].mean() < 0.8 * interval_score(plain, truth)[lost].mean()
    )
    inside = (found.lower <= truth) & (truth <= found.upper)
    assert 0.82 < inside[lost].mean() < 0.98


def test_a_symmetric_quantity_is_left_as_it_is():
    truth = 50 + fm.simulate.climate_field(SLOTS, NODES, slots_per_day=24, seed=2)
    found = recovered("positive", "ff", truth, holes(truth.shape))
    assert "solved as read" in found.choice


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "ls", "mc"])
def test_estimates_stay_within_bounds(method):
    truth = field("bounded")
    found = recovered("bounded:0:100", "u", truth, holes(truth.shape), method=method)
    ends = [end for end in (found.estimate, found.lower, found.upper) if end is not None]
    for end in ends:
        assert (end >= 0).all()
        assert (end <= 100).all()


def test_fog_is_not_stuck():
    truth = field("bounded", seed=8)
    truth[100:160] = 100.0
    found = recovered("bounded", "u", truth, np.zeros(truth.shape, dtype=bool))
    assert not np.isin(found.flag[100:160], (3, 4)).any()
    assert np.isin(found.flag, (3, 4)).mean() < 0.005  # here and there, at some nodes only


def test_at_rest_only_with_the_others():
    light = np.maximum(np.sin(np.arange(96) / 12), 0)[:, None] * np.full((1, 6), 800.0)
    light[:, 0] = 0.0  # dead, day and night
    rest = at_rest(light, fm.quantities.identify("light", "", light))
    assert rest[light.max(axis=1) == 0].all()
    assert not rest[light.max(axis=1) > 300].any()


def test_where_one_node_alone_ever_is_no_bound_is():
    watts = np.maximum(np.sin(np.arange(96) / 12), 0)[:, None] * np.full((1, 12), 800.0)
    watts[50:, 0] = -300.0
    quantity = fm.quantities.Quantity(fm.quantities.Kind.POSITIVE, low=-300.0)
    assert not at_rest(watts, quantity)[50:, 0].any()


# --- rain -----------------------------------------------------------------------------------------


def test_a_value_that_comes_again_and_does_not_stay_is_no_rest():
    """Dust: one bad night makes all others look near 0, and whole numbers recur."""
    rng = np.random.default_rng(8)
    dust = np.round(rng.uniform(10, 30, (400, 6)))
    dust[380:] = 900.0
    dust[100:200, 0] = 18.0
    dust[100:200:7, 0] = np.nan  # what is lost parts no run
    found = np.zeros(dust.shape, dtype=bool)
    found[100:200, 0] = np.isfinite(dust[100:200, 0])
    positive = fm.quantities.Quantity(fm.quantities.Kind.POSITIVE, low=0.0)
    assert not resting(dust, found, positive).any()
    dust[250:300] = 10.0  # a limit of detection
    dust[250:300, 0] = 18.0
    assert resting(dust, found, positive)[found].all()


def test_noise_and_a_new_value_near_a_bound_are_not_at_rest():
    rng = np.random.default_rng(2)
    light = rng.uniform(50, 500, (300, 5))
    light[:60] = 0.0  # night
    found = np.zeros(light.shape, dtype=bool)
    found[10:40, 0] = True  # called stuck
    light[100:140, 1] = rng.normal(0, 300, 40)
    light[100:140, 2:] = 60.0
    light[200:240, 3], light[200:240, [0, 1, 2, 4]] = 8.0, 60.0
    found[100:140, 1] = found[200:240, 3] = True
    rest = resting(light, found, fm.quantities.Quantity(fm.quantities.Kind.POSITIVE, low=0.0))
    assert rest[10:40, 0].all()
    assert not rest[:, 1:].any()


def test_rain_is_never_negative_never_stuck_never_a_spike():
    truth = field("intermittent", seed=6)
    lost = holes(truth.shape)
    found = recovered("intermittent", "rr1", truth, lost)
    assert (found.estimate >= 0).all()
    assert (found.lower >= 0).all()
    assert not np.isin(found.flag, (3, 4)).any()
    dry = lost & (truth == 0)
    assert (found.estimate[dry] == 0).mean() > 0.5  # dry hours are dry
    plain = recovered("linear", "rr1", truth, lost)
    assert (plain.estimate[lost] < 0).any()
    error = [np.abs(r.estimate - truth)[lost].mean() for r in (found, plain)]
    assert error[0] < error[1]


@pytest.mark.parametrize("seed", [1, 2])
def test_fog_at_one_airport_is_no_spike(seed):
    """Visibility of ten miles but for some hours, most of them at one airport alone."""
    rng = np.random.default_rng(seed)
    X = np.full((1500, 3), 10.0)
    for n in range(3):
        for a in rng.integers(0, 1490, 40):
            X[a : a + rng.integers(1, 6), n] = rng.integers(1, 10)
    grid = fm.Grid.of(X, condition="visibility", slot_seconds=3600)
    found = fm.recover(grid, holdout=False)["visibility"]
    assert not (found.flag == 3).any()
    assert found.estimate.max() <= 10.0


def test_a_gauge_that_repeats_an_amount_is_stuck_unless_others_tell_it_often():
    rain = np.round(field("intermittent", seed=6), 1)
    dry = rain.copy()
    dry[100:140, 3] = 0.0
    stuck = rain.copy()
    stuck[100:140, 3] = 2.7
    drops = stuck.copy()
    drops[::9, ::2] = np.where(drops[::9, ::2] > 0, 2.7, 0.0)
    sent = {"dry": dry, "stuck": stuck, "drops": drops}
    nothing = np.zeros(rain.shape, dtype=bool)
    found = {k: np.isin(recovered("intermittent", "rr1", X, nothing).flag, (3, 4))
             for k, X in sent.items()}  # fmt: skip
    assert not found["dry"].any()
    assert not found["drops"].any()
    assert found["stuck"][100:140, 3].all()
    assert found["stuck"].sum() <= 42  # and what it read beside it, if that was the same


def test_an_impossible_amount_of_rain_is_flagged():
    rain = np.round(field("intermittent", seed=6), 1)
    rain[50, 2] = -999.0
    found = recovered("intermittent", "rr1", rain, np.zeros(rain.shape, dtype=bool))
    assert np.argwhere(np.isin(found.flag, (3, 4))).tolist() == [[50, 2]]


# --- directions -----------------------------------------------------------------------------------


def test_directions_are_recovered_on_the_circle():
    truth = field("circular")
    lost = holes(truth.shape)
    found = recovered("circular", "dd", truth, lost, holdout=True)
    assert (found.estimate >= 0).all()
    assert (found.estimate < 360).all()
    assert (found.lower <= found.estimate).all()
    assert (found.estimate <= found.upper).all()
    assert (found.upper - found.lower <= 360 + 1e-9).all()
    off = np.abs(circle.turned(found.estimate - truth, 360))
    plain = recovered("linear", "dd", truth, lost)
    off_plain = np.abs(circle.turned(plain.estimate - truth, 360))
    assert off[lost].mean() < 0.8 * off_plain[lost].mean()
    beside = circle.near(truth, found.estimate, 360)
    inside = (found.lower <= beside) & (beside <= found.upper)
    assert 0.82 < inside[lost].mean() < 0.97
    assert not np.isin(found.flag, (3, 4)).any()
    line = fm.metrics.interpolate(circle.continuous(np.where(lost, np.nan, truth), 360))
    assert off[lost].mean() < 0.8 * np.abs(circle.turned(line - truth, 360))[lost].mean()
    assert abs(found.holdout.method.mae - off[lost].mean()) < found.holdout.sides


@pytest.mark.parametrize("seed", [3, pytest.param(11, marks=pytest.mark.long)])
def test_turned_readings_give_turned_estimates(seed):
    truth = np.round(field("circular", seed=seed, slots=150, nodes=7))
    truth[60:100, 2] = truth[60, 2]  # a vane that sticks
    lost = holes(truth.shape, seed=seed)
    one = recovered("circular", "dd", truth, lost)
    other = recovered("circular", "dd", np.mod(truth + 90, 360), lost)
    off = circle.turned(other.estimate - one.estimate - 90, 360)
    np.testing.assert_allclose(off, 0, atol=0.05)
    np.testing.assert_allclose(
        other.upper - other.lower, one.upper - one.lower, rtol=0.01, atol=0.05
    )
    np.testing.assert_array_equal(one.flag, other.flag)


def test_a_stuck_vane_is_found_on_the_circle():
    truth = np.round(field("circular", seed=7), 1)
    truth[100:200, 4] = 5.0
    found = recovered("circular", "dd", truth, np.zeros(truth.shape, dtype=bool))
    assert (found.flag[100:200, 4] == 3).mean() > 0.9
    assert (found.flag[:, :4] == 1).all()
    flagged = found.flag == 3
    assert (np.abs(found.anomaly[flagged]) <= 180).all()


def test_hours_and_radians_and_both_sides_of_north():
    truth = field("circular", slots=150)
    lost = holes(truth.shape)
    degrees = recovered("circular", "dd", truth, lost)
    hours = recovered("circular:24", "x", truth / 15, lost)
    np.testing.assert_allclose(hours.estimate, degrees.estimate / 15, atol=0.01)
    around = recovered("circular", "dd", circle.turned(truth, 360), lost)
    assert (around.estimate >= -180).all()
    assert (around.estimate < 180).all()


def test_long_records_meet_on_the_circle(monkeypatch):
    from fieldmend.recovery import windows

    truth = np.mod(field("circular", slots=600, nodes=5, seed=9) * 0.1 - 15, 360)  # around north
    lost = holes(truth.shape)
    monkeypatch.setattr(windows, "WINDOW", 300 * 5)
    found = recovered("circular", "dd", truth, lost)
    off = np.abs(circle.turned(found.estimate - truth, 360))
    assert off.max() < 60  # a mean of 359 and 1 would be 180
    assert (found.lower <= found.estimate).all()
    assert (found.estimate <= found.upper).all()


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.sampled_from([360.0, 24.0, 2 * np.pi]))
def test_differences_on_the_circle(a, b, period):
    off = float(circle.turned(np.array(a - b), period))
    assert -period / 2 <= off <= period / 2
    back = (b + off - a) / period
    assert abs(back - round(back)) < 1e-6
    first = float(circle.first_turn(np.array(a), period))
    assert 0 <= first < period


# --- meters ---------------------------------------------------------------------------------------


def test_meters_know_when_it_rained():
    truth = fm.simulate.meter_field(SLOTS, NODES, resets=0, seed=3)
    lost = holes(truth.shape)
    found = recovered("accumulator", "rain_total", truth, lost)
    line = fm.metrics.interpolate(np.where(lost, np.nan, truth))
    error = [np.abs(one - truth)[lost].mean() for one in (found.estimate, line)]
    assert error[0] < 0.5 * error[1]
    inside = (found.lower <= truth) & (truth <= found.upper)
    assert inside[lost].mean() > 0.8


def test_meters_rise_between_readings():
    truth = field("accumulator")
    lost = holes(truth.shape)
    found = recovered("accumulator", "rain_total", truth, lost)
    np.testing.assert_allclose(found.estimate[~lost], truth[~lost])
    for n in range(NODES):
        at = np.flatnonzero(~lost[:, n])
        for a, b in pairwise(at):
            if truth[b, n] >= truth[a, n]:
                part = found.estimate[a : b + 1, n]
                assert (np.diff(part) >= -1e-9).all()
                assert (found.lower[a : b + 1, n] >= truth[a, n] - 1e-9).all()
                assert (found.upper[a : b + 1, n] <= truth[b, n] + 1e-9).all()
    assert (found.estimate >= 0).all()
    assert not np.isin(found.flag, (3, 4)).any()


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 50), st.integers(20, 130))
def test_a_reset_changes_nothing(seed, at):
    rain = field("intermittent", seed=seed, slots=150, nodes=6)
    whole = 500 + np.cumsum(rain, axis=0)  # a reset from 1 to 2 could not be seen
    reset = whole.copy()
    reset[at:] -= whole[at - 1]
    lost = holes(whole.shape, seed=seed)
    lost[at - 1 : at + 1] = False
    one, other = (recovered("accumulator", "m", x, lost) for x in (whole, reset))
    back = other.estimate.copy()
    back[at:] += whole[at - 1]
    np.testing.assert_allclose(back, one.estimate, atol=1e-6 * (1 + whole.max()))
    np.testing.assert_array_equal(one.flag, other.flag)


def test_a_misread_meter_is_no_reset():
    truth = np.cumsum(field("intermittent", seed=2) + 0.1, axis=0)
    wrong = truth.copy()
    wrong[120, 3], wrong[200, 5] = 0.0, 1e6
    found = counter.counted(wrong)
    assert np.argwhere(found.misread).tolist() == [[120, 3], [200, 5]]
    rec = recovered("accumulator", "m", wrong, np.zeros(truth.shape, dtype=bool))
    assert np.argwhere(rec.flag == 3).tolist() == [[120, 3], [200, 5]]
    np.testing.assert_allclose(rec.estimate[120, 3], truth[120, 3], atol=2)


def test_counting_by_hand():
    meter = np.array([[1.0, 2, 5, 0.5, 0.5, np.nan, 2]]).T
    amount = counter.counted(meter).amount[:, 0]
    np.testing.assert_array_equal(amount, [np.nan, 1, 3, 0.5, 0, np.nan, np.nan])
    gap = np.array([[4.0, np.nan, np.nan, np.nan, 1.0]]).T  # set back in the gap
    np.testing.assert_array_equal(counter.shown(gap, np.ones((5, 1)))[:, 0], [4, 5, 6, 0, 1])
    dry = np.array([[4.0, np.nan, np.nan, np.nan, 0.0]]).T  # set back at any time
    np.testing.assert_array_equal(counter.shown(dry, np.zeros((5, 1)))[:, 0], [4, 4, 4, 0, 0])
    alone = np.array([[np.nan, np.nan, 1.0, np.nan]]).T
    np.testing.assert_array_equal(counter.shown(alone, np.ones((4, 1)))[:, 0], [0, 0, 1, 2])
    flat = np.array([[3.0, np.nan, 5.0]]).T  # counted, though nothing says when
    np.testing.assert_array_equal(counter.shown(flat, np.zeros((3, 1)))[:, 0], [3, 4, 5])
