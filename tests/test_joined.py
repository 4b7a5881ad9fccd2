"""What several nodes go through at one time is an event; so is what comes and goes by steps."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field.flags import Channel, Rule, _waves
from fieldmend.field.joined import joined
from fieldmend.field.jumps import JumpLaw, Readings
from fieldmend.metrics import interpolate

NODES, SLOTS, LENGTH = 12, 1200, 10
TOGETHER = [(n + k, slot) for k, slot in enumerate((100, 300, 500, 700)) for n in range(3)]
CREW = [(n, slot) for slot in (100, 300, 500, 700) for n in range(3)]
APART = [(n, 100 + 300 * (n % 3) + 25 * n) for n in range(NODES)]


class Learnt(Rule):
    """A rule that holds the departures for false."""

    def segments(self, channels, used, slots):
        return Found(channels[0].values != 0)


class Found:
    """Segments, as a mask."""

    def __init__(self, false):
        self.false = false

    def mask(self, used):
        return self.false.copy()


def looked_at(places, size=5.0, law=1.0, still=False, alike=0.0):
    """Doubted at these nodes and slots: departures of such a size (of each, or of all).

    Three nodes have a part of their noise in common.
    """
    departure = np.zeros((NODES, SLOTS))
    for (n, slot), by in zip(places, np.broadcast_to(size, len(places)), strict=True):
        departure[n, slot : slot + LENGTH] = by * law
    doubted = departure != 0
    rng = np.random.default_rng(5)
    noise = rng.normal(0.0, 0.1, (NODES, SLOTS))
    noise[:3] += alike * rng.normal(0.0, 0.1, SLOTS)
    readings = departure + (0.0 if still else noise)
    which, events = joined(doubted, departure, np.ones_like(doubted), readings)
    assert not (which & ~doubted).any()
    return which & events, events


def test_what_some_go_through_at_several_times_is_an_event():
    which, events = looked_at(TOGETHER)
    assert events
    assert which.sum() == LENGTH * len(TOGETHER)
    which, events = looked_at([*TOGETHER, (9, 1000)])
    assert events
    assert not which[9].any()  # who is alone at another time is no company


def test_who_fails_together_is_no_witness():
    """The same three nodes each time: a gateway, unless they go together at other times too."""
    assert not looked_at(CREW)[1]
    which, events = looked_at(CREW, alike=2.0)
    assert events
    assert which.sum() == LENGTH * len(CREW)
    roams = [(n + 2 * k, 200 + 200 * k) for k in range(5) for n in range(3)]
    assert looked_at(CREW[:9] + roams)[1]  # some meet again by chance


def test_a_rule_that_was_learnt_is_applied_where_there_is_less_to_learn_from():
    departure = np.zeros((NODES, 60))
    departure[:2, 20:30] = 4.0
    doubted, readings = departure != 0, departure + np.arange(60)
    which, events = joined(doubted, departure, np.ones_like(doubted), readings)
    assert which.sum() == 20  # they have company, and once tells nothing
    assert not events
    channels = (Channel(departure), Channel(readings))
    for known, wanted in ((False, 20), (True, 0)):
        rule = Learnt((), (0.01, 0.001), events=known)
        assert rule.apply(channels, np.ones_like(doubted), np.arange(60)).sum() == wanted


@pytest.mark.parametrize(
    ("places", "options"),
    [
        (APART, {}),  # by chance
        (TOGETHER[:6], {}),  # twice: as a gateway may fail
        ([(n, slot) for slot in (100, 300, 500, 700) for n in range(7)], {}),  # most of them
        (TOGETHER, {"size": [5.0, -5.0, 5.0] * 4}),  # to both sides
        (TOGETHER, {"law": np.array([1.0, -1.0] * 5)}),  # garbage
        (TOGETHER, {"still": True}),  # one value again and again
        ([], {"size": []}),
    ],
)
def test_what_is_none(places, options):
    assert not looked_at(places, **options)[1]


def test_waves_come_and_go_by_steps():
    at = Readings.where(np.ones((1, 60), dtype=bool), np.arange(60))
    start, length = np.array([20]), np.array([20])

    def wave(inside):
        values = np.zeros(60)
        values[20:40] = inside
        return bool(_waves(values, at, start, length)[0])

    assert wave(np.sin(np.pi * (np.arange(20) + 0.5) / 20))
    assert not wave(np.ones(20))  # out and back by jumps
    assert not wave(np.arange(1, 21) / 20)  # drifts, and jumps back
    assert not wave(np.arange(20, 0, -1) / 20)  # a door: the other tests judge it


@pytest.mark.parametrize(("lost", "wave"), [(1, False), (3, False), (16, True)])
def test_across_a_long_gap_nobody_saw_a_jump(lost, wave):
    """Both ends of a departure lie in gaps: after sixteen slots it may have come by steps."""
    slot = np.concatenate([np.arange(20), np.arange(20) + 20 + lost, np.arange(20) + 40 + 2 * lost])
    at = Readings(slot, np.zeros(60, dtype=int))
    values = np.zeros(60)
    values[20:40] = 1.0
    assert _waves(values, at, np.array([20]), np.array([20]))[0] == wave


def test_a_rule_spares_waves_and_what_others_join():
    law = JumpLaw(np.full(NODES, 0.1), np.ones(1), 3.0, 20.0, np.zeros(NODES), np.ones(NODES))
    values = np.zeros((NODES, 300))
    values[0, 50:70] = 3 * np.sin(np.pi * (np.arange(20) + 0.5) / 20)
    values[1:4, 150:160] = 4 + 0.01 * np.arange(10)
    values[5, 250:260] = 4.0
    used = np.ones(values.shape, dtype=bool)
    for events, false in ((False, {1, 2, 3, 5}), (True, {5})):
        rule = Rule((law,), (0.01, 0.001), events=events)
        found = rule.apply((Channel(values),), used, np.arange(300))
        assert set(np.flatnonzero(found.any(axis=1)).tolist()) == false


def road(seed):
    """Speeds of 24 detectors; now and then some of them beside each other stand in a queue."""
    rng = np.random.default_rng(seed)
    slots, nodes = 700, 24
    flow = np.cumsum(rng.normal(0, 0.1, (slots, 1)), axis=0)
    X = 60 + flow + rng.normal(0, 1, (slots, nodes))
    for start in range(40, slots - 40, 90):
        where = int(rng.integers(nodes - 4))
        X[start : start + 15, where : where + 4] = 20 + rng.normal(0, 2, (15, 4))
    return X


@pytest.mark.parametrize("seed", [1, 2])
def test_queues_are_followed_as_closely_as_by_a_line(seed):
    X = road(seed)
    lost = np.random.default_rng(seed).random(X.shape) < 0.4
    Y = np.where(lost, np.nan, X)
    out = fm.decompose(Y, method="auto", faults=False)

    def error(estimate):
        return np.sqrt(((estimate - X)[lost] ** 2).mean())

    assert error(out.estimate) < 0.75 * error(interpolate(Y))
    assert not out.sparse[(X < 35) & ~lost].any()
