"""Readings that pass are evidence: the field led through them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import automatic
from fieldmend.leading import steady, within_reach
from fieldmend.recovery.honest import everywhere
from fieldmend.recovery.passing import led_through, usual_again, where_lost
from fieldmend.recovery.solving import Solved
from fieldmend.recovery.window import Piece, Setting, recover_window
from fieldmend.recovery.windows import Window
from fieldmend.recovery.witnesses import witnesses
from fieldmend.result.options import Options

NAN = np.nan


def led(readings, passed, **options):
    Y = np.asarray(readings, float)[:, None]
    zero = np.zeros_like(Y)
    out = led_through(
        Solved(zero, zero - 1, zero + 1), Y, np.asarray(passed, bool)[:, None], **options
    )
    assert (out.lower <= out.estimate - 1).all()
    assert (out.estimate + 1 <= out.upper).all()
    return out.estimate[:, 0]


def test_the_correction_runs_straight_to_the_next_reading():
    Y = [0.3, NAN, 4, NAN, 6, NAN, 0.3]
    np.testing.assert_allclose(led(Y, [0, 0, 1, 0, 1, 0, 0]), [0, 2, 4, 5, 6, 3, 0])


def test_between_two_readings_the_interval_reaches_to_both():
    Y = np.array([[0.3, NAN, 4, NAN, 6, NAN, 0.3]]).T
    zero = np.zeros_like(Y)
    out = led_through(Solved(zero, zero - 1, zero + 1), Y, Y > 1)
    np.testing.assert_allclose(out.lower.T, [[-1, -1, 3, 3, 5, -1, -1]])
    np.testing.assert_allclose(out.upper.T, [[1, 5, 5, 7, 7, 7, 1]])


def test_it_reaches_no_further_than_the_departure_was_seen_to_last():
    Y = [0, *5 * [NAN], 8, 8, *6 * [NAN], 0]
    passed = np.array(Y) == 8
    np.testing.assert_allclose(led(Y, passed), [*4 * [0], 0, 4, 8, 8, 4, *6 * [0]])
    at_ends = [*3 * [NAN], 8, *3 * [NAN]]
    np.testing.assert_allclose(led(at_ends, np.array(at_ends) == 8), [0, 0, 0, 8, 0, 0, 0])
    # What a person vouches for reaches to the next reading, however far.
    np.testing.assert_allclose(led(Y, passed, fading=False)[1:6], 8 * np.arange(1, 6) / 6)


def test_nothing_passed_changes_nothing():
    solved = Solved(np.zeros((4, 2)))
    assert led_through(solved, np.ones((4, 2)), np.zeros((4, 2), dtype=bool)) is solved


def test_it_stays_within_what_the_quantity_can_be():
    Y = np.array([[NAN], [90.0], [NAN]])
    solved = Solved(np.full((3, 1), 50.0), np.full((3, 1), 40.0), np.full((3, 1), 65.0))
    out = led_through(solved, Y, ~np.isnan(Y), fading=False, bounds=(0.0, 100.0))
    assert out.upper.max() == 100.0
    assert out.estimate.max() == 90.0


def test_only_what_a_node_usually_reads_leads():
    readings = np.array([[*range(10), 12.0, 200.0]]).T
    unseen = readings > 9.5
    np.testing.assert_array_equal(np.flatnonzero(usual_again(readings, unseen, unseen)), [])
    readings[10] = 11.0  # within a quarter of the range beyond it
    np.testing.assert_array_equal(np.flatnonzero(usual_again(readings, unseen, unseen)), [10])
    still = np.full((6, 1), 3.0)  # a node that only ever read one value may read it again
    again = np.arange(6)[:, None] == 5
    np.testing.assert_array_equal(usual_again(still, again, again), again)
    nothing = np.ones_like(unseen)
    assert not usual_again(readings, nothing, nothing).any()


def test_beyond_their_own_range_most_of_a_network_vouch_for_each_other():
    readings = np.tile(np.arange(12.0)[:, None], 5)
    readings[10, :3], readings[11, :2], readings[11, 2:4] = 200.0, 200.0, -200.0
    unseen = np.abs(readings) > 50
    passed = usual_again(readings, unseen, unseen)
    np.testing.assert_array_equal(passed[10], unseen[10])  # three of five
    assert not passed[11].any()  # two up, two down
    assert not usual_again(readings[:, 1:4], unseen[:, 1:4], unseen[:, 1:4])[11].any()


def test_beyond_its_own_range_another_condition_of_the_node_vouches_for_a_stretch():
    readings = np.tile(np.arange(12.0)[:, None] % 4, 2)
    readings[6:9] = 30.0, 40.0
    unseen = readings > 9
    humid = np.full(readings.shape, 50.0) + readings % 2
    nobody = usual_again(readings, unseen, unseen, [humid])
    assert not nobody.any()
    humid[7:9, 0] = 90.0  # most of the stretch, at one of the nodes
    np.testing.assert_array_equal(
        usual_again(readings, unseen, unseen, [humid]), unseen & [True, False]
    )
    humid[7, 0] = 50.0
    assert not usual_again(readings, unseen, unseen, [humid]).any()


def humps(nodes=5, slots=240):
    """A smooth course, one node's estimate without a hump that rises and falls step by step.

    The readings, what was lost among them, the estimate, and which readings it was made without.
    """
    rng = np.random.default_rng(4)
    X = 3 * np.sin(np.arange(slots) / 15)[:, None] + 0.02 * rng.standard_normal((slots, nodes))
    hump = np.zeros(X.shape)
    hump[100:141, 0] = 1.5 * np.sin(np.pi * np.arange(41) / 40)
    lost = np.zeros(X.shape, dtype=bool)
    lost[110:130:3, 0] = True
    return X + hump, lost, X, (hump > 0.1) & ~lost


class Without:
    """A solver that doubts some readings."""

    def __init__(self, estimate, doubted):
        self.solved = Solved(estimate, estimate - 0.1, estimate + 0.1, doubted, "auto")

    def __call__(self, evidence, around):
        return self.solved


def test_recover_is_led_through_what_passes():
    X, lost, estimate, doubted = humps()
    Y = np.where(lost, NAN, X)
    known = witnesses(Y, None)
    nodes = tuple("abcde")
    for options in (Options(), everywhere(Options())):
        setting = Setting(
            "t",
            "",
            nodes,
            None,
            300_000_000,
            options,
            known,
            np.zeros(5),
            Without(estimate, doubted),
        )
        times = np.arange(len(Y)) * 300_000_000
        out = recover_window(Piece(Window(0, len(Y), 0, len(Y)), Y, times, {}), setting)
        assert (out.flag[doubted] == 1).all()
        assert np.abs(out.solved.estimate - X)[lost].max() < 0.15 < np.abs(estimate - X)[lost].min()
        np.testing.assert_array_equal(out.solved.estimate[:, 1:], estimate[:, 1:])


def test_what_passes_is_evidence_for_nodes_that_were_silent():
    X, lost, estimate, doubted = humps()
    X[:, 1:4] += (X - estimate)[:, :1]  # four of five
    doubted[:, 1:4] = doubted[:, :1]
    X[60, 1] += 40.0  # a spike stays out
    doubted[60, 1] = True
    asked = []

    class Again:
        def __call__(self, evidence, around):
            asked.append(evidence)
            return Solved(estimate + 7, estimate + 6, estimate + 8)

    class Solver(Without):
        def __call__(self, evidence, around):
            return replace(self.solved, judged=Again())

    Y = np.where(lost, NAN, X)
    setting = Setting(
        "t", "", tuple("abcde"), None, 300_000_000, Options(), witnesses(Y, None), np.zeros(5),
        Solver(estimate, doubted),
    )  # fmt: skip
    times = np.arange(len(Y)) * 300_000_000
    out = recover_window(Piece(Window(0, len(Y), 0, len(Y)), Y, times, {}), setting)
    (evidence,) = asked
    assert np.isnan(evidence[60, 1])
    assert np.isfinite(evidence[doubted[:, 0], :4]).all()
    np.testing.assert_allclose(out.solved.estimate[:, 4], estimate[:, 4] + 7)
    X[:, 1:4] = estimate[:, 1:4]  # alone, it is followed alone
    doubted[:, 1:] = False
    Y = np.where(lost, NAN, X)
    out = recover_window(Piece(Window(0, len(Y), 0, len(Y)), Y, times, {}), setting)
    np.testing.assert_array_equal(out.solved.estimate[:, 4], estimate[:, 4])
    assert len(asked) == 1


def test_where_something_was_heard_the_field_stays_beside_it():
    field = Solved(np.zeros((3, 1)), np.full((3, 1), -1.0), np.full((3, 1), 1.0))
    heard = np.array([[True], [False], [True]])
    out = where_lost(field, Solved(*(np.full((3, 1), v) for v in (5.0, 4.0, 6.0))), heard)
    np.testing.assert_array_equal(out.estimate[:, 0], [0, 5, 0])
    np.testing.assert_array_equal(out.lower[:, 0], [-1, 4, -1])
    np.testing.assert_array_equal(out.upper[:, 0], [1, 6, 1])
    assert where_lost(field, field, heard) is field


def test_what_jumps_about_is_not_steady():
    off = np.array([[4.0, 4.0, 4.0], [4.5, -3.0, NAN], [4.0, 5.0, 4.0], [0.1, 0.1, 0.1]])
    doubted = np.array([[True] * 3, [True, True, False], [True] * 3, [False] * 3])
    np.testing.assert_array_equal(steady(off, doubted).any(axis=0), [True, False, True])
    assert not steady(off, doubted)[3].any()
    one = np.zeros_like(doubted)
    one[0, 0] = True
    assert not steady(off, one).any()  # of one reading nobody can tell


def reach(readings, doubted, half=1.0):
    Y = np.asarray(readings, float)[:, None]
    zero = np.zeros_like(Y)
    bounds = zero - half, zero + half
    return within_reach(zero, bounds, Y, np.asarray(doubted, bool)[:, None])[:, 0]


def test_doubted_readings_lead_as_far_as_the_field_may_be_off():
    """A river's own flood, masked as a fault, ran on through kept readings 40 % above the gaps."""
    Y = [0.1, 0.7, NAN, 0.8, 0.9, 1.2, 1.5, 0.2]
    doubted = [0, 1, 0, 1, 1, 1, 0, 0]
    np.testing.assert_allclose(reach(Y, doubted), [NAN, 0.7, NAN, 0.8, 0.9, 1.2 * 0.8, NAN, NAN])
    # Nothing leads of a stretch most of which is outside, of what jumps about, and of one value.
    assert np.isnan(reach([0.1, 0.9, 1.5, 1.6, 1.7, 0.1], [0, 1, 1, 1, 1, 0])).all()
    assert np.isnan(reach([0.1, 0.9, -0.8, 0.7, -0.9, 0.1], [0, 1, 1, 1, 1, 0])).all()
    assert np.isnan(reach([0.1, 0.9, 0.9, 0.9, 0.9, 0.1], [0, 1, 1, 1, 1, 0])).all()
    # Beyond twice the way to the interval's end a reading is nobody's.
    assert np.isnan(reach([0.8, 0.9, 2.5], [1, 1, 1])[2])


@pytest.mark.parametrize(("off", "goes_with"), [(0.0, 1.0), (0.9, 1.0), (1.5, 0.0), (9.0, 0.0)])
def test_decompose_leads_what_was_lost_through_masks_that_may_be_wrong(monkeypatch, off, goes_with):
    """A node set aside for long: what is expected of it, what may be, and what cannot."""
    net = fm.simulate.network(slots=300, nodes=12, field="temperature", seed=3, sampling=1.0)
    masked, lost = np.zeros((2, 300, 12), dtype=bool)
    masked[150:210, 4] = True
    lost[:] = np.random.default_rng(0).random(lost.shape) < 0.3
    monkeypatch.setattr(automatic, "persistent", lambda *_: masked & ~lost)
    Y = np.where(lost, np.nan, net.truth)
    field = fm.decompose(np.where(masked, np.nan, Y), method="auto")
    half = np.median((field.upper - field.lower)[masked]) / 2
    read = field.estimate + off * half + 1e-6 * np.arange(300)[:, None]
    Y = np.where(masked & ~lost, read, Y)
    out = fm.decompose(Y, method="auto")
    moved = (out.estimate - field.estimate)[masked & lost]
    # Towards an end of the stretch it fades to the next reading.
    assert np.median(moved) == pytest.approx(goes_with * off * half, abs=0.05 * half)
    assert (np.count_nonzero(out.sparse[masked & ~lost]) == 0) == (off == 0)
