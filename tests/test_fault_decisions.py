"""What the search for faults decides and says, at the places where decisions turn."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, poisson

import naive_faults as naive
from fieldmend.faults import astray, gross, lasting, levels, seen_too, shifts
from fieldmend.faults.events import keeps_its_distance
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import rare
from fieldmend.quantities import Kind as Quality
from fieldmend.quantities import Quantity
from tiny import holed

HOUR = 3_600_000_000
NOTHING = np.zeros((0, 0), dtype=bool)


# Who sees it too


def test_singles_are_one_or_two_readings_beside_each_other_with_their_side():
    values = np.zeros((12, 2))
    values[5, 0] = np.nan
    asked = np.zeros(values.shape, dtype=bool)
    asked[[1, 4, 6, 9, 10, 11], 0] = True
    departure = np.where(np.arange(12)[:, None] < 5, -3.0, 3.0) * np.ones((1, 2))
    got = seen_too._singles(values, departure, asked)
    assert got[:, 0].tolist() == [0, -1, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0]
    assert not got[:, 1].any()


def test_singles_that_coincide_are_counted_by_poisson():
    alike = np.array([[True, False, True, False], [True, False, False, False]])
    often = np.array([0.01, 0.02, 0.03, 0.04])
    assert seen_too._coincide(alike, often) == pytest.approx(poisson.sf(1, 0.1 * 2))
    assert seen_too._coincide(alike[:, 1:2], often[:1]) == 1.0


def test_stretches_with_a_muted_reading_are_not_asked():
    values = np.zeros((20, 3))
    values[[6, 7], 0] = np.nan
    asked, mute = np.zeros((2, 20, 3), dtype=bool)
    asked[[4, 5, 8, 10], 0] = True  # over silence, and over one reading between
    asked[[3, 6], 1] = True
    asked[[3, 4, 9], 2] = True
    mute[5, 2] = True
    got = [*seen_too._stretches(values, asked, mute)]
    assert got == [(0, 4, 11), (1, 3, 4), (1, 6, 7), (2, 9, 10)]


def test_the_first_circle_that_is_sure_enough_ends_the_asking():
    asked = []

    class Asked:
        """Companions near hardly ever go as far, those in the wider circle never."""

        def each(self, at, near, side, least):
            asked.append((len(at), near[:1], side[:1]))
            for k, name in enumerate(near):
                same = np.full(4, {"near": 0.09, "wide": 0.001, "sure": 1e-9}[name])
                yield k, SimpleNamespace(size=np.ones(4), back=np.zeros(4), same=same, other=same)

    both = Asked(), Asked()
    circles = ["near", "sure"], ["wide", "wide"]
    least = seen_too._least(both, [(3, 9, 2), (4, 8, 1)], [1, 0], circles, 1e-8)
    chances = [binom.sf(np.arange(4), 4, share)[-1] for share in (0.001, 1e-9)]
    assert least[0] == pytest.approx(chances[0])
    assert least[1] == pytest.approx(chances[1])
    assert asked[:3] == [(2, ["near"], [1]), (1, ["near"], [None]), (1, ["wide"], [1])]


def test_readings_without_their_hours():
    values = np.tile(np.arange(24.0), 4)[:, None] + np.repeat([0.0, 0, 3, 7], 24)[:, None]
    got = seen_too._without_habit(values, Context(slot=HOUR))
    np.testing.assert_allclose(got[:, 0], np.repeat([0.0, 0, 3, 7], 24) - 1.5)
    extra = np.vstack([values, values[:5]])
    assert seen_too._without_habit(extra, Context(slot=HOUR))[96:, 0] == pytest.approx([-1.5] * 5)
    for few in (values[:95], values[:0]):
        assert seen_too._without_habit(few, Context(slot=HOUR)) is few
    for slot in (0, 7 * HOUR):
        assert seen_too._without_habit(values, Context(slot=slot)) is values


def test_companions_are_the_nearest_and_the_most_alike():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(60, 2))
    X = base[:, [0, 1, 0, 1, 0, 1]] + 0.1 * rng.normal(size=(60, 6))
    X += 100 * rng.normal(size=6)  # wherever their levels are
    places = {f"n{k}": {"x": float(k), "y": 0.0} for k in range(6)}
    context = Context(nodes=[*places], places=places)
    one, two = seen_too._companions(X, context, (1, 2))
    assert sorted(two[0]) == [1, 2, 4]
    for n in range(6):
        kin = [m for m in range(6) if m != n and m % 2 == n % 2]
        assert set(two[n]) >= set(kin)  # alike
        assert {m for m in (n - 1, n + 1) if 0 <= m < 6} <= set(two[n])  # near
        assert set(one[n]) <= set(two[n])
        assert len(one[n]) == 2
    assert seen_too._both(np.array([2, -1]), np.array([5, -1])).tolist() == [2, 5]  # −1: nobody


def test_what_is_relative_is_what_is_left_of_node_and_slot():
    X = holed(0, (30, 4))
    deviation = X - naive.medians(X)
    want = deviation - naive.medians(deviation.T)[:, None]
    np.testing.assert_allclose(seen_too._relative(X), want)
    np.testing.assert_allclose(seen_too._relative(X[:, :2]), deviation[:, :2])
    three = deviation[:, :3] - naive.medians(deviation[:, :3].T)[:, None]
    np.testing.assert_allclose(seen_too._relative(X[:, :3]), three)


# Lasting faults


@pytest.mark.parametrize("seed", range(2))
def test_departures_reach_from_the_core_as_far_as_it_is_off(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2.0, (80, 3))
    z[20:45, 0] += 9.0
    known = rng.random(z.shape) < 0.9
    mean, gone = 0.8 * z, rng.random(z.shape) < 0.02
    low, high = 2.0, 6.0
    want = np.zeros(z.shape, dtype=bool)
    half = lasting.SMOOTH // 2
    for n in range(3):
        at = [t for t in range(80) if known[t, n]]
        core = np.array([abs(mean[t, n]) > high or gone[t, n] for t in at])
        hull = np.array([abs(mean[t, n]) > low or gone[t, n] for t in at])
        for a, b in naive.runs(naive.grown(core, naive.joined(hull, half))):
            sizes = [abs(z[t, n]) for t in at[a:b]]
            runs = naive.joined([s > low for s in sizes], half)
            if sum(runs) >= half:
                peak = np.array([s > max(sizes) / 3 for s in sizes])
                want[at[a:b], n] = naive.grown(runs & peak, runs)
    got = lasting._departures(z, mean, known, gone, (low, high))
    np.testing.assert_array_equal(got, want)
    assert want.any()


def test_where_a_node_goes_at_other_times_is_a_habit():
    size = np.ones((100, 2))
    found = np.zeros(size.shape, dtype=bool)
    found[20:30] = True
    size[20:30] = 10.0
    size[60:62, 0] = 5.5  # two of ninety: more than two in a hundred
    size[60:61, 1] = 5.5
    nothing = np.zeros(size.shape, dtype=bool)
    got = astray._habitual(size, found, nothing)
    assert got[20:30, 0].all()
    assert not got[:, 1].any()
    assert not astray._habitual(size, found, size == 5.5).any()  # left out: not asked
    size[60:62, 0] = 4.9
    assert not astray._habitual(size, found, nothing).any()
    assert not astray._habitual(size[20:30], found[20:30], nothing[20:30]).any()


def strayed_slowly(values):
    off = np.abs(values - naive.medians(values.T)[:, None])
    heard = [column[~np.isnan(column)] for column in off.T]
    often, seldom = (np.quantile([np.quantile(c, q) for c in heard], 0.9) for q in (0.9, 0.99))
    far = seldom * max(seldom / often, astray.MILD) ** 2
    out = np.zeros(values.shape, dtype=bool)
    for n in range(values.shape[1]):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        there = off[at, n] > far
        if np.mean(off[at, n] <= often) < astray.AT_HOME:
            continue
        for a, b in naive.runs(naive.joined(there, astray.JOINED)):
            if b - a < astray.JOINED // 2 or there[a:b].mean() <= 0.5:
                continue
            as_far = off[at, n] > 0.5 * np.median(off[at[a:b], n])
            core = np.array([a <= i < b for i in range(at.size)])
            own = naive.grown(core, naive.joined(as_far, astray.JOINED))
            if (as_far & ~own).sum() <= astray.HABITUAL * (~own).sum():
                out[at[a:b], n] = True
    return out


def test_a_node_that_is_home_at_other_times_has_strayed():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 60)) + np.sin(np.arange(300) / 30)[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[200:, 1] += 60.0  # failed
    X[:, 2] += 60.0  # on a summit
    X[100:120, 3] += 60.0  # goes there ...
    X[220:226, 3] += 40.0  # ... at other times too
    X[100:106, 4] += 60.0  # too short
    X[150:190, 5] += np.where(np.arange(40) % 3 > 0, 60.0, 0.0)  # most of the time
    want = strayed_slowly(X)
    assert want.any(axis=0).tolist() == [False, True, False, False, False, True] + [False] * 54
    np.testing.assert_array_equal(astray.strayed(X, np.zeros(X.shape, dtype=bool)), want)
    assert not astray.strayed(np.full((20, 3), np.nan), np.zeros((20, 3), dtype=bool)).any()
    assert not astray.strayed(np.ones((20, 3)), np.zeros((20, 3), dtype=bool)).any()


def test_how_far_is_astray():
    """Whole numbers: one of the sizes is just at the limit."""
    X = np.random.default_rng(4).choice([-1.0, 0.0, 0.0, 1.0], size=(150, 21))
    X[::20, ::3] = 2.0
    nothing, told = np.zeros(X.shape, dtype=bool), []
    for size in range(2, 30):
        X[100:130, 1] = size
        want = strayed_slowly(X)
        np.testing.assert_array_equal(astray.strayed(X, nothing), want)
        told.append(want.any())
    assert 0 < sum(told) < len(told)
    rng = np.random.default_rng(5)
    for _ in range(12):  # several stretches of a node, some too short, some mostly at home
        Y = X.copy()
        for first in (10, 50, 90, 120):
            part = slice(first, first + int(rng.integers(3, 25)))
            Y[part, 1] = np.where(rng.random(Y[part, 1].size) < 0.6, 40.0, 0.0)
        np.testing.assert_array_equal(astray.strayed(Y, nothing), strayed_slowly(Y))


def test_what_is_left_out_is_nobodys_measure():
    X = np.random.default_rng(0).normal(size=(60, 5))
    everything = np.ones(X.shape, dtype=bool)
    assert not astray.runaway(X, everything, Context()).any()
    assert not astray.absurd(X, everything).any()


def test_what_is_absurd_is_rare_and_its_own():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 8))
    nothing = np.zeros(X.shape, dtype=bool)
    assert not astray.absurd(X, nothing).any()
    X[50, 3] += 40.0
    X[120] += 40.0  # all together
    found = astray.absurd(X, nothing)
    assert np.argwhere(found).tolist() == [[50, 3]]
    X[10, 0] = 1e3
    size, _ = astray._sizes(X, nothing)
    limit = rare(size.ravel(), 4.0)
    for times, false in ((0.99, False), (1.01, True)):
        X[10, 0] = 1e3 * times * limit / size[10, 0]
        X[10, 0] += (1 - times * limit / size[10, 0]) * np.median(X[:, 0])  # from its level
        assert astray.absurd(X, nothing)[10, 0] == false
    assert not astray.absurd(np.full((5, 3), np.nan), np.zeros((5, 3), dtype=bool)).any()


def test_what_lasts_away_is_a_third_of_the_way_for_most_of_the_time():
    departure = np.concatenate([np.zeros(40), np.full(60, 6.0), np.zeros(40)])
    departure[70] = 1.9  # came back
    got = levels.away(departure, 6.0, 0.5)
    assert np.flatnonzero(got).tolist() == [t for t in range(40, 100) if t != 70]
    assert not levels.away(departure, -6.0, 0.5).any()
    assert not levels.away(departure, 6.0, 3.1).any()  # within its unrest
    few = np.where(np.arange(140) % 3 == 0, departure, 0.0)
    assert not levels.away(few, 6.0, 0.5).any()
    silent = np.where(np.arange(140) % 3 == 0, departure, np.nan)
    got = levels.away(silent, 6.0, 0.5)
    assert np.flatnonzero(got).tolist() == [*range(42, 100, 3)]


def test_home_is_the_part_that_lies_nearer_to_the_others():
    levels_of = np.array([-1.0, 0.0, 1.0, 2.0])
    off = np.concatenate([np.full(50, 9.0), np.full(50, 0.0)])
    assert not shifts.began_at_home(off, 50, levels_of)
    assert shifts.began_at_home(off[::-1], 50, levels_of)
    assert shifts.began_at_home(off / 9, 50, levels_of)  # says little: the earlier one
    assert not shifts.began_at_home(off / 15, 50, levels_of / 10)  # nearer by half
    away = off + 10  # wherever the others are
    assert not shifts.began_at_home(away, 50, levels_of + 10)
    assert shifts.began_at_home(away[::-1], 50, levels_of + 10)
    assert not shifts.began_at_home(away - 7, 50, levels_of + 1)


def test_nodes_that_rest_at_one_value_are_at_rest():
    values = np.zeros((20, 3))
    values[:, 2] = 1.0
    runs = np.zeros(values.shape, dtype=bool)
    runs[5:15, 0] = runs[12:18, 1] = runs[5:15, 2] = True
    got = gross._at_rest(values, runs)
    assert got[5:15, 0].all()  # three of its ten slots beside another
    assert got[12:18, 1].all()
    assert not got[:, 2].any()
    runs[12, 1] = False
    assert not gross._at_rest(values, runs)[5:15, 0].any()  # two of ten


def test_a_flat_line_has_to_be_twice_as_long_as_any_other():
    rng = np.random.default_rng(0)
    common = np.cumsum(rng.normal(size=300))[:, None]
    X = common + 0.1 * rng.normal(size=(300, 6))
    nothing = np.zeros(X.shape, dtype=bool)
    X[100:120, 2] = X[100, 2]
    assert np.flatnonzero(gross.flat(X, nothing)[:, 2]).tolist() == [*range(100, 120)]
    again = X.copy()
    again[200:211, 2] = again[200, 2]
    assert not gross.flat(again, nothing).any()
    again[210, 2] += 1.0
    assert gross.flat(again, nothing)[:, 2].sum() == 20
    calm = np.full((300, 6), 5.0) + 0.1 * rng.normal(size=(300, 6))
    calm[100:120, 2] = 5.0  # nothing moves meanwhile
    assert not gross.flat(calm, nothing).any()
    twice = X.copy()
    twice[:, 1] = np.where(np.arange(300) < 80, 3.0, 4.0)  # two runs: the longer one
    assert np.flatnonzero(gross.flat(twice, nothing)[:, 1]).tolist() == [*range(80, 300)]
    constant = X.copy()
    constant[:, 0] = 3.0  # one run: nothing to hold it against
    assert gross.flat(constant, nothing)[:, 2].sum() == 20


def test_fog_is_a_quarter_of_those_heard():
    humid = Quantity(Quality.BOUNDED, 0.0, 100.0)
    X = np.full((3, 9), 50.0)
    X[0, :3] = 99.0
    X[1, :2] = 99.5
    X[2, :3] = 98.9
    got = gross.saturated(X, humid)
    assert got[0].tolist() == [True] * 3 + [False] * 6
    assert not got[1:].any()
    X[1, 5:] = np.nan
    assert gross.saturated(X, humid)[1, :2].all()
    assert gross.saturated(100 - X, humid)[0, :3].all()
    assert not gross.saturated(X, Quantity(Quality.LINEAR, high=100.0)).any()


@pytest.mark.parametrize(("nodes", "asked"), [(5, True), (6, False)])
def test_distances_are_asked_of_fewer_than_six_nodes(nodes, asked):
    rng = np.random.default_rng(1)
    X = 50 + rng.normal(0, 0.1, (1000, nodes))
    X[:, :2] += 9 * np.sin(np.arange(1000) / 60)[:, None]
    found = np.zeros(X.shape, dtype=bool)
    found[400:440, -1] = True
    kept = keeps_its_distance(found, X, np.zeros(X.shape, dtype=bool))
    assert kept[400:440, -1].all() == kept.any() == asked


@pytest.mark.parametrize(("name", "bears"), [("humidity", True), ("Battery (V)", False)])
def test_another_condition_bears_witness_and_a_battery_does_not(name, bears):
    rng = np.random.default_rng(0)
    X, other = rng.normal(size=(2, 1500, 6))
    X[700:740, 3] += 9.0
    other[700:740, 3] -= 9.0
    flagged = np.zeros(X.shape, dtype=bool)
    flagged[700:740, 3] = flagged[900, 2] = True
    mute = np.zeros(X.shape, dtype=bool)
    seen = seen_too.by_conditions(X, flagged, Context(companions={name: other}), mute)
    assert seen[700:740, 3].all() == seen.any() == bears
    assert not seen[900, 2]
    shorter = Context(companions={name: other[1:]})
    assert not seen_too.by_conditions(X, flagged, shorter, mute).any()
    mute[710, 3] = True  # certainly false: no event
    assert not seen_too.by_conditions(X, flagged, Context(companions={name: other}), mute).any()
