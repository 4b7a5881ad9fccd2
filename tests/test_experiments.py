"""The paper's experiments: tables, data, and each measurement by hand."""

import dataclasses

import numpy as np
import pytest

import fieldmend as fm
import naive
from fieldmend.experiments import (
    cells,
    contestants,
    data,
    detection,
    motivation,
    observations,
    sampling,
    solver,
    sweep,
    theory,
)
from fieldmend.experiments.tables import from_csv, over_runs, select, to_csv


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


def test_a_matrix_comes_back_from_the_store(tmp_path):
    matrix = dataclasses.replace(small(), false=np.eye(40, 12, dtype=bool))
    key = cells.Store(tmp_path).keep(matrix)
    again = cells.matrix_of(tmp_path, key)
    np.testing.assert_array_equal(again.values, matrix.values)
    np.testing.assert_array_equal(again.field, matrix.field)
    np.testing.assert_array_equal(again.false, matrix.false)
    assert again.labels == matrix.labels


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
