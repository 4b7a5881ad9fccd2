"""How far nodes depart, and for how long, against the slow and obvious on tiny records."""

import numpy as np
import pytest
from scipy.stats import binom

import naive_faults as naive
from fieldmend.faults import (
    astray,
    excursions,
    gross,
    lasting,
    seen_too,
    shifts,
)
from fieldmend.faults.labels import Context
from tiny import holed, marked

HOUR = 3_600_000_000
SEEDS = range(2)


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


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_how_far_columns_usually_go_is_their_own_measure(seed, alone):
    """A column that mostly rests is measured by how far it goes when it does not."""
    rng = np.random.default_rng(seed)
    usual = rng.integers(-3, 4, (40, 4)).astype(float)
    usual[rng.random(usual.shape) < 0.1] = np.nan
    usual[:30, 1] = 0.0
    usual[:, 3] = np.nan  # never heard
    mine = np.array([2.0, 1.0, np.nan, 1.0])
    measures, ratios = [], []
    for column in usual.T:
        sizes = [abs(u) for u in column if not np.isnan(u)]
        middle = np.median(sizes) if sizes else np.nan
        measures.append(middle if middle > 0 else naive.median([u for u in sizes if u > 0]))
        ratios.append([u / measures[-1] for u in column if not np.isnan(u)])
    every = [r for ratio in ratios for r in ratio]
    least = 1 / (1 + 50.0 * (1 if alone else 4) * np.mean(~np.isnan(usual)))
    want = []
    for own, measure, ratio in zip(mine, measures, ratios, strict=True):
        among = ratio if alone else every
        as_far = sum(r >= own / measure for r in among)
        share = as_far / len(among) if among else 0.0
        want.append(1.0 if np.isnan(own / measure) else max(share, least))
    course = excursions.Course(holed(0, (60, 4)), alone=alone)
    np.testing.assert_allclose(course._shares(mine, usual, 50.0), want, rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_chance_is_the_least_of_binomials(seed):
    """Some of them just at the limits: a quarter of the way, one stretch in ten."""
    rng = np.random.default_rng(seed)
    same, other = rng.integers(1, 9, (2, 9)) / 40
    size, back = rng.integers(0, 5, (2, 9)) / 4
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
    told = holed(seed, (20, 6), 0.1)
    told[5:9, 1] += 4.0
    told[8:, 2] -= 3.0
    told[3:17, 3] += 9.0
    told[3:17, 4] += 9.0
    told[17:, 4] += 2.5
    told[:, 5] = np.where(np.isnan(told[:, 5]), np.nan, np.nan_to_num(told[:, 5]).cumsum())
    got = shifts._largest(told, 2)
    want = naive.largest_shift(told, 2, shifts.AT_HOME, shifts.BACK)
    assert want[3][1:3] == (3, 17)
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


def test_nodes_stand_out_by_the_lower_half_of_logarithms():
    sizes = np.array([0.0, 1.0, 2.0, 3.0, 5.0, 90.0])
    logs = np.log(sizes[1:])
    middle = np.log(3.0)
    below = [middle - one for one in logs if one <= middle]
    wide = np.sqrt((np.sum(np.square(below)) + 5 * 0.25) / (len(below) + 5))
    got = shifts._standing(sizes)
    np.testing.assert_allclose(got[1:], (logs - middle) / max(wide, 1 / 3))
    other = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    height = (got + shifts._standing(other)) / 2 / (np.sqrt(2 * np.log(6)) + 0.5)
    np.testing.assert_allclose(shifts.height(sizes, other), height)
    assert not shifts.height(np.array([0.0, 1.0, 2.0, 0.0]), np.ones(4)).any()  # two are few


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
    size, own = astray._sizes(values, out)
    np.testing.assert_allclose(size, np.abs(scaled), rtol=1e-9)
    np.testing.assert_allclose(own, np.abs(scaled - common[:, None]), rtol=1e-9)


def test_what_happened_once_long_before_is_not_where_a_node_is_given_up():
    found = np.zeros((1000, 1), dtype=bool)
    found[100:104] = found[300:] = True  # a pump that tripped, and a sensor that failed
    observed = np.ones_like(found)
    assert np.array_equal(lasting.given_up(found, observed), found)
    found[104:200] = True  # by now it was failing
    out = lasting.given_up(found, observed)
    assert out[100:].all()
    assert not out[:100].any()


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


@pytest.mark.parametrize("turned", [False, True])
def test_a_level_that_nothing_reaches_may_be_entered_slowly_and_left_in_one_jump(turned):
    X = 20 + np.random.default_rng(0).normal(size=(200, 4))
    low, high = np.quantile(X, (0.2, 0.8))
    X[50:90, 0] += 3 * gross.UNREAL * (high - low) * np.linspace(0.02, 1, 40)
    X = X[::-1].copy() if turned else X
    found = gross.unreal(X, np.zeros(X.shape, dtype=bool))
    found = found[::-1] if turned else found
    assert np.flatnonzero(found[:, 0])[-1] == 89
    assert 20 < found.sum() < 35


def test_within_a_departure_runs_are_off_by_a_third_of_its_peak():
    sizes = np.zeros(60)
    sizes[5:15], sizes[40:50] = 2.0, 2.0
    sizes[8], sizes[44] = 12.0, 4.1
    marks = np.zeros(60, dtype=bool)
    marks[5:15] = marks[40:50] = True
    np.testing.assert_array_equal(lasting._off(sizes, 1.0), marks)
    sizes[44] = 4.0  # a third, and no more
    marks[40:50] = False
    np.testing.assert_array_equal(lasting._off(sizes, 1.0), marks)
    # Seven slots do not part a run, eight do.
    sizes = np.zeros(60)
    sizes[[10, 18]] = 9.0
    marks = np.isin(np.arange(60), range(10, 19))
    np.testing.assert_array_equal(lasting._off(sizes, 1.0), marks)
    sizes[[18, 19]] = 0.0, 9.0
    assert not lasting._off(sizes, 1.0).any()  # and two readings alone are no departure
    sizes[:] = np.where(np.arange(60) < 7, 3.0, 1.0)  # at the limit is not beyond it
    assert lasting._off(sizes, 1.0).sum() == 7
    sizes[0] = 0.0
    assert not lasting._off(sizes, 1.0).any()


@pytest.mark.parametrize(("readings", "lasts"), [(24, False), (25, True)])
def test_days_are_counted_from_the_first_reading_to_the_last(readings, lasts):
    """Of an hour each; some are lost, and sound ones follow."""
    accused = np.zeros((80, 2), dtype=bool)
    accused[20 : 20 + readings, 1] = True
    observed = np.ones(accused.shape, dtype=bool)
    observed[25:30, 1] = False
    found = lasting._for_days(accused & observed, observed, Context(slot=3_600_000_000))
    assert found.any() == lasts
    np.testing.assert_array_equal(found, accused & observed & lasts)
