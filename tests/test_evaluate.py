"""The methods compared on one's own data; the commands of studies."""

import json

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.evaluation import evaluate
from fieldmend.evaluation.hiding import PATTERNS
from fieldmend.experiments.tables import select


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


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """A function: arguments → exit code, stdout, stderr; in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        code = main([str(one) for one in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_fieldmend_evaluate(tmp_path, record, command):
    X = record.values["temperature"]
    rows = [
        f"n{n},2024-01-01T{t // 12:02d}:{5 * (t % 12):02d}:00Z,{X[t, n]:.3f}"
        for t in range(len(X))
        for n in range(X.shape[1])
        if np.isfinite(X[t, n])
    ]
    (tmp_path / "r.csv").write_text("\n".join(["node,time,temperature", *rows]) + "\n")
    options = ("--method", "ls", "--rate", "0.8", "--runs", "1", "--out", "out")
    code, out, err = command("evaluate", "r.csv", *options, "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert set(summary["ratios"]) == {evaluate.LINE, "ls"}
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"r.evaluation.csv", "r.evaluation.gaps.csv", "r.evaluation.html"}
    assert command("evaluate", "r.csv", *options)[0] == 2
    code, _, err = command("evaluate", "r.csv", "--method", "magic")
    assert code == 2
    assert "magic" in err


def test_fieldmend_paper_refuses_a_folder_of_other_files(tmp_path, command):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.md").write_text("years of work")
    code, _, err = command("paper", "--quick", "--out", "mine")
    assert code == 2
    assert "--force" in err
