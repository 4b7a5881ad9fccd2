"""Files appear whole or not at all, under names that are safe."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from exported import PLACES, recovered, write
from fieldmend.export import (
    OutputError,
    check_outputs,
    whole,
)
from fieldmend.export.naming import safe_name


@pytest.fixture(scope="module")
def rec():
    return recovered(("temperature", "humidity"), places=PLACES)


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
