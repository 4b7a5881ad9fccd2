"""One window is a pure function; drivers hand its results to a sink, in order."""

import pickle
from dataclasses import fields, is_dataclass, replace
from functools import partial

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.core import engine
from fieldmend.faults import Episode
from fieldmend.grid import Grid
from fieldmend.quantities import identify
from fieldmend.recovery import condition, sinks, solving, windows
from fieldmend.recovery.condition import _pieces
from fieldmend.recovery.filling import Given
from fieldmend.recovery.service import service
from fieldmend.recovery.solving import Afresh
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.window import Setting, evidence, recover_window
from fieldmend.recovery.windows import Window
from fieldmend.recovery.witnesses import witnesses
from fieldmend.result.options import Options


def network(slots=300, nodes=12, seed=4):
    X = fm.simulate.network(slots=slots, nodes=nodes, seed=seed).readings.copy()
    X[60:120, 3] = 17.0  # stuck
    X[:, 7] = np.nan  # silent
    X[200, 5] = 900.0  # impossible
    return Grid.of(X, condition="t", unit="°C")


def prepared(grid, method="ls", limits=None, **changes):
    options = Options(method, limits=limits or {}).for_grid(grid)
    known = witnesses(grid.values["t"], options.limits.get("t"))
    return Setting(
        "t", "°C", grid.nodes, None, grid.slot, options, known,
        np.zeros(grid.shape[1]), Afresh(options), **changes,
    )  # fmt: skip


def first_piece(grid):
    plan = windows.windows(*grid.shape)
    return next(_pieces(grid, "t", plan))


def same(a, b):
    """Equal, arrays to the last bit."""
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (isinstance(a, float) and np.isnan(a) and np.isnan(b))


@pytest.mark.parametrize("method", ["ls", "auto"])
def test_a_window_changes_nothing_and_gives_the_same_twice(method):
    grid = network()
    setting = prepared(grid, method, limits={"t": (-400, 400)})
    piece = first_piece(grid)
    before = pickle.dumps((piece, setting))
    first = recover_window(piece, setting)
    assert pickle.dumps((piece, setting)) == before
    assert same(recover_window(piece, setting), first)
    # And far away: a driver may send both anywhere.
    assert same(recover_window(*pickle.loads(before)), first)
    assert first.flag[200, 5] == 4


def test_readings_of_a_lasting_fault_and_beyond_the_limits_are_no_evidence():
    grid = network()
    setting = prepared(grid, limits={"t": (-400, 400)})
    given = evidence(first_piece(grid), setting)
    assert given.failed[200, 5]
    assert given.lasting[70:110, 3].mean() > 0.5
    assert np.isnan(given.believed[200, 5])
    assert np.isnan(given.believed[given.lasting]).all()


# The verb ----------------------------------------------------------------------------------------


def test_each_asks_for_a_window_when_it_is_needed_and_keeps_none():
    seen = []

    def three():
        for n in range(3):
            seen.append(f"ask {n}")
            yield n

    engine.each(
        lambda n: seen.append(f"make {n}") or n * n,
        three(),
        lambda n, made: seen.append(f"put {n} {made}"),
    )
    assert seen == [
        "ask 0", "make 0", "put 0 0", "ask 1", "make 1", "put 1 1", "ask 2", "make 2", "put 2 4",
    ]  # fmt: skip


# The sink ----------------------------------------------------------------------------------------


def test_the_certified_gap_is_the_worst_window_s(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 1)
    gaps = iter([1e-5, 4e-3, 1e-4, 1e-5])
    decompose = solving.decompose
    monkeypatch.setattr(
        solving, "decompose", lambda X, **k: replace(decompose(X, **k), gap=next(gaps))
    )
    one = fm.recover(Grid.of(network(1200).values["t"]), method="ls", holdout=False)["value"]
    assert one.gap == 4e-3


def test_without_a_certificate_in_one_window_there_is_none():
    assert np.isnan(sinks.worst_gap([1e-5, np.nan, 1e-4]))


def test_a_window_that_hit_a_limit_gives_the_status(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 1)
    solve = Afresh.__call__
    count = iter(range(9))

    def third_fails(self, *given):
        out = solve(self, *given)
        if next(count) == 2:
            return replace(out, status="time limit", notes=("ls: time limit",))
        return out

    monkeypatch.setattr(Afresh, "__call__", third_fails)
    one = fm.recover(Grid.of(network(1200).values["t"]), method="ls", holdout=False)["value"]
    assert one.status == "time limit"
    assert "ls: time limit" in one.notes


def episode(node, start, stop, severity=5.0):
    return Episode(node, "t", start, stop, "bias", stop - start, severity, 0.9, "…")


def test_what_two_windows_saw_of_an_episode_becomes_one():
    a, b = Window(0, 100, 0, 80, 10), Window(60, 160, 80, 160, 10)
    flag = np.full((160, 3), 3, dtype=np.int8)
    flag[90, 1] = 9
    found = [(a, episode(1, 70, 100)), (b, episode(1, 5, 45, severity=8.0))]
    (one,) = sinks.joined(found, flag)
    assert (one.start, one.stop, one.readings, one.severity) == (70, 105, 34, 8.0)


def test_an_episode_belongs_to_the_window_it_begins_in():
    a, b = Window(0, 100, 0, 80, 10), Window(60, 160, 80, 160, 10)
    flag = np.full((160, 3), 3, dtype=np.int8)
    late, early = (a, episode(1, 85, 95)), (b, episode(2, 10, 15))
    assert sinks.joined([late, early], flag) == ()
    (own,) = sinks.joined([late, (b, episode(1, 25, 35))], flag)
    assert (own.start, own.stop) == (85, 95)
    # Another node's episode is not lengthened by it.
    both = sinks.joined([(a, episode(0, 70, 100)), (b, episode(1, 25, 30))], flag)
    assert [(e.node, e.start, e.stop) for e in both] == [(0, 70, 100), (1, 85, 90)]


def test_drivers_need_the_kernel_and_the_sink_only(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 1)
    grid = Grid.of(network(1200).values["t"], condition="t")
    whole = fm.recover(grid, method="ls")["t"]
    setting = replace(
        prepared(grid), unit="", level=np.zeros(12), options=Options("ls").for_grid(grid)
    )
    setting = replace(setting, level=condition._levels(grid.values["t"], None))
    setting = replace(setting, quantity=identify("t", "", grid.values["t"]))
    pieces = list(_pieces(grid, "t", windows.windows(*grid.shape)))
    kernel = partial(recover_window, setting=setting)
    backwards = {id(p): kernel(p) for p in reversed(pieces)}  # in any order
    sink = sinks.Arrays(grid.values["t"], setting, Storage())
    engine.each(lambda p: backwards[id(p)], pieces, sink.put)
    again = sink.result(service(grid.values["t"], grid.slot), Given())
    for what in ("estimate", "flag", "anomaly", "scale"):
        np.testing.assert_array_equal(getattr(again, what), getattr(whole, what))
    assert again.episodes == whole.episodes


def test_the_model_of_a_long_record_knows_its_windows_for_its_own(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 1)
    grid = Grid.of(network(1200).values["t"], condition="t")
    solver = condition.fitted_once(grid, prepared(grid, "auto"))
    assert isinstance(solver, solving.ByModel)
    assert solver.own
