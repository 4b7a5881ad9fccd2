"""A DataArray in, a Dataset out; lazy where Dask holds it."""

import numpy as np
import pytest

import fieldmend as fm
import fieldmend.accessors
from fieldmend.recovery import xarrays

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")
OPTIONS = {"holdout": False}


@pytest.fixture
def array():
    net = fm.simulate.network(slots=96, nodes=5, seed=6)
    times = pd.date_range("2024-01-01", periods=96, freq="10min")
    return xr.DataArray(
        net.readings,
        {"time": times, "station": list("abcde"), "height": ("station", np.arange(5.0))},
        ("time", "station"),
        name="t2m",
        attrs={"units": "degC"},
    )


def test_the_dataset_is_what_the_recovery_says(array):
    out = fm.recover(array, **OPTIONS)
    grid = xarrays.Labels.of(array).grid(np.array(array.values))
    one = fm.recover(grid, **OPTIONS)["t2m"]
    assert (grid.slot, grid.units) == (600_000_000, {"t2m": "degC"})
    assert list(out.data_vars) == ["estimate", "lower", "upper", "flag", "filled"]
    for part in out.data_vars:
        np.testing.assert_array_equal(out[part].values, getattr(one, part))
    assert out.estimate.attrs == {"units": "degC"}
    assert out.flag.dtype == np.int8
    xr.testing.assert_equal(out.height, array.height)
    read = array.notnull() & (out.flag == 1)
    np.testing.assert_array_equal(out.filled.where(read), array.where(read))


def test_stations_by_time_come_back_as_they_came(array):
    out, turned = fm.recover(array, **OPTIONS), fm.recover(array.T, **OPTIONS)
    assert turned.estimate.dims == ("station", "time")
    xr.testing.assert_equal(turned.transpose("time", "station"), out)
    assert list(fm.recover(array, method="ls", **OPTIONS).data_vars) == [
        "estimate",
        "flag",
        "filled",
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_what_dask_holds_stays_lazy_and_is_the_same(array, turned, monkeypatch):
    dask = pytest.importorskip("dask")
    plain = array.T if turned else array
    held = plain.chunk({"time": 40, "station": 3})
    runs = []
    of = xarrays._recovered
    monkeypatch.setattr(xarrays, "_recovered", lambda *a: runs.append(1) or of(*a))
    out = held.fieldmend.recover(**OPTIONS)
    assert not runs
    assert out.filled.chunks == held.chunks
    with dask.config.set(scheduler="synchronous"):
        got = out.compute()
    assert len(runs) == 1
    xr.testing.assert_equal(got, fm.recover(plain, **OPTIONS))


def test_what_has_no_times_is_refused(array):
    with pytest.raises(fm.InputError, match="no dimension of times"):
        fm.recover(array.drop_vars("time"))
    with pytest.raises(fm.InputError, match="not evenly spaced"):
        fm.recover(array.isel(time=[0, 1, 5]))
    with pytest.raises(fm.InputError, match="3 dimensions"):
        fm.recover(array.expand_dims("level"))


def test_times_have_to_run_forward_and_be_more_than_one(array):
    for wrong in (array.isel(time=slice(None, None, -1)), array.isel(time=[3])):
        with pytest.raises(fm.InputError, match="DataArray 't2m' has times that are not evenly"):
            fm.recover(wrong)
    assert xarrays.Labels.of(array.isel(time=slice(0, None, 2))).slot == 1_200_000_000
    assert xarrays.Labels.of(array.isel(time=[4, 5])).slot == 600_000_000


def test_what_has_no_names_is_numbered(array):
    bare = array.drop_vars(["station", "height"]).rename(None)
    bare.attrs = {}
    labels = xarrays.Labels.of(bare)
    assert (labels.name, labels.unit, labels.nodes) == ("value", "", tuple("01234"))
    assert labels.grid(bare.values).units == {}
    assert not labels.flipped
    assert xarrays.Labels.of(bare.T).flipped
    with pytest.raises(fm.InputError, match="the DataArray has 3 dimensions"):
        fm.recover(bare.expand_dims("level"))
    assert not xarrays.is_labelled(array.to_dataset())
    assert not xarrays.is_labelled(array.values)


@pytest.mark.parametrize("turned", [False, True])
def test_a_chunk_is_its_part_of_the_whole(array, turned):
    given = array.T if turned else array
    labels = xarrays.Labels.of(given)
    made = fm.recover(labels.grid(array.values.copy()), method="mc", **OPTIONS)
    one = made["t2m"]
    time, station = slice(10, 25), slice(1, 4)
    at = (station, time) if turned else (time, station)
    for part, kind in (("estimate", np.float64), ("flag", np.int8), ("filled", np.float64)):
        whole = np.asarray(getattr(one, part))[time, station]
        found = xarrays._chunk(made, labels, part, at)
        assert found.dtype == kind
        np.testing.assert_array_equal(found, whole.T if turned else whole)
    nothing = xarrays._chunk(made, labels, "lower", at)  # this method has no intervals
    assert nothing.shape == ((3, 15) if turned else (15, 3))
    assert np.isnan(nothing).all()
