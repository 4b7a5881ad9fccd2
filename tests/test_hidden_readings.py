"""What hidden readings teach: who may be hidden, how many witnesses they are, how far to lean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
import naive_field
from fieldmend.field.holdout import Calibration, calibrate, draw_hidden
from fieldmend.field.lean import CLASSES, Lean, choose_lean
from fieldmend.field.widening import Widening
from test_fieldmodel import network


@pytest.mark.parametrize("share", [0.15, 0.5, 0.95])
def test_a_hold_out_leaves_every_node_two_readings(share):
    """Nodes with few readings, and a gap that all of them share: the hardest to spare."""
    left, taken = [], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        used = rng.random((12, 60)) < np.array([0.03, 0.05, 0.1, 0.9] * 3)[:, None]
        hidden = draw_hidden(used, ~used, share, rng)
        assert not (hidden & ~used).any()
        before, after = used.sum(axis=1), (used & ~hidden).sum(axis=1)
        left.append(after[before >= 2])
        assert (after == before)[before < 2].all()
        taken += hidden.sum()
    assert np.concatenate(left).min() == 2
    assert taken > 0


def at_once(z, run, level):
    """The factor of one bin."""
    found = calibrate(np.asarray(z, float), np.ones(len(z)), np.asarray(run), level)
    assert len(found.factor) == 1
    return found.factor[0]


def test_readings_hidden_in_one_run_are_one_witness():
    z = np.arange(1.0, 101.0)
    # n witnesses: the ⌈level·(n + 1)/n · (100 − 1)⌉-th of the ordered errors, from 0.
    for runs, want in ((100, 91.0), (50, 92.0), (20, 95.0), (10, 100.0)):
        assert at_once(z, np.arange(100) % runs, 0.9) == want
    # With nine witnesses and fewer no order statistic is high enough: beyond the largest.
    assert at_once(z, np.arange(100) % 8, 0.9) == pytest.approx(110.0)
    assert at_once(z, np.arange(100) % 3, 0.7) == 94.0


def test_numbers_of_runs_are_names_only():
    z = np.random.default_rng(0).exponential(size=60)
    run = np.arange(60) // 4
    assert at_once(z, run, 0.8) == at_once(z, 1000 - 7 * run, 0.8)


def test_with_hardly_any_hidden_reading_intervals_are_wide():
    found = calibrate(np.ones(4), np.ones(4), np.arange(4), 0.9)
    np.testing.assert_array_equal(found.at(np.array([0.0, 1.0, 50.0])), [3.0, 3.0, 3.0])


def test_a_calibration_goes_from_bin_to_bin():
    found = Calibration(np.log([1.0, 10.0]), np.array([1.0, 3.0]))
    got = found.at(np.array([0.0, 1.0, np.sqrt(10.0), 10.0, 1e9]))
    np.testing.assert_allclose(got, [1.0, 1.0, 2.0, 3.0, 3.0])


def lean_of(error, towards, run=None):
    """The weight in the first class, and its parts by hand."""
    n = len(error)
    run = np.arange(n) if run is None else run
    found = choose_lean(error, np.zeros(n), towards, np.full(n, 0.5), run)
    assert not found.weight[1:].any()
    return found.weight[0], *naive_field.lean(error, towards, run)


def test_a_lean_counts_as_far_as_it_is_sure():
    rng = np.random.default_rng(1)
    towards = rng.normal(size=400)
    strong, weak = 0.5 * towards + 0.2 * rng.normal(size=400), 0.2 * towards + rng.normal(size=400)
    got, best, sure = lean_of(strong, towards)
    assert sure > 5
    assert got == pytest.approx(best * (1 - 1 / sure**2), rel=1e-9)
    got, best, sure = lean_of(weak, towards)
    assert 1 < sure < 3
    assert got == pytest.approx(best * (1 - 1 / sure**2), rel=1e-9)
    assert got < 0.9 * best
    # The same gains from fewer witnesses: less sure, less of it.
    fewer, _, _ = lean_of(weak, towards, np.arange(400) // 40)
    assert fewer != got
    assert lean_of(-strong, towards)[0] == 0.0
    assert lean_of(strong[:59], towards[:59])[0] == 0.0  # too few to decide
    assert lean_of(strong[:60], towards[:60])[0] > 0.0


def test_a_gross_error_does_not_decide_a_lean():
    rng = np.random.default_rng(2)
    towards = rng.normal(size=300)
    error = 0.1 * rng.normal(size=300)
    error[0], towards[0] = 1e6, 1.0
    found = choose_lean(error, np.zeros(300), towards, np.full(300, 0.5), np.arange(300))
    assert found.weight[0] < 0.05


def test_gross_errors_that_the_simpler_one_foresaw_decide_a_lean():
    rng = np.random.default_rng(2)
    towards, error = 0.1 * rng.normal(size=(2, 300))
    error[:12] = towards[:12] = 50.0  # a kettle that is on: a straight line knows, the model not
    found = choose_lean(error, np.zeros(300), towards, np.full(300, 0.5), np.arange(300))
    assert found.weight[0] > 0.8


def leaning(model, **weights):
    """The same model, told how far to lean, everywhere; no interval wider for its level."""
    none = dict.fromkeys(("to_common", "to_line", "to_second"), 0.0) | weights
    leans = {name: Lean(np.full(CLASSES, w)) for name, w in none.items()}
    part = model["value"]
    honest, later = (
        replace(one, **leans, calibration=replace(one.calibration, wider=Widening()))
        for one in (part.honest, part.later)
    )
    part = replace(part, honest=honest, later=later)
    return replace(model, conditions={"value": part})


def test_what_is_leant_to_is_in_the_result():
    net = network(300, 10, seed=6)
    model = fm.FieldModel.fit(net.readings[:200])
    X = net.readings[200:]
    plain = leaning(model).apply(X)
    common = leaning(model, to_common=1.0).apply(X)
    np.testing.assert_allclose(common.estimate, plain.low_rank, rtol=1e-9)
    half = leaning(model, to_common=0.5).apply(X)
    np.testing.assert_allclose(half.estimate, (plain.estimate + plain.low_rank) / 2, rtol=1e-9)
    line = leaning(model, to_line=1.0).apply(X)
    used, t = np.isfinite(X) & (line.sparse == 0), np.arange(len(X))
    for n, seen in enumerate(used.T):
        want = np.interp(t, t[seen], X[seen, n])
        np.testing.assert_allclose(line.estimate[:, n], want, rtol=1e-9)
    second = leaning(model, to_second=1.0).apply(X)
    assert np.abs(second.estimate - plain.estimate).max() > 0.01
    # Intervals move with the estimate, and are as wide as before.
    for out in (common, line, second):
        np.testing.assert_allclose(out.upper - out.lower, plain.upper - plain.lower, rtol=1e-9)
        np.testing.assert_allclose((out.upper + out.lower) / 2, out.estimate, rtol=1e-9)


def test_what_was_learnt_of_leaning_is_in_the_result():
    """A record in which hidden readings ask for the line: auto leans to it, and says so."""
    X = network(300, 20, seed=1, noise=0.05).readings
    out = fm.decompose(X, method="auto")
    part = out.model["value"]
    most = part.honest.to_line.weight.max()
    assert most > 0.03
    assert f"leans to the straight line by up to {100 * most:.0f} %" in out.choice
    own = {"to_common": part.honest.to_common, "to_second": part.honest.to_second}
    level = replace(part.honest, to_line=Lean(np.zeros(CLASSES)), **own)
    stiff = replace(out.model, conditions={"value": replace(part, honest=level)})
    moved = np.abs(out.model.apply(X).estimate - stiff.apply(X).estimate)
    assert moved[np.isnan(X)].max() > 0.001
