"""Other conditions of the same nodes, asked where they were heard and one was not."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import quantities
from fieldmend.field.joint import Companions, worth_asking
from fieldmend.recovery import conditions
from fieldmend.recovery.storage import Storage
from fieldmend.result.options import Options


def humid(seed, slots=900, nodes=10):
    """Temperatures with weather of their own at each node, and the humidity they bring about."""
    rng = np.random.default_rng(seed)
    day = np.sin(2 * np.pi * np.arange(slots) / 144)[:, None]
    own = np.zeros((slots, nodes))
    for t in range(1, slots):
        own[t] = 0.98 * own[t - 1] + 0.3 * rng.normal(size=nodes)
    warm = 15 + 5 * day * rng.uniform(0.7, 1.3, nodes) + own
    wet = 60 - 2.0 * (warm - 15) + 0.05 * (warm - 15) ** 2 + 0.5 * rng.normal(size=warm.shape)
    return warm, wet


def lose(shape, length=120, seed=7):
    """Every node loses one stretch, at another time."""
    rng = np.random.default_rng(seed)
    seen = np.ones(shape, dtype=bool)
    for node in range(shape[1]):
        start = int(rng.integers(20, shape[0] - length - 20))
        seen[start : start + length, node] = False
    return seen


@pytest.fixture(scope="module")
def case():
    warm, wet = humid(1)
    return warm, wet, lose(wet.shape)


def test_a_thermometer_tells_of_the_humidity_beside_it(case):
    warm, wet, seen = case
    lost = np.where(seen, wet, np.nan)
    alone = fm.decompose(lost, method="auto")
    asked = fm.decompose(lost, method="auto", companions=[warm])

    def error(out):
        return np.abs(out.estimate - wet)[~seen].mean()

    assert error(asked) < 0.6 * error(alone)
    inside = (asked.lower <= wet) & (wet <= asked.upper)
    assert 0.8 < inside[~seen].mean() < 0.99
    assert "other conditions" in asked.choice
    assert "other conditions" not in alone.choice


def test_the_thermometer_is_asked_also_by_the_model_that_never_saw_the_hidden_readings(
    case, monkeypatch
):
    monkeypatch.setattr(conditions, "ONCE", 1000)
    warm, wet, seen = case
    values = {"wet": np.where(seen, wet, np.nan), "warm": warm}
    grid = replace(fm.Grid.of(wet, condition="wet"), values=values)
    work = conditions.Work(grid, quantities.identify_all(values, {}), Options())
    assert work.runs("wet") == ("both",)
    found, scores = work.both("wet", Storage())
    alone = fm.decompose(values["wet"], method="auto")
    errors = [np.abs(out.estimate - wet)[~seen].mean() for out in (found, alone)]
    assert errors[0] < 0.6 * errors[1]
    assert "other conditions" in found.choice
    assert scores.whole().method.mae < 0.6 * scores.whole().line.mae


def test_company_that_is_lost_along_changes_nothing(case):
    warm, wet, seen = case
    lost = np.where(seen, wet, np.nan)
    alone = fm.decompose(lost, method="auto")
    packet = fm.decompose(lost, method="auto", companions=[np.where(seen, warm, np.nan)])
    np.testing.assert_array_equal(packet.estimate, alone.estimate)
    np.testing.assert_array_equal(packet.upper, alone.upper)


def test_company_that_knows_nothing_is_not_believed(case):
    _, wet, seen = case
    noise = np.random.default_rng(3).normal(size=wet.shape)
    lost = np.where(seen, wet, np.nan)
    alone = fm.decompose(lost, method="auto")
    asked = fm.decompose(lost, method="auto", companions=[noise])
    np.testing.assert_array_equal(asked.estimate, alone.estimate)


def test_only_where_company_was_heard(case):
    warm, wet, seen = case
    half = warm.copy()
    half[:, 5:] = np.where(seen, warm, np.nan)[:, 5:]  # five thermometers fail with the rest
    lost = np.where(seen, wet, np.nan)
    alone = fm.decompose(lost, method="auto")
    asked = fm.decompose(lost, method="auto", companions=[half])
    silent = ~seen & np.isnan(half)
    np.testing.assert_array_equal(asked.estimate[silent], alone.estimate[silent])
    np.testing.assert_array_equal(asked.lower[silent], alone.lower[silent])
    told = ~seen & ~np.isnan(half)
    assert (
        np.abs(asked.estimate - wet)[told].mean() < 0.7 * np.abs(alone.estimate - wet)[told].mean()
    )


def test_the_most_like_are_asked_three_at_the_most():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 4)).cumsum(axis=0)
    observed = rng.random(X.shape) < 0.8
    others = [X + s * rng.normal(size=X.shape) for s in (50.0, 0.1, 5.0, 1.0)]
    found = worth_asking(X, observed, others)
    assert [id(one) for one in found.readings] == [id(others[k]) for k in (1, 2, 3)]


@pytest.mark.parametrize("others", [[], [np.full((50, 3), np.nan)]])
def test_nobody_to_ask(others):
    X = np.arange(150.0).reshape(50, 3)
    assert worth_asking(X, X % 4 > 0, others) is None
    assert worth_asking(X, X > -1, [X]) is None


def test_holes_of_the_company_are_bridged():
    one = np.array([[0.0, np.nan], [np.nan, np.nan], [2.0, np.nan]])
    company = Companions((one,)).of(slice(None), np.array([0, 1]))
    np.testing.assert_array_equal(company.values[0, 0], [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(company.heard, [[True, False, True], [False, False, False]])
    assert np.isfinite(company.values).all()


def test_a_saved_model_asks_nobody(case, tmp_path):
    warm, wet, seen = case
    out = fm.decompose(np.where(seen, wet, np.nan), method="auto", companions=[warm])
    out.model.save(tmp_path / "m.npz")
    loaded = fm.FieldModel.load(tmp_path / "m.npz")
    assert out.model["value"].together is not None
    assert loaded["value"].together is None
