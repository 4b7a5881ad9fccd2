"""`FieldModel`: fitted once, applied anywhere."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import windows as plan
from fieldmend.metrics import interpolate

PARTS = "estimate", "lower", "upper", "sparse", "low_rank"


def network(slots=400, nodes=16, seed=1, **options):
    options = {"field": "temperature", "noise": 0.1} | options
    return fm.simulate.network(slots=slots, nodes=nodes, seed=seed, **options)


@pytest.fixture(scope="module")
def net():
    return network()


@pytest.fixture(scope="module")
def model(net):
    return fm.FieldModel.fit(net.readings[:300])


def grid_of(values, start="2024-01-01", nodes=None, slot=3600.0, units=None):
    first = next(iter(values.values()))
    grid = fm.Grid.of(first, nodes=nodes, start=start, slot_seconds=slot)
    return replace(grid, values=values, units=units or {})


def assert_same(a, b):
    for name in PARTS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_decompose_brings_the_model_that_fit_gives(net):
    out = fm.decompose(net.readings, method="auto", seed=3)
    model = fm.FieldModel.fit(net.readings, seed=3)
    assert_same(out.model.apply(net.readings), model.apply(net.readings))
    assert out.model["value"].choice == out.choice
    assert fm.decompose(net.readings).model is None


@pytest.mark.parametrize("few", [0, 10**6])
def test_decompose_is_fit_and_apply_over_windows(monkeypatch, few):
    """Several windows: to the last bit, unless a pass over the record left something to go on."""
    monkeypatch.setattr(plan, "_FIT_ENTRIES", 1000)
    monkeypatch.setattr(plan, "_ENTRIES", 1000)
    monkeypatch.setattr(plan, "_FEW_SLOTS", few)
    X = network(1500, 8, seed=2).readings
    assert len(plan.windows(*X.shape)) > 2
    out = fm.decompose(X, method="auto")
    again = out.model.apply(X)
    if not few:
        assert_same(out, again)
        return
    noise = np.median(out.upper - out.lower)
    assert np.abs(again.estimate - out.estimate).mean() < 0.05 * noise


def test_applied_to_its_own_record_it_gives_what_fitting_gave(net):
    out = fm.decompose(net.readings, method="auto")
    again = out.model.apply(net.readings)
    width = np.median(out.upper - out.lower)
    assert np.abs(again.estimate - out.estimate).mean() < 0.03 * width
    np.testing.assert_allclose(np.median(again.upper - again.lower), width, rtol=0.05)
    assert np.mean((again.sparse != 0) != (out.sparse != 0)) < 0.005


def test_new_slots_are_recovered_as_well_as_by_a_fit_on_everything(net, model):
    new = slice(300, 400)
    lost, truth = net.lost[new], net.truth[new]

    def error(estimate):
        return np.abs(estimate - truth)[lost].mean()

    out = model.apply(net.readings[new])
    refit = fm.decompose(net.readings, method="auto").estimate[new]
    assert error(out.estimate) < 1.1 * error(refit)
    assert error(out.estimate) < 0.8 * error(interpolate(net.readings[new]))
    noisy = truth + 0.1 * np.random.default_rng(0).normal(size=truth.shape)
    inside = (out.lower <= noisy) & (noisy <= out.upper)
    assert 0.8 < inside[lost].mean() < 0.98


@pytest.mark.parametrize("sampling", [0.35, 0.6])
def test_new_slots_of_a_rough_field_are_recovered_as_well(sampling):
    """Slots that say nothing of each other, 4 % of the readings false."""
    net = network(500, 24, field="low_rank", rank=3, noise=0.5, sampling=sampling, seed=10)
    model = fm.FieldModel.fit(net.readings[:300])
    assert model["value"].start == "slots"
    out = model.apply(net.readings[300:])
    refit = fm.decompose(net.readings, method="auto").estimate[300:]
    lost, truth = net.lost[300:], net.truth[300:]
    want = np.abs(refit - truth)[lost].mean()
    assert np.abs(out.estimate - truth)[lost].mean() < 1.15 * want
    assert ((out.sparse != 0) != net.support[300:]).mean() < 0.002


def test_gaps_that_the_record_did_not_have_are_calibrated_too():
    """All losses are single; the new days have silences of 40 slots."""
    net = network(900, 12, seed=8, sampling=0.9)
    model = fm.FieldModel.fit(net.readings[:600])
    only_here = fm.decompose(net.readings[:600], method="auto").model
    far, near = (m["value"].later.calibration.centres.max() for m in (model, only_here))
    assert far > np.log(8.0) > np.log(2.0) > near
    X = net.readings[600:].copy()
    for n in range(12):
        X[20 * n : 20 * n + 40, n] = np.nan
    out = model.apply(X)
    silent = np.isnan(X)
    truth = net.truth[600:] + 0.1 * np.random.default_rng(0).normal(size=X.shape)
    inside = (out.lower <= truth) & (truth <= out.upper)
    assert 0.8 < inside[silent].mean() < 0.99


def test_what_comes_after_a_silence_that_the_record_did_not_have_is_not_false():
    """Fitted where nearly every reading arrived, applied where one in five does."""
    pressure = fm.simulate.CLIMATES["pressure"]
    field = fm.simulate.climate_field(480, 12, climate=pressure, slots_per_day=48, seed=301)
    net = fm.simulate.network(
        field=field, noise=0.03 * float(field.std()), sampling=0.95, anomaly_rate=0.01, seed=301
    )
    model = fm.FieldModel.fit(net.readings[:288])
    shown = np.random.default_rng(0).random((192, 12)) < 0.2
    out = model.apply(np.where(shown, net.readings[288:], np.nan))
    false, truly = out.sparse != 0, (net.support & net.observed)[288:] & shown
    assert truly.sum() >= 3
    assert (false & truly).sum() >= 0.8 * truly.sum()
    assert (false & ~truly).sum() <= 2


def test_apply_is_pure(net, model):
    X = net.readings[300:]
    before = X.copy()
    first = model.apply(X)
    model.apply(net.readings[:50])
    assert_same(first, model.apply(X))
    np.testing.assert_array_equal(X, before)


def test_nodes_stand_where_they_stood(net):
    """The model has an order of its own; what comes out has the order of the readings."""
    shuffled = np.random.default_rng(0).permutation(net.readings.shape[1])
    plain = fm.FieldModel.fit(net.readings[:300]).apply(net.readings[300:])
    other = fm.FieldModel.fit(net.readings[:300, shuffled]).apply(net.readings[300:][:, shuffled])
    for name in PARTS:
        np.testing.assert_allclose(getattr(other, name), getattr(plain, name)[:, shuffled])


def test_precision_of_the_readings_is_kept(model, net):
    out = model.apply(net.readings[300:].astype(np.float32))
    assert {getattr(out, name).dtype for name in PARTS} == {np.dtype(np.float32)}
    np.testing.assert_allclose(out.estimate, model.apply(net.readings[300:]).estimate, rtol=1e-3)


def test_slots_without_any_reading_get_wide_intervals(model, net):
    X = net.readings[300:].copy()
    X[:] = np.nan
    silent = model.apply(X)
    heard = model.apply(net.readings[300:])
    assert np.isfinite(silent.estimate).all()
    assert (silent.sparse == 0).all()
    assert (silent.upper - silent.lower).min() > np.median(heard.upper - heard.lower)


def test_masks_and_masked_arrays_are_honoured(model, net):
    X = net.readings[300:]
    hide = np.random.default_rng(1).random(X.shape) < 0.3
    want = model.apply(np.where(hide, np.nan, X))
    assert_same(model.apply(X, ~hide), want)
    assert_same(model.apply(np.ma.MaskedArray(X, hide)), want)


def test_what_it_was_fitted_on_is_kept(net):
    X = net.readings
    values = {"t": X, "h": X[:, ::-1] + 40.0, "none": np.full(X.shape, np.nan)}
    grid = grid_of(values, units={"t": "degC"})
    model = fm.FieldModel.fit(grid)
    assert list(model) == ["t", "h"]
    assert len(model) == 2
    assert model.nodes == grid.nodes
    assert model.slot == 3_600_000_000
    assert model.version == fm.__version__
    assert (model["t"].unit, model["h"].unit) == ("degC", "")
    on = model["t"].fitted_on
    assert (on.first, on.last) == (grid.times[0], grid.times[-1])
    assert (on.rows, on.readings) == (len(X), np.isfinite(X).sum())
    want = hashlib.sha256(f"{X.shape[0]} {X.shape[1]}\n".encode() + X.astype("<f8").tobytes())
    assert on.sha256 == want.hexdigest()


def test_a_grid_is_applied_by_condition(net):
    X = net.readings
    values = {"t": X, "h": X[:, ::-1] + 40.0}
    model = fm.FieldModel.fit(grid_of({k: v[:300] for k, v in values.items()}))
    later = {k: v[300:] for k, v in values.items()}
    out = model.apply(grid_of(later, start="2024-01-13T12:00"))
    assert set(out) == {"t", "h"}
    plain = fm.FieldModel.fit(X[:300], period=[24, 168])
    assert_same(out["t"], plain.apply(X[300:], first=300))
    with pytest.raises(ValueError, match="several conditions \\(t, h\\)"):
        model.apply(X[300:])
    with pytest.raises(fm.InputError, match="knows nothing of 'light'"):
        model["light"]


def test_a_daily_course_keeps_its_phase():
    """Nothing is heard in the new slots: the course alone is left, at the right hour."""
    rng = np.random.default_rng(3)
    t = np.arange(24 * 20)
    truth = 10 * np.sin(2 * np.pi * t / 24)[:, None] + rng.normal(size=8)
    X = truth + 0.1 * rng.normal(size=truth.shape)
    for day in range(0, 18, 2):
        X[24 * day + 3 : 24 * day + 15] = np.nan
    model = fm.FieldModel.fit(X[: 24 * 18], period=24)
    assert model["value"].view.course is not None
    new = np.full((24, 8), np.nan)
    for first in (24 * 18, 24 * 18 + 7):
        want = 10 * np.sin(2 * np.pi * (first + np.arange(24)) / 24)[:, None]
        got = model.apply(new, first=first).estimate
        assert np.abs(got - truth.mean(axis=0) - want).mean() < 3.0
    grid = grid_of({"value": X[: 24 * 18]}, start="2024-01-01T05:00")
    labelled = fm.FieldModel.fit(grid, period=24)
    later = labelled.apply(grid_of({"value": new}, start="2024-01-03T12:00"))["value"]
    want = model.apply(new, first=2 * 24 + 7).estimate
    np.testing.assert_allclose(later.estimate, want)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.zeros((3, 4)), "4 nodes, the model 16"),
        (np.zeros(3), "slots × nodes"),
        (np.full((2, 16), np.inf), "infinite"),
        (np.array([["a"] * 16]), "real numbers"),
    ],
)
def test_readings_that_do_not_fit_the_model_are_refused(model, X, said):
    with pytest.raises(ValueError, match=said):
        model.apply(X)


def test_what_cannot_be_fitted_is_refused(net):
    grid = grid_of({"t": np.full((5, 2), np.nan)})
    with pytest.raises(fm.InputError, match="no condition of the grid has readings"):
        fm.FieldModel.fit(grid)
    with pytest.raises(ValueError, match="observed is for arrays"):
        fm.FieldModel.fit(grid, np.ones((5, 2), bool))
    with pytest.raises(ValueError, match="level must lie"):
        fm.FieldModel.fit(net.readings, level=1.5)
    with pytest.raises(ValueError, match="2 nodes, 3 are named"):
        fm.FieldModel.of(fm.FieldModel.fit(net.readings[:, :2])["value"], nodes="abc")
