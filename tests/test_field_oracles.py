"""Parts of the field model against the slow and obvious, on tiny records."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from fieldmend.field import cycles, flags, holdout, jumps, lean
from fieldmend.field.jumps import JumpLaw, Readings
from fieldmend.field.model import Data
from tiny import record

SEEDS = range(2)


# Leaning


def shrunk(error, towards, witnesses, usual):
    bound = 4 * np.quantile(np.maximum(np.abs(error), np.abs(error - towards)), 0.95)
    error, towards = np.clip(error, -bound, bound), np.clip(towards, -bound, bound)
    curve = (towards**2).sum()
    prior = 30 / witnesses * min(1.0, min((error**2).sum(), ((error - towards) ** 2).sum()) / curve)
    return min(1.0, max(0.0, ((error * towards).sum() / curve + prior * usual) / (1 + prior)))


@pytest.mark.parametrize("outages", [False, True])
def test_weights_of_a_second_estimate_by_remoteness(outages):
    rng = np.random.default_rng(0)
    remote = np.concatenate(
        [np.full(19, 0.5), np.full(20, 1.5), np.full(40, 5.0), np.full(30, 50.0)]
    )
    truth, model_, other = rng.normal(size=(3, 109))
    truth += 0.5 * other
    other[[3, 60]] = np.nan  # says nothing there
    there = np.isfinite(other)
    number = rng.integers(0, 6, 109) if outages else None

    def weight(own, usual):
        own = own & there
        if own.sum() < 20:
            return usual
        witnesses = (
            len(set(number[own])) if outages else own.sum() / max(1, 4 * np.median(remote[own]))
        )
        return shrunk((truth - model_)[own], (other - model_)[own], witnesses, usual)

    usual = weight(np.ones(109, dtype=bool), 0.5)
    edges = [0.0, 0.75, 2.0, 8.0, 30.0, np.inf]
    wanted = [weight((remote > a) & (remote <= b), usual) for a, b in pairwise(edges)]
    found = lean.lean_to_second(truth, model_, other, remote, outage=number)
    assert found.weight == pytest.approx(wanted, rel=1e-9)
    mixed = found.mix(model_, other, remote)
    assert mixed[3] == model_[3]
    assert mixed[50] == pytest.approx(model_[50] + wanted[2] * (other - model_)[50])
    few = slice(0, 19)
    alone = lean.lean_to_second(truth[few], model_[few], other[few], remote[few], usual=0.3)
    assert alone.weight.tolist() == [0.3] * 5


def test_twenty_hidden_readings_say_something_of_all():
    rng = np.random.default_rng(1)
    truth, given, other = rng.normal(size=(3, 20))
    remote = np.full(20, 5.0)
    witnesses = 20 / 20
    wanted = shrunk(truth - given, other - given, witnesses, 0.5)
    found = lean.lean_to_second(truth, given, other, remote)
    assert found.weight[0] == pytest.approx(wanted)  # a class without readings: as all
    assert found.weight[2] == pytest.approx(shrunk(truth - given, other - given, witnesses, wanted))


def test_sixty_hidden_readings_decide_a_class():
    rng = np.random.default_rng(2)
    simple = rng.normal(size=120)
    truth, given = simple + 0.1 * rng.normal(size=120), np.zeros(120)
    remote = np.where(np.arange(120) < 60, 1.0, 5.0)
    every = lean.choose_lean(truth, given, simple, remote, np.arange(120)).weight
    assert (every > 0.9).tolist() == [False, True, True, False, False]
    fewer = lean.choose_lean(truth[1:], given[1:], simple[1:], remote[1:], np.arange(119)).weight
    assert (fewer > 0.9).tolist() == [False, False, True, False, False]
    far = truth.copy()
    far[0] = 1e6  # one gross error does not decide
    assert lean.choose_lean(far, given, simple, remote, np.arange(120)).weight[1] > 0.3


# Jumps and false segments


def law(seed=0, count=3):
    rng = np.random.default_rng(seed)
    return JumpLaw(rng.uniform(0.5, 2, count), np.array([1.0, 1.5, 2.0]), 3.0, 40.0,
                   rng.normal(size=count), rng.uniform(1, 2, count))  # fmt: skip


def test_a_jump_is_students_t_and_wider_over_longer_gaps():
    one = law()
    jump, gap, node = (
        np.array([0.5, -3.0, 2.0, 9.0]),
        np.array([1, 3, 7, 100]),
        np.array([0, 1, 2, 0]),
    )
    wide = one.scale[node] * np.array([1.0, 1.5, 2.0, 2.0])
    np.testing.assert_allclose(
        one.log_density(jump, gap, node), stats.t.logpdf(jump, 3.0, scale=wide), rtol=1e-9
    )
    np.testing.assert_allclose(one.highest(), stats.t.logpdf(0, 3.0, scale=one.scale), rtol=1e-9)
    spread = one.spread[node] / stats.t.ppf(0.75, 3.0)
    np.testing.assert_allclose(
        one.log_level(jump, node),
        stats.t.logpdf(jump, 3.0, loc=one.centre[node], scale=spread), rtol=1e-9,
    )  # fmt: skip


def middle_slowly(sizes):
    ordered = sorted(sizes)
    still = sum(s <= 0 for s in sizes)
    step = min(still + (len(sizes) - still) // 20, len(sizes) - 1)
    return max(ordered[len(sizes) // 2], ordered[len(sizes) * 4 // 5] / 4, ordered[step])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_law_of_jumps_is_the_nodes_own_and_the_networks(seed):
    rng = np.random.default_rng(seed)
    used = rng.random((4, 300)) < np.array([0.9, 0.5, 0.15, 0.0])[:, None]
    walk = np.cumsum(rng.standard_t(3, (4, 300)) * np.array([1.0, 3, 1, 1])[:, None], axis=1)
    at = Readings.where(used, np.arange(300))
    found = jumps.fit_jumps(walk[used], at, 4)
    sizes, gaps, of = [], [], []
    for n in range(4):
        slots = np.flatnonzero(used[n])
        sizes += np.abs(np.diff(walk[n, slots])).tolist()
        gaps += np.diff(slots).tolist()
        of += [n] * max(len(slots) - 1, 0)
    sizes, octave, of = np.array(sizes), np.log2(gaps).astype(int), np.array(of)
    rise, scale = np.ones(octave.max() + 1), np.ones(4)
    for _ in range(2):
        part = sizes / rise[octave]
        usual = middle_slowly(part) + 1e-4
        for n in range(4):
            own = part[of == n]
            trust = own.size / (own.size + 10)
            scale[n] = ((middle_slowly(own) if own.size else 0.0) + 1e-4) ** trust * usual ** (
                1 - trust
            )
        part = sizes / scale[of]
        told = []
        for k in range(len(rise)):
            here = part[octave == k]
            told.append(middle_slowly(here) if here.size >= 20 else told[-1] * 1.2 if k else 1.0)
        rise = np.maximum.accumulate(np.maximum(told, 1e-4))
        rise = rise / rise[0]
    z = sizes / (scale[of] * rise[octave])
    scores = {}
    for nu in (1.2, 1.6, 2.0, 3.0, 5.0, 10.0, 30.0):
        half = stats.t.ppf(0.75, nu)
        scores[nu] = (stats.t.logpdf(z * half, nu) + np.log(half)).mean()
    best = max(scores, key=scores.get)
    assert found.freedom == best
    np.testing.assert_allclose(found.rise, rise, rtol=1e-9)
    np.testing.assert_allclose(found.scale, scale / stats.t.ppf(0.75, best), rtol=1e-9)
    low, high = np.percentile(walk[used], (1, 99))
    assert found.width == pytest.approx(2 * max(high - low, 10 * np.median(scale)))
    for n in range(3):
        own = walk[n, used[n]]
        assert found.centre[n] == pytest.approx(np.median(own))
        assert found.spread[n] == pytest.approx(
            max(np.median(np.abs(own - np.median(own))), scale[n])
        )
    assert (found.centre[3], found.spread[3]) == (0.0, pytest.approx(max(1.0, scale[3])))


def density(one, n, before, after):
    """Of the jump between two readings (slot, value) of node n."""
    wide = one.scale[n] * one.rise[min(int(np.log2(after[0] - before[0])), 2)]
    return stats.t.logpdf(after[1] - before[1], 3.0, scale=wide)


def usual(one, n, value):
    wide = one.spread[n] / stats.t.ppf(0.75, 3.0)
    return stats.t.logpdf(value, 3.0, loc=one.centre[n], scale=wide)


def evidence(one, n, part, i, j):
    """That readings i to j − 1 of a node are false; with nothing on one side, by their level."""
    score = -np.log(one.width)
    for k in range(i + 1, j):  # what only a second false reading explains
        loss = -density(one, n, part[k - 1], part[k])
        score += max(loss - np.log(one.width) + np.log(0.01), 0)
    first, last = i == 0, j == len(part)
    score -= 0.0 if first else density(one, n, part[i - 1], part[i])
    score -= 0.0 if last else density(one, n, part[j - 1], part[j])
    if first or last:
        outside, inside = (part[j][1], part[j - 1][1]) if first else (part[i - 1][1], part[i][1])
        return score + usual(one, n, outside) - usual(one, n, inside) - 4
    return score + density(one, n, part[i - 1], part[j])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_evidence_of_a_segment_is_two_jumps_against_one(seed):
    rng = np.random.default_rng(seed)
    used = rng.random((3, 14)) < 0.8
    values = rng.normal(size=used.shape) * 4
    one, at = law(seed), Readings.where(used, np.arange(14))
    scorer = flags._Scorer(values[used], at, one)
    place = 0
    for n in range(3):
        part = [(t, values[n, t]) for t in np.flatnonzero(used[n])]
        pairs = [(i, j) for i in range(len(part)) for j in range(i + 1, min(i + 6, len(part)))]
        pairs += [(i, len(part)) for i in range(1, len(part))]
        start, end = (place + np.array(side) for side in zip(*pairs, strict=True))
        wanted = [evidence(one, n, part, i, j) for i, j in pairs]
        np.testing.assert_allclose(scorer.score(start, end), wanted, rtol=1e-9)
        assert (scorer.most(start, end) >= np.array(wanted) - 1e-9).all()
        place += len(part)


def test_how_far_a_segment_is_from_being_believed():
    got = flags._prior((0.01, 0.001))
    assert got[1] == pytest.approx(np.log(0.01) - 3)
    assert got[2] == pytest.approx(np.log(0.001) - 3 - 0.1)
    assert got[50] == pytest.approx(np.log(0.001) - 3 - 4.9)
    many = flags._prior((0.1, 0.001))
    assert many[2] == pytest.approx(2 * np.log(0.1) - 3 - 0.1)  # two side by side
    assert flags._rates(np.array([1, 1, 4]), 900) == pytest.approx((3 / 1000, 1.2 / 1100))
    assert flags._rates(np.ones(90, int), 10) == (0.1, pytest.approx(0.2 / 210))
    assert flags._rates(np.full(90, 5), 10)[1] == 0.02


@pytest.mark.parametrize("seed", range(5))
def test_the_segments_chosen_have_the_largest_total(seed):
    rng = np.random.default_rng(seed)
    start, length = rng.integers(0, 15, 9), rng.integers(1, 5, 9)
    score = rng.uniform(0.1, 3, 9)
    best, total = (), 0.0
    for bits in range(2**9):
        chosen = [k for k in range(9) if bits >> k & 1]
        spans = sorted((start[k], start[k] + length[k]) for k in chosen)
        if all(b < c for (_, b), (c, _) in pairwise(spans)):
            here = score[chosen].sum()
            if here > total:
                best, total = chosen, here
    got = flags._chosen(start, length, score)
    assert got[2].sum() == pytest.approx(total)
    assert sorted(zip(got[0], got[1], strict=True)) == sorted((start[k], length[k]) for k in best)


def test_a_segment_that_goes_twice_as_far_as_it_jumped_has_moved():
    for far, moved in ((2.1, True), (1.9, False)):
        values = np.array([0.0, 0, 1, far, far, 1, 0, 0])
        at = Readings(np.arange(8), np.zeros(8, int))
        assert flags._moved(values, at, np.array([2]), np.array([4])).tolist() == [moved]
        assert not flags._moved(values, at, np.array([2]), np.array([3])).any()  # too short
        end = values[:6]
        at = Readings(np.arange(6), np.zeros(6, int))
        assert flags._moved(end, at, np.array([2]), np.array([4])).tolist() == [moved]
    level = np.arange(8.0) + np.array([0, 0, 5, 5, 5, 5, 0, 0])  # from where it lies between
    at = Readings(np.arange(8), np.zeros(8, int))
    assert not flags._moved(level, at, np.array([2]), np.array([4])).any()


def test_channels_are_the_past_and_the_slots_median():
    data = record(3, (5, 12), 0.6)
    own, beside = flags.first_channels(data)
    np.testing.assert_array_equal(own.values, data.readings)
    for t in range(12):
        heard = data.readings[data.used[:, t], t]
        middle = np.median(heard) if heard.size else 0.0
        np.testing.assert_allclose(beside.values[:, t], data.readings[:, t] - middle)
    from_field, past = flags.second_channels(data, np.ones((5, 12)))
    np.testing.assert_allclose(from_field.values, data.readings - 1)
    assert (from_field.slack, past.slack) == (0.0, 6.0)


# Hold-outs and calibration


def test_bins_of_remoteness_have_quantiles_of_their_own():
    rng = np.random.default_rng(0)
    z, remote, run = rng.exponential(size=320), rng.uniform(0.1, 40, 320), rng.integers(0, 60, 320)
    got = holdout.calibrate(z, remote, run, 0.9)
    order = np.argsort(remote, kind="stable")
    assert len(got.factor) == 2  # 150 readings each
    for k, part in enumerate(np.array_split(order, 2)):
        share = 0.9 * (1 + 1 / len(set(run[part])))
        assert got.factor[k] == sorted(z[part])[int(np.ceil(share * (len(part) - 1)))]
        assert got.centres[k] == pytest.approx(np.log(np.maximum(remote[part], 0.25)).mean())
    half = np.exp(got.centres.mean())
    assert got.at(np.array([0.0, half, 1e9])) == pytest.approx(
        [got.factor[0], got.factor.mean(), got.factor[1]]
    )
    few = holdout.calibrate(z[:4], remote[:4], run[:4], 0.9)
    assert few.at(np.array([1.0])) == 3.0
    assert holdout.calibrate(z[:5], remote[:5], run[:5], 0.9).factor[0] != 3.0


@pytest.mark.parametrize(("outages", "bins"), [(1, 1), (4, 1), (9, 1), (10, 2), (15, 3)])
def test_five_outages_make_a_bin(outages, bins):
    remote = np.arange(1.0, 1201.0)
    run = np.arange(1200) % outages
    found = holdout._Bins.of(remote, run, 0.9, together=True)
    assert len(found.parts) == len(found.centres) == bins


def test_the_next_outage_is_students_t():
    rng = np.random.default_rng(1)
    run = np.repeat(np.arange(6), 20)
    z = rng.exponential(size=120) * np.repeat(rng.uniform(0.5, 3, 6), 20)
    size = np.array([np.sqrt((z[run == k] ** 2).mean()) for k in range(6)])
    freedom = 6 - 1 + 4
    spread = np.log(size) - np.log(size).mean()
    scale = np.sqrt(((spread**2).sum() + 4 * 0.49) / freedom * (1 + 1 / 6))
    sizes = np.exp(np.log(size).mean() + scale * stats.t.ppf((np.arange(40) + 0.5) / 40, freedom))
    errors = np.quantile(z / size[run], (np.arange(100) + 0.5) / 100)
    wanted = np.quantile(np.outer(sizes, errors), 0.9)
    assert holdout._next_outage(z, run, 0.9) == pytest.approx(wanted)
    got = holdout.calibrate(z, np.ones(120), run, 0.9, together=True)
    wider = max(wanted / np.quantile(z, 0.9), 1.0)
    assert got.factor == pytest.approx([wider * np.quantile(z, 0.9)])
    run = np.repeat(np.arange(11), 82)[:900]
    calm = holdout.calibrate(np.ones(900), np.arange(900.0), run, 0.9, together=True)
    assert len(calm.factor) == 2  # five outages each


def test_runs_are_found_marked_and_drawn():
    lost = np.array([[1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 1, 1]]) > 0
    start, length = holdout.runs_of(lost)
    assert [*zip(start, length, strict=True)] == [(0, 2), (3, 1), (2, 4)]
    again = holdout.marked(lost.shape, np.array([0, 0, 1]), start, length)
    np.testing.assert_array_equal(again, lost)
    drawn = holdout.draw_runs((6, 400), 0.3, np.random.default_rng(0))
    assert 0.15 < drawn.mean() < 0.4
    _, length = holdout.runs_of(drawn)
    assert length.max() >= 50
    assert (length < 5).any()
    alone = [
        holdout.runs_of(holdout.draw_runs((1, 8), 0.1, np.random.default_rng(s)))[1]
        for s in range(30)
    ]
    assert max(part.max() for part in alone) <= 4


def test_those_who_fell_silent_then_fall_silent_now():
    rng = np.random.default_rng(0)
    then, now = np.ones((40, 300), dtype=bool), np.zeros((40, 300), dtype=bool)
    then[20:] = False
    now[15:25] = True
    out = holdout._fallen_silent(then, now, rng)
    assert not out[15:].any()
    assert out[:15].sum(axis=0).mean() == pytest.approx(20 - 10, abs=0.5)  # of fifteen that may
    assert not holdout._fallen_silent(now, then, rng)[:20].any()


# The usual course


@pytest.mark.parametrize("seed", SEEDS)
def test_a_course_is_held_back_as_far_as_days_differ(seed):
    data = record(seed, (3, 96), 0.7)
    data.used[2] = False
    data.readings[2] = 0.0
    clipped = np.clip(data.readings, -5, 5)
    phase = data.slots % 24
    means, kept = np.zeros((3, 24)), np.zeros(3)
    course = np.zeros((3, 24))
    for n in range(2):
        own = clipped[n, data.used[n]] - clipped[n, data.used[n]].mean()
        at = phase[data.used[n]]
        counts = np.array([(at == p).sum() for p in range(24)])
        there = counts > 0
        means[n] = [own[at == p].mean() if (at == p).any() else 0.0 for p in range(24)]
        left = ((own - means[n][at]) ** 2).sum() / max(len(own) - there.sum(), 1)
        noise, spread = left * (1 / counts[there]).mean(), (means[n][there] ** 2).mean()
        kept[n] = min(max(1 - noise / spread, 0.0), 1.0)
        course[n] = kept[n] * np.array(
            [own[at == p].sum() / ((at == p).sum() + 1) for p in range(24)]
        )
    got = cycles.course_of(data, 24)
    np.testing.assert_allclose(got, course, atol=1e-6)
    layered, _ = cycles.layered_course(data, [24])
    np.testing.assert_allclose(layered.values, kept[:, None] * means, atol=1e-6)
    values, seen = data.readings[:, :2], data.used[:, :2]
    two = replace(data, readings=values, used=seen, slots=np.array([25, 30]))
    np.testing.assert_allclose(layered.at(two), layered.values[:, [1, 6]])
    rest = cycles.without(data, layered)
    wanted = np.where(data.used, data.readings - layered.values[:, phase], 0.0)
    np.testing.assert_allclose(rest.readings, wanted)


def test_a_course_is_smoothed_over_a_part_of_the_period():
    slots = np.arange(480)
    phase = slots % 96
    readings = np.where(phase == 40, 4.0, 0.0)[None, :] + np.zeros((2, 1))
    data = Data(readings, np.ones((2, 480), dtype=bool), slots)
    got = cycles.course_of(data, 96)  # a forty-eighth: two slots
    high = np.flatnonzero(got[0] > 1)
    assert high.tolist() == [39, 40]
    assert got[0, 39] == pytest.approx(got[0, 40])


def test_days_and_weeks_of_slots():
    hour = 3_600_000_000
    assert cycles.usual_periods(hour) == (24, 168)
    assert cycles.usual_periods(6 * hour) == (4, 28)
    assert cycles.usual_periods(8 * hour) == ()
    assert cycles.usual_periods(7 * hour) == cycles.usual_periods(0) == ()
    assert cycles.long_enough([168, 24], np.arange(72)) == [24]
    assert cycles.long_enough([24], np.arange(71)) == []
    assert cycles.long_enough([24, 168], np.arange(504)) == [24, 168]
    assert cycles.long_enough([24, 24, 36], np.arange(504)) == [24]
