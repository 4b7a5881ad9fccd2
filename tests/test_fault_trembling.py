"""Noise that is short or faint: told by holding nodes against each other."""

import numpy as np
import pytest

from fieldmend.faults import Context, search
from fieldmend.faults.shifts import highest
from fieldmend.faults.trembling import trembling

SLOTS, NODES = 700, 12
PART = slice(300, 340)
CONTEXT = Context(slot=3_600_000_000)


def network(seed=0):
    """Hours of a month: a day, weather for all, and what each node has to itself."""
    rng = np.random.default_rng(seed)
    day = 4 * np.sin(2 * np.pi * np.arange(SLOTS) / 24)[:, None]
    weather = np.cumsum(0.2 * rng.normal(size=(SLOTS, 1)), axis=0)
    return day + weather + 0.3 * rng.normal(size=(SLOTS, NODES))


def none_of(X):
    return np.zeros(X.shape, dtype=bool)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lost", [0.0, 0.2])
def test_a_day_of_noise_is_found_and_its_network_left_alone(seed, lost):
    rng = np.random.default_rng(seed)
    X = network(seed)
    X[PART, 3] += 6 * rng.normal(size=40)
    X[rng.random(X.shape) < lost] = np.nan
    found, heard = trembling(X, none_of(X), CONTEXT), ~np.isnan(X[PART, 3])
    assert found[PART, 3][heard].mean() > 0.7
    found[PART, 3] = False
    assert found.mean() < 0.002
    assert search(X, CONTEXT).faults[PART, 3][heard].mean() > 0.7


@pytest.mark.parametrize("seed", range(3))
def test_sound_nodes_steps_ramps_and_spikes_are_no_noise(seed):
    rng = np.random.default_rng(seed)
    X = network(seed)
    X[PART, 1] += 8
    X[PART, 2] += np.linspace(0, 12, 40)
    X[rng.choice(SLOTS, 20, replace=False), 4] += 9
    assert not trembling(X, none_of(X), CONTEXT).any()


def test_weather_that_most_companions_have_is_no_noise():
    rng = np.random.default_rng(1)
    X = network()
    X[PART, :6] += 4 * rng.normal(size=(40, 6))
    alone = network()
    alone[PART, 0] = X[PART, 0]
    places = {str(n): {"x": float(n), "y": 0.0} for n in range(NODES)}
    near = Context(slot=CONTEXT.slot, nodes=tuple(places), places=places)
    assert not trembling(X, none_of(X), near)[:, 1:4].any()
    assert trembling(alone, none_of(X), near)[PART, 0].mean() > 0.8


def test_smoke_that_two_others_see_is_no_noise_and_a_gust_is_a_departure():
    """The level moves by more than the noise: two others will do, or four times as far."""
    rng = np.random.default_rng(2)
    noise = 3 * rng.normal(size=(40, 3))
    smoke, gust, lone = network(), network(), network()
    for k, n in enumerate((0, 5, 9)):
        smoke[PART, n] += 7 + noise[:, k]
    gust[PART, 0] += 25 + noise[:, 0]
    lone[PART, 0] += 7 + noise[:, 0]
    assert not trembling(smoke, none_of(smoke), CONTEXT).any()
    assert not trembling(gust, none_of(gust), CONTEXT).any()
    assert trembling(lone, none_of(lone), CONTEXT)[PART, 0].mean() > 0.8


def test_of_a_node_whose_gain_was_lost_the_rest_is_not_rough():
    X = network()
    X[150:, 4] = 0.1 * X[150:, 4]
    assert not trembling(X, none_of(X), CONTEXT).any()


def test_the_highest_of_so_many_is_told_by_most():
    sizes = np.exp(0.2 * np.random.default_rng(0).normal(size=30))
    limit = highest(sizes)
    assert sizes.max() < limit < 6
    sizes[:10] *= 20  # a third fails
    assert highest(sizes) < 2 * limit
    assert sizes[:10].min() > highest(sizes)
    assert highest(sizes[:2]) == np.inf


def test_nothing_heard_nothing_said():
    X = np.full((50, 4), np.nan)
    assert not trembling(X, none_of(X), CONTEXT).any()


def test_where_nodes_are_restless_now_and_then_the_roughest_of_so_many_is_told_from_them():
    """The tail of all readings is long there; what single nodes reach is much the same."""
    rng = np.random.default_rng(5)
    size = np.ones((800, 20))
    for n in range(20):
        size[40 * n % 720 : 40 * n % 720 + 80, n] = 4.0
    X = np.cumsum(rng.normal(0, 0.2, (800, 1)), axis=0) + 0.3 * size * rng.normal(size=(800, 20))
    X[300:330, 3] += rng.normal(0, 6.0, 30)
    found = trembling(X, none_of(X), CONTEXT)
    assert found[306:324, 3].mean() > 0.9
    found[290:340, 3] = False
    assert found.mean() < 0.001
