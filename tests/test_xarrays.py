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
