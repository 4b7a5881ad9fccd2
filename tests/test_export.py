"""Files: the columns, the same bytes, whole or not at all, nothing that a spreadsheet runs."""

import csv
import gzip
import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

import fieldmend as fm
from fieldmend.export import (
    OutputError,
    check_outputs,
    whole,
    write_anomalies,
    write_rejects,
)
from fieldmend.export.naming import safe_name
from fieldmend.grid import Grid, Origin, Rejects

PLACES = {"a": {"lat": 50.0, "lon": 8.0, "elevation": 120.0}, "c": {"lat": 51.0, "lon": 9.0}}


def recovered(conditions=("temperature",), nodes="abcdefgh", unit="°C", **changes):
    net = fm.simulate.network(slots=60, nodes=len(nodes), seed=1)
    grid = Grid.of(net.readings, nodes=nodes, start="2024-01-01")
    values = {name: net.readings + i for i, name in enumerate(conditions)}
    units = dict.fromkeys(conditions, unit)
    grid = replace(grid, values=values, units=units, **changes)
    return fm.recover(grid, method="ls", holdout=False)  # it has no intervals


@pytest.fixture(scope="module")
def rec():
    return recovered(("temperature", "humidity"), places=PLACES)


def with_interval(rec):
    def widened(one):
        return replace(one, lower=one.estimate - 1, upper=one.estimate + 1)

    return replace(rec, conditions={name: widened(one) for name, one in rec.conditions.items()})


def in_units(rec, units):
    conditions = {n: replace(one, unit=units.get(n, "")) for n, one in rec.conditions.items()}
    return replace(rec, conditions=conditions)


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


def write(rec, path, **options):
    writer = {".parquet": rec.to_parquet, ".nc": rec.to_netcdf}.get(path.suffix, rec.to_csv)
    writer(path, **options)


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


# netCDF ------------------------------------------------------------------------------------------


def complaints(path, tmp_path):
    """What the IOOS compliance checker says about a file, errors and warnings."""
    runner = pytest.importorskip("compliance_checker.runner")
    runner.CheckSuite.load_all_available_checkers()
    report = tmp_path / "report.txt"
    passed, errors = runner.ComplianceChecker.run_checker(
        str(path), ["cf:1.11"], 1, "strict", output_filename=str(report), output_format="text"
    )
    return (passed, errors), report.read_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("places", ["latitude", "x", "some", "none"])
def test_netcdf_passes_the_compliance_checker(places, tmp_path):
    known = {
        "latitude": {n: {"lat": 50.0 + i, "lon": 8.0} for i, n in enumerate("abcdefgh")},
        "x": {n: {"x": 50.0 + i, "y": 8.0, "z": 1.0} for i, n in enumerate("abcdefgh")},
        "some": PLACES,
        "none": None,
    }[places]
    rec = recovered(("air_temperature", "weird °name", "2 m"), places=known)
    units = {"air_temperature": "°C", "weird °name": "furlong"}
    rec = with_interval(in_units(rec, units))
    rec.to_netcdf(tmp_path / "out.nc")
    result, said = complaints(tmp_path / "out.nc", tmp_path)
    assert result == (True, False), said
    assert "All tests passed" in said, said


@pytest.mark.filterwarnings("ignore")
def test_the_compliance_checker_would_complain(rec, tmp_path):
    h5netcdf = pytest.importorskip("h5netcdf")
    rec.to_netcdf(tmp_path / "out.nc")
    with h5netcdf.File(tmp_path / "out.nc", "a") as file:
        file["temperature_flag"].attrs["flag_meanings"] = "PASS"
        file["temperature"].attrs["units"] = "furlongs per fortnight"
    result, _ = complaints(tmp_path / "out.nc", tmp_path)
    assert result != (True, False)


def test_netcdf_with_a_nul_in_names_and_units(tmp_path):
    h5netcdf = pytest.importorskip("h5netcdf")
    rec = recovered(("a\0b", "t"), nodes=["x\0y", *"bcdefgh"], unit="m\0")
    rec.to_netcdf(tmp_path / "out.nc")
    with h5netcdf.File(tmp_path / "out.nc") as file:
        assert file["station_name"][0] == b"x\\x00y"
        assert file.attrs["title"].endswith("a\\x00b, t")


def test_netcdf_holds_what_was_recovered(tmp_path):
    xr = pytest.importorskip("xarray")
    rec = recovered(("air_temperature", "humidity", "depth-ish"), places=PLACES)
    units = {"air_temperature": "°C", "humidity": "%"}
    rec = with_interval(in_units(rec, units))
    rec.to_netcdf(tmp_path / "out.nc")
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as data:
        one = rec["air_temperature"]
        air = data["air_temperature"]
        assert air.dims == ("station", "time")
        np.testing.assert_array_equal(air.values.T, one.observed)
        np.testing.assert_array_equal(data["air_temperature_filled"].values.T, one.filled)
        np.testing.assert_array_equal(data["air_temperature_lower"].values.T, one.lower)
        assert air.attrs["standard_name"] == "air_temperature"
        assert air.attrs["units"] == "degree_Celsius"
        assert air.attrs["units_metadata"] == "temperature: on_scale"
        made = "estimate lower upper anomaly filled flag neighbor_flag".split()
        assert air.attrs["ancillary_variables"].split() == [f"air_temperature_{m}" for m in made]
        assert data["humidity"].attrs["standard_name"] == "relative_humidity"
        assert data["humidity"].attrs["units"] == "percent"
        assert data["depth_ish"].attrs["units"] == "1"
        assert data["depth_ish"].attrs["comment"] == "unit not stated in the source"
        flag = data["air_temperature_flag"]
        assert flag.dtype == flag.attrs["flag_values"].dtype == np.int8
        assert flag.attrs["flag_meanings"] == "PASS NOT_EVALUATED SUSPECT FAIL MISSING"
        assert flag.attrs["standard_name"] == "aggregate_quality_flag"
        near = data["air_temperature_neighbor_flag"].attrs
        assert near["standard_name"] == "neighbor_test_quality_flag"
        np.testing.assert_array_equal(flag.values.T, one.flag)
        assert data.station_name.values.tolist() == list("abcdefgh")
        assert data.time.values[1] == np.datetime64("2024-01-01T00:05")
        assert data.attrs["Conventions"] == "CF-1.11"
        assert data.attrs["featureType"] == "timeSeries"
        assert data["altitude"].values[0] == 120.0


def test_what_failed_the_limits_was_not_compared(tmp_path):
    xr = pytest.importorskip("xarray")
    X = fm.simulate.network(slots=60, nodes=8, seed=1).readings
    X[5, 2] = 1e6
    rec = fm.recover(Grid.of(X), limits={"value": (-1000, 1000)}, holdout=False)
    rec.to_netcdf(tmp_path / "out.nc")
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as data:
        assert data["value_flag"].values[2, 5] == 4
        assert data["value_neighbor_flag"].values[2, 5] == 2


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


# Names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("data/readings.csv", "readings"),
        ("intellab.txt.gz", "intellab"),
        ("C:\\data\\x.parquet", "x"),
        ("../../etc/passwd", "passwd"),
        ("..", "fieldmend"),
        ("/", "fieldmend"),
        ("", "fieldmend"),
        ("-", "stdin"),
        ("CON", "_CON"),
        ("lpt1.csv", "_lpt1"),
        ("$(id);rm -rf.csv", "id_rm_-rf"),
        ("a\x00b\nc.csv", "a_b_c"),
        ("-rf.csv", "rf"),
        ("дом.csv", "дом"),
        ("x" * 500 + ".csv", "x" * 80),
        ("frame", "frame"),
        ("postgresql://host/base?table=t", "base"),
    ],
)
def test_names_of_outputs_are_safe(source, name, tmp_path):
    assert safe_name(source) == name
    assert (tmp_path / name).parent == tmp_path


# Whole or not at all -----------------------------------------------------------------------------


def test_an_existing_file_is_kept_unless_forced(rec, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("precious")
    with pytest.raises(OutputError, match=r"is there already.*--force") as caught:
        rec.to_csv(path)
    assert caught.value.exit_code == 2
    assert path.read_text() == "precious"
    rec.to_csv(path, force=True)
    assert path.read_text().startswith("node,time")
    assert os.listdir(tmp_path) == ["out.csv"]


def half_written(path):
    with whole(path, force=True) as part:
        part.write_text("half")
        raise ZeroDivisionError


def test_a_failed_write_leaves_nothing(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError):
        half_written(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def overtaken(path):
    with whole(path) as part:
        part.write_text("ours")
        path.write_text("theirs")


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "out.txt"
    with pytest.raises(OutputError, match="is there already"):
        overtaken(path)
    assert path.read_text() == "theirs"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_replaced_and_never_written_through(there, rec, tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    if there:
        target.write_text("precious")
    link.symlink_to(target)
    with pytest.raises(OutputError, match="is there already"):
        check_outputs([link])  # known before any work, also where the link leads nowhere
    with pytest.raises(OutputError, match="is there already"):
        rec.to_csv(link)
    rec.to_csv(link, force=True)
    assert not link.is_symlink()
    assert target.exists() == there
    assert not there or target.read_text() == "precious"


def test_checks_before_any_work(tmp_path):
    check_outputs([tmp_path / "new" / "a.csv", tmp_path / "new" / "b.csv"])
    assert (tmp_path / "new").is_dir()
    with pytest.raises(OutputError, match=r"no such folder.*Make it first") as caught:
        check_outputs([tmp_path / "x" / "y" / "z.csv"])
    assert caught.value.exit_code == 2
    with pytest.raises(OutputError, match="is a folder"):
        check_outputs([tmp_path / "new"], force=True)
    with pytest.raises(OutputError, match="named for two outputs"):
        check_outputs([tmp_path / "a.csv", tmp_path / "new" / ".." / "a.csv"])
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is no folder"):
        check_outputs([tmp_path / "file" / "a.csv"])
    with pytest.raises(OutputError, match="it is an input"):
        check_outputs([tmp_path / "file"], force=True, inputs=[tmp_path / "new" / ".." / "file"])
    with pytest.raises(OutputError, match=r"no name for a file|name too long"):
        check_outputs([tmp_path / ("x" * 300)])


def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    def refused(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("fieldmend.export.writing.tempfile.TemporaryFile", refused)
    with pytest.raises(OutputError, match=r"permission denied. Choose a folder") as caught:
        check_outputs([tmp_path / "a.csv"])
    assert caught.value.exit_code == 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not here")
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_full_disk_is_said(rec, tmp_path, monkeypatch, suffix):
    from fieldmend.export import table

    copy = table.copy
    for module in ("parquet", "comma"):
        monkeypatch.setattr(
            f"fieldmend.export.{module}.copy",
            lambda con, select, _, options: copy(con, select, Path("/dev/full"), options),
        )
    with pytest.raises(
        OutputError, match=r"cannot be written \(no space left on device\)$"
    ) as caught:
        write(rec, tmp_path / f"out{suffix}")
    assert caught.value.exit_code == 4
    assert os.listdir(tmp_path) == []


KILLED = """
import sys, time
import numpy as np
import fieldmend as fm
from fieldmend.export import table
rec = fm.recover(fm.Grid.of(fm.simulate.network(slots=60, nodes=8, seed=1).readings), holdout=False)
{before}
rec.to_parquet(sys.argv[1])
"""
PAUSE = """
import fieldmend.export.parquet as module
def slow(con, select, part, options):
    table.copy(con, select, part, options)
    print("writing", flush=True)
    time.sleep(60)
module.copy = slow
"""


def test_killed_while_it_writes(tmp_path):
    def start(before):
        code = [sys.executable, "-c", KILLED.format(before=before), str(tmp_path / "out.parquet")]
        return subprocess.Popen(code, stdout=subprocess.PIPE, text=True)

    with start(PAUSE) as child:
        assert child.stdout.readline().strip() == "writing"
        assert not (tmp_path / "out.parquet").exists()
        child.send_signal(signal.SIGKILL)
    assert not (tmp_path / "out.parquet").exists()
    assert len(os.listdir(tmp_path)) == 1  # what was written so far, under another name
    with start("") as child:
        assert child.wait(60) == 0
    assert os.listdir(tmp_path) == ["out.parquet"]  # and it is gone
    before = (tmp_path / "out.parquet").read_bytes()
    (tmp_path / "out.parquet").unlink()
    with start("") as child:
        assert child.wait(60) == 0
    assert (tmp_path / "out.parquet").read_bytes() == before


def test_neither_pandas_nor_pyarrow_is_needed(tmp_path):
    blocked = (
        "for name in ('pandas', 'pyarrow', 'polars', 'xarray'): sys.modules[name] = None\n"
        "from fieldmend.export import write_anomalies\n"
        "write_anomalies(rec, sys.argv[1] + '.csv'); rec.to_csv(sys.argv[1] + '.wide.csv')\n"
        "rec.to_netcdf(sys.argv[1] + '.nc')"
    )
    code = [sys.executable, "-c", KILLED.format(before=blocked), str(tmp_path / "out.parquet")]
    done = subprocess.run(code, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(os.listdir(tmp_path)) == 4


def test_files_and_report_need_the_plain_result_only(rec, tmp_path):
    from fieldmend.export import write_csv
    from fieldmend.report import write_report
    from fieldmend.result.result import Result

    plain = Result(rec.grid, rec.conditions, rec.options)
    write_csv(plain, tmp_path / "plain.csv")
    rec.to_csv(tmp_path / "own.csv")
    assert (tmp_path / "plain.csv").read_bytes() == (tmp_path / "own.csv").read_bytes()
    write_report(plain, tmp_path / "plain.html")
    assert (tmp_path / "plain.html").stat().st_size > 10_000
