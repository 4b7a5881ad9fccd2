"""Levels first: for gaps that last, where hidden readings say so."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import fitting, levels, nodes
from fieldmend.field.chains import NodeModel
from fieldmend.field.lean import Lean
from fieldmend.field.levels import Hidden, Levels
from fieldmend.field.model import Data, LoadingSums, smoothed
from fieldmend.field.silent import with_silent


def network(slots=600, count=24, seed=3):
    """Two slow fields that all share, beside nodes that wander by steps of their own.

    What a node does from one slot to the next is its own; where it is after a day, the network's.
    """
    rng = np.random.default_rng(seed)
    days = np.cumsum(rng.normal(size=(slots // 20 + 2, 2)), axis=0)
    slow = np.stack([np.interp(np.arange(slots) / 20, np.arange(len(days)), d) for d in days.T])
    own = np.zeros((count, slots))
    for t in range(1, slots):
        own[:, t] = 0.9 * own[:, t - 1] + 0.25 * rng.normal(size=count)
    return rng.normal(size=(count, 2)) @ slow + own


def offline(truth, length=60, share=0.2, seed=4):
    """Nodes fall silent for `length` slots at a time."""
    rng = np.random.default_rng(seed)
    used = np.ones(truth.shape, dtype=bool)
    for row in used:
        for first in range(int(rng.integers(length)), truth.shape[1] - length, 2 * length):
            if rng.random() < 2 * share:
                row[first : first + length] = False
    return used


def data_of(truth, used):
    return Data(np.where(used, truth, 0.0), used, np.arange(truth.shape[1]))


@pytest.mark.parametrize(("length", "worth"), [(15, False), (16, True)])
def test_a_gap_lasts_from_sixteen_slots_on(length, worth):
    used = np.ones((6, 100), dtype=bool)
    used[2, 10 : 10 + length] = False
    assert levels.lasting(data_of(np.ones(used.shape), used)) is worth


@pytest.mark.parametrize(("singles", "worth"), [(79, True), (80, False)])
def test_over_a_fifth_of_the_lost_has_to_lie_in_such_gaps(singles, worth):
    used = np.ones((6, 200), dtype=bool)
    used[0, 10:30] = False  # twenty
    row, column = np.arange(singles) // 40 + 1, np.arange(singles) % 40 * 2
    used[row, column] = False
    assert levels.lasting(data_of(np.ones(used.shape), used)) is worth


def test_silences_of_the_network_are_no_such_gaps():
    used = np.ones((8, 100), dtype=bool)
    used[:, 10:60] = False
    assert not levels.lasting(data_of(np.ones(used.shape), used))
    used[3, 60:80] = False
    assert levels.lasting(data_of(np.ones(used.shape), used))


def test_not_of_fewer_than_six_nodes():
    used = np.ones((5, 100), dtype=bool)
    used[2, 10:60] = False
    assert not levels.lasting(data_of(np.ones(used.shape), used))


def test_nothing_is_fitted_where_no_gap_lasts(monkeypatch):
    monkeypatch.setattr(levels, "_fitted", lambda *_: pytest.fail("fitted"))
    truth = network(100, 6)
    used = np.random.default_rng(0).random(truth.shape) < 0.7
    assert Levels.learnt(data_of(truth, used), [], 0) == (None, [])


def held(truth, used, model):
    hidden = used & (np.random.default_rng(5).random(used.shape) < 0.2)
    rest = data_of(truth, used & ~hidden)
    return Hidden(rest, hidden, truth * used, model, float(len(truth)))


def test_what_hidden_readings_have_no_use_for_is_tried_once(monkeypatch):
    truth = network(300, 8)
    used = offline(truth)
    asked = []
    true_fit = levels._fitted
    monkeypatch.setattr(levels, "_fitted", lambda *a: asked.append(1) or true_fit(*a))
    perfect = [held(truth, used, truth)] * 3
    assert Levels.learnt(data_of(truth, used), perfect, 0) == (None, [])
    assert len(asked) == 1


def test_its_weight_is_what_hidden_readings_say():
    truth = network(300, 8)
    used = offline(truth)
    poor = [held(truth, used, np.zeros(truth.shape))] * 2
    data = data_of(truth, used)
    found, said = Levels.learnt(data, poor, 0)
    assert len(said) == 2
    assert found.lean.weight.max() > 0.9
    whole = levels._refitted(levels._fitted(poor[-1].rest, 0), data, 0)  # all readings
    np.testing.assert_allclose(found.field.factors, whole.factors)


@pytest.mark.parametrize("seed", range(3))
def test_what_was_fitted_to_most_readings_is_fitted_on_to_all(seed):
    """As close to what was lost as a fit from nothing; and it sees what had been hidden."""
    truth = network(300, 8, seed)
    used = offline(truth)
    data, one = data_of(truth, used), held(truth, used, np.zeros(truth.shape))
    most = levels._fitted(one.rest, 0)
    whole, afresh = levels._refitted(most, data, 0), levels._fitted(data, 0).both

    def error(field, at):
        return np.abs(levels.smoothed(field, data) - truth)[at].mean()

    assert error(whole, ~used) < 1.1 * error(afresh, ~used)
    higher = levels._refitted(most, data_of(truth + 5.0 * one.hidden, used), 0)
    assert (higher.common() - whole.common())[one.hidden].mean() > 0.5


def test_no_weight_before_anything_is_hidden_and_none_in_a_silence():
    used = np.ones((8, 50), dtype=bool)
    one = Hidden(data_of(np.ones(used.shape), used), ~used, 0.0 * used, 0.0 * used, 8.0)
    assert not levels._weighed([one], [1.0 * used]).weight.any()
    # Everybody is silent where readings are hidden: they are no witnesses.
    rest = used.copy()
    rest[:, 20:40] = False
    one = Hidden(data_of(np.ones(used.shape), rest), ~rest, 1.0 * used, 0.0 * used, 8.0)
    assert not levels._weighed([one], [1.0 * used]).weight.any()
    assert levels._weighed([replace(one, company=0.0)], [1.0 * used]).weight.any()


def test_readings_are_news_as_far_as_wandering_is_forgotten():
    one = np.ones(3)
    soon = NodeModel(np.array([0.0, 0.8, 0.8]), one, one)
    late = NodeModel(np.array([0.0, 0.98, 0.5]), one, one)
    # (1 − φ)/(1 + φ): as many of n readings of such a chain are independent.
    assert levels._fresh(soon, late) == pytest.approx([1.0, (0.02 / 1.98) / (0.2 / 1.8), 1.0])


def test_sums_from_a_share_of_the_readings():
    sums = LoadingSums(np.ones((2, 3, 3)), np.ones((2, 3)))
    half = sums.believed(np.array([0.5, 1.0]))
    assert half.square[:, 0, 0].tolist() == half.target[:, 0].tolist() == [0.5, 1.0]


def test_wandering_is_as_short_as_it_is_told_to_be():
    truth = np.cumsum(np.random.default_rng(0).normal(size=(6, 400)), axis=1)
    links = np.ones(399, dtype=bool)
    every = np.ones(truth.shape, dtype=bool)
    assert nodes.fit_nodes(truth, every, links).phi.min() > 0.9
    short = nodes.fit_nodes(truth, every, links, phi=nodes.FORGETFUL)
    assert short.phi.tolist() == [0.8] * 6
    near = nodes.fit_nodes(truth, every, links, near=short, phi=nodes.FORGETFUL)
    assert near.phi.max() == 0.8


def test_both_kinds_of_factors_say_what_they_say_together():
    truth = network(200, 9)
    data = data_of(truth, offline(truth))
    field = levels._fitted(data, 0).both
    assert field.rank == field.loadings.shape[1] == len(field.phi) > 3
    one = Levels(field, Lean(np.ones(5)))
    # With all the weight the mixture is its own estimate, also by factors found anew.
    itself = one.mixed(np.zeros(truth.shape), data, 9.0)
    assert np.array_equal(itself, smoothed(field, data))
    anew = one.kept().mixed(np.zeros(truth.shape), data, 9.0)
    assert np.abs(anew - itself).max() < 0.05 * truth.std()
    assert np.array_equal(
        one.kept().with_factors(field.factors).mixed(0 * truth, data, 9.0), itself
    )
    assert one.kept().with_factors(None).field.factors.shape[1] == 0


def test_where_the_network_is_silent_the_model_stays():
    truth = network(200, 9)
    used = offline(truth)
    used[:, 50:80] = False
    data = data_of(truth, used)
    one = Levels(levels._fitted(data, 0).both, Lean(np.ones(5)))
    out = one.mixed(np.full(truth.shape, 7.0), data, 9.0)
    assert (out[:, 50:80] == 7.0).all()
    assert not (out[:, :50] == 7.0).any()


@pytest.fixture(scope="module")
def recovered():
    truth = network().T
    readings = np.where(offline(truth.T).T, truth, np.nan)
    return truth, readings, fm.decompose(readings, method="auto")


def error(out, truth, readings):
    return float(np.sqrt(((out.estimate - truth)[np.isnan(readings)] ** 2).mean()))


def test_what_lasts_is_closer_with_it(recovered, monkeypatch):
    """By itself; the second look brings some of it too, and beside it no harm is done."""
    truth, readings, out = recovered
    assert "how levels go together counts up to" in out.choice
    with monkeypatch.context() as one_look:
        one_look.setattr(fitting, "second_looks", lambda *_, **__: (None, None))
        alone = fm.decompose(readings, method="auto")
        one_look.setattr(Levels, "learnt", lambda *_: (None, []))
        bare = fm.decompose(readings, method="auto")
    assert error(alone, truth, readings) < 0.97 * error(bare, truth, readings)
    told, before = (np.abs(o.holdout.truth - o.holdout.estimate).mean() for o in (alone, bare))
    assert told < 0.98 * before
    monkeypatch.setattr(Levels, "learnt", lambda *_: (None, []))
    without = fm.decompose(readings, method="auto")
    assert "levels go together" not in without.choice
    assert error(out, truth, readings) < error(without, truth, readings)


def test_a_saved_model_says_the_same(recovered, tmp_path):
    _, readings, _ = recovered
    model = fm.FieldModel.fit(fm.Grid.of(readings))
    assert model["value"].levels is not None
    model.save(tmp_path / "model")
    again = fm.FieldModel.load(tmp_path / "model")
    one, other = (m.apply(fm.Grid.of(readings[:300])) for m in (model, again))
    assert np.array_equal(one["value"].estimate, other["value"].estimate)


def test_a_model_of_nodes_that_were_never_heard_keeps_it(recovered):
    _, readings, _ = recovered
    part = fm.FieldModel.fit(fm.Grid.of(readings))["value"]
    heard = np.insert(np.ones(readings.shape[1], dtype=bool), 5, False)
    longer = with_silent(part, heard)
    assert len(longer.levels.field.loadings) == longer.nodes == len(heard)
    both = np.insert(readings, 5, np.nan, axis=1)
    out = longer.apply(both, np.isfinite(both)).estimate
    assert np.isfinite(out).all()
    alone = part.apply(readings, np.isfinite(readings), own=False).estimate
    # One more, never heard, says nothing of the others.
    assert np.abs(out[:, heard] - alone).max() < 0.05 * np.nanstd(readings)
