"""The paper's experiments: each measurement by hand, tables, figures, the page, kills."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import fieldmend as fm
import naive
from fieldmend.errors import InputError
from fieldmend.evaluation import evaluate
from fieldmend.evaluation.hiding import PATTERNS
from fieldmend.experiments import (
    cells,
    contestants,
    data,
    detection,
    motivation,
    observations,
    paper,
    plots,
    sampling,
    solver,
    sweep,
    theory,
)
from fieldmend.experiments.claims import FAILS, HOLDS, PART, claims, percent
from fieldmend.experiments.figures import draw
from fieldmend.experiments.page import claims_page, report
from fieldmend.experiments.plots import COLOURS, Axis, Panel, Series, figure
from fieldmend.experiments.tables import from_csv, over_runs, read_tables, select, to_csv

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "paper"


def small(seed=0, *, slots=40, nodes=12, simulated=True):
    net = fm.simulate.network(
        slots, nodes, rank=2, sampling=1.0, noise=0.5, anomaly_rate=0.04, seed=seed
    )
    field = net.truth if simulated else None
    return data.Matrix("intellab", "temperature", net.readings, simulated, field)


# Tables


def test_a_table_survives_being_written():
    rows = [{"name": "a, b", "n": 3, "x": 0.25}, {"name": "c", "n": 4}]
    assert from_csv(to_csv(rows)) == rows


def test_mean_and_spread_over_runs():
    rows = [{"rate": 0.5, "run": i, "nse": e} for i, e in enumerate([1.0, 2.0, 6.0])]
    (row,) = over_runs(rows, ["rate"], ["nse"])
    assert row["runs"] == 3
    assert row["nse"] == pytest.approx(3.0)
    assert row["nse_spread"] == pytest.approx(np.sqrt((4 + 1 + 9) / 2))


def test_one_run_has_no_spread():
    (row,) = over_runs([{"rate": 0.5, "nse": 1.0}], ["rate"], ["nse"])
    assert row == {"rate": 0.5, "runs": 1, "nse": 1.0}


# Data


def test_the_densest_stretch_and_its_best_nodes():
    values = np.full((6, 4), np.nan)
    values[2:5, 1] = values[2:5, 3] = 1.0
    values[0, 0] = 1.0
    values[3, 2] = 1.0
    grid = fm.Grid.of(values, condition="t")
    found = data._densest(grid, "t", ("intellab", "temperature"), (3, 2))
    assert found.start == "1970-01-01T00:10:00Z"
    np.testing.assert_array_equal(found.values, np.ones((3, 2)))


def test_a_node_without_a_reading_is_left_out():
    values = np.array([[1.0, np.nan], [2.0, np.nan]])
    found = data._densest(fm.Grid.of(values, condition="t"), "t", ("ndbc", "pressure"), (2, 2))
    assert found.values.shape == (2, 1)


def test_look_alikes_have_the_papers_shapes_and_say_so():
    shapes = {"intellab": (500, 54), "greenorbs": (750, 326), "ndbc": (300, 216)}
    for key, shape in shapes.items():
        one = data.simulated(key)
        assert {m.values.shape for m in one.matrices} == {shape}
        assert all(row["simulated"] == "yes" for row in data.table((one,)))
        assert "simulated" in one.origin
    false = np.abs(one.matrices[0].values - one.matrices[0].field) > 0.1 * np.ptp(
        one.matrices[0].field
    )
    assert false.mean() == pytest.approx(0.04, abs=0.002)


def write_records(path, rows=30):
    lines = [
        f"2004-03-01 00:{t // 2:02d}:{30 * (t % 2):02d}.0 {t} {mote} "
        f"{20 + mote + t / 10:.2f} 40.0 100.0 2.6"
        for t in range(rows)
        for mote in (1, 2, 3)
        if (t, mote) != (4, 2)
    ]
    (path / "data.txt").write_text("\n".join(lines) + "\n")


def test_files_are_taken_where_they_are_and_the_rest_is_simulated(tmp_path):
    write_records(tmp_path)
    found = {one.key: one for one in data.load(tmp_path)}
    assert [found[k].simulated for k in ("intellab", "greenorbs", "ndbc")] == [False, True, True]
    temperature = found["intellab"].matrices[0]
    assert temperature.values.shape == (3, 3)  # 15 minutes in slots of five
    # One of the readings of the slot, not their mean.
    seen = {round(20 + 1 + t / 10, 2) for t in range(10)}
    assert round(float(temperature.values[0, 0]), 2) in seen
    np.testing.assert_allclose(sorted(found["intellab"].loss), [0, 0, 1 / 30])


def test_a_folder_without_data_is_an_error(tmp_path):
    with pytest.raises(fm.InputError, match=r"data\.txt"):
        data.load(tmp_path)
    with pytest.raises(fm.InputError, match="no such folder"):
        data.load(tmp_path / "not there")


def test_intellab_has_the_papers_construction(real):
    real("intellab_mar04_08.txt.gz")
    folder = real("ndbc_may2013.parquet").parent
    rows = data.table(data.load(folder))
    size = {(row["deployment"], row["condition"]): (row["nodes"], row["slots"]) for row in rows}
    assert size["intellab", "temperature"] == (52, 500)
    assert size["intellab", "light"] == (51, 500)
    assert size["ndbc", "pressure"] == (216, 300)
    assert {row["simulated"] for row in rows if row["deployment"] != "greenorbs"} == {"no"}


# Experiments


def test_sampling_shows_the_share_asked_for_among_known_readings():
    matrix = small()
    matrix.values[0, :] = np.nan
    seen = sampling.shown(matrix, 0.3, run=1)
    assert seen.sum() == round(0.3 * 39 * 12)
    assert not seen[0].any()
    np.testing.assert_array_equal(seen, sampling.shown(matrix, 0.3, run=1))
    assert (seen != sampling.shown(matrix, 0.3, run=2)).any()


def test_anomalies_of_value_100_added_and_put_in_place():
    L = fm.simulate.low_rank(20, 20, rank=5, seed=0)
    added = motivation.corrupted(L, 0.05, 0, added=True) - L
    assert np.count_nonzero(added) == 20
    np.testing.assert_allclose(added[added != 0], 100)
    placed = motivation.corrupted(L, 0.05, 0, added=False)
    np.testing.assert_array_equal(placed != L, added != 0)
    np.testing.assert_array_equal(placed[added != 0], 100)


def test_completion_is_exact_without_anomalies_and_spoilt_with_them():
    (clean,) = motivation.measure(size=30, run=0, share=0.0, rate=0.9, rank=2)
    (spoilt,) = motivation.measure(size=30, run=0, share=0.03, rate=0.9, rank=2)
    assert clean["error"] < 0.005 < 0.05 < spoilt["error"]


def test_energy_of_the_motivation_by_hand():
    rows = motivation.measure(size=20, run=0, rank=5)
    L = fm.simulate.low_rank(20, 20, rank=5, seed=data.SEED)
    sigma = np.linalg.svd(L, compute_uv=False)
    row = select(rows, anomalies=0.0, reading="added", top=2)[0]
    assert row["energy"] == pytest.approx(sigma[:2].sum() / sigma.sum())
    assert select(rows, anomalies=0.0, reading="added", top=5)[0]["energy"] == pytest.approx(1)


def test_separation_solves_the_papers_problem():
    matrix = small(slots=24, nodes=10)
    found = contestants.separation(matrix)
    lam = 1 / np.sqrt(24)
    assert found.lam == pytest.approx(lam)
    L, S, _ = naive.solve(matrix.values, matrix.known, lam, found.mu)
    np.testing.assert_allclose(found.low_rank, L, atol=0.02 * np.abs(L).max())
    assert naive.objective(
        matrix.values, matrix.known, (found.low_rank, found.sparse), lam, found.mu
    ) == pytest.approx(
        naive.objective(matrix.values, matrix.known, (L, S), lam, found.mu), rel=1e-5
    )


def test_observations_count_the_anomalies_and_the_energy():
    matrix = small()
    (row,) = observations.measure(matrix, way="paper")
    found = contestants.separation(matrix)
    assert row["anomaly_ratio"] == pytest.approx(
        np.count_nonzero(found.sparse) / matrix.values.size
    )
    sigma = np.cumsum(np.linalg.svd(matrix.values, compute_uv=False))
    count = 1 + int(np.argmax(sigma >= 0.9 * sigma[-1]))
    assert row["raw_for_90"] == pytest.approx(count / 12)
    table = observations.energy_table([row])
    assert len(table) == 12
    assert table[-1]["raw"] == table[-1]["processed"] == 1.0


@pytest.mark.parametrize("method", contestants.contestants())
def test_a_recovery_is_scored_against_each_truth(method):
    matrix = small()
    rows = sweep.measure(matrix, method=method, rate=0.6, run=0)
    assert [row["truth"] for row in rows] == ["full", "separated", "field"]
    seen = sampling.shown(matrix, 0.6, 0)
    told = contestants.separation(matrix)
    left = np.where(seen, matrix.values, np.nan)
    estimate = contestants.contestants()[method].answer(left, told).estimate
    for row, truth in zip(rows, (matrix.values, told.low_rank, matrix.field), strict=True):
        assert row["nse"] == pytest.approx(naive.nse(estimate, truth))
        assert row["lost_nse"] == pytest.approx(naive.nse(estimate[~seen], truth[~seen]))
        assert row["lost_mae"] == pytest.approx(np.abs(estimate - truth)[~seen].mean())


def test_real_matrices_have_no_third_truth_and_holes_are_not_scored():
    matrix = small(simulated=False)
    matrix.values[3, 4] = np.nan
    rows = sweep.measure(matrix, method="line", rate=0.5, run=0)
    assert [row["truth"] for row in rows] == ["full", "separated"]
    assert all(np.isfinite(row["nse"]) for row in rows)


def test_the_fast_solver_stands_in_for_the_papers():
    (row,) = solver.measure(small(), rate=0.5)
    assert row["nse_fast"] == pytest.approx(row["nse_apg"], rel=0.01)
    assert row["apg_gap"] <= contestants.TOLERANCE / 10


def test_detection_of_injected_anomalies():
    matrix = small(slots=60)
    (oracle,) = detection.measure(matrix, method="os", rate=0.9, run=0)
    assert oracle["precision"] == oracle["recall"] == 1.0
    (ours,) = detection.measure(matrix, method="ls", rate=0.9, run=0)
    assert ours["recall"] > 0.9
    assert 0 < ours["precision"] < 1  # every nonzero entry of S counts


def test_anomalies_of_a_simulated_matrix_are_graded_by_hand():
    net = fm.simulate.network(40, 12, rank=2, sampling=1.0, noise=0.5, anomaly_rate=0.04, seed=0)
    matrix = dataclasses.replace(small(), false=net.anomalies != 0)
    (*_, row) = sweep.measure(matrix, method="ls", rate=0.7, run=0)
    seen = sampling.shown(matrix, 0.7, 0)
    left = np.where(seen, matrix.values, np.nan)
    answer = contestants.contestants()["ls"].answer(left, contestants.separation(matrix))
    flagged, false = answer.sparse[seen] != 0, matrix.false[seen]
    assert row["precision"] == pytest.approx((flagged & false).sum() / flagged.sum())
    assert row["recall"] == pytest.approx((flagged & false).sum() / false.sum())
    (*_, told) = sweep.measure(matrix, method="os", rate=0.7, run=0)
    assert told["precision"] == told["recall"] == 1.0
    rows = sweep.measure(matrix, method="mc", rate=0.7, run=0)  # flags nothing: not graded
    assert all("truth" in row for row in rows)


def test_real_matrices_are_cleaned_before_anomalies_go_in():
    matrix = small(simulated=False)
    sparse = contestants.separation(matrix).sparse
    np.testing.assert_allclose(detection.clean(matrix) + sparse, matrix.values)


def test_descent_stays_below_the_theorem_and_is_counted():
    rows = theory.descent(12, 150, falling=False)
    path = [row for row in rows if "excess" in row]
    assert all(row["excess"] <= row["bound"] for row in path)
    assert path[0]["bound"] == pytest.approx(4 * path[1]["bound"])
    counted = [row for row in rows if "epsilon" in row]
    assert len(counted) >= 3
    for row in counted:  # all early iterations are kept, so the count can be checked
        after = [r["excess"] for r in path if r["k"] >= row["iterations"]]
        assert max(after, default=0.0) <= row["epsilon"] * path[0]["least"]
        assert row["iterations"] <= row["lemma"] + 1


def test_the_bound_of_theorem_1():
    row = theory.bound(20, 0.3, 0.8)
    assert row["bound"] == pytest.approx(fm.diagnostics.recovery_bound(20, 0.8, row["delta"]))
    assert 1 < row["bound_over_error"] == pytest.approx(row["bound"] / row["error"])


def test_leakage_is_the_norm_of_the_product_of_projections():
    matrix = small(slots=9, nodes=6)
    found = contestants.separation(matrix)
    on = np.random.default_rng(0).random((9, 6)) < 0.3
    U, V = found.space
    operator = np.zeros((on.sum(), 54))
    for j in range(54):
        E = np.zeros(54)
        E[j] = 1
        E = E.reshape(9, 6)
        left = U @ U.T @ E
        operator[:, j] = (left + (E - left) @ V @ V.T)[on]
    assert theory.leakage(found, on, steps=400) == pytest.approx(
        np.linalg.norm(operator, 2), rel=1e-3
    )


# Cells: once, resumable, the same again


CELLS = [cells.Cell("motivation", {"size": 12, "run": run, "rank": 2}) for run in range(3)]


def test_finished_cells_are_not_repeated(tmp_path, monkeypatch):
    first = cells.work(CELLS[:2], cells.Store(tmp_path), jobs=0)
    calls = []
    real = cells.measure
    monkeypatch.setattr(cells, "measure", lambda *a: calls.append(a) or real(*a))
    said = []
    again = cells.work(
        CELLS, cells.Store(tmp_path), jobs=0, progress=lambda *step: said.append(step[:2])
    )
    assert len(calls) == 1
    assert again[:2] == first
    assert said == [(2, 3), (3, 3)]


def test_a_line_cut_short_by_a_kill_is_measured_again(tmp_path):
    first = cells.work(CELLS, cells.Store(tmp_path), jobs=0)
    lines = tmp_path / "cells.jsonl"
    lines.write_bytes(lines.read_bytes()[:-20])
    store = cells.Store(tmp_path)
    assert len(store.done) == 2
    assert cells.work(CELLS, store, jobs=0) == first
    assert len(cells.Store(tmp_path).done) == 3


def test_other_parameters_data_or_code_are_other_cells(tmp_path, monkeypatch):
    store = cells.Store(tmp_path)
    keys = {store.key(cells.Cell("sweep", {"run": r}, m)) for r in (0, 1) for m in ("a", "b")}
    assert len(keys) == 4
    monkeypatch.setattr(cells, "code_version", lambda _: "other")
    assert store.key(cells.Cell("sweep", {"run": 0}, "a")) not in keys


def test_text_and_plan_do_not_make_other_cells_but_code_does():
    path = Path(sweep.__file__)
    source = path.read_text("utf-8")
    kept = cells.computing(source, without=cells.PLANNING)
    same = source.replace("RUNS = 10", "RUNS = 11").replace('"""One recovery', '"""A recovery')
    assert same != source
    assert cells.computing(same + "\n# a remark\n", without=cells.PLANNING) == kept
    other = source.replace("matrix.known & ~seen", "matrix.known & seen")
    assert other != source
    assert cells.computing(other, without=cells.PLANNING) != kept


def test_the_key_of_a_cell_depends_on_nothing_that_only_shows_results():
    here = Path(cells.__file__).parent
    hashed = {*cells.COMPUTING, *(f"{name}.py" for name in cells.SHARED)}
    assert not hashed & {"cli", "report", "page.py", "figures.py", "plots.py", "claims", "paper.py"}
    for name in cells.COMPUTING:
        assert (here.parent / name).exists(), name


def test_a_matrix_comes_back_from_the_store(tmp_path):
    matrix = dataclasses.replace(small(), false=np.eye(40, 12, dtype=bool))
    key = cells.Store(tmp_path).keep(matrix)
    again = cells.matrix_of(tmp_path, key)
    np.testing.assert_array_equal(again.values, matrix.values)
    np.testing.assert_array_equal(again.field, matrix.field)
    np.testing.assert_array_equal(again.false, matrix.false)
    assert again.labels == matrix.labels


KILLED = """
import sys, time
from pathlib import Path
from fieldmend.experiments import cells
if __name__ == "__main__":
    todo = [cells.Cell("motivation", {"size": 60, "run": r, "rank": 2}) for r in range(400)]
    cells.work(todo, cells.Store(Path(sys.argv[1])), jobs=1)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_goes_on_after_a_kill(tmp_path, how):
    script = tmp_path / "script.py"
    script.write_text(KILLED)
    source = str(Path(fm.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "cells")],
        env={**os.environ, "PYTHONPATH": source},
    )
    lines = tmp_path / "cells" / "cells.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (lines.exists() and lines.stat().st_size > 20_000):
        time.sleep(0.02)
    child.send_signal(how)
    assert child.wait(timeout=60) != 0
    time.sleep(0.2)
    store = cells.Store(tmp_path / "cells")
    assert 0 < len(store.done) < 400
    todo = [cells.Cell("motivation", {"size": 60, "run": r, "rank": 2}) for r in range(400)]
    cell = next(cell for cell in todo if store.key(cell) in store.done)
    expected = cells._plain(motivation.measure(**cell.params))
    assert store.done[store.key(cell)] == expected


# The whole run, tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A quick run on simulated look-alikes, cut smaller: one of two conditions, two of one."""
    patch = pytest.MonkeyPatch()
    first, *others = data.load(None)
    fewer = [dataclasses.replace(first, matrices=first.matrices[:2])]
    fewer += [dataclasses.replace(one, matrices=one.matrices[:1]) for one in others]
    patch.setattr(data, "load", lambda _: tuple(fewer))
    patch.setattr(paper, "QUICK_SIZE", (48, 10))
    patch.setattr(sweep, "QUICK_RATES", (0.5, 0.9))
    patch.setattr(detection, "QUICK_RATES", (0.9,))
    patch.setattr(motivation, "QUICK_RATES", (0.5, 0.9))
    patch.setattr(theory, "NOISES", (0.3,))
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    runs = [paper.run(folder, quick=True, jobs=0) for folder in folders]
    yield folders, runs
    patch.undo()


def test_two_runs_write_the_same_files(tiny):
    (one, two), (first, _) = tiny
    assert len(first.files) > 30
    for path in first.files:
        assert path.read_bytes() == (two / path.relative_to(one)).read_bytes(), path.name


def test_every_table_that_shows_a_deployment_says_simulated(tiny):
    _, (first, _) = tiny
    assert first.simulated == ("IntelLab", "GreenOrbs", "NDBC")
    for name, rows in first.tables.items():
        assert rows, name
        for row in rows:
            assert "deployment" not in row or row["simulated"] == "yes", name


def test_the_recovery_table_has_every_cell(tiny):
    _, (first, _) = tiny
    rows = first.tables["recovery"]
    methods = len(contestants.contestants())
    assert len(rows) == 4 * methods * 2 * 3
    assert {row["runs"] for row in rows} == {2}
    assert {"nse", "nse_spread", "lost_nse", "lost_mae"} <= set(rows[0])


def test_figures_are_well_formed_and_name_their_axes(tiny):
    (one, _), _ = tiny
    figures = {path.stem: path.read_text("utf-8") for path in (one / "figures").glob("*.svg")}
    assert len(figures) > 15
    for name, text in figures.items():
        root = ElementTree.fromstring(text)
        words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert root.find("{http://www.w3.org/2000/svg}title").text, name
        assert len([w for w in words if w and not w[0].isdigit()]) >= 3, name
        assert "nan" not in text.lower().replace("nanum", ""), name


def test_the_page_shows_all_claims_and_figures_that_exist(tiny):
    (one, _), (first, _) = tiny
    page = (one / "claims.md").read_text("utf-8")
    found = [claim for chapter in claims(first.tables).values() for claim in chapter]
    assert len(found) > 30
    for claim in found:
        assert claim.claim in page
    for target in re.findall(r"\]\(([^)]+)\)", page):
        assert target == "../maths.md" or (one / target).exists(), target


def test_the_report_is_one_file_and_escapes(tiny):
    _, (first, _) = tiny
    tables = {**first.tables, "data": [{**first.tables["data"][0], "origin": "<script>x</script>"}]}
    text = report(tables, {"theory-rate": "<svg></svg>"}, {"data": "<b>"})
    assert "<script>" not in text
    assert "&lt;b&gt;" in text
    assert not re.search(r"""(src|href)=["']""", text)


def test_the_stored_page_and_figures_are_those_of_the_stored_tables():
    tables = read_tables(STORED / "tables")
    tables = {name: tables[name] for name in paper.TABLES}
    figures = draw(tables)
    assert (STORED / "claims.md").read_text("utf-8") == claims_page(tables, list(figures))
    stored = {path.stem for path in (STORED / "figures").glob("*.svg")}
    assert stored == set(figures)
    for name, text in figures.items():
        assert (STORED / "figures" / f"{name}.svg").read_text("utf-8") == text, name


# Claims


def test_percent_has_three_digits_and_no_exponent():
    assert percent(0.123456) == "12.3 %"
    assert percent(1e-9) == "0.0000001 %"
    assert percent(1.0) == "100 %"


def recovery_rows(errors):
    """One matrix, one truth: method → errors at 50 and 90 %."""
    return [
        {"deployment": "intellab", "condition": "light", "simulated": "no", "truth": truth,
         "method": method, "rate": rate, "runs": 10, "nse": error, "lost_nse": error}
        for truth in ("full", "separated")
        for method, pair in errors.items()
        for rate, error in zip((0.5, 0.9), pair, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("errors", "verdict"), [((0.04, 0.01), HOLDS), ((0.2, 0.1), FAILS), ((0.06, 0.01), FAILS)]
)
def test_five_percent_from_half_the_samples_on(errors, verdict):
    from fieldmend.experiments.claims.recovery import _below

    check = _below("ls_paper", 0.05, 0.5, "LS", "")
    for claim in check({"recovery": recovery_rows({"ls_paper": errors})}):
        assert claim.verdict == verdict
        assert percent(max(errors)) in claim.ours


def test_better_than_completion_is_counted():
    from fieldmend.experiments.claims.recovery import _beats

    rows = recovery_rows({"ls_paper": (0.1, 0.1), "mc": (0.2, 0.05), "srmf": (0.3, 0.3)})
    mc, srmf, *_ = _beats({"recovery": rows})
    assert mc.verdict == PART
    assert "1 of 2 cells" in mc.ours
    assert srmf.verdict == HOLDS


def test_ten_to_fifteen_percent_at_ninety():
    from fieldmend.experiments.claims.recovery import _level_at_ninety

    rows = recovery_rows({"mc": (0.5, 0.12), "srmf": (0.5, 0.2)})
    verdicts = [claim.verdict for claim in _level_at_ninety({"recovery": rows})]
    assert verdicts == [HOLDS, FAILS, HOLDS, FAILS]


# Figures


SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def frame():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_points_lie_where_they_should(frame):
    y = Axis("y", log=True, bounds=(0.01, 1))
    drawn = Series("a", [0, 5, 10], [0.1, 0.0, 1.0], marks=False)
    plots._panel(frame, Panel("", Axis("x", bounds=(0, 10)), y, [drawn]))
    (line,) = frame.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), [[0, 0.1], [10, 1.0]])  # log: no zero
    assert frame.get_xlim() == (0, 10)
    assert frame.get_ylim() == (0.01, 1)
    assert frame.get_yscale() == "log"


def test_the_band_has_the_same_factor_down_as_up_on_a_log_axis(frame):
    drawn = Series("a", [1, 2], [1.0, 2.0], spread=[9.0, 2.0])
    plots._panel(frame, Panel("", Axis("x"), Axis("y", log=True), [drawn]))
    (band,) = frame.collections
    corners = {tuple(np.round(point, 9)) for point in band.get_paths()[0].vertices}
    assert corners == {(1, 0.1), (1, 10), (2, 1), (2, 4)}
    assert frame.get_ylim() == (1, 10)  # whole decades around the points


def test_ticks_are_shares_powers_or_categories(frame):
    x = Axis("x", bounds=(0.5, 2.5), labels=["one", "two"])
    drawn = Series("a", [1, 2], [1e-6, 1e-4])
    plots._panel(frame, Panel("", x, Axis("y", log=True), [drawn]))
    assert [label.get_text() for label in frame.get_xticklabels()] == ["one", "two"]
    assert [plots._tick(v, Axis("", log=True)) for v in (1e-6, 0.01, 1e5)] == [
        "10⁻⁶",
        "0.01",
        "10⁵",
    ]
    assert plots._tick(0.25, Axis("", percent=True)) == "25 %"


def test_names_are_escaped_and_styles_differ():
    series = [Series(f"<{i}>", [1, 2], [1, 2], style=i) for i in range(len(COLOURS))]
    text = figure("a & b", [Panel("", Axis("x"), Axis("y"), series)])
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title").text == "a & b"
    words = {node.text for node in root.iter(f"{SVG}text")}
    assert {one.name for one in series} <= words
    assert all(colour in text for colour in COLOURS)


def test_without_matplotlib_the_paper_says_so_before_it_works(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"need matplotlib. pip install 'fieldmend\[paper\]'"):
        paper.run(tmp_path / "out", quick=True)
    assert not (tmp_path / "out").exists()


# Evaluate


@pytest.fixture
def record():
    net = fm.simulate.network(
        96,
        8,
        field="temperature",
        sampling=0.9,
        loss="bursts",
        anomaly_rate=0.0,
        noise=0.02,
        seed=3,
    )
    return fm.Grid.of(net.readings, condition="temperature", unit="°C")


@pytest.mark.parametrize("way", PATTERNS)
def test_only_readings_are_hidden_and_about_as_many_as_asked(way):
    observed = fm.simulate.observe(200, 20, loss="bursts", rate=0.1, seed=1)
    hidden = PATTERNS[way](observed, 0.8, 5)
    assert not (hidden & ~observed).any()
    assert hidden.sum() / observed.sum() == pytest.approx(0.2, abs=0.05)
    np.testing.assert_array_equal(hidden, PATTERNS[way](observed, 0.8, 5))


def test_errors_are_those_at_hidden_readings(record):
    found = evaluate.evaluate(record, hide=["uniform"], rates=[0.7], only=["ls"], runs=1, seed=4)
    X = record.values["temperature"]
    hidden = PATTERNS["uniform"](~np.isnan(X), 0.7, 4)
    left = np.where(hidden, np.nan, X)
    expected = {
        evaluate.LINE: np.abs(fm.metrics.interpolate(left) - X)[hidden].mean(),
        "ls": np.abs(fm.decompose(left, tol=1e-5).estimate - X)[hidden].mean(),
    }
    got = {row["method"]: row["mae"] for row in found.table()}
    assert got == pytest.approx(expected)
    assert found.ratios()["ls"] == pytest.approx(expected["ls"] / expected[evaluate.LINE])
    gaps = select(found.by_gap(), method="ls")
    total = sum(row["hidden"] for row in gaps)
    assert total == hidden.sum()
    assert sum(r["hidden"] * r["mae"] for r in gaps) / total == pytest.approx(expected["ls"])


def evaluation(errors):
    rows = [
        {"condition": "t", "hide": "gaps", "rate": rate, "method": method, "run": 0, "gap": "all",
         "hidden": 50, "mae": error, "rmse": error}
        for method, pair in errors.items()
        for rate, error in zip((0.9, 0.5), pair, strict=True)
    ]  # fmt: skip
    return evaluate.Evaluation(rows, {"t": "°C"})


def test_gaps_of_several_draws_are_pooled_by_their_readings():
    rows = [
        {"condition": "t", "hide": "gaps", "rate": 0.9, "method": "ls", "run": run, "gap": gap,
         "hidden": hidden, "mae": mae, "rmse": 2 * mae}
        for run, gap, hidden, mae in [(0, "2–3", 30, 1.0), (1, "2–3", 10, 5.0), (0, "1", 7, 0.5)]
    ]  # fmt: skip
    short, long = evaluate.Evaluation(rows, {}).by_gap()
    assert (short["gap"], short["hidden"]) == ("1", 7)
    assert long["mae"] == pytest.approx((30 * 1 + 10 * 5) / 40)
    assert long["rmse"] == pytest.approx(np.sqrt((30 * 4 + 10 * 100) / 40))


def test_the_straight_line_may_win():
    found = evaluation({evaluate.LINE: (1.0, 1.0), "ls": (2.0, 8.0)})
    assert found.best() == evaluate.LINE
    assert "straight line" in found.recommendation
    assert "4.00 times" in found.recommendation  # √(2·8)


def test_a_method_is_recommended_with_its_number():
    found = evaluation({evaluate.LINE: (1.0, 4.0), "ls": (0.5, 2.0), "mc": (0.4, 9.0)})
    assert found.best() == "ls"
    assert "0.50 times" in found.recommendation
    assert "lowest of all in 1" in found.recommendation


def test_another_librarys_win_is_told_beside_our_best():
    found = evaluation({evaluate.LINE: (1.0, 1.0), "sklearn-knn": (0.2, 0.2), "ls": (0.5, 0.5)})
    assert found.recommendation.startswith("Take sklearn-knn")
    assert "ls (0.50)" in found.recommendation


def test_evaluate_draws_and_is_the_same_again(record):
    options = {"hide": ["gaps", "blocks"], "rates": [0.8], "runs": 1, "only": ["ls", "mc"]}
    one, two = (evaluate.evaluate(record, **options) for _ in range(2))
    assert one.rows == two.rows
    drawn = one.figure()
    assert drawn.to_json() == two.figure().to_json()
    assert [title.text for title in drawn.layout.annotations] == [
        "temperature, gaps", "temperature, blocks", "temperature, by gap",
    ]  # fmt: skip
    assert drawn.layout.yaxis.title.text == "mean absolute error, °C"
    lines = [line for line in drawn.data if line.xaxis == "x"]
    errors = {row["method"]: row["mae"] for row in one.table() if row["hide"] == "gaps"}
    assert {line.name: line.y[0] for line in lines} == errors


def test_a_node_that_lost_everything_gets_the_median_of_the_others():
    left = np.array([[1.0, np.nan, 3.0], [2.0, np.nan, 5.0]])
    estimate = evaluate._everywhere(lambda X: X, left)
    np.testing.assert_allclose(estimate[:, 1], [2.0, 3.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hide": ["nowhere"]}, "no way of hiding"),
        ({"rates": [1.5]}, "between 0 and 1"),
        ({"rates": []}, "between 0 and 1"),
        ({"runs": 0}, "At least one"),
        ({"only": ["magic"]}, "no method 'magic'"),
    ],
)
def test_wrong_options_say_what_to_do(record, options, message):
    with pytest.raises(fm.InputError, match=message):
        evaluate.evaluate(record, **options)


def test_too_short_a_record_is_said():
    with pytest.raises(fm.InputError, match="fewer than 20 readings"):
        evaluate.evaluate(fm.Grid.of(np.arange(12.0).reshape(6, 2)))


def test_what_could_not_be_scored_is_named():
    values = fm.simulate.network(slots=40, nodes=4, field="temperature", seed=3).readings
    grid = fm.Grid.of(values, condition="temperature")
    found = evaluate.evaluate(grid, hide=["gaps", "uniform"], rates=[0.5], only=["mc"], runs=2)
    assert {row["hide"] for row in found.table()} == {"uniform"}
    (note,) = found.notes
    assert "gaps: not scored" in note


def test_peers_take_part_if_installed(record):
    pytest.importorskip("sklearn")
    found = evaluate.evaluate(
        record, rates=[0.8], runs=1, only=["sklearn-knn", "sklearn-iterative"]
    )
    assert set(found.ratios()) == {evaluate.LINE, "sklearn-knn", "sklearn-iterative"}


# The commands


def command(*words, cwd):
    source = str(Path(fm.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "fieldmend", *map(str, words)],
        capture_output=True, text=True, check=False, cwd=cwd,
        env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip


def test_fieldmend_evaluate(tmp_path, record):
    X = record.values["temperature"]
    rows = [
        f"n{n},2024-01-01T{t // 12:02d}:{5 * (t % 12):02d}:00Z,{X[t, n]:.3f}"
        for t in range(len(X))
        for n in range(X.shape[1])
        if np.isfinite(X[t, n])
    ]
    (tmp_path / "r.csv").write_text("\n".join(["node,time,temperature", *rows]) + "\n")
    options = ("--method", "ls", "--rate", "0.8", "--runs", "1", "--out", "out")
    done = command("evaluate", "r.csv", *options, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert set(summary["ratios"]) == {evaluate.LINE, "ls"}
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"r.evaluation.csv", "r.evaluation.gaps.csv", "r.evaluation.html"}
    again = command("evaluate", "r.csv", *options, cwd=tmp_path)
    assert again.returncode == 2
    wrong = command("evaluate", "r.csv", "--method", "magic", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "magic" in wrong.stderr


def test_fieldmend_paper_refuses_a_folder_of_other_files(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.md").write_text("years of work")
    done = command("paper", "--quick", "--out", "mine", cwd=tmp_path)
    assert done.returncode == 2
    assert "--force" in done.stderr
