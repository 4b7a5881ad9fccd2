"""Episodes: where one ends and the next begins, its kind, its sentence, how sure one is."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from faulty import context, readings
from fieldmend import faults
from fieldmend.faults import Kind, episodes, explain, ranking
from fieldmend.faults.certainty import Reach, _rare_value, certain, reach
from fieldmend.faults.episodes import Stretch
from fieldmend.faults.labels import Context, Episode
from fieldmend.faults.neighbours import Panel, panel
from fieldmend.faults.packets import Packets
from fieldmend.faults.together import Local, Move
from fieldmend.quantities import Kind as Quality
from fieldmend.quantities import Quantity

HOUR = 3_600_000_000
ABOUT = Context(
    nodes=("a", "b", "c"), times=np.arange(200) * HOUR, slot=HOUR, condition="t", unit="°C"
)


def stretch(deviation, *, readings=None, first=10, to_end=False, lasting=True, step=1.0):
    deviation = np.asarray(deviation, dtype=float)
    readings = deviation + 20 if readings is None else np.asarray(readings, dtype=float)
    return Stretch(
        node=0, at=first + np.arange(deviation.size), deviation=deviation, readings=readings,
        implied=readings - deviation, flagged=deviation.size, to_end=to_end, lasting=lasting,
        step=step,
    )  # fmt: skip


def sound(slots=200, nodes=3, *, in_space=False):
    """Three nodes around 20 that go from −2 to 2."""
    deviation = np.tile(np.linspace(-2, 2, slots)[:, None], (1, nodes))
    order = np.array([[m for m in range(nodes) if m != n] for n in range(nodes)])
    return Panel(deviation, np.full(nodes, 20.0), order, in_space)


def kind_of(one, context=ABOUT, seen=None):
    return episodes._kind(one, seen or sound(), Packets(context), context)


# Kinds


@pytest.mark.parametrize(("deviation", "options", "kind"), [
    ([9.0, 9.0], {}, Kind.SPIKE),
    ([9.0] * 3, {"lasting": False}, Kind.BURST),
    ([9.0 + (i % 7) / 5 for i in range(31)], {}, Kind.BIAS),
    ([9.0 + (i % 7) / 5 for i in range(30)], {}, Kind.BURST),
    (np.linspace(1, 9, 30), {}, Kind.DRIFT),
    (-np.linspace(9, 1, 30), {}, Kind.DRIFT),
    (np.linspace(6, 9.5, 60), {}, Kind.BIAS),
    ([9.0] * 40, {}, Kind.STUCK),
    (np.where(np.arange(40) < 32, 9.0, 9.0 + np.arange(40)), {}, Kind.STUCK),
    (np.where(np.arange(40) < 31, 9.0, 9.0 + np.arange(40) / 9), {}, Kind.BIAS),
    ([5.0, 9.0] * 16, {}, Kind.NOISY),
    ([5.0, 9.0] * 15, {}, Kind.BURST),
    ([7.0, 8.9] * 16, {}, Kind.BIAS),  # no rougher than twice the usual
    ([9.0 + (i % 7) / 5 for i in range(40)], {"to_end": True}, Kind.DEAD),
    ([7.0 + (i % 7) / 9 for i in range(40)], {"to_end": True}, Kind.BIAS),  # not eight spreads
])  # fmt: skip
def test_the_kind_is_read_from_the_stretch(deviation, options, kind):
    assert kind_of(stretch(deviation, **options)) == kind


def test_the_dead_are_out_of_their_range_and_saturated_or_far_or_without_battery():
    end = [9.0 + (i % 7) / 5 for i in range(40)]
    for level, dead in ((3.0, False), (3.9, False), (4.2, True), (-3.9, False), (-4.2, True)):
        # Sound readings go from −2 to 2: far is half of that beyond.
        readings = 20 + level + np.arange(40) % 7 / 1e4
        readings[-1] += 1e-3
        one = stretch(end, readings=readings, to_end=True)
        assert (kind_of(one) == Kind.DEAD) is dead
    resting = 20 + 2.5 + np.where(np.arange(40) < 37, np.arange(40) % 7 / 10, 0.0)
    assert kind_of(stretch(end, readings=resting, to_end=True)) == Kind.DEAD  # 3 of its last 8
    resting[38] += 1.0
    assert kind_of(stretch(end, readings=resting, to_end=True)) != Kind.DEAD
    volts = np.full((200, 3), 2.7)
    volts[10:, 0] = 2.2
    weak = replace(ABOUT, companions={"voltage": volts})
    assert kind_of(stretch(end, readings=resting, to_end=True), weak) == Kind.DEAD
    inside = stretch(end, readings=np.full(40, 21.0), to_end=True)
    assert kind_of(inside, weak) == Kind.STUCK
    nobody = replace(sound(), deviation=np.full((200, 3), np.nan))
    assert kind_of(inside, seen=nobody) == Kind.DEAD


# From readings to stretches


def found_in(flagged, lasting=(), values=None):
    marks, lasts = np.zeros((2, 200, 1), dtype=bool)
    marks[[*flagged]] = True
    lasts[[*lasting]] = True
    values = np.sin(np.arange(200.0))[:, None] if values is None else values
    alone = Panel(np.zeros((200, 1)), np.zeros(1), np.array([[-1]]), False)
    every = episodes._all(values, np.ones((200, 1)), marks | lasts, lasts, alone)
    return [(int(s.at[0]), int(s.at[-1]) + 1, s.lasting, s.to_end, s.flagged) for s in every]


def test_flagged_readings_that_belong_together():
    assert found_in([5, 7, 10]) == [(5, 8, False, False, 2), (10, 11, False, False, 1)]
    assert found_in(range(50, 80)) == [(50, 80, False, False, 30)]
    assert found_in(range(50, 81)) == [(50, 81, True, False, 31)]
    lasting = [*range(20, 24), *range(39, 43)]  # fifteen between them
    assert found_in([], lasting) == [(20, 43, True, False, 8)]
    assert found_in([], [*range(20, 24), *range(40, 44)])[0][:2] == (20, 24)
    assert found_in([], [30, 31]) == [(30, 32, False, False, 2)]  # two are no lasting fault
    assert found_in([], [30, 31, 32]) == [(30, 33, True, False, 3)]
    assert found_in([], range(100, 200))[0][2:4] == (True, True)
    assert found_in([], range(100, 194))[0][3] is False
    assert found_in([], range(99, 195))[0][3] is False  # a twentieth of 96 is four
    assert found_in([], range(99, 196))[0][3] is True
    assert found_in([197])[0][3] is False
    assert found_in([198])[0][3] is True  # one good reading is no return


def test_what_stands_still_is_parted_from_what_is_beside_it():
    values = np.sin(np.arange(200.0))[:, None]
    values[60:100] = 5.0
    parts = [one[:2] for one in found_in([], range(55, 105), values)]
    assert parts == [(55, 60), (60, 100), (100, 105)]
    parts = [one[:2] for one in found_in([], range(49, 100), values)]
    assert parts == [(49, 100)]  # 40 of 51
    several = [*range(5, 8), *range(55, 105), *range(150, 153)]
    parts = [one[:2] for one in found_in([], several, values)]
    assert parts == [(5, 8), (55, 60), (60, 100), (100, 105), (150, 153)]
    values[:] = np.sin(np.arange(200.0))[:, None]
    values[60:69] = 5.0
    assert [one[:2] for one in found_in([], range(60, 70), values)] == [(60, 70)]  # nine are few
    values[150:] = 5.0
    assert [one[:2] for one in found_in([], range(145, 200), values)] == [(145, 200)]


def test_spreads_are_of_what_nobody_flagged():
    residual = np.array([[1.0, 0.1, 3.0], [-1.0, 0.1, 3.0], [2.0, 0.1, -3.0], [90.0, 0.1, 3.0]])
    flagged = np.abs(residual) > 50
    usual = 1.4826
    got = episodes._spreads(residual, flagged, alike=True)
    assert got == pytest.approx([usual, 0.2 * usual, 3 * usual])
    alone = episodes._spreads(residual, flagged, alike=False)
    assert alone[[0, 2]] == pytest.approx([usual, 3 * usual])
    assert alone[1] < 0.2 * usual
    unknown, nothing = np.full((3, 1), np.nan), np.zeros((3, 1), bool)
    for alike in (True, False):
        assert episodes._spreads(unknown, nothing, alike=alike) == pytest.approx(1.0)


def test_most_of_a_stretch_accused_by_a_model_is_held_against_it():
    stretch = episodes.Stretch(
        1, np.arange(10, 20), np.ones(10), np.ones(10), np.zeros(10), 8, False, True, 0.1
    )
    estimate = np.full((30, 3), 7.0)
    for accused, since in ((4, False), (5, True)):
        marks = np.zeros((30, 3), dtype=bool)
        marks[10 : 10 + accused, 1] = True
        found = episodes._held_against(stretch, marks, estimate, ABOUT)
        assert found.since == since
        assert (found.implied == (7.0 if since else 0.0)).all()


def test_what_cannot_be_true_is_most_of_it():
    cold = replace(ABOUT, quantity=Quantity(Quality.LINEAR, possible=(-90.0, 60.0)))
    assert episodes._impossible(np.array([61.0, 62.0, 20.0]), cold)
    assert not episodes._impossible(np.array([61.0, 20.0]), cold)
    assert episodes._impossible(np.array([-91.0]), cold)
    above = replace(ABOUT, quantity=Quantity(Quality.POSITIVE, possible=(0.0, np.inf)))
    below = replace(ABOUT, quantity=Quantity(Quality.LINEAR, possible=(-np.inf, 5.0)))
    assert episodes._impossible(np.array([-1.0]), above)
    assert episodes._impossible(np.array([6.0]), below)
    assert not episodes._impossible(np.array([-1.0, 6.0]), ABOUT)


# Sentences


def said(one, kind, context=ABOUT, seen=None):
    seen = seen or sound()
    one = replace(one, implied=seen.implied(one.node, one.at))
    return explain.explain(kind, one, seen, context, 1.0)


@pytest.mark.parametrize(("kind", "deviation", "options", "text"), [
    (Kind.SPIKE, [9.0], {}, "reads 29 °C once, "),
    (Kind.SPIKE, [9.0, 11.0], {}, "reads 30 °C 2 times, "),
    (Kind.SPIKE, [9.0, -9.0], {}, "reads 11 to 29 °C 2 times, "),
    (Kind.BURST, [9.0, 10.0, 11.0], {}, "3 readings in a burst around 30 °C, "),
    (Kind.STUCK, [9.0] * 12, {}, "stuck at 29 °C, "),
    (Kind.DRIFT, np.arange(10.0), {}, "drifts to 28.5 °C, "),
    (Kind.NOISY, [9.0, -9.0, 9.0], {}, "jumps around 29 °C, "),
    (Kind.DEAD, np.arange(10.0), {}, "reads 28.5 °C and does not come back, "),
    (Kind.BIAS, [9.0] * 40, {}, "reads 29 °C, "),
    (Kind.PACKET, [9.0], {}, "reads 29 °C with other conditions off in the same packet, "),
])  # fmt: skip
def test_the_sentence_begins_with_what_was_read(kind, deviation, options, text):
    assert said(stretch(deviation, **options), kind).startswith(text)


def test_the_sentence_goes_on_with_whom_it_is_held_against():
    flat = replace(sound(), deviation=np.zeros((200, 3)))
    bias = stretch([9.0] * 40)
    text = "reads 29 °C, 9 °C above what its 2 most similar companions imply from 1 Jan 10:00"
    assert said(bias, Kind.BIAS, seen=flat).startswith(text)
    near = replace(flat, in_space=True)
    assert "what its 2 nearest companions imply" in said(bias, Kind.BIAS, seen=near)
    one = replace(flat, order=np.array([[1, -1]] * 3))
    assert "what its most similar companion implies" in said(bias, Kind.BIAS, seen=one)
    below = stretch([-9.0] * 40)
    assert "9 °C below what" in said(below, Kind.BIAS, seen=flat)
    both = said(stretch([9.0, -8.0]), Kind.SPIKE, seen=flat)
    assert "up to 9 °C off what" in both
    assert "8.5 °C above what" in said(
        stretch([*range(10)]), Kind.DRIFT, seen=flat
    )  # its last fifth
    nobody = replace(flat, deviation=np.full((200, 3), np.nan))
    assert "29 °C, with no companion to compare, from" in said(bias, Kind.BIAS, seen=nobody)
    early = replace(
        flat, deviation=np.where(np.arange(200)[:, None] < 40, 0.0, np.nan) + np.zeros(3)
    )
    assert "earlier 9 °C above" in said(bias, Kind.DEAD, seen=early)


def test_the_sentence_ends_with_when_and_the_battery():
    flat = replace(sound(), deviation=np.zeros((200, 3)))
    assert said(stretch([9.0]), Kind.SPIKE, seen=flat).endswith("imply at 1 Jan 10:00")
    pair = said(stretch([9.0] * 2), Kind.SPIKE, seen=flat)
    assert pair.endswith("imply from 1 Jan 10:00 to 1 Jan 11:00")
    last = stretch([9.0] * 40, to_end=True)
    assert said(last, Kind.DEAD, seen=flat).endswith("imply since 1 Jan 10:00")
    passing = replace(last, lasting=False)
    assert "from 1 Jan 10:00 to 3 Jan 01:00" in said(passing, Kind.DEAD, seen=flat)
    timed = replace(ABOUT, times=ABOUT.times[:199])
    later = said(stretch([9.0] * 3, first=199), Kind.BURST, timed, sound(300))
    assert later.endswith("from slot 199 to slot 201")
    volts = np.full((200, 3), 2.7)
    volts[42:, 0] = 2.25
    weak = replace(ABOUT, companions={"battery": volts})
    assert said(last, Kind.DEAD, weak, flat).endswith(", battery 2.25")
    volts[:, 0] = np.linspace(3.0, 1.01, 200)  # of forty readings the last eight
    assert said(last, Kind.DEAD, weak, flat).endswith(f", battery {np.median(volts[42:50, 0]):.2f}")
    volts[:] = np.nan
    assert said(last, Kind.DEAD, weak, flat).endswith("10:00")


def test_directions_are_compared_the_shorter_way_round():
    about = Quantity(Quality.CIRCULAR, low=0.0, high=360.0, period=360.0)
    wind = replace(ABOUT, unit="°", quantity=about)
    north = replace(sound(), deviation=np.zeros((200, 3)), level=np.full(3, 350.0))
    one = stretch([20.0] * 3, readings=[370.0] * 3)
    assert "burst around 10 °, 20 ° above" in said(one, Kind.BURST, wind, north)
    two = stretch([20.0] * 3, readings=[10.0] * 3)
    assert "burst around 10 °, 20 ° above" in said(two, Kind.BURST, wind, north)


def test_events_are_said_with_how_many_and_how_far():
    move = Move(5, 9, 1, 4, 6, -2.5, 9.0)
    text = "4 of 6 nodes fall by 2.5 °C together at 1 Jan 05:00: an event, not a fault"
    assert explain.explain_event(move, ABOUT, 1.0) == text
    up = explain.explain_event(replace(move, size=2.5), ABOUT, 2.0)
    assert "nodes rise by 5 °C" in up
    local = Local(5, 9, 1, 2, 6, 3.5, 9.0)
    assert explain.explain_local(local, ABOUT, 1.0) == (
        "2 nodes are up to 3.5 °C above the field from 1 Jan 05:00 to 1 Jan 08:00 and others "
        "see it too: an event, no fault"
    )
    one = explain.explain_local(replace(local, nodes=1, stop=6, size=-3.5), ABOUT, 1.0)
    assert one.startswith("it is up to 3.5 °C below the field at 1 Jan 05:00 and others")


def test_both_ways_is_a_good_part_of_the_farthest():
    assert explain.both_ways(np.array([10.0, -3.1]))
    assert not explain.both_ways(np.array([10.0, -2.9]))
    for gap in ([10.0, -3.0], [-10.0, 3.0]):
        assert not explain.both_ways(np.array(gap))
    assert explain.both_ways(np.array([-10.0, 3.1]))
    assert not explain.both_ways(np.array([10.0, 9.0]))


def test_a_move_for_good_is_an_event_of_a_day():
    X = np.random.default_rng(0).normal(0, 0.1, (400, 6))
    X[100:] += 8.0
    nothing = np.zeros(X.shape, dtype=bool)
    about = replace(ABOUT, times=np.arange(400) * HOUR, nodes=tuple("abcdef"))
    (event,) = episodes.classify(X, X, nothing, about)
    assert (str(event.kind), event.start, event.stop) == ("event", 100, 124)
    (event,) = episodes.classify(X, X, nothing, replace(about, slot=0))
    assert (event.start, event.stop) == (100, 100 + episodes.LASTING_GAP)


def test_what_others_saw_too_is_told_where_it_was_and_nowhere_else():
    X = np.random.default_rng(1).normal(0, 0.1, (200, 6))
    X[50:60, 2] += 5.0
    field = np.zeros(X.shape)
    event, flagged = np.zeros((2, *X.shape), dtype=bool)
    event[50:60, 2] = True
    flagged[55, 2] = True
    event[80, 3] = True
    X[80, 3] = np.nan  # nothing was read there
    found = episodes.classify(X, field, flagged, ABOUT, event=event)
    told = [(str(e.kind), e.node, e.start, e.stop, e.readings) for e in found]
    assert told == [("spike", 2, 55, 56, 1), ("event", 2, 50, 60, 0)]


def test_what_lasts_has_to_be_seen_to():
    lasting = {str(kind) for kind in Kind if kind.lasts}
    assert lasting == {"stuck", "drift", "bias", "noisy", "dead", "silent"}


# How sure


def test_the_panel_holds_sound_readings_from_their_levels():
    X = np.array([[1.0, 10.0, 100.0], [2.0, 20.0, np.nan], [3.0, 30.0, 300.0], [9.0, 99.0, 500.0]])
    flagged = np.zeros(X.shape, dtype=bool)
    flagged[3] = True
    seen = panel(X, flagged, ABOUT)
    assert seen.level.tolist() == [2.0, 20.0, 200.0]
    assert seen.deviation[:, 2].tolist()[0::2] == [-100.0, 100.0]
    assert seen.implied(0, np.array([0, 1])).tolist() == [2 + (-10 - 100) / 2, 2.0]
    flagged[:, 2] = True
    assert panel(X, flagged, ABOUT).level.tolist() == [2.0, 20.0, 11.0]
    allowed = reach(X, flagged, panel(X, flagged, ABOUT))
    assert allowed.farthest.tolist() == [10.0, 10.0, 10.0]
    assert allowed.sound.tolist() == [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]


@pytest.mark.parametrize(("kind", "readings", "options", "sure"), [
    (Kind.SPIKE, [29.0], {}, True), (Kind.SPIKE, [28.0], {}, False),
    (Kind.BURST, [29.0, 27.0], {}, False), (Kind.BURST, [29.0, 11.0], {}, True),
    (Kind.PACKET, [11.0], {}, True), (Kind.DRIFT, [99.0] * 9, {}, False),
    (Kind.DRIFT, [99.0], {"impossible": True}, True),
    (Kind.DEAD, np.arange(22.0, 27.0, 0.125), {}, False),
    (Kind.DEAD, np.arange(26.0, 31.0, 0.125), {}, True),
    (Kind.DEAD, np.arange(22.0, 27.0, 0.125), {"low_battery": True}, True),
    (Kind.DEAD, [*np.arange(22.0, 26.0, 0.125), *[26.0] * 3, 25, 24, 25, 24, 25], {}, True),
    (Kind.DEAD, [*np.arange(22.0, 26.0, 0.125), *[26.0] * 2, 25, 24, 25, 24, 25, 24], {}, False),
    (Kind.DEAD, [*np.arange(22, 26, 0.125), 25, 24.9, 24.8, 29, 29.1, 29.2, 29.3, 29.4], {}, True),
    (Kind.DEAD, [26.0, 26.0], {}, False),  # one reading stands still by itself
])  # fmt: skip
def test_certain_is_beyond_twice_as_far_as_anything_went(kind, readings, options, sure):
    one = stretch(np.ones(len(readings)), readings=readings)
    allowed = Reach(np.array([20.0]), np.array([4.0]), np.linspace(16, 24, 100))
    given = {"low_battery": False, "impossible": False} | options
    assert certain(kind, one, allowed, **given) is sure


def test_a_value_that_is_sent_often_says_nothing():
    calm = np.sort(np.concatenate([np.zeros(5), np.arange(1.0, 96.0)]))
    assert _rare_value(np.zeros(9), calm)
    assert not _rare_value(np.zeros(9), np.sort(np.append(calm[1:], 0.0) * (np.arange(100) > 5)))
    assert _rare_value(np.full(9, 50.0), calm)
    often = np.sort(np.concatenate([np.full(6, 50.0 * (1 + 1e-7)), np.arange(94.0)]))
    assert not _rare_value(np.full(9, 50.0), often)


# What to look at first


def one_of(node, start, kind="spike", readings=1):
    return Episode(node, "t", start, start + 1, kind, readings, 9.0, 0.9, "…")


def test_a_crowd_is_five_nodes_and_a_fifth_of_all_within_three_slots():
    crowd = [one_of(n, 100 + n % 3) for n in range(5)]
    assert ranking.ranked({"t": crowd}, 25, 1000)[0].nodes == (0, 1, 2, 3, 4)
    assert not ranking.ranked({"t": crowd}, 26, 1000)[0].together
    assert not ranking.ranked({"t": crowd[:4]}, 10, 1000)[0].together
    before = [*crowd, *(one_of(9, start) for start in (70, 80, 90))]
    assert ranking.ranked({"t": before[:6]}, 25, 1000)[0].nodes == (0, 1, 2, 3, 4)
    assert ranking.ranked({"t": before}, 25, 1000)[0].nodes == (0, 1, 2, 3, 4)
    late = [*crowd[:4], one_of(4, 103)]
    assert not ranking.ranked({"t": late}, 25, 1000)[0].together
    twice = [*crowd, *(one_of(n, 500) for n in range(5, 10))]
    assert [i.nodes for i in ranking.ranked({"t": twice}, 25, 1000)] == [
        (0, 1, 2, 3, 4), (5, 6, 7, 8, 9),
    ]  # fmt: skip
    # Where spikes are many, as many begin together by chance: 3 + 6·√3 and more are asked.
    often = [one_of(n, 10 * k) for k in range(100) for n in range(10)]
    assert not any(i.together for i in ranking.ranked({"t": often}, 25, 1000))


def test_of_equal_kinds_the_one_with_more_evidence_is_first():
    few, many = one_of(0, 5, "bias", 4), one_of(1, 5, "bias", 16)
    assert [i.nodes for i in ranking.ranked({"t": [few, many]}, 9, 99)] == [(1,), (0,)]
    assert ranking._evidence(many) == pytest.approx(9 * 4 * 0.9)
    assert ranking._evidence(replace(many, severity=1e9)) == pytest.approx(1e6 * 4 * 0.9)
    none = replace(few, readings=0)
    assert ranking._weight(ranking._item([none])) == pytest.approx(9 * 0.9)
    item = ranking._item([few, replace(many, node=0, start=2, stop=50, condition="h")])
    assert (item.start, item.stop, item.readings, item.count) == (2, 50, 20, 2)
    assert item.conditions == ("h", "t")


def test_a_silence_is_four_times_as_long_as_any_before_and_a_twentieth():
    heard = np.ones((200, 5), dtype=bool)
    heard[150:, 0] = False
    heard[90:100, 0] = False  # eleven slots from reading to reading: 44 and more are asked
    heard[190:, 1] = False  # ten of two hundred: no more than a twentieth
    heard[189:, 2] = False
    assert ranking.silences(heard) == [(0, 149), (2, 188)]
    heard[150:156, 0] = True
    assert ranking.silences(heard) == [(2, 188)]
    heard[:, 3] = False
    heard[:4, 3] = True  # four readings say nothing
    assert ranking.silences(heard) == [(2, 188)]
    heard[4, 3] = True
    assert ranking.silences(heard) == [(3, 4), (2, 188)]
    assert ranking.silences(np.zeros((9, 2), dtype=bool)) == []


def test_companions_imply_nothing_that_cannot_be():
    dust = replace(ABOUT, quantity=Quantity(Quality.POSITIVE, low=0.0, high=30.0))
    low = stretch([12.0] * 12, readings=[10.9] * 12)  # they would imply −1.1
    assert "10.9 °C above what" in explain.explain(Kind.STUCK, low, sound(), dust, 1.0)
    assert "12 °C above what" in explain.explain(Kind.STUCK, low, sound(), ABOUT, 1.0)
    high = stretch([-9.0] * 12, readings=[25.0] * 12)  # 34
    assert "5 °C below what" in explain.explain(Kind.STUCK, high, sound(), dust, 1.0)
    halved = stretch([6.0] * 12, readings=[5.45] * 12)
    assert "10.9 °C above what" in explain.explain(Kind.STUCK, halved, sound(), dust, 2.0)


def test_a_value_that_the_companions_imply_is_not_said_to_be_above_it():
    dust = replace(ABOUT, quantity=Quantity(Quality.POSITIVE, low=0.0))
    zero = stretch([3.0] * 12, readings=[0.0] * 12)
    said = explain.explain(Kind.STUCK, zero, sound(), dust, 1.0)
    assert said.startswith("stuck at 0 °C, just what its 2 most similar companions imply from")


def test_a_wrong_gain_goes_up_and_down_and_does_not_drift():
    off = 3 * np.sin(np.arange(300) / 15)
    assert explain.swings(off)
    assert not explain.swings(np.linspace(-3, 3, 300))  # once across is a drift
    assert not explain.swings(3 + off / 4)
    assert not explain.swings(off[:20])
    X = readings(1500, seed=4)
    X[400:1000, 3] = np.median(X[:, 3]) + 5 * (X[400:1000, 3] - np.median(X[:, 3]))
    labels = context(X)
    lasting = faults.persistent(X, labels)
    estimate = fm.decompose(np.where(lasting, np.nan, X)).estimate
    (one,) = [e for e in faults.classify(X, estimate, lasting, labels, lasting) if e.node == 3]
    assert one.kind == Kind.NOISY
    assert one.explanation.startswith("goes up and down, ")
    assert " off what its " in one.explanation


def test_who_drifts_back_is_told_by_how_far_it_was_off_at_first():
    flat = replace(sound(), deviation=np.zeros((200, 3)))
    back = said(stretch(-np.arange(10.0)[::-1]), Kind.DRIFT, seen=flat)
    assert back.startswith("drifts back to 19.5 °C, at first 8.5 °C below what its 2 most")
    half = said(stretch([9.0, 9.0, 9.0, 7.0, 6.0, 6.0, 5.0, 5.0, 5.0, 5.0]), Kind.DRIFT, seen=flat)
    assert half.startswith("drifts to 25 °C, 5 °C above what")


def test_single_readings_that_companions_say_nothing_of_are_held_against_those_beside_them():
    """Wet asphalt stays at 0 °C while all others cool: −1.4 is a jump, though others imply −1.6."""
    burst = replace(
        stretch([-5.0, 0.0, -5.0], readings=[18.6, 19.9, 18.6], lasting=False),
        implied=np.full(3, 18.4),
        beside=19.9,
    )

    def told(one, kind=Kind.BURST):
        return explain.explain(kind, one, sound(), ABOUT, 1.0)

    assert "1.3 °C below what it reads before and after from" in told(burst)
    # Who goes the way that companions say is told by them, and so is a lasting fault.
    above = replace(burst, implied=np.full(3, 19.9))
    assert "1.3 °C below what its 2 most similar companions imply" in told(above)
    assert "companions imply" in told(burst, Kind.BIAS)
    assert "companions imply" in told(replace(burst, beside=np.nan))


def test_what_stands_beside_a_stretch_is_its_nearest_sound_reading_on_either_side():
    values, good = np.array([1.0, 9.0, 3.0, 8.0, 8.0, 5.0]), np.array([0, 2, 5])
    assert episodes._beside(values, good, 3, 5) == 4.0
    assert episodes._beside(values, good, 0, 5) == 5.0
    assert np.isnan(episodes._beside(values, good[:0], 0, 6))
