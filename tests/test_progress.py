"""How far it is: stages of the reader, the bars, and what a signal leaves."""

import gzip
import io
import os
import signal
import subprocess
import sys
import time
from typing import ClassVar

import pytest
from rich.console import Console
from rich.progress import Progress, TaskProgressColumn, TextColumn

import fieldmend as fm
from fieldmend import scratch
from fieldmend.cli import main, run
from fieldmend.cli.progress import Bars, Silence, progress, time_left
from fieldmend.records import watching


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Some megabytes, packed and with CR: every stage of the reader has something to do."""
    rows = "".join(f"n{i % 9},2024-01-{1 + i // 9000:02d} {i // 375 % 24:02d}:{i // 9 % 60:02d},"
                   f"{20 + i % 7 / 10}\r" for i in range(90_000))  # fmt: skip
    path = tmp_path_factory.mktemp("large") / "large.csv.gz"
    path.write_bytes(gzip.compress(("node,time,temperature\r" + rows).encode(), 1))
    return path


def test_every_stage_of_reading_says_how_far_it_is(large):
    seen = []
    with watching.watched(lambda what, share: seen.append((what, share))):
        records = fm.read(large, on_duplicate="mean")
        records.grid("1h")
        records.close()
    stages = list(dict.fromkeys(what for what, _ in seen))
    assert stages == ["checking", "unpacking", "looking through", "rewriting", "loading",
                      "looking for duplicates", "making slots"]  # fmt: skip
    for stage in stages:
        shares = [share for what, share in seen if what == stage]
        assert shares == sorted(shares), stage
        assert 0 <= shares[0] <= shares[-1] <= 1
    for stage in set(stages) - {"rewriting"}:
        assert seen[max(i for i, one in enumerate(seen) if one[0] == stage)][1] == 1.0


def test_nobody_is_told_who_does_not_watch(large):
    watching.tell("checking", 1, 2)
    seen = []
    with watching.watched(lambda what, share: seen.append(what)):
        pass
    fm.read(large, on_duplicate="mean").close()
    assert seen == []


def test_a_query_is_looked_at_while_it_lasts(monkeypatch):
    monkeypatch.setattr(watching, "EVERY", 0.01)
    percents = iter([-1.0, 12.0, 80.0])

    class Connection:
        said: ClassVar = []

        def execute(self, sql):
            self.said.append(sql)

        def query_progress(self):
            return next(percents, 90.0)

    seen = []
    with watching.watched(lambda *one: seen.append(one)), watching.query(Connection(), "loading"):
        time.sleep(0.1)
    assert seen[:2] == [("loading", 0.12), ("loading", 0.8)]
    assert seen[-1] == ("loading", 1.0)
    assert "enable_progress_bar = false" in Connection.said[-1]


def test_bars_start_anew_with_each_stage():
    screen = io.StringIO()
    columns = (TextColumn("{task.description}"), TaskProgressColumn())
    console = Console(file=screen, force_terminal=False, width=80)
    with Progress(*columns, console=console) as progress:
        bars = Bars(progress)
        bar = bars.reading("x.csv")
        bar.stage("checking", 0.9)
        bar.stage("loading", 0.25)
        task = progress.tasks[0]
        assert (task.description, task.percentage) == ("loading x.csv", 25)
        bar.done(1000)
        assert "rows/s" in task.fields["rate"]
        begun = bars.writing(2)
        begun("a.parquet")
        begun("b.html")
        assert (progress.tasks[1].description, progress.tasks[1].percentage) == (
            "writing b.html",
            50,
        )
    silent = Silence()
    silent.reading("x").stage("loading", 0.5)
    silent.writing(1)("a")


@pytest.mark.parametrize(("done", "before", "left"), [
    (0.0, 0.0, None), (0.2, 0.0, 40.0), (1.0, 0.0, 0.0), (0.6, 0.5, 40.0), (0.5, 0.5, None),
])  # fmt: skip
def test_the_time_left_is_at_the_pace_since_the_stage_began(done, before, left):
    got = time_left(10.0, done, 1.0, before)
    assert got == (None if left is None else pytest.approx(left))


def test_a_bar_that_stands_says_how_long_it_may_take(monkeypatch):
    """While one long step lasts, the pace of late is nothing."""
    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, width=120)
    monkeypatch.setattr("fieldmend.cli.terminal.console", lambda stream: screen)
    with progress(True) as bars:
        bars._progress.get_time = iter(range(0, 100_000, 30)).__next__
        step = bars.recovering(100)
        step("recovering t", 0.2)
        bars._progress.refresh()
    assert "-:--:--" not in out.getvalue().splitlines()[-1]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_that_duckdb_turned_into_an_error_is_still_one(monkeypatch, capsys, number, code):
    """Within a query DuckDB hands out a RuntimeError in the place of what the handler raised."""

    def invoked(given):
        try:
            signal.raise_signal(number)
        except BaseException:
            raise RuntimeError("Query interrupted") from None

    monkeypatch.setattr(run, "_invoke", invoked)
    usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    found = signal.signal(number, usual)  # who is started in the background has SIGINT ignored
    try:
        assert main(["inspect", "x.csv"]) == code
        assert "error inside" not in capsys.readouterr().err
        assert signal.getsignal(number) is usual
    finally:
        signal.signal(number, found)


def test_what_killed_runs_left_is_removed_and_nothing_else(tmp_path):
    code = (
        "from fieldmend import scratch; import os; print(scratch.folder()); os.kill(os.getpid(), 9)"
    )
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=False)
    assert done.returncode == -9
    left = list(tmp_path.iterdir())
    assert len(left) == 1
    (left[0] / "gigabytes").write_text("x")
    other = tmp_path / f"fieldmend-{scratch.host()}-{os.getpid()}-alive"
    elsewhere = tmp_path / "fieldmend-00000000-1-x"
    for keep in (other, elsewhere):
        keep.mkdir()
    code = "from fieldmend import scratch; scratch.folder().rmdir()"
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    assert {path.name for path in tmp_path.iterdir()} == {other.name, elsewhere.name}
