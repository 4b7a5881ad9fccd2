"""Parts of the recovery, each by itself: what a person said, what is kept, shared out and told."""

import struct
import zlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import spill
from fieldmend.errors import InputError
from fieldmend.faults import Episode, Search
from fieldmend.field.regions import Region
from fieldmend.flags import Flag
from fieldmend.grid import Grid
from fieldmend.quantities import Kind, Quantity
from fieldmend.recovery import circular, conditions, honest, job, modelling, notebook, notes
from fieldmend.recovery.conditions import Work, check_workers, crew_for
from fieldmend.recovery.decisions import Told, settled, told
from fieldmend.recovery.filling import Given, emptied
from fieldmend.recovery.huge import _usual, without_huge
from fieldmend.recovery.judging import judgeable
from fieldmend.recovery.keeping import Kept, opened, single
from fieldmend.recovery.options import bytes_of, with_units
from fieldmend.recovery.quantity import resting, taken_as
from fieldmend.recovery.regional import _Whole
from fieldmend.recovery.solving import Solved
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.wide import among, many
from fieldmend.recovery.window import WindowResult
from fieldmend.recovery.witnesses import witnesses
from fieldmend.result import visits
from fieldmend.result.decisions import Decision, Decisions
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import Service

HOUR = 3_600_000_000
LINEAR = Quantity(Kind.LINEAR)


def recovered(X, **more):
    """A condition whose estimate is 0 and whose readings all passed."""
    flag = np.where(np.isnan(X), Flag.MISSING, Flag.PASS).astype(np.int8)
    given = {
        "name": "t", "unit": "°C", "observed": X, "estimate": np.zeros(X.shape),
        "lower": np.full(X.shape, -1.0), "upper": np.ones(X.shape), "anomaly": np.zeros(X.shape),
        "flag": flag, "scale": np.ones(X.shape[1]), "method": "auto", "rank": 2, "gap": np.nan,
        "status": "", "choice": "", "holdout": None, "episodes": (), "notes": (),
    }  # fmt: skip
    return Recovered(**given | more)


def episode(node, start, stop, kind="bias", **more):
    return Episode(node, "t", start, stop, kind, stop - start, 9.0, 0.9, "…", **more)


# Decisions


def test_what_a_person_said_of_a_search():
    yes, no = np.array([[True, False]]), np.array([[False, True]])
    both = yes | no
    found = Told(yes, no).search(Search(no, both, both, both, both))
    assert found.faults.tolist() == [[True, False]]
    assert found.events.tolist() == [[False, True]]
    assert found.gross.tolist() == [[True, False]]
    assert found.frozen.tolist() == [[True, False]]
    assert found.since.tolist() == [[True, False]]


def test_the_field_is_led_through_readings_that_a_person_believes():
    readings = np.array([0.0, np.nan, 8.0, np.nan, 0.5, 0.0])[:, None]
    doubted = np.abs(readings) > 1
    rejected = doubted.copy()
    estimate = np.zeros((6, 1))
    solved = Solved(estimate, estimate - 1, estimate + 1)
    out = Told(np.zeros((6, 1), bool), rejected).followed(solved, readings, doubted)
    assert out.estimate[:, 0].tolist() == [0.0, 4.0, 8.0, 4.0, 0.0, 0.0]
    # Between what is believed and its neighbours the interval holds both.
    assert out.lower[:, 0].tolist() == [-1.0, -1.0, 7.0, -1.0, -1.0, -1.0]
    assert out.upper[:, 0].tolist() == [1.0, 9.0, 9.0, 9.0, 1.0, 1.0]
    same = Told(rejected, ~rejected).followed(solved, readings, doubted)
    assert not same.estimate.any()


def test_the_later_word_is_put_on_slots_and_nodes():
    times = np.arange(10) * HOUR
    usable = np.ones((10, 2), dtype=bool)
    usable[4, 1] = False
    first = Decision("b", "t", ((2 * HOUR, 6 * HOUR),), "accepted")
    later = Decision("b", "t", ((5 * HOUR, 8 * HOUR),), "rejected")
    other = Decision("x", "t", ((0, HOUR),), "accepted")
    got = told(Decisions((first, later, other)), "t", (("a", "b"), times, HOUR), usable)
    assert np.argwhere(got.accepted).tolist() == [[2, 1], [3, 1]]
    assert np.argwhere(got.rejected).tolist() == [[5, 1], [6, 1], [7, 1]]
    assert told(Decisions((other,)), "t", (("a", "b"), times, HOUR), usable) is None
    assert told(Decisions((first,)), "h", (("a", "b"), times, HOUR), usable) is None


@pytest.mark.parametrize("how", ["certain", "none"])
def test_what_was_accepted_is_certain_and_replaced(how):
    X = np.zeros((10, 2))
    flag = np.full(X.shape, Flag.PASS, dtype=np.int8)
    flag[2:6, 1] = Flag.SUSPECT
    parts = episode(1, 4, 9), episode(1, 6, 9), episode(0, 4, 9), episode(1, 4, 9, "event")
    found = recovered(X, flag=flag, episodes=parts)
    grid = Grid.of(X, nodes="ab", slot_seconds=3600, condition="t")
    decided = Decisions((Decision("b", "t", ((4 * HOUR, 6 * HOUR),), "accepted"),))
    out = settled(found, grid, Options(decisions=decided, replace=how))
    assert [e.certain for e in out.episodes] == [True, False, False, False]
    assert np.argwhere(out.replaced).tolist() == ([[4, 1], [5, 1]] if how == "certain" else [])
    assert settled(found, grid, Options()) is found


# What is given out


def test_long_gaps_and_wide_intervals_are_left_empty():
    X = np.zeros((12, 2))
    X[3:6, 0] = X[3:7, 1] = np.nan
    taken = np.zeros(X.shape, dtype=bool)
    taken[6, 0] = taken[10, 0] = True  # it stands for a reading, too
    life = Service.throughout(2)
    for longest, left in ((4.0, 0), (3.0, 8)):
        estimate = np.zeros(X.shape)
        emptied((estimate, None, None), X, taken, life, Given(max_gap=longest))
        assert np.isnan(estimate).sum() == left
    estimate, lower, upper = np.zeros(X.shape), np.full(X.shape, -1.0), np.ones(X.shape)
    upper[4, 0] = upper[8, 0] = 1.5
    upper[10, 0] = np.nan
    emptied((estimate, lower, upper), X, taken, life, Given(max_width=2.0))
    assert np.argwhere(np.isnan(estimate)).tolist() == [[4, 0], [10, 0]]
    assert np.isnan(lower[4, 0])


def test_nodes_of_huge_readings_get_nothing():
    X = np.full((9, 3), 2.0)
    X[:, 1] = 1e301
    X[0, 2] = 1e301
    X[5, 1] = np.nan
    out = without_huge(recovered(X, episodes=(episode(1, 0, 3), episode(2, 0, 1))), ("a", "b", "c"))
    assert np.isnan(out.estimate).any(axis=0).tolist() == [False, True, False]
    assert out.flag[[0, 5], 1].tolist() == [Flag.NOT_EVALUATED, Flag.MISSING]
    assert [e.node for e in out.episodes] == [2]
    assert out.warnings == out.notes == ("b: readings beyond 1e+300, nothing estimated there",)
    assert _usual(np.array([np.nan, 5.0, -7.0, 6.0, 1.0, 2.0])) == 5.0
    assert _usual(np.array([1e301] * 4)) == 0.0  # four say nothing


# What is kept


def test_a_window_comes_back_from_its_folder(tmp_path):
    kept = Kept(tmp_path, 3)
    field = np.arange(6.0).reshape(3, 2)
    solved = Solved(
        field, field - 1, None, method="ls", rank=2, gap=1e-5, status="done", notes=("x",)
    )
    one = WindowResult(
        solved, np.ones((3, 2), np.int8), np.ones(2), (episode(0, 1, 2, certain=True),)
    )
    assert kept.count() == 0
    kept.save(0, one)
    kept.save(1, one)
    kept.save(3, one)
    assert kept.count() == 2  # in order
    again = kept.load(1)
    np.testing.assert_array_equal(again.solved.estimate, field)
    np.testing.assert_array_equal(again.solved.lower, field - 1)
    assert again.solved.upper is None
    assert (again.solved.rank, again.solved.gap, again.solved.notes) == (2, 1e-5, ("x",))
    assert again.episodes == one.episodes
    half = single(one).solved
    assert half.estimate.dtype == np.float32
    assert half.upper is None


def test_a_folder_of_another_run_is_refused(tmp_path):
    X = np.arange(20.0).reshape(10, 2)
    grid = Grid.of(X, condition="t")
    folder = tmp_path / "not there" / "kept"
    assert len(opened(folder, grid, Options())) == 1
    (folder / "0-000000.npz").write_bytes(b"")
    assert opened(folder, grid, Options(command="said otherwise"))[0].count() == 1
    for other, options in ((Grid.of(X + 1, condition="t"), Options()), (grid, Options(seed=1))):
        with pytest.raises(InputError, match="other readings or options"):
            opened(folder, other, options)
    (folder / "run.json").write_text("{")
    with pytest.raises(InputError, match="other readings"):
        opened(folder, grid, Options())


# Who does what


def test_processes_are_started_where_they_are_worth_it(monkeypatch):
    monkeypatch.setattr(conditions, "cores", lambda: 4)
    monkeypatch.delenv("FIELDMEND_THREADS", raising=False)
    large, small = Grid.of(np.zeros((30_000, 10))), Grid.of(np.zeros((29_999, 10)))
    for grid, options, size in (
        (large, Options(), 4), (small, Options(), 1), (large, Options(holdout=False), 1),
        (large, Options(method="ls"), 1),
    ):  # fmt: skip
        crew = crew_for(None, grid, options)
        assert crew.size == size
        crew.close()
    monkeypatch.setenv("FIELDMEND_THREADS", "2")
    assert crew_for(None, large, Options()).size == 2
    monkeypatch.setenv("FIELDMEND_THREADS", "0")
    assert crew_for(None, large, Options()).size == 4
    assert crew_for(3, small, Options()).size == 3
    with spill.limited(1_000_000_000):
        assert conditions._fitting(None) == 4
        # 750 MB are left for processes of 250 MB and a window of 400 bytes an entry.
        assert conditions._fitting(312_500) == 2
        assert conditions._fitting(10**9) == 1
    for wrong in (0, True, 1.5, "2"):
        with pytest.raises(InputError, match="workers"):
            check_workers(wrong)


def test_which_runs_a_condition_needs():
    X = np.zeros((1000, 50))
    about = {"t": LINEAR, "id": Quantity(Kind.PASSED)}
    grid = Grid.of(X, condition="t")
    both = replace(grid, values={"t": X, "id": X})
    work = Work(both, about, Options())
    assert work.runs("t") == ("both",)
    assert work.runs("id") == ("whole",)
    assert [*work.within("t").values] == ["t"]
    assert [*work.within("id").values] == ["t", "id"]
    fewer = replace(
        work, grid=replace(both, values={"t": X[1:], "id": X[1:]}, times=both.times[1:])
    )
    assert fewer.runs("t") == ("whole", "hidden")
    for options in (Options(holdout=False), Options(on_change=0.5)):
        assert replace(work, options=options).runs("t") == ("whole",)
    assert replace(work, options=Options(method="ls")).runs("t") == ("whole", "hidden")
    assert replace(work, options=Options(window=25_000)).runs("t") == ("whole", "hidden")


def test_many_nodes_are_recovered_by_regions():
    wide = Grid.of(np.zeros((2, 601)))
    names = wide.nodes
    placed = {name: {"x": 0.0, "y": 0.0} for name in names}
    assert not many(wide, Options())
    assert many(replace(wide, places=placed), Options())
    assert not many(replace(wide, places=placed), Options(method="ls"))
    assert not many(among(replace(wide, places=placed), np.arange(600)), Options())
    assert many(Grid.of(np.zeros((2, 2001))), Options())
    some = among(replace(wide, places={names[3]: {"x": 1.0, "y": 2.0}}), np.array([5, 3]))
    assert (some.nodes, some.places) == ((names[5], names[3]), {names[3]: {"x": 1.0, "y": 2.0}})
    assert among(wide, np.array([1])).places is None


def test_regions_are_put_together_by_their_cores():
    X = np.arange(15.0).reshape(3, 5)
    whole = _Whole(X, Storage())
    cores = np.array([3, 0]), np.array([4, 1, 2])
    for k, at in enumerate(cores):
        part = X[:, at]
        life = Service(np.array([1]), np.array([k]), np.array([2]), np.arange(len(at)) == 0)
        found = recovered(
            part, estimate=part + 0.5, lower=None, upper=None, rank=k + 1, scale=part[0],
            episodes=(episode(1, k, 3),), service=life, notes=(f"n{k}",), warnings=("w",),
        )  # fmt: skip
        whole.put(Region(at, np.ones(len(at), dtype=bool)), found)
    out = whole.result()
    np.testing.assert_array_equal(out.estimate, X + 0.5)
    assert out.lower is None
    np.testing.assert_array_equal(out.scale, X[0])
    assert (out.rank, out.notes, out.warnings) == (2, ("n0", "n1"), ("w",))
    assert [(e.node, e.start) for e in out.episodes] == [(0, 0), (1, 1)]
    life = out.service
    assert [*zip(life.node, life.start, life.stop, strict=True)] == [(0, 0, 2), (1, 1, 2)]
    assert life.never.tolist() == [False, False, False, True, True]
    alone = _Whole(X, Storage())
    alone.put(Region(np.arange(5), np.ones(5, dtype=bool)), replace(out, estimate=X))
    np.testing.assert_array_equal(alone.result().estimate, X)


# Hidden readings


def test_the_middle_of_a_window_is_witness_enough():
    assert honest._middle(slice(0, 100), 10) == slice(0, 100)
    assert honest._middle(slice(1000, 401_000), 10) == slice(151_000, 251_000)
    assert honest._middle(slice(0, 2000), 10**6) == slice(744, 1256)


def test_estimates_are_wanted_where_they_are_given_out():
    X = np.zeros((12, 1))
    X[2:4] = X[6:10] = np.nan
    state = np.where(np.isnan(X), 1, 0)
    state[8] = 2
    hours = 3_600_000_000
    assert honest.wanted(X, state, Options(), hours)[:, 0].nonzero()[0].tolist() == [2, 3, 6, 7, 9]
    every = honest.wanted(X, state, Options(extrapolate=True), hours)
    assert every.sum() == 6
    short = honest.wanted(X, state, Options(max_gap="2h"), hours)
    assert short[:, 0].nonzero()[0].tolist() == [2, 3]
    assert honest._huge(np.array([[1.0, 1e151], [np.nan, 0.0]])).tolist() == [False, True]


def test_the_second_run_is_asked_for_every_estimate():
    asked = honest.everywhere(Options(max_gap="2h", max_width=3.0))
    assert (asked.holdout, asked.everywhere, asked.unjudged) == (False, True, True)
    assert (asked.max_gap, asked.max_width) == (None, None)
    assert not honest.everywhere(Options(extrapolate=True)).unjudged


# What is said


def test_too_little_to_compare_is_said_with_why():
    X = np.random.default_rng(0).normal(size=(9, 3))
    X[:, 2] = X[:, 1]
    said = notes.too_little(9, witnesses(X, None))
    assert said.startswith("2 nodes (1 more repeats another), fewer than 3: nothing to compare")
    assert notes.too_little(9, witnesses(X[:, :1], None)).startswith("1 node, fewer than 3")
    X[:, 2] += 1
    assert notes.too_little(4, witnesses(X, None)).startswith("4 slots, fewer than 5")
    assert notes.too_little(5, witnesses(X, None)) is None


def test_nodes_are_named_with_what_is_wrong_with_them():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[4:, 0] = np.nan
    X[:, 3] = X[:, 1]
    grid = Grid.of(X, nodes="abcd", slot_seconds=3600)
    life = Service.throughout(4)
    said = [*notes.about_nodes(grid, witnesses(X, None), life)]
    assert said[0].startswith("node a has fewer than 5 readings: too few to judge")
    assert said[1].startswith("nodes b and d have the same readings throughout")
    nobody = np.full((40, 4), np.nan)
    assert [*notes.about_nodes(grid, witnesses(nobody, None), life)] == []  # said elsewhere
    away = Service(*np.array([[1], [0], [10]]), np.zeros(4, bool))
    told_ = [*notes.about_nodes(grid, witnesses(X, None), away, extrapolate=True)]
    assert "25 % of its slots estimated from the others" in told_[1]


def test_what_conditions_were_taken_for():
    kinds = {
        "t": LINEAR,
        "wind": Quantity(Kind.CIRCULAR),
        "rain": Quantity(Kind.INTERMITTENT, guessed=True),
        "id": Quantity(Kind.PASSED),
    }
    (said,) = taken_as(kinds)
    assert said.startswith("taken as circular: wind; intermittent: rain?; passed through: id (")
    assert taken_as({"t": LINEAR}) == []


def test_memory_units_and_arrays_are_checked():
    assert bytes_of(None) is None
    assert bytes_of("500MB") == 500_000_000
    for wrong, said in (("499MB", "too little"), ("lots", "memory 'lots'")):
        with pytest.raises(InputError, match=said):
            bytes_of(wrong)
    grid = Grid.of(np.zeros((2, 2)), condition="t")
    assert with_units(grid, None) is grid
    assert with_units(grid, {"t": "K"}).units == {"t": "K"}
    with pytest.raises(InputError, match="which is not there"):
        with_units(grid, {"h": "%"})
    with pytest.raises(InputError, match="is no text"):
        with_units(grid, {"t": 3})
    assert job._of_array(np.zeros((2, 2)), "1h").slot == HOUR
    with pytest.raises(InputError, match="Records, which are read already"):
        job._refuse_options({"tz": "UTC"}, "Records")


def test_columns_of_an_earlier_recovery_are_passed_over():
    X = np.zeros((2, 2))
    names = ("t", "t_estimate", "t_filled", "t_flag", "h", "h_estimate")
    out = job._own_columns_aside(replace(Grid.of(X), values=dict.fromkeys(names, X)))
    assert [*out.values] == ["t", "h", "h_estimate"]
    assert "passed over" in out.origin.notes[-1]


def test_what_a_model_cannot_be():
    X = np.array([[0.0, 0.2], [3.0, np.nan]])
    rain = recovered(X, quantity=Quantity(Kind.INTERMITTENT, low=0.0))
    got = modelling._bounds(rain)
    assert (got["low"], got["least"]) == (0.0, 0.2)
    assert "high" not in got
    assert modelling._bounds(recovered(X)) is None


# In a notebook


def test_a_cell_shows_the_worst_of_what_it_holds(monkeypatch):
    monkeypatch.setattr(notebook, "WIDEST", 2)
    monkeypatch.setattr(notebook, "TALLEST", 1)
    flag = np.array([[1, 9], [9, 1], [1, 9], [9, 9]], dtype=np.int8)
    assert notebook.squeezed(flag).tolist() == [[0, 1]]  # half is not most
    flag[0, 0], flag[2, 0] = 3, 4
    assert notebook.squeezed(flag).tolist() == [[2, 3]]


def test_a_picture_is_a_png():
    cells = np.array([[0, 1, 2], [3, 0, 1]], dtype=np.uint8)
    data = notebook.png(cells)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
            name + body
        )
        parts[name] = body
        at += 12 + size
    assert struct.unpack(">IIBBBBB", parts[b"IHDR"]) == (3, 2, 8, 3, 0, 0, 0)
    assert len(parts[b"PLTE"]) == 12
    assert zlib.decompress(parts[b"IDAT"]) == b"\0\0\1\2\0\3\0\1"


def test_a_row_counts_readings_and_suspects():
    X = np.zeros((4, 5))
    flag = np.array([[1] * 5, [9] * 5, [3, 4, 1, 2, 9], [1] * 5], dtype=np.int8)
    row = notebook._row(recovered(X, flag=flag))
    cells = row.removeprefix("<tr><td>").removesuffix("</td></tr>").split("</td><td>")
    assert cells == ["t (°C)", "14", fm.text.percent(6 / 20), "2", "-", "-"]
    one = notebook._row(recovered(np.zeros((1, 1))))
    assert f"<td>1</td><td>{fm.text.percent(0.0)}</td><td>0</td>" in one


def test_a_notebook_says_from_when_to_when():
    X = np.zeros((48, 3))
    grid = Grid.of(X, slot_seconds=3600, condition="t")
    page = notebook.page(fm.Recovery(grid, {"t": recovered(X)}, Options(), None, ()))
    assert "3 nodes × 48 slots, 1 Jan 1970 00:00 to 3 Jan 1970 00:00 UTC" in page.replace("–", "to")


def test_a_kept_window_that_would_run_something_is_refused(tmp_path):
    np.savez(tmp_path / "0-000000.npz", words=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        Kept(tmp_path, 0).load(0)


def test_the_first_reading_of_a_record_speaks_too():
    X = np.full((30, 3), np.nan)
    X[:5, 0] = np.arange(5.0)
    X[20:25, 1:] = np.arange(10.0).reshape(5, 2)
    assert judgeable(~np.isnan(X), witnesses(X, None))[4, 0]


# What is at rest, and how wide arcs are


@pytest.mark.parametrize(("dark", "rests"), [(40, True), (30, True), (26, False), (10, False)])
def test_a_stretch_is_at_rest_if_at_least_half_of_it_is(dark, rests):
    """Sixty readings in question, so many of them at 0 while the others are near it."""
    light = Quantity(Kind.POSITIVE, low=0.0)
    X = np.tile(np.linspace(0, 500, 400)[:, None], (1, 4))
    X[100:160] = 1.0
    X[100:160, 0] = 300.0 + np.arange(60)
    X[100 : 100 + dark, 0] = 0.5 + 0.001 * np.arange(dark)
    found = np.zeros(X.shape, dtype=bool)
    found[100:160, 0] = True
    np.testing.assert_array_equal(resting(X, found, light), found & rests)


@pytest.mark.parametrize(("heard", "own"), [(99, False), (100, True)])
def test_arcs_are_widened_by_the_length_of_the_gap_where_a_hundred_tell(heard, own):
    gap = np.repeat([1, 5], [heard, 400])
    ratio = np.where(gap == 1, 1.0, 3.0)
    short, longer, *_ = circular._widening(ratio, gap, 0.5)
    assert (short, longer) == (1.0 if own else 3.0, 3.0)


def test_values_that_all_read_are_named_in_the_order_of_their_slots():
    read = np.array([[7.5, 7.5], [3.25, 3.25], [9.0, 1.0]])
    one = SimpleNamespace(observed=read, flag=np.full(read.shape, Flag.SUSPECT))
    recovery = SimpleNamespace(conditions={"t": one})
    episode = SimpleNamespace(condition="t")
    item = SimpleNamespace(episode=episode, start=0, stop=2, nodes=(0, 1), readings=4)
    assert visits._values(recovery, item) == ": all read 7.5 or 3.25"  # the same every time
    item.stop = 3
    assert visits._values(recovery, item) == ", 4 suspect readings"  # three of four are not all
    item.episode.condition = "u"
    assert visits._values(recovery, item) == ""
