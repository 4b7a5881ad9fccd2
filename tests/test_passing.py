"""Readings that pass are evidence: the field led through them."""

from __future__ import annotations

import numpy as np

import fieldmend as fm
from fieldmend.metrics import interpolate
from fieldmend.recovery.passing import led_through
from fieldmend.recovery.solving import Solved
from fieldmend.simulate import climate_field

NAN = np.nan


def led(readings, passed, **options):
    Y = np.asarray(readings, float)[:, None]
    zero = np.zeros_like(Y)
    out = led_through(
        Solved(zero, zero - 1, zero + 1), Y, np.asarray(passed, bool)[:, None], **options
    )
    np.testing.assert_allclose(out.upper - out.lower, 2 * np.ones_like(Y))
    np.testing.assert_allclose(out.estimate - out.lower, np.ones_like(Y))
    return out.estimate[:, 0]


def test_the_correction_runs_straight_to_the_next_reading():
    Y = [0.3, NAN, 4, NAN, 6, NAN, 0.3]
    np.testing.assert_allclose(led(Y, [0, 0, 1, 0, 1, 0, 0]), [0, 2, 4, 5, 6, 3, 0])


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


def test_what_was_lost_in_an_event_is_what_the_event_was():
    """Several nodes leave the field together: it passes, and lost readings are in it, too."""
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng([seed, 5])
        slots, nodes = 600, 10
        X = 20 + climate_field(slots, nodes, seed=seed) + 0.02 * rng.standard_normal((slots, nodes))
        inside = np.zeros(X.shape, dtype=bool)
        for start in (120, 300, 480):
            who = rng.choice(nodes, 4, replace=False)
            for node in who:
                rise = np.minimum(np.arange(16) / 2, 1) * np.exp(-np.arange(16) / 12)
                X[start : start + 16, node] += rng.uniform(5, 9) * rise
                inside[start : start + 16, node] = True
        gone = rng.random(X.shape) < 0.4
        Y = np.where(gone, NAN, X)
        out = fm.recover(fm.Grid.of(Y, slot_seconds=300), holdout=False)["value"]
        at = gone & inside
        off, line = (np.abs(Z - X)[at].mean() for Z in (out.estimate, interpolate(Y)))
        ratios.append(off / line)
    assert np.mean(ratios) < 1.1
