"""Directions and meters at once: where they were, moved as the others; what is false of them."""

import numpy as np
import pytest

from fieldmend.flags import Flag
from fieldmend.live.afresh import LEAST
from fieldmend.live.following import Follower
from fieldmend.live.onward import Onward, begun
from fieldmend.quantities import circle, identify

SLOT = 300_000_000


def quantity(name):
    return identify(name, "", np.zeros((0, 1)))


def vanes(slots=400, nodes=8, seed=0):
    """They turn together, and each a little on its own."""
    rng = np.random.default_rng(seed)
    together = np.cumsum(rng.normal(0, 6, (slots, 1)), axis=0)
    return np.mod(together + rng.normal(0, 2, (slots, nodes)), 360.0)


def meters(slots=400, nodes=8, seed=0):
    """More by day than by night, each at a pace of its own."""
    rng = np.random.default_rng(seed)
    pace = 1.2 + np.sin(2 * np.pi * np.arange(slots) / 288)[:, None]
    steps = pace * rng.uniform(1, 9, nodes) * rng.uniform(0.8, 1.2, (slots, nodes))
    return 1000.0 + np.cumsum(steps, axis=0)


@pytest.mark.parametrize(("name", "make"), [("wind_direction", vanes), ("energy_total", meters)])
def test_a_node_that_is_silent_is_where_it_was_moved_as_the_others(name, make):
    X, hid = make(), np.zeros((400, 8), np.bool_)
    for k in range(8):
        for start in range(160 + 3 * k, 380, 30):
            hid[start : start + 8, k] = True
    one = begun(name, "", list(X[:LEAST]), 0.9)
    off, before, held = [], [], []
    last = X[LEAST - 1].copy()
    for t in range(LEAST, 400):
        now = one.follow(np.where(hid[t], np.nan, X[t]))
        apart = circle.turned if name == "wind_direction" else lambda x, _: x
        error = apart(X[t] - now.estimate, 360.0)
        off += np.abs(error[hid[t]]).tolist()
        before += np.abs(apart(X[t] - last, 360.0)[hid[t]]).tolist()
        held += ((error >= now.lower - now.estimate) & (error <= now.upper - now.estimate))[
            hid[t]
        ].tolist()
        last = np.where(hid[t], last, X[t])
    assert np.mean(off) < 0.5 * np.mean(before)
    assert 0.8 < np.mean(held) <= 1.0


def test_vanes_that_turn_each_for_itself_are_where_they_were():
    """What is common to a few is chance, and no node follows it."""
    rng = np.random.default_rng(1)
    X = np.mod(np.cumsum(rng.normal(0, 6, (400, 6)), axis=0), 360.0)
    one = Onward(quantity("wind_direction"), 0.9)
    for row in X:
        one.follow(row)
    assert one._weight < 0.25
    X = vanes(nodes=6)
    one = Onward(quantity("wind_direction"), 0.9)
    for row in X:
        one.follow(row)
    assert one._weight > 0.7


def test_a_meter_that_falls_or_leaps_is_suspect_and_believed_when_it_goes_on_from_there():
    X = meters(300)
    one = begun("energy_total", "", list(X[:LEAST]), 0.9)
    change = np.zeros(8)

    def believed(t, **by):
        y = X[t] + change
        for k, value in by.items():
            y[int(k[1:])] = value
        return one.follow(y).believed

    assert believed(LEAST).all()
    assert np.flatnonzero(~believed(LEAST + 1, n2=X[LEAST, 2] - 500.0)).tolist() == [2]
    assert believed(LEAST + 2).all()  # it was misread
    assert np.flatnonzero(~believed(LEAST + 3, n3=9e7)).tolist() == [3]
    assert believed(LEAST + 4).all()
    change[5] = -700.0  # somebody has set it
    assert np.flatnonzero(~believed(LEAST + 5)).tolist() == [5]
    assert believed(LEAST + 6).all()
    change[6] = -X[LEAST + 6, 6]  # it begins again from nothing
    assert believed(LEAST + 7).all()


def test_no_direction_is_called_false_and_no_interval_is_more_than_a_turn():
    X = np.random.default_rng(2).uniform(-180.0, 180.0, (300, 5))
    one = begun("wind_direction", "", list(X[:LEAST]), 0.9)
    for row in X[LEAST:]:
        now = one.follow(row)
        assert now.believed.all()
        assert (now.upper - now.lower <= 360.0 + 1e-9).all()
        assert ((now.estimate >= -180.0) & (now.estimate < 180.0)).all()
        np.testing.assert_allclose(now.estimate, row)


def test_rev_0_has_estimates_intervals_and_flags_from_half_a_day_on():
    X, follower = vanes(), Follower(limits={"wind_direction": (0.0, 360.0)})
    nodes = tuple(f"v{k}" for k in range(8))
    for t in range(LEAST + 2):
        y = X[t].copy()
        if t == LEAST + 1:
            y[:2] = np.nan, 999.0
        follower_said = follower.follow({"wind_direction": y}, nodes, t * SLOT, SLOT)
        said = follower_said["wind_direction"]
        if t < LEAST:
            assert set(said.flag.tolist()) == {Flag.NOT_EVALUATED}
            assert np.isnan(said.estimate).all()
    assert said.flag.tolist() == [Flag.MISSING, Flag.FAIL, *[Flag.PASS] * 6]
    assert np.isfinite(said.estimate).all()
    assert ((said.lower < said.estimate) & (said.estimate < said.upper)).all()
    follower.follow({"wind_direction": X[0], "new": X[0]}, nodes, 10**6 * SLOT, SLOT)
    assert not follower.onward  # after a hole in time it begins anew


def test_what_is_neither_is_not_followed_and_nodes_may_join():
    rng = np.random.default_rng(3)
    assert begun("temperature", "", list(rng.normal(20, 1, (LEAST, 4))), 0.9) is None
    rows = [row[: 4 + (t > 60)] for t, row in enumerate(vanes(LEAST, 5))]
    one = begun("wind_direction", "", rows, 0.9)
    assert len(one.last) == 5
    now = one.follow(np.r_[rows[-1], 10.0, np.nan])
    assert now.believed.tolist() == [True] * 6 + [False]
    assert np.isnan(now.estimate[6])  # never heard


@pytest.mark.parametrize(
    ("name", "make", "growth"),
    [("wind_direction", vanes, 2**0.5), ("energy_total", meters, 2.0)],
)
def test_beyond_the_gaps_that_there_were_intervals_grow_with_them(name, make, growth):
    one = begun(name, "", list(make()), 0.9)
    np.testing.assert_allclose(one.widths[1:] / one.widths[:-1], growth)
    shown = make()[-1]
    shown[3] = np.nan
    wide = []
    for _ in range(8):
        now = one.follow(shown)
        wide.append(now.upper[3] - now.estimate[3])
    assert wide[7] / wide[0] == pytest.approx(growth**3, rel=0.1)  # told anew meanwhile


@pytest.mark.parametrize(("before", "since"), [(2.0, 6.0), (6.0, 2.0)])
def test_intervals_follow_how_restless_it_is_now(before, since):
    """Errors of calm days and of stormy ones are in one heap; the newest say which it is."""
    rng = np.random.default_rng(5)
    steps = np.where(np.arange(900) < 600, before, since)[:, None] * rng.normal(size=(900, 8))
    X = np.mod(np.cumsum(steps, axis=0), 360.0)
    hid = rng.random(X.shape) < 0.2
    one, held = begun("wind_direction", "", list(X[:LEAST]), 0.9), []
    for t in range(LEAST, 900):
        now = one.follow(np.where(hid[t], np.nan, X[t]))
        if t >= 660:
            inside = np.abs(circle.turned(X[t] - now.estimate, 360.0)) <= now.upper - now.estimate
            held += inside[hid[t]].tolist()
    assert 0.85 < np.mean(held) < 0.95
