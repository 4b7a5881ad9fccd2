"""Several processes give what one gives, to the last bit."""

import io
import logging
import os
import signal
import warnings
from functools import partial

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.core import engine, worker
from fieldmend.core.crew import Processes, WorkersDied
from fieldmend.recovery import conditions, windows


def told(number: int) -> int:
    """A kernel that prints, logs, warns and minds one number."""
    os.write(1, b"noise on the pipe")
    logging.getLogger("fieldmend.test").warning("heard %d", number)
    if number == 7:
        msg = "seven"
        raise ValueError(msg)
    warnings.warn(f"number {number}", UserWarning, stacklevel=1)
    return number * number


def once_dead(number: int, mark: str) -> tuple[int, int]:
    """The first process to see 3 ends as if there were no memory left."""
    if number == 3 and not os.path.exists(mark):
        with open(mark, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return number, os.getpid()


def always_dead(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_results_come_in_order_and_so_do_errors_warnings_and_logs(caplog):
    seen = []
    with Processes(2) as crew:
        with pytest.warns(UserWarning, match="number") as warned:
            engine.each(told, [3, 4], lambda n, made: seen.append((n, made)), crew)
        with pytest.raises(ValueError, match="seven"):
            engine.each(told, [7], print, crew)
    assert seen == [(3, 9), (4, 16)]
    assert [str(one.message) for one in warned] == ["number 3", "number 4"]
    assert "heard 3" in caplog.text
    assert "heard 7" in caplog.text


def test_a_process_that_is_killed_costs_its_piece_only(tmp_path):
    with Processes(2) as crew:
        kernel = partial(once_dead, mark=str(tmp_path / "mark"))
        found = [made for _, made in crew.ordered(kernel, range(6))]
        with pytest.raises(WorkersDied, match="too little memory"):
            list(crew.ordered(always_dead, [0]))
    assert [number for number, _ in found] == list(range(6))
    assert (tmp_path / "mark").exists()
    assert os.getpid() not in {process for _, process in found}


def test_pieces_are_asked_for_when_they_are_needed():
    asked = []

    def pieces():
        for n in range(20):
            asked.append(n)
            yield -n

    with Processes(2) as crew:
        results = crew.ordered(abs, pieces())
        assert next(results) == (0, 0)
        assert len(asked) <= 3


def test_a_closed_crew_leaves_no_process_behind():
    crew = Processes(1)
    list(crew.ordered(abs, [1]))
    process = crew._started[0].process
    assert process.poll() is None
    crew.close()
    assert process.poll() is not None


def network(conditions: int = 2) -> fm.Grid:
    nets = [fm.simulate.network(slots=90, nodes=7, seed=s) for s in range(conditions)]
    grids = [fm.Grid.of(net.readings, condition=f"c{s}") for s, net in enumerate(nets)]
    values = {name: X for grid in grids for name, X in grid.values.items()}
    return fm.Grid(values, grids[0].nodes, grids[0].times, grids[0].slot)


def same(a: fm.Recovery, b: fm.Recovery) -> None:
    for name in a.conditions:
        for part in ("estimate", "lower", "upper", "anomaly", "flag", "replaced", "scale"):
            np.testing.assert_array_equal(getattr(a[name], part), getattr(b[name], part), part)
        assert a[name].episodes == b[name].episodes
        assert a[name].choice == b[name].choice
    assert a.summary() == b.summary()


def test_conditions_shared_out_come_out_the_same():
    grid, steps = network(), []
    alone = fm.recover(grid, workers=1)
    several = fm.recover(grid, workers=2, progress=lambda what, share: steps.append(share))
    same(alone, several)
    assert several["c0"].observed is grid.values["c0"]
    assert steps == sorted(steps)
    assert len(steps) >= 6


def test_windows_shared_out_come_out_the_same(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 0)
    monkeypatch.setattr(windows, "SHORTEST", 60)
    grid = network(1)
    assert len(windows.windows(*grid.shape)) > 1
    options = {"holdout": False}
    same(fm.recover(grid, workers=1, **options), fm.recover(grid, workers=2, **options))


def test_short_records_start_no_process(monkeypatch):
    grid, options = network(1), conditions.Options()
    monkeypatch.setattr(conditions, "cores", lambda: 4)
    monkeypatch.delenv("FIELDMEND_THREADS", raising=False)
    assert conditions.crew_for(None, grid, options).size == 1
    monkeypatch.setattr(conditions, "BUSY", 100)
    assert conditions.crew_for(None, grid, options).size == 4
    monkeypatch.setenv("FIELDMEND_THREADS", "2")
    assert conditions.crew_for(None, grid, options).size == 2
    assert conditions.crew_for(3, grid, options).size == 3


@pytest.mark.parametrize("workers", [0, -1, 1.5, "two", True])
def test_what_is_no_number_of_processes_is_refused(workers):
    with pytest.raises(fm.InputError, match="workers"):
        fm.recover(network(1), workers=workers)


@pytest.mark.parametrize("cut", [1, 7, 8, 9])
def test_a_message_that_is_cut_anywhere_is_the_end(cut):
    pipe = io.BytesIO()
    worker.send(pipe, {"rows": 3})
    whole = pipe.getvalue()
    assert worker.receive(io.BytesIO(whole)) == {"rows": 3}
    with pytest.raises(EOFError):
        worker.receive(io.BytesIO(whole[:cut]))
