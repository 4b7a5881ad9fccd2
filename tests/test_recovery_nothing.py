"""Conditions of which nothing is estimated: labels passed through, and no reading at all."""

import numpy as np
import pytest

from fieldmend.flags import Flag
from fieldmend.grid import Grid
from fieldmend.quantities import Kind, Quantity
from fieldmend.recovery.condition import recover_condition
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.window import LINEAR
from fieldmend.result.options import Options

nan = np.nan


@pytest.fixture
def X():
    return np.array([[1.0, nan, 9.0], [2.0, nan, nan], [nan, nan, -9.0]])


def nothing(X, quantity, **options):
    grid = Grid.of(X, condition="t", unit="°C")
    found, solver = recover_condition(grid, "t", quantity, Options(**options), Storage())
    assert solver is None
    assert np.isnan(found.estimate).all()
    assert found.estimate.shape == X.shape
    assert (found.anomaly == 0).all()
    assert found.anomaly.shape == X.shape
    assert (found.scale == 0).all()
    assert found.scale.shape == (X.shape[1],)
    assert found.lower is found.upper is found.holdout is None
    assert (found.unit, found.rank, found.episodes) == ("°C", 0, ())
    assert np.isnan(found.gap)
    np.testing.assert_array_equal(found.observed, X)
    np.testing.assert_array_equal(found.filled[~np.isnan(X)], X[~np.isnan(X)])
    return found


def test_what_is_no_measurement_is_passed_through(X):
    found = nothing(X, Quantity(Kind.PASSED, unit="°C"))
    assert found.method == "passed"
    np.testing.assert_array_equal(found.flag == Flag.MISSING, np.isnan(X))
    assert (found.flag[~np.isnan(X)] == Flag.NOT_EVALUATED).all()


def test_no_reading_at_all_or_none_within_the_limits_is_said(X, caplog):
    found = nothing(np.full((4, 2), nan), LINEAR)
    assert found.method == "none"
    assert found.notes == found.warnings == ("no reading at all: nothing to recover",)
    assert (found.flag == Flag.MISSING).all()
    assert "t: no reading at all" in caplog.text
    beyond = recover_condition(
        Grid.of(X, condition="t"), "t", LINEAR, Options(limits={"t": (100, 200)}), Storage()
    )[0]
    assert beyond.notes == ("no reading within the limits: nothing to recover",)
    wanted = np.where(np.isnan(X), Flag.MISSING, Flag.FAIL)
    np.testing.assert_array_equal(beyond.flag, wanted)
    assert (beyond.anomaly == 0).all()
