"""Every shape, layout and source that the reader takes."""

import doctest
import gzip
import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fieldmend as fm
from fieldmend.records.sources import frames
from fieldmend.records.sources.text import zstd_module
from postgresql import server

WIDE = pd.DataFrame(
    {
        "node": ["a", "a", "b", "b"],
        "time": pd.to_datetime(
            ["2024-01-01 00:00", "2024-01-01 00:10", "2024-01-01 00:00", "2024-01-01 00:10"]
        ),
        "temperature": [20.5, 20.6, 21.5, np.nan],
        "humidity": [40.0, 41.0, np.nan, 43.0],
    }
)
T = np.array([[20.5, 21.5], [20.6, np.nan]])
H = np.array([[40.0, np.nan], [41.0, 43.0]])
START = 1_704_067_200_000_000


def same(records):
    """The records are those of WIDE."""
    grid = records.grid()
    assert grid.nodes == ("a", "b")
    assert grid.slot == 600_000_000
    np.testing.assert_array_equal(grid.times, [START, START + 600_000_000])
    np.testing.assert_array_equal(grid.values["temperature"], T)
    np.testing.assert_array_equal(grid.values["humidity"], H)
    o = grid.origin
    assert o.read == o.used + o.duplicates + o.set_aside
    return grid


def file(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


# Shapes


def test_records_with_one_column_per_condition(tmp_path):
    path = tmp_path / "x.csv"
    WIDE.to_csv(path, index=False)
    grid = same(fm.read(path))
    assert grid.origin.read == 4
    assert grid.origin.files[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "no zone: read as UTC" in " ".join(grid.origin.notes)
    assert "slot 10 min, found" in grid.origin.notes[-1]


def test_long_records(tmp_path):
    long = WIDE.melt(["node", "time"], var_name="variable").dropna()
    long["unit"] = long["variable"].map({"temperature": "°C", "humidity": "%"})
    path = tmp_path / "x.csv"
    long.to_csv(path, index=False)
    grid = same(fm.read(path))
    assert grid.units == {"temperature": "°C", "humidity": "%"}
    assert list(fm.read(path, conditions=["humidity"]).grid().values) == ["humidity"]
    with pytest.raises(fm.InputError, match="no condition 'x'; found: humidity, temperature"):
        fm.read(path, conditions=["x"])


def test_a_ready_matrix(tmp_path):
    text = "time,n2,n1,10\n2024-01-01 00:00,1,2,\n2024-01-01 00:10,,4,5\n"
    records = fm.read(file(tmp_path, text))
    grid = records.grid()
    assert (grid.nodes, list(grid.values), records.origin.read) == (
        ("n2", "n1", "10"),
        ["value"],
        2,
    )
    np.testing.assert_array_equal(grid.values["value"], [[1, 2, np.nan], [np.nan, 4, 5]])


def test_a_station_alone_is_no_matrix(tmp_path):
    text = "time,temperature,humidity\n2024-01-01 00:00,1,2\n2024-01-01 00:10,3,4\n"
    grid = fm.read(file(tmp_path, text, "mast7.csv")).grid()
    assert grid.nodes == ("mast7",)
    assert list(grid.values) == ["temperature", "humidity"]


@pytest.mark.parametrize(
    ("node", "time"),
    [
        (n, "timestamp")
        for n in "node_id node station station_id device device_id DevEUI sensor_id moteid mote "
        "platform host entity_id thing".split()
    ]
    + [
        ("Node", t)
        for t in "timestamp time ts datetime date _time phenomenonTime resultTime last_changed "
        "obs_time TIME".split()
    ],
)
def test_names_that_are_known(node, time, tmp_path):
    text = f"{node},{time},temperature\na,2024-01-01T00:00:00Z,1\nb,2024-01-01T00:10:00Z,2\n"
    assert fm.read(file(tmp_path, text)).nodes == ("a", "b")


def test_date_and_time_in_two_columns(tmp_path):
    text = "node,date,time,temperature\na,2024-01-01,00:00:00,1\na,2024-01-01,00:10:00,2\n"
    assert fm.read(file(tmp_path, text)).grid().times[0] == START
    named = text.replace("date", "d1").replace("time", "d2")
    assert fm.read(file(tmp_path, named), time=["d1", "d2"]).grid().times[1] == START + 600_000_000


def test_nodes_that_are_numbers_sort_as_numbers(tmp_path):
    text = "node,time,t\n" + "".join(f"{n},2024-01-01,1\n" for n in (10, 9, 1, "b", "a"))
    assert fm.read(file(tmp_path, text)).nodes == ("1", "9", "10", "a", "b")


def test_units_in_brackets(tmp_path):
    text = "node,time,temperature [°C],humidity (%)\na,2024-01-01,1,2\n"
    records = fm.read(file(tmp_path, text))
    assert records.units == {"temperature": "°C", "humidity": "%"}


# Layouts


def test_intellab(tmp_path):
    text = (
        "2004-03-04 00:00:26.983691 14285 1 20.5666 35.8876 46.92 2.65143\n"
        "2004-03-04 00:00:57.05 14286 1 20.5666 35.853  2.65143\n"
        "2004-03-04 00:00:30.5 14285 12 19 36 47 2.6\n"
    )
    data, places = file(tmp_path, text, "data.txt"), file(tmp_path, "1 21.5 23\n12 3 4\n", "m.txt")
    for records in (fm.read([data, places]), fm.read(data, locations=places)):
        grid = records.grid(slot="30s")
        assert records.origin.dialect.startswith("IntelLab")
        assert grid.nodes == ("1", "12")
        assert grid.places == {"1": {"x": 21.5, "y": 23.0}, "12": {"x": 3.0, "y": 4.0}}
        np.testing.assert_array_equal(grid.values["light"], [[46.92, np.nan], [np.nan, 47]])
        assert list(grid.values) == ["temperature", "humidity", "light", "voltage"]
        assert grid.units["light"] == "lux"


def test_ndbc(tmp_path):
    text = (
        "#YY  MM DD hh mm WDIR WSPD PRES   ATMP  WTMP\n"
        "#yr  mo dy hr mn degT m/s  hPa    degC  degC\n"
        "2013 05 01 00 50  99  5.1 1013.5  15.2 999.0\n"
        "2013 05 01 01 50 999 99.0 9999.0    MM  16.0\n"
        "2013 02 30 01 50 999 99.0 9999.0    MM  16.0\n"
    )
    records = fm.read(file(tmp_path, text, "46042h2013.txt"))
    grid = records.grid(slot="1h")
    assert grid.nodes == ("46042",)
    assert grid.units["PRES"] == "hPa"
    np.testing.assert_array_equal(grid.values["WDIR"].ravel(), [99, np.nan])
    np.testing.assert_array_equal(grid.values["WSPD"].ravel(), [5.1, np.nan])
    np.testing.assert_array_equal(grid.values["ATMP"].ravel(), [15.2, np.nan])
    np.testing.assert_array_equal(grid.values["WTMP"].ravel(), [np.nan, 16])
    assert [(r.line, r.reason) for r in records.origin.rejects.listed] == [
        (5, "clock: no such time")
    ]


def test_ndbc_of_the_last_century(tmp_path):
    text = "YY MM DD hh WD WSPD\n96 05 01 00 120 5.1\n96 05 01 01 121 5.2\n"
    grid = fm.read(file(tmp_path, text, "46042h1996.txt")).grid()
    assert grid.times[0] == pd.Timestamp("1996-05-01", tz="UTC").value // 1000


def test_erddap(tmp_path):
    text = (
        "time,station,latitude,longitude,wtmp\nUTC,,degrees_north,degrees_east,degree_C\n"
        "2013-05-01T00:00:00Z,46042,36.7,-122.4,12.5\n2013-05-01T01:00:00Z,46042,36.7,-122.4,NaN\n"
        "2013-05-01T00:00:00Z,46014,39.2,-123.9,x\n"
    )
    records = fm.read(file(tmp_path, text))
    assert records.origin.dialect.startswith("ERDDAP")
    assert records.units == {"wtmp": "degree_C"}
    assert records.places == {"46042": {"lat": 36.7, "lon": -122.4}}
    assert (records.origin.read, records.origin.set_aside) == (3, 1)
    assert records.origin.rejects.listed[0].line == 5


def test_toa5(tmp_path):
    text = (
        '"TOA5","Mast7","CR1000","1234","CR1000.Std.27","CPU:x.CR1","5","Table1"\n'
        '"TIMESTAMP","RECORD","AirTC_Avg","RH"\n"TS","RN","Deg C","%"\n"","","Avg","Smp"\n'
        '"2024-01-01 00:00:00",1,20.5,40\n"2024-01-01 00:10:00",2,"NAN",41\n'
    )
    grid = fm.read(file(tmp_path, text, "x.dat")).grid()
    assert grid.nodes == ("Mast7",)
    assert list(grid.values) == ["AirTC_Avg", "RH"]
    assert grid.units == {"AirTC_Avg": "Deg C", "RH": "%"}
    np.testing.assert_array_equal(grid.values["AirTC_Avg"].ravel(), [20.5, np.nan])


def test_influx(tmp_path):
    text = (
        "#group,false,false,true,true,false,false,true,true,true\n"
        "#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string,string,string\n"
        "#default,_result,,,,,,,,\n"
        ",result,table,_start,_stop,_time,_value,_field,_measurement,host\n"
        ",,0,2024-01-01T00:00:00Z,2024-01-02T00:00:00Z,2024-01-01T00:00:00Z,20.5,temperature,air,a\n"
        ",,0,2024-01-01T00:00:00Z,2024-01-02T00:00:00Z,2024-01-01T00:10:00Z,20.6,temperature,air,a\n"
        "\n"
        "#group,false,false,false,false,true,true\n#datatype,string,long,dateTime:RFC3339,double,string,string\n"
        "#default,_result,,,,,\n,result,table,_time,_value,host,_field\n"
        ",,1,2024-01-01T00:00:00Z,40,a,humidity\n,,1,2024-01-01T00:10:00Z,wet,a,humidity\n"
    )
    records = fm.read(file(tmp_path, text))
    assert records.origin.dialect.startswith("InfluxDB")
    assert (records.origin.read, records.origin.used) == (4, 3)
    assert records.origin.rejects.listed[0].line == 13
    grid = records.grid()
    np.testing.assert_array_equal(grid.values["temperature"].ravel(), [20.5, 20.6])
    np.testing.assert_array_equal(grid.values["humidity"].ravel(), [40, np.nan])


def test_influx_in_utf16(tmp_path):
    text = (
        "#group,false,false,false,false,true,true\n#datatype,string,long,dateTime:RFC3339,double,"
        "string,string\n#default,_result,,,,,\n,result,table,_time,_value,host,_field\n"
        ",,1,2024-01-01T00:00:00Z,40,a,humidity\n"
    )
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode("utf-16"))
    assert fm.read(path).grid().values["humidity"][0, 0] == 40


def test_home_assistant(tmp_path):
    text = (
        "entity_id,state,last_changed\nsensor.hall,20.5,2024-01-01T00:00:00.000Z\n"
        "sensor.hall,unavailable,2024-01-01T00:10:00.000Z\nlight.hall,on,2024-01-01T00:00:00.000Z\n"
        "sensor.yard,3.5,2024-01-01T00:00:00.000Z\n"
    )
    records = fm.read(file(tmp_path, text))
    assert records.conditions == ("state",)
    assert records.nodes == ("sensor.hall", "sensor.yard")
    assert dict(records.origin.rejects.totals) == {"number": 1}


# Sources


@pytest.mark.parametrize(
    "make",
    [
        lambda f: f,
        lambda f: f.set_index("time"),
        pl.from_pandas,
        lambda f: pl.from_pandas(f).lazy(),
        pa.Table.from_pandas,
        lambda f: f.assign(time=f["time"].astype(str)),
        lambda f: f.assign(time=f["time"].astype("datetime64[ns]").astype("int64")),
        lambda f: f.assign(time=f["time"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        lambda f: pl.from_pandas(f).with_columns(pl.col("node").cast(pl.Categorical)),
        lambda f: f.assign(node=f["node"].astype("category")),
        lambda f: pl.from_pandas(f).with_columns(pl.col("temperature").cast(pl.Float64)),
    ],
    ids="pandas indexed polars lazy arrow text epoch tokyo categorical category floats".split(),
)
def test_frames(make):
    frame = make(WIDE)
    grid = same(fm.read(frame))
    assert "frame" in grid.origin.dialect


def test_a_frame_is_left_as_it_was():
    before = WIDE.copy()
    fm.read(WIDE).grid()
    pd.testing.assert_frame_equal(WIDE, before)


def test_a_frame_with_nodes_that_are_numbers():
    frame = WIDE.assign(node=[1.0, 1.0, 2.0, np.nan])
    records = fm.read(frame)
    assert records.nodes == ("1", "2")
    assert dict(records.origin.rejects.totals) == {"node": 1}


@pytest.mark.parametrize(
    ("frame", "refused"),
    [
        (pd.DataFrame([["a", "2024-01-01", 1, 2]], columns=["node", "time", "t", "t"]), "one name"),
        (pd.DataFrame([["a", "2024-01-01", 1, 2]]), "no column holds the time; found: 0, 1"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "time"),
        (WIDE.iloc[:0], "no records"),
        (pl.DataFrame({"node": ["a"], "time": ["2024-01-01"], "t": [[1, 2]]}), "holds readings"),
        (np.zeros((3, 2)), "cannot read records from a ndarray"),
    ],
)  # fmt: skip
def test_frames_that_are_refused(frame, refused):
    with pytest.raises(fm.InputError, match=refused):
        fm.read(frame)


def test_a_frame_with_two_levels_of_index():
    same(fm.read(WIDE.set_index(["node", "time"])))


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_whole_numbers_in_frames_keep_their_digits(kind, tmp_path):
    cells = np.array([2**53 + 1, 2**63 - 1, 7, 8], dtype=kind)
    frame = WIDE.assign(temperature=cells)
    frame.to_parquet(tmp_path / "x.parquet")
    for source in (frame, tmp_path / "x.parquet"):
        records = fm.read(source)
        assert dict(records.origin.cells["temperature"].why) == {"number": 2}
        assert records.origin.set_aside == 0
        expected = [[np.nan, 7], [np.nan, 8]]
        np.testing.assert_array_equal(records.grid().values["temperature"], expected)
        np.testing.assert_array_equal(records.grid().values["humidity"], H)


@pytest.mark.parametrize("column", ['"; DROP TABLE r;--', "select", "a'b", "x" * 200])
def test_parquet(column, tmp_path):
    path = tmp_path / "x.parquet"
    WIDE.rename(columns={"temperature": column}).to_parquet(path)
    assert fm.read(path).conditions == (column, "humidity")
    WIDE.to_parquet(path)
    same(fm.read(path))


def test_ndjson(tmp_path):
    path = tmp_path / "x.ndjson"
    WIDE.assign(time=WIDE["time"].astype(str)).to_json(path, orient="records", lines=True)
    same(fm.read(path))


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_compressed(suffix, tmp_path):
    path = tmp_path / f"x.csv.{suffix}"
    packed = {"gz": gzip, "zst": zstd_module()}[suffix]
    path.write_bytes(packed.compress(WIDE.to_csv(index=False).encode()))
    same(fm.read(path))


def test_sqlite(tmp_path):
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as con, con:
        WIDE.assign(time=WIDE["time"].astype(str)).to_sql("read'ings\"", con, index=False)
    same(fm.read(path))
    same(fm.read(path, table="read'ings\""))
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE other (x)")
    with pytest.raises(fm.InputError, match="it has 2 tables: other, read'ings"):
        fm.read(path)
    with pytest.raises(fm.InputError, match="no table 'zzz'"):
        fm.read(path, table="zzz")
    half = fm.read(path, query='SELECT * FROM "read\'ings""" WHERE node = \'a\'')
    assert half.origin.read == 2
    for query in ("DELETE FROM other", "SELECT 1; SELECT 2", "SELECT"):
        with pytest.raises(fm.InputError, match="SQLite says"):
            fm.read(path, query=query)
    con.close()


def test_netcdf_stations_by_time(tmp_path):
    xr = pytest.importorskip("xarray")
    wide = WIDE.set_index(["node", "time"]).to_xarray()
    wide["node"].attrs["cf_role"] = "timeseries_id"
    wide["lat"] = ("node", [1.0, 2.0], {"standard_name": "latitude"})
    wide["lon"] = ("node", [3.0, 4.0], {"standard_name": "longitude"})
    wide["temperature"].attrs["units"] = "degC"
    path = tmp_path / "x.nc"
    wide.to_netcdf(path, engine="h5netcdf")
    grid = same(fm.read(path))
    assert grid.units == {"temperature": "degC"}
    assert grid.places == {"a": {"lat": 1.0, "lon": 3.0}, "b": {"lat": 2.0, "lon": 4.0}}
    assert xr


@pytest.mark.parametrize("kind", ["contiguous", "indexed"])
def test_netcdf_ragged(kind, tmp_path):
    xr = pytest.importorskip("xarray")
    data = xr.Dataset(
        {
            "temperature": ("obs", WIDE["temperature"]),
            "humidity": ("obs", WIDE["humidity"]),
            "station_id": (
                "station",
                np.array(["a", "b"], dtype=object),
                {"cf_role": "timeseries_id"},
            ),
        },
        coords={"time": ("obs", WIDE["time"])},
        attrs={"featureType": "timeSeries"},
    )
    if kind == "contiguous":
        data["rows"] = ("station", [2, 2], {"sample_dimension": "obs"})
    else:
        data["which"] = ("obs", [0, 0, 1, 1], {"instance_dimension": "station"})
    path = tmp_path / "x.nc"
    data.to_netcdf(path, engine="h5netcdf")
    same(fm.read(path))


def test_several_files_at_once(tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    WIDE[:2].to_csv(a, index=False)
    WIDE[2:].to_csv(b, index=False, sep=";", decimal=",")
    b.write_text(b.read_text() + "b;x;1;2\n")
    grid = same(fm.read([a, b]))
    assert [f.rows for f in grid.origin.files] == [2, 3]
    assert [(r.file, r.line) for r in grid.origin.rejects.listed] == [(str(b), 4)]


def test_files_of_different_shapes(tmp_path):
    a = file(tmp_path, "time,n1,n2\n2024-01-01,1,2\n", "a.csv")
    b = file(tmp_path, "node,time,t\nn1,2024-01-01,1\n", "b.csv")
    with pytest.raises(fm.InputError, match="files of different shapes"):
        fm.read([a, b])


def test_zoned_beside_naive_files_need_a_zone(tmp_path):
    a = file(tmp_path, "node,time,t\na,2024-01-01T00:00:00Z,1\n", "a.csv")
    b = file(tmp_path, "node,time,t\nb,2024-01-01 01:00:00,1\n", "b.csv")
    with pytest.raises(fm.InputError, match="tz="):
        fm.read([a, b])
    assert fm.read([a, b], tz="Europe/Berlin").grid(slot="1h").shape == (1, 2)


# Time


@pytest.mark.parametrize(
    ("stamp", "option", "expected"),
    [
        ("2024-10-27 02:30", "earlier", "2024-10-27 00:30"),
        ("2024-10-27 02:30", "later", "2024-10-27 01:30"),
        ("2024-03-31 02:30", "earlier", "2024-03-31 00:30"),
        ("2024-03-31 02:30", "later", "2024-03-31 01:30"),
        ("2024-03-31 01:59", None, "2024-03-31 00:59"),
        ("2024-03-31 03:00", None, "2024-03-31 01:00"),
        ("2024-10-27 01:59", None, "2024-10-26 23:59"),
        ("2024-10-27 03:00", None, "2024-10-27 02:00"),
        ("2024-07-01 12:00", None, "2024-07-01 10:00"),
        ("1960-07-01 12:00", None, "1960-07-01 11:00"),
    ],
)
def test_local_time(stamp, option, expected, tmp_path):
    path = file(tmp_path, f"node,time,t\na,{stamp},1\n")
    grid = fm.read(path, tz="Europe/Berlin", ambiguous=option).grid(slot="1min")
    assert grid.times[0] == pd.Timestamp(expected, tz="UTC").value // 1000


def test_local_time_agrees_with_pandas(tmp_path):
    stamps = pd.date_range("2023-01-01", "2025-01-01", freq="37min")
    zoned = stamps.tz_localize("Australia/Lord_Howe", ambiguous="NaT", nonexistent="NaT")
    keep = zoned.notna()
    frame = pd.DataFrame({"node": "a", "time": stamps, "t": 1.0})
    records = fm.read(frame, tz="Australia/Lord_Howe", ambiguous="missing")
    assert records.origin.set_aside == int((~keep).sum()) > 0
    got = [row[0] for row in records.con.execute("SELECT t FROM used ORDER BY t").fetchall()]
    np.testing.assert_array_equal(got, zoned[keep].as_unit("us").asi8)


# Sentinels


def test_sentinels_are_declared_never_guessed(tmp_path):
    rows = "".join(f"{n},2024-01-01 0{h}:00,{20 + h}\n" for n in "ab" for h in range(5))
    odd = "".join(f"b,2024-01-02 0{h}:00,85\n" for h in range(4))
    path = file(tmp_path, "node,time,temperature\n" + rows + odd)
    records = fm.read(path)
    assert records.origin.suspects == (
        "temperature: exactly 85.0 in 4 readings of 1 node (--missing 85)",
    )
    assert np.nanmax(records.grid().values["temperature"]) == 85
    for missing in ([85], ["85"], {"temperature": [85]}):
        declared = fm.read(path, missing=missing)
        assert declared.origin.suspects == ()
        assert np.nanmax(declared.grid().values["temperature"]) == 24
    assert np.nanmax(fm.read(path, missing={"humidity": [85]}).grid().values["temperature"]) == 85


def test_a_word_for_missing(tmp_path):
    path = file(tmp_path, "node,time,t\na,2024-01-01,1\nb,2024-01-01,Ausfall\n")
    assert fm.read(path).origin.set_aside == 1
    assert fm.read(path, missing=["ausfall"]).origin.set_aside == 0


# Places


@pytest.mark.parametrize(
    ("columns", "cells", "place"),
    [
        ("lat,lon", "1.5,2.5", {"lat": 1.5, "lon": 2.5}),
        ("latitude,lng,alt", "1.5,2.5,100", {"lat": 1.5, "lon": 2.5, "elevation": 100.0}),
        ("lat,lon,depth", "1.5,2.5,10", {"lat": 1.5, "lon": 2.5, "elevation": -10.0}),
        ("x,y,z", "1,2,3", {"x": 1.0, "y": 2.0, "z": 3.0}),
    ],
)
def test_places_in_the_rows(columns, cells, place, tmp_path):
    records = fm.read(file(tmp_path, f"node,time,{columns},t\na,2024-01-01,{cells},7\n"))
    assert records.conditions == ("t",)
    assert records.grid().places == {"a": place}


def test_places_from_a_mapping(tmp_path):
    path = file(tmp_path, "node,time,t\na,2024-01-01,7\n")
    grid = fm.read(path, locations={"a": {"x": 1, "y": 2}, "zz": {"x": 0, "y": 0}}).grid()
    assert grid.places == {"a": {"x": 1, "y": 2}}
    assert fm.read(path).grid().places is None
    with pytest.raises(fm.InputError, match="locations= cannot be used"):
        fm.read(path, locations={"a": (1, 2)})
    half = file(tmp_path, "node,lat,lon\na,x,2\n", "half.csv")
    assert fm.read(path, locations=half).grid().places is None
    with pytest.raises(fm.InputError, match="no positions"):
        fm.read(path, locations=path)


# The real files


def test_intellab_as_it_is(real):
    records = fm.read(real("intellab_mar04_08.txt.gz"), locations=real("intellab_mote_locs.txt"))
    o = records.origin
    assert (o.read, o.used, o.duplicates, o.set_aside) == (476_518, 476_518, 0, 0)
    grid = records.grid(slot="5min")
    assert grid.shape == (1440, 52)
    assert len(grid.places) == 52
    assert {"5", "15"}.isdisjoint(grid.nodes)
    assert np.isnan(grid.values["temperature"]).mean() == pytest.approx(0.005, abs=5e-4)
    assert np.isnan(grid.values["light"][:, grid.nodes.index("28")]).all()


def test_ndbc_as_it_is(real):
    records = fm.read(real("ndbc_may2013.parquet"), locations=real("ndbc_may2013_locations.csv"))
    assert records.grid().shape == (744, 614)
    assert set(records.grid().places["SJSN4"]) == {"lat", "lon"}


# Weight


def test_import_stays_light():
    code = (
        "import sys, fieldmend; fieldmend.read; fieldmend.Grid; fieldmend.InputError; "
        "heavy = {'duckdb', 'narwhals', 'pandas', 'xarray', 'backports.zstd'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# PostgreSQL


@pytest.fixture(scope="module")
def postgres():
    with server() as address:
        import psycopg

        with psycopg.connect(address) as con:
            con.execute(
                "CREATE TABLE readings (node text, time timestamptz, temperature float8, "
                "humidity numeric)"
            )
            for row in WIDE.itertuples(index=False):
                cells = [None if np.isnan(c) else c for c in row[2:]]
                stamp = row[1].tz_localize("UTC").to_pydatetime()
                con.execute("INSERT INTO readings VALUES (%s, %s, %s, %s)", [row[0], stamp, *cells])
        yield address


def test_postgres(postgres):
    grid = same(fm.read(postgres, table="readings"))
    assert grid.origin.dialect == "PostgreSQL, one table"
    assert "secret" not in repr(grid.origin)
    same(fm.read(postgres, table="public.readings"))
    half = fm.read(postgres, query="SELECT * FROM readings WHERE node = 'a'")
    assert half.origin.read == 2
    with pytest.raises(fm.InputError, match=r"table= \(--table\) or query="):
        fm.read(postgres)
    with pytest.raises(fm.InputError, match="PostgreSQL says"):
        fm.read(postgres, table='readings"; DROP TABLE readings;--')
    with pytest.raises(fm.InputError, match="PostgreSQL says"):
        fm.read(postgres, query="WITH x AS (DELETE FROM readings RETURNING *) SELECT * FROM x")
    same(fm.read(postgres, table="readings"))


def test_the_page_on_formats_is_true(tmp_path, monkeypatch):
    page = Path(__file__).parents[1] / "docs" / "formats.md"
    monkeypatch.chdir(tmp_path)
    done = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.attempted > 10
    assert done.failed == 0


def test_columns_passed_over_are_told_once_for_files_that_are_alike(tmp_path):
    for name in "abc":
        line = f"{name},2024-01-01 00:00,1.5,{'north' if name < 'c' else 'x,y'}\n"
        more = "side" if name < "c" else "side,top"
        (tmp_path / f"{name}.csv").write_text(
            f"node,time,t,{more}\n{line}{line.replace('00:00', '00:10')}"
        )
    notes = fm.read([tmp_path / f"{name}.csv" for name in "abc"]).origin.notes
    told = [note for note in notes if "passed over" in note]
    assert len(told) == 2
    assert told[0].endswith(" and 1 more: columns passed over: side")


def test_a_frame_that_came_from_a_file_has_the_files_name():
    stage = frames.stage(pl.DataFrame({"time": ["2024-01-01"], "a": [1.0]}), "logs/roof.feather")
    assert (stage.name, stage.stem) == ("logs/roof.feather", "roof")
