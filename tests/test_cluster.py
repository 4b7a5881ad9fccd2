"""Dask's workers give what one process gives; killed ones cost their piece only."""

import os
import pickle
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
from fieldmend.core import noise, spread
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


def counted(client, monkeypatch):
    """Bytes that each sweep of the solver moves, to or from the worker with the most; and k."""
    moved, sweeps, plain = [0], [], spread.Spread.sweep
    submit, gather = client.submit, client.gather

    def submitted(task, *given, **how):
        own = [one for one in given if not isinstance(one, distributed.Future)]
        moved[0] += sum(len(pickle.dumps(one)) for one in own)
        return submit(task, *given, **how)

    def gathered(futures, *more, **how):
        out = gather(futures, *more, **how)
        moved[0] += max(len(pickle.dumps(one)) for one in out)
        return out

    def swept(this, kernel, others):
        before = moved[0]
        known = dict(zip(kernel.__code__.co_freevars, kernel.__closure__ or (), strict=True))
        out = plain(this, kernel, others)
        if "HuberSolver._sweep" in kernel.__qualname__ and isinstance(others[1], spread.Spread):
            sweeps.append((moved[0] - before, known["B"].cell_contents.shape[1]))
        return out

    monkeypatch.setattr(client, "submit", submitted)
    monkeypatch.setattr(client, "gather", gathered)
    monkeypatch.setattr(spread.Spread, "sweep", swept)
    return sweeps


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_readings_with_the_workers_are_swept_there_even_if_one_is_killed(client, monkeypatch):
    """Rows stay, kernels and sums travel: 8·N·4k bytes a sweep and worker at the most."""
    X = fm.simulate.network(slots=300, nodes=60, seed=1, rank=3, anomaly_rate=0.02).readings
    tol = 1e-4
    here = fm.decompose(X, tol=tol)
    lazy = pytest.importorskip("dask.array").from_array(X, chunks=(90, 40))
    with monkeypatch.context() as watched:
        sweeps = counted(client, watched)
        out = fm.decompose(lazy, tol=tol, client=client)
    assert len(sweeps) > 5
    assert all(size <= 8 * 60 * 4 * k for size, k in sweeps)
    assert out.gap <= tol
    assert out.objective == pytest.approx(here.objective, rel=1e-9)
    np.testing.assert_allclose(out.estimate[:], here.estimate, atol=1e-6)
    np.testing.assert_array_equal(out.sparse[:] != 0, here.sparse != 0)
    pids = list(client.run(os.getpid).values())

    def killing(iteration):
        if iteration.number == 5:
            os.kill(pids[0], signal.SIGKILL)

    monkeypatch.setattr(spread, "RENEWED", 3)
    again = fm.decompose(lazy, tol=tol, client=client, callback=killing)
    np.testing.assert_array_equal(again.estimate[:], out.estimate[:])
    assert again.objective == out.objective
    for wrong, why in ((X, "a Dask array"), (lazy[:30], "more slots than nodes")):
        with pytest.raises(ValueError, match=why):
            fm.decompose(wrong, client=client)
    with pytest.raises(ValueError, match="debias"):
        fm.decompose(lazy, debias=True, client=client)


def test_a_long_record_with_the_workers_starts_from_some_of_its_slots(client, monkeypatch):
    monkeypatch.setattr(noise, "_ENTRIES", 12_000)
    X = fm.simulate.network(slots=2400, nodes=12, seed=1).readings
    lazy = pytest.importorskip("dask.array").from_array(X, chunks=(700, 12))
    here, out = fm.decompose(X), fm.decompose(lazy, client=client)
    assert out.iterations == here.iterations
    assert out.objective == pytest.approx(here.objective, rel=1e-9)


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
