"""Steps of a recovery by themselves: a model tried on a window, windows put into arrays."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from fieldmend.core.problem import LowRank, Scaling
from fieldmend.faults import Episode, Kind
from fieldmend.field.fitted import Applied
from fieldmend.grid import Grid
from fieldmend.quantities import Kind as Of
from fieldmend.quantities import Quantity
from fieldmend.recovery import conditions, honest, regional, solving, storage
from fieldmend.recovery.condition import _life, sentences
from fieldmend.recovery.sinks import Arrays, joined
from fieldmend.recovery.solving import ByModel, Solved
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.window import LINEAR, Setting
from fieldmend.recovery.windows import Window
from fieldmend.recovery.witnesses import witnesses
from fieldmend.result.options import Options
from fieldmend.result.states import Service

rng = np.random.default_rng


@dataclass(eq=False)
class Echo:
    """A fitted field that says the number of each slot, and remembers what it was asked."""

    nodes: int = 4
    rank: int = 2
    level: float = 0.9
    choice: str = "so"
    unheard: tuple[int, ...] = ()
    asked: list = field(default_factory=list)

    def apply(self, X, seen, *, first, own):
        self.asked.append((X, seen, first, own))
        slot = np.repeat(first + np.arange(len(X), dtype=float)[:, None], X.shape[1], axis=1)
        false = np.where(seen & (X > 100), 1.0, 0.0)
        factors, nodes = LowRank.zero(*X.shape), X.shape[1]
        scaling = Scaling(np.zeros(nodes), np.ones(nodes))
        return Applied(slot, slot * 0, false, slot - 1, slot + 2, factors, scaling)


def readings(slots, nodes=4, share=0.9, seed=0):
    X = rng(seed).normal(size=(slots, nodes))
    return np.where(rng(seed + 1).random(X.shape) < share, X, np.nan)


def test_a_model_is_applied_and_tried_on_readings_hidden_from_it(monkeypatch):
    monkeypatch.setattr(solving, "TRIED", 4 * 400)
    monkeypatch.setattr(solving, "FEWEST", 60)
    X = readings(640)
    X[7, 2] = 900.0
    model = Echo()
    solver = ByModel(model, Options(), first=1000, own=True)
    window = Window(30, 670, 30, 670)
    out = solver(X, SimpleNamespace(window=window))
    whole, again = model.asked
    assert whole[2:] == (1030, True)
    np.testing.assert_array_equal(out.estimate[:, 0], 1030 + np.arange(640))
    assert np.argwhere(out.suspect).tolist() == [[7, 2]]
    assert (out.method, out.rank, out.status, out.choice) == ("auto", 2, "model applied", "so")
    assert out.fitted is model
    # As many slots as are enough, in the middle; what is hidden was read and is not seen.
    assert len(again[0]) == 400
    assert again[2:] == (1030 + 120, True)
    part, held = X[120:520], out.holdout
    gone = np.isnan(again[0]) & ~np.isnan(part)
    assert 0.02 < gone.sum() / (~np.isnan(part)).sum() < 0.15
    rows, columns = np.nonzero(gone)
    np.testing.assert_array_equal(held.rows, rows + 120)
    np.testing.assert_array_equal(held.columns, columns)
    np.testing.assert_array_equal(held.truth, X[held.rows, held.columns])
    np.testing.assert_array_equal(held.estimate, 1030 + held.rows)
    np.testing.assert_array_equal(held.lower, held.estimate - 1)
    np.testing.assert_array_equal(held.upper, held.estimate + 2)
    assert (held.gap == 1).all()


def test_a_model_is_tried_on_all_of_a_short_window_and_not_on_suspects():
    X = readings(400)
    X[:, 1] = 500.0  # all of them suspect
    model = Echo()
    out = ByModel(model, Options())(X, SimpleNamespace(window=Window(0, 400, 0, 400)))
    assert len(model.asked[1][0]) == 400
    assert not (out.holdout.columns == 1).any()
    nothing = ByModel(model, Options())
    empty = nothing(np.full((30, 4), np.nan), SimpleNamespace(window=Window(0, 30, 0, 30)))
    assert empty.holdout is None


def test_nodes_that_a_model_does_not_know_are_followed_by_themselves():
    X = readings(60, nodes=6, share=1.0)
    model = Echo(nodes=4)
    solver = ByModel(model, Options())
    out = solver._applied(X, Window(0, 60, 0, 60))
    assert out.estimate.shape == X.shape
    assert model.asked[0][0].shape == (60, 4)
    estimate, lower, upper = solver.hidden(X[:, [1, 3]], Window(0, 60, 0, 60), np.array([1, 3]))
    asked = model.asked[-1][0]
    assert np.isnan(asked[:, [0, 2]]).all()
    np.testing.assert_array_equal(asked[:, [1, 3]], X[:, [1, 3]])
    assert estimate.shape == lower.shape == upper.shape == (60, 2)
    np.testing.assert_array_equal(upper - lower, 3.0)


# Into arrays


def setting(quantity=LINEAR, nodes=2, **options):
    return Setting(
        "t", "", tuple(map(str, range(nodes))), None, 60_000_000, Options(**options),
        SimpleNamespace(heard=np.ones(nodes, dtype=bool)), np.zeros(nodes), None, quantity,
    )  # fmt: skip


def test_anomalies_are_how_far_bad_readings_lie_off_and_nothing_else():
    X = np.array([[10.0, 20.0], [11.0, 1e308], [350.0, np.nan]])
    sink = Arrays(X, setting(), Storage())
    sink.estimate[:] = [[9.0, 20.0], [4.0, -1e308], [10.0, 3.0]]
    sink.flag[:] = [[1, 2], [3, 4], [3, 9]]
    largest = np.finfo(float).max
    np.testing.assert_array_equal(sink._anomaly(), [[0.0, 0.0], [7.0, largest], [340.0, 0.0]])
    turned = Arrays(X, setting(Quantity(Of.CIRCULAR, period=360.0)), Storage())
    turned.estimate[:], turned.flag[:] = sink.estimate, sink.flag
    assert turned._anomaly()[2, 0] == -20.0


def test_windows_meet_on_the_circle():
    X = np.zeros((40, 1))
    north = Quantity(Of.CIRCULAR, possible=(0.0, 360.0), period=360.0)
    sink = Arrays(X, setting(north, nodes=1), Storage())
    one, two = Window(0, 25, 0, 20, 5), Window(15, 40, 20, 40, 5)
    for window, angle in ((one, 358.0), (two, 2.0)):
        size = window.stop - window.start
        ends = [np.full((size, 1), angle + d) for d in (0.0, -3.0, 3.0)]
        sink._blend(window, Solved(*ends))
    estimate = sink.estimate[:, 0]
    assert (estimate[:15] == 358).all()
    assert (estimate[25:] == 2).all()
    off = (estimate[15:25] + 180) % 360 - 180
    assert (np.abs(off) <= 2).all()  # by way of north
    assert (np.diff(off) > 0).all()
    assert ((estimate >= 0) & (estimate < 360)).all()
    np.testing.assert_allclose(sink.upper[:, 0] - estimate, 3.0)
    np.testing.assert_allclose(estimate - sink.lower[:, 0], 3.0)


def episode(node, start, stop, **more):
    made = Episode(node, "t", start, stop, Kind.STUCK, stop - start, 2.0, 0.8, "…", True)
    return replace(made, **more)


def test_an_episode_that_was_running_when_a_window_began_is_lengthened():
    flag = np.ones((60, 3), np.int8)
    flag[10:30, 0] = 3
    flag[12, 0] = 1
    one, two = Window(0, 25, 0, 20, 5), Window(15, 60, 20, 60, 5)
    found = [
        (one, episode(0, 10, 25)),
        (one, episode(1, 22, 24)),  # begins where the next window decides
        (two, episode(0, 0, 15, severity=5.0, certain=False)),  # in slots of its own window
        (two, episode(1, 7, 9)),
        (two, episode(0, 15, 20)),  # begins where the other has ended
        (two, episode(2, 4, 6)),  # begins where the window before decides
    ]
    first, second, third = joined(found, flag)
    assert (first.node, first.start, first.stop) == (0, 10, 30)
    assert first.readings == 19
    assert (first.severity, first.certain) == (5.0, False)
    assert (second.node, second.start, second.stop) == (1, 22, 24)
    assert (third.node, third.start, third.stop) == (0, 30, 35)
    shorter = joined([(one, episode(0, 10, 25)), (two, episode(0, 0, 3))], flag)
    assert [(e.start, e.stop) for e in shorter] == [(10, 25)]
    # One after the other in the first window are two, though they touch.
    both = joined([(one, episode(0, 3, 9)), (one, episode(0, 5, 12))], flag)
    assert [(e.start, e.stop) for e in both] == [(3, 9), (5, 12)]


def test_a_node_that_a_model_knows_was_in_service_before_the_record():
    X = readings(400, nodes=4, share=1.0)
    X[:200, 0] = X[:200, 1] = X[:200, 3] = np.nan
    X[:, 2] = np.nan
    known = witnesses(X, None)
    plain = _life(X, 0, known, None)
    assert set(plain.node.tolist()) >= {0, 1, 3}
    assert plain.never.tolist() == [False, False, True, False]
    model = SimpleNamespace(fitted=Echo(nodes=3, unheard=(1,)), first=0)
    life = _life(X, 0, known, model)
    assert set(life.node.tolist()) == {1, 3}  # unheard when it was fitted, and not its own
    assert not life.never.any()
    model = SimpleNamespace(fitted=Echo(nodes=2), first=0)
    assert _life(X, 0, known, model).never.tolist() == [False, False, True, False]


@pytest.mark.parametrize(("count", "holdout", "said"), [(4, True, 0), (5, True, 1), (5, False, 0)])
def test_that_not_all_windows_were_scored_is_said(count, holdout, said):
    X = readings(100)
    grid = Grid.of(X, condition="t")
    known = witnesses(X, None)
    life = _life(X, 0, known, None)
    lines = sentences(grid, known, life, Options(holdout=holdout), count)
    assert sum("scored in 4 of 5 windows" in line for line in lines) == said


# Room


@pytest.mark.parametrize("single", [False, True])
def test_results_lie_in_files_where_they_are_large(single, monkeypatch, caplog):
    grid = Grid.of(np.zeros((100, 5)), condition="t")
    two = replace(grid, values={"t": np.zeros((100, 5)), "h": np.zeros((100, 5))})
    size = 34 * 100 * 5 * 2 // (2 if single else 1)
    monkeypatch.setattr(storage.spill, "limit", lambda: None)
    monkeypatch.setattr(storage.spill, "free_disk", lambda: size)
    real = np.float32 if single else np.float64
    for most, files in ((size, False), (size - 1, True)):
        monkeypatch.setattr(storage, "IN_MEMORY", most)
        made = Storage.of(two, single=single)
        assert (made.files, made.real) == (files, real)
        assert made.array((2, 2)).dtype == real
        assert len(made.notes) == files
    monkeypatch.setattr(storage, "IN_MEMORY", 10**12)
    for limit, files in ((8 * size, False), (8 * size - 8, True)):
        monkeypatch.setattr(storage.spill, "limit", lambda limit=limit: limit)
        assert Storage.of(two, single=single).files is files
    monkeypatch.setattr(storage.spill, "free_disk", lambda: size - 1)
    with pytest.raises(OSError, match="are free there: set TMPDIR"):
        Storage.of(two, single=single)


def test_a_task_gives_back_what_it_made_without_the_readings():
    X = readings(60, share=0.95)
    grid = Grid.of(X, condition="t")
    work = conditions.Work(grid, {"t": LINEAR}, Options(method="mc"))
    found, scores = work(conditions.Task("t", "whole"))
    assert scores is None
    assert found.observed.shape == (0, 0)
    assert found.estimate.shape == X.shape
    assert work.scored(replace(found, observed=X), None).holdout is None
    nothing, scores = work(conditions.Task("t", "hidden"))
    assert nothing is None
    assert scores.seen
    assert work.scored(replace(found, observed=X), scores).holdout is not None
    line = replace(found, observed=X, method="line")  # which is not scored against a line
    assert work.scored(line, scores).holdout is None


# Conditions one after the other, or shared out


class Known:
    """Work of which nothing is done: what was asked for, and how far it says it is."""

    def __init__(self, runs, method="auto", *, holdout=True):
        self.grid = SimpleNamespace(values={"a": 0, "b": 0})
        self.options, self._runs, self.method = Options(holdout=holdout), runs, method
        self.asked = []

    def runs(self, name):
        return self._runs

    def to_score(self, name):
        return "hidden" in self._runs

    def both(self, name, room, say, kept):
        say(0.8)
        self.asked.append((name, "both", kept))
        return SimpleNamespace(method=self.method), "scores"

    def whole(self, name, room, say, crew, kept):
        say(0.5)
        self.asked.append((name, "whole", kept))
        return SimpleNamespace(method=self.method)

    def hidden(self, name, crew):
        self.asked.append((name, "hidden", crew))
        return "scores"

    def scored(self, found, scores):
        return found.method, scores


def in_turn(work, kept=None):
    told = []
    found = conditions._in_turn(work, Storage(), "crew", lambda *one: told.append(one), kept)
    return dict(found), told


def test_conditions_in_turn_say_how_much_of_all_is_done():
    work = Known(("both",))
    found, told = in_turn(work, ["k", "l"])
    assert found == {"a": ("auto", "scores"), "b": ("auto", "scores")}
    assert told == [("a", 0.0), ("a", 0.4), ("a", 0.5), ("b", 0.5), ("b", 0.9), ("b", 1.0)]
    assert work.asked == [("a", "both", "k"), ("b", "both", "l")]
    work = Known(("whole", "hidden"))
    found, told = in_turn(work)
    assert found["b"] == ("auto", "scores")
    # All readings are half of it, what is hidden the other half.
    assert told == [("a", 0.0), ("a", 0.125), ("a", 0.5), ("b", 0.5), ("b", 0.625), ("b", 1.0)]
    assert work.asked[:2] == [("a", "whole", None), ("a", "hidden", "crew")]
    work = Known(("whole",), holdout=False)
    found, told = in_turn(work)
    assert found["a"] == ("auto", None)
    assert told[:3] == [("a", 0.0), ("a", 0.25), ("a", 0.5)]
    for method in ("line", "none", "passed"):  # there is nothing to score
        work = Known(("whole", "hidden"), method)
        assert in_turn(work)[0]["a"] == (method, None)
        assert [one[1] for one in work.asked] == ["whole", "whole"]


class Pair:
    """A crew that tells its size; pieces are done in order."""

    size = 2

    def ordered(self, kernel, pieces):
        for piece in pieces:
            yield piece, kernel(piece)


def test_conditions_shared_out_are_put_together_and_scored():
    X = readings(60, share=0.95)
    grid = Grid.of(X, condition="t")
    both = replace(grid, values={"t": X, "h": X + 1})
    work = conditions.Work(both, {"t": LINEAR, "h": LINEAR}, Options(method="mc"))
    told = []
    shared = conditions.recovered(work, Storage(), Pair(), lambda *one: told.append(one))
    assert told[0] == ("t", 0.0)
    assert [share for _, share in told[1:]] == [0.25, 0.5, 0.75, 1.0]
    alone = conditions.recovered(work, Storage(), conditions.Alone(), lambda *_: None)
    for name, one in shared.items():
        np.testing.assert_array_equal(one.observed, both.values[name])
        np.testing.assert_array_equal(one.estimate, alone[name].estimate)
        assert one.holdout.method.mae == alone[name].holdout.method.mae
    one, scores = conditions.scored_condition(grid, "t", Options(method="mc"))
    np.testing.assert_array_equal(one.estimate, conditions.one_condition(
        grid, "t", Options(method="mc")).estimate)  # fmt: skip
    assert scores.whole() is not None
    assert conditions.scored_condition(grid, "t", Options(method="mc", holdout=False))[1] is None


def test_of_a_region_its_core_comes_back_numbered_anew(monkeypatch):
    X = readings(60, nodes=5, share=0.95)
    grid = Grid.of(X, condition="t")
    whole = conditions.one_condition(grid, "t", Options(method="mc", holdout=False))
    life = Service(np.array([0, 3, 4]), np.array([1, 2, 3]), np.array([9, 8, 7]),
                   np.array([False, True, False, True, False]))  # fmt: skip
    whole = replace(
        whole, service=life, episodes=(episode(0, 1, 3), episode(3, 4, 6), episode(4, 7, 9))
    )
    asked = []
    monkeypatch.setattr(regional, "recover_condition",
                        lambda *a, **k: asked.append((a, k)) or (whole, None))  # fmt: skip
    core = np.array([False, True, False, True, True])
    region = SimpleNamespace(core=core, nodes=np.arange(5))
    found = regional._region(regional._Piece(region, grid), "t", LINEAR, Options(), np.float32)
    assert asked[0][0][4].real is np.float32
    assert asked[0][1] == {"spoken": False}
    for name in ("estimate", "flag", "anomaly"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name)[:, core])
    np.testing.assert_array_equal(found.scale, whole.scale[core])
    assert found.observed.shape == (0, 3)
    assert [(e.node, e.start) for e in found.episodes] == [(1, 4), (2, 7)]
    assert found.service.node.tolist() == [1, 2]
    assert found.service.start.tolist() == [2, 3]
    assert found.service.stop.tolist() == [8, 7]
    assert found.service.never.tolist() == [True, True, False]
    assert found.fitted is None


@pytest.mark.parametrize(
    ("size", "window", "room", "keep", "shared"),
    [
        (2, None, Storage(), None, True),
        (1, None, Storage(), None, False),  # nobody to share with
        (2, 100, Storage(), None, False),  # windows are shared out instead
        (2, None, Storage(files=True), None, False),  # results in files are written here
        (2, None, Storage(), "folder", False),
    ],
)
def test_conditions_are_shared_out_where_each_is_one_piece(*, size, window, room, keep, shared):
    grid = Grid.of(np.zeros((4000, 4)), condition="t")
    work = conditions.Work(grid, {"t": LINEAR}, Options(window=window))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditions, "_shared_out", lambda *_: "shared")
        patch.setattr(conditions, "_in_turn", lambda *given: [("kept", given[-1])])
        patch.setattr(conditions, "opened", lambda *given: given[0])
        crew = SimpleNamespace(size=size)
        found = conditions.recovered(work, room, crew, lambda *_: None, keep)
    assert found == ("shared" if shared else {"kept": keep})


# What is hidden


def test_what_is_hidden_is_not_handed_on_nor_what_was_lost_with_it():
    X = readings(200, share=0.8)
    other = np.where(rng(5).random(X.shape) < 0.5, np.nan, 1.0)  # lost with it now and then
    grid = replace(Grid.of(X, condition="t"), values={"t": X, "h": other})
    (trial,) = honest.trials(grid, "t", Options())
    mask, left = trial.hidden.mask, trial.grid.values
    assert mask.sum() > 20
    assert not np.isnan(X[mask]).any()
    np.testing.assert_array_equal(left["t"], np.where(mask, np.nan, X))
    np.testing.assert_array_equal(trial.readings, X)
    along = trial.hidden.along(np.isnan(other))
    assert along.any()
    assert not (along & ~mask).any()
    assert (mask & ~along).any()
    np.testing.assert_array_equal(left["h"], np.where(along, np.nan, other))
    (again,) = honest.trials(grid, "t", Options())
    np.testing.assert_array_equal(again.hidden.mask, mask)
    (beyond,) = honest.trials(grid, "t", Options(limits={"t": (-1.0, 1.0)}))
    assert np.isnan(beyond.readings[np.abs(X) > 1]).all()
    assert beyond.lost[np.abs(X) > 1].all()
    assert not (beyond.hidden.mask & (np.abs(X) > 1)).any()


def test_a_node_whose_readings_cannot_be_squared_is_not_scored():
    X = readings(200, share=0.8)
    X[np.flatnonzero(~np.isnan(X[:, 2]))[3], 2] = -1e151
    (trial,) = honest.trials(Grid.of(X, condition="t"), "t", Options())
    assert np.isnan(trial.readings[:, 2]).all()
    assert not trial.hidden.mask[:, 2].any()
    assert not np.isnan(trial.readings[:, 1]).all()


@pytest.mark.parametrize(("count", "chosen"), [(2, [0, 1]), (4, [0, 1, 2, 3]), (7, [0, 2, 4, 6])])
def test_of_many_windows_some_are_tried_from_the_first_to_the_last(count, chosen, monkeypatch):
    plan = [Window(100 * i, 100 * i + 100, 100 * i, 100 * i + 100) for i in range(count)]
    monkeypatch.setattr(honest, "windows", lambda *_: plan)
    monkeypatch.setattr(honest, "SHORTEST", 80)
    monkeypatch.setattr(honest, "TRIED", 4)  # a slot of each node would do
    grid = Grid.of(readings(100 * count, share=0.8), condition="t")
    found = list(honest.trials(grid, "t", Options(seed=5)))
    assert [one.rows for one in found] == [slice(100 * i + 10, 100 * i + 90) for i in chosen]
    assert [one.seed for one in found] == [5 + i for i in chosen]
    for one in found:
        np.testing.assert_array_equal(one.readings, grid.values["t"][one.rows])
        np.testing.assert_array_equal(one.grid.times, grid.times[one.rows])
