"""Whom the others do not know, they cannot accuse of what they do themselves."""

from importlib import import_module

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults.own_ways import _Company, as_others_do, as_rough, own_ways, visits

own = import_module("fieldmend.faults.own_ways")

SLOTS, NODES = 800, 10


def pumps(seed=0):
    """Off or on, each when somebody likes; the first is off until slot 500."""
    rng = np.random.default_rng(seed)
    on = np.cumsum(rng.random((SLOTS, NODES)) < 0.02, axis=0) % 2
    on[:, 0] = np.arange(SLOTS) >= 500
    level = np.where(on, rng.uniform(3, 6, NODES), 0.3)
    return level * np.exp(0.05 * rng.normal(size=level.shape))


def followers(seed=0):
    """All follow one course, and nobody leaves it."""
    rng = np.random.default_rng(seed)
    course = 5 * np.sin(np.arange(SLOTS) / 20)[:, None]
    return course + np.arange(NODES) + 0.2 * rng.normal(size=(SLOTS, NODES))


def marks(*parts):
    out = np.zeros((SLOTS, NODES), dtype=bool)
    for slots, node in parts:
        out[slots, node] = True
    return out


LATE = slice(500, SLOTS)


def test_who_is_switched_on_late_is_no_fault_where_all_are_switched():
    X, late = pumps(), marks((LATE, 0))
    assert own_ways(X, late)[late].all()
    assert not faults.search(X).faults.any()


@pytest.mark.parametrize("seed", range(3))
def test_a_recovery_flags_hardly_a_reading_of_them(seed):
    grid = fm.Grid.of(pumps(seed), condition="vibration", slot_seconds=900)
    out = fm.recover(grid, holdout=False)["vibration"]
    assert np.isin(out.flag, (3, 4)).mean() < 0.005


def test_whom_the_others_foretell_they_may_accuse():
    X, late = followers(), marks((LATE, 0))
    X[LATE, 0] += 6.0
    X[LATE, 1:4] *= 4.0  # others go far, too
    assert _Company(np.where(late, np.nan, X)).left_over(0) < 0.3
    assert not own_ways(X, late).any()
    assert own_ways(X, late, habit=True).any()


def test_nobody_goes_as_far_as_a_fault_among_strangers():
    rng = np.random.default_rng(1)
    X, late = rng.normal(size=(SLOTS, NODES)), marks((LATE, 0))
    X[LATE, 0] += 6.0
    assert _Company(np.where(late, np.nan, X)).left_over(0) > 0.9
    assert not own_ways(X, late).any()


def test_who_seems_to_be_foretold_by_chance_is_not_where_nobody_is():
    walks = np.cumsum(np.random.default_rng(3).normal(size=(SLOTS, NODES)), axis=0)
    untold = [_Company(walks).left_over(n) for n in range(NODES)]
    lucky = int(np.argmin(untold))
    assert untold[lucky] < 0.7 < np.median(untold)
    late = marks((LATE, lucky))
    assert own_ways(walks, late)[late].all()


def test_what_wanders_does_not_jump():
    """A level that others reach by and by is no excuse for one that is there at once."""
    rng = np.random.default_rng(11)
    X, late = np.cumsum(0.2 * rng.normal(size=(SLOTS, NODES)), axis=0), marks((LATE, 0))
    X[:, 0] = 0.2 * rng.normal(size=SLOTS)
    Y = X.copy()
    Y[LATE, 0] += 4.0
    assert not own_ways(Y, late).any()
    X[LATE, 0] += 4.0 * np.minimum(np.arange(SLOTS - 500) / 100, 1)
    assert own_ways(X, late)[late].all()


def test_too_few_readings_tell_nothing():
    X = pumps()
    X[30:, 0] = np.nan
    assert _Company(X).left_over(0) == 0


def test_a_visit_to_another_level_is_what_a_switch_does():
    X = pumps()
    X[:, 0] = 0.3
    X[200:210, 0], X[300, 0] = 5.0, 5.0
    visit, single = marks((slice(200, 210), 0)), marks((300, 0))
    out = visits(X, visit | single)
    assert out[visit].all()
    assert not out[single].any()  # one reading is no visit
    Y = followers()
    Y[visit] += 6.0
    assert not visits(Y, visit).any()


def test_a_pump_that_runs_is_as_rough_as_those_that_run():
    X, late = pumps(), marks((LATE, 0))
    assert as_rough(X, late)[late].all()
    X[LATE, 0] += 2 * np.random.default_rng(5).normal(size=SLOTS - 500)
    assert not as_rough(X, late).any()


def test_suspects_may_be_real_where_the_others_go_as_far_and_foretell_nothing():
    X, late = pumps(), marks((LATE, 0))
    none = marks()
    assert as_others_do(X, late, none)[late].all()
    assert not as_others_do(X, late, late).any()  # what is false anyhow is nobody's way
    assert not as_others_do(X, late, marks((499, 0))).any()  # nor what stands beside it
    Y = followers()
    Y[LATE, 0] += 6.0
    Y[100:300, 1:4] += 6.0
    assert not as_others_do(Y, late, none).any()


def strangers(seed=7):
    """Noise, each its own."""
    return np.random.default_rng(seed).normal(size=(SLOTS, NODES))


def test_events_beyond_a_node_s_range_lead_if_others_go_there_too():
    X, wind = strangers(), marks()
    for n in range(4):
        wind[100 * n + 100 : 100 * n + 120, n] = True
    X[wind] += 9.0
    assert as_others_do(X, wind, marks(), real=True)[wind].all()
    assert not as_others_do(X, wind, marks()).any()
    Y = followers()
    Y[wind] += 9.0
    assert not as_others_do(Y, wind, marks(), real=True).any()  # the others know better


def test_a_node_s_own_past_is_a_way_of_its_own():
    X, visit = strangers(), marks((slice(700, 720), 0))
    for start in (100, 250, 400, 700):
        X[start : start + 20, 0] += 9.0
    assert as_others_do(X, visit, marks(), real=True)[visit].all()
    X[100:120, 0] -= 9.0  # twice is no habit
    assert not as_others_do(X, visit, marks(), real=True).any()


def test_what_was_lost_in_an_event_is_what_the_event_shows():
    rng = np.random.default_rng(2)
    X = followers()
    wind = marks(*((slice(100 * n + 100, 100 * n + 130), n) for n in range(2)))
    wind |= marks((slice(460, 490), slice(2, 6)))  # all of it within what nodes read at noon
    X[wind] += 4.0
    lost = wind & (rng.random(X.shape) < 0.3)
    grid = fm.Grid.of(np.where(lost, np.nan, X), slot_seconds=600)
    out = fm.recover(grid, holdout=False)["value"]
    passed = (out.flag == 1).sum(axis=0) - (out.flag == 3).sum(axis=0) > SLOTS // 2
    real = lost & wind & (np.isin(out.flag, (3, 4)).sum(axis=0) == 0) & passed
    assert real.sum() > 20  # or there is nothing to test
    line = np.abs(fm.metrics.interpolate(grid.values["value"]) - X)[real].mean()
    assert np.abs(out.estimate - X)[real].mean() < 1.2 * line


def test_who_has_nothing_to_be_excused_from_is_not_asked_about(monkeypatch):
    asked = []
    monkeypatch.setattr(_Company, "left_over", lambda _, node: asked.append(node) or 0.0)
    X, single = followers(), marks((slice(100, 102), 2), (slice(300, 301), 5))
    assert not as_others_do(X, single, np.zeros_like(single)).any()
    assert not visits(X, single).any()
    assert asked == []


def test_nodes_are_scaled_once_however_many_are_asked_about(monkeypatch):
    """Or time grows with the square of the nodes."""
    scaled, plain = [], own.node_medians
    monkeypatch.setattr(own, "node_medians", lambda X: scaled.append(X.shape) or plain(X))
    company = _Company(followers())
    for n in range(NODES):
        company.left_over(n)
    assert len(scaled) == 2


@pytest.mark.parametrize("seed", range(3))
def test_its_own_past_is_what_each_window_of_the_rest_says(seed):
    rng = np.random.default_rng(seed)
    beside = np.cumsum(rng.normal(size=400))
    beside[rng.random(400) < 0.3] = np.nan
    one = own._Own(0, beside, 1.0)
    for length, first, stop in ((1, 0, 30), (8, 200, 240), (32, 270, 400), (64, 3, 390)):
        rest = beside - 1.0
        rest[first:stop] = np.nan
        size, third = own._means(rest, length), 0.0
        for _ in range(3):
            k = int(np.argmax(size)) if size.size else 0
            third = float(size[k]) if size.size else 0.0
            size[max(k - (stop - first), 0) : k + stop - first + 1] = 0.0
        for far in (0.5 * third, 0.999 * third, 1.001 * third + 1e-9):
            assert one.again((first, stop), length, far) == (third >= far)
