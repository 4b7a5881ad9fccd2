"""Decisions of a recovery where they turn, and what it does by default."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.export import OutputError
from fieldmend.field.online import replay
from fieldmend.flags import KEPT
from fieldmend.quantities import Kind, Quantity
from fieldmend.quantities import choosing as powers
from fieldmend.recovery import extrapolating, honest, modelling, onchange
from fieldmend.recovery.circular import OnCircle
from fieldmend.recovery.modelling import Known
from fieldmend.recovery.notebook import TALLEST, WIDEST, squeezed
from fieldmend.recovery.wide import many
from fieldmend.result.options import Options
from test_recovery_solvers import Line, around, piece, setting


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
    again = replay(one.fitted, one.observed, np.isin(one.flag, KEPT), slot=rec.grid.slot)
    assert live.gate == again.gate
    np.testing.assert_array_equal(live.calibration.factor, again.calibration.factor)


def test_the_filter_of_a_model_is_calibrated_on_the_newest_of_a_long_one(rec, monkeypatch):
    monkeypatch.setattr(modelling, "NEWEST", 60)
    one, live = rec["temperature"], modelling.model_of(rec)["temperature"].live
    kept = np.isin(one.flag[90:], KEPT)
    again = replay(one.fitted, one.observed[90:], kept, first=90, slot=rec.grid.slot)
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
    assert powers._part(np.full((400, 4), np.nan), quantity) is None
    mostly = moving.copy()
    mostly[79:, 3] = np.nan  # a fifth of the slots, but for one
    assert powers._part(mostly, quantity).shape == (400, 3)
    mostly[79, 3] = 1.0
    assert powers._part(mostly, quantity).shape == (400, 4)


@pytest.mark.parametrize(
    ("ratios", "best", "asked"),
    [([1.0, 0.5], 1.0, 1), ([0.98, 0.9], 1 / 3, 2), ([0.98, 0.98], 1.0, 2), ([0.9, 0.95], 0.5, 2),
     ([0.9, 0.8], 1 / 3, 2), ([0.9, 0.3], 1 / 3, 2)],
)  # fmt: skip
def test_the_power_that_is_best_by_three_in_a_hundred(ratios, best, asked, monkeypatch):
    """One that is worse than the plain scale ends the search: a stronger one will not mend it."""
    told = iter(ratios)
    monkeypatch.setattr(powers, "_ratio", lambda *_: next(told))
    monkeypatch.setattr(powers, "_hidden", lambda *_: None)
    X = np.random.default_rng(0).exponential(size=(400, 4))
    power, words = powers.chosen(X, Quantity(Kind.POSITIVE), 0.9, 0)
    assert power.p == pytest.approx(best)
    assert len(list(told)) == 2 - asked
    gain = 100 * (1 - min(ratios))
    assert (f"{gain:.0f} % better" in words) if best < 1 else ("no power" in words)


# Beyond a node's life


def test_ends_are_hidden_of_nodes_that_were_heard():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(0, 0.2, (40, 6)), axis=0)
    silent = np.column_stack([X, np.full(40, np.nan)])
    wanted = extrapolating._at_ends(piece(X), setting(X, Line()))
    assert wanted > 1
    assert extrapolating._at_ends(piece(silent), setting(silent, Line())) == wanted


def test_without_intervals_there_is_nothing_to_widen():
    X = np.cumsum(np.random.default_rng(0).normal(0, 0.2, (40, 6)), axis=0)

    class Bare(Line):
        def hidden(self, left, window, columns):
            return super().hidden(left, window, columns)[0], None, None

    assert extrapolating._at_ends(piece(X), setting(X, Bare())) == 1.0


def test_one_node_alone_is_its_own_company():
    X = np.column_stack([np.arange(30.0), np.full(30, np.nan)])
    estimate, flag = X + 0.5, np.ones(X.shape, dtype=np.int8)
    assert extrapolating._of_nodes(piece(X), setting(X, Line()), estimate, flag) == 0.5


# On the circle


@pytest.mark.parametrize("half", [0.1, 50.0])
def test_no_arc_is_longer_than_the_circle(half):
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 360, (200, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    out = OnCircle(Line(half), 360.0, 10.0, 0.0, 0.9, seed=5)(X, around(X))
    assert (out.upper - out.lower).max() <= 360 + 1e-9
    assert (out.holdout.upper - out.holdout.lower).max() <= 360 + 1e-9
    assert (out.lower <= out.estimate).all()
    assert (out.estimate <= out.upper).all()


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


def test_only_angles_are_scored_the_short_way_round():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 5)) < 0.8, 350.0, np.nan)
    grid = fm.Grid.of(X, condition="t")

    def zero(grid, *, options):
        return SimpleNamespace(estimate=np.zeros(grid.shape), lower=None, upper=None)

    for scored in (honest.score, lambda *a, **k: honest.tried(*a, **k).whole()):
        assert scored(grid, "t", Options(), zero).method.mae == pytest.approx(350.0)
        turned = scored(grid, "t", Options(), zero, quantity=Quantity(Kind.CIRCULAR, period=360.0))
        assert turned.method.mae == pytest.approx(10.0)
