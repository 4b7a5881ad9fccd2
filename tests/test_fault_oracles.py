"""Each measure of the search for faults against the slow and obvious one, on tiny records."""

import numpy as np
import pytest
from scipy.stats import binom

import naive_faults as naive
from fieldmend.faults import (
    events,
    excursions,
    gross,
    history,
    implied,
    lasting,
    neighbours,
    seen_too,
    shifts,
    stretches,
)
from fieldmend.faults.labels import Context
from fieldmend.faults.spikes import LEAST, SIDE, _score, smooth

HOUR = 3_600_000_000
SEEDS = range(2)


def holed(seed, shape, share=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    X[rng.random(shape) < share] = np.nan
    return X


def marked(seed, shape, share=0.4):
    return np.random.default_rng([seed, 1]).random(shape) < share


# Stretches


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("long", [3, 4000])
def test_medians_are_those_of_what_was_heard(seed, long, monkeypatch):
    monkeypatch.setattr(stretches, "LONG", long)
    X = holed(seed, (7 + seed, 6), 0.5)
    X[:, 0] = np.nan
    np.testing.assert_allclose(stretches.node_medians(X), naive.medians(X), rtol=1e-12)
    np.testing.assert_allclose(stretches.slot_medians(X), naive.medians(X.T), rtol=1e-12)


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
    assert power == np.frexp(1e308)[1]
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


def test_spread_is_not_far_below_the_networks():
    residual = np.array([[1.0, 0.1, 2.0, np.nan], [-1.0, 0.1, -2.0, np.nan]])
    trusted = ~np.isnan(residual)
    usual = naive.MAD * 1.0
    got = implied._spread(residual, trusted)
    assert got == pytest.approx([usual, 0.5 * usual, 2 * usual, usual])


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


@pytest.mark.parametrize(("volts", "low"), [(2.0, True), (2.41, True), (2.43, False)])
def test_a_battery_is_low_beside_what_it_was(volts, low):
    before = np.linspace(2.5, 2.7, 10)
    before[0] = 2.4
    voltage = np.concatenate([before, np.full(16, 2.6), np.full(4, volts)])
    assert neighbours.battery_low(voltage, 10, 30) is low
    assert not neighbours.battery_low(voltage[1:], 9, 29)  # too little is known
    assert not neighbours.battery_low(np.where(np.arange(30) < 10, voltage, np.nan), 10, 30)


# What looks like a fault


@pytest.mark.parametrize("seed", range(8))
def test_what_many_begin_together_is_shared(seed, monkeypatch):
    monkeypatch.setattr(events, "TOGETHER", 2)
    deviation = np.sign(holed(seed, (40, 6), 0.15))
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


@pytest.mark.parametrize("days", [2, 4, 7, 12])
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


@pytest.mark.parametrize("seed", SEEDS)
def test_a_spike_lies_beyond_both_sides(seed):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=70))
    values[[20, 21, 50]] += 9.0
    sound = np.ones(70, dtype=bool)
    sound[[5, 20, 21, 33]] = False
    beyond, off = naive.beyond_both(values, sound, SIDE)
    kept = off[sound]
    near = []
    for i in range(kept.size):
        around = [kept[np.clip(j, 0, kept.size - 1)] for j in range(i - 20, i + 21)]
        near.append(sorted(around)[20] / 0.674)
    limit = LEAST * np.maximum(near, naive.MAD * np.median(kept))
    place = np.maximum(np.cumsum(sound) - 1, 0)
    got = _score(values, sound, 50.0, 0.674)
    np.testing.assert_allclose(got, beyond / limit[place], rtol=1e-9, atol=1e-12)


def test_a_constant_node_that_moves_is_a_spike_however_small():
    values = np.ones(40)
    values[10] = 1.001
    sound = values == 1
    score = _score(values, sound, 50.0, 0.674)
    assert score[10] == np.inf
    assert not np.delete(score, 10).any()
    assert not smooth(np.array([0.0, 1.0] * 9))
    assert smooth(np.arange(9.0))


# How far a series goes out of its surroundings


def steps_of(values, step):
    """Means of so many slots each."""
    parts = [values[i : i + step] for i in range(0, len(values), step)]
    heard = [part[~np.isnan(part)] for part in parts]
    return [part.mean() if part.size else np.nan for part in heard]


def out_slowly(steps, shape, first):
    """Farthest mean of `lasts` steps above and below the median around, one column."""
    at = dict(enumerate(steps))
    centre = [at.get(i, np.nan) for i in range(first, first + shape.centre)]
    around = [at.get(i, np.nan) for i in range(first - shape.around, first)]
    around += [
        at.get(i, np.nan) for i in range(first + shape.centre, first + shape.centre + shape.around)
    ]
    held = []
    for i in range(shape.centre - shape.lasts + 1):
        part = [v for v in centre[i : i + shape.lasts] if not np.isnan(v)]
        if len(part) >= shape.lasts / 2 and part:
            held.append(np.mean(part))
    middle = naive.median(around)
    if not held or np.isnan(middle):
        return np.nan, np.nan
    return max(held) - middle, middle - min(held)


@pytest.mark.parametrize("length", [1, 3, 9, 14, 30])
@pytest.mark.parametrize("either", [False, True])
def test_how_far_columns_go_out(length, either):
    values = holed(length, (160, 4), 0.3)
    values[:70, 3] = np.nan
    shape = excursions.Shape.of(length)
    course = excursions.Course(values, alone=True, either=either)
    first = np.array([-2, 0, 7, 160 // shape.step - 4])
    high, low = course._out(shape, first, np.arange(4))
    for i, f in enumerate(first):
        for n in range(4):
            up, down = out_slowly(steps_of(values[:, n], shape.step), shape, f)
            if either:
                up = down = max(up, down)
            np.testing.assert_allclose([high[i, n], low[i, n]], [up, down], rtol=1e-9)


@pytest.mark.parametrize("alone", [True, False])
def test_a_share_is_of_other_stretches(alone):
    values = holed(1, (240, 4), 0.1)
    values[100:106, :2] += 6.0
    values[40:46, 0] += 5.0  # the node itself went there before: not asked
    course = excursions.Course(values, alone=alone)
    near = np.array([1, 2, 3])
    went = course(100, 106, 0, near)
    shape = excursions.Shape.of(6)
    first = 100 // shape.step - shape.lag
    last = -(-240 // shape.step) - shape.centre
    places = np.unique(np.linspace(0, last, excursions.PLACES).astype(int))
    steps = [steps_of(column, shape.step) for column in values.T]
    own = [out_slowly(steps[0], shape, p)[0] for p in places]
    mine = out_slowly(steps[0], shape, first)[0]
    kept = [
        p for p, o in zip(places, own, strict=True)
        if abs(p - first) > shape.centre and not o > 0.5 * mine
    ]  # fmt: skip
    usual = np.array([[out_slowly(steps[n], shape, p)[0] for n in near] for p in kept])
    theirs = np.array([out_slowly(steps[n], shape, first)[0] for n in near])
    whole = len(kept) / len(places) * 2 * 240 / (shape.step * shape.centre)
    measure = naive.medians(np.abs(usual))
    usual, scaled = usual / measure, theirs / measure
    if alone:
        share = [np.mean([u >= s for u in col if not np.isnan(u)]) for col, s in
                 zip(usual.T, scaled, strict=True)]  # fmt: skip
    else:
        whole *= 3
        every = usual[~np.isnan(usual)]
        share = [np.mean(every >= s) for s in scaled]
    least = 1 / (1 + whole * np.mean(~np.isnan(usual)))
    np.testing.assert_allclose(went.same, np.maximum(share, least), rtol=1e-9)
    spread = naive.medians(np.abs(values - naive.medians(values)))
    np.testing.assert_allclose(went.size, theirs / spread[near] / (mine / spread[0]), rtol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_chance_is_the_least_of_binomials(seed):
    rng = np.random.default_rng(seed)
    same, other = rng.uniform(0.001, 0.2, (2, 9))
    size, back = rng.uniform(0, 1, (2, 9))
    witness = sorted(s for s, z in zip(same, size, strict=True) if z >= 0.25 and s <= 0.1)
    against = [o for o, z in zip(other, back, strict=True) if z >= 0.25]
    chances = [1.0]
    for k, share in enumerate(witness, 1):
        if sum(o <= share for o in against) <= k / 3:
            chances.append(binom.sf(k - 1, 9, share))
    went = excursions.Went(size, back, lambda: same, lambda: other)
    assert seen_too.by_chance(went) == pytest.approx(min(chances), rel=1e-9)


def test_a_departure_is_seen_in_about_six_steps_of_a_power_of_two():
    for length in range(1, 300):
        shape = excursions.Shape.of(length)
        step = max(s for s in (1, 2, 4, 8, 16, 32, 64) if s <= max(length / 6, 1))
        inside = -(-length // step)
        assert (shape.step, shape.inside) == (step, inside)
        assert shape.lag == max(-(-6 // step), inside // 4)
        assert shape.lasts == max(1, inside // 2)
        assert shape.around == shape.centre == inside + 2 * shape.lag


# Levels left for long


@pytest.mark.parametrize("seed", SEEDS)
def test_the_clearest_stretch_of_blocks(seed):
    told = holed(seed, (14, 4), 0.1)
    told[5:9, 1] += 4.0
    told[8:, 2] -= 3.0
    got = shifts._largest(told, 2)
    want = naive.largest_shift(told, 2, shifts.AT_HOME)
    for n, (clear, first, stop, home, size, spread) in enumerate(want):
        assert (got.first[n], got.stop[n]) == (first, stop)
        found = got.clear[n], got.home[n], got.size[n], got.spread[n]
        assert found == pytest.approx((clear, home, size, spread))


@pytest.mark.parametrize(("blocks", "found"), [(6, False), (14, True)])
def test_a_shift_lasts_for_a_day_at_least(blocks, found):
    told = np.random.default_rng(0).normal(0, 0.1, (48, 6))
    told[20 : 20 + blocks, 2] += 9.0
    given = shifts.Blocks(told, np.arange(49) * 2)  # four days of an hour a slot
    got = shifts.outstanding(given, Context(slot=HOUR))
    assert [(s.node, s.inside.start, s.inside.stop) for s in got] == [
        (2, 40, 40 + 2 * blocks)
    ] * found
    assert shifts.outstanding(given, Context(slot=HOUR // 2)) == []  # two days


# Departures


def test_a_departure_is_averaged_over_what_is_known():
    z, known = holed(3, (40, 2), 0.0), marked(3, (40, 2), 0.3)
    got = lasting._rolling_mean(z, known)
    half = lasting.SMOOTH // 2
    for t, n in np.ndindex(z.shape):
        part = slice(max(t - half, 0), t + half + 1)
        total = np.where(known[part, n], z[part, n], 0.0).mean()
        want = total / max(known[part, n].mean(), 0.2) if known[t, n] else 0.0
        assert got[t, n] == pytest.approx(want)


def test_limits_of_a_departure_are_the_networks_own():
    sizes = np.abs(np.random.default_rng(0).standard_t(3, 900)) * 3
    q75, q90, q95 = np.quantile(sizes, (0.75, 0.9, 0.95))
    assert lasting._limits(sizes) == pytest.approx((q90, q95 * (q95 / q75) ** 2.5))
    assert lasting._limits(sizes / 100) == (lasting.LOW, lasting.HIGH)
    assert lasting._limits(np.zeros(5)) == (lasting.LOW, np.inf)
    assert lasting._limits(np.zeros(0)) == (np.inf, np.inf)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_size_of_a_deviation_is_in_spreads_of_its_side(seed):
    values, out = np.exp(holed(seed, (60, 5))), marked(seed, (60, 5), 0.1)
    values[:, 4] = 1.0 + 1e-6 * np.arange(60)  # hardly moves: a fifth of the usual at least
    kept = np.where(out, np.nan, values)
    deviation = values - naive.medians(kept)
    spread = naive.MAD * naive.medians(np.abs(kept - naive.medians(kept)))
    spread = np.maximum(spread, 0.2 * np.median(spread))
    scaled = np.full(values.shape, np.nan)
    for t, n in np.argwhere(~np.isnan(values)):
        side = np.sign(deviation[t, n]) or -1
        part = [abs(d) for d in (kept - naive.medians(kept))[:, n] if side * d > 0]
        wide = max(naive.MAD * naive.median(part) if part else 0.0, 0.5 * spread[n])
        scaled[t, n] = deviation[t, n] / wide
    common = naive.medians(np.where(out, np.nan, scaled).T)
    size, own = lasting._sizes(values, out)
    np.testing.assert_allclose(size, np.abs(scaled), rtol=1e-9)
    np.testing.assert_allclose(own, np.abs(scaled - common[:, None]), rtol=1e-9)


def test_a_node_is_given_up_from_where_it_is_mostly_off():
    found = np.zeros((100, 3), dtype=bool)
    observed = np.ones(found.shape, dtype=bool)
    found[40:, 0] = found[40:, 1] = True
    found[50:60, 0] = False
    found[60:84, 1] = False
    found[80:, 2] = True
    found[85, 2] = False
    got = lasting.given_up(found, observed)
    assert np.flatnonzero(got[:, 0]).tolist() == [*range(40, 100)]
    assert np.array_equal(got[:, 1], found[:, 1])  # 36 of 60: not three quarters
    assert np.array_equal(got[:, 2], found[:, 2])  # too short
    back = found.copy()
    back[99, 0] = False
    assert np.array_equal(lasting.given_up(back, observed), back)


def test_levels_that_nothing_reaches_are_entered_or_left_in_one_jump():
    rng = np.random.default_rng(0)
    X = 20 + rng.normal(size=(200, 4))
    low, high = np.quantile(X, (0.2, 0.8))
    far = gross.UNREAL * (high - low)
    X[50:60, 0] += 3 * far
    X[100:130, 1] += 2.5 * far * np.hanning(30)  # up and down, step by step
    X[180:, 2] -= 2 * far
    X[150:160, 3] += 0.7 * far
    X[55, 0] = 20.0  # a good reading between
    X[20:26, 3] = 20 + far * np.array([0.9, 1.5, 1.5, 1.5, 0.9, 0.3])  # by two steps
    found = gross.unreal(X, np.zeros(X.shape, dtype=bool))
    assert np.flatnonzero(found[:, 0]).tolist() == [*range(50, 55), *range(56, 60)]
    assert not found[:, [1, 3]].any()
    assert np.flatnonzero(found[:, 2]).tolist() == [*range(180, 200)]
