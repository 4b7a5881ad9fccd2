"""The last word of hidden readings: how far to lean to a straight line, and what comes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.holdout.lastword import LastWord, leaning
from fieldmend.holdout.scoring import Witnesses
from fieldmend.holdout.strata import COUNT
from fieldmend.metrics import interpolate
from fieldmend.quantities import Kind, Quantity
from fieldmend.recovery.honest import Doubt
from fieldmend.recovery.lastword import has_last_word, with_last_word
from fieldmend.simulate import climate_field


def seen(error, line, *, block=None, stratum=0):
    error, line = np.broadcast_arrays(np.asarray(error, float), np.asarray(line, float))
    count = error.size
    half = np.full(count, 1.5)
    return Witnesses(
        error, line, half, half, np.full(count, stratum), np.ones(count, dtype=int),
        np.arange(count) % 24 if block is None else np.asarray(block),
    )  # fmt: skip


def draws(count=480, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((2, count))


def test_the_line_has_the_share_that_makes_errors_least():
    ours, line = draws()
    word = LastWord.learnt(seen(2 * ours, line, stratum=3))
    free = 4 / 5  # of independent errors, by their squares
    assert word.share[3] == pytest.approx(free / (1 + 3 / 24), rel=0.1)
    assert np.count_nonzero(word.share) == 1


def test_an_estimate_that_is_closer_keeps_its_word():
    ours, line = draws()
    word = LastWord.learnt(seen(ours, 2 * line))
    assert not word.said
    assert word.words == ""


def test_few_readings_or_few_stretches_of_time_say_little():
    ours, line = draws()
    assert not LastWord.learnt(seen(2 * ours[:19], 0.1 * line[:19])).said
    many = LastWord.learnt(seen(2 * ours, 0 * line)).share[0]
    two = LastWord.learnt(seen(2 * ours, 0 * line, block=np.arange(480) % 2)).share[0]
    assert many == pytest.approx(1 / (1 + 3 / 24))
    assert two == pytest.approx(1 / (1 + 3 / 2))


def test_what_neither_foresaw_does_not_choose():
    ours, line = draws()
    ours[:3], line[:3] = 1e3, 0.99e3  # the line is closer, by nothing that matters
    assert not LastWord.learnt(seen(0.3 * ours, line)).said


def test_the_line_leads_no_further_than_it_was_seen_to():
    word = LastWord(np.full(COUNT, 0.5), np.full(COUNT, 2.0))
    np.testing.assert_allclose(
        word.move(np.array([1.0, -1.0, 10.0, -10.0]), np.zeros(4, dtype=int)), [0.5, -0.5, 1.0, -1.0]
    )


def test_no_reading_is_a_witness_of_what_it_chose():
    # One stretch of time prefers the line, all others the estimate: by the others nobody leans.
    ours, line = draws()
    one = np.arange(480) % 24 == 5
    ours, line = np.where(one, 30.0, 0.1 * ours), np.where(one, 0.0, line)
    every = seen(ours, line)
    assert LastWord.learnt(every).said
    out = leaning(every, np.ones(480, dtype=bool))
    np.testing.assert_array_equal(out.error[one], ours[one])
    # And one that is no truth chooses nothing.
    np.testing.assert_array_equal(leaning(every, ~one).error, ours)


def test_intervals_of_witnesses_go_along():
    every = seen([1.0, -1.0, 1.6], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(every.inside, [1, 1, 0])
    np.testing.assert_array_equal(every.moved(np.array([1.0, 0.4, -0.2])).inside, [0, 1, 1])


def network(nodes=8, slots=400, seed=3):
    rng = np.random.default_rng(seed)
    X = climate_field(slots, nodes, seed=seed) + 0.1 * rng.standard_normal((slots, nodes))
    X[rng.random(X.shape) < 0.4] = np.nan
    return X


def test_what_was_lost_is_led_to_the_line_and_nothing_else():
    grid = fm.Grid.of(network(), slot_seconds=300)
    found = fm.recover(grid, holdout=False)["value"]
    word = LastWord(np.full(COUNT, 0.5), np.full(COUNT, np.inf))
    out = with_last_word(found, word, Doubt.of(found))
    lost, line = np.isnan(found.observed), interpolate(found.observed)
    given = ~np.isnan(found.estimate)
    np.testing.assert_allclose(
        out.estimate[lost & given], ((found.estimate + line) / 2)[lost & given]
    )
    for name in ("estimate", "lower", "upper"):
        np.testing.assert_array_equal(getattr(out, name)[~lost], getattr(found, name)[~lost])
    np.testing.assert_allclose((out.upper - out.lower)[given], (found.upper - found.lower)[given])
    assert "straight line by hidden readings: 50 % in gaps of 1" in out.choice
    assert not np.shares_memory(out.estimate, found.estimate)


def test_the_line_runs_through_what_is_kept_and_stays_within_bounds():
    grid = fm.Grid.of(network(), slot_seconds=300)
    found = fm.recover(grid, holdout=False)["value"]
    replaced = np.zeros(found.observed.shape, dtype=bool)
    at = int(np.flatnonzero(~np.isnan(found.observed[:, 2]))[20])
    replaced[at, 2] = True
    middle = float(np.nanmedian(found.estimate))
    bounded = replace(
        found, replaced=replaced, quantity=Quantity(Kind.BOUNDED, low=middle, high=np.inf)
    )
    word = LastWord(np.ones(COUNT), np.full(COUNT, np.inf))
    out = with_last_word(bounded, word, Doubt.of(bounded))
    kept = np.where(replaced, np.nan, found.observed)
    lost = np.isnan(found.observed) & ~np.isnan(found.estimate)
    np.testing.assert_allclose(out.estimate[lost], np.maximum(interpolate(kept), middle)[lost])


def test_who_has_no_last_word():
    grid = fm.Grid.of(network(), slot_seconds=300)
    found = fm.recover(grid, holdout=False)["value"]
    assert has_last_word(found)
    for kind in (Kind.CIRCULAR, Kind.ACCUMULATOR, Kind.INTERMITTENT):
        assert not has_last_word(replace(found, quantity=Quantity(kind)))
    assert not has_last_word(replace(found, method="ls"))


def loads(seed, slots=600, nodes=8):
    """Households: a course of the day that all share, and appliances that only one of them has."""
    rng = np.random.default_rng([seed, 5])
    hour = np.arange(slots) % 24
    course = 0.3 + 0.4 * np.exp(-(((hour - 19) / 2.5) ** 2))
    X = course[:, None] * rng.uniform(0.5, 1.5, nodes)
    X *= np.exp(0.2 * rng.standard_normal(X.shape))
    for node in range(nodes):
        for start in np.flatnonzero(rng.random(slots) < 0.08 * course):
            X[start : start + int(rng.integers(1, 4)), node] += rng.uniform(1, 3)
    return X, rng.random(X.shape) < 0.4


def test_hidden_readings_bring_an_estimate_that_is_worse_than_the_line_closer_to_it():
    ratios = []
    for seed in range(3):
        X, gone = loads(seed)
        Y = np.where(gone, np.nan, X)
        grid = fm.Grid.of(Y, slot_seconds=3600)
        both = [fm.recover(grid, holdout=asked)["value"].estimate for asked in (False, True)]
        off = [np.sqrt(((Z - X)[gone] ** 2).mean()) for Z in (*both, interpolate(Y))]
        ratios.append([off[0] / off[2], off[1] / off[2]])
    without, asked = np.mean(ratios, axis=0)
    assert asked < without - 0.01
