"""Files that would end the process that reads them, or never let it end, are refused."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.records.sources import rehearsal

CRASHES = """
import os, signal, sys
for line in sys.stdin:
    os.kill(os.getpid(), signal.SIGSEGV)
"""


def test_a_netcdf_file_that_ends_its_reader_is_refused(tmp_path, monkeypatch):
    """No library's crash is ours; and the next file is read as ever."""
    xr = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    times = np.datetime64("2024-01-01", "ns") + np.arange(4) * np.timedelta64(1, "h")
    data = xr.Dataset(
        {"t": (("station", "time"), np.arange(8.0).reshape(2, 4))},
        coords={"time": times, "station": [1, 2]},
    )
    data.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    data.to_netcdf(tmp_path / "classic.nc", engine="scipy")
    with monkeypatch.context() as crashing:
        crashing.setattr(rehearsal, "READER", CRASHES)
        crashing.setattr(rehearsal, "_reader", None)
        with pytest.raises(fm.InputError, match="it ends the library that reads it"):
            fm.read(tmp_path / "x.nc")
        classic = fm.read(tmp_path / "classic.nc")  # by SciPy, which needs no other process
        rehearsal._close()
    whole = fm.read(tmp_path / "x.nc")
    assert classic.grid().values["t"].shape == whole.grid().values["t"].shape == (4, 2)


def test_a_netcdf_file_that_keeps_its_reader_busy_for_ever_is_refused(tmp_path, monkeypatch):
    xr = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    pytest.importorskip("resource")
    busy = rehearsal.READER.replace("data[name].values", "exec('while True: pass')")
    busy = busy.replace(f"+ {rehearsal.SECONDS}", "+ 0.0")
    xr.Dataset({"t": ("x", np.arange(8.0))}).to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    with monkeypatch.context() as looping:
        looping.setattr(rehearsal, "READER", busy)
        looping.setattr(rehearsal, "_reader", None)
        with pytest.raises(fm.InputError, match="never lets it end"):
            fm.read(tmp_path / "x.nc")
        rehearsal._close()
