"""Files: the columns, the same bytes, nothing that a spreadsheet runs."""

import csv
import gzip
import hashlib
import os
import time
from dataclasses import replace
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

import fieldmend as fm
from exported import PLACES, recovered, with_interval, write
from fieldmend.export import (
    OutputError,
    table,
    write_anomalies,
    write_rejects,
)
from fieldmend.grid import Grid, Origin, Rejects


@pytest.fixture(scope="module")
def rec():
    return recovered(("temperature", "humidity"), places=PLACES)


WIDE = ["", "_estimate", "_lower", "_upper", "_anomaly", "_flag", "_filled"]


# The wide table ----------------------------------------------------------------------------------


def test_parquet_has_the_columns_of_the_contract(rec, tmp_path):
    path = tmp_path / "out.parquet"
    rec.to_parquet(path)
    described = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    types = {row[0]: row[1] for row in described}
    v = [f"{name}{end}" for name in ("temperature", "humidity") for end in WIDE]
    assert list(types) == ["node", "time", "latitude", "longitude", "elevation", *v]
    assert types["time"] == "TIMESTAMP WITH TIME ZONE"
    assert types["temperature_flag"] == "TINYINT"
    assert types["temperature_lower"] == types["temperature"] == "DOUBLE"
    assert duckdb.sql(f"SELECT count(temperature_lower) FROM '{path}'").fetchall() == [(0,)]


def test_rows_are_sorted_by_time_then_node_with_their_places(rec, tmp_path):
    path = tmp_path / "out.parquet"
    rec.to_parquet(path)
    rows = duckdb.sql(f"SELECT node, epoch_us(time), latitude, elevation FROM '{path}'").fetchall()
    assert len(rows) == 60 * 8
    assert [row[0] for row in rows[:9]] == [*"abcdefgh", "a"]
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)
    assert rows[0][2:] == (50.0, 120.0)
    assert rows[1][2:] == (None, None)
    assert rows[2][2:] == (51.0, None)


def test_files_have_one_database_a_process_and_another_after_it_broke(tmp_path):
    path = tmp_path / "a.csv"
    with table.connection(path) as con:
        con.execute("SET VARIABLE nodes = 7")
        con.register("given", {"x": np.arange(3)})
    first = table._instance(os.getpid())
    broken = duckdb.FatalException("it answers no more")
    with pytest.raises(duckdb.FatalException), table.connection(path) as con:  # noqa: PT012
        assert con.execute("SELECT getvariable('nodes')").fetchall() == [(None,)]
        assert con.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
        for name in ("given", "first"):  # neither an earlier file's arrays nor our variables
            with pytest.raises(duckdb.CatalogException):
                con.execute(f"SELECT * FROM {name}")
        raise broken
    assert table._instance(os.getpid()) is not first


def test_intervals_are_written(rec, tmp_path):
    wide = with_interval(rec)
    wide.to_parquet(tmp_path / "out.parquet")
    sql = "SELECT min(humidity_upper - humidity_lower) FROM"
    found = duckdb.sql(f"{sql} '{tmp_path / 'out.parquet'}'").fetchall()
    assert found[0][0] == pytest.approx(2.0)


def test_csv_can_be_read_back_bit_by_bit(rec, tmp_path):
    path = tmp_path / "out.csv"
    rec.to_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    one = rec["temperature"]
    estimate = np.array([float(row["temperature_estimate"]) for row in rows]).reshape(60, 8)
    np.testing.assert_array_equal(estimate, one.estimate)
    seen = np.array([float(row["temperature"] or "nan") for row in rows]).reshape(60, 8)
    np.testing.assert_array_equal(seen, one.observed)
    assert rows[0]["time"] == "2024-01-01T00:00:00Z"
    assert rows[0]["temperature_lower"] == ""
    assert {row["temperature_flag"] for row in rows} <= set("12349")


@pytest.mark.parametrize(
    "value", [0.1 + 0.2, 1e308, 5e-324, -0.0, 1e16, 1 / 3, 123456789.123456789]
)
def test_numbers_are_written_shortest_and_exact(value, tmp_path):
    rec = fm.recover(Grid.of([[value, 1.0]]))
    rec.to_csv(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        text = next(csv.DictReader(file))["value"]
    assert float(text) == value
    assert len(text) <= len(repr(value)) + 2


def test_slots_shorter_than_a_second_keep_their_parts(tmp_path):
    net = fm.simulate.network(slots=60, nodes=8, seed=1)
    rec = fm.recover(Grid.of(net.readings, slot_seconds=0.25), holdout=False)
    rec.to_csv(tmp_path / "out.csv")
    assert "1970-01-01T00:00:00.250000Z" in (tmp_path / "out.csv").read_text()


def test_csv_may_be_compressed(rec, tmp_path):
    rec.to_csv(tmp_path / "out.csv")
    rec.to_csv(tmp_path / "out.csv.gz")
    packed = gzip.decompress((tmp_path / "out.csv.gz").read_bytes())
    assert packed == (tmp_path / "out.csv").read_bytes()


def test_cells_that_a_spreadsheet_would_run_are_guarded(tmp_path):
    names = ["=1+1", "+a", "-rf", "@x", "\tt", "\rr", 'q"uo,te', "new\nline"]
    rec = recovered(("=cmd()", "temperature"), nodes=names)
    rec.to_csv(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0][2:4] == ["'=cmd()", "'=cmd()_estimate"]
    assert [row[0] for row in rows[1:9]] == [
        "'=1+1", "'+a", "'-rf", "'@x", "'\tt", "'\rr", 'q"uo,te', "new\nline",
    ]  # fmt: skip
    rec.to_parquet(tmp_path / "out.parquet")  # no spreadsheet: the names as they are
    found = duckdb.sql(f"SELECT node FROM '{tmp_path / 'out.parquet'}' LIMIT 8").fetchall()
    assert [row[0] for row in found] == names


def test_negative_numbers_are_left_alone(tmp_path):
    fm.recover(Grid.of([[-1.5, 1.0]])).to_csv(tmp_path / "out.csv")
    assert ",-1.5," in (tmp_path / "out.csv").read_text()


def test_names_that_clash_get_a_number(tmp_path):
    rec = recovered(("t", "t_flag", "T", 'a"b; DROP TABLE given;--'))
    rec.to_parquet(tmp_path / "out.parquet")
    names = [row[0] for row in duckdb.sql(f"DESCRIBE '{tmp_path / 'out.parquet'}'").fetchall()]
    assert len({name.casefold() for name in names}) == len(names) == 2 + 4 * 7
    assert {"t", "t_flag", "t_flag_2", "T_2", 'a"b; DROP TABLE given;--_filled'} <= set(names)


# The same bytes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.csv.gz", "out.nc"])
def test_the_same_recovery_gives_the_same_bytes(name, tmp_path, monkeypatch):
    digests = set()
    for zone in ("UTC", "Asia/Kathmandu"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        rec = recovered(("temperature", "humidity"), places=PLACES)
        write(rec, tmp_path / f"{len(digests)}{name}")
        digests.add(hashlib.sha256((tmp_path / f"{len(digests)}{name}").read_bytes()).hexdigest())
        time.sleep(1.1)  # a clock in the file would show
        write(rec, tmp_path / f"again{name}", force=True)
        digests.add(hashlib.sha256((tmp_path / f"again{name}").read_bytes()).hexdigest())
    monkeypatch.delenv("TZ")
    time.tzset()
    assert len(digests) == 1


# Round trips -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.nc"])
def test_our_own_files_are_recovered_from_their_readings(rec, name, tmp_path):
    write(with_interval(rec), tmp_path / name)
    again = fm.recover(tmp_path / name, method="ls", holdout=False)
    assert list(again.conditions) == ["temperature", "humidity"]
    np.testing.assert_array_equal(again["temperature"].observed, rec["temperature"].observed)
    np.testing.assert_array_equal(again["temperature"].flag, rec["temperature"].flag)
    assert again.grid.places["a"]["lat"] == 50.0
    assert any("earlier recovery" in note for note in again.summary()["notes"])


def test_a_column_of_our_own_file_can_be_read(rec, tmp_path):
    rec.to_parquet(tmp_path / "out.parquet")
    records = fm.read(tmp_path / "out.parquet", conditions=["temperature_filled"])
    filled = records.grid().values["temperature_filled"]
    np.testing.assert_array_equal(filled, rec["temperature"].filled)


# Lists -------------------------------------------------------------------------------------------


def test_anomalies_as_parquet_and_csv(tmp_path):
    X = fm.simulate.network(slots=60, nodes=8, seed=1).readings
    rec = fm.recover(Grid.of(X), limits={"value": (-10, 60)}, holdout=False)  # some fail
    for name in ("list.parquet", "list.csv"):
        write_anomalies(rec, tmp_path / name)
    columns = rec.anomaly_columns()
    rows = duckdb.sql(f"SELECT * EXCLUDE time FROM '{tmp_path / 'list.parquet'}'").fetchnumpy()
    np.testing.assert_array_equal(rows["score"], columns["score"])
    np.testing.assert_array_equal(rows["episode"], columns["episode"])
    with (tmp_path / "list.csv").open(newline="") as file:
        listed = list(csv.DictReader(file))
    assert list(listed[0]) == list(columns)
    assert [row["node"] for row in listed] == columns["node"].tolist()
    assert listed[0]["time"].endswith("Z")


def test_no_anomalies_make_an_empty_list_with_types(tmp_path):
    rec = fm.recover(Grid.of(np.ones((10, 5))))
    for name in ("list.parquet", "list.csv"):
        write_anomalies(rec, tmp_path / name)
    described = duckdb.sql(f"DESCRIBE '{tmp_path / 'list.parquet'}'").fetchall()
    types = {row[0]: row[1] for row in described}
    assert types["time"] == "TIMESTAMP WITH TIME ZONE"
    assert types["node"] == "VARCHAR"
    assert types["score"] == "DOUBLE"
    assert (tmp_path / "list.csv").read_text().startswith("node,time,condition,value")


def test_rejects_are_listed_and_counted(rec, tmp_path):
    listed = (
        SimpleNamespace(file="x.csv", line=5, reason="number: t is no number", text="=1+1"),
        SimpleNamespace(
            file="x.csv", line=9, reason="clock: far from all other times", text="1970"
        ),
    )
    rejects = Rejects(listed, {"number": 41, "clock": 1})
    origin = Origin(read=100, used=58, set_aside=42, rejects=rejects)
    given = replace(rec, grid=replace(rec.grid, origin=origin))
    write_rejects(given, tmp_path / "rejects.csv")
    with (tmp_path / "rejects.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["file", "line", "reason", "text", "count"],
        ["x.csv", "5", "number: t is no number", "'=1+1", "1"],
        ["x.csv", "9", "clock: far from all other times", "1970", "1"],
        ["", "", "number", "not listed", "40"],
    ]


def test_a_list_has_to_be_parquet_or_csv(rec, tmp_path):
    with pytest.raises(OutputError, match="neither Parquet nor CSV"):
        write_anomalies(rec, tmp_path / "list.xlsx")
