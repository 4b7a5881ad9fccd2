"""Decisions of the field model where they turn: the last that is enough, the first that is not."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import (
    choosing,
    flags,
    likeness,
    mixture,
    nodes,
    online,
    quick,
    regions,
    silent,
)
from fieldmend.field.flags import Channel, Rule
from fieldmend.field.jumps import JumpLaw
from fieldmend.field.model import Data
from fieldmend.field.widening import _FLOOR, _PRIOR_LINE, _Lines, widening


def data_of(readings, used=None):
    used = np.ones(readings.shape, dtype=bool) if used is None else used
    return Data(np.where(used, readings, 0.0), used, np.arange(readings.shape[1]))


@pytest.fixture(scope="module")
def net():
    return fm.simulate.network(200, 6, field="temperature", sampling=0.9, noise=0.1, seed=4)


@pytest.fixture(scope="module")
def part(net):
    return fm.FieldModel.fit(net.readings)["value"]


# Wider intervals at peaks


@pytest.mark.parametrize("count", [80, 400, 3000])
def test_lines_are_the_most_likely_with_what_speaks_for_no_difference(count):
    """Errors are exponential; so many more are made up, of the usual size and none from slopes."""
    rng = np.random.default_rng(count)
    level = np.sort(rng.normal(size=count))
    error = rng.exponential(size=count) * (0.5 + 2 * np.maximum(level, 0) + np.maximum(-level, 0))
    error /= error.mean()
    found = _Lines.fitted(level, error).weight
    sides = np.stack([np.ones(count), np.maximum(level, 0), np.maximum(-level, 0)])
    usual = sides.mean(axis=1)

    def unlikely(weight):
        size = weight @ sides + _FLOOR
        made_up = np.log(weight[0]) + 1 / weight[0] + usual[1:] @ weight[1:]
        return (np.log(size) + error / size).sum() + _PRIOR_LINE * made_up

    best = unlikely(found)
    for k in np.flatnonzero(found > 1e-3):  # a slope of none is at its end
        for factor in (0.85, 1.15):
            assert unlikely(np.where(np.arange(3) == k, factor * found, found)) > best


def test_sixty_hidden_readings_tell_of_levels_and_no_error_does_not():
    level, run = np.linspace(-1, 3, 60), np.arange(60)
    error = 1 + 5 * np.maximum(level, 0)
    assert np.ptp(widening(error, level, run).factor) > 0
    assert (widening(error[1:], level[1:], run[1:]).factor == 1).all()
    assert (widening(np.zeros(60), level, run).factor == 1).all()


# Who is like whom


def test_who_was_never_heard_stands_beside_the_next_who_was():
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(120, 4)), 3, axis=1) + 0.1 * rng.normal(size=(120, 12))
    observed = np.ones(X.shape, dtype=bool)
    observed[:, [0, 5, 11]] = False
    at = likeness.likeness(X, observed)
    heard = [n for n in range(12) if n not in (0, 5, 11)]
    alone = likeness.likeness(X[:, heard], observed[:, heard])
    assert len(at) == 12
    np.testing.assert_array_equal(at[heard], alone)
    np.testing.assert_array_equal(at[[0, 5, 11]], at[[1, 6, 10]])


def test_an_axis_begins_at_one_end_whichever_way_it_was_found():
    rng = np.random.default_rng(2)
    at = rng.normal(size=(40, 1)) * np.array([3.0, -1.0]) + 0.1 * rng.normal(size=(40, 2))
    along = regions._along(at)
    for order in (np.arange(40)[::-1], rng.permutation(40)):
        np.testing.assert_allclose(regions._along(at[order]), along[order], rtol=1e-9)
    assert np.corrcoef(along, at[:, 0])[0, 1] > 0.99  # where it is longest, it rises
    assert np.abs(along.mean()) < 1e-12


# How rough slots are


@pytest.mark.parametrize(("slots", "rough"), [(31, 0.125), (30, 1.0)])
def test_thirty_pairs_of_neighbours_tell_how_rough_slots_are(slots, rough):
    readings = np.where(np.arange(slots) % 2, 2.0, 1.0)[None, :]  # jumps of 1 between 1 and 2
    size = np.median(readings)
    found = mixture.roughness(data_of(readings))
    assert found == pytest.approx(1 / (2 * size**2) if slots == 31 else rough)


def test_neighbours_across_a_cut_are_none():
    readings = np.arange(62.0)[None, :] % 2 + 1
    slots = 2 * np.arange(62)
    assert mixture.roughness(replace(data_of(readings), slots=slots)) == 1.0


@pytest.mark.parametrize(("shape", "worth"), [((6, 60), True), ((5, 60), False), ((60, 6), True)])
def test_six_nodes_and_six_slots_are_worth_another_start(shape, worth):
    assert mixture.worth_trying(data_of(np.random.default_rng(0).normal(size=shape))) is worth


@pytest.mark.parametrize(("errors", "wanted"), [
    ([3.0], 3.0), ([1.0, 9.0], np.sqrt(41.0)), ([2.0] * 3, 2.0),
    ([1.0] * 60 + [4.0], np.sqrt(76 / 61)), ([1.0] * 60 + [5.0], np.sqrt(76 / 61)),
])  # fmt: skip
def test_courses_are_judged_by_all_errors_four_times_the_usual_at_the_most(errors, wanted):
    judged = np.ones((1, len(errors)), dtype=bool)
    got = choosing._errors(np.array([errors]), np.zeros(judged.shape), judged)
    assert got == (pytest.approx(wanted),)


# False readings


LAW = JumpLaw(np.full(6, 0.1), np.ones(1), 3.0, 20.0, np.zeros(6), np.ones(6))


def one_law(nodes):
    cut = replace(
        LAW, scale=LAW.scale[:nodes], centre=LAW.centre[:nodes], spread=LAW.spread[:nodes]
    )
    return Rule((cut,), (0.01, 0.001))


@pytest.mark.parametrize(
    ("nodes", "size", "false"), [(5, 1.4, False), (6, 1.4, True), (5, 2.0, True)]
)
def test_a_segment_that_moves_is_spared_where_nobody_can_vouch_for_it(nodes, size, false):
    """A door opens and a room cools: of fewer than six nodes, more evidence is wanted."""
    values = np.zeros((nodes, 60))
    values[0, 20:29] = -size * (1 + 0.15 * np.arange(9))
    used = np.ones(values.shape, dtype=bool)
    found = one_law(nodes).segments((Channel(values),), used, np.arange(60))
    wanted = np.zeros(values.shape, dtype=bool)
    wanted[0, 20:29] = false
    np.testing.assert_array_equal(found.mask(used), wanted)


def test_a_nodes_own_past_may_object_but_has_little_say():
    """The departure from the field decides; what is no jump at all in the readings is none."""
    common = np.zeros((6, 80))
    common[0, 40] = -8.0  # the field falls for a slot, the node does not
    plain = np.zeros((6, 80))
    data = data_of(plain)
    departure, own = flags.second_channels(data, common)
    np.testing.assert_array_equal(departure.values, -common)
    np.testing.assert_array_equal(own.values, plain)
    assert departure.slack == 0.0 < own.slack
    spike = plain.copy()
    spike[0, 40] = 1.5
    for readings, false in ((plain, False), (spike, True)):
        channels = flags.second_channels(data_of(readings), common * 0.0)
        rule = Rule((LAW, LAW), (0.01, 0.001))
        assert rule.apply(channels, data.used, data.slots)[0, 40] == false


def test_how_often_segments_begin_is_counted_and_bounded():
    length = np.array([1, 1, 5])
    assert flags._rates(length, 900) == (pytest.approx(3 / 1000), pytest.approx(1.2 / 1100))
    assert flags._rates(np.repeat(length, 100), 900) == (0.1, 0.02)


# Hidden readings by quick fits


def test_what_quick_fits_hide_is_of_the_record_and_held_as_often_as_asked(net):
    X = net.readings
    tried = quick.tried_quickly(X, ~np.isnan(X), level=0.9, seed=3)
    found = tried.holdout
    assert len(tried.jumps) == len(found.rows)
    rows, columns = found.rows % len(X), found.columns
    np.testing.assert_allclose(found.truth, X[rows, columns])
    assert {0, 1} == set((found.rows // len(X)).tolist())  # two rounds
    held = (found.lower <= found.truth) & (found.truth <= found.upper)
    assert 0.85 < held.mean() <= 1
    assert (found.lower < found.estimate).all()
    np.testing.assert_allclose(found.upper - found.estimate, found.estimate - found.lower)
    assert 0.2 < len(rows) / np.count_nonzero(~np.isnan(X)) < 0.45  # a fifth, twice, at most
    assert quick.tried_quickly(X, np.zeros(X.shape, dtype=bool), level=0.9, seed=3) is None


# Nodes by likelihood


@pytest.mark.parametrize(("many", "slots"), [(4001, 4), (3, 700)])
def test_nodes_at_once_and_in_pieces_are_what_each_is_alone(many, slots, monkeypatch):
    """Of many nodes none is cut; of few, pieces of the record are warmed up before they count."""
    rng = np.random.default_rng(6)
    seen = rng.random((many, slots)) < 0.8
    rest = np.where(seen, rng.normal(size=(many, slots)), 0.0)
    links, grid = np.ones(slots - 1, dtype=bool), np.array([[0.9, 0.5], [0.3, 2.0]])
    together = nodes.innovations(rest, seen, links, grid)
    monkeypatch.setattr(nodes, "_LONG", 1)  # as one piece
    for n in (0, 1, many - 1):
        alone = nodes.innovations(rest[[n]], seen[[n]], links, grid)
        for every, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(every[:, n], one[:, 0], rtol=1e-6)


# Nodes that were silent


def test_a_silent_node_is_the_middle_of_the_others_and_as_uncertain_as_they_differ(part):
    heard = np.array([True, True, False, True, True, True, False, True])
    found = silent.with_silent(part, heard)
    view, known = found.view, part.view.scaling
    assert found.unheard == (2, 6)
    assert sorted(view.order.tolist()) == list(range(8))
    np.testing.assert_array_equal(view.order[:6], np.flatnonzero(heard)[part.view.order])
    np.testing.assert_array_equal(view.order[6:], [2, 6])
    apart = 1.4826 * np.median(np.abs(known.center - np.median(known.center)))
    wide = np.hypot(np.median(known.scale), apart)
    np.testing.assert_allclose(view.scaling.scale[6:], wide)
    np.testing.assert_allclose(view.scaling.center[6:], np.median(known.center))
    for mine, theirs in ((found.field.level, part.field.level),
                         (found.field.loadings, part.field.loadings),
                         (found.field.nodes.phi, part.field.nodes.phi),
                         (found.field.nodes.innovation, part.field.nodes.innovation),
                         (found.field.nodes.noise, part.field.nodes.noise)):  # fmt: skip
        np.testing.assert_array_equal(mine[:6], theirs)
        np.testing.assert_allclose(mine[6:], np.median(theirs, axis=0, keepdims=True).repeat(2, 0))
    assert found.second is None or not found.second.able[6:].any()
    assert silent.with_silent(part, np.ones(6, dtype=bool)) is part


# Followed slot by slot


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_scores_say_above_or_below_what_was_expected(net, sign):
    X = sign * net.readings
    model = fm.FieldModel.fit(X[:150])
    new = X[150:].copy()
    new[20, 1], new[30, 2], new[25, 3] = new[20, 1] + 9.0, new[30, 2] - 9.0, np.nan
    new[20, 1] = X[170, 1] + 9.0 if np.isfinite(X[170, 1]) else 9.0 + np.nanmean(X[:, 1])
    new[30, 2] = X[180, 2] - 9.0 if np.isfinite(X[180, 2]) else np.nanmean(X[:, 2]) - 9.0
    found = online.scored(model["value"], new, ~np.isnan(new), first=150)
    assert found.score.shape == found.good.shape == new.shape
    np.testing.assert_array_equal(np.isnan(found.score), np.isnan(new))
    assert found.score[20, 1] > 6
    assert found.score[30, 2] < -6
    usual = np.abs(np.delete(found.score, [20, 30], axis=0))
    assert np.nanmedian(usual) < 1.5
    assert not found.good[20, 1]
    assert not found.good[np.isnan(new)].any()


def test_two_hundred_scores_decide_a_gate():
    scores = np.linspace(1, 9, 200)
    assert online.rare(scores) != online.GATE
    assert online.rare(scores[1:]) == online.GATE


def test_a_model_of_plain_readings_counts_slots_from_its_first(net):
    model = fm.FieldModel.fit(net.readings)
    later = fm.Grid.of(net.readings, start="1970-01-02")
    assert model.first_slot(model["value"], later) == 0  # it was never said when that was
