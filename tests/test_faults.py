"""Faults: each kind found and named, what is no fault spared, sentences, edges, cost."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults import (
    events,
    excursions,
    gross,
    history,
    implied,
    lasting,
    levels,
    neighbours,
    ranking,
    seen_too,
    stretches,
)
from fieldmend.faults.events import keeps_its_distance, recurrent
from fieldmend.faults.gross import saturated
from fieldmend.quantities import Kind, Quantity, identify

HOUR = 3_600_000_000
SLOT = HOUR // 12
START = 1_078_358_400_000_000  # 4 March 2004
NODES = 20


def readings(slots=600, nodes=NODES, *, seed=0, noise=0.1, spread=1.0):
    """A clean temperature-like network without loss."""
    rng = np.random.default_rng(seed)
    field = fm.simulate.climate_field(slots, nodes, seed=seed) * spread
    return field + noise * rng.standard_normal(field.shape)


def context(X, **more):
    slots, nodes = X.shape
    labels = faults.Context(
        nodes=[f"n{i}" for i in range(nodes)],
        times=START + SLOT * np.arange(slots),
        slot=SLOT,
        condition="temperature",
        unit="°C",
    )
    return replace(labels, **more)


def diagnose(X, labels=None):
    """As the recovery does: mask, estimate, flag, classify."""
    labels = labels or context(X)
    lasting = faults.persistent(X, labels)
    estimate = fm.decompose(np.where(lasting, np.nan, X)).estimate
    suspect = faults.spikes(X, estimate, lasting) | lasting
    return faults.classify(X, estimate, suspect, labels, lasting), suspect


def of(episodes, node):
    return [e for e in episodes if e.node == node and e.kind != "event"]


def stuck(X, node, part):
    X[part, node] = X[part.start, node]


def drift(X, node, part):
    X[part, node] += np.linspace(0, 8, part.stop - part.start)


def bias(X, node, part):
    X[part, node] += 6.0


def dead(X, node, part):
    ramp = np.linspace(0, 80, part.stop - part.start)
    X[part, node] = np.minimum(X[part, node] + ramp, 90.0)


def burst(X, node, part):
    X[part, node] += np.random.default_rng(9).normal(0, 4, part.stop - part.start)


FAULTS = {
    "stuck": (stuck, slice(200, 300)),
    "drift": (drift, slice(250, 400)),
    "bias": (bias, slice(250, 400)),
    "dead": (dead, slice(400, 600)),
    "noisy": (burst, slice(200, 300)),
}


def placed(kind, seed):
    """Whether one fault is found, named, and delimited, and nothing else is flagged."""
    X = readings(seed=seed)
    inject, part = FAULTS[kind]
    inject(X, 7, part)
    episodes, suspect = diagnose(X)
    found = max(of(episodes, 7), key=lambda e: e.readings, default=None)
    assert np.delete(suspect, 7, axis=1).mean() < 0.003
    return (
        found is not None
        and found.kind == kind
        and abs(found.start - part.start) <= 45
        and abs(found.stop - part.stop) <= 10
        and suspect[part, 7].mean() > 0.7
    )


@pytest.mark.parametrize("kind", ["stuck", "bias", "dead", "noisy"])
def test_each_lasting_fault_is_found_named_and_placed(kind):
    assert all(placed(kind, seed) for seed in range(5))


def test_most_drifts_are_found_named_and_placed():
    # A weak spot: 8 °C over 12 hours on 20 nodes is missed, or ends late, in 3 of these 10.
    assert sum(placed("drift", seed) for seed in range(10)) >= 7


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_spikes_are_found_and_named(seed):
    X = readings(seed=seed)
    truth = np.zeros(X.shape, dtype=bool)
    at = np.random.default_rng(seed).choice(X.size, X.size // 50, replace=False)
    truth.flat[at] = True
    X[truth] += 8.0
    episodes, suspect = diagnose(X)
    assert fm.metrics.detection(suspect, truth).f1 > 0.95
    assert {e.kind for e in episodes} <= {"spike", "burst"}


def test_short_runs_are_bursts_and_single_readings_spikes():
    X = readings()
    X[100, 3] += 9
    X[200:204, 5] += 9
    episodes, _ = diagnose(X)
    assert [(e.kind, e.start, e.stop) for e in of(episodes, 3)] == [("spike", 100, 101)]
    assert [(e.kind, e.start, e.stop) for e in of(episodes, 5)] == [("burst", 200, 204)]


def test_a_packet_is_several_conditions_off_in_one_slot():
    X, other = readings(), readings(seed=5)
    X[100, 3] += 9
    X[300, 4] += 9
    other[100, 3] = -900
    episodes, _ = diagnose(X, context(X, companions={"humidity": other}))
    assert [e.kind for e in of(episodes, 3)] == ["packet"]
    assert [e.kind for e in of(episodes, 4)] == ["spike"]


@pytest.mark.parametrize("kind", ["stuck", "dead", "drift"])
@pytest.mark.parametrize("sampling", [0.9, 0.6])
def test_injected_faults_of_simulated_networks(kind, sampling):
    found = []
    for seed in range(3):
        net = fm.simulate.network(
            500, 54, field="temperature", anomaly=kind, sampling=sampling, noise=0.1, seed=seed
        )
        flags = faults.persistent(net.readings)
        found.append(fm.metrics.detection(flags, net.support))
        # Nobody is dragged along: what is false beside a fault is on the same node.
        assert not flags[:, ~net.support.any(axis=0)].any()
    assert np.mean([f.precision for f in found]) > 0.85
    # A drift begins at nothing, and what is sampled sparsely is seen late.
    assert np.mean([f.recall for f in found]) > (0.6 if kind == "drift" else 0.99)


def test_a_dying_node_does_not_drag_others_along():
    X = readings()
    sick = X.copy()
    dead(sick, 7, slice(300, 600))
    _, suspect = diagnose(sick)
    assert not np.delete(suspect, 7, axis=1).any()


# Levels that are left for long


def mountain(seed, nodes=24, slots=1728):
    """Stations at heights of their own: weather, inversions, sun, ten-minute slots; 8 % lost."""
    rng = np.random.default_rng(seed)

    def wander(phi, *shape):
        out = rng.standard_normal((slots, *shape)) * np.sqrt(1 - phi**2)
        for t in range(1, slots):
            out[t] += phi * out[t - 1]
        return out

    height = rng.uniform(0.6, 3.2, nodes)
    sun = np.clip(np.sin(2 * np.pi * (np.arange(slots) / 144 - 0.25)), 0, None)
    inversion = np.clip(wander(0.995), 0, None)[:, None] * 2.5 * (height - 1.5)
    X = 18 + 5 * wander(0.998)[:, None] - 6.2 * height + inversion
    X += sun[:, None] * rng.uniform(2, 9, nodes) + 0.6 * wander(0.9, nodes)
    X[rng.random(X.shape) < 0.08] = np.nan
    return X


def offset_to_the_end(X, node):
    X[864:, node] += 20.0
    return slice(864, None)


def offset_from_the_start(X, node):
    X[:432, node] -= 20.0
    return slice(0, 432)


def long_drift(X, node):
    X[432:1008, node] += np.linspace(0, 25, 576)
    return slice(600, 1008)


@pytest.mark.parametrize("fault", [offset_to_the_end, offset_from_the_start, long_drift])
@pytest.mark.parametrize("seed", range(2))
def test_a_level_left_for_days_is_found_though_it_is_half_of_the_record(fault, seed):
    X = mountain(seed)
    labels = context(X, slot=2 * SLOT)
    assert faults.persistent(X, labels).mean() < 0.001
    part = fault(X, 5)
    found = faults.persistent(X, labels)
    assert found[part, 5][~np.isnan(X[part, 5])].mean() > 0.95
    assert np.delete(found, 5, axis=1).mean() < 0.001


def test_three_that_left_their_level_do_not_hide_each_other():
    X = mountain(3)
    for fault, node in ((offset_to_the_end, 2), (offset_from_the_start, 9), (long_drift, 17)):
        fault(X, node)
    found = faults.persistent(X, context(X, slot=2 * SLOT))
    assert list(np.flatnonzero(found.mean(axis=0) > 0.1)) == [2, 9, 17]


def test_where_two_others_go_along_it_is_no_fault():
    X = mountain(4)
    for node, size in ((5, 20.0), (6, 15.0), (7, 12.0)):
        X[864:1200, node] += size
    labels = context(X, slot=2 * SLOT)
    field = implied.implied(X, ~np.isnan(X))
    assert not levels.shifted(X, field, np.zeros(X.shape, dtype=bool), labels).any()


def test_two_days_do_not_tell_how_far_levels_wander():
    X = mountain(5)[:288]
    X[144:, 5] += 20.0
    field = implied.implied(X, ~np.isnan(X))
    none = np.zeros(X.shape, dtype=bool)
    assert not levels.shifted(X, field, none, context(X, slot=2 * SLOT)).any()
    assert levels.shifted(X, field, none, context(X, slot=0)).any()


def test_what_lasts_for_hours_is_not_judged_by_its_level():
    X = mountain(5)
    X[864:924, 5] += 20.0
    field = implied.implied(X, ~np.isnan(X))
    none = np.zeros(X.shape, dtype=bool)
    assert not levels.shifted(X, field, none, context(X, slot=2 * SLOT)).any()


# What is no fault


@pytest.mark.parametrize("seed", range(4))
def test_clean_networks_stay_clean(seed):
    X = readings(seed=seed, nodes=30)
    assert faults.persistent(X, context(X)).mean() < 0.002
    assert faults.spikes(X, fm.decompose(X).estimate).mean() < 0.002


def test_an_event_of_most_nodes_is_reported_and_not_flagged():
    X = readings()
    X[300:420, :15] += 6.0
    episodes, suspect = diagnose(X)
    assert suspect.mean() < 0.001
    (event,) = [e for e in episodes if e.kind == "event"]
    assert event.start == 300
    assert event.stop == 420
    assert "15 of 20 nodes rise by" in event.explanation
    assert 0.5 < event.confidence <= 0.99


def test_an_event_of_neighbours_is_mostly_spared():
    places = {f"n{i}": {"x": float(i % 8), "y": float(i // 8)} for i in range(40)}
    near, swell = [9, 10, 17, 18], 5.0 * np.sin(np.linspace(0, np.pi, 120))
    spared = 0
    for seed in range(10):
        X = readings(nodes=40, seed=seed)
        X[300:420, near] += swell[:, None]
        spared += not faults.persistent(X, context(X, places=places))[:, near].any()
    assert spared >= 8  # the other two are flagged: four nodes can pass for four faults
    alone = readings(nodes=40)
    alone[300:420, 9] += 5.0
    assert faults.persistent(alone, context(alone, places=places))[:, 9].any()


def test_what_stands_beside_a_stuck_stretch_is_an_episode_of_its_own_and_not_certain():
    X = readings()
    X[280:300, 3] += 3.0  # true or not: it moves
    X[300:420, 3] = X[299, 3]
    suspect = np.zeros(X.shape, dtype=bool)
    suspect[280:420, 3] = True
    episodes = faults.classify(X, np.zeros_like(X), suspect, context(X), suspect)
    kinds = [(e.start, e.stop, str(e.kind), e.certain) for e in of(episodes, 3)]
    assert kinds[1] == (299, 420, "stuck", True)
    assert kinds[0][:2] == (280, 299)
    assert not kinds[0][3]


def test_a_node_is_not_noisy_because_it_was_dead_for_the_rest_of_the_record():
    X = readings()
    X[330:, 3] = -999.0
    assert not faults.persistent(X, context(X))[:300, 3].any()


def test_a_fault_that_has_hours_is_no_habit_by_lasting_for_three_of_nine_days():
    away = np.zeros((9 * 24, 1))
    for day in (4, 5, 6):
        away[24 * day + 8 : 24 * day + 16] = 5.0
    found = away > 0
    hourly = faults.Context(slot=HOUR)
    assert not recurrent(found, away, hourly).any()
    away[24 * 8 + 8 : 24 * 8 + 16] = 5.0
    assert recurrent(found, away, hourly)[found].all()


def test_what_goes_away_by_and_by_is_no_fault_and_what_jumps_back_is_one():
    for way_back, false in ((np.linspace(5, 0, 30), False), (np.full(30, 5.0), True)):
        X = readings(nodes=40)
        X[300:350, 9] += np.concatenate([np.full(20, 5.0), way_back])
        assert faults.persistent(X, context(X))[300:320, 9].any() == false


def test_a_sunlit_node_is_spared():
    slots = 5 * 288
    X = readings(slots)
    hour = np.arange(slots) % 288
    X[:, 4] += 8.0 * np.clip(np.sin((hour - 150) / 60 * np.pi), 0, None) * (hour < 210)
    _, suspect = diagnose(X)
    assert suspect[:, 4].mean() < 0.005


def test_a_step_of_one_node_is_no_spike():
    X = readings()
    X[300:, 4] += 3.0
    assert not faults.spikes(X, fm.decompose(X).estimate)[280:320, 4].any()


@pytest.mark.parametrize("quantum", [0.1, 0.5, 1.0])
def test_slow_quantised_signals_are_not_stuck(quantum):
    X = np.round(readings(2000, noise=0.01) / quantum) * quantum
    assert not faults.persistent(X, context(X)).any()


def test_resting_sensors_are_not_stuck():
    slots = np.arange(6 * 288)
    day = np.clip(np.sin((slots % 288 - 72) / 144 * np.pi), 0, None)
    X = np.round(400 * day[:, None] * np.linspace(0.5, 2, 12))
    assert not faults.persistent(X, context(X)).any()


@pytest.mark.parametrize("nodes", [1, 2])
def test_one_or_two_nodes_say_nothing_lasting(nodes):
    X = readings(nodes=nodes)
    X[200:300, 0] = X[200, 0]
    assert not faults.persistent(X).any()


# Episodes


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


@pytest.mark.parametrize("name", ["voltage", "Battery", "VBAT_V", "batt"])
def test_a_battery_is_known_by_name(name):
    X = readings()
    assert neighbours.battery(context(X, companions={"light": X, name: X}))[0] == name
    assert neighbours.battery(context(X, companions={"light": X})) is None


# Invariance and edges


def test_the_same_twice():
    X = readings()
    drift(X, 3, slice(200, 400))
    assert diagnose(X)[0] == diagnose(X)[0]


def test_permuting_nodes_permutes_the_flags():
    X = readings()
    for node, kind in enumerate(FAULTS):
        FAULTS[kind][0](X, node, FAULTS[kind][1])
    order = np.random.default_rng(0).permutation(NODES)
    np.testing.assert_array_equal(faults.persistent(X[:, order]), faults.persistent(X)[:, order])
    estimate = fm.decompose(X).estimate
    np.testing.assert_array_equal(
        faults.spikes(X[:, order], estimate[:, order]), faults.spikes(X, estimate)[:, order]
    )


def test_units_do_not_matter():
    X = readings()
    for node, kind in enumerate(FAULTS):
        FAULTS[kind][0](X, node, FAULTS[kind][1])
    moved = faults.persistent(X * 1.8 + 32)
    assert (moved != faults.persistent(X)).mean() < 1e-3


def odd(name):
    X = readings(60, 6)
    return {
        "one slot": X[:1],
        "one node": X[:, :1],
        "two slots": X[:2],
        "one reading": np.where(np.arange(6) == 2, X[:1], np.nan),
        "constant": np.full((60, 6), 3.0),
        "zero": np.zeros((60, 6)),
        "all missing": np.full((60, 6), np.nan),
        "a node missing": np.where(np.arange(6) == 1, np.nan, X),
        "a slot missing": np.where(np.arange(60)[:, None] == 7, np.nan, X),
        "1e308": np.where(np.arange(6) == 1, 1e308 * np.sign(X - 20), X),
        "all 1e308": X * 4e306,
        "tiny": X * 1e-300,
        "float32": X.astype(np.float32),
        "no slots": X[:0],
    }[name]


ODD = [
    *("one slot", "one node", "two slots", "one reading", "constant", "zero", "all missing"),
    *("a node missing", "a slot missing", "1e308", "all 1e308", "tiny", "float32", "no slots"),
]


@pytest.mark.parametrize("name", ODD)
def test_odd_input_gives_finite_answers(name):
    X = odd(name)
    before = X.copy()
    lasting = faults.persistent(X, context(X))
    assert lasting.shape == X.shape
    assert not lasting[np.isnan(X)].any()
    estimate = np.full(X.shape, np.median(np.nan_to_num(X)) if X.size else 0.0)
    found = faults.spikes(X, estimate, lasting)
    assert not found[np.isnan(X)].any()
    every = ~np.isnan(X)
    for episode in faults.classify(X, estimate, every, context(X), lasting):
        assert np.isfinite([episode.severity, episode.confidence]).all()
        assert 0 <= episode.start < episode.stop <= X.shape[0]
        assert "nan" not in episode.explanation
        assert "inf" not in episode.explanation
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", ["constant", "zero", "one slot", "two slots", "one node"])
def test_nothing_is_said_about_what_cannot_be_compared(name):
    assert not faults.persistent(odd(name)).any()


def test_the_shapes_have_to_agree():
    with pytest.raises(ValueError, match="estimate"):
        faults.spikes(readings(), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="slots × nodes"):
        faults.persistent(np.zeros(5))


# The parts


def test_a_run_is_longer_than_usual_only_against_its_kind():
    continuous = np.ones(1000, int)
    resting = np.random.default_rng(0).pareto(1.0, 1000).astype(int) + 1
    assert history.usual_repeats(continuous)[1] == history.SHORTEST_STUCK
    assert history.usual_repeats(resting)[1] > 10 * resting.max()


def test_what_begins_together_is_shared_and_what_dies_one_by_one_is_not():
    found = np.zeros((100, 6), dtype=bool)
    found[50:, :4] = True
    up = np.where(found, 9.0, 0.0)
    off = np.zeros_like(found)
    assert events.shared(found, up, off)[50:, :4].all()
    for n in range(4):
        found[50 : 50 + 25 * n, n] = False
    assert not events.shared(found, np.where(found, 9.0, 0.0), off).any()


def test_a_departure_of_neighbours_is_local_and_one_of_strangers_is_not():
    places = {f"n{i}": {"x": float(i), "y": 0.0} for i in range(20)}
    mean = np.full((50, 20), 0.1)
    labels = context(mean, places=places)
    mean[20:30, [3, 4, 5]] = 9.0
    assert events.local(mean, 2.0, labels, mean)[20:30, [3, 4, 5]].all()
    assert events.local(mean, 2.0, labels, mean).sum() == 30
    mean[20:30, [4, 5]] = 0.1
    mean[20:30, [12, 19]] = 9.0
    assert not events.local(mean, 2.0, labels, mean).any()


def test_what_comes_back_at_its_hours_is_a_habit():
    found = np.zeros((5 * 288, 2), dtype=bool)
    deviation = np.zeros(found.shape)
    found[600:640, :] = True
    deviation[600:640, :] = 9.0
    for day in (-1, 1):
        deviation[600 + 288 * day : 640 + 288 * day, 0] = 7.0
    habit = events.recurrent(found, deviation, context(deviation))
    assert habit[600:640, 0].all()
    assert habit.sum() == 40
    assert not events.recurrent(found, deviation, faults.Context()).any()  # no slot, no hours


def test_a_level_is_novel_if_jumped_to_and_seen_at_no_other_time():
    rng = np.random.default_rng(0)
    day = np.concatenate([np.linspace(0, 300, 100), np.linspace(300, 50, 100)])
    series = day + rng.normal(0, 2, 200)
    held = np.concatenate([series, np.full(50, 777.7), series])
    assert history.novel(held, 200, 250)
    dusk = np.concatenate([series, np.full(50, series[-1] - 0.5), series[::-1]])
    assert not history.novel(dusk, 200, 250)
    twice = np.concatenate([held, np.full(50, 777.7), series])
    assert not history.novel(twice, 200, 250)
    assert not history.novel(held[:250], 200, 250)


def test_no_node_vouches_for_itself():
    X = readings(300, 6)
    moved = X.copy()
    moved[150, 0] += 0.2
    every = np.ones(X.shape, dtype=bool)
    change = implied.implied(moved, every).residual - implied.implied(X, every).residual
    assert change[150, 0] == pytest.approx(0.2, rel=0.03)


def test_readings_left_out_are_not_judged():
    X = readings()
    X[100, 3] += 9
    X[101, 3] += 9
    left_out = np.zeros(X.shape, dtype=bool)
    left_out[101, 3] = True
    found = faults.spikes(X, readings(noise=0), left_out)
    assert found[100, 3]
    assert not found[101, 3]


def test_opposite_departures_are_not_shared():
    found = np.zeros((100, 6), dtype=bool)
    found[50:, :4] = True
    sign = np.array([1, -1, 1, -1, 1, 1])
    assert not events.shared(found, found * sign * 9.0, np.zeros_like(found)).any()


def test_bounded_keeps_equal_readings_equal_and_squares_finite():
    X = np.array([[1e308, -1e308, 3.0], [1e308, 2.0, 3.0], [5.0, 2.0, 3.0]])
    values, _ = stretches.bounded(X)
    assert np.isfinite(values**2).all()
    assert values[0, 0] == values[1, 0]
    assert values[1, 2] == values[2, 2]


# Real data


def table(path, slot, conditions=("temperature",)):
    grid = fm.read(path).grid(slot=slot)
    places = grid.places
    return grid, {
        c: faults.Context(
            nodes=grid.nodes,
            times=grid.times,
            slot=grid.slot,
            places=places,
            condition=c,
            unit="°C" if c == "temperature" else "",
            companions={k: v for k, v in grid.values.items() if k != c},
        )
        for c in conditions
    }


def slot_of(grid, when):
    return int(np.searchsorted(grid.times, np.datetime64(when, "us").astype(np.int64)))


def test_intellab_mote_18_dies_and_mote_8_sends_a_corrupt_packet(real):
    grid, labels = table(real("intellab_mar04_08.txt.gz"), "5min", ("temperature", "humidity"))
    for condition, context in labels.items():
        X = grid.values[condition]
        episodes, suspect = diagnose(X, context)
        eight = grid.nodes.index("8")
        at = slot_of(grid, "2004-03-06T23:15")
        assert [e.kind for e in of(episodes, eight) if e.start == at] == ["packet"]
        # Sunlit nodes, doors and all else that was real.
        keep = np.ones(X.shape[1], dtype=bool)
        keep[grid.nodes.index("18")] = False
        assert suspect[:, keep].sum() < 0.001 * (~np.isnan(X[:, keep])).sum()
        if condition == "temperature":
            death = max(of(episodes, grid.nodes.index("18")), key=lambda e: e.readings)
            assert death.kind == "dead"
            assert abs(death.start - slot_of(grid, "2004-03-07T21:00")) <= 48
            assert death.stop >= slot_of(grid, "2004-03-08T23:50")
            assert "since" in death.explanation
            assert ", voltage 2.3" in death.explanation


# Motes whose death is dated worse than 12 h after, or 24 h before, the first reading of 45 °C.
MISDATED = {"10min": {"22"}, "15min": {"4", "22", "23"}}


@pytest.mark.parametrize("slot", MISDATED)
def test_all_nine_batteries_are_seen_to_die(real, slot):
    grid, labels = table(real("intellab_full_9nodes.parquet"), slot)
    X = grid.values["temperature"]
    episodes, _ = diagnose(X, labels["temperature"])
    misdated = set()
    for node, name in enumerate(grid.nodes):
        hot = int(np.flatnonzero(X[:, node] > 45)[0])
        (death,) = [e for e in of(episodes, node) if e.kind == "dead"]
        if not -24 <= (death.start - hot) * grid.slot / HOUR <= 12:
            misdated.add(name)
    assert misdated <= MISDATED[slot]


def test_false_alarms_on_the_redwood(real):
    import duckdb

    path = real("redwood_sonoma.parquet")
    frame = duckdb.sql(
        f"select node, timestamp, temperature, humidity from '{path}' where source = 'log'"
    ).to_arrow_table()
    grid = fm.read(frame).grid(slot="5min")
    X = grid.values["temperature"]
    lasting = faults.persistent(X, context(X))
    assert lasting.sum() < 0.005 * (~np.isnan(X)).sum()


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


# Events: what others see too


def labels_of(net, **more):
    names = [f"n{i}" for i in range(net.readings.shape[1])]
    places = {
        name: {"x": float(x), "y": float(y)} for name, (x, y) in zip(names, net.at, strict=True)
    }
    times = START + net.slot * np.arange(len(net.readings))
    return faults.Context(nodes=names, places=places, slot=net.slot, times=times, **more)


# Shares of the readings of an event that a search calls false; without the witnesses the rush
# hours had 26 %, the fireworks 15 %, the sun 54 %.
@pytest.mark.parametrize(
    ("kind", "most"),
    [("rush", 0.02), ("fireworks", 0.02), ("rain", 0.02), ("sun", 0.02), ("front", 0.02)],
)
def test_what_really_happens_is_not_called_false(kind, most):
    share = []
    for seed in (11, 12, 13):  # not those that the limits were looked at with
        net = fm.simulate.happening(kind, seed=seed)
        share.append(faults.persistent(net.readings, labels_of(net))[net.event].mean())
    assert np.mean(share) < most


def went(same, size=1.0, other=1.0, back=0.0):
    ones = np.ones(len(same))
    same, size, back = (ones * np.asarray(array, dtype=float) for array in (same, size, back))
    return excursions.Went(size, back, lambda: same, lambda: other * ones)


def test_witnesses_are_as_many_as_chance_hardly_makes():
    alone = [0.01] + 9 * [0.5]
    assert seen_too.by_chance(went(alone)) == pytest.approx(1 - 0.99**10)
    two = [0.01, 0.02] + 8 * [0.5]  # two of ten at 2 % each
    expected = 1 - 0.98**10 - 10 * 0.02 * 0.98**9
    assert seen_too.by_chance(went(two)) == pytest.approx(expected)
    assert seen_too.by_chance(went([])) == 1.0
    assert seen_too.by_chance(went([0.11] * 10)) == 1.0  # what is not rare is no witness
    assert seen_too.by_chance(went(two, size=0.2)) == 1.0  # nor what hardly moves
    assert seen_too.by_chance(went(two, other=0.005, back=1.0)) == 1.0  # all go the other way too
    assert seen_too.by_chance(went(two, other=0.005, back=0.1)) == pytest.approx(expected)


def test_where_most_departures_are_events_less_is_asked():
    assert seen_too._odds(np.array([True] * 5 + [False])) == pytest.approx(3.0)
    assert seen_too._odds(np.array([True] * 99)) == seen_too.LENIENT
    assert seen_too._odds(np.array([True] + [False] * 9)) == 1.0
    assert seen_too._odds(np.zeros(0, dtype=bool)) == 1.0


def test_a_short_move_of_others_is_no_witness_of_a_long_departure():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 12))
    X[900:1000, 0] += 30
    long, short = X.copy(), X.copy()
    long[900:1000, 1:4] += 30
    short[940:950, 1:4] += 30
    near = np.arange(1, 12)
    chances = [
        seen_too.by_chance(excursions.Course(part, alone=False)(900, 1000, 0, near))
        for part in (long, short)
    ]
    assert chances[0] < 1e-4
    assert chances[1] > 1e-2


def test_the_top_of_a_departure_is_where_it_is_half_as_large():
    course = np.array([0, 0, 1, 3, 8, np.nan, 6, 3.9, 4.0, 2, 0, 0.0])
    assert seen_too._top(course, 2, 10) == (4, 9)
    assert seen_too._top(-course, 2, 10) == (4, 9)
    assert seen_too._top(np.full(5, np.nan), 1, 4) == (1, 4)


def test_an_event_is_reported_with_those_who_saw_it():
    net = fm.simulate.happening("rush", days=5, seed=11)
    labels = labels_of(net, condition="speed", unit="mph")
    found = faults.search(net.readings, labels)
    assert found.events.any()
    assert not (found.events & found.faults).any()
    estimate = np.median(net.readings, axis=0) + 0 * net.readings
    told = faults.classify(net.readings, estimate, found.faults, labels, event=found.events)
    (first, *_) = [e for e in told if e.kind == "event"]
    assert first.readings == 0
    assert not first.certain
    assert "others see it too" in first.explanation


def test_another_condition_of_the_node_makes_an_event_and_the_same_sensor_does_not():
    X, damp = readings(1500), readings(1500, seed=5)
    X[700:740, 3] += 6.0
    alone = faults.search(X, context(X, companions={"humidity": damp}))
    assert alone.faults[700:740, 3].mean() > 0.9
    damp[702:745, 3] -= 5.0
    both = faults.search(X, context(X, companions={"humidity": damp}))
    assert both.events[700:740, 3].mean() > 0.9
    assert not both.faults[700:740, 3].any()
    largest = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    same = faults.search(X, context(X, companions={"the hour's maximum": largest}))
    assert same.faults[700:740, 3].mean() > 0.9


def test_a_stuck_companion_bears_no_witness():
    X, other = readings(1500), readings(1500, seed=5)
    X[700:740, 3] += 6.0
    X[690:750, 4] = X[690, 4] + 5.0
    found = faults.search(X, context(X, companions={"light": other}))
    assert found.faults[700:740, 3].mean() > 0.9
    assert found.gross[690:750, 4].all()


def test_what_cannot_be_true_is_a_fault_whatever_others_read():

    X = readings(1500)
    X[700:760, :12] += 200.0
    limits = Quantity(Kind.LINEAR, possible=(-90.0, 60.0))
    assert faults.search(X, context(X, quantity=limits)).faults[700:760, :12].all()
    assert not faults.search(X, context(X)).faults[700:760, :12].any()


def test_the_labelled_event_is_no_fault(real):
    """Two motes whose humidity and temperature rose for minutes: 496 of 614 were called false."""
    grid = fm.read(real("suthaharan_multihop.parquet")).grid()
    happened = grid.values["label"] > 0
    for name, other in (("temperature", "humidity"), ("humidity", "temperature")):
        labels = faults.Context(slot=grid.slot, companions={other: grid.values[other]})
        found = faults.search(grid.values[name], labels)
        assert found.faults[happened].mean() < 0.02


# Gross tests


def test_a_flat_line_while_the_others_move_is_stuck_even_at_zero():
    """Beside nodes that rest for long, the network's runs alone say nothing."""
    X = readings(744)
    X[:, :4] = np.where(X[:, :4] > np.median(X[:, :4], axis=0), X[:, :4], 0.0)
    nothing = np.zeros(X.shape, dtype=bool)
    assert not gross.flat(X, nothing).any()
    X[300:328, 5] = 0.0
    found = gross.flat(X, nothing)
    assert found[300:328, 5].all()
    assert found.sum() == 28


def test_nodes_that_rest_together_are_not_stuck():
    X = readings(744)
    X[300:340, :3] = 0.0
    assert not gross.flat(X, np.zeros(X.shape, dtype=bool))[300:340, :3].any()


def test_one_reading_far_off_everything_is_a_fault():
    X = readings(744)
    X[200, 3] = -36.9
    assert faults.search(X, context(X)).faults[200, 3]
    assert faults.search(X, context(X)).faults.sum() == 1


def test_skewed_values_do_not_run_away():
    rng = np.random.default_rng(0)
    for seed in (1, 2, 3):
        net = fm.simulate.happening("fireworks", days=60, seed=seed)
        assert faults.persistent(net.readings, labels_of(net)).mean() < 0.002
    X = np.exp(rng.normal(0, 1.0, (900, 1)) + 0.3 * rng.normal(size=(900, 20)))
    assert faults.persistent(X).mean() < 0.002


def test_where_a_node_goes_again_and_again_is_no_running_away():
    X = readings(1500)
    once = X.copy()
    once[700:760, 3] += np.hanning(60) * 60
    again = once.copy()
    for start in (100, 333, 1010, 1200, 1333):
        again[start : start + 60, 3] += np.hanning(60) * 60
    nothing = np.zeros(X.shape, dtype=bool)
    assert lasting.runaway(once, nothing, context(X))[:, 3].any()
    assert not lasting.runaway(again, nothing, context(X))[:, 3].any()


def test_a_station_without_wind_in_a_gale(real):
    grid = fm.read(real("molene_radome.parquet")).grid()
    X = grid.values["ff"]
    node = grid.nodes.index("22135001")
    found = faults.search(X, faults.Context(slot=grid.slot)).faults
    calm = np.flatnonzero(X[:, node] == 0)
    longest = max(np.split(calm, np.flatnonzero(np.diff(calm) > 1) + 1), key=len)
    assert len(longest) == 28
    assert found[longest, node].all()


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


# Explanations that do not contradict their flags


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


def test_a_departure_below_the_resolution_is_none():
    rng = np.random.default_rng(0)
    volts = (
        2.7 + 0.002 * rng.standard_normal((900, 12)) + 0.05 * np.sin(np.arange(900) / 90)[:, None]
    )
    volts = np.round(volts, 2)
    volts[400:500, 5] = np.round(volts[400:500, 4] - 0.01, 2)
    assert not faults.persistent(volts, context(volts)).any()


def test_two_single_readings_an_hour_apart_are_no_drift():
    X = np.random.default_rng(3).normal(size=(300, 8)).cumsum(axis=0) * 0.05
    estimate = X.copy()
    X[100, 2], X[112, 2] = X[100, 2] - 14, X[112, 2] + 9
    wrong = np.zeros(X.shape, dtype=bool)
    wrong[[100, 112], 2] = True
    found = faults.classify(X, estimate, wrong, persistent=wrong)
    assert [str(e.kind) for e in found] == ["spike", "spike"]


@pytest.mark.parametrize("seed", range(4))
def test_a_node_that_fails_for_most_of_a_short_record_is_found(seed):
    X = fm.simulate.network(
        500, 30, field="temperature", noise=0.1, sampling=1, anomaly_rate=0.0, seed=seed
    ).readings
    X[:, 9] -= 60.0  # on a summit, always
    X[200:, 4] += np.linspace(0, 80, 300) ** 1.1
    found = faults.persistent(X)
    assert found[400:, 4].mean() > 0.9
    assert not found[:, 9].any()
    assert np.delete(found, 4, axis=1).mean() < 0.005


def test_steam_that_two_conditions_of_a_node_see_is_an_event_in_a_steady_room():
    rng = np.random.default_rng(4)
    warm, wet = (20 + 0.05 * rng.normal(size=(4000, 4)), 45 + 0.2 * rng.normal(size=(4000, 4)))
    rise = 15 * np.exp(-np.arange(60) / 20)
    warm[500:560, 1] += rise
    wet[500:560, 1] += 2 * rise
    kind = identify("temperature", "°C", warm, 5_000_000)
    context = faults.Context(
        slot=5_000_000, condition="temperature", companions={"humidity": wet}, quantity=kind
    )
    assert faults.search(warm, context).faults[500:560, 1].mean() < 0.05
    alone = faults.search(warm, replace(context, companions={}))
    assert alone.faults[500:520, 1].any()


def test_singles_excuse_each_other_only_where_chance_makes_no_such_crowd():
    rng = np.random.default_rng(8)
    X = 20 + 0.1 * rng.normal(size=(3000, 10))
    false = rng.random(X.shape) < 0.03
    X[false] += 30.0
    assert faults.spared(X, false, faults.Context())[false].mean() < 0.05
    quiet = 20 + 0.1 * rng.normal(size=(3000, 10))
    quiet[1500, :6] += 5.0
    flash = np.zeros(quiet.shape, dtype=bool)
    flash[1500, :6] = True
    assert faults.spared(quiet, flash, faults.Context())[flash].all()


def test_a_few_factors_of_many_nodes_are_those_of_all(monkeypatch):
    rng = np.random.default_rng(4)
    Y = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 320)) * [5.0] + rng.normal(size=(80, 320))
    weight = rng.uniform(0.5, 1.0, 320)
    few = implied._Leading(Y, 3)(weight)
    monkeypatch.setattr(implied, "MANY", 1000)
    every = implied._Leading(Y, 3)(weight)
    np.testing.assert_allclose(np.abs((few * every).sum(axis=0)), 1.0, rtol=1e-9)
    nothing = implied._Leading(np.zeros((5, 400)), 2)(np.ones(400))
    assert nothing.shape == (400, 2)


def test_what_the_hour_brings_is_no_fault():
    """Sun flecks: at noon of most days, at nodes of their own. At any hour they would be false."""
    rng = np.random.default_rng(3)
    hour = np.arange(12 * 24) % 24
    X = rng.normal(size=(len(hour), 6)) * np.where(abs(hour - 12) < 6, 1.0, 0.1)[:, None]
    noon = rng.choice(np.flatnonzero(hour == 12), 10, replace=False)
    fleck = np.zeros(X.shape, dtype=bool)
    fleck[noon, rng.integers(0, 6, len(noon))] = True
    huge = np.zeros(X.shape, dtype=bool)
    huge[np.flatnonzero(hour == 13)[5], 2] = True
    anytime = np.zeros(X.shape, dtype=bool)
    anytime[rng.choice(len(X), 60, replace=False), rng.integers(0, 6, 60)] = True
    labels = faults.Context(slot=3_600_000_000)
    kept = faults.daily(X + 40 * fleck + 400 * huge, fleck | huge, labels)
    assert (kept == fleck).all()
    assert not faults.daily(X + 40 * anytime, anytime, labels).any()
    assert not faults.daily((X + 40 * fleck)[:72], fleck[:72], labels).any()  # three days


def test_what_settles_is_no_burst():
    rng = np.random.default_rng(5)
    X = 20 + np.sin(np.arange(300) / 40)[:, None] + 0.05 * rng.normal(size=(300, 3))
    parts = np.zeros(X.shape, dtype=bool)
    X[50:80, 0] += 3 * np.exp(-np.arange(30) / 10)  # a window was opened
    parts[50:70, 0] = True
    assert not faults.jumping(X, parts).any()
    still = np.zeros_like(parts)
    still[200, 2] = True  # only the others moved
    X[200, 2] = X[199, 2]
    assert not faults.jumping(X, still).any()
    X[150:160, 1] += rng.choice([-4, 4], 10)
    X[220:240, 1] += 3.0
    X[297:, 1] += 3.0
    false = np.zeros_like(parts)
    for a, b in ((150, 160), (220, 240), (297, 300)):
        false[a:b, 1] = True
    assert (faults.jumping(X, false) == false).all()
    every = np.ones((4, 3), dtype=bool)  # nothing is left to tell what is usual
    assert faults.jumping(X[:4], every).all()


@pytest.mark.parametrize("nodes", [3, 4])
def test_a_few_nodes_tell_who_left_for_good(nodes):
    rng = np.random.default_rng(nodes)
    common = np.cumsum(rng.normal(0, 0.1, 600))[:, None]
    own = rng.normal(0, 0.4, (600, nodes))
    X = 20 + common + own + rng.normal(0, 2, nodes)
    labels = faults.Context(slot=3_600_000_000)
    assert not faults.persistent(X, labels).any()
    X[300:, 1] += 15.0
    found = faults.persistent(X, labels)
    assert found[300:, 1].mean() > 0.95
    assert not np.delete(found, 1, axis=1).any()


def test_one_node_of_four_at_its_bound_is_no_fog():
    humidity = np.full((20, 4), 60.0)
    humidity[:, 0] = 100.0
    what = Quantity(Kind.BOUNDED, 0.0, 100.0)
    assert not saturated(humidity, what).any()
    humidity[:, 1] = 100.0
    assert saturated(humidity, what)[:, :2].all()


def test_a_distance_that_a_node_often_has_is_no_departure_among_few():
    rng = np.random.default_rng(1)
    X = 50 + rng.normal(0, 0.1, (1000, 4))
    X[:, :2] += 9 * np.sin(np.arange(1000) / 60)[:, None]  # two indoors, two outside
    near = np.zeros(X.shape, dtype=bool)
    near[400:440, 3] = True
    X[400:440, 3] += 1.5
    nothing = np.zeros(X.shape, dtype=bool)
    assert keeps_its_distance(near, X, nothing)[400:440, 3].all()
    X[400:440, 3] += 40
    assert not keeps_its_distance(near, X, nothing).any()
    assert not keeps_its_distance(np.hstack([near] * 2), np.hstack([X] * 2), nothing).any()
