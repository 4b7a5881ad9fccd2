"""The whole of the paper's experiments: cells and kills, the run, claims, figures."""

import dataclasses
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
from fieldmend.errors import InputError
from fieldmend.experiments import (
    cells,
    contestants,
    data,
    detection,
    motivation,
    paper,
    plots,
    sweep,
    theory,
)
from fieldmend.experiments.claims import FAILS, HOLDS, PART, claims, percent
from fieldmend.experiments.figures import draw
from fieldmend.experiments.page import claims_page, report
from fieldmend.experiments.plots import COLOURS, Axis, Plot, Series, figure
from fieldmend.experiments.tables import from_csv

ROOT = Path(__file__).parents[1]


STORED = ROOT / "docs" / "paper"


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


USED = """
import sys
import numpy as np
from fieldmend.experiments import contestants
X = np.random.default_rng(0).normal(size=(30, 6)).cumsum(axis=0)
for method in ("auto", "ls"):
    contestants.decompose(X, method=method)
print(*sorted(name for name in sys.modules if name.startswith("fieldmend.")))
"""


def test_the_key_of_a_cell_depends_on_all_that_the_methods_run():
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, check=True)
    used = {name.split(".")[1] for name in done.stdout.split()}
    # Readers of files, and what words, files and versions are made by, change no number.
    used -= {"errors", "experiments", "grid", "records", "scratch", "spill", "text", "version"}
    assert used <= {name.removesuffix(".py") for name in cells.COMPUTING}
    assert {"field", "faults", "automatic"} <= used


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
    patch.setattr(paper, "QUICK_SIZE", (36, 8))
    patch.setattr(sweep, "QUICK_RATES", (0.5, 0.9))
    patch.setattr(detection, "QUICK_RATES", (0.9,))
    patch.setattr(motivation, "QUICK_RATES", (0.5, 0.9))
    patch.setattr(theory, "NOISES", (0.3,))
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    drawn = {}

    def once(tables):  # that the same tables give the same figures, the stored ones say
        if repr(tables) not in drawn:
            drawn[repr(tables)] = draw(tables)
        return drawn[repr(tables)]

    patch.setattr(paper, "draw", once)
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
    kept = {path.stem: path.read_text("utf-8") for path in (STORED / "tables").glob("*.csv")}
    assert set(kept) == set(paper.TABLES)
    tables = {name: from_csv(kept[name]) for name in paper.TABLES}
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
    plots._panel(frame, Plot("", Axis("x", bounds=(0, 10)), y, [drawn]))
    (line,) = frame.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), [[0, 0.1], [10, 1.0]])  # log: no zero
    assert frame.get_xlim() == (0, 10)
    assert frame.get_ylim() == (0.01, 1)
    assert frame.get_yscale() == "log"


def test_the_band_has_the_same_factor_down_as_up_on_a_log_axis(frame):
    drawn = Series("a", [1, 2], [1.0, 2.0], spread=[9.0, 2.0])
    plots._panel(frame, Plot("", Axis("x"), Axis("y", log=True), [drawn]))
    (band,) = frame.collections
    corners = {tuple(np.round(point, 9)) for point in band.get_paths()[0].vertices}
    assert corners == {(1, 0.1), (1, 10), (2, 1), (2, 4)}
    assert frame.get_ylim() == (1, 10)  # whole decades around the points


def test_ticks_are_shares_powers_or_categories(frame):
    x = Axis("x", bounds=(0.5, 2.5), labels=["one", "two"])
    drawn = Series("a", [1, 2], [1e-6, 1e-4])
    plots._panel(frame, Plot("", x, Axis("y", log=True), [drawn]))
    assert [label.get_text() for label in frame.get_xticklabels()] == ["one", "two"]
    assert [plots._tick(v, Axis("", log=True)) for v in (1e-6, 0.01, 1e5)] == [
        "10⁻⁶",
        "0.01",
        "10⁵",
    ]
    assert plots._tick(0.25, Axis("", percent=True)) == "25 %"


def test_names_are_escaped_and_styles_differ():
    series = [Series(f"<{i}>", [1, 2], [1, 2], style=i) for i in range(len(COLOURS))]
    text = figure("a & b", [Plot("", Axis("x"), Axis("y"), series)])
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
