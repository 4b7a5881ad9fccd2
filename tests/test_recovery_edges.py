"""Decisions of a recovery where they turn, and what it does by default."""

import math
from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.export import OutputError
from fieldmend.field.online import replay
from fieldmend.flags import KEPT
from fieldmend.quantities import Kind, Quantity
from fieldmend.recovery import extrapolating, modelling, onchange, powers
from fieldmend.recovery.modelling import Known
from fieldmend.recovery.notebook import TALLEST, WIDEST, squeezed
from fieldmend.recovery.wide import many
from fieldmend.result.options import Options
from test_recovery_solvers import Line, piece, setting


def hourly(values, condition="temperature", unit="°C", **more):
    return fm.Grid.of(values, condition=condition, unit=unit, slot_seconds=3600, **more)


@pytest.fixture(scope="module")
def weather():
    net = fm.simulate.network(150, 6, field="temperature", sampling=0.85, noise=0.1, seed=5)
    return hourly(net.readings)


@pytest.fixture(scope="module")
def rec(weather):
    return fm.recover(weather, holdout=False)


# What a recovery gives away


@pytest.mark.parametrize("name", ["to_csv", "to_parquet", "to_netcdf", "report"])
def test_nothing_that_is_there_is_written_over_unless_asked(rec, name, tmp_path):
    write = getattr(rec, name)
    path = tmp_path / "there"
    path.write_text("kept")
    with pytest.raises(OutputError, match="there already"):
        write(path)
    assert path.read_text() == "kept"
    write(path, force=True)
    assert path.stat().st_size > len("kept")


def test_progress_rises_from_nothing_to_all(weather):
    told = []
    fm.recover(weather, progress=lambda what, share: told.append((what, share)))
    shares = [share for _, share in told]
    assert told[0] == ("reading", 0.0)
    assert told[-1] == ("recovered", 1.0)
    assert shares == sorted(shares)
    assert {"recovering temperature"} == {what for what, _ in told[1:-1]}
    assert min(shares[1:]) == 0.2  # what is read is a fifth of the way


# Models


def test_the_filter_of_a_model_is_calibrated_on_all_of_a_short_record(rec):
    one, live = rec["temperature"], rec.model["temperature"].live
    again = replay(one.fitted, one.observed, np.isin(one.flag, KEPT), first=0)
    assert live.gate == again.gate
    np.testing.assert_array_equal(live.calibration.factor, again.calibration.factor)


def test_the_filter_of_a_model_is_calibrated_on_the_newest_of_a_long_one(rec, monkeypatch):
    monkeypatch.setattr(modelling, "NEWEST", 60)
    one, live = rec["temperature"], modelling.model_of(rec)["temperature"].live
    kept = np.isin(one.flag[90:], KEPT)
    again = replay(one.fitted, one.observed[90:], kept, first=90)
    np.testing.assert_array_equal(live.calibration.factor, again.calibration.factor)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"joint": True}, "joint"), ({"method": "ls"}, "method 'ls'"),
     ({"joint": True, "solving": {"period": 24}}, "joint, period")],
)  # fmt: skip
def test_what_a_model_has_its_own_way_of_is_named(rec, options, named):
    with pytest.raises(fm.InputError, match=rf"^{named}: not with a model"):
        Known.of(rec.model, Options(**options))


# Networks of many nodes


@pytest.mark.parametrize(("placed", "found"), [(301, True), (300, False)])
def test_half_of_the_places_are_enough_to_go_by(placed, found):
    wide = hourly(np.zeros((2, 602)))
    places = {name: {"x": 0.0, "y": 0.0} for name in wide.nodes[:placed]}
    assert many(replace(wide, places=places), Options()) is found


# Powers


def test_what_never_moves_tells_of_no_power():
    rng = np.random.default_rng(0)
    quantity = Quantity(Kind.POSITIVE)
    assert powers._part(np.full((400, 4), 7.0), quantity) is None
    moving = rng.exponential(size=(400, 4))
    assert powers._part(moving, quantity).shape == (400, 4)
    assert powers._part(moving[:, :2], quantity) is None  # two nodes are too few
    mostly = moving.copy()
    mostly[79:, 3] = np.nan  # a fifth of the slots, but for one
    assert powers._part(mostly, quantity).shape == (400, 3)
    mostly[79, 3] = 1.0
    assert powers._part(mostly, quantity).shape == (400, 4)


# Beyond a node's life


def test_ends_are_hidden_of_nodes_that_were_heard():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(0, 0.2, (40, 6)), axis=0)
    silent = np.column_stack([X, np.full(40, np.nan)])
    wanted = extrapolating._at_ends(piece(X), setting(X, Line()))
    assert wanted > 1
    assert extrapolating._at_ends(piece(silent), setting(silent, Line())) == wanted


# Nodes that send on change


def likely(factor, ends):
    """Mean log probability of lying within the ends (in standard deviations)."""
    low, high = ends

    def below(z):
        return 0.5 * math.erfc(-z / math.sqrt(2))

    inside = [below(b / factor) - below(a / factor) for a, b in zip(low, high, strict=True)]
    return np.mean([math.log(max(p, onchange.UNLIKELY)) for p in inside])


@pytest.mark.parametrize("off", [0.2, 0.9, 2.5])
@pytest.mark.parametrize("every", [1, 3])
def test_intervals_are_as_wide_as_the_silences_make_likely(off, every, monkeypatch):
    rng = np.random.default_rng(4)
    observed = np.full((60, 4), np.nan)
    observed[0] = 5.0
    estimate = 5.0 + off * rng.normal(size=observed.shape)
    half = np.full(observed.shape, 0.5)
    band = onchange.Band(delta=0.6, level=0.9)
    monkeypatch.setattr(onchange, "SAMPLED", observed.size / every)
    sides = estimate, estimate - half, estimate + half
    found = onchange._doubt(sides, observed, np.zeros(observed.shape, dtype=bool), band)
    sd = 0.5 / 1.6448536269514722
    silent = np.flatnonzero(np.isnan(observed))[::every]
    mean = estimate.ravel()[silent]
    ends = (4.4 - mean) / sd, (5.6 - mean) / sd
    assert found == max(onchange.WIDER, key=lambda factor: likely(factor, ends))


def test_without_intervals_or_silences_nothing_is_wider():
    X = np.ones((5, 3))
    no, band = np.zeros(X.shape, dtype=bool), onchange.Band(1.0, 0.9)
    assert onchange._doubt((X, X - 1, X + 1), X, no, band) == 1.0
    assert onchange._doubt((X, None, X + 1), np.full(X.shape, np.nan), no, band) == 1.0
    assert onchange._doubt((X, X - 1, None), np.full(X.shape, np.nan), no, band) == 1.0


# In a notebook


def test_a_cell_of_many_readings_is_lost_where_most_are():
    flag = np.ones((4 * WIDEST, 1), dtype=np.int8)
    flag[0:2], flag[4:7] = 9, 9  # half of the first cell, most of the second
    flag[8], flag[12], flag[13] = 3, 3, 4
    cells = squeezed(flag)
    assert cells.shape == (1, WIDEST)
    assert cells[0, :5].tolist() == [0, 1, 2, 3, 0]
    assert squeezed(np.ones((2, 3 * TALLEST), dtype=np.int8)).shape == (TALLEST, 2)
