"""Measures of the recovery against the slow and obvious: services, bands, arcs, margins, gaps."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from fieldmend.core import engine
from fieldmend.field.holdout import Holdout
from fieldmend.field.quick import Tried
from fieldmend.quantities import Kind, Quantity
from fieldmend.quantities import choosing as powers
from fieldmend.quantities.scale import Scale
from fieldmend.recovery import circular, counting, extrapolating, onchange, runs, service
from fieldmend.recovery import quantity as kinds
from fieldmend.recovery.extrapolating import Margin, widen
from fieldmend.recovery.judging import flags, medians, outside, usual_distance
from fieldmend.recovery.onchange import Band, cut_off, narrow, resting
from fieldmend.recovery.solving import _spread_out
from fieldmend.recovery.stretches import stretches
from fieldmend.recovery.windows import Window, fitting, windows
from fieldmend.recovery.witnesses import witnesses
from fieldmend.result.states import Service

HOUR = 3_600_000_000
SEEDS = range(2)


def spans(marks):
    """(node, start, stop) of each run of True, down each column."""
    out = []
    for n in range(marks.shape[1]):
        start = None
        for t, mark in enumerate([*marks[:, n], False]):
            if mark and start is None:
                start = t
            if not mark and start is not None:
                out.append((n, start, t))
                start = None
    return out


@pytest.fixture
def small_blocks(monkeypatch):
    """Everything in blocks of seven slots."""

    def few(slots, nodes, most=None):
        for start in range(0, slots, 7):
            yield slice(start, min(start + 7, slots))

    for module in (runs, service, extrapolating, onchange):
        monkeypatch.setattr(module, "blocks", few)
    return few


# Service


@pytest.mark.parametrize("seed", range(4))
def test_stretches_are_found_across_blocks(seed, small_blocks):
    marks = np.random.default_rng(seed).random((40, 5)) < (0.3 + 0.15 * seed)
    found = runs.runs(lambda rows: marks[rows], marks.shape)
    got = [*zip(found.node.tolist(), found.start.tolist(), found.stop.tolist(), strict=True)]
    assert got == spans(marks)


def service_slowly(X, slot):
    slots = len(X)
    heard = (~np.isnan(X)).sum(axis=1)
    alive = heard >= 0.5 * np.median(heard[heard > 0])
    silences = [(n, a, b, int(alive[a:b].sum())) for n, a, b in spans(np.isnan(X))]
    inner = sorted(k for n, a, b, k in silences if a > 0 and b < slots)
    longest = max(12, 0.25 * slots)
    usual = [k for k in inner if k <= longest]
    usual = usual[int(np.ceil((len(usual) - 1) * 0.99))] if usual else 0
    plausible = max(min(max(usual, 12, 0.1 * slots), longest), 30 * 24 * HOUR / max(slot, 1))
    end = min(max([1, *(k for k in inner if k <= plausible)]), max(12, 0.05 * slots))
    out = []
    for n, a, b, k in silences:
        if b - a == slots:
            continue
        if (a == 0 or b == slots) and b - a > end:
            out.append((n, a, b))
        elif a > 0 and b < slots and k > plausible:
            out.append((n, a, b))
    return out


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("slot", [HOUR, 24 * HOUR, 20 * 24 * HOUR])
def test_who_was_in_service_is_as_the_rule_says(seed, slot, small_blocks):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 8))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:14, 0] = X[287:, 1] = X[:3, 2] = X[:, 3] = np.nan
    X[100:131, 4] = X[100:140, 5] = X[150:240, 6] = np.nan
    X[200:220] = np.nan  # a gateway: nobody's absence
    found = service.service(X, slot)
    got = [*zip(found.node.tolist(), found.start.tolist(), found.stop.tolist(), strict=True)]
    assert got == service_slowly(X, slot)
    assert found.never.tolist() == [n == 3 for n in range(8)]


def test_a_node_that_sends_on_change_rests():
    X = np.zeros((100, 4))
    X[10:30, 0] = X[75:, 1] = X[85:, 2] = X[:5, 3] = np.nan
    away = np.array([[0, 10, 30], [1, 75, 100], [2, 85, 100], [3, 0, 5]]).T
    life = resting(Service(*away, np.zeros(4, bool)), X)
    got = [*zip(life.node.tolist(), life.start.tolist(), life.stop.tolist(), strict=True)]
    assert got == [(1, 75, 100), (3, 0, 5)]  # longer than twenty slots; before it began


# Silence that says something


def test_a_normal_distribution_cut_off_at_both_ends():
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(0, 3, 60), rng.uniform(0.3, 3, 60)
    low = rng.normal(0, 2, 60)
    high = low + rng.uniform(0.2, 4, 60)
    one = stats.truncnorm((low - mean) / sd, (high - mean) / sd, loc=mean, scale=sd)
    near = (mean > low - 6 * sd) & (mean < high + 6 * sd)
    for got, want in zip(
        cut_off(mean, sd, low, high, 0.9), (one.mean(), one.ppf(0.05), one.ppf(0.95)), strict=True
    ):
        np.testing.assert_allclose(got[near], want[near], rtol=1e-6, atol=1e-9)
        assert ((got >= low) & (got <= high)).all()


def test_a_band_is_around_the_last_message_and_within_bounds():
    band = Band(2.0, 0.9, low=0.0, high=10.0)
    low, high = band.ends(np.array([5.0, 1.0, 9.0, -3.0, 12.0]))
    assert low.tolist() == [3.0, 0.0, 7.0, -3.0, 10.0]
    assert high.tolist() == [7.0, 3.0, 10.0, -1.0, 12.0]


def test_silences_are_read_as_within_the_band(small_blocks):
    rng = np.random.default_rng(1)
    X = np.full((30, 2), np.nan)
    X[2, 0], X[9, 0], X[16, 0] = 5.0, 8.0, 99.0
    X[0, 1] = 1.0
    replaced = X == 99.0
    estimate = rng.normal(6, 1, X.shape)
    lower, upper = estimate - 1.5, estimate + 1.5
    before = estimate.copy()
    sides = estimate.copy(), lower.copy(), upper.copy()
    band = Band(1.0, 0.9)
    wider = onchange._doubt(sides, X, replaced, band)
    said = narrow(sides, X, replaced, band, "°C")
    last = np.full(2, np.nan)
    count = 0
    sd = 1.5 / stats.norm.ppf(0.95)
    z = []
    for t in range(30):
        for n in range(2):
            if not np.isnan(X[t, n]):
                last[n] = np.nan if replaced[t, n] else X[t, n]
            elif not np.isnan(last[n]):
                count += 1
                z.append(((last[n] - 1 - before[t, n]) / sd, (last[n] + 1 - before[t, n]) / sd))
                want = cut_off(
                    *(np.array([v]) for v in (before[t, n], wider * sd, last[n] - 1, last[n] + 1)),
                    0.9,
                )
                assert [side[t, n] for side in sides] == pytest.approx([w[0] for w in want])
                continue
            assert sides[0][t, n] == before[t, n]
    assert f"silence at {count} places read as within 1 °C" in said
    z = np.array(z).T

    def likely(factor):
        inside = stats.norm.cdf(z[1] / factor) - stats.norm.cdf(z[0] / factor)
        return np.log(np.maximum(inside, 1e-6)).mean()

    assert wider == max(onchange.WIDER, key=likely)
    assert wider > 1
    bare = before.copy()
    narrow((bare, None, None), X, replaced, band)
    assert bare[5, 0] == pytest.approx(np.clip(before[5, 0], 4, 6))


# Where there was no sensor


@pytest.mark.parametrize("seed", SEEDS)
def test_each_node_counts_the_same_in_a_quantile(seed):
    rng = np.random.default_rng(seed)
    off = np.abs(rng.normal(size=(30, 4))) * [1, 2, 3, 4]
    off[5:, 1] = np.nan
    off[:, 2] = np.nan
    level, nodes = 0.7, 3
    pairs = []
    for n in (0, 1, 3):
        own = off[~np.isnan(off[:, n]), n]
        pairs += [(v, 1 / own.size / nodes) for v in own]
    share, want = 0.0, None
    for value, weight in sorted(pairs):
        share += weight
        if share >= level * (1 + 1 / nodes):
            want = value
            break
    assert extrapolating._quantile(off, level) == want
    assert extrapolating._quantile(np.full((3, 2), np.nan), 0.9) == 1.0
    assert extrapolating._quantile(off, 0.99) == np.nanmax(off)


def test_intervals_are_widened_where_there_was_no_sensor(small_blocks):
    X = np.zeros((20, 3))
    X[5:10, 0] = X[12, 0] = np.nan
    X[:, 2] = np.nan
    estimate = np.full((20, 3), 4.0)
    life = Service(np.array([0]), np.array([5]), np.array([10]), np.array([False, False, True]))
    lower, upper = estimate - 1.0, estimate + 2.0
    widen((lower, upper), estimate, X, life, Margin(3.0, 5.0), quantity=Quantity(Kind.LINEAR))
    assert (lower[5, 0], upper[5, 0]) == (1.0, 10.0)
    assert (lower[12, 0], upper[12, 0]) == (3.0, 6.0)
    assert (lower[3, 1], upper[3, 1]) == (3.0, 6.0)
    assert (lower[3, 2], upper[3, 2]) == (-1.0, 9.0)
    bounded = Quantity(Kind.BOUNDED, low=0.0, high=6.5)
    widen((lower, upper), estimate, X, life, Margin(9.0, 50.0), quantity=bounded)
    assert (lower[3, 2], upper[3, 2]) == (0.0, 6.5)
    circle = Quantity(Kind.CIRCULAR, period=10.0)
    widen((lower, upper), estimate, X, life, Margin(9.0, 50.0), quantity=circle)
    assert (lower[3, 2], upper[3, 2]) == (-1.0, 9.0)


# Directions


@pytest.mark.parametrize("seed", SEEDS)
def test_an_arc_is_what_sine_and_cosine_leave_open(seed):
    rng = np.random.default_rng(seed)
    on = circular.OnCircle(None, 360.0, 20.0, 0.0, 0.9, 0)
    angle, length = rng.uniform(0, 2 * np.pi, (2, 3)), rng.uniform(0.3, 1, (2, 3))
    both = np.hstack([length * np.sin(angle), length * np.cos(angle)])
    half = rng.uniform(0.01, 0.2, both.shape)
    got, raw = on._arc(both, both - half, both + half)
    np.testing.assert_allclose(got, (20 + np.degrees(angle)) % 360)
    for i in np.ndindex(angle.shape):
        s, c = half[:, :3][i], half[:, 3:][i]
        across = np.sqrt((np.cos(angle[i]) * s) ** 2 + (np.sin(angle[i]) * c) ** 2) / length[i]
        assert raw[i] == pytest.approx(np.degrees(across))
    assert on._arc(both, None, None)[1] is None
    short = np.array([[0.0, 0.01]])  # points anywhere
    assert on._arc(short, short - 0.1, short + 0.1)[1][0, 0] == pytest.approx(
        np.degrees(0.01 * 0.1 / 0.05**2)
    )


def test_arcs_are_widened_by_length_of_the_gap_and_never_less():
    rng = np.random.default_rng(0)
    ratio = rng.exponential(size=420)
    gap = np.concatenate([np.full(150, 1), np.full(150, 4), np.full(99, 20), np.full(21, 90)])
    ratio[150:300] *= 5
    got = circular._widening(ratio, gap, 0.9)
    every = np.quantile(ratio, 0.9)
    second = np.quantile(ratio[150:300], 0.9)
    assert got == pytest.approx(
        [np.quantile(ratio[:150], 0.9), second, max(every, second), max(every, second)]
    )
    assert circular._class(np.array([0, 1, 3, 4, 15, 16, 63, 64, 999])).tolist() == [
        0,
        0,
        0,
        1,
        1,
        2,
        2,
        3,
        3,
    ]


# Meters


def test_intervals_of_a_meter_stay_between_its_readings():
    room = counting.Room(np.array([2.0, 2.0]), np.array([4.0, 4.0]), np.array([1.0, 0.1]))
    lower, upper = counting._around(np.array([3.0, 3.9]), room, 2.0)
    assert lower.tolist() == [2.0, pytest.approx(3.7)]
    assert upper.tolist() == [4.0, 4.0]
    set_back = np.array([[10.0], [np.nan], [2.0]])
    found = counting._room(set_back, set_back)
    assert (found.low[1, 0], found.high[1, 0]) == (0.0, np.inf)
    assert found.width[1, 0] == pytest.approx(10 * 0.5)
    assert counting._not_below_zero(np.array([-3.0, np.nan, 2.0])).tolist() == [0.0, 0.0, 2.0]


# Powers


def hidden(rows, columns, truth, off, half=1.0):
    truth = np.asarray(truth, dtype=float)
    at = truth + off
    found = Holdout(
        np.array(rows), np.array(columns), truth, at, at - half, at + half, np.ones(len(rows))
    )
    return Tried(found, np.zeros(len(rows), dtype=bool))


def test_powers_are_compared_at_readings_hidden_from_both():
    rows = np.arange(300)
    plain = hidden(rows, rows % 3, np.zeros(300), 1.0)
    other = hidden(rows[50:], rows[50:] % 3, np.zeros(250), 0.5, half=0.5)
    got = powers._ratio(plain, other, 0.9)
    assert got == pytest.approx(0.5)  # all three losses are half
    few = hidden(rows[101:], rows[101:] % 3, np.zeros(199), 0.5)
    assert powers._ratio(plain, few, 0.9) == 1.0
    enough = hidden(rows[100:], rows[100:] % 3, np.zeros(200), 0.5, half=0.5)
    assert powers._ratio(plain, enough, 0.9) == pytest.approx(0.5)
    worse = hidden(rows, rows % 3, np.zeros(300), 1.02, half=0.1)
    assert powers._ratio(plain, worse, 0.9) == 1.0  # whatever the intervals
    assert powers._ratio(plain, None, 0.9) == powers._ratio(None, plain, 0.9) == 1.0
    sure = hidden(rows, rows % 3, np.zeros(300), 0.0, half=0.0)
    odd = rows < 50  # what jumps out on one scale counts, on both it does not
    far = hidden(rows, rows % 3, np.zeros(300), np.where(odd, 100.0, 1.0))
    assert powers._ratio(replace(far, jumps=odd), plain, 0.9) < 0.1
    assert powers._ratio(replace(far, jumps=odd), replace(plain, jumps=odd), 0.9) == 1.0
    assert powers._ratio(plain, sure, 0.9) == powers._ratio(sure, plain, 0.9) == 1.0


def test_powers_are_tried_on_the_middle_of_nodes_that_are_heard():
    X = np.tile(np.arange(30_000.0)[:, None], (1, 4))
    X[:, 3] = np.nan
    X[:5000, 3] = 1.0  # a sixth of the time
    got = powers._part(X, Quantity(Kind.POSITIVE, low=0.0))
    assert got.shape == (6666, 3)
    assert got[0, 0] == (30_000 - 6666) // 2
    assert powers._part(X[:, 3:], Quantity(Kind.POSITIVE)) is None  # heard too rarely
    assert powers._part(np.ones((100, 4)), Quantity(Kind.POSITIVE)) is None
    impossible = Quantity(Kind.POSITIVE, possible=(0.0, 15_000.0))
    assert np.nanmax(powers._part(X, impossible)) == 15_000.0


def test_a_scale_keeps_to_bounds_and_to_what_an_instrument_tells():
    rain = Scale.of(Quantity(Kind.INTERMITTENT, low=0.0), np.array([0.0, 0.2, 3.0, np.nan]))
    assert rain.least == 0.2
    assert rain.back(np.array([-1.0, 0.09, 0.11, 5.0])).tolist() == [0.0, 0.0, 0.11, 5.0]
    humid = Scale.of(Quantity(Kind.BOUNDED, low=0.0, high=100.0), np.ones(3))
    assert humid.back(np.array([-1.0, 50.0, 101.0])).tolist() == [0.0, 50.0, 100.0]
    assert humid.changes
    assert not Scale.of(Quantity(Kind.LINEAR), np.ones(3)).changes


# Bounds that are places of rest


def test_at_rest_is_at_a_bound_with_the_others_near():
    light = Quantity(Kind.BOUNDED, low=0.0, high=100.0)
    X = np.tile(np.linspace(0, 100, 60)[:, None], (1, 5))
    X[:, 0] = 0.0
    low, high = np.quantile(X, (0.01, 0.99))
    wide = high - low
    middle = np.median(X, axis=1)
    want = (X <= 0.05 * wide) & (middle <= 0.25 * wide)[:, None]
    want |= (100 - X <= 0.05 * wide) & (100 - middle <= 0.25 * wide)[:, None]
    np.testing.assert_array_equal(kinds.at_rest(X, light), want)
    np.testing.assert_array_equal(kinds.at_rest(100 - X, light), want)  # a bound like the other
    assert not kinds.at_rest(X, Quantity(Kind.LINEAR)).any()
    found = np.zeros(X.shape, dtype=bool)
    found[:32, 0] = True
    assert not kinds.resting(X, found, light).any()  # fifteen of them with others near
    found[:, 0] = False
    found[:14, 0] = True
    assert kinds.resting(X, found, light)[:14, 0].all()
    alone = X.copy()
    alone[:14, 0] = 1.0  # stuck where it is at no other time
    assert not kinds.resting(alone, found, light).any()


@pytest.mark.parametrize(
    ("low", "nodes", "rests"),
    [(-40.0, 1, False), (-40.0, 12, True), (0.0, 1, True), (2.0, 1, True)],
)
def test_a_bound_below_zero_was_learnt_and_is_one_if_many_are_ever_there(low, nodes, rests):
    X = np.random.default_rng(0).uniform(60, 500, (300, 12))
    X[:60] = low + 45.0  # night: near, as far as readings go
    X[:60, :nodes] = low
    found = kinds.at_rest(X, Quantity(Kind.POSITIVE, low=low))
    assert found[:60, :nodes].all() == found.any() == rests


def test_the_upper_bound_is_one_whatever_was_learnt_of_the_lower():
    X = np.random.default_rng(0).uniform(60, 500, (300, 12))
    X[:60] = 500.0
    found = kinds.at_rest(X, Quantity(Kind.POSITIVE, low=-900.0, high=500.0))
    assert found[:60].all()


# Windows


@pytest.mark.parametrize(("slots", "nodes", "entries"), [
    (2000, 10, 10_000), (5000, 3, 6000), (1300, 7, 4000), (600, 1, 1), (513, 9, 512), (512, 9, 512),
])  # fmt: skip
def test_windows_cover_the_record_and_pass_into_each_other(slots, nodes, entries):
    plan = windows(slots, nodes, entries)
    length = max(entries // nodes, 512)
    assert plan[0].first == plan[0].start == 0
    assert plan[-1].last == plan[-1].stop == slots
    assert len(plan) == 1 or all(one.stop - one.start == length for one in plan)
    for a, b in pairwise(plan):
        assert a.last == b.first
        assert a.stop - b.start >= length // 8
        assert abs(a.last - b.start - (a.stop - a.last)) <= 1  # in the middle of what they share
        assert a.last + a.fade <= a.stop
        assert b.first - b.fade >= b.start
    out = np.full((slots, 1), np.nan)
    for k, one in enumerate(plan):
        one.blend(out, np.full((one.stop - one.start, 1), float(k)))
    assert np.isfinite(out).all()
    assert (np.diff(out[:, 0]) >= 0).all()
    for a, b in pairwise(plan):
        at = b.first
        assert out[at - 1 : at + 1, 0].mean() == pytest.approx(out[a.first + a.fade, 0] + 0.5)
        assert out[at - a.fade, 0] == pytest.approx(out[a.first + a.fade, 0] + 0.5 / (2 * a.fade))


def test_a_window_fits_in_memory():
    assert fitting(4_000_000_000) == 3_000_000
    assert fitting(1) == 100_000
    assert fitting(10**12) == 12_000_000


def test_stretches_are_whole_periods_evenly_spread():
    found, held = stretches(40_000, 10, [24, 168, 99_999], entries=60_000)
    assert held == [24, 168]
    lengths = {one.stop - one.start for one in found}
    assert len(found) == 8
    assert lengths == {60_000 // 10 // 8 // 168 * 168}
    assert all(one.start % 168 == 0 for one in found)
    assert found[0].start == 0
    assert found[-1].start == (40_000 - 672) // 168 * 168
    free, held = stretches(40_000, 10, (), entries=60_040)  # no clock: any length, any start
    assert (held, free[0].stop) == ([], 60_040 // 10 // 8)
    assert [one.start for one in free] == np.linspace(0, 40_000 - 750, 8).astype(int).tolist()
    assert {one.start % 2 for one in free} == {0, 1}
    wide, _ = stretches(10**6, 10_000, [24])
    assert wide[0].stop == 4_000_000 // 10_000 // 8 // 24 * 24


# Who was there, and what is said of readings


def test_witnesses_are_counted_within_the_limits(monkeypatch):
    X = np.array([[1.0, 1.0, np.nan, 5.0], [2.0, 2.0, 99.0, 5.0], [np.nan, np.nan, 3.0, 5.0]])
    found = witnesses(X, (0.0, 50.0))
    assert found.readings.tolist() == [2, 2, 1, 3]
    assert (found.first.tolist(), found.last.tolist()) == ([0, 0, 2, 0], [1, 1, 2, 2])
    assert found.failed == 1
    assert found.twin.tolist() == [0, 0, 2, 3]
    assert found.distinct.tolist() == [0, 2, 3]
    nobody = witnesses(np.full((3, 2), np.nan), None)
    assert (nobody.first.tolist(), nobody.last.tolist()) == ([3, 3], [-1, -1])
    assert not nobody.heard.any()


def test_flags_say_the_first_that_fits():
    yes, no = True, False
    observed, judged, suspect, failed = np.array(
        [[yes, yes, yes, no], [yes, yes, yes, no], [yes, yes, no, no], [yes, yes, no, yes],
         [yes, no, no, no], [yes, no, yes, no], [no, yes, yes, yes]]
    ).T  # fmt: skip
    got = flags(*(part[:, None] for part in (observed, judged, suspect, failed)))
    assert got[:, 0].tolist() == [3, 3, 1, 4, 2, 2, 9]
    assert outside(np.array([0.0, 1.0, 2.0, np.nan]), (1.0, 1.5)).tolist() == [
        True,
        False,
        True,
        False,
    ]
    X = np.array([[1.0, np.nan], [5.0, np.nan], [2.0, np.nan]])
    assert medians(X).tolist() == [2.0, 0.0]
    assert usual_distance(X, np.zeros((3, 2))).tolist() == [pytest.approx(1.4826 * 2), 0.0]


def test_a_silent_node_is_the_median_of_the_others_and_its_level():
    got = _spread_out(
        np.array([[1.0, 2.0, 9.0]]), np.array([True, False, True, True]), np.array([0, 5.0, 0, 0])
    )
    assert got.tolist() == [[1.0, 7.0, 2.0, 9.0]]


def test_blocks_are_all_slots_once():
    for slots, nodes in ((10, 3), (1, 10**9), (10**5, 1000)):
        parts = [*engine.blocks(slots, nodes)]
        assert parts[0].start == 0
        assert parts[-1].stop == slots
        assert all(a.stop == b.start for a, b in pairwise(parts))


def test_a_windows_inside_is_counted_from_its_start():
    one = Window(100, 300, 150, 250, 10)
    assert (one.slots, one.decided, one.inside) == (
        slice(100, 300),
        slice(150, 250),
        slice(50, 150),
    )
