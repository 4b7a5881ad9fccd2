"""What looks like a fault and is none, at the places where decisions turn."""

from dataclasses import replace

import numpy as np
import pytest

import naive_faults as naive
from fieldmend.faults.agreed import _ends, agreed
from fieldmend.faults.daily import _around, _excursions, _next_to, _own, _quiet, daily
from fieldmend.faults.jumping import jumping, settles
from fieldmend.faults.labels import Context
from fieldmend.faults.packets import PACKET, Packets
from fieldmend.faults.settling import _comes_back, _more_of_it, settled
from fieldmend.faults.stretches import rare
from fieldmend.faults.together import common_moves, gathered
from tiny import holed

HOUR = 3_600_000_000
NOTHING = np.zeros((0, 0), dtype=bool)


# Hours


def test_the_hour_and_its_neighbours_round_the_clock():
    assert np.flatnonzero(_next_to(0)).tolist() == [0, 1, 23]
    assert np.flatnonzero(_next_to(7)).tolist() == [6, 7, 8]
    by_hour = np.zeros((2, 24))
    by_hour[0, 0], by_hour[1, 10] = 5.0, 3.0
    got = _around(by_hour)
    assert np.flatnonzero(got[0] == 5).tolist() == [0, 1, 23]
    assert np.flatnonzero(got[1] == 3).tolist() == [9, 10, 11]


def test_an_excursion_is_as_large_as_the_smaller_of_its_jumps():
    X = np.zeros((20, 2))
    X[5:8, 0] = 6.0
    X[8:, 0] = 2.0
    X[3, 0] = np.nan
    X[0, 1] = 7.0
    flagged = np.zeros(X.shape, dtype=bool)
    flagged[5:8, 0] = flagged[0, 1] = True
    assert _excursions(X, flagged).tolist() == [[0, 5, 8, 4.0], [1, 0, 1, 7.0]]
    assert _excursions(X, np.ones((20, 2), dtype=bool))[0].tolist() == [0, 0, 20, 0.0]


def test_the_quiet_third_of_the_hours_is_that_in_which_nodes_move_least():
    rng = np.random.default_rng(0)
    hour = np.arange(240) % 24
    X = rng.normal(size=(240, 3)) * np.where((hour >= 3) & (hour < 12), 0.01, 1.0)[:, None]
    X[:, 1] *= 1000  # each in its own measure
    nothing = np.zeros(X.shape, dtype=bool)
    assert np.flatnonzero(_quiet(X, nothing, hour)).tolist() == [*range(4, 12)]
    seldom = X.copy()
    seldom[:, 2] = rng.normal(size=240) * np.where(hour < 8, 0.01, 1.0)
    seldom[np.arange(240) % 30 > 3, 2] = np.nan  # hardly heard: hardly asked
    assert np.flatnonzero(_quiet(seldom, nothing, hour)).tolist() == [*range(4, 12)]
    jumpy = X.copy()
    jumpy[hour == 5] += 1e5
    flagged = np.repeat((hour == 5)[:, None], 3, axis=1)
    assert not _quiet(jumpy, nothing, hour)[5]
    assert 5 not in np.flatnonzero(_quiet(jumpy, flagged, hour))  # nothing is left to tell


def test_hours_are_compared_by_what_was_heard_of_them():
    rng = np.random.default_rng(3)
    hour = np.arange(480) % 24
    X = rng.normal(size=(480, 3)) * (1 + hour % 5)[:, None] * np.array([1.0, 0.01, 30.0])
    X[rng.random(X.shape) < np.where(hour < 12, 0.6, 0.0)[:, None]] = np.nan
    moves = [[] for _ in range(24)]
    step = np.abs(np.diff(X, axis=0))
    usual = [np.mean(column[~np.isnan(column)]) for column in step.T]
    for t, n in np.argwhere(~np.isnan(step)):
        moves[hour[t + 1]].append(step[t, n] / usual[n])
    least = np.argsort([np.mean(own) if own else np.inf for own in moves], kind="stable")[:8]
    found = _quiet(X, np.zeros(X.shape, dtype=bool), hour)
    assert set(np.flatnonzero(found).tolist()) == set(least.tolist())


def test_own_is_what_is_left_of_level_and_of_what_most_do():
    X = holed(2, (40, 4))
    X[:, 3] = 5.0  # has no spread: nothing of what most do is its
    X[7, 3] = 6.0
    flagged = np.zeros(X.shape, dtype=bool)
    flagged[3:6, 0] = True
    sound = np.where(flagged, np.nan, X)
    off = X - naive.medians(sound)
    spread = naive.MAD * naive.medians(np.abs(sound - naive.medians(sound)))
    most = naive.medians((off[:, :3] / spread[:3]).T)
    want = off - spread * np.nan_to_num(most)[:, None]
    np.testing.assert_allclose(_own(X, flagged), want, atol=1e-12)
    np.testing.assert_allclose(_own(X, flagged)[:, 3], X[:, 3] - 5.0, atol=1e-12)


@pytest.mark.parametrize(("days", "with_it", "nodes", "kept"), [
    (10, 8, 3, True), (10, 7, 3, False), (10, 8, 2, False), (5, 5, 3, True), (4, 4, 3, False),
])  # fmt: skip
def test_what_the_hour_brings_on_most_days(days, with_it, nodes, kept):
    """One in two days by chance: of nine others seven are more than that, of four all."""
    rng = np.random.default_rng(0)
    hour = np.arange(24 * days) % 24
    X = rng.normal(size=(24 * days, 5)) * np.where(hour < 8, 0.01, 1.0)[:, None]
    fleck = np.zeros(X.shape, dtype=bool)
    for day in range(with_it):
        fleck[24 * day + 12, day % nodes] = True
    X[fleck] += 50.0
    got = daily(X, fleck, Context(slot=HOUR))
    assert got[fleck].all() == got.any() == kept
    assert not daily(X[::2], fleck[::2], Context(slot=2 * HOUR)).any()
    if kept:
        night = fleck.copy()
        night[[26, 51, 76], 1] = True  # what comes in the quiet hours as well
        jumpy = X.copy()
        jumpy[[26, 51, 76], 1] += 90.0
        assert not daily(jumpy, night, Context(slot=HOUR))[[26, 51, 76], 1].any()


# Moves of many


def test_a_jam_before_one_bottleneck_is_the_hours_and_spikes_at_any_time_are_not():
    """Nobody else has it, on most days it passes for usual, and some days of it are flagged."""
    rng = np.random.default_rng(5)
    X = 0.05 * rng.random((24 * 28, 8))
    X += 0.05 * np.sin(np.arange(24 * 28) / 24 * 2 * np.pi)[:, None]
    rush, spikes = np.zeros(X.shape, dtype=bool), np.zeros(X.shape, dtype=bool)
    for k, day in enumerate(rng.permutation(28)[:14]):
        start = 24 * day + 15 + int(rng.integers(0, 2))
        X[start : start + 4, 2] += 0.5
        rush[start : start + 4, 2] = k < 4
    spikes[rng.choice(24 * 28, 80, replace=False), 5] = True  # on most days near any hour
    X[spikes] += 0.5
    lone = np.zeros(X.shape, dtype=bool)
    lone[24 * 9 + 4, 2] = True  # the same node, at night
    X[lone] += 0.5
    got = daily(X, rush | spikes | lone, Context(slot=HOUR))
    assert got[rush].all()
    assert not got[spikes | lone].any()
    alike = np.roll(X, 3 * 24 * 7 // 2, axis=0)  # days that begin at noon
    np.testing.assert_array_equal(
        daily(alike, np.roll(rush | spikes | lone, 3 * 24 * 7 // 2, axis=0), Context(slot=HOUR)),
        np.roll(got, 3 * 24 * 7 // 2, axis=0),
    )


def test_a_move_of_many_has_its_size_its_nodes_and_its_end():
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.1, (400, 6))
    X[40:60, :4] += np.array([5.0, 5.0, 5.0, 9.0])
    flagged = np.zeros(X.shape, dtype=bool)
    X[300:302] = np.nan  # nobody heard
    (move,) = common_moves(X, flagged, 50)
    assert (move.start, move.stop, move.nodes, move.heard) == (40, 60, 4, 6)
    step = np.diff(X, axis=0)
    usual = naive.MAD * naive.medians(np.abs(step))
    assert move.size == pytest.approx(np.median(step[39]))
    assert move.strength == pytest.approx(np.median(step[39] / usual))
    assert move.node == int(np.argmax(step[39] / usual))
    again = X.copy()
    again[200:230] += 5.0
    assert [(m.start, m.stop) for m in common_moves(again, flagged, 50)] == [(40, 60), (200, 230)]
    X[40:60, 3] -= 9.0  # three of six
    assert not [*common_moves(X, flagged, 50)]
    assert not [*common_moves(X[:, :4], flagged[:, :4], 50)]


def test_a_move_may_follow_on_the_heels_of_another():
    X = np.random.default_rng(0).normal(0, 0.1, (1200, 6))
    X[40:60] += 5.0
    X[61:80] += 8.0
    moves = common_moves(X, np.zeros(X.shape, dtype=bool), 50)
    assert [(m.start, m.stop) for m in moves] == [(40, 60), (61, 80)]


def test_departures_near_in_time_are_one_event():
    event = np.zeros((40, 3), dtype=bool)
    event[5:8, 0] = event[14, 1] = event[22:24, 2] = True
    z = np.ones((40, 3)) * np.array([2.0, -7.0, 3.0])
    first, second = gathered(event, z, 10 * z)
    assert (first.start, first.stop, first.nodes, first.readings) == (5, 15, 2, 4)
    assert (first.node, first.size, first.strength) == (1, -70.0, 2.0)
    assert (second.start, second.stop, second.node, second.strength) == (22, 24, 2, 3.0)


# Packets, bursts, places that settle


def test_another_condition_leaves_its_neighbours_in_the_very_slot():
    rng = np.random.default_rng(0)
    other = rng.normal(size=(2000, 2))
    limit = rare(np.diff(other[:, 0]), PACKET)
    context = Context(condition="t", companions={"h": other})
    for slot, size, off in ((95, 1.3 * limit, True), (95, 0.5 * limit, False)):
        moved = other.copy()
        moved[slot, 0] = size
        found = Packets(replace(context, companions={"h": moved}))
        assert found.off(0, slot) is off
        assert not found.off(0, 94 - 60)
    moved[95, 0] = np.nan
    assert not Packets(replace(context, companions={"h": moved})).off(0, 95)
    own = Packets(
        replace(context, companions={"t": np.where(np.arange(2000)[:, None] == 9, 1e6, other)})
    )
    assert not own.off(0, 9)


def test_a_packet_is_off_the_median_of_eleven_readings():
    other = holed(4, (60, 1), 0.3)
    packets = Packets(Context(companions={"h": other}))
    at, readings, _ = packets._column("h", 0)
    packets._columns["h", 0] = at, readings, 1.0
    off = []
    for slot in range(60):
        if np.isnan(other[slot, 0]):
            off.append(False)
            continue
        place = at.tolist().index(slot)
        around = np.median(readings[max(place - 5, 0) : place + 6])
        off.append(bool(abs(other[slot, 0] - around) > 1.0))
    assert [packets.off(0, slot) for slot in range(60)] == off
    assert 5 < sum(off) < 35


def test_eleven_readings_say_where_a_condition_is():
    other = np.zeros((60, 1))
    other[::7] = 0.1
    other[20:25] = 50.0  # five before, five after: the median is the slot's own
    other[26:31] = -50.0
    other[25] = 1.0
    packets = Packets(Context(companions={"h": other}))
    packets._column("h", 0)
    at, readings, _ = packets._columns["h", 0]
    packets._columns["h", 0] = at, readings, 0.5
    assert not packets.off(0, 25)
    other[19] = other[18] = 50.0  # beyond the eleven
    assert not packets.off(0, 25)
    packets._columns["h", 0] = at, np.where(np.arange(60) == 30, 50.0, readings), 0.5
    assert packets.off(0, 25)


def test_small_steps_are_less_than_half_of_how_far_it_was():
    assert settles(np.array([0.0, 8.0, 6.0, 4.5, 3.0, 0.0]))
    assert not settles(np.array([0.0, 8.0, 6.0, 5.0, 4.1, 0.0]))  # more than half at the end
    assert not settles(np.array([0.0, 8.0, 3.0, 2.0, 1.0, 0.0]))  # more than half within
    assert not settles(np.array([0.0, 8.0, 7.5, 7.0, 1.5, 0.0]))  # the last within, too
    assert not settles(np.array([0.0, 8.0, 3.0, 0.0]))  # two readings do not tell
    assert settles(np.array([0.0, 10.0, 6.0, 3.0, 0.0]) + np.arange(5.0))


def test_both_jumps_exceed_three_in_four_of_the_nodes_own():
    X = np.cumsum(np.tile([1.0, 1.0, 1.0, 2.0], 15))[:, None]
    for jump, false in ((2.5, True), (0.5, False)):
        one = X.copy()
        one[30] = one[29] - jump
        flagged = np.zeros(X.shape, dtype=bool)
        flagged[30] = True
        assert jumping(one, flagged)[30, 0] == false
    for edge in (0, 59):
        flagged = np.zeros(X.shape, dtype=bool)
        flagged[edge] = True
        assert jumping(X, flagged)[edge, 0]  # at the ends nobody knows


def test_a_place_comes_back_to_within_half_of_how_far_it_went():
    away = np.concatenate([np.zeros(10), 8 * np.exp(-np.arange(20) / 6), np.zeros(10)])
    assert _comes_back(away, 10, 30)
    assert _comes_back(away + np.where(np.arange(40) >= 30, 3.9, 0) * 0.1, 10, 30)
    left = away + np.where(np.arange(40) >= 26, 4.5, 0.0)
    assert not _comes_back(left, 10, 30)
    # Three readings before and three after tell where it was and is.
    later, before = away.copy(), away.copy()
    later[32:], before[:8] = 90.0, 90.0
    assert _comes_back(later, 10, 30)
    assert _comes_back(before, 10, 30)
    later[31], before[8] = 90.0, 90.0
    assert not _comes_back(later, 10, 30)
    assert not _comes_back(before, 10, 30)
    assert not _comes_back(np.where((np.arange(40) > 9) & (np.arange(40) < 30), 8.0, 0.0), 10, 30)


def test_a_place_may_settle_for_a_tenth_of_its_readings():
    X = np.tile(np.sin(np.arange(400.0) / 9)[:, None], (1, 5))
    part = 8 * np.exp(-np.arange(38) / 10)
    X[100:138, 0] += part
    found = np.abs(X - X[:, [3]]) > 0.15
    assert settled(X, found)[100:138, 0].sum() == found[:, 0].sum()
    assert not settled(X[:370], found[:370]).any()  # 38 of 370
    for late in (6, 7):  # slots until it is heard again
        gap = X.copy()
        last = np.flatnonzero(found[:, 0])[-1]
        gap[last + 1 : last + late, 0] = np.nan
        assert settled(gap, found & ~np.isnan(gap)).any() == (late <= 6)
    assert not settled(X[: last + 1], found[: last + 1]).any()  # to the end: nobody knows


def test_more_of_what_all_do_is_a_gain():
    common = np.sin(np.arange(60) / 4) + np.arange(60) / 90
    rng = np.random.default_rng(0)
    assert _more_of_it(2 * common + 50, common)
    assert _more_of_it(-2 * common + 0.1 * rng.normal(size=60), common)
    assert not _more_of_it(np.arange(60) + 0.1 * rng.normal(size=60), common)  # its trend alone
    assert not _more_of_it(np.ones(60), common)


# Masks that the field refutes


@pytest.mark.parametrize(("wrong", "kept"), [(8, 40), (9, None)])
def test_four_in_five_inside_and_half_of_them_well_inside(wrong, kept):
    X = np.full((60, 1), 0.1)
    masked = np.zeros(X.shape, dtype=bool)
    masked[10:50] = True
    field = np.zeros(X.shape)
    X[20:24] = 0.59
    X[np.linspace(12, 47, wrong).astype(int)] = 5.0
    got = agreed(X, field, (field - 1, field + 1), masked)
    assert got.sum() == kept if kept else got.sum() < 40
    wide = np.where(X < 1, 0.7, X)  # inside, and none of them well
    assert not agreed(wide, field, (field - 1, field + 1), masked).any()
    lopsided = agreed(-X, field, (field - 1, field + 9), masked)
    np.testing.assert_array_equal(lopsided, got)


def test_a_node_that_dies_was_well_before():
    X = np.concatenate([np.full(40, 0.1), np.full(30, 9.0), np.full(30, 0.1)])[:, None]
    field, masked = np.zeros(X.shape), np.ones(X.shape, dtype=bool)
    got = agreed(X, field, (field - 1, field + 1), masked)
    assert not got[40:70].any()
    assert got[:35].all()
    assert got[75:].all()


def ends_slowly(part):
    """From either end as long as four in five of fifteen are inside, to the last that is."""

    def expected(some):
        return np.mean(some <= 1) >= 0.8 and np.mean(some <= 0.6) >= 0.5

    inside = part <= 1
    if expected(part):
        return np.ones(len(part), dtype=bool)
    well = naive.rolling(inside, 15) >= 0.8
    out = np.zeros(len(part), dtype=bool)
    for turned in (False, True):
        order = np.arange(len(part))[::-1] if turned else np.arange(len(part))
        count = 0
        while count < len(part) and well[order[count]]:
            count += 1
        count = 0 if count == len(part) else count
        while count and not inside[order[count - 1]]:
            count -= 1
        if count and expected(part[order[:count]]):
            out[order[:count]] = True
    return out


@pytest.mark.parametrize("seed", range(12))
def test_ends_that_are_as_expected(seed):
    rng = np.random.default_rng(seed)
    for missed in (0.1, 0.15, 0.2, 0.25):
        part = np.abs(rng.normal(0, 0.5, 60))
        a, b = sorted(rng.integers(0, 60, 2))
        part[a:b] += 3.0
        part[rng.random(60) < missed] = 2.0
        np.testing.assert_array_equal(_ends(part), ends_slowly(part))


def test_a_bad_beginning_is_not_made_good_by_all_but_the_last():
    part = np.full(31, 0.1)
    part[:6] = part[30] = 9.0
    assert not _ends(part)[:6].any()
    np.testing.assert_array_equal(_ends(part), ends_slowly(part))
