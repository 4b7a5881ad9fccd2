"""Small rules of the recovery, each by itself: who is judged, what is said, how sure one is."""

from types import SimpleNamespace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.quantities import choosing as powers
from fieldmend.recovery import judging, notes, window
from fieldmend.recovery.condition import _levels
from fieldmend.recovery.counting import _room
from fieldmend.recovery.decisions import Told
from fieldmend.recovery.solving import Solved, typical_error
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.witnesses import witnesses
from fieldmend.result.states import Service


def judged_slowly(observed, known):
    """Two others in the slot, or four readings of its own within twelve slots either way."""
    out = np.zeros_like(observed)
    for t, n in np.argwhere(observed):
        others = sum(observed[t, m] for m in known.distinct if m != n)
        own = sum(
            observed[s, n] for s in range(len(observed)) if s != t and abs(s - t) <= judging.NEAR
        )
        out[t, n] = others >= judging.COMPANIONS or own >= judging.OWN
    return out


@pytest.mark.parametrize("seed", range(3))
def test_who_can_be_judged_is_as_the_rule_says(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((70, 4)) < 0.17, rng.normal(size=(70, 4)), np.nan)
    known = witnesses(X, None)
    observed = ~np.isnan(X)
    got = judging.judgeable(observed, known)
    want = judged_slowly(observed, known)
    assert want.any()
    assert (want != observed).any()
    np.testing.assert_array_equal(got, want)


def test_readings_at_the_very_edge_of_twelve_slots_count():
    X = np.full((60, 3), np.nan)
    X[[18, 20, 40, 42, 30], 0] = np.arange(5.0)
    X[[0, 1, 2, 57, 58], 1] = X[[0, 1, 2, 57, 58], 2] = np.arange(5.0)
    X[3, 2] = 7.0
    observed = ~np.isnan(X)
    judged = judging.judgeable(observed, witnesses(X, None))
    assert judged[30, 0]  # 18, 20, 40 and 42 are within twelve slots, just so
    assert not judged[18, 0]
    observed[18, 0] = False
    assert not judging.judgeable(observed, witnesses(X, None))[30, 0]


def test_the_typical_error_is_that_at_hidden_readings():
    hidden = SimpleNamespace(truth=np.array([1.0, 2.0, 3.0]), estimate=np.array([1.5, 2.5, 9.0]))
    assert typical_error(Solved(np.zeros(1), holdout=hidden)) == pytest.approx(1.4826 * 0.5)
    nothing = SimpleNamespace(truth=np.zeros(0), estimate=np.zeros(0))
    assert typical_error(Solved(np.zeros(1), holdout=nothing)) == 0.0
    assert typical_error(Solved(np.zeros(1))) == 0.0


def test_a_level_is_the_distance_from_the_others():
    day = 10 + np.sin(np.arange(50))[:, None]
    X = day + np.array([-2.0, 0.0, 0.0, 3.0])
    X[7] = np.nan
    np.testing.assert_allclose(_levels(X, None), [-2.0, 0.0, 0.0, 3.0])
    assert _levels(np.full((5, 2), np.nan), None).tolist() == [0.0, 0.0]


def said_of(X, life):
    grid = fm.Grid.of(X, nodes="abc", slot_seconds=3600)
    return list(notes.about_nodes(grid, witnesses(X, None), life))


def test_notes_name_who_was_silent_and_when():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[:10, 0] = X[30:, 1] = X[:, 2] = np.nan
    away = np.array([0, 1, 1]), np.array([0, 30, 12]), np.array([10, 40, 20])
    said = said_of(X, Service(*away, np.array([False, False, True])))
    assert said[0].startswith("node c without a reading")
    assert "node a has no reading before 1 Jan 1970 10:00: 25 % of its slots" in said[1]
    assert "node b has no reading after 2 Jan 1970 06:00" in said[2]
    assert "node b has no reading from 1 Jan 1970 12:00 to 1 Jan 1970 20:00" in said[3]
    nobody = Service.throughout(3)
    assert said_of(np.where(np.isnan(X), 1.0, X), nobody) == []


def test_only_several_windows_are_spoken_of():
    grid = fm.Grid.of(np.zeros((20_000, 4)))
    assert Storage.of(grid).notes == ()
    assert "20,000 slots × 4 nodes: solved in" in Storage.of(grid, entries=20_000).notes[0]


def test_losses_are_mean_root_mean_square_and_interval_score():
    found = SimpleNamespace(
        truth=np.array([1.0, 2.0]), estimate=np.array([2.0, 5.0]),
        lower=np.array([0.0, 4.0]), upper=np.array([3.0, 6.0]),
    )  # fmt: skip
    mean, root, interval = powers._losses(found, 0.9)
    assert mean == 2.0
    assert root == pytest.approx(np.sqrt(5.0))
    assert interval == pytest.approx((3.0 + 2.0 + 2 / 0.1 * 2.0) / 2)  # one missed, by two


def test_a_meter_is_less_sure_the_longer_it_was_not_read():
    readings = np.array([np.nan, 4.0, 6.0, np.nan, 10.0, np.nan, np.nan])[:, None]
    estimate = np.array([3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 13.0])[:, None]
    room = _room(readings, estimate)
    assert room.width[:, 0] == pytest.approx([1 + 3, 0, 0, 2, 0, 2 + 3, 3 + 3 * np.sqrt(2)])
    assert room.low[:, 0].tolist() == [-np.inf, 4, 6, 6, 10, 10, 10]
    assert room.high[:, 0].tolist() == [4, 4, 6, 10, 10, np.inf, np.inf]


def test_true_readings_of_six_nodes_are_not_suspect():
    wrong = []
    for seed in (1, 2):
        net = fm.simulate.network(
            120, 6, field="temperature", sampling=0.85, loss="bursts", anomaly_rate=0.01,
            noise=0.1, seed=seed,
        )  # fmt: skip
        grid = fm.Grid.of(net.readings, condition="temperature", unit="°C", slot_seconds=3600)
        suspect = fm.recover(grid, holdout=False)["temperature"].flag == 3
        assert suspect[net.support].all()
        wrong.append(int((suspect & ~net.support).sum()))
    assert max(wrong) <= 1


def test_a_mask_that_the_field_refutes_is_dropped(monkeypatch):
    """Set aside for no reason, readings come out as expected; what is gross stays."""
    net = fm.simulate.network(300, 12, rank=2, anomaly_rate=0.0, seed=5)
    masked, gross = np.zeros((2, *net.readings.shape), dtype=bool)
    masked[100:160, 2] = masked[100:160, 5] = gross[100:160, 5] = True
    masked &= net.observed
    nothing = np.zeros_like(masked)
    found = faults.Search(masked, nothing, gross & masked, nothing, nothing)
    monkeypatch.setattr(faults, "search", lambda *_: found)
    flag = fm.recover(fm.Grid.of(net.readings), holdout=False)["value"].flag
    assert not (flag[100:160, 2] == 3).any()
    assert (flag[100:160, 5] == 3)[net.observed[100:160, 5]].all()


def test_what_the_field_expects_is_not_told_unless_it_is_false_anyway():
    """Whoever went there would find nothing wrong."""
    nothing = np.zeros((100, 4), dtype=bool)
    gross, accepted = nothing.copy(), nothing.copy()
    gross[10:20, 1] = accepted[10:20, 2] = True
    suspect = nothing.copy()
    suspect[10:20] = True

    def one(node, confidence=0.05, kind="drift", *, certain=False):
        return faults.Episode(node, "t", 10, 20, kind, 10, 0.1, confidence, "…", certain)

    def told(*found, by=None):
        search = faults.Search(suspect, nothing, gross, nothing, nothing)
        given = window.Evidence(np.zeros((100, 4)), nothing, search, by)
        kept, flagged = window._worth_telling(found, suspect, given)
        gone = [e.node for e in found if e not in kept]
        assert np.flatnonzero((suspect & ~flagged).any(axis=0)).tolist() == gone
        return [e.node for e in kept]

    assert told(one(0), one(1), one(2), one(3)) == [1]
    assert told(one(0), one(1), one(2), one(3), by=Told(accepted, nothing)) == [1, 2]
    assert told(one(0, 0.11), one(2, 0.09, certain=True), one(3, 0.01, "event")) == [0, 2, 3]
