"""In and out of frames: what a person with a notebook hands in, and gets back."""

import struct
import sys
import zlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fieldmend as fm
import fieldmend.accessors
from fieldmend.recovery import notebook
from fieldmend.recovery.job import recover
from fieldmend.recovery.options import More, Recovering
from fieldmend.result import frames
from fieldmend.result.plain import Table


@pytest.fixture(scope="module")
def readings():
    made = fm.simulate.network(slots=96, nodes=6, sampling=0.8, seed=3).readings.copy()
    made[40, 2] += 60
    return made


@pytest.fixture(scope="module")
def rec(readings):
    grid = fm.Grid.of(readings, condition="temperature", unit="°C", nodes=list("abcdef"))
    return fm.recover(grid, limits={"temperature": (-50, 200)}, holdout=False)


@pytest.fixture
def no_frames(monkeypatch):
    """A plain install: no library of frames."""
    monkeypatch.setattr(frames, "find_spec", lambda name: None)


def test_a_plain_install_gives_plain_columns(rec, no_frames):
    frame = rec.filled["temperature"]
    assert isinstance(frame, Table)
    assert frame.shape == (96, 6)
    np.testing.assert_array_equal(frame.to_numpy(), rec["temperature"].filled)
    np.testing.assert_array_equal(np.asarray(frame), rec["temperature"].filled)
    assert frame.index[1] - frame.index[0] == np.timedelta64(300, "s")
    assert list(rec.anomalies.columns)[:2] == ["node", "time"]
    assert "c" in rec.anomalies["node"].tolist()
    assert "96 rows × 6 columns" in frame._repr_html_()
    assert repr(frame).startswith("<Table: 96 rows × 6 columns: a, b")
    assert "a" in frame
    assert "x" not in frame


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_to_frame_is_the_table_that_is_written(rec, tmp_path, backend, kind):
    rec.to_parquet(tmp_path / "x.parquet")
    written = pd.read_parquet(tmp_path / "x.parquet")
    frame = rec.to_frame(backend)
    assert isinstance(frame, kind)
    plain = rec.to_frame("numpy")
    assert [c for c in written if c in plain] == list(plain.columns)
    for name in plain.columns:
        if name == "time":
            assert (written[name].dt.tz_localize(None) == plain[name]).all()
        else:
            np.testing.assert_array_equal(written[name].to_numpy(), plain[name])
    assert len(frame) == len(written) == 96 * 6


def test_a_frame_of_no_library_is_refused(rec):
    with pytest.raises(fm.InputError, match="pandas, polars, pyarrow, numpy"):
        rec.to_frame("panda")


def test_to_xarray_has_labels_units_and_flags(rec):
    made = rec.to_xarray()
    assert made["temperature"].dims == ("time", "node")
    assert made["temperature"].attrs["units"] == "°C"
    assert "SUSPECT" in made["temperature_flag"].attrs["flag_meanings"]
    np.testing.assert_array_equal(made["temperature_filled"].sel(node="c"),
                                  rec["temperature"].filled[:, 2])  # fmt: skip


def test_without_xarray_the_extra_is_named(rec, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"fieldmend\[netcdf\]"):
        rec.to_xarray()


def test_a_notebook_shows_a_picture_of_a_few_kilobytes(rec):
    html = rec._repr_html_()
    assert "data:image/png;base64," in html
    assert "temperature (°C)" in html
    assert len(html) < 8_000


def test_the_picture_is_a_png_of_the_worst_in_each_cell():
    flag = np.ones((2000, 300), dtype=np.int8)
    flag[100, 7], flag[:, 299], flag[1999, 0] = 3, 9, 4
    cells = notebook.squeezed(flag)
    assert cells.shape == (notebook.TALLEST, notebook.WIDEST)
    assert (cells == 2).sum() == 1
    assert (cells == 3).sum() == 1
    made = notebook.png(cells)
    assert struct.unpack(">II", made[16:24]) == cells.shape[::-1]
    data = made[made.index(b"IDAT") + 4 : -16]
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(len(cells), -1)
    np.testing.assert_array_equal(rows[:, 1:], cells)


def test_names_from_outside_are_escaped_in_the_notebook(readings):
    grid = fm.Grid.of(readings, condition="<b>t</b>")
    assert "<b>" not in fm.recover(grid, holdout=False)._repr_html_()


def test_a_plain_array_is_recovered(readings):
    rec = fm.recover(readings, slot="10min", holdout=False)
    assert rec.grid.shape == (96, 6)
    assert rec.grid.slot == 600_000_000
    with pytest.raises(fm.InputError, match="slots × nodes"):
        fm.recover(readings[0])
    with pytest.raises(fm.InputError, match="numbers, slots × nodes"):
        fm.recover(np.array([["a", "b"]]))
    with pytest.raises(fm.InputError, match="tz: not for an array"):
        fm.recover(readings, tz="UTC")


def test_pandas_recovers_by_its_accessor(readings):
    times = pd.date_range("2024-01-01", periods=len(readings), freq="10min", name="time")
    frame = pd.DataFrame(readings, index=times, columns=list("abcdef"))
    rec = frame.fieldmend.recover(holdout=False, limits={"value": (-50, 200)})
    assert isinstance(rec.filled["value"], pd.DataFrame)
    assert rec.grid.nodes == tuple("abcdef")
    assert frame.fieldmend.read().origin.used == len(readings)
    with pytest.raises(TypeError, match="Did you mean 'limits'"):
        frame.fieldmend.recover(limit={})


def test_the_hints_of_those_who_hand_options_on_are_complete():
    assert set(Recovering.__annotations__) | set(More.__annotations__) == set(
        recover.__kwdefaults__
    ) | set(More.__annotations__)
    assert fieldmend.accessors.ACCESSORS["pandas"]
