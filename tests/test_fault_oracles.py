"""Each measure of the search for faults against the slow and obvious one, on tiny records."""

import sys

import numpy as np
import pytest

import naive_faults as naive
from fieldmend.core import ranks
from fieldmend.faults import (
    events,
    history,
    implied,
    neighbours,
    stretches,
)
from fieldmend.faults.labels import Context
from fieldmend.faults.spikes import LEAST, SIDE, _jumping, _score, smooth
from tiny import holed, marked

HOUR = 3_600_000_000
SEEDS = range(2)


# Stretches


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wide", [3, 4000])
def test_medians_are_those_of_what_was_heard(seed, wide, monkeypatch):
    monkeypatch.setattr(ranks, "_WIDE", wide)
    X = holed(seed, (7 + seed, 6), 0.5)
    X[:, 0] = np.nan
    np.testing.assert_allclose(stretches.node_medians(X), naive.medians(X), rtol=1e-12)
    np.testing.assert_allclose(stretches.slot_medians(X), naive.medians(X.T), rtol=1e-12)


def test_the_middle_is_numpys_median():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 8, 99, 100, 101, 150):
        values = rng.normal(size=size)
        assert stretches.middle(values) == np.median(values)
        values[size // 2] = np.nan
        assert np.isnan(stretches.middle(values))


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_are_joined_grown_and_averaged(seed):
    marks, hull = marked(seed, 40), marked(seed + 9, 40, 0.6)
    assert [*zip(*stretches.stretches(marks), strict=True)] == naive.runs(marks)
    for gap in (1, 2, 3):
        np.testing.assert_array_equal(stretches.joined(marks, gap), naive.joined(marks, gap))
    np.testing.assert_array_equal(
        stretches.grown(marks & hull, hull), naive.grown(marks & hull, hull)
    )
    values = np.random.default_rng(seed).normal(size=40)
    for width in (1, 5, 15):
        np.testing.assert_allclose(stretches.rolling(values, width), naive.rolling(values, width))


def test_what_is_rare_is_told_by_two_quantiles():
    values = np.random.default_rng(0).standard_t(4, 500)
    q90, q99 = np.quantile(np.abs(values), (0.9, 0.99))
    assert stretches.rare(values, 2.0) == pytest.approx(q99**3 / q90**2)
    assert stretches.rare(np.ones(9)) == 6.0  # steps of one size have no tail
    assert stretches.rare(np.zeros(9)) == stretches.rare(np.zeros(0)) == np.inf


def test_readings_beyond_all_measure_are_cut_where_they_can_be_squared():
    values, power = stretches.bounded([[1.0, 4.0], [1e308, -1e308]])
    assert power == 1023  # 2¹⁰²⁴ is none
    assert values[1, 1] == -1e308 / 2.0**1023
    values, power = stretches.bounded([[3.0, 3.0], [3.0, -1e200]])
    assert (power, values[0, 0], values[1, 1]) == (2.0, 0.75, -1e60)
    values, power = stretches.bounded([[0.0, np.nan], [0.0, np.inf]])
    assert (power, values[0, 0], values[1, 1]) == (0.0, 0.0, 1e60)


# A node's own past


def test_equal_readings_are_counted_as_a_float32_tells_them_apart():
    found = history.repeats(np.array([5.0, 5.0, 5.0 * (1 + 1e-7), 6.0, 6.0 * (1 + 3e-7), 0, 0]))
    assert found.start.tolist() == [0, 3, 4, 5]
    assert found.length.tolist() == [3, 1, 1, 2]
    assert history.repeats(np.zeros(0)).length.size == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_node_is_as_rough_as_its_rougher_times(seed):
    values = np.random.default_rng(seed).normal(size=90) * np.where(np.arange(90) < 50, 1, 5)
    rough = [
        min(abs(values[i] - values[j]) for j in (i - 1, i + 1) if 0 <= j < 90) for i in range(90)
    ]
    np.testing.assert_allclose(history.roughness(values), rough)
    windows = np.quantile(naive.rolling(rough, history.NOISY_WINDOW), 0.75)
    wanted = max(naive.MAD * np.median(rough), np.quantile(rough, 0.75) / 1.15, windows / 0.8)
    assert history.usual_roughness(np.array(rough)) == pytest.approx(wanted)
    assert history.usual_roughness(np.zeros(0)) == 0.0
    assert history.roughness(np.ones(1)).tolist() == [0.0]


def noisy_slowly(values, usual):
    """Half of 41 readings three times as rough, 55 in a hundred turning; from wild to wild."""
    size, width = len(values), history.NOISY_WINDOW
    wild = history.roughness(values) > history.NOISY_TIMES * usual
    turns = np.zeros(size)
    for i in range(1, size - 1):
        turns[i] = (values[i] - values[i - 1]) * (values[i + 1] - values[i]) < 0
    core = (naive.rolling(wild, width) >= history.NOISY_SHARE) & (
        naive.rolling(turns, width) >= 0.55
    )
    out = np.zeros(size, dtype=bool)
    for a, b in naive.runs(naive.joined(core, width)):
        inside = [i for i in range(a - width // 2, b + width // 2) if 0 <= i < size and wild[i]]
        if len(inside) >= width // 2:
            out[inside[0] : inside[-1] + 1] = True
    return out


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("part", [(60, 130), (0, 25), (175, 200), (60, 85)])
def test_noise_is_wild_and_turns(seed, part):
    rng = np.random.default_rng(seed)
    values = np.sin(np.arange(200) / 20)
    a, b = part
    values[a:b] += rng.normal(0, 2, b - a)
    found = history.noisy(values, 0.1)
    np.testing.assert_array_equal(found, noisy_slowly(values, 0.1))
    assert found.any() or b - a < 30
    assert not history.noisy(np.cumsum(np.ones(60)), 0.1).any()  # a ramp does not turn


def test_a_resting_place_is_novel_if_it_is_jumped_to_and_from():
    values = np.concatenate([np.arange(20.0), np.full(12, 50.0), np.arange(20.0, 40.0)])
    assert history.novel(values, 20, 32)
    assert not history.novel(values[:32], 20, 32)  # at the end nobody knows
    assert not history.novel(values[20:], 0, 12)
    near = values.copy()
    near[20:32] = 21.5  # as near as three usual steps
    assert not history.novel(near, 20, 32)
    again = values.copy()
    again[40] = 50.02
    assert not history.novel(again, 20, 32)
    again[40] = 50.2
    assert history.novel(again, 20, 32)


def test_what_jumps_out_and_back_is_displaced():
    rng = np.random.default_rng(3)
    values = rng.normal(0, 0.1, 300)
    values[100:130] += 9.0
    slots = np.arange(300)
    found = history.displaced(values, values, slots)
    assert np.flatnonzero(found).tolist() == [*range(100, 130)]
    assert not history.displaced(values, rng.normal(0, 0.1, 300), slots).any()  # everybody's
    away = slots + 9 * (slots >= 130)
    assert not history.displaced(values, values, away).any()  # over a gap it may go anywhere
    near = slots + 2 * (slots >= 130)
    assert history.displaced(values, values, near).sum() == 30
    for_good = np.where(slots >= 100, 9.0, 0.0) + rng.normal(0, 0.1, 300)
    assert not history.displaced(for_good, for_good, slots).any()
    for height, out in ((5.0, 0), (5.5, 19)):  # steps are of one: six of them, and more
        steps = slots % 2 + height * ((slots > 100) & (slots < 120))
        assert history.displaced(steps, steps, slots).sum() == out
    down = -values
    assert np.flatnonzero(history.displaced(down, down, slots)).tolist() == [*range(100, 130)]


# What the others imply


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_others_imply_is_found_without_the_node(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(7, 2))
    Z = rng.normal(size=(12, 2)) @ A.T + 0.2 * rng.normal(size=(12, 7))
    Z[rng.random(Z.shape) < 0.15] = np.nan
    Z[3, 2] += 6.0
    Z[5, :5] = np.nan
    trusted = ~np.isnan(Z) & (rng.random(Z.shape) < 0.9)
    noise = rng.uniform(0.1, 0.4, 7)
    got = implied._left_out(Z, trusted, A, noise)
    want = naive.left_out(Z, trusted, A, noise, ridge=implied.RIDGE, tukey=implied.TUKEY)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)
    assert np.isnan(got).sum() > np.isnan(Z).sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_loadings_are_begun_from_the_window_that_explains_most(seed):
    rng = np.random.default_rng(seed)
    B, A = rng.normal(size=(36, 2)), rng.normal(size=(5, 2))
    seen = rng.random((36, 5)) < 0.9
    Y = B @ A.T + 0.05 * rng.normal(size=(36, 5))
    Y[6:18, 1] += rng.normal(0, 6, 12)  # two of the six parts
    Y = np.where(seen, Y, 0.0)
    parts = np.array_split(np.arange(36), implied.WINDOWS)
    least, wanted = np.full(5, np.inf), np.zeros((5, 2))
    away = [(k, (k + 1) % implied.WINDOWS) for k in range(implied.WINDOWS)] + [()]
    for gone in away:
        rows = np.concatenate([p for k, p in enumerate(parts) if k not in gone])
        for n in range(5):
            used = rows[seen[rows, n]]
            G = B[used].T @ B[used] + 1e-3 * np.eye(2)
            a = np.linalg.solve(G, B[used].T @ Y[used, n])
            error = np.median(np.abs(Y[:, n] - B @ a)[seen[:, n]])
            if error < least[n] - 1e-7:
                least[n], wanted[n] = error, a
    np.testing.assert_allclose(implied._best_window(Y, B, seen), wanted, atol=1e-6)
    assert np.abs(wanted[1] - A[1]).max() < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_factors_are_kept_as_predict_a_node(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(8, 3))
    A[:, 2] = 0.0
    A[5, 2] = 1.0  # one node's own: nobody can tell it
    Z = rng.normal(size=(25, 3)) @ A.T + 0.1 * rng.normal(size=(25, 8))
    trusted = np.ones(Z.shape, dtype=bool)
    noise = np.full(8, 0.3)
    kept = implied._useful(Z, trusted, A, noise)
    sizes = []
    for k in (1, 2, 3):
        off = naive.left_out(Z, trusted, A[:, :k], noise, ridge=implied.RIDGE, tukey=implied.TUKEY)
        sizes.append(naive.medians(np.abs(off - naive.medians(off))))
    count = np.argmin(sizes, axis=0) + 1
    wanted = np.array([[A[n, k] if k < count[n] else 0.0 for k in range(3)] for n in range(8)])
    np.testing.assert_array_equal(kept, wanted)


@pytest.mark.parametrize("slots", [12, 60])
def test_loadings_are_learnt_from_changes(slots):
    """Over a twentieth of the record, bounded; then six rounds of Tukey's weights."""
    rng = np.random.default_rng(slots)
    Z = np.cumsum(rng.normal(size=(slots, 2)), axis=0) @ rng.normal(size=(2, 8))
    Z += 0.2 * rng.normal(size=Z.shape)
    trusted = rng.random(Z.shape) < 0.9
    lag = max(1, slots // 20)
    seen = trusted[lag:] & trusted[:-lag]
    Y = np.where(seen, np.clip(Z[lag:] - Z[:-lag], -6, 6), 0.0)
    B = implied._factors(Y, seen, 2)
    A = implied._best_window(Y, B, seen)
    error = np.abs(Y - B @ A.T)
    for _ in range(6):
        for n in range(8):
            size = error[:, n] / (naive.MAD * np.median(error[seen[:, n], n]))
            w = seen[:, n] * (1 - np.minimum(size / implied.TUKEY, 1) ** 2) ** 2
            A[n] = np.linalg.solve((B.T * w) @ B + 1e-3 * np.eye(2), (B.T * w) @ Y[:, n])
        error = np.abs(Y - B @ A.T)
    noise = np.array([naive.MAD * np.median(error[seen[:, n], n]) for n in range(8)])
    got, spread = implied._loadings(Z, trusted)
    np.testing.assert_allclose(got, A, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(spread, np.maximum(noise, 0.2 * np.median(noise)), rtol=1e-4)


def test_a_factor_has_three_nodes_and_four_are_the_most():
    for nodes, rank in ((3, 1), (4, 1), (6, 1), (7, 2), (10, 3), (13, 4), (40, 4)):
        Z = np.random.default_rng(0).normal(size=(30, nodes))
        assert implied._loadings(Z, np.ones(Z.shape, dtype=bool))[0].shape == (nodes, rank)


def test_spread_is_not_far_below_the_networks():
    residual = np.array([[1.0, 0.1, 2.0, np.nan], [-1.0, 0.1, -2.0, np.nan]])
    trusted = ~np.isnan(residual)
    usual = naive.MAD * 1.0
    got = implied._spread(residual, trusted)
    assert got == pytest.approx([usual, 0.5 * usual, 2 * usual, usual])


def test_a_node_that_was_never_heard_is_scaled_by_nothing():
    X = np.array([[1.0, np.nan, 5.0], [3.0, np.nan, 5.0], [5.0, np.nan, 5.0]])
    centre, scale = implied._scaling(X, ~np.isnan(X))
    assert centre.tolist() == [3.0, 0.0, 5.0]
    floor = 1e-3 * np.median([naive.MAD * 2, 1.0])
    assert scale == pytest.approx([naive.MAD * 2, 1.0, floor])


def test_no_node_is_in_charge_of_a_factor():
    rng = np.random.default_rng(5)
    common = rng.normal(size=(200, 1))
    Y = common * rng.uniform(0.5, 1, 12) + 0.1 * rng.normal(size=(200, 12))
    Y[:, 3] = 6 * rng.normal(size=200)
    B = implied._factors(Y, np.ones(Y.shape, dtype=bool), 1)
    assert (B**2).mean() == pytest.approx(1.0)
    assert abs(np.corrcoef(B[:, 0], common[:, 0])[0, 1]) > 0.95


@pytest.mark.parametrize("seed", SEEDS)
def test_companions_are_those_whose_deviations_go_along(seed):
    X = holed(seed, (80, 5))
    X[7, 2] = 60.0
    got = neighbours.correlations(X)
    want = [[naive.correlation(X[:, i], X[:, j]) for j in range(5)] for i in range(5)]
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_levels_of_a_long_record_are_told_by_scattered_slots(monkeypatch):
    monkeypatch.setattr(implied, "LEVELS", 100)
    monkeypatch.setattr(implied, "HEARD", 20)
    some = implied._scattered(2400, 100)
    assert some.size == np.unique(some).size == 100
    assert (some.min(), some.max() < 2400) == (0, True)
    assert np.unique(some % 24).size == 24  # all hours, though the step is a day
    X = np.random.default_rng(0).normal(size=(2400, 2)) + np.array([5.0, -5.0])
    X[200:, 1] = np.nan  # heard in some eight of them
    trusted = ~np.isnan(X)
    centre, _ = implied._scaling(X, trusted)
    assert centre[0] == np.median(X[some, 0])
    assert centre[1] == np.median(X[:200, 1])


# What looks like a fault


@pytest.mark.parametrize("seed", range(8))
def test_what_many_begin_together_is_shared(seed, monkeypatch):
    monkeypatch.setattr(events, "TOGETHER", 2)
    deviation = np.sign(holed(seed, (40, 6), 0.15)) / 2
    found = marked(seed, (40, 6), 0.6) & ~np.isnan(deviation)
    off = marked(seed + 5, (40, 6), 0.2)
    rules = {"nodes": events.NODES, "share": events.SHARE, "together": 2}
    want = naive.shared(found, deviation, off, **rules)
    np.testing.assert_array_equal(events.shared(found, deviation, off), want)
    assert want.any()


def test_most_of_a_run_is_half_of_it():
    found = np.array([1, 1, 1, 1, 0, 1, 1, 1, 0, 1])[:, None] > 0
    part = np.array([1, 1, 0, 0, 1, 1, 0, 0, 0, 1])[:, None] > 0
    assert np.flatnonzero(events.mostly(part, found)).tolist() == [0, 1, 2, 3, 9]


def test_two_companions_on_the_same_side_make_it_local():
    at = {f"n{k}": {"x": float(k), "y": 0.0} for k in range(7)}
    context = Context(nodes=[*at], places=at)
    mean = np.zeros((4, 7))
    mean[0, :3] = 3.0
    mean[1, :2] = 3.0
    mean[2] = [3, -3, 3, -3, -3, 0, 0]
    mean[3, :3] = 2.0
    got = events.local(mean, 2.0, context, np.ones((4, 7)))
    assert got[0].tolist() == [True] * 3 + [False] * 4
    assert not got[1].any()
    assert got[2].tolist() == [False, True, False, True, True, False, False]
    assert not got[3].any()


@pytest.mark.parametrize("days", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("again", range(5))
def test_a_habit_is_as_many_days_as_it_takes(days, again):
    """A third of the others, two at least and three at most; one of a record below three days."""
    deviation = np.zeros((24 * days, 1))
    for day in range(min(again + 1, days)):
        deviation[24 * day + 5 : 24 * day + 9] = 4.0 if day == 0 else 2.0
    found = np.zeros(deviation.shape, dtype=bool)
    found[5:9] = True
    needed = min(max(-(-(days - 1) // 3), 2), 3) if days >= 3 else 1
    got = events.recurrent(found, deviation, Context(slot=HOUR))
    assert got[5:9].all() == got.any() == (min(again, days - 1) >= needed)
    assert not events.recurrent(
        found, np.where(found, deviation, -deviation), Context(slot=HOUR)
    ).any()


def test_a_habit_is_of_less_than_three_quarters_of_a_day_and_is_heard():
    deviation = np.zeros((240, 1))
    for day in range(10):
        deviation[24 * day + 2 : 24 * day + 21] = 4.0
    for stop, asked in ((20, True), (21, False)):
        found = np.zeros(deviation.shape, dtype=bool)
        found[2:stop] = True
        assert events.recurrent(found, deviation, Context(slot=HOUR)).any() == asked
    found[20] = False
    for heard, asked in ((10, True), (9, False)):
        silent = deviation.copy()
        for day in range(1, 10):
            silent[24 * day + 2 + heard : 24 * day + 21] = np.nan
        assert events.recurrent(found, silent, Context(slot=HOUR)).any() == asked
    assert not events.recurrent(found, deviation, Context(slot=0)).any()
    assert not events.recurrent(found, deviation, Context(slot=7 * HOUR)).any()


# Single readings


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_spike_lies_beyond_both_sides(seed, still):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=70) * (not still))
    values[::8] += 0.5 * still  # hardly moves: measured by how far it goes where it does
    values[[20, 21, 50]] += 9.0
    sound = np.ones(70, dtype=bool)
    sound[[5, 20, 21, 33]] = False
    beyond, off = naive.beyond_both(values, sound, SIDE)
    kept = off[sound]
    near = []
    for i in range(kept.size):
        around = [kept[np.clip(j, 0, kept.size - 1)] for j in range(i - 20, i + 21)]
        near.append(sorted(around)[20] / 0.674)
    usual = np.median(kept[kept > 0]) / 2 if still else naive.MAD * np.median(kept)
    limit = LEAST * np.maximum(near, usual)
    place = np.maximum(np.cumsum(sound) - 1, 0)
    got = _score(values, sound, 50.0, 0.674)
    np.testing.assert_allclose(got, beyond / limit[place], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("left", "asked"), [(2 * SIDE - 1, 1), (2 * SIDE, 2)])
def test_spikes_are_decided_again_as_long_as_enough_is_left(left, asked, monkeypatch):
    readings, rounds = np.arange(40.0), []

    def score(values, sound, *_):
        rounds.append(sound)
        return np.where(np.arange(values.size) < left, 0.0, np.inf)

    monkeypatch.setattr(sys.modules[smooth.__module__], "_score", score)
    found = _jumping(readings, readings, np.ones(40, dtype=bool))
    assert len(rounds) == 2 * asked  # of the residual, and of the readings
    assert np.flatnonzero(~found).tolist() == [*range(left)]


def test_a_constant_node_that_moves_is_a_spike_however_small():
    values = np.ones(40)
    values[10] = 1.001
    sound = values == 1
    score = _score(values, sound, 50.0, 0.674)
    assert score[10] == np.inf
    assert not np.delete(score, 10).any()
    assert not smooth(np.array([0.0, 1.0] * 9))
    assert smooth(np.arange(9.0))
