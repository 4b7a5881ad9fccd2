"""Metrics against values worked out by hand, and the edges where a ratio has no meaning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fieldmend.metrics import detection, hidden_errors, interpolate, nse

nan = np.nan


def shapes(*, min_slots=1):
    return st.tuples(st.integers(min_slots, 12), st.integers(1, 6))


# NSE


def test_nse_by_hand():
    truth = np.array([[1.0, 2.0], [2.0, 4.0]])  # Σ = 25
    estimate = np.array([[1.0, 3.0], [0.0, 4.0]])  # Σ errors² = 5
    assert nse(estimate, truth) == 0.2
    assert nse(estimate, truth, np.array([[True, True], [False, True]])) == 1 / 21
    assert nse(np.zeros((2, 2)), truth) == 1
    assert nse(truth, truth) == 0


def test_nse_does_not_look_outside_where():
    where = np.array([[True, False]])
    assert nse(np.array([[1.0, nan]]), np.array([[2.0, nan]]), where) == 0.25


@pytest.mark.parametrize("scale", [1e-200, 1e150])
def test_nse_has_no_units(scale):
    truth, estimate = np.array([[3.0, 4.0]]), np.array([[3.0, 3.0]])
    np.testing.assert_allclose(nse(scale * estimate, scale * truth), 1 / 25, rtol=1e-14)


@pytest.mark.parametrize(
    ("estimate", "truth", "where", "message"),
    [
        ([[1.0]], [[0.0]], None, "zero at every"),
        ([[nan]], [[1.0]], None, "estimate is NaN"),
        ([[1.0]], [[nan]], None, "truth is NaN"),
        ([[np.inf]], [[1.0]], None, "infinite"),
        ([[1.0, 2.0]], [[1.0]], None, "shapes differ"),
        ([[1.0]], [[1.0]], [[False]], "no entry"),
        ([[1.0]], [[1.0]], [[1.0]], "boolean"),
        ([[1.0]], [[1.0]], [True, True], "shape"),
    ],
)
def test_nse_refuses_what_has_no_answer(estimate, truth, where, message):
    mask = None if where is None else np.array(where)
    with pytest.raises(ValueError, match=message):
        nse(np.array(estimate), np.array(truth), mask)


# The straight line


def test_interpolate_by_hand():
    readings = np.array([[nan, 5.0], [2.0, nan], [nan, nan], [nan, nan], [8.0, 1.0], [nan, nan]])
    expected = np.array([[2.0, 5.0], [2.0, 4.0], [4.0, 3.0], [6.0, 2.0], [8.0, 1.0], [8.0, 1.0]])
    before = readings.copy()
    np.testing.assert_allclose(interpolate(readings), expected, rtol=1e-14)
    np.testing.assert_array_equal(readings, before)


def test_a_silent_node_gets_the_median_of_the_others():
    readings = np.array([[1.0, nan, 3.0, 11.0], [1.0, nan, nan, 13.0], [1.0, nan, 7.0, 2.0]])
    np.testing.assert_array_equal(interpolate(readings)[:, 1], [3.0, 5.0, 2.0])


@given(shapes().flatmap(lambda s: arrays(float, s, elements=st.floats(-9, 9) | st.just(nan))))
def test_interpolate_fills_everything_and_keeps_readings(readings):
    seen = ~np.isnan(readings)
    if not seen.any():
        with pytest.raises(ValueError, match="at least one reading"):
            interpolate(readings)
        return
    filled = interpolate(readings)
    np.testing.assert_array_equal(filled[seen], readings[seen])
    assert np.isfinite(filled).all()
    assert filled.max() <= readings[seen].max()
    assert filled.min() >= readings[seen].min()


@pytest.mark.parametrize("bad", [np.full((3, 2), nan), np.array([[np.inf]]), np.zeros(3)])
def test_interpolate_refuses_what_it_cannot_fill(bad):
    with pytest.raises(ValueError, match="slots × nodes"):
        interpolate(bad)


# Errors on hidden readings


def test_hidden_errors_by_hand():
    truth = np.array([[0.0], [3.0], [0.0], [5.0], [9.0], [0.0]])
    observed = np.array([[True], [False], [True], [False], [False], [True]])
    estimate = np.array([[9.0], [2.0], [9.0], [5.0], [5.0], [9.0]])  # errors −1, 0, −4
    out = hidden_errors(estimate, truth, observed)  # the line says 0: errors 3, 5, 9
    assert out.count == 3
    assert out.mae == pytest.approx(5 / 3)
    assert out.rmse == pytest.approx(np.sqrt(17 / 3))
    assert out.skill == pytest.approx(1 - 17 / 115)
    single, double = out.by_gap
    assert (single.shortest, single.longest, single.count) == (1, 1, 1)
    assert (single.mae, single.rmse) == (1, 1)
    assert single.skill == pytest.approx(1 - 1 / 9)
    assert (double.shortest, double.longest, double.count) == (2, 3, 2)
    assert (double.mae, double.rmse) == (2, pytest.approx(np.sqrt(8)))
    assert double.skill == pytest.approx(1 - 16 / 106)


def test_hidden_errors_of_the_line_itself_have_no_skill():
    rng = np.random.default_rng(0)
    truth, observed = rng.normal(size=(200, 5)), rng.random((200, 5)) < 0.3
    out = hidden_errors(interpolate(np.where(observed, truth, nan)), truth, observed)
    assert out.skill == 0
    assert {row.skill for row in out.by_gap} == {0.0}
    assert hidden_errors(truth, truth, observed).skill == 1


def test_rows_by_gap_hold_every_hidden_reading_once():
    rng = np.random.default_rng(1)
    truth, observed = rng.normal(size=(300, 4)), rng.random((300, 4)) < 0.1
    estimate = np.zeros_like(truth)
    out = hidden_errors(estimate, truth, observed)
    assert sum(row.count for row in out.by_gap) == out.count == (~observed).sum()
    total = sum(row.count * row.rmse**2 for row in out.by_gap)
    assert total == pytest.approx(out.count * out.rmse**2)
    assert [row.shortest for row in out.by_gap] == [1, 2, 4, 8, 16, 32]
    assert [row.longest for row in out.by_gap] == [1, 3, 7, 15, 31, None]


def test_the_line_goes_through_the_readings_given():
    truth = np.array([[0.0], [1.0], [2.0]])
    observed = np.array([[True], [False], [True]])
    readings = np.array([[0.0], [77.0], [6.0]])  # the last is false; the middle was not seen
    out = hidden_errors(np.full((3, 1), 2.0), truth, observed, readings=readings)
    assert out.skill == 1 - 1 / 4  # the line says 3


def test_unknown_truth_is_not_scored():
    truth = np.array([[0.0], [nan], [3.0], [0.0]])
    observed = np.array([[True], [False], [False], [True]])
    out = hidden_errors(np.array([[0.0], [nan], [1.0], [0.0]]), truth, observed)
    assert (out.count, out.mae) == (1, 2)
    assert out.by_gap[0].shortest == 2  # its gap is two slots long all the same


def test_where_the_line_is_exact_skill_is_zero_or_minus_infinity():
    truth, observed = np.zeros((3, 1)), np.array([[True], [False], [True]])
    assert hidden_errors(truth, truth, observed).skill == 0
    assert hidden_errors(truth + 1, truth, observed).skill == -np.inf


def test_hidden_errors_refuses_what_has_no_answer():
    truth, observed = np.ones((3, 1)), np.array([[True], [False], [True]])
    with pytest.raises(ValueError, match="nothing to score"):
        hidden_errors(truth, truth, np.ones((3, 1), dtype=bool))
    with pytest.raises(ValueError, match="at least one reading"):
        hidden_errors(truth, truth, np.zeros((3, 1), dtype=bool))
    with pytest.raises(ValueError, match="estimate is NaN"):
        hidden_errors(np.full((3, 1), nan), truth, observed)
    for starts in ((2, 3), (), (1, 1), (1, 3, 2)):
        with pytest.raises(ValueError, match="rise from 1"):
            hidden_errors(truth, truth, observed, gap_starts=starts)
    with pytest.raises(ValueError, match="shapes differ"):
        hidden_errors(truth, np.ones((2, 1)), observed)
    with pytest.raises(ValueError, match="shapes differ"):
        hidden_errors(truth, truth, observed, readings=np.ones((1, 1)))


# Detection


def test_detection_by_hand():
    flagged = np.array([[True, True, True], [False, False, False]])
    truth = np.array([[True, False, False], [True, True, False]])
    out = detection(flagged, truth)
    assert (out.hits, out.false_alarms, out.misses) == (1, 2, 2)
    assert (out.precision, out.recall, out.f1) == (1 / 3, 1 / 3, 1 / 3)
    where = np.array([[True, True, False], [True, False, True]])
    out = detection(flagged, truth, where)
    assert (out.precision, out.recall, out.f1) == (1 / 2, 1 / 2, 1 / 2)


@pytest.mark.parametrize(
    ("flagged", "truth", "expected"),
    [
        ([False], [False], (1, 1, 1)),
        ([True], [False], (0, 1, 0)),
        ([False], [True], (1, 0, 0)),
    ],
)
def test_detection_of_nothing(flagged, truth, expected):
    out = detection(np.array(flagged), np.array(truth))
    assert (out.precision, out.recall, out.f1) == expected


@given(arrays(bool, (2, 20)))
def test_f1_is_the_harmonic_mean_and_symmetric(pair):
    out, swapped = detection(*pair), detection(*pair[::-1])
    assert (out.precision, out.recall) == (swapped.recall, swapped.precision)
    if out.hits:
        harmonic = 2 / (1 / out.precision + 1 / out.recall)
        assert out.f1 == pytest.approx(harmonic) == swapped.f1


def test_detection_refuses_what_is_not_flags():
    flags = np.array([True])
    with pytest.raises(ValueError, match="boolean"):
        detection(np.array([1.0]), flags)
    with pytest.raises(ValueError, match="one shape"):
        detection(flags, np.array([True, False]))
    with pytest.raises(ValueError, match="no entry"):
        detection(flags, flags, np.array([False]))
