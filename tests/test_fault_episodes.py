"""Episodes: their kinds, certainty, sentences, and which to look at first."""

from dataclasses import replace

import numpy as np
import pytest

from faulty import FAULTS, NODES, context, diagnose, of, readings
from fieldmend import faults
from fieldmend.faults import neighbours, ranking


def test_every_flagged_reading_lies_in_exactly_one_episode():
    X = readings()
    for node, kind in enumerate(FAULTS):
        FAULTS[kind][0](X, node, FAULTS[kind][1])
    X[50:560:51, 10] += 9
    episodes, suspect = diagnose(X)
    which, names = faults.kinds(episodes, X.shape)
    assert (which[suspect] >= 0).all()
    counts = np.bincount(which[suspect], minlength=len(episodes))
    faulty = [i for i, e in enumerate(episodes) if e.kind != "event"]
    assert [counts[i] for i in faulty] == [episodes[i].readings for i in faulty]
    assert names == tuple(e.kind for e in episodes)


def test_confidence_is_ordered_by_size_and_by_length():
    sizes = [faults.confidence(s, 1) for s in (1, 6, 12, 100, 1e9)]
    lengths = [faults.confidence(6, n) for n in (1, 2, 50, 10**6)]
    for row in (sizes, lengths):
        assert row == sorted(row)
        assert len(set(row)) == len(row)
        assert 0 <= row[0] <= row[-1] <= 0.99


def test_larger_faults_are_more_severe_and_more_certain():
    found = []
    for size in (4.0, 8.0, 16.0):
        X = readings()
        X[100:103, 3] += size
        found.append(of(diagnose(X)[0], 3)[0])
    assert [e.severity for e in found] == sorted(e.severity for e in found)
    assert found[0].confidence < found[1].confidence < found[2].confidence
    assert all(e.readings == 3 for e in found)


def test_severity_is_in_units_of_the_usual_spread():
    X = readings()
    estimate = X + 0.1 * np.random.default_rng(1).standard_normal(X.shape)
    suspect = np.zeros(X.shape, dtype=bool)
    suspect[50, 2] = True
    X[50, 2] = estimate[50, 2] + 2.0
    (found,) = of(faults.classify(X, estimate, suspect, context(X)), 2)
    assert found.severity == pytest.approx(20, rel=0.15)


def test_the_sentence_says_how_far_against_whom_since_when_and_the_battery():
    X = readings(spread=0.1)
    X[300:, 7] += np.linspace(0, 60, 300)
    places = {f"n{i}": {"x": float(i), "y": 0.0} for i in range(NODES)}
    volts = np.full(X.shape, 2.7)
    volts[300:, 7] = np.linspace(2.7, 2.2, 300)
    labels = context(X, places=places, companions={"Vbat (V)": volts})
    (found,) = of(diagnose(X, labels)[0], 7)
    assert found.kind == "dead"
    assert "°C above what its 5 nearest companions imply since 5 Mar 0" in found.explanation
    assert found.explanation.endswith(", Vbat (V) 2.25")
    number = float(found.explanation.split(" °C above")[0].split()[-1])
    assert number == pytest.approx(54, abs=3)


def test_without_places_the_companions_are_the_most_similar_nodes():
    X = readings()
    X[100, 3] += 9
    (found,) = of(diagnose(X)[0], 3)
    assert "what its 5 most similar companions imply at 4 Mar 08:20" in found.explanation


def test_companions_are_nearest_in_space():
    X = readings(nodes=8)
    places = {f"n{i}": {"lat": 60.0, "lon": float(i)} for i in range(8)}
    order, in_space = neighbours.companions(X, context(X, places=places))
    assert in_space
    assert set(order[0]) == {1, 2, 3, 4, 5}
    assert set(order[7]) == {2, 3, 4, 5, 6}


def test_spikes_up_and_down_have_no_mean():
    X, field = readings(), readings(noise=0)
    X[100, 3] += 12.0
    X[101, 3] -= 9.0
    suspect = np.zeros(X.shape, dtype=bool)
    suspect[100:102, 3] = True
    (found,) = of(faults.classify(X, field, suspect, context(X)), 3)
    low, high = (f"{X[t, 3]:.3g}" for t in (101, 100))
    assert f"reads {low} to {high} °C" in found.explanation
    assert "off what" in found.explanation


def test_two_single_readings_an_hour_apart_are_no_drift():
    X = np.random.default_rng(3).normal(size=(300, 8)).cumsum(axis=0) * 0.05
    estimate = X.copy()
    X[100, 2], X[112, 2] = X[100, 2] - 14, X[112, 2] + 9
    wrong = np.zeros(X.shape, dtype=bool)
    wrong[[100, 112], 2] = True
    found = faults.classify(X, estimate, wrong, persistent=wrong)
    assert [str(e.kind) for e in found] == ["spike", "spike"]


# Kinds and certainty


def test_every_kind_has_its_words_and_its_own_symbol():
    kinds = list(faults.Kind)
    assert all(kind.words and kind.symbol for kind in kinds)
    assert len({kind.symbol for kind in kinds}) == len(kinds)
    assert all(kind.visit for kind in kinds if kind.lasts)
    gravest = sorted(kinds, key=lambda kind: -kind.gravity)
    assert gravest[:6] == ["dead", "stuck", "drift", "bias", "silent", "noisy"]
    assert gravest[-1] == "event"


@pytest.mark.parametrize(("kind", "sure"), [("stuck", True), ("dead", True), ("drift", False)])
def test_what_is_certain(kind, sure):
    X = readings()
    inject, part = FAULTS[kind]
    inject(X, 7, part)
    found = max(of(diagnose(X)[0], 7), key=lambda e: e.readings)
    assert found.kind == kind
    assert found.certain == sure


def test_a_spike_is_certain_only_far_beyond_all_that_was_read():
    X = readings()
    X[100, 3] += 5.0
    X[300, 3] += 90.0
    near, far = of(diagnose(X)[0], 3)
    assert not near.certain
    assert far.certain


def test_resting_at_a_usual_value_is_not_certainly_stuck():
    X = np.where(readings() > 22, readings(), 0.0)
    suspect = np.zeros(X.shape, dtype=bool)
    X[200:300, 4] = 0.0
    suspect[200:300, 4] = True
    (found,) = of(faults.classify(X, readings(), suspect, context(X), suspect), 4)
    assert found.kind == "stuck"
    assert not found.certain


def test_what_is_certain_is_held_for_so_however_near_it_lies():
    """A value that repeats is false by that; how far it is from the field says nothing of it."""
    X = readings()
    X[200:300, 4] = X[200, 4]
    suspect = np.zeros(X.shape, dtype=bool)
    suspect[200:300, 4] = True
    estimate = X + 0.3 * np.random.default_rng(0).normal(size=X.shape)
    estimate[200:300, 4] = X[200, 4] + 1e-3
    (found,) = of(faults.classify(X, estimate, suspect, context(X), suspect), 4)
    assert found.certain
    assert found.severity < 0.1
    assert found.confidence == 0.9
    estimate[200:300, 4] += 50
    (far,) = of(faults.classify(X, estimate, suspect, context(X), suspect), 4)
    assert far.confidence > 0.9


def test_an_event_within_the_usual_spread_or_below_the_resolution_is_not_told():
    X, nothing = readings(), np.zeros(readings().shape, dtype=bool)
    event = nothing.copy()
    event[200:220, 4] = True

    def told(X, size, usual=0.0):
        off = np.random.default_rng(0).normal(0, 0.05, X.shape)
        labels = replace(context(X), usual=usual)
        found = faults.classify(X, X - np.where(event, size, off), nothing, labels, event=event)
        return [e.node for e in found if e.kind == "event"]

    assert told(X, 0.4, usual=0.5) == []
    assert told(X, 0.6, usual=0.5) == [4]
    assert told(X, 0.6) == [4]
    assert told(np.round(X), 0.9) == []  # whole degrees are all that it tells
    assert told(np.round(X), 1.1) == [4]


# What to look at first


def episode(node, kind, start=10, stop=12, *, condition="t", readings=2, severity=9.0):
    return faults.Episode(node, condition, start, stop, kind, readings, severity, 0.9, "…")


def test_what_needs_a_visit_comes_before_spikes_however_large():
    found = [
        episode(1, "spike", severity=1e6),
        episode(2, "drift", 0, 90, readings=90),
        episode(3, "stuck", 0, 50, readings=50),
        episode(4, "dead", 50, 100, readings=50),
        episode(5, "noisy", 0, 50, readings=50),
        episode(6, "bias", 0, 50, readings=50),
        episode(7, "event", 0, 50, readings=0),
    ]
    kinds = [str(item.kind) for item in ranking.ranked({"t": found}, 30, 1000)]
    assert kinds == ["dead", "stuck", "drift", "bias", "noisy", "spike"]


def test_one_line_for_a_nodes_spikes_and_for_its_conditions():
    spikes = [episode(1, "spike", start, start + 1, readings=1) for start in range(0, 900, 90)]
    stuck = [episode(2, "stuck", 0, 50, condition=c, readings=50) for c in ("t", "h")]
    found = {"t": [*spikes, stuck[0]], "h": [stuck[1]]}
    first, second = ranking.ranked(found, 30, 1000)
    assert first.conditions == ("t", "h")
    assert first.readings == 100
    assert (second.count, second.readings) == (10, 10)


def test_many_nodes_at_one_time_are_one_line():
    crowd = [episode(n, "burst", 100 + n % 2, 112) for n in range(12)]
    alone = [episode(20, "spike", 500, 501)]
    first, second = ranking.ranked({"t": [*alone, *crowd]}, 30, 1000)
    assert first.together
    assert first.nodes == tuple(range(12))
    assert second.nodes == (20,)
    often = [episode(n, "spike", s, s + 1) for n in range(30) for s in range(n, 1000, 8)]
    assert not any(item.together for item in ranking.ranked({"t": often}, 30, 1000))


def test_a_silence_is_long_beside_those_before():
    heard = np.ones((200, 4), dtype=bool)
    heard[::2, 0] = False
    heard[150:, 0] = False
    heard[100:180, 1] = False
    heard[195:, 2] = False
    assert ranking.silences(heard) == [(0, 149)]
