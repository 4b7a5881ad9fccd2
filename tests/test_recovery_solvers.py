"""Solvers of directions, meters and models around one that draws a line: what each adds to it."""

from dataclasses import dataclass, is_dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from fieldmend.diagnostics import gap_at
from fieldmend.faults import Context
from fieldmend.field.joint import worth_asking
from fieldmend.field.power import Power
from fieldmend.holdout.drawing import draw
from fieldmend.metrics import interpolate
from fieldmend.quantities import Kind, Quantity, circle, counter
from fieldmend.quantities.scale import Scale
from fieldmend.recovery import circular, counting, extrapolating, solving
from fieldmend.recovery.condition import _middle
from fieldmend.recovery.quantity import on_its_scale
from fieldmend.recovery.skewed import OnScale
from fieldmend.recovery.solving import Around, Solved, _line, suspicious
from fieldmend.recovery.window import Piece, Setting, _expected
from fieldmend.recovery.windows import Window
from fieldmend.recovery.witnesses import witnesses
from fieldmend.result.options import Options


@dataclass(frozen=True)
class Line:
    """Straight lines between readings; a tenth to either side."""

    half: float = 0.1
    method: str = "test"

    def __call__(self, evidence, around):
        at = self._at(evidence)
        level = np.where(np.isnan(evidence).all(axis=0), around.level, 0.0)
        return Solved(at + level, at - self.half, at + self.half, method=self.method, choice="line")

    def hidden(self, left, window, columns):
        at = self._at(left)
        return at, at - self.half, at + self.half

    @staticmethod
    def _at(evidence):
        filled = interpolate(evidence)
        usual = np.nanmedian(filled, axis=1, keepdims=True)
        return np.where(np.isnan(filled), usual, filled)


def around(X, level=None):
    level = np.zeros(X.shape[1]) if level is None else np.asarray(level)
    return Around(Window(0, len(X), 0, len(X)), witnesses(X, None), level)


# Directions


def winds(seed=0, slots=400, nodes=4):
    rng = np.random.default_rng(seed)
    X = (
        350 + np.cumsum(rng.normal(0, 6, (slots, 1)), axis=0) + rng.normal(0, 9, (slots, nodes))
    ) % 360
    X[rng.random(X.shape) < 0.3] = np.nan
    X[100:130, 1] = np.nan
    return X


def test_arcs_are_as_wide_as_hidden_readings_ask_for():
    X = winds()
    on = circular.OnCircle(Line(), 360.0, 10.0, 0.0, 0.9, seed=5)
    out = on(X, around(X))
    hidden = draw(~np.isnan(X), np.isnan(X), 5 + circular.SEED).mask
    left = np.where(hidden, np.nan, X)

    def arc(readings):
        channels = Line._at(circle.channels(readings, 360.0, 10.0))
        sine, cosine = np.hsplit(channels, 2)
        long = np.maximum(np.hypot(sine, cosine), 0.05)
        half = np.degrees(0.1 * np.hypot(cosine, sine) / long**2)
        return (10 + np.degrees(np.arctan2(sine, cosine))) % 360, half

    at, raw = arc(left)
    off = np.abs((X - at + 180) % 360 - 180)[hidden]
    gap = gap_at(~np.isnan(left))[hidden]
    widen = circular._widening(off / raw[hidden], gap, 0.9)
    estimate, wide = arc(X)
    classes = np.searchsorted([1, 4, 16, 64], np.maximum(gap_at(~np.isnan(X)), 1), side="right") - 1
    half = np.minimum(wide * widen[classes], 180.0)
    np.testing.assert_allclose(out.estimate, estimate, atol=1e-9)
    np.testing.assert_allclose(out.upper - out.estimate, half, rtol=1e-6)
    np.testing.assert_allclose(out.estimate - out.lower, half, rtol=1e-6)
    held = out.holdout
    assert len(held.rows) == hidden.sum()
    np.testing.assert_allclose(np.abs(held.truth - held.estimate), off, atol=1e-9)
    inside = (held.lower <= held.truth) & (held.truth <= held.upper)
    assert inside.mean() >= 0.88
    assert out.choice == "line, on the circle (sine and cosine)"
    assert not out.suspect.any()


def test_a_vane_that_was_never_heard_may_point_anywhere():
    X = winds(1)
    X[:, 2] = np.nan
    out = circular.OnCircle(Line(), 360.0, 0.0, 0.0, 0.9, seed=0)(X, around(X))
    np.testing.assert_allclose(out.upper[:, 2] - out.estimate[:, 2], 180.0)
    assert (out.upper[:, 0] - out.estimate[:, 0]).max() < 180
    few = circular.OnCircle(Line(method="line"), 360.0, 0.0, 0.0, 0.9, seed=0)
    line = few(np.array([[350.0], [np.nan], [10.0]]), around(np.zeros((3, 1))))
    assert line.estimate[:, 0].tolist() == [350.0, 0.0, 10.0]
    assert line.suspect is None
    assert np.isnan(few._line(np.full((2, 1), np.nan))).all()


# Meters


def test_intervals_of_meters_are_as_wide_as_hidden_readings_ask_for():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.exponential(size=(300, 3)) * (rng.random((300, 3)) < 0.3), axis=0)
    X[rng.random(X.shape) < 0.3] = np.nan
    on = counting.OnMeter(Line(), 0.9, seed=2)
    out = on(X, around(X))
    found = counter.counted(X)

    def shows(readings):
        amount = np.maximum(np.nan_to_num(Line._at(counter.counted(readings).amount)), 0.0)
        return counter.shown(counter.counted(readings).readings, amount)

    estimate = shows(X)
    np.testing.assert_allclose(out.estimate, estimate)
    hidden = draw(~np.isnan(found.readings), np.isnan(found.readings), 2 + counting.SEED).mask
    left = np.where(hidden, np.nan, found.readings)
    guess = shows(left)
    width = counting._room(left, guess).width[hidden]
    off = np.abs(found.readings - guess)[hidden]
    factor = np.quantile(off[width > 0] / width[width > 0], 0.9)
    room = counting._room(found.readings, estimate)
    half = factor * room.width
    lower = np.minimum(np.maximum(estimate - half, room.low), estimate)
    upper = np.maximum(np.minimum(estimate + half, room.high), estimate)
    np.testing.assert_allclose(out.lower, lower)
    np.testing.assert_allclose(out.upper, upper)
    np.testing.assert_allclose(out.holdout.truth, found.readings[hidden])
    assert out.choice.endswith("solved as what was counted in each slot")


def test_hidden_readings_of_meters_are_numbered_among_the_nodes_that_were_heard():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.exponential(size=(300, 5)), axis=0)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 0] = np.nan  # never heard
    X[1:, 2], X[0, 2] = np.nan, 4.0  # heard once: nothing of it can be hidden
    held = counting.OnMeter(Line(), 0.9, seed=2)(X, around(X)).holdout
    everyone = np.array([1, 2, 3, 4])
    assert set(held.columns.tolist()) == {0, 2, 3}
    np.testing.assert_array_equal(held.truth, X[held.rows, everyone[held.columns]])
    lost = np.isnan(X[:, [1, 3, 4]])
    lost[held.rows, np.searchsorted([1, 3, 4], everyone[held.columns])] = True
    wanted = gap_at(~lost)[held.rows, np.searchsorted([1, 3, 4], everyone[held.columns])]
    np.testing.assert_array_equal(held.gap, wanted)
    assert (held.lower <= held.estimate).all()
    assert (held.estimate <= held.upper).all()


def test_a_silent_meter_is_the_median_of_the_others_and_its_level():
    X = np.tile(np.arange(40.0)[:, None], (1, 4)) * [1, 2, 3, np.nan]
    out = counting.OnMeter(Line(), 0.9, seed=0)(X, around(X, [0, 0, 0, 7.0]))
    np.testing.assert_allclose(out.estimate[:, 3], 2 * np.arange(40.0) + 7)


# Scales


def test_a_level_is_added_in_the_units_of_the_readings():
    X = np.full((10, 4), 9.0)
    X[:, 3] = np.nan
    power = OnScale(Line(), Scale(Power(0.5, 0.0), low=0.0, high=12.0), "on roots")
    out = power(X, around(X, [0, 0, 0, 2.0]))
    np.testing.assert_allclose(out.estimate, [[9.0, 9.0, 9.0, 11.0]] * 10)
    np.testing.assert_allclose(out.upper[0, :3], (3 + 0.1) ** 2)
    assert out.choice == "line, on roots"
    assert out.again is None

    class Fitted(Line):
        def __call__(self, evidence, around):
            return replace(super().__call__(evidence, around), again=Line(half=9.0))

    fitted = replace(power, base=Fitted())(X, around(X))
    assert fitted.again == replace(power, base=Line(half=9.0))  # on the same scale
    high = power(X, around(X, [0, 0, 0, 5.0]))
    assert high.estimate[0, 3] == 12.0
    plain = OnScale(Line(), Scale(low=0.0, high=10.0))
    assert plain(X, around(X, [0, 0, 0, 2.0])).estimate[0, 3] == 10.0
    wide = OnScale(Line(), Scale(low=0.0, high=99.0))
    assert wide(X, around(X, [0, 0, 0, 2.0])).estimate[0, 3] == 11.0  # added once
    at, lower, upper = power.hidden(X[:, :3], None, np.arange(3))
    assert (at[0, 0], lower[0, 0]) == (pytest.approx(9.0), pytest.approx(2.9**2))
    assert upper[0, 0] == pytest.approx(3.1**2)


def test_faults_are_looked_for_on_the_scale_that_is_solved_on():
    X = np.array([[4.0, 9.0]])
    context = Context(quantity=Quantity(Kind.POSITIVE, possible=(0.0, 100.0)))
    seen, about = on_its_scale(X, OnScale(Line(), Scale(Power(0.5, 0.0))), context)
    assert seen.tolist() == [[2.0, 3.0]]
    assert about.quantity.possible == (0.0, 10.0)
    same, as_before = on_its_scale(X, Line(), context)
    assert same is X
    assert as_before is context


# Margins


def setting(X, solver, **more):
    given = {"level": np.zeros(X.shape[1]), "quantity": Quantity(Kind.LINEAR)} | more
    return Setting(
        name="t", unit="", nodes=tuple(f"n{k}" for k in range(X.shape[1])), places=None,
        slot=0, options=Options(), known=witnesses(X, None), solver=solver, **given,
    )  # fmt: skip


def piece(X):
    return Piece(Window(0, len(X), 0, len(X)), X, np.arange(len(X)), {})


def test_ends_of_every_second_node_are_hidden_to_see_how_wide_they_have_to_be():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(0, 0.2, (40, 6)), axis=0)
    asked = []

    class Asked(Line):
        def hidden(self, left, window, columns):
            asked.append((left, columns))
            return super().hidden(left, window, columns)

    wide = extrapolating._at_ends(piece(X), setting(X, Asked()))
    left = asked[0][0]
    gone = np.zeros(X.shape, dtype=bool)
    gone[30:, [0, 4]] = gone[:10, 2] = True
    np.testing.assert_array_equal(np.isnan(left), gone)
    off = np.where(gone, np.abs(X - Line._at(left)) / 0.1, np.nan)
    assert wide == pytest.approx(max(1.0, extrapolating._quantile(off, 0.9)))
    assert wide > 1
    assert extrapolating._at_ends(piece(X), setting(X, Asked(half=1e9))) == 1.0


def test_a_node_that_was_never_heard_is_as_far_from_the_others_as_they_are(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4)) + np.array([0, 1, 2, 9])
    flag = np.ones(X.shape, dtype=np.int8)
    flag[:, 3] = 3  # suspect: no measure
    estimate = X + 0.1
    off = np.full(X.shape, np.nan)
    for n in range(3):
        off[:, n] = np.abs(X[:, n] - np.median(np.delete(estimate, n, axis=1), axis=1))
    got = extrapolating._of_nodes(piece(X), setting(X, Line()), estimate, flag)
    assert got == pytest.approx(extrapolating._quantile(off, 0.9))
    monkeypatch.setattr(extrapolating, "SAMPLED", 41)  # every third slot of 120 readings
    some = extrapolating._of_nodes(piece(X), setting(X, Line()), estimate, flag)
    assert some == pytest.approx(extrapolating._quantile(off[::3], 0.9))


# Small ones


def test_a_line_is_safe_where_differences_overflow():
    X = np.array([[1.5e308], [np.nan], [-1.5e308]])
    assert _line(X)[:, 0].tolist() == [1.5e308, 0.0, -1.5e308]
    assert np.isnan(_line(np.full((2, 1), np.nan))).all()


def test_what_is_inside_its_interval_was_expected():
    solved = Solved(np.zeros((1, 4)), np.full((1, 4), -1.0), np.ones((1, 4)))
    X = np.array([[-1.0, 1.0, 1.1, -1.1]])
    assert _expected(X, solved).tolist() == [[True, True, False, False]]
    assert not _expected(X, replace(solved, lower=None)).any()
    assert not suspicious(X, replace(solved, method="line")).any()
    own = np.array([[True, False, False, True]])
    assert suspicious(X, replace(solved, suspect=own)) is own


def test_the_middle_window_is_taken():
    assert _middle(iter("abcde")) == "c"
    assert _middle(iter("abcd")) == "c"


def test_one_reading_of_a_meter_says_nothing_of_what_it_counts():
    readings = np.array([[np.nan], [5.0], [np.nan]])
    room = counting._room(readings, np.array([[4.0], [5.0], [7.0]]))
    assert room.width[:, 0].tolist() == [1.0, 0.0, 2.0]
    falling = np.array([[9.0], [3.0], [np.nan]])
    assert counting._room(falling, np.array([[9.0], [3.0], [3.5]])).width[2, 0] == 0.5


# A model that was fitted without the hidden readings, applied to all of them


def company(seed=0):
    """A condition with losses, one that goes with it, one that does not, one that is not there."""
    rng = np.random.default_rng(seed)
    field = np.cumsum(rng.normal(size=(200, 4)), axis=0)
    X = np.where(rng.random(field.shape) < 0.6, field, np.nan)
    others = [rng.normal(size=field.shape), np.full(field.shape, np.nan), 3 - 2 * field]
    return X, others


def test_a_model_asks_the_conditions_that_were_heard_where_this_one_was_lost():
    X, others = company()
    joint = SimpleNamespace(joint=object())
    asked = solving._asked(X, others, joint, Options())
    chosen = worth_asking(X, ~np.isnan(X), others)
    assert asked == (0, 2)  # by their numbers in the company
    assert all(one is others[k] for one, k in zip(chosen.readings, asked, strict=True))
    assert solving._asked(X, others, SimpleNamespace(joint=None), Options()) == ()
    # Who is lost where this one is lost has nothing to say, and gets no question.
    lost = [np.where(np.isnan(X), np.nan, other) for other in others]
    assert solving._asked(X, lost, joint, Options()) == ()


class Remembers:
    """A fitted field that keeps what it was asked."""

    joint, unheard = None, ()

    def apply(self, X, seen, **more):
        self.asked = X, seen, more
        flat = np.zeros(X.shape)
        return SimpleNamespace(estimate=flat + 1, lower=flat, upper=flat + 3, sparse=flat)


def test_readings_of_other_nodes_than_it_was_fitted_to_are_solved_afresh(monkeypatch):
    X, others = company()
    X[:, 1] = np.nan
    heard = np.array([True, False, True, True])
    model = Remembers()
    monkeypatch.setattr(solving, "with_silent", lambda part, there: (part, there))
    monkeypatch.setattr(solving, "replace", lambda one, **more: (
        replace(one, **more) if is_dataclass(one) and one is not model else more))  # fmt: skip
    found = solving.Solved(np.empty((0, 0)), method="auto", rank=3, choice="so")
    again = solving.Again(model, heard, (2,), found, lambda *given: ("afresh", given))
    there = SimpleNamespace(others=others, level=np.array([0.0, 5.0, 0.0, 0.0]))
    out = again(X, there)
    np.testing.assert_array_equal(model.asked[0], X[:, heard])
    np.testing.assert_array_equal(model.asked[1], ~np.isnan(X[:, heard]))
    assert model.asked[2]["own"] is True
    (one,) = model.asked[2]["companions"].readings
    np.testing.assert_array_equal(one, others[2][:, heard])
    assert (out.rank, out.choice) == (3, "so")
    # A silent node is the median of the others and its level.
    np.testing.assert_array_equal(out.estimate[0], [1, 6, 1, 1])
    part, kept = out.fitted
    assert part["fitted_on"].rows == len(X)
    assert part["fitted_on"].readings == np.isfinite(X).sum()
    assert kept is not None
    alone = solving.Again(model, heard, (), found, None)
    assert alone(X, there).rank == 3
    assert model.asked[2]["companions"] is None
    X[5, 1] = 1.0
    assert again(X, there)[0] == "afresh"


def test_a_model_of_powers_is_one_of_the_readings_it_was_fitted_to():
    @dataclass(frozen=True)
    class Part:
        view: SimpleNamespace | Power
        fitted_on: solving.FittedOn
        power: Power | None = None

    on, X = solving.FittedOn(3, 5, "of powers"), np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]])
    part = Part(Part(None, on), on)
    root = OnScale(Line(), Scale(power=Power(0.5, 0.1)), "on roots")
    made = root.of_readings(part, X)
    assert made.view.power == Power(0.5, 0.1)
    assert made.fitted_on == replace(on, sha256=solving.digest(X, ~np.isnan(X)))
    assert root.of_readings(part).fitted_on.sha256 == ""
    assert root.of_readings(None, X) is None
    assert OnScale(Line(), Scale(), "as read").of_readings(part, X) is part
