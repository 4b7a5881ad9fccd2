"""Dask's workers give what one process gives; killed ones cost their piece only."""

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.core.cluster import Cluster, SchedulerLost
from fieldmend.recovery import windows

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def client():
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            env={"PYTHONPATH": environment["PYTHONPATH"]},
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def once_dead(number: int, mark: str) -> int:
    """The first worker to see 2 ends as if there were no memory left."""
    if number == 2 and not Path(mark).exists():
        Path(mark).write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def failing(number: int) -> None:
    msg = f"no {number}"
    raise ValueError(msg)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_windows_by_dask_are_the_same_even_if_a_worker_is_killed(client, tmp_path, monkeypatch):
    crew = Cluster(client)
    assert crew.size == 2
    with pytest.raises(ValueError, match="no 1"):
        list(crew.ordered(failing, [1]))
    kernel = partial(once_dead, mark=str(tmp_path / "mark"))
    assert [made for _, made in crew.ordered(kernel, range(5))] == [0, 1, 4, 9, 16]
    assert (tmp_path / "mark").exists()
    monkeypatch.setattr(windows, "SHORTEST", 60)
    monkeypatch.setattr(windows, "WINDOW", 0)
    net = fm.simulate.network(slots=150, nodes=6, seed=3)
    grid = fm.Grid.of(net.readings, condition="t")
    options = {"holdout": False}
    alone = fm.recover(grid, workers=1, **options)["t"]
    shared = fm.recover(grid, client=client, **options)["t"]
    for part in ("estimate", "lower", "upper", "flag", "scale"):
        np.testing.assert_array_equal(getattr(shared, part), getattr(alone, part), part)
    assert shared.episodes == alone.episodes


def test_a_scheduler_that_is_not_there_is_an_answer(monkeypatch):
    monkeypatch.setattr("fieldmend.core.cluster.PATIENCE", "0.5s")
    with pytest.raises(SchedulerLost, match="no scheduler of Dask answers"):
        Cluster("tcp://127.0.0.1:9")


@pytest.mark.long
def test_a_run_whose_scheduler_is_killed_is_resumed_to_the_same_bytes(tmp_path):
    net = fm.simulate.network(slots=300, nodes=5, seed=2)
    lines = [
        f"{n},2024-01-01T{t // 60:02d}:{t % 60:02d}:00Z,{net.readings[t, n]:.3f}"
        for t, n in np.argwhere(np.isfinite(net.readings)).tolist()
    ]
    source = tmp_path / "x.csv"
    source.write_text("node,time,temperature\n" + "\n".join(lines) + "\n")
    code = (
        "import sys, time\n"
        "from fieldmend.recovery import windows, keeping\n"
        "windows.SHORTEST = 60; windows.SMALLEST = 1; windows.EACH = 10**9\n"
        "save = keeping.Kept.save\n"
        "keeping.Kept.save = lambda *a: (save(*a), time.sleep(float(sys.argv[1])))\n"
        "from fieldmend.cli.run import main\n"
        "sys.exit(main(sys.argv[2:]))\n"
    )

    def command(out, pause, *more):
        words = ["recover", str(source), "--out", str(out), "--memory", "1GB", "--slot", "1min"]
        words += ["--quiet", "--no-holdout", "--no-report", *more]
        return subprocess.Popen([sys.executable, "-c", code, str(pause), *words])

    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [*dask, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        stderr=subprocess.PIPE,
        text=True,
    )
    address = ""
    while not address:
        address = "".join(re.findall(r"tcp://127\.0\.0\.1:\d+", scheduler.stderr.readline()))
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"],
        stderr=subprocess.DEVNULL,
    )
    try:
        run = command(tmp_path / "b", 2, "--scheduler", address)
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob("b/*.recovered/.unfinished/*-000001.npz")):
            assert time.monotonic() < deadline
            assert run.poll() is None
            time.sleep(0.05)
        scheduler.kill()
        assert run.wait(120) == 4
    finally:
        scheduler.kill()
        worker.kill()
        for one in (scheduler, worker):
            one.wait()
        scheduler.stderr.close()
    assert command(tmp_path / "b", 0, "--resume", "--workers", "1").wait() == 0
    assert command(tmp_path / "a", 0, "--workers", "1").wait() == 0
    for path in (tmp_path / "a").rglob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
