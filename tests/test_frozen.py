"""Many nodes that stand still for the same slots: found; what really rests together: never."""

import numpy as np
import pytest
from scipy.stats import poisson

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults import ranking
from fieldmend.faults.frozen import _by_chance, _crowds, _poisson, _unusual, frozen
from fieldmend.faults.runs import runs_of
from fieldmend.quantities import Kind, Quantity

HOUR = 3_600_000_000
HOURLY = faults.Context(slot=HOUR)
DAYS, NODES = 20, 12


def busy(seed, nodes=NODES):
    """Counts of a day with two peaks: never twice the same, near zero at night."""
    rng = np.random.default_rng(seed)
    hour = np.arange(24 * DAYS) % 24
    course = np.exp(-0.5 * ((hour - 8) / 2.5) ** 2) + np.exp(-0.5 * ((hour - 17) / 3) ** 2)
    X = (0.02 + course[:, None]) * rng.uniform(0.5, 2, nodes)
    return np.round(X * np.exp(0.2 * rng.normal(size=X.shape)), 4)


def spans(found):
    """(first, one past last) → nodes of each stretch."""
    out = {}
    for n in range(found.shape[1]):
        edges = np.flatnonzero(np.diff(found[:, n].astype(int), prepend=0, append=0))
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            out.setdefault((a, b), set()).add(n)
    return out


@pytest.mark.parametrize("nodes", [(1, 4, 7), range(NODES)])
@pytest.mark.parametrize("fill", ["last", 0.0])
def test_what_many_repeat_in_the_same_slots_nobody_measured(nodes, fill):
    for seed in range(3):
        X = busy(seed)
        for n in nodes:
            X[201:214, n] = X[200, n] if fill == "last" else fill
        start = 200 if fill == "last" else 201
        assert spans(frozen(X, HOURLY)) == {(start, 214): set(nodes)}


def test_sound_records_are_not_frozen():
    assert not any(frozen(busy(seed), HOURLY).any() for seed in range(5))


def test_two_are_no_crowd_and_three_equal_readings_no_freeze():
    X = busy(1)
    X[200:214, [2, 3]] = X[200, [2, 3]]
    X[300:303] = X[300]
    assert not frozen(X, HOURLY).any()


def test_those_that_begin_or_end_elsewhere_are_not_of_the_crowd():
    X = busy(1)
    X[200:214, :4] = X[200, :4]
    X[205:214, 5] = X[205, 5]
    X[200:209, 6] = X[200, 6]
    assert spans(frozen(X, HOURLY)) == {(200, 214): {0, 1, 2, 3}}


def test_readings_lost_at_the_edges_part_nobody():
    X = busy(2)
    X[200:214, :6] = X[200, :6]
    X[200, 1] = X[213, 2] = X[199, 3] = X[214, 4] = np.nan
    found = frozen(X, HOURLY)
    assert set(np.flatnonzero(found.any(axis=0)).tolist()) == set(range(6))
    assert not (found & np.isnan(X)).any()


def test_a_freeze_may_last_to_the_end_but_not_from_the_beginning():
    X = busy(3)
    X[-14:, :6] = X[-14, :6]
    assert spans(frozen(X, HOURLY)) == {(len(X) - 14, len(X)): set(range(6))}
    X = busy(3)
    X[:14, :6] = X[0, :6]
    assert not frozen(X, HOURLY).any()


def test_an_outage_of_all_begins_and_ends_no_run():
    """Whoever rests between two outages seems to begin and end with them."""
    X = busy(3)
    X[200:214, :6] = X[200, :6]
    for silent in (slice(195, 200), slice(214, 219)):
        Y = X.copy()
        Y[silent] = np.nan
        assert not frozen(Y, HOURLY).any()
    assert frozen(X, HOURLY).any()


# What rests together


def test_nights_are_not_frozen():
    """They come again, at the same hours; runs by day are as short as in any record."""
    X = busy(10)
    hour = np.arange(len(X)) % 24
    X[(hour >= 1) & (hour < 5)] = 0.0
    X[::7, ::3] += 0.01  # so that few of the runs are long
    assert not frozen(X, HOURLY).any()
    X[24 * 9 + 9 : 24 * 9 + 19] = 0.0
    assert spans(frozen(X, HOURLY)) == {(24 * 9 + 9, 24 * 9 + 19): set(range(NODES))}


def test_the_first_days_of_a_record_cannot_tell_a_night():
    X = busy(4)[: 24 * 2 + 10]
    X[20:30] = X[20]
    assert not frozen(X, HOURLY).any()
    long = busy(4)
    long[20:30] = long[20]
    assert frozen(long, HOURLY).any()
    assert not frozen(long, faults.Context()).any()
    assert frozen(long, faults.Context(slot=24 * HOUR)).any()  # a day has no hours


def test_of_those_that_rest_daily_more_must_not_make_a_freeze_of_it():
    X = busy(11)
    hour = np.arange(len(X)) % 24
    X[hour == 12, :4] = 7.0
    X[24 * 9 + 9 : 24 * 9 + 19, :7] = 7.0
    assert not frozen(X, HOURLY).any()
    X[24 * 9 + 9 : 24 * 9 + 19, 7:10] = 7.0
    assert frozen(X, HOURLY)[24 * 9 + 9 : 24 * 9 + 19, :10].all()


def test_what_stands_still_on_sundays_is_no_fault():
    weeks = np.concatenate([busy(seed)[: 24 * 14] for seed in range(2)])
    for sunday in range(6, 28, 7):
        part = slice(24 * sunday, 24 * sunday + 20)
        weeks[part] = weeks[24 * sunday]
    assert not frozen(weeks, HOURLY).any()
    once = np.concatenate([busy(seed)[: 24 * 14] for seed in range(2)])
    once[24 * 13 : 24 * 13 + 20] = once[24 * 13]
    assert frozen(once, HOURLY)[24 * 13 : 24 * 13 + 20].all()


def test_what_is_usual_for_slow_quantised_sensors_is_not_frozen():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        slow = np.cumsum(rng.normal(0, 0.2, 700))[:, None] + rng.normal(0, 0.1, (700, 30))
        assert not frozen(np.round(slow), faults.Context(slot=HOUR // 6)).any()


def test_values_sent_several_times_are_how_the_network_is():
    X = np.repeat(busy(5), 6, axis=0)
    assert not frozen(X, faults.Context(slot=HOUR // 6)).any()


def test_a_calm_is_ragged():
    X = busy(6)
    X[200:214, :3] = 0.0
    assert frozen(X, HOURLY).any()
    for n, (a, b) in enumerate([(196, 210), (198, 218), (203, 213)], start=3):
        X[a:b, n] = 0.0
    assert not frozen(X, HOURLY).any()


def test_wind_that_dies_down_at_all_masts_at_once_is_a_calm():
    """They come to 0 in one slot, and leave it in one; a breeze does not end in zeros so."""
    rng = np.random.default_rng(3)
    common = np.cumsum(rng.normal(0, 0.4, 24 * DAYS))
    common += 6 - np.minimum(common.min(), 0)
    wind = np.round(common[:, None] + rng.normal(0, 0.1, (24 * DAYS, NODES)), 2)
    calm = wind.copy()
    down = np.linspace(1, 0, 12)[:, None]
    calm[200:212] *= down
    calm[212:224] = 0.0
    calm[224:236] *= down[::-1]
    calm[211] = calm[224] = 0.6
    assert not frozen(calm, HOURLY).any()
    large = calm.copy()
    large[211] = 1.1  # a step that one in fifty of its steps exceeds
    assert frozen(large, HOURLY).any()
    large[60] = 0.0  # where all of them have been before
    assert not frozen(large, HOURLY).any()
    wind[212:224] = 0.0
    assert spans(frozen(wind, HOURLY)) == {(212, 224): set(range(NODES))}


def test_chance_counts_how_many_runs_there_are():
    def crowd(others):
        X = np.arange(4000.0)[:, None] + np.zeros(60)
        X[200:205, :3] = -1.0
        for i in range(others):
            X[300 + 10 * (i % 300) : 305 + 10 * (i % 300), 3 + i // 300] = -1.0
        runs = runs_of(X)
        same = np.flatnonzero((runs.first == 200) & (runs.length == 5))
        return _by_chance(runs.of(same), runs, len(X))

    # Of 4,000 slots one has three of 100 runs with a chance of 1 %.
    assert not crowd(80)
    assert crowd(140)


def test_a_value_that_the_hours_know_is_no_freeze():
    rng = np.random.default_rng(1)
    X = np.maximum(np.round(rng.normal(3, 2.4, (24 * DAYS, NODES)), 2), 0.0)  # calm now and then
    assert not frozen(X, HOURLY).any()
    X[203:216, :5] = 0.0
    assert not frozen(X, HOURLY).any()
    X[203:216, :5] = -0.5
    assert spans(frozen(X, HOURLY)) == {(203, 216): set(range(5))}


# By the slow and obvious


def coarse(seed, slots=120, nodes=5):
    """Readings of a few values, so that there are runs of all lengths, ended by silences."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (slots, nodes)).astype(float)
    for n in range(nodes):
        for a in rng.integers(0, slots - 20, 2):
            X[a : a + rng.integers(4, 20), n] = 9.0
    X[40:60, :3] = 9.0
    X[0, 1] = X[1, 1] = 9.0
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 4] = np.where(np.arange(slots) > 7, X[:, 4], np.nan)
    return X


@pytest.mark.parametrize("seed", range(6))
def test_runs_that_are_long_and_whose_edges_were_seen(seed):
    X = coarse(seed)
    runs, want, lengths = runs_of(X), [], {}
    for n, column in enumerate(X.T):
        heard = [t for t in range(len(X)) if not np.isnan(column[t])]
        changes = [i for i in range(1, len(heard)) if column[heard[i]] != column[heard[i - 1]]]
        for i, j in zip([0, *changes], [*changes, len(heard)], strict=True):
            before = heard[i - 1] if i else -1
            after = heard[j] if j < len(heard) else len(X)
            want.append((heard[i], n, j - i, before, heard[j - 1], after))
            lengths.setdefault(n, []).append(j - i)
    names = "first", "node", "length", "before", "last", "after"
    assert [*zip(*(getattr(runs, name).tolist() for name in names), strict=True)] == want
    all_of = np.quantile([one for own in lengths.values() for one in own], 0.99)
    for run, long in zip(want, _unusual(runs, X.shape), strict=True):
        first, n, length, before, last, after = run
        usual = max(all_of, np.quantile(lengths[n], 0.99))
        seen = before >= 0 and first - before <= 3 and after - last <= 3
        assert long == (seen and length >= 4 and length > 2 * usual)


def test_four_equal_readings_are_a_run_and_three_may_be_one_sent_again():
    X = np.arange(2000.0)[:, None] + np.zeros(3)
    X[1:5, 0] = X[101:104, 0] = -1.0  # the first reading of all was another
    runs = runs_of(X)
    long = _unusual(runs, X.shape)
    assert [*zip(runs.first[long].tolist(), runs.length[long].tolist(), strict=True)] == [(1, 4)]
    for heard, seen in ((7, 1), (8, 0)):  # the reading after it
        X[5:heard, 0] = np.nan
        assert _unusual(runs_of(X), X.shape).sum() == seen


def by_first(runs):
    return runs.of(np.argsort(runs.first, kind="stable"))


@pytest.mark.parametrize("seed", range(6))
def test_crowds_are_runs_that_may_share_both_edges(seed):
    X = coarse(seed)
    X[39:61, :3] = np.array([1.0, *[9.0] * 20, 1.0])[:, None]
    X[40, 0] = X[59, 1] = np.nan
    runs = runs_of(X)
    runs = by_first(runs.of(np.flatnonzero(runs.length >= 2)))
    edges = {(int(a), int(b)) for a, b in zip(runs.first, runs.last, strict=True)}
    want = []
    for a, b in sorted(edges):
        near = [
            i
            for i in range(runs.node.size)
            if runs.before[i] < a <= runs.first[i] < a + 3 and runs.last[i] <= b < runs.after[i]
        ]
        if len(near) >= 3:
            want.append(near)
    want.sort(key=lambda near: -len(near))
    assert [crowd.tolist() for crowd in _crowds(runs)] == want
    assert want


@pytest.mark.parametrize("seed", range(30))
def test_a_crowd_is_chance_where_runs_are_many_or_others_are_as_still(seed):
    X = coarse(seed, slots=600, nodes=9)
    X[50:70, : 3 + seed % 4] = 9.0
    X[47:60, 7] = X[55 + seed % 16 : 85, 8] = X[45:75, 6] = 5.0
    every = runs_of(X)
    long = by_first(every.of(np.flatnonzero(every.length > 9)))
    for crowd in _crowds(long):
        own = long.of(crowd)
        shortest, a, b = own.length.min(), own.first.min(), own.last.max()
        others = (every.length >= shortest).sum() - own.node.size
        often = 600 * poisson.sf(own.node.size - 1, (others + 1) / 600)
        still = set()
        for i in range(every.node.size):
            about = every.first[i] <= b and every.last[i] >= a
            half = every.length[i] >= max(shortest / 2, 2)
            begun = every.before[i] < a <= every.first[i]
            ended = every.last[i] <= b < every.after[i]
            if about and half and not begun and not ended:
                still.add(int(every.node[i]))
        calm = len(still - set(own.node.tolist())) >= own.node.size
        assert _by_chance(own, every, 600) == (often > 0.01 or calm)


def test_the_chance_of_so_many_is_poissons():
    for least, mean in ((1, 0.2), (3, 0.05), (4, 2.0), (9, 3.0)):
        assert _poisson(least, mean) == pytest.approx(poisson.sf(least - 1, mean), rel=1e-9)
    assert 0 < _poisson(9, 1e-3) < 1e-30  # less than rounding leaves of 1


# All the way


def test_a_zero_filled_afternoon_is_flagged_at_every_node_and_told_in_one_line():
    X = busy(7)
    X[24 * 12 + 11 : 24 * 13] = 0.0
    X[24 * 5 + 9 : 24 * 5 + 20, :6] = X[24 * 5 + 9, :6]
    one = fm.recover(fm.Grid.of(X, condition="occupancy", slot_seconds=3600), holdout=False)
    found = one["occupancy"]
    flagged = np.isin(found.flag, (3, 4))
    assert flagged[24 * 12 + 11 : 24 * 13].all()
    assert flagged[24 * 5 + 9 : 24 * 5 + 20, :6].all()
    items = ranking.ranked({"occupancy": found.episodes}, NODES, len(X))
    assert [(item.kind, len(item.nodes)) for item in items[:2]] == [("stuck", NODES), ("stuck", 6)]
    assert all(item.together for item in items[:2])


def test_quantities_that_may_stand_still_are_not_asked():
    X = np.cumsum(busy(8), axis=0)
    X[200:214] = X[200]
    meter = faults.Context(slot=HOUR, quantity=Quantity(Kind.ACCUMULATOR, low=0.0))
    assert not faults.search(X, meter).frozen.any()
    assert faults.search(X, HOURLY).frozen[200:214].all()


def test_two_freezes_one_after_the_other_are_two_episodes():
    X = busy(9)
    for a, b in ((206, 216), (224, 236)):
        X[a:b, :5] = X[a, :5]
    found = faults.search(X, HOURLY)
    episodes = faults.classify(X, busy(9), found.faults, HOURLY, found.faults)
    mine = [(e.start, e.stop, str(e.kind)) for e in episodes if e.node == 2]
    assert mine == [(206, 216, "stuck"), (224, 236, "stuck")]
