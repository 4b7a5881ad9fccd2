"""Faults as old as the readings at hand: a model of earlier days remembers where nodes stood."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.faults import Context, Expected, remembered
from fieldmend.grid import Grid
from fieldmend.quantities.power import Power
from fieldmend.quantities.scale import Scale
from fieldmend.recovery.remembered import expectation
from fieldmend.recovery.skewed import OnScale
from fieldmend.recovery.solving import Afresh, ByModel
from fieldmend.recovery.windows import Window
from fieldmend.result.options import Options

OLD, NODES, OFF = 576, 12, 5
HOUR = 3_600_000_000


def grid(X, first=0):
    out = Grid.of(X, condition="t", unit="°C", start="2024-01-01", slot_seconds=300.0)
    return replace(out, times=out.times + first * out.slot)


@pytest.fixture(scope="module")
def net():
    return fm.simulate.network(
        slots=OLD + 400,
        nodes=NODES,
        field="temperature",
        noise=0.1,
        sampling=0.9,
        anomaly_rate=0.0,
        seed=4,
    ).readings


@pytest.fixture(scope="module")
def model(net):
    return fm.recover(grid(net[:OLD]), holdout=False).model


@pytest.fixture(scope="module")
def moved(net):
    """The new days, in which one node is 4 °C too warm from the first reading to the last."""
    out = net[OLD:].copy()
    out[:, OFF] += 4.0
    return out


@pytest.fixture(scope="module")
def known(moved, model):
    return fm.recover(grid(moved, OLD), model=model, holdout=False)["t"]


def flagged(found):
    return np.asarray(found.flag) == 3


def test_nothing_in_the_new_days_alone_tells(moved):
    assert flagged(fm.recover(grid(moved, OLD), holdout=False)["t"])[:, OFF].mean() < 0.1


def test_the_model_tells_who_is_elsewhere_and_accuses_nobody_else(known, moved):
    heard = ~np.isnan(moved)
    assert flagged(known)[heard[:, OFF], OFF].mean() > 0.95
    assert np.delete(flagged(known), OFF, axis=1).sum() < 0.005 * heard.sum()


def test_it_is_a_bias_of_that_size_and_nobody_is_sure(known):
    (episode,) = (e for e in known.episodes if e.node == OFF and e.kind.lasts)
    assert episode.kind == "bias"
    assert not episode.certain
    size = float(episode.explanation.split(", ")[1].split(" °C")[0])
    assert size == pytest.approx(4.0, abs=0.5)
    assert "above what the model of earlier days expects" in episode.explanation


def test_such_readings_are_kept_and_estimated_where_they_belong(known, moved, net):
    heard = ~np.isnan(moved[:, OFF])
    assert not np.asarray(known.replaced)[:, OFF].any()
    off = known.estimate[heard, OFF] - net[OLD:][heard, OFF]
    assert abs(np.median(off)) < 0.5


def test_sound_days_stay_unaccused(net, model):
    found = fm.recover(grid(net[OLD:], OLD), model=model, holdout=False)["t"]
    assert not [e for e in found.episodes if "model of earlier days" in e.explanation]


def test_a_broken_node_does_not_make_the_model_old(net, model):
    """A fresh fit would follow it, and be closer to its readings."""
    dying = net[OLD:].copy()
    dying[:, OFF] += np.linspace(0, 60, len(dying)) ** 1.2
    found = fm.recover(grid(dying, OLD), model=model)["t"]
    assert flagged(found)[:, OFF].mean() > 0.7
    assert not found.warnings


class Says:
    """A model that expects the mean of the believed readings, and of nothing in particular 0."""

    def __init__(self, values, weight=0.0):
        self.values, self.weight, self.asked = values, weight, 0

    def __call__(self, false):
        self.asked += 1
        believed = np.where(false, np.nan, self.values)
        nodes = believed.shape[1]
        out = np.zeros(believed.shape)
        for n in range(nodes):
            rest = np.delete(believed, n, axis=1)
            out[:, n] = self.weight * np.nan_to_num(np.nanmean(rest, axis=1))
        return Expected(out, np.ones(believed.shape))


def noise(slots=240, nodes=12, seed=0):
    return np.random.default_rng(seed).normal(0, 1, (slots, nodes))


CONTEXT = Context(slot=HOUR)


def elsewhere(values, says=None, left_out=None):
    nothing = np.zeros(values.shape, dtype=bool)
    expect = Says(values) if says is None else says
    return remembered.elsewhere(values, expect, nothing if left_out is None else left_out, CONTEXT)


def test_nobody_is_elsewhere_by_chance():
    for seed in range(5):
        assert not elsewhere(noise(seed=seed)).any()


def test_a_stretch_of_a_day_and_more_is_told_one_of_hours_is_not():
    values = noise()
    values[100:160, 3] += 12.0
    found = elsewhere(values)
    assert found[100:160, 3].mean() > 0.95
    assert found.sum() == found[100:160, 3].sum()
    short = noise()
    short[100:106, 3] += 12.0
    assert not elsewhere(short).any()


def test_others_on_the_same_way_make_it_no_fault():
    values = noise()
    values[:, 3] += 12.0
    assert elsewhere(values)[:, 3].mean() > 0.95
    values[:, 4:6] += 6.0
    assert not elsewhere(values).any()


def test_one_that_moves_what_is_expected_of_the_others_is_told_all_the_same():
    """Each of the others is off too, by its weight, until it is left out."""
    values = noise()
    values[:, 3] += 400.0
    found = elsewhere(values, Says(values, weight=1.0))
    assert found[:, 3].all()
    assert not np.delete(found, 3, axis=1).any()


def test_a_model_that_does_not_know_the_others_is_no_witness():
    values = noise()
    values[:, 3] += 40.0
    sides = np.where(np.arange(12) % 2, 1.0, -1.0) * (np.arange(12) != 3)
    assert elsewhere(values + 0.5 * sides)[:, 3].all()
    assert not elsewhere(values + 2.0 * sides).any()


def test_at_most_a_quarter_of_the_nodes_is_accused():
    values = noise()
    values[:, :5] += np.array([1e4, -1e4, 2e3, -2e3, 4e2])
    assert elsewhere(values).any(axis=0).sum() == 3
    assert not elsewhere(values[:, 2:5]).any()  # of three nobody


def test_what_is_known_to_be_false_is_not_told_again_and_hides_nobody():
    values = noise()
    values[:, 3] += 12.0
    values[:, 7] += 1e6
    false = np.zeros(values.shape, dtype=bool)
    false[:, 7] = True
    found = elsewhere(values, Says(values, weight=1.0), false)
    assert found[:, 3].mean() > 0.95
    assert not found[:, 7].any()


def test_sound_networks_ask_the_model_once():
    says = Says(noise())
    elsewhere(says.values, says)
    assert says.asked == 1


def test_readings_that_were_not_made_are_not_accused():
    values = noise()
    values[:, 3] += 12.0
    values[::2, 3] = np.nan
    found = elsewhere(values)
    assert not found[::2].any()
    assert found[1::2, 3].mean() > 0.95


@pytest.fixture(scope="module")
def solver(model):
    return ByModel(model["t"], Options(), first=OLD)


WHOLE = Window(0, 400, 0, 400)


def test_a_node_is_expected_by_the_others_alone(solver, net):
    new = net[OLD:]
    nothing = np.zeros(new.shape, dtype=bool)
    one = expectation(solver, new, WHOLE)(nothing)
    changed = new.copy()
    changed[:, OFF] += 50.0
    other = expectation(solver, changed, WHOLE)(nothing)
    np.testing.assert_array_equal(one.readings[:, OFF], other.readings[:, OFF])
    assert np.abs(one.readings - new)[~np.isnan(new)].mean() < 0.5
    assert (one.spread > 0).all()


def test_false_readings_are_not_asked(solver, net):
    new = net[OLD:].copy()
    nothing, false = (np.zeros(new.shape, dtype=bool) for _ in range(2))
    sound = expectation(solver, np.where(np.arange(NODES) == 2, np.nan, new), WHOLE)(nothing)
    new[:, 2], false[:, 2] = 1e3, True
    found = expectation(solver, new, WHOLE)(false)
    np.testing.assert_array_equal(found.readings, sound.readings)


def test_only_a_model_of_other_slots_is_asked(solver, net):
    assert expectation(Afresh(Options()), net, WHOLE) is None
    assert expectation(replace(solver, own=True), net, WHOLE) is None
    assert expectation(OnScale(solver, Scale(low=0.0)), net, WHOLE) is not None


def test_expectations_are_on_the_scale_of_the_search(solver, net):
    new = net[OLD:]
    nothing = np.zeros(new.shape, dtype=bool)
    power = Power(0.5, 100.0)
    view = replace(solver.fitted.view, power=power)
    on_scale = replace(solver, fitted=replace(solver.fitted, view=view))
    raw = power.back(new)
    found = expectation(on_scale, raw, WHOLE)(nothing)
    plain = expectation(solver, new, WHOLE)(nothing)
    np.testing.assert_allclose(found.readings, plain.readings, rtol=1e-6)
    np.testing.assert_allclose(found.spread, plain.spread, rtol=1e-6)


def test_nodes_that_are_new_to_the_model_are_expected_nowhere(solver, net):
    wide = np.hstack([net[OLD:], net[OLD:, :2]])
    found = expectation(solver, wide, WHOLE)(np.zeros(wide.shape, dtype=bool))
    assert np.isnan(found.readings[:, NODES:]).all()
    assert np.isfinite(found.readings[:, :NODES]).all()
