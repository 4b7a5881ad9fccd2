"""Files that are damaged or hostile, streams, archives, folders: read, bounded, or refused in one line."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import binaries
import numpy as np
import pandas as pd
import pytest

import fieldmend as fm
from fieldmend.records.sources.rehearsal import survived
from fieldmend.records.steps import Steps

HEAD = "node,time,temperature\n"
GOOD = HEAD + "".join(f"{n},2024-01-01 0{h}:00,2{h}.5\n" for n in "ab" for h in range(5))
RUN = [sys.executable, "-m", "fieldmend"]


def refused(path, match, **options):
    with pytest.raises(fm.InputError, match=match) as error:
        fm.read(path, **options)
    assert "\n" not in str(error.value)


# Parquet


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30"])
def test_parquet_stamps_of_every_kind(unit, zone, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    stamps = [1_704_067_200 * 10 ** {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]] * 2
    table = pa.table(
        {"node": ["a", "b"], "time": pa.array(stamps, pa.timestamp(unit, zone)), "t": [1.5, 2.5]}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    for source in (tmp_path / "x.parquet", table):
        records = fm.read(source)
        assert records.con.execute("SELECT DISTINCT t FROM used").fetchall() == [
            (1_704_067_200_000_000,)
        ]
        assert ("carry their zone" in " ".join(records.origin.notes)) == (zone is not None)


@pytest.mark.parametrize("seed", range(30))
def test_damaged_parquet(seed, tmp_path):
    """Flipped bytes: rows that add up, or one sentence."""
    rng = np.random.default_rng(seed)
    rows = 400
    frame = pd.DataFrame(
        {
            "node": np.arange(rows) % 7,
            "time": pd.date_range("2024-01-01", periods=rows, freq="min"),
            "t": rng.normal(size=rows),
            "note": [f"n{i}" for i in range(rows)],
        }
    )
    path = tmp_path / "x.parquet"
    frame.to_parquet(path, compression=["snappy", "zstd", None][seed % 3])
    raw = bytearray(path.read_bytes())
    for at in rng.integers(4, len(raw) - 4, 1 + seed % 4):
        raw[at] ^= 1 << int(rng.integers(8))
    path.write_bytes(raw)
    with suppress(fm.InputError):
        origin = fm.read(path).origin
        assert origin.read == origin.used + origin.duplicates + origin.set_aside
    path.write_text("")  # and the next file is read as ever
    (tmp_path / "y.csv").write_text(GOOD)
    assert fm.read(tmp_path / "y.csv").origin.used == 10


# netCDF


def station_file(**changes):
    xr = pytest.importorskip("xarray")
    data = xr.Dataset(
        {
            "t": (("station", "time"), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
            "station_id": (
                "station",
                np.array(["a", "b"], dtype=object),
                {"cf_role": "timeseries_id"},
            ),
        },
        coords={"time": pd.date_range("2024-01-01", periods=3, freq="h")},
    )
    return data.assign(changes)


def test_parquet_whose_page_claims_gigabytes(tmp_path):
    """One byte of a page's length, found by fuzzing: DuckDB asked for 2 GB for a file of 2 kB."""
    name, data = binaries.made(10_900_395, kinds=9)  # as many as there were when it was found
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(fm.InputError, match="damaged"):
        fm.read(path)


def test_netcdf_with_more_dimensions(tmp_path):
    path = tmp_path / "x.nc"
    deep = (("station", "time", "depth"), np.zeros((2, 3, 4)))
    station_file(current=deep).to_netcdf(path, engine="h5netcdf")
    records = fm.read(path)
    assert records.conditions == ("t",)
    assert any("more dimensions passed over: current" in note for note in records.origin.notes)
    station_file(current=deep).drop_vars("t").to_netcdf(path, engine="h5netcdf")
    refused(path, "its stations alone; passed over: current")


@pytest.mark.parametrize(
    "attribute", ["standard_name", "cf_role", "units", "flag_values", "sample_dimension"]
)
def test_netcdf_with_arrays_for_attributes(attribute, tmp_path):
    data = station_file()
    data["t"].attrs[attribute] = np.array([1.0, 2.0])
    data["station_id"].attrs["long_name"] = np.array([1, 2])
    data.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    with suppress(fm.InputError):
        assert fm.read(tmp_path / "x.nc").nodes == ("a", "b")


@pytest.mark.parametrize(
    ("kind", "cells", "said"),
    [
        ("sample", [2, 9], "row sizes sum to 11"),
        ("sample", [-1, 5], "row sizes"),
        ("index", [0, 7, 1, -3], ""),
        ("index", [0, 0, 1, 1], ""),
    ],
)
def test_netcdf_with_indices_that_are_off(kind, cells, said, tmp_path):
    xr = pytest.importorskip("xarray")
    data = xr.Dataset(
        {
            "t": ("obs", [1.0, 2, 3, 4]),
            "station_id": (
                "station",
                np.array(["a", "b"], dtype=object),
                {"cf_role": "timeseries_id"},
            ),
        },
        coords={"time": ("obs", pd.date_range("2024-01-01", periods=4, freq="h"))},
    )
    if kind == "sample":
        data["n"] = ("station", cells, {"sample_dimension": "obs"})
    else:
        data["n"] = ("obs", cells, {"instance_dimension": "station"})
    path = tmp_path / "x.nc"
    data.to_netcdf(path, engine="h5netcdf")
    if said:
        refused(path, said)
    else:
        origin = fm.read(path).origin
        assert origin.set_aside == sum(not 0 <= cell < 2 for cell in cells)


# Streams and devices


def test_a_fifo_is_read_as_a_stream(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(GOOD))
    writer.start()
    records = fm.read(path)
    writer.join()
    assert records.origin.used == 10
    assert records.nodes == ("a", "b")


def test_a_substituted_process(tmp_path):
    script = f"{sys.executable} -m fieldmend inspect <(printf '%s' \"$DATA\") --json"
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "DATA": GOOD},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"nodes": 2' in done.stdout


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_a_device_is_no_file(device):
    refused(device, "it is a device")


def test_a_stream_of_zeros_is_bounded(tmp_path):
    with Path("/dev/zero").open("rb") as zeros:
        done = subprocess.run(
            [*RUN, "inspect", "-"], stdin=zeros, capture_output=True, text=True, check=False
        )
    assert done.returncode == 3
    assert "nothing but zeros" in done.stderr


# Archives and compression


@pytest.mark.parametrize(
    ("suffix", "pack"), [("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)]
)
def test_compressed_files(suffix, pack, tmp_path):
    path = tmp_path / f"x.csv.{suffix}"
    raw = pack(
        GOOD.encode() * 1 + "".join(f"c,2024-01-01 00:{i:02d},{i}\n" for i in range(60)).encode()
    )
    path.write_bytes(raw)
    assert fm.read(path).origin.used == 70
    path.write_bytes(raw[:-12])
    refused(path, "damaged or cut short|not text|no records")
    path.write_bytes(GOOD.encode())
    refused(path, f"named .{suffix}, but it is not")
    path.write_bytes(pack(b"\0" * 40_000_000))
    refused(path, "expands more than 1000 times|not text")


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tgz", "tar.xz"])
def test_archives(kind, tmp_path):
    names = {
        "day1.csv": GOOD,
        "deep/er/day2.csv": GOOD.replace("2024-01-01", "2024-01-02"),
        "../../up.csv": GOOD.replace("2024-01-01", "2024-01-03"),
        ".hidden": "x",
        "__MACOSX/._day1.csv": "x",
    }
    path = tmp_path / f"x.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in names.items():
                archive.writestr(name, text)
    else:
        mode = {"tar": "w", "tar.gz": "w:gz", "tgz": "w:gz", "tar.xz": "w:xz"}[kind]
        with tarfile.open(path, mode) as archive:
            for name, text in names.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
    records = fm.read(path)
    assert records.origin.used == 30
    assert {f.name for f in records.origin.files} == {f"{path}/{name}" for name in list(names)[:3]}
    assert not (tmp_path.parent / "up.csv").exists()
    path.write_bytes(path.read_bytes()[:60])
    refused(path, "cannot be read|no file in")


def test_a_zip_bomb(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.csv", b"\0" * 60_000_000)
    refused(path, "expands more than 1000 times")


def test_a_zip_with_a_password_or_without_files(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w"):
        pass
    refused(path, "no file in the archive|named .zip|not text|cannot")
    path = tmp_path / "book.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    refused(path, "xlsx files are not read")


# Folders, patterns, names


def test_a_folder_and_a_pattern(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for i in range(3):
        (tmp_path / "in" / f"day{i}.csv").write_text(
            GOOD.replace("2024-01-01", f"2024-01-0{i + 1}")
        )
    (tmp_path / "in" / "deep" / "day9.csv").write_text(GOOD.replace("2024-01-01", "2024-01-09"))
    (tmp_path / "in" / "readme.md").write_text("# readings")
    (tmp_path / "in" / "day0.recovered.csv").write_text("made by fieldmend")
    records = fm.read(tmp_path / "in")
    assert records.origin.used == 40
    assert "4 files, 2 others passed over" in " ".join(records.origin.notes)
    assert fm.read(str(tmp_path / "in" / "day[01].csv")).origin.used == 20
    assert fm.read(str(tmp_path / "in" / "**" / "day*[0-9].csv")).origin.used == 40
    (tmp_path / "in" / "day[01].csv").write_text(GOOD)
    assert (
        fm.read(str(tmp_path / "in" / "day[01].csv")).origin.used == 10
    )  # a file of that very name
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "a folder without a file")
    refused(str(tmp_path / "no*.csv"), "no such file")


def test_files_of_one_name_in_two_folders_are_two_nodes(tmp_path):
    station = "time,temperature,humidity\n" + "".join(
        f"2024-01-01 0{h}:00,{h}.5,4{h}\n" for h in range(5)
    )
    for folder in ("north", "south"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mast.csv").write_text(station)
    records = fm.read([tmp_path / "north" / "mast.csv", tmp_path / "south" / "mast.csv"])
    assert records.nodes == ("north/mast", "south/mast")
    assert any("2 folders have a file named mast" in note for note in records.origin.notes)
    assert fm.read(tmp_path / "north" / "mast.csv").nodes == ("mast",)


def test_an_accelerometer_is_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "node": ["a", "b"] * 20,
            "time": np.repeat(pd.date_range("2024-01-01", periods=20, freq="s"), 2),
            **{axis: rng.normal(size=40).round(3) for axis in "xyz"},
        }
    )
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False)
    refused(path, "accelerometer")
    assert fm.read(path, conditions=["x", "y", "z"]).conditions == ("x", "y", "z")
    frame[["x", "y", "z"]] = [[1, 2, 3], [4, 5, 6]] * 20
    frame.assign(t=1.5).to_csv(path, index=False)
    assert fm.read(path).places == {
        "a": {"x": 1.0, "y": 2.0, "z": 3.0},
        "b": {"x": 4.0, "y": 5.0, "z": 6.0},
    }


# SQLite


def database(path, *statements):
    con = sqlite3.connect(path)
    for statement in statements:
        con.execute(statement)
    con.commit()
    con.close()
    return path


def test_a_view_without_end_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("fieldmend.records.sources.databases.LEAST_ROWS", 200_000)
    path = database(
        tmp_path / "x.db",
        "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT 'a' AS node, 1704067200 + i AS time, i AS t FROM n",
    )
    refused(path, "a view without end")


def test_a_blob_of_many_megabytes(tmp_path):
    path = database(
        tmp_path / "x.db",
        "CREATE TABLE t (node, time, temperature)",
        "INSERT INTO t VALUES ('a', '2024-01-01', zeroblob(50000000))",
    )
    refused(path, "too big|none of|no column")


# Many columns


def test_eight_hundred_columns(tmp_path):
    path = tmp_path / "x.csv"
    rng = np.random.default_rng(0)
    rows = [
        ",".join([f"2024-01-01 0{h}:00", *map(str, rng.normal(size=799).round(2))])
        for h in range(4)
    ]
    path.write_text("\n".join([",".join(["time", *(f"n{i}" for i in range(799))]), *rows]) + "\n")
    records = fm.read(path)
    assert records.origin.cells["value"].used == 4 * 799
    assert records.grid().shape == (4, 799)


# Found by the fuzz run


def test_a_quote_that_does_not_close_between_blanks(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('"Plot Title\n' + '"Plot Title: A"\n' * 5 + '},06/05/23 1 AM,24>5\n"Plot Title')
    refused(path, "no column holds the time")


@pytest.mark.parametrize("years", [(-275_000, 288_000), (54_000, -292_200)])
def test_times_that_no_clock_tells(years, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    year = 31_556_952_000_000  # microseconds; 2**63 of them are 292,271 years
    stamps = [y * year + k * 3_600_000_000 for y in years for k in range(3)]
    table = pa.table(
        {"node": ["a"] * 6, "time": pa.array(stamps, pa.timestamp("us")), "t": [1.5] * 6}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(fm.InputError):
        fm.read(tmp_path / "x.parquet").grid()


def test_a_file_that_ends_its_reader_when_it_is_cleared_away(tmp_path):
    (tmp_path / "x.nc").write_bytes(binaries.made(90040069, kinds=9)[1])
    assert not survived(tmp_path / "x.nc")
    refused(tmp_path / "x.nc", "damaged")


# Signals and closed streams


def started(tmp_path, *more):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    process = subprocess.Popen(
        [*RUN, "inspect", str(path), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path / "t")},
        text=True,
    )
    return path, process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_while_it_reads(number, code, tmp_path):
    (tmp_path / "t").mkdir()
    path, process = started(tmp_path)
    with path.open("w") as file:  # opens once the reader is there
        file.write(GOOD)
        file.flush()
        time.sleep(0.5)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert "Traceback" not in said
    assert not list((tmp_path / "t").iterdir())


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "> /dev/full"])
def test_closed_streams(closed, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(GOOD)
    script = f"{sys.executable} -m fieldmend inspect {path} {closed}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 4), done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_grows_while_it_is_read(tmp_path):
    """The account is of what was there; a half line at the end is set aside or completed."""
    path = tmp_path / "x.csv"
    path.write_text(GOOD)
    stop = threading.Event()

    def grow():
        with Path(path).open("a") as file:
            for i in range(3600):
                file.write(f"a,2024-01-02 00:{i // 60:02d}:{i % 60:02d},1\n")
                if stop.wait(0.001):
                    break

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        origin = fm.read(path, on_duplicate="mean").origin
    finally:
        stop.set()
        writer.join()
    assert origin.read == origin.used + origin.duplicates + origin.set_aside
    _is_of_what_was_used(origin, path)


def _is_of_what_was_used(origin, path):
    (read,) = origin.files
    used = path.read_bytes()[: read.bytes]
    assert hashlib.sha256(used).hexdigest() == read.sha256
    assert origin.read == used.count(b"\n") - 1


def appended_to(monkeypatch, path, more):
    """Something is written once the file was looked at, before its rows are loaded."""
    run = Steps.run

    def late(self, *given):
        with path.open("ab") as file:
            file.write(more)
        return run(self, *given)

    monkeypatch.setattr(Steps, "run", late)


def test_a_line_that_is_being_written_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text(GOOD)
    appended_to(monkeypatch, path, b"b,2024-01-01 05:00,25.5\nb,2024-01-01 06:")
    origin = fm.read(path).origin
    assert (origin.read, origin.used) == (11, 11)  # as it was when it was read again
    assert any("changed while it was read: the lines" in note for note in origin.notes)
    _is_of_what_was_used(origin, path)


def test_other_files_that_change_while_they_are_read_are_said(tmp_path, monkeypatch):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    appended_to(monkeypatch, path, gzip.compress(b"b,2024-01-01 05:00,25.5\n"))
    origin = fm.read(path).origin
    assert (origin.used, origin.files[0].sha256) == (10, before)
    assert any("its SHA-256 is of how it was before" in said for said in origin.warnings)


# A crowd


def test_more_rows_at_one_time_than_can_be_joined(tmp_path, monkeypatch):
    monkeypatch.setattr("fieldmend.records.table.duplicates.CROWD", 50)
    path = tmp_path / "x.csv"
    rows = "".join(f"a,2024-01-01,{i % 9}.5\n" for i in range(51))
    path.write_text(HEAD + rows)
    for how in ("mean", "first", "last"):
        refused(path, "51 rows of node a have one and the same time.*at most 50", on_duplicate=how)
    path.write_text(HEAD + rows.replace("a", "b", 1))
    assert fm.read(path, on_duplicate="mean").origin.duplicates == 49
