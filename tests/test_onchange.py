"""Nodes that send on change: silence is a reading, and every estimate keeps to it."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.recovery.onchange import Band, cut_off, narrow, resting
from fieldmend.result.states import Service, State

DELTA = 0.4


def sent_on_change(X, delta):
    """Slow and obvious: what a node sends, and its last message at every slot."""
    sent, last = np.zeros(X.shape, bool), np.full(X.shape, np.nan)
    for n in range(X.shape[1]):
        before = None
        for t in range(len(X)):
            if np.isfinite(X[t, n]) and (before is None or abs(X[t, n] - before) > delta):
                sent[t, n], before = True, X[t, n]
            last[t, n] = np.nan if before is None else before
    return sent, last


@pytest.fixture(scope="module")
def thinned():
    net = fm.simulate.network(slots=240, nodes=10, field="temperature", noise=0.1, seed=4)
    X = np.round(net.truth, 2)
    sent, last = sent_on_change(X, DELTA)
    grid = fm.Grid.of(np.where(sent, X, np.nan), condition="t", unit="°C", slot_seconds=1800)
    return grid, X, sent, last


def test_estimates_and_intervals_keep_to_the_band(thinned):
    grid, X, sent, last = thinned
    rec = fm.recover(grid, on_change={"t": DELTA})
    one, silent = rec["t"], ~sent & np.isfinite(last)
    for side in (one.estimate, one.lower, one.upper):
        assert np.abs(side - last)[silent].max() <= DELTA + 1e-9
    assert np.all((one.lower <= one.estimate + 1e-12)[silent])
    assert np.all((one.estimate <= one.upper + 1e-12)[silent])
    inside = ((one.lower <= X) & (X <= one.upper))[silent]
    assert inside.mean() > 0.85
    off, held = (np.abs(part - X)[silent].mean() for part in (one.estimate, last))
    assert off < 0.8 * held


def test_silence_says_more_than_a_loss_where_nodes_go_their_own_way():
    rng = np.random.default_rng(0)
    shared, own = rng.normal(0, 0.12, (240, 1)), rng.normal(0, 0.12, (240, 8))
    X = np.round(20 + np.cumsum(shared + own, axis=0), 2)
    sent, last = sent_on_change(X, DELTA)
    grid = fm.Grid.of(np.where(sent, X, np.nan), condition="t", unit="°C", slot_seconds=1800)
    silent = ~sent & np.isfinite(last)
    heeded = fm.recover(grid, on_change={"t": DELTA}, holdout=False)["t"]
    as_loss = fm.recover(grid, holdout=False)["t"]
    off, lost = (np.abs(part.estimate - X)[silent].mean() for part in (heeded, as_loss))
    assert off < 0.8 * lost


def test_flags_and_counts_understand_silence(thinned):
    grid, _, sent, last = thinned
    rec = fm.recover(grid, on_change=DELTA)
    one = rec["t"]
    assert one.holdout is None  # hidden readings would be read as if never sent
    assert any("read as within 0.4 °C" in note for note in one.notes)
    heard = np.isfinite(last)
    assert not np.isnan(one.estimate[heard]).any()
    assert np.count_nonzero(one.flag[sent] == 3) <= 0.01 * sent.sum()
    assert np.all(one.flag[~sent] == 9)


def test_silence_inside_a_life_is_no_absence():
    X = np.full((2000, 4), np.nan)
    X[::5] = 1.0
    X[10:1500, 0] = np.nan  # at rest
    X[1200:, 1] = np.nan  # silent to the end: no longer than the one before
    X[300:, 2] = np.nan  # longer than anybody who spoke again
    X[:400, 3] = np.nan  # not there yet
    nothing = np.zeros(4, bool)
    life = Service(
        np.array([0, 1, 2, 3]),
        np.array([10, 1200, 300, 0]),
        np.array([1500, 2000, 2000, 400]),
        nothing,
    )
    states = resting(life, X).states(~np.isnan(X))
    away = (states == State.NOT_IN_SERVICE).any(axis=0)
    assert away.tolist() == [False, False, True, True]


def test_a_false_reading_makes_no_band():
    observed = np.array([[5.0], [np.nan], [99.0], [np.nan], [6.0], [np.nan]])
    false = observed == 99.0
    estimate = np.full((6, 1), 5.6)
    lower, upper = estimate - 1, estimate + 1
    narrow((estimate, lower, upper), observed, false, Band(0.2, 0.9))
    assert 5.0 < estimate[1, 0] <= 5.2
    assert estimate[3, 0] == 5.6
    assert 5.8 <= estimate[5, 0] < 6.0


def test_bounds_end_a_band_and_methods_without_intervals_are_clipped():
    observed = np.array([[99.9], [np.nan]])
    estimate = np.array([[99.9], [120.0]])
    narrow((estimate, None, None), observed, np.zeros((2, 1), bool), Band(0.5, 0.9, 0.0, 100.0))
    assert estimate[1, 0] == 100.0


@pytest.mark.parametrize("sd", [1e-6, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("mean", [-50.0, -1.0, 0.0, 0.3, 1.0, 40.0])
def test_cut_off_is_the_truncated_normal(mean, sd):
    from scipy.stats import truncnorm

    a, b = (-0.5 - mean) / sd, (0.5 - mean) / sd
    found = [float(x) for x in cut_off(*map(np.float64, (mean, sd, -0.5, 0.5)), 0.9)]
    if a < 7.9 and b > -7.9:
        right = truncnorm(a, b, mean, sd)
        assert found == pytest.approx([right.mean(), right.ppf(0.05), right.ppf(0.95)], abs=2e-3)
    else:
        assert found == pytest.approx(3 * [np.clip(mean, -0.5, 0.5)], abs=1e-9)


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), "wide", {"t": 0}])
def test_what_is_no_change_is_refused(thinned, wrong):
    with pytest.raises(fm.InputError, match="on_change"):
        fm.recover(thinned[0], on_change=wrong)


def test_a_condition_that_is_not_there_or_no_line(thinned):
    with pytest.raises(fm.InputError, match="on_change for 'x', which is not there"):
        fm.recover(thinned[0], on_change={"x": 1})
    wind = fm.Grid.of(np.random.default_rng(1).uniform(0, 360, (50, 5)), condition="dd")
    with pytest.raises(fm.InputError, match="which is circular"):
        fm.recover(wind, on_change=5, kinds={"dd": "circular"})


def test_the_command_takes_it(thinned, tmp_path, capsys):
    grid, *_ = thinned
    rows = [
        f"n{n},{np.datetime64(int(grid.times[t]), 'us')},{grid.values['t'][t, n]}"
        for t, n in zip(*np.nonzero(np.isfinite(grid.values["t"])), strict=True)
    ]
    (tmp_path / "a.csv").write_text("node,time,t\n" + "\n".join(rows) + "\n")
    common = ["recover", str(tmp_path / "a.csv"), "--slot", "30min", "--out", str(tmp_path)]
    assert main([*common, "--on-change", "t=0.4", "--no-report", "--no-holdout"]) == 0
    assert "within 0.4" in " ".join(capsys.readouterr().out.split())
    assert main([*common, "--on-change", "much"]) == 2
    assert "neither a number" in capsys.readouterr().err
