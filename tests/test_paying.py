"""Flags have to pay: readings beside what was flagged are estimated with it and without it."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field.chains import NodeModel
from fieldmend.field.flags import NEVER, Rule, Segments, _moved, first_channels
from fieldmend.field.jumps import Readings
from fieldmend.field.model import Data, Field
from fieldmend.field.paying import _gains, _needed

NODES, SLOTS = 3, 60


def flat_field():
    none = np.zeros(0)
    one = np.ones(NODES)
    return Field(
        np.zeros(NODES), np.zeros((NODES, 0)), none, none, np.zeros((NODES, 1, 1)), none,
        NodeModel(0.98 * one, 0.04 * one, 0.001 * one),
        np.zeros((0, SLOTS)), np.zeros((0, SLOTS)), np.zeros((0, 0)),
    )  # fmt: skip


def gains(bump):
    """What leaving out slot 30 of node 1 gains, whose readings there have some shape."""
    readings = 0.05 * np.random.default_rng(1).normal(size=(NODES, SLOTS))
    readings[1, 28:33] += bump
    used = np.ones((NODES, SLOTS), dtype=bool)
    data = Data(readings, used, np.arange(SLOTS))
    at = Readings.where(used, data.slots)
    found = Segments(at, np.array([SLOTS + 30]), np.array([1]), np.array([1.0]))
    return _gains(found, found.mask(used), data, flat_field())[0]


def test_a_spike_misleads_its_neighbours_and_a_peak_does_not():
    assert gains(np.array([0, 0, 3.0, 0, 0])) > 0
    assert gains(np.array([0.8, 1.9, 3.0, 1.9, 0.8])) < -0.1


@pytest.mark.parametrize(
    ("score", "gain", "needed"),
    [
        ([5, 4, 3], [1, 1, 1], 0.0),
        ([5, 4, 1, 2], [1, 1, -1, -1], 3.0),  # the weak ones do not pay
        ([5, 4], [-1, 0.5], NEVER),  # none does, all together
        ([], [], 0.0),
    ],
)
def test_the_evidence_that_flags_need(score, gain, needed):
    assert _needed(np.array(score, dtype=float), np.array(gain, dtype=float)) == needed


def test_weak_evidence_counts_where_as_much_is_strong():
    ones = np.ones(4)
    assert _needed(np.array([9.0, 1, 1, 1]), ones, 3.0) == 3.0  # most of them are weak
    assert _needed(np.array([9.0, 8, 1, 1]), ones, 3.0) == 0.0
    assert _needed(np.array([9.0, 8, 1, 1, 1]), np.ones(5), 3.0) == 3.0  # two of five
    assert _needed(ones, ones, 3.0) == 3.0  # none is strong


def test_a_real_event_of_few_nodes_that_moves_is_no_fault():
    """A door opens and the room cools, step by step: of five rooms nobody else can vouch for it."""
    values = np.concatenate(
        [np.zeros(20), -1 - 0.5 * np.arange(9.0), -2 * np.ones(1), np.zeros(20)]
    )
    used = np.ones((1, len(values)), dtype=bool)
    at = Readings.where(used, np.arange(len(values)))
    start, length = np.array([20]), np.array([10])
    assert _moved(values, at, start, length).all()
    stays = np.where(values != 0, -3.0, 0.0)
    assert not _moved(stays, at, start, length).any()


def test_a_rule_that_needs_more_evidence_flags_less():
    net = fm.simulate.network(300, 12, field="temperature", anomaly="spikes", sampling=1, seed=2)
    rule = fm.FieldModel.fit(net.readings)["value"].screen.second
    X = (net.readings - net.readings.mean(axis=0)).T.copy()
    data = Data(X, np.ones(X.shape, dtype=bool), np.arange(300))
    found = rule.apply(first_channels(data), data.used, data.slots)
    strict = Rule(rule.laws, rule.rates, (NEVER, NEVER))
    assert found.any()
    assert not strict.apply(first_channels(data), data.used, data.slots).any()


def test_garbage_to_one_side_is_found_however_often_it_comes():
    """As a habit of single readings it would hide itself: of three in a hundred none was found."""
    net = fm.simulate.network(slots=300, nodes=12, field="temperature", anomaly_rate=0.0, seed=1)
    rng, X = np.random.default_rng(1), net.readings.copy()
    false = net.observed & (rng.random(X.shape) < 0.03)
    X[false] += 3.0 + rng.exponential(8.0, int(false.sum()))
    out = fm.decompose(X, method="auto")
    found = fm.metrics.detection(out.sparse != 0, false, where=net.observed)
    assert found.recall > 0.9
    assert found.precision > 0.9
