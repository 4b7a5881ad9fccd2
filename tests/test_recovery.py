"""The main job: flags, hold-out, windows, what comes out."""

import json
import logging
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.faults import Episode
from fieldmend.field.holdout import Holdout as Hidden
from fieldmend.grid import Grid
from fieldmend.recovery import Options, condition, judging, solving, storage, windows
from fieldmend.recovery.windows import Window
from fieldmend.recovery.witnesses import witnesses


def network(slots=200, nodes=20, seed=1, **options):
    return fm.simulate.network(slots=slots, nodes=nodes, seed=seed, **options)


def grid_of(net, condition="temperature"):
    return Grid.of(net.readings, condition=condition, unit="°C")


@pytest.fixture(scope="module")
def net():
    return network()


@pytest.fixture(scope="module")
def rec(net):
    return fm.recover(grid_of(net))


# What comes out ----------------------------------------------------------------------------------


def test_every_entry_has_an_estimate_and_a_flag(net, rec):
    one = rec["temperature"]
    assert np.isfinite(one.estimate).all()
    assert set(np.unique(one.flag)) <= {1, 2, 3, 4, 9}
    assert one.flag.dtype == np.int8
    np.testing.assert_array_equal(one.flag == 9, np.isnan(net.readings))


def test_the_reading_is_never_overwritten(net, rec):
    one = rec["temperature"]
    np.testing.assert_array_equal(one.observed, net.readings)
    kept = (one.flag != 9) & ~one.replaced
    np.testing.assert_array_equal(one.filled[kept], net.readings[kept])
    np.testing.assert_array_equal(one.filled[~kept], one.estimate[~kept])


def test_anomalies_are_zero_but_for_flagged_readings(rec):
    one = rec["temperature"]
    off = (one.flag == 3) | (one.flag == 4)
    assert off.any()
    np.testing.assert_array_equal(one.anomaly[off], (one.observed - one.estimate)[off])
    assert not one.anomaly[~off].any()


def test_injected_anomalies_are_suspect(net, rec):
    found = fm.metrics.detection(rec["temperature"].flag == 3, net.anomalies != 0, net.observed)
    assert found.f1 > 0.9


def test_the_anomaly_list_has_one_row_per_flagged_reading(rec):
    one = rec["temperature"]
    listed = rec.anomaly_columns()
    assert list(listed) == [
        "node", "time", "condition", "value", "expected", "deviation", "score", "kind", "episode",
    ]  # fmt: skip
    assert len(listed["node"]) == np.count_nonzero((one.flag == 3) | (one.flag == 4))
    np.testing.assert_allclose(listed["deviation"], listed["value"] - listed["expected"])
    faulty = {i for i, e in enumerate(one.episodes, 1) if e.kind != "event"}
    assert set(listed["episode"]) == faulty


def test_limits_fail_and_are_no_evidence(net):
    X = net.readings.copy()
    X[50:150, 3] = 500.0
    free = fm.recover(Grid.of(np.where(X == 500, np.nan, X)), holdout=False)["value"]
    rec = fm.recover(Grid.of(X), limits={"value": (-400, 400)}, holdout=False)
    bound = rec["value"]
    assert (bound.flag[50:150, 3] == 4).all()
    at = ~np.isnan(free.estimate)  # too long a silence where the readings were taken out
    assert at.mean() > 0.95
    np.testing.assert_array_equal(bound.estimate[at], free.estimate[at])
    np.testing.assert_array_equal(bound.anomaly[60, 3], 500 - bound.estimate[60, 3])
    assert "limit" in set(rec.anomaly_columns()["kind"])


def test_limits_themselves_are_possible():
    assert not judging.outside(np.array([-40.0, 60.0, np.nan]), (-40, 60)).any()
    assert judging.outside(np.array([-40.1, 60.1]), (-40, 60)).all()


def test_the_same_input_gives_the_same_result(net, rec):
    again = fm.recover(grid_of(net))["temperature"]
    for what in ("estimate", "flag", "anomaly"):
        np.testing.assert_array_equal(getattr(again, what), getattr(rec["temperature"], what))
    assert again.holdout == rec["temperature"].holdout


def test_summary_is_json(rec):
    summary = json.loads(json.dumps(rec.summary(), allow_nan=False))
    one = summary["conditions"]["temperature"]
    assert sum(one["flags"].values()) == 200 * 20
    assert one["holdout"]["verdict"]


def test_progress_rises_to_the_end(net):
    said = []
    fm.recover(grid_of(net), holdout=False, progress=lambda what, share: said.append((what, share)))
    shares = [share for _, share in said]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert said[-1] == ("recovered", 1.0)


# Sources and frames ------------------------------------------------------------------------------


def table(pd):
    rng = np.random.default_rng(5)
    rows = [(f"n{n}", t) for t in range(30) for n in range(6)]
    return pd.DataFrame(
        {
            "node": [node for node, _ in rows],
            "time": pd.to_datetime([f"2024-01-01 {t // 6:02d}:{t % 6 * 10:02d}" for _, t in rows]),
            "temperature": [20 + np.sin(t / 5) + rng.normal(0, 0.01) for _, t in rows],
        }
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_come_back_as_they_went_in(kind):
    pd = pytest.importorskip("pandas")
    frame = table(pd)
    if kind == "polars":
        frame = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    if kind == "pyarrow":
        frame = pytest.importorskip("pyarrow").table(frame.to_dict("list"))
    rec = fm.recover(frame)
    for out in (rec.filled["temperature"], rec.flags["temperature"], rec.anomalies):
        assert type(out).__module__.split(".")[0] == kind
    assert "UTC" in str(
        rec.filled["temperature"].index.dtype
        if kind == "pandas"
        else rec.filled["temperature"].schema
    )


def test_polars_frames_need_no_other_library():
    pytest.importorskip("polars")
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['pyarrow'] = None\n"
        "import fieldmend as fm\n"
        "net = fm.simulate.network(slots=40, nodes=6, seed=1)\n"
        "from dataclasses import replace\n"
        "rec = replace(fm.recover(fm.Grid.of(net.readings)), backend='polars')\n"
        "print(type(rec.filled['value']).__module__.split('.')[0], rec.anomalies.columns[0])"
    )
    assert run(code).split() == ["polars", "node"]


def test_without_any_frame_library_columns_are_arrays(rec, monkeypatch):
    monkeypatch.setattr("fieldmend.result.frames.find_spec", lambda _: None)
    filled = rec.filled["temperature"]
    assert filled.shape == rec["temperature"].observed.shape
    assert isinstance(filled[rec.grid.nodes[0]], np.ndarray)


def test_a_node_called_time_keeps_its_column():
    pytest.importorskip("polars")
    grid = replace(Grid.of(network(60, 6).readings), nodes=("time", "b", "c", "d", "e", "f"))
    frame = replace(fm.recover(grid), backend="polars").filled["value"]
    assert frame.columns[:2] == ["_time", "time"]


def test_records_and_their_grid_give_the_same():
    pd = pytest.importorskip("pandas")
    records = fm.read(table(pd))
    a, b = fm.recover(records), fm.recover(table(pd))
    np.testing.assert_array_equal(a["temperature"].estimate, b["temperature"].estimate)
    assert records.grid().shape == (30, 6)  # still open


def test_conditions_with_different_gaps_stay_apart(net):
    other = network(seed=2).readings
    grid = replace(grid_of(net), values={"a": net.readings, "b": other})
    both = fm.recover(grid, holdout=False)
    alone = fm.recover(replace(grid, values={"b": other}), holdout=False)
    np.testing.assert_array_equal(both["b"].estimate, alone["b"].estimate)
    np.testing.assert_array_equal(both["b"].flag, alone["b"].flag)


# Flags -------------------------------------------------------------------------------------------


def judged(observed):
    return judging.judgeable(observed, witnesses(np.where(observed, 0.0, np.nan), None))


def test_a_reading_alone_in_its_slot_and_its_time_is_not_evaluated():
    observed = np.ones((100, 5), dtype=bool)
    observed[40:80] = False
    observed[60, 2] = True
    can = judged(observed)
    assert not can[60, 2]
    assert can[:40].all()


def test_two_others_or_four_of_its_own_are_enough():
    observed = np.zeros((100, 5), dtype=bool)
    observed[:6] = True
    observed[50, :3] = True  # two others
    observed[70:75, 4] = True  # four of its own
    can = judged(observed)
    assert can[50, :3].all()
    assert can[70:75, 4].all()
    observed[50, 2] = False
    assert not judged(observed)[50].any()


def test_a_node_that_repeats_another_is_no_witness():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    X = np.hstack([X, X[:, :1]])
    known = witnesses(X, None)
    np.testing.assert_array_equal(known.twin, [0, 1, 2, 0])
    X[10, 1:3] = np.nan
    X[:10, 0] = X[:10, 3] = X[11:, 0] = X[11:, 3] = np.nan
    X[20:25, 0] = X[20:25, 3] = 1.0
    observed = ~np.isnan(X)
    assert not judging.judgeable(observed, witnesses(X, None))[10].any()


# A method that decides and bounds by itself -------------------------------------------------------


class Field:
    """What `auto` gives: a decomposition with intervals, flags and a hold-out of its own."""

    def __init__(self, X, out):
        self.__dict__.update(out.__dict__)
        self.method, self.choice = "auto", "because"
        self.lower, self.upper = out.estimate - 1, out.estimate + 2
        self.sparse = np.zeros_like(out.estimate)
        self.sparse[7, 1] = 3.0
        rows, columns = np.nonzero(~np.isnan(X[:40, :5]))
        truth = X[rows, columns]
        self.holdout = Hidden(
            rows,
            columns,
            truth,
            truth + 0.25,
            truth - 1,
            truth + np.where(np.arange(len(truth)) % 2, 1, -0.5),
            np.ones(len(truth), dtype=np.intp),
        )


def test_a_methods_own_flags_and_bounds_are_taken_its_own_score_is_not(net, monkeypatch):
    X = net.readings.copy()
    X[7, 1] = 20.0
    calls = []
    decompose = solving.decompose

    def auto(given, **options):
        calls.append(1)
        return Field(given, decompose(given, **options))

    monkeypatch.setattr(solving, "decompose", auto)
    one = fm.recover(Grid.of(X))["value"]
    assert len(calls) == 2  # the record, and what is left of it when readings are hidden
    assert one.choice == "because"
    np.testing.assert_allclose(one.upper - one.lower, 3.0)
    flagged = one.flag == 3
    assert flagged[7, 1]
    flagged[7, 1] = False
    assert (net.anomalies[flagged] != 0).all()  # what is far off everything is found before
    assert one.holdout.method.mae != pytest.approx(0.25)  # what it says of itself is no score


# Long records ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("slots", "nodes"), [(10, 3), (513, 10), (5000, 10), (9999, 7), (700, 99)])
def test_windows_cover_every_slot_once(slots, nodes):
    todo = windows.windows(slots, nodes, entries=6000)
    decided = np.concatenate([np.arange(slots)[w.decided] for w in todo])
    np.testing.assert_array_equal(decided, np.arange(slots))
    for w in todo:
        assert w.start <= w.first - w.fade * (w.first > 0)
        assert w.stop >= w.last + w.fade * (w.last < slots)
        assert w.stop - w.start <= max(6000 // nodes, windows.SHORTEST)


def test_blending_passes_from_one_window_to_the_next():
    out = np.empty((100, 1))
    Window(0, 70, 0, 60, 5).blend(out, np.zeros((70, 1)))
    Window(40, 100, 60, 100, 5).blend(out, np.ones((60, 1)))
    assert (out[:55] == 0).all()
    assert (out[65:] == 1).all()
    assert (np.diff(out[54:66, 0]) > 0).all()
    assert np.diff(out[:, 0]).max() <= 0.1 + 1e-12


@pytest.fixture(scope="module")
def long():
    return network(2200, 30, seed=0)


@pytest.fixture
def short_windows(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 30 * 1200)


def test_windows_give_what_one_solve_gives(long, monkeypatch):
    whole = fm.recover(Grid.of(long.readings), method="ls", holdout=False)["value"]
    monkeypatch.setattr(windows, "WINDOW", 30 * 1200)
    rec = fm.recover(Grid.of(long.readings), method="ls", holdout=False)
    parts = rec["value"]
    assert "solved in 2 windows" in rec.summary()["notes"][-1]
    middle = np.nanmedian(long.readings, axis=0)
    scale = 1.4826 * np.nanmedian(np.abs(long.readings - middle), axis=0)
    apart = (parts.estimate - whole.estimate) / scale
    # Measured on seeds 0 to 2 of 4,000 slots: 0.023 to 0.029 of a node's scale, half of the
    # noise; flags 2 %.
    assert np.sqrt((apart**2).mean()) < 0.04
    assert np.count_nonzero(parts.flag != whole.flag) < 0.04 * np.count_nonzero(whole.flag == 3)
    truth = long.truth
    assert fm.metrics.nse(parts.estimate, truth) < 1.5 * fm.metrics.nse(whole.estimate, truth)
    # A join is no larger a step than the field's own.
    for window in windows.windows(2200, 30)[1:]:
        band = slice(window.first - window.fade - 1, window.first + window.fade + 1)
        step, usual = (
            np.abs(np.diff(e[band], axis=0)).max(axis=0) for e in (parts.estimate, whole.estimate)
        )
        assert (step < 1.1 * usual).all()


def test_a_node_silent_in_a_window_keeps_its_level(long, short_windows):
    X = long.readings.copy()
    X[:, 4] += 40.0
    X[:1400, 4] = np.nan
    one = fm.recover(Grid.of(X), method="ls", holdout=False, extrapolate=True)["value"]
    off = one.estimate[:1000, 4] - long.truth[:1000, 4] - 40.0
    assert abs(np.median(off)) < 4.0
    assert any("no reading before" in note for note in one.notes)


def test_an_episode_over_a_join_is_one(short_windows):
    long = network(4000, 30, seed=0, anomaly_rate=0.0)  # nothing else to be grouped with it
    X = long.readings.copy()
    edge = windows.windows(4000, 30)[1].first
    # Longer than what the windows share: neither of them sees all of it.
    X[edge - 200 : edge + 200, 4] = long.truth[edge - 200 : edge + 200, 4] + 500.0
    one = fm.recover(Grid.of(X), method="ls", holdout=False)["value"]
    across = [e for e in one.episodes if e.node == 4 and e.start < edge < e.stop]
    assert len(across) == 1
    seen = np.flatnonzero(~np.isnan(X[:, 4]))
    inside = seen[(seen >= edge - 200) & (seen < edge + 200)]
    # `faults` takes a few readings on either side along; where it ends is not the window's doing.
    start, stop = across[0].start, across[0].stop
    assert inside[0] - 20 < start <= inside[0]
    assert inside[-1] < stop < inside[-1] + 21
    assert across[0].readings == np.count_nonzero(one.flag[start:stop, 4] == 3) >= len(inside)
    assert all(e.stop <= len(X) for e in one.episodes)


def test_hidden_readings_are_scored_in_some_windows(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 1)
    X = network(4000, 6, seed=0).readings
    count = len(windows.windows(4000, 6))
    one = fm.recover(Grid.of(X), method="ls")["value"]
    assert count > condition.SCORED
    assert any(f"scored in 4 of {count} windows" in note for note in one.notes)
    assert one.holdout.method.count > 100


def test_results_of_a_grid_in_files_are_in_files(tmp_path, net, caplog, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    X = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=net.readings.shape)
    X[:] = net.readings
    grid = replace(grid_of(net), values={"temperature": X})
    rec = fm.recover(grid, holdout=False)
    one = rec["temperature"]
    assert all(isinstance(a, np.memmap) for a in (one.estimate, one.anomaly, one.flag))
    plain = fm.recover(grid_of(net), holdout=False)["temperature"]
    np.testing.assert_array_equal(one.estimate, plain.estimate)
    np.testing.assert_array_equal(one.flag, plain.flag)
    said = "kept in files, not in memory"
    assert said in rec.summary()["notes"][-1]
    assert said in caplog.text
    assert not list(folder.iterdir())  # they have no name, and are gone with the arrays


def test_large_results_go_to_files_by_themselves(net, monkeypatch):
    monkeypatch.setattr(storage, "IN_MEMORY", 1000)
    assert isinstance(fm.recover(grid_of(net), holdout=False)["temperature"].flag, np.memmap)


def test_a_full_disk_is_said_before_any_work(net, monkeypatch):
    monkeypatch.setattr(storage, "IN_MEMORY", 1000)
    monkeypatch.setattr(storage, "BYTES", 10**15)
    with pytest.raises(OSError, match="set TMPDIR to a larger disk"):
        fm.recover(grid_of(net))


# Imports -----------------------------------------------------------------------------------------


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_fieldmend_imports_nothing_heavy():
    heavy = ("scipy.linalg", "scipy.sparse", "scipy.stats", "scipy.special", "duckdb", "narwhals",
             "pandas", "polars", "pyarrow", "plotly", "sklearn", "typer", "jinja2")  # fmt: skip
    code = f"import sys, fieldmend; print([m for m in {heavy!r} if m in sys.modules])"
    assert run(code).strip() == "[]"


# Real data ---------------------------------------------------------------------------------------


def test_intellab(real, caplog):
    caplog.set_level(logging.ERROR)
    rec = fm.recover(real("intellab_mar04_08.txt.gz"), slot="5min", conditions=["temperature"])
    one = rec["temperature"]
    at = list(rec.grid.nodes).index("18")
    late = rec.grid.times >= np.datetime64("2004-03-08T21:15", "us").astype(np.int64)
    assert (one.flag[late, at] != 1).mean() > 0.9  # it reads above 50 °C: dying
    assert one.holdout.method.count > 1000
    assert Options().method == one.method


# Conditions together -----------------------------------------------------------------------------


def two_conditions(seed, *, related):
    """Humidity follows the temperature of its node, or nothing; their gaps are different."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(300, 8)).cumsum(axis=0)  # every node goes its own way
    other = own if related else rng.normal(size=(300, 8)).cumsum(axis=0)
    noise = 0.05 * rng.normal(size=(2, 300, 8))
    values = {"temperature": own + noise[0], "humidity": 60 - 2 * other + noise[1]}
    truth = values["temperature"].copy()
    for n in range(8):
        start = rng.integers(20, 240)
        values["temperature"][start : start + 40, n] = np.nan
        start = rng.integers(20, 240)
        values["humidity"][start : start + 20, n] = np.nan
    grid = replace(Grid.of(values["temperature"]), values=values)
    return grid, truth, np.isnan(values["temperature"])


def test_conditions_that_tell_of_each_other_are_recovered_together():
    grid, truth, lost = two_conditions(0, related=True)
    alone = fm.recover(grid, joint=False, holdout=False)["temperature"]
    joint = fm.recover(grid, holdout=False)["temperature"]
    assert "other conditions" in joint.choice
    assert "other conditions" not in alone.choice
    errors = [np.abs(one.estimate - truth)[lost].mean() for one in (joint, alone)]
    assert errors[0] < 0.6 * errors[1]
    assert joint.estimate.shape == alone.estimate.shape == joint.flag.shape


def test_conditions_that_do_not_are_recovered_alone():
    grid, _, _ = two_conditions(1, related=False)
    joint = fm.recover(grid, holdout=False)["temperature"]
    assert "other conditions" not in joint.choice
    alone = fm.recover(grid, joint=False, holdout=False)["temperature"]
    # A product of more regressors may round otherwise, in the last digit.
    np.testing.assert_allclose(joint.estimate, alone.estimate, rtol=1e-12, atol=1e-12)


def test_labels_are_not_asked():
    grid, _, lost = two_conditions(0, related=True)
    values = {"temperature": grid.values["temperature"], "label": np.where(lost, 1.0, 0.0)}
    out = fm.recover(replace(grid, values=values), joint=True, holdout=False)
    assert "other conditions" not in out["temperature"].choice


def test_only_auto_asks_other_conditions():
    grid, _, _ = two_conditions(0, related=True)
    with pytest.raises(fm.InputError, match="joint: method 'ls' asks no other"):
        fm.recover(grid, method="ls", joint=True)


# The list of anomalies ---------------------------------------------------------------------------


def test_an_event_does_not_name_the_faults_beneath_it(rec):
    one = rec["temperature"]
    slot, node = np.argwhere(one.flag == 3)[0]
    fault = Episode(int(node), "temperature", int(slot), int(slot) + 1, "spike", 1, 9.0, 0.9, "…")
    event = replace(fault, start=0, stop=len(one.flag), kind="event")
    known = replace(one, episodes=(fault, event))
    listed = replace(rec, conditions={"temperature": known}).anomaly_columns()
    at = (listed["node"] == rec.grid.nodes[node]) & (
        listed["time"] == rec.grid.times[slot].astype("datetime64[us]")
    )
    assert listed["kind"][at].tolist() == ["spike"]
    assert "event" not in listed["kind"]


def test_a_list_of_frames_gives_back_frames_of_their_kind():
    pl = pytest.importorskip("polars")
    times = np.arange(40).astype("datetime64[h]").astype("datetime64[us]")
    wave = np.sin(np.arange(40) / 5)
    frame = pl.DataFrame({"time": times} | {f"n{i}": wave + i for i in range(6)})
    for source in ([frame], (frame, frame)):
        filled = fm.recover(source, method="ls", holdout=False).filled
        assert isinstance(next(iter(filled.values())), pl.DataFrame)
