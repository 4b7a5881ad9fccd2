"""Records that do not fit: a limit of memory, parts, and runs that go on after they were ended."""

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace

import duckdb
import numpy as np
import pytest

import fieldmend as fm
from fieldmend import spill
from fieldmend.cli.run import main
from fieldmend.recovery import keeping, runs, service, windows
from fieldmend.result import spaced


@pytest.fixture
def short(monkeypatch):
    """Windows of 60 slots, whatever the memory."""
    monkeypatch.setattr(windows, "SHORTEST", 60)
    monkeypatch.setattr(windows, "fitting", lambda memory: 1)
    monkeypatch.setattr("fieldmend.recovery.job.fitting", lambda memory: 1)


@pytest.fixture
def grid():
    net = fm.simulate.network(slots=150, nodes=6, seed=3)
    X = np.where(np.arange(150)[:, None] == 70, np.nan, net.readings)
    return fm.Grid.of(X, condition="temperature", unit="°C")


def test_sizes_as_people_write_them():
    assert spill.size_in_bytes("800MB") == 800_000_000
    assert spill.size_in_bytes("2 GiB") == 2 << 30
    assert spill.size_in_bytes(1e9) == 10**9
    for wrong in ("", "4 apples", "-1GB", "1.2.3GB"):
        with pytest.raises(ValueError, match="no size of memory"):
            spill.size_in_bytes(wrong)


@pytest.mark.parametrize("wrong", ["4 apples", "10MB", 0, -5])
def test_a_limit_that_is_none_is_refused(grid, wrong):
    with pytest.raises(fm.InputError, match="memory"):
        fm.recover(grid, memory=wrong)


def test_a_limit_holds_within_only():
    free = spill.free_memory()
    with spill.limited(1000):
        assert spill.free_memory() == 1000
    assert spill.limit() is None
    assert spill.free_memory() > 1000 < free


def test_a_limited_recovery_is_the_usual_one_in_single_precision(grid):
    usual = fm.recover(grid)["temperature"]
    one = fm.recover(grid, memory="1GB")["temperature"]
    assert one.estimate.dtype == np.float32
    np.testing.assert_array_equal(one.estimate, usual.estimate.astype(np.float32))
    np.testing.assert_array_equal(one.flag, usual.flag)


def test_a_kept_window_comes_back_as_it_was(tmp_path, grid, short):
    rec = fm.recover(grid, memory="1GB", holdout=False, keep=tmp_path / "run")
    files = sorted((tmp_path / "run").glob("*.npz"))
    assert len(files) == len(windows.windows(*grid.shape, 1)) > 2
    again = fm.recover(grid, memory="1GB", holdout=False, keep=tmp_path / "run")
    for part in ("estimate", "lower", "upper", "flag", "anomaly", "scale", "replaced"):
        np.testing.assert_array_equal(
            getattr(rec["temperature"], part), getattr(again["temperature"], part), part
        )
    assert rec["temperature"].episodes == again["temperature"].episodes
    assert rec.summary() == again.summary()


def test_a_run_goes_on_where_it_was_ended(tmp_path, grid, short, monkeypatch):
    whole = fm.recover(grid, memory="1GB", holdout=False, keep=tmp_path / "whole")
    save, saved = keeping.Kept.save, []

    def ended(self, window, found):
        if window == 2:
            raise KeyboardInterrupt
        save(self, window, found)

    monkeypatch.setattr(keeping.Kept, "save", ended)
    with pytest.raises(KeyboardInterrupt):
        fm.recover(grid, memory="1GB", holdout=False, keep=tmp_path / "run")
    monkeypatch.setattr(
        keeping.Kept, "save", lambda self, w, found: saved.append(w) or save(self, w, found)
    )
    rec = fm.recover(grid, memory="1GB", holdout=False, keep=tmp_path / "run")
    assert saved[0] == 2
    np.testing.assert_array_equal(rec["temperature"].estimate, whole["temperature"].estimate)
    other = replace(grid, values={"temperature": grid.values["temperature"] + 1})
    for given, options in ((other, {}), (grid, {"seed": 1})):
        with pytest.raises(fm.InputError, match="other readings or options"):
            fm.recover(given, memory="1GB", holdout=False, keep=tmp_path / "run", **options)


def test_parts_are_read_as_one_table(tmp_path, grid, short):
    rec = fm.recover(grid, memory="1GB", holdout=False)
    rec.to_parquet(tmp_path / "parts", parts=True)
    rec.to_parquet(tmp_path / "whole.parquet")
    ask = "SELECT {} FROM '{}' ORDER BY time, node"
    names = "node, epoch_us(time) AS time, temperature_flag AS flag, temperature::FLOAT AS r"
    names += ", temperature_filled::FLOAT AS filled"
    parts = duckdb.sql(ask.format(names, tmp_path / "parts" / "*.parquet")).fetchall()
    whole = duckdb.sql(ask.format(names, tmp_path / "whole.parquet")).fetchall()
    same = [tuple(None if str(cell) == "nan" else cell for cell in row) for row in whole]
    assert parts == same
    kinds = duckdb.sql(f"DESCRIBE FROM '{tmp_path}/parts/*.parquet'").fetchall()
    made = {row[0]: row[1] for row in kinds if row[0].startswith("temperature")}
    assert set(made.values()) == {"FLOAT", "TINYINT"}
    heard = np.mean([row[3] is not None for row in parts])
    bytes_a_cell = 4 * heard + 4 + 8 * (1 - heard) + 1
    assert bytes_a_cell <= 12
    bounded = duckdb.sql(
        f"SELECT count(temperature_lower) FROM '{tmp_path}/parts/*.parquet' "
        "WHERE temperature_flag = 1"
    )
    assert bounded.fetchall() == [(0,)]
    manifest = json.loads((tmp_path / "parts" / "_manifest.json").read_text())
    assert sum(part["rows"] for part in manifest["parts"]) == len(parts)
    assert len(manifest["parts"]) == len(windows.windows(*grid.shape, 1))


def test_pandas_and_polars_read_the_folder(tmp_path, grid, short):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    fm.recover(grid, memory="1GB", holdout=False).to_parquet(tmp_path / "parts", parts=True)
    rows = grid.shape[0] * grid.shape[1]
    assert len(pandas.read_parquet(tmp_path / "parts")) == rows
    assert len(polars.read_parquet(tmp_path / "parts" / "*.parquet")) == rows


# The command -------------------------------------------------------------------------------------


def written(tmp_path, slots=40, nodes=5):
    folder = tmp_path / "year"
    folder.mkdir()
    net = fm.simulate.network(slots=2 * slots, nodes=nodes, seed=2)
    for part in range(2):
        rows = range(part * slots, (part + 1) * slots)
        lines = [
            f"{n},2024-01-01T{t // 60:02d}:{t % 60:02d}:00Z,{net.readings[t, n]:.3f}"
            for t in rows
            for n in range(nodes)
            if np.isfinite(net.readings[t, n])
        ]
        (folder / f"{part}.csv").write_text("node,time,temperature\n" + "\n".join(lines) + "\n")
    return folder


def test_a_folder_is_an_input_and_parts_come_out(tmp_path, capsys):
    source, out = written(tmp_path), tmp_path / "out"
    arguments = ["recover", str(source), "--out", str(out), "--memory", "1GB", "--slot", "1min"]
    assert main([*arguments, "--quiet", "--no-report", "--no-holdout"]) == 0
    (folder,) = out.glob("*.recovered")
    assert sorted(path.name for path in folder.iterdir()) == [
        "_manifest.json",
        "part-000000.parquet",
    ]
    assert main([*arguments, "--quiet"]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert main([*arguments, "--quiet", "--resume"]) == 2
    assert "it is whole" in capsys.readouterr().err
    assert main([*arguments, "--format", "csv"]) == 2
    assert main(["recover", str(source), "--resume"]) == 2
    assert main(["recover", str(source), "--memory", "4 apples"]) == 2


def test_a_killed_command_is_resumed_to_the_same_bytes(tmp_path):
    source = written(tmp_path, slots=200)
    code = (
        "import sys\n"
        "from fieldmend.recovery import windows, keeping\n"
        "windows.SHORTEST = 60; windows.SMALLEST = 1; windows.EACH = 10**9\n"
        "if sys.argv[1] == 'slow':\n"
        "    import time; save = keeping.Kept.save\n"
        "    keeping.Kept.save = lambda *a: (save(*a), time.sleep(1))\n"
        "from fieldmend.cli.run import main\n"
        "sys.exit(main(sys.argv[2:]))\n"
    )

    def command(out, how, *more):
        words = ["recover", str(source), "--out", str(out), "--memory", "1GB", "--slot", "1min"]
        words += ["--quiet", "--no-holdout", "--no-report", "--workers", "1", *more]
        return subprocess.Popen([sys.executable, "-c", code, how, *words])

    assert command(tmp_path / "a", "fast").wait() == 0
    run = command(tmp_path / "b", "slow")
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("b/*.recovered/.unfinished/*.npz"))) < 2:
        assert time.monotonic() < deadline
        assert run.poll() is None
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert not list(tmp_path.glob("b/*.recovered/_manifest.json"))
    assert command(tmp_path / "b", "fast", "--resume").wait() == 0
    files = [path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*")]
    assert len(files) > 5
    for file in files:
        if (tmp_path / "a" / file).is_file():
            assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert not list(tmp_path.glob("b/*.recovered/.unfinished"))


# What is drawn and counted of a long record -------------------------------------------------------


def test_statistics_of_a_long_record_are_drawn_from_evenly_spaced_slots(
    tmp_path, grid, monkeypatch
):
    rec = fm.recover(grid, holdout=False)
    said = "statistics are drawn from one slot in 3; all else is of the whole record"
    rec.report(tmp_path / "all.html")
    assert said not in (tmp_path / "all.html").read_text()
    monkeypatch.setattr("fieldmend.report.page.DRAWN", 300)
    rec.report(tmp_path / "some.html")
    assert said in (tmp_path / "some.html").read_text()


def test_spaced_slots_hold_what_the_record_holds_there(grid):
    rec = fm.recover(grid, holdout=False)
    some = spaced.spaced(rec, 300)
    one, whole = some["temperature"], rec["temperature"]
    for part in ("observed", "estimate", "lower", "flag", "replaced", "state"):
        np.testing.assert_array_equal(getattr(one, part), getattr(whole, part)[::3])
    np.testing.assert_array_equal(some.grid.times, grid.times[::3])
    assert some.grid.slot == 3 * grid.slot
    assert len(one.episodes) == len(whole.episodes) > 0
    assert all(0 <= e.start < e.stop <= 50 for e in one.episodes)
    assert spaced.spaced(rec, 10**6) is rec


def test_stretches_found_by_blocks_are_those_found_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    for size in (3, 7, 50):
        monkeypatch.setattr("fieldmend.core.engine.BLOCK_ENTRIES", size)
        mask = rng.random((40, 3)) < 0.6
        found = runs.runs(lambda rows, mask=mask: mask[rows], mask.shape)
        naive = []
        for n in range(3):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], mask[:, n], [0]]).astype(int)))
            naive += [(n, a, b) for a, b in edges.reshape(-1, 2).tolist()]
        assert list(zip(*(x.tolist() for x in vars(found).values()), strict=True)) == naive


def test_nothing_as_large_as_the_record_is_held_to_tell_of_it(tmp_path, grid):
    """Counts, lists and parts of a record of two million places take a part of its size."""
    slots, nodes = 200_000, 10
    X = spill.on_disk((slots, nodes))
    X[:] = 20.0
    X[::7, 3] = np.nan
    long = fm.Grid({"t": X}, tuple("abcdefghij"), 60_000_000 * np.arange(slots), 60_000_000)
    one = fm.recover(grid, holdout=False)["temperature"]
    arrays = {name: spill.on_disk(X.shape, np.float32) for name in ("estimate", "anomaly")}
    arrays["flag"] = spill.on_disk(X.shape, np.int8)
    arrays["flag"][:] = np.where(np.isnan(X), 9, 1)
    arrays["flag"][5, 5] = 3
    arrays["replaced"] = spill.on_disk(X.shape, np.bool_)
    found = replace(
        one, observed=X, lower=None, upper=None, service=service.service(X, long.slot),
        episodes=(), scale=np.ones(nodes), **arrays,
    )  # fmt: skip
    rec = fm.Recovery(long, {"t": found}, replace(fm.recovery.Options(), window=1))
    rec.summary()
    tracemalloc.start()
    service.service(X, long.slot)
    assert rec.summary()["conditions"]["t"]["flags"]["suspect"] == 1
    assert rec.anomaly_columns()["node"].tolist() == ["f"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * X.nbytes
