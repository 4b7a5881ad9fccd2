"""Bad input to the recovery, and what it gets: rows of a table, and options that cannot be."""

import re
import warnings

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.grid import Grid

nan = np.nan
rng = np.random.default_rng(0)
SEASON = np.outer(np.sin(np.arange(100) / 9) + 2, np.arange(1.0, 13.0))


def holes(X, share=0.3, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, nan, X)


def alone():
    X = rng.normal(size=(50, 1))
    X[10:20] = nan
    return X


def once():
    """One node with a single reading among nineteen others."""
    X = fm.simulate.network(slots=100, nodes=20, seed=1).readings
    X[:, 3] = nan
    X[7, 3] = 20.0
    return X


def recovered(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rec = fm.recover(Grid.of(X), **options)
    rec.summary()
    return rec["value"]


# Too little to compare: flag 2, values passed through, and said why -----------------------------------


@pytest.mark.parametrize(
    ("X", "why"),
    [
        (np.array([[1.0]]), "1 node, fewer than 3"),
        (alone(), "1 node, fewer than 3"),
        (rng.normal(size=(1, 20)), "1 slot, fewer than 5"),
        (np.array([[1.0, 2.0], [3.0, nan]]), "2 nodes, fewer than 3"),
        (rng.normal(size=(4, 9)), "4 slots, fewer than 5"),
        (np.repeat(rng.normal(size=(40, 1)), 5, axis=1), "1 node (4 more repeat another)"),
        (np.array([[1e308, -1e308], [nan, nan], [-1e308, 1e308]]), "2 nodes, fewer than 3"),
    ],
    ids=["1 × 1", "one node", "one slot", "2 × 2", "four slots", "one node five times", "1e308"],
)
def test_nothing_to_compare_with(X, why):
    one = recovered(X)
    assert set(np.unique(one.flag)) <= {2, 9}
    np.testing.assert_array_equal(one.filled[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isfinite(one.estimate).all()
    assert one.holdout is None
    assert one.notes[0].startswith(why)


def test_a_node_with_one_reading_is_not_evaluated():
    X = once()
    one = recovered(X)
    assert one.flag[7, 3] == 2
    assert one.filled[7, 3] == X[7, 3]
    assert (np.delete(one.flag, 3, axis=1) != 2).all()
    assert one.notes[0].startswith("node 4 has fewer than 5 readings")
    assert np.isfinite(np.delete(one.estimate, 3, axis=1)).all()
    assert np.isnan(one.estimate[30:, 3]).all()  # not in service
    assert np.isfinite(recovered(X, extrapolate=True, holdout=False).estimate).all()


# Nothing varies: no division by a zero scale, nothing flagged ---------------------------------------


@pytest.mark.parametrize(
    ("X", "close"),
    [
        (np.tile(np.arange(10.0), (60, 1)), 0.0),
        (np.full((60, 10), 7.3), 0.0),
        (np.zeros((60, 10)), 0.0),
        (np.full((60, 10), 1e-320), 0.0),
        (SEASON, 1e-3),
        (SEASON * 1e-200, 1e-203),
        (SEASON * 1e200, 1e197),
    ],
    ids=["constant columns", "all equal", "all zero", "subnormal", "rank 1", "tiny", "large"],
)
def test_exact_fields_come_back(X, close):
    one = recovered(X)
    assert (one.flag == 1).all()
    np.testing.assert_allclose(one.estimate, X, rtol=0, atol=close)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_an_exact_field_with_holes_is_not_suspected(seed):
    assert set(np.unique(recovered(holes(SEASON, 0.3, seed)).flag)) == {1, 9}


@pytest.mark.parametrize("X", [np.tile(np.arange(10.0), (60, 1)), np.full((60, 10), 7.3)])
def test_constants_fill_their_gaps(X):
    one = recovered(holes(X))
    assert set(np.unique(one.flag)) == {1, 9}
    np.testing.assert_array_equal(one.filled, X)


# Absurd readings of one node ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dense():
    return fm.simulate.network(slots=300, nodes=20, sampling=0.8, seed=4)


@pytest.fixture(scope="module")
def undisturbed(dense):
    return recovered(dense.readings, holdout=False)


@pytest.mark.parametrize(
    ("how", "value"),
    [
        *((how, 1e308) for how in ("always", "half", "by turns", "once")),
        ("half", -1e308), ("once", -1e308),
        ("always", 1e30), ("half", 1e30), ("once", 1e30),
        ("always", 5e-324), ("once", 5e-324),
    ],
)  # fmt: skip
def test_one_node_does_not_move_the_others(dense, undisturbed, value, how):
    X = dense.readings
    bad = X.copy()
    slot = np.arange(len(X))
    where = {"always": slot >= 0, "half": slot >= 150, "by turns": slot >= 0, "once": slot == 50}
    sign = np.where(slot % 2, 1, -1) if how == "by turns" else 1
    hit = where[how] & ~np.isnan(X[:, 5])
    bad[hit, 5] = (value * sign * np.ones(len(X)))[hit]
    # The largest are hidden and scored too.
    before, after = undisturbed, recovered(bad, holdout=value == 1e308)
    others = np.delete(np.arange(20), 5)
    scale = 1.4826 * np.nanmedian(np.abs(X - np.nanmedian(X, axis=0)), axis=0)
    moved = ((after.estimate - before.estimate) / scale)[:, others]
    assert np.sqrt((moved**2).mean()) < 0.05
    assert np.isfinite(after.estimate[:, others]).all()
    # Right or not at all: nothing is estimated around 1e308.
    none = abs(value) > 1e300 and np.nanmedian(np.abs(bad[:, 5]) / 2) > 1e300
    assert np.isnan(after.estimate[:, 5]).all() if none else np.isfinite(after.estimate).all()
    assert np.isfinite(after.anomaly).all()
    if how == "once" and not np.isnan(X[50, 5]) and value != 5e-324:
        assert after.flag[50, 5] == 3


# Missing --------------------------------------------------------------------------------------------


def test_a_condition_without_readings_is_missing_throughout(dense):
    empty = np.full(dense.readings.shape, nan)
    grid = Grid.of(dense.readings)
    grid.values["light"] = empty
    rec = fm.recover(grid)
    one = rec["light"]
    assert (one.flag == 9).all()
    assert np.isnan(one.estimate).all()
    assert np.isnan(one.filled).all()
    assert not one.anomaly.any()
    assert rec.summary()["warnings"] == ["light: no reading at all: nothing to recover"]
    assert (rec["value"].flag != 9).any()


def test_nothing_at_all_is_refused():
    with pytest.raises(fm.InputError, match="all readings are missing: nothing to recover from"):
        fm.recover(Grid.of(np.full((9, 9), nan)))


def test_limits_that_nothing_meets(dense):
    rec = fm.recover(Grid.of(dense.readings), limits={"value": (1e6, 1e7)})
    one = rec["value"]
    np.testing.assert_array_equal(one.flag, np.where(np.isnan(dense.readings), 9, 4))
    assert "no reading within the limits" in rec.summary()["warnings"][0]


def test_infinite_readings_are_missing():
    X = once()
    X[3, 5], X[4, 5] = np.inf, -np.inf
    assert (recovered(X).flag[3:5, 5] == 9).all()


# Nodes that appear, die, are silent, or come twice ----------------------------------------------------


def test_nodes_that_appear_or_die_are_named(dense):
    X = dense.readings.copy()
    X[180:, 6] = nan
    X[:75, 2] = nan
    X[:, 9] = nan
    notes = recovered(X).notes
    assert (
        "node 10 without a reading: never fitted, left empty (--extrapolate estimates it)" in notes
    )
    assert "node 3 has no reading before 1 Jan 1970 06:15: 25 % of its slots left empty" in notes
    assert any(n.startswith("node 7 has no reading after 1 Jan 1970 15:") for n in notes)


def test_many_dead_nodes_are_counted():
    X = fm.simulate.network(slots=100, nodes=20, seed=1).readings
    X[50:, 5:] = nan
    notes = [note for note in recovered(X).notes if "left empty" in note]
    assert len(notes) == 6
    assert re.match(r"1\d more nodes not in service for some time: \d+ of their slots", notes[-1])


def test_a_silent_node_follows_the_others(dense):
    X = dense.readings.copy()
    X[:, 9] = nan
    assert np.isnan(recovered(X, holdout=False).estimate[:, 9]).all()
    one = recovered(X, extrapolate=True, holdout=False)
    others = np.delete(one.estimate, 9, axis=1)
    np.testing.assert_allclose(one.estimate[:, 9], np.median(others, axis=1))


def test_two_ids_with_the_same_data_are_named(dense):
    X = dense.readings.copy()
    X[:, 11] = X[:, 4]
    notes = recovered(X, holdout=False).notes
    assert any(
        note.startswith("nodes 5 and 12 have the same readings throughout") for note in notes
    )


def test_hostile_names_are_shown_escaped():
    X = once()
    names = [f"n{i}" for i in range(20)]
    names[3] = "\x1b[31m" + "x" * 1000
    rec = fm.recover(Grid.of(X, nodes=names))
    note = rec["value"].notes[0]
    assert "\x1b" not in note
    assert len(note) < 200


# Options --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method 'magic' cannot recover. Use ls"),
        ({"method": "oracle"}, "method 'oracle' cannot recover. Use ls"),
        ({"level": 0}, "level 0 is no share between 0 and 1"),
        ({"level": 1}, "level 1 is no share between 0 and 1"),
        ({"level": nan}, "level nan is no share"),
        ({"level": "high"}, "level high is no share"),
        ({"limits": {"t": (60, -40)}}, "limits of t: 60 is above -40. Write the lowest"),
        ({"limits": {"t": (1, nan)}}, "limits of t: .* are no numbers"),
        ({"limits": {"t": "1:3"}}, "limits of t: 1:3 is no pair"),
        ({"limits": {"t": 3}}, "limits of t: 3 is no pair"),
        ({"limits": {"t": ("a", "b")}}, "limits of t: .* are no numbers"),
        ({"replace": "all"}, "replace='all'. suspects, certain"),
        ({"max_gap": "long"}, "max_gap 'long' is no length of time. Write 30min, 6h"),
        ({"max_width": 0}, "max_width: 0 is no width. Give a number above 0"),
        ({"max_width": {"t": nan}}, "max_width of t: nan is no width"),
        ({"max_width": 2, "method": "ls"}, "method 'ls' gives no intervals. Use auto"),
        ({"seed": -1}, "seed -1. Give a whole number"),
        ({"seed": 1.5}, "seed 1.5. Give a whole number"),
        ({"slot": "5 parsecs"}, "slot '5 parsecs' is no length of time"),
        ({"slot_value": "max"}, "slot_value='max'. One of mean"),
    ],
)
def test_options_are_checked_before_anything_is_read(options, message):
    with pytest.raises(fm.InputError, match=message):
        fm.recover("no such file.csv", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": {"humidity": (0, 100)}}, "limits for 'humidity', which is not there. .*value"),
        ({"max_width": {"light": 2}}, "max_width for 'light', which is not there. .*value"),
        ({"slot": "5min"}, "slot: not for Grid, which is read already"),
        ({"tz": "UTC"}, "tz: not for Grid, which is read already"),
    ],
)
def test_options_that_do_not_fit_the_source(options, message):
    with pytest.raises(fm.InputError, match=message):
        fm.recover(Grid.of(once()), **options)


def test_a_file_that_is_not_there():
    with pytest.raises(fm.InputError, match="no such file"):
        fm.recover("no such file.csv")


def small_network():
    return fm.simulate.network(
        80, 5, field="temperature", sampling=0.85, anomaly_rate=0.0, seed=2
    ).readings.copy()


def linear(X):
    return fm.recover(fm.Grid.of(X, condition="v"), kinds={"v": "linear"}, holdout=False)["v"]


def test_huge_readings_are_estimated_as_their_small_copies():
    X = small_network()
    size = 2.0**990  # up to 3e299, and no digit is rounded
    np.testing.assert_allclose(linear(X * size).estimate / size, linear(X).estimate, rtol=1e-3)


def test_nodes_too_large_to_compute_with_get_no_estimate_and_single_readings_are_flagged():
    X = small_network()
    t = int(np.flatnonzero(~np.isnan(X[:, 3]))[30])
    X[t, 3] = 1e308
    assert linear(X).flag[t, 3] == 3
    X = small_network()
    X[:, 3] = 1e306 * (1 + X[:, 3] / 1e9)
    found = linear(X)
    assert np.isnan(found.estimate[:, 3]).all()
    assert set(np.unique(found.flag[:, 3])) == {2, 9}
    assert np.isfinite(np.delete(found.estimate, 3, axis=1)).all()
    assert any("4: readings beyond 1e+300, nothing estimated there" in note for note in found.notes)
