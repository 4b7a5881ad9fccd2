"""What there is to recover: lost, not in service, never fitted; and what the estimate replaces."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.faults import Episode
from fieldmend.grid import Grid
from fieldmend.recovery.filling import Given, emptied, replaced
from fieldmend.recovery.runs import runs
from fieldmend.recovery.service import service
from fieldmend.report import contents
from fieldmend.report.detail import stretches
from fieldmend.report.downsample import ABSENT, SEEN, Cells, state_cells
from fieldmend.report.figures.curves import curve
from fieldmend.report.figures.heatmaps import states
from fieldmend.report.palette import TENTHS
from fieldmend.result.states import Service, State
from fieldmend.text import percent

nan = np.nan


def scattered(slots=744, nodes=20, loss=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(slots, nodes))
    X[rng.random(X.shape) < loss] = nan
    X[[0, -1]] = 0.0  # heard at both ends
    return X


DAY = 86_400_000_000


def out(X, slot=DAY):
    """Stretches not in service: node, start, stop."""
    found = service(X, slot)
    return list(zip(found.node.tolist(), found.start.tolist(), found.stop.tolist(), strict=True))


# Silences that are no loss ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", [0.0, 0.02, 0.3, 0.6])
def test_random_loss_is_loss_to_the_very_ends(loss, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 20))
    X[rng.random(X.shape) < loss] = nan
    assert out(X) == []


def test_before_the_first_and_after_the_last_reading_a_node_is_not_in_service():
    X = scattered()
    X[:100, 3] = nan
    X[700:, 5] = nan
    assert out(X) == [(3, 0, 100), (5, 700, 744)]


def test_a_node_that_was_silent_for_a_tenth_of_the_record_lost_its_readings():
    X = scattered()
    X[200:272, 3] = nan
    assert out(X) == []


def test_a_node_that_comes_back_within_a_month_was_out_of_order():
    X = scattered()
    X[200:500, 3] = nan
    assert out(X, DAY // 24) == []


def test_a_silence_of_half_the_record_is_no_loss():
    X = scattered()
    X[200:500, 3] = nan
    assert out(X) == [(3, 200, 500)]


def test_between_a_tenth_and_a_quarter_the_network_s_own_silences_decide():
    rare = scattered()
    rare[200:330, 3] = nan
    assert out(rare) == [(3, 200, 330)]
    usual = scattered(loss=0.0)
    for n in range(0, 20, 2):
        usual[100 + n : 225 + n, n] = nan
    usual[200:330, 3] = nan
    assert out(usual) == []


def test_an_outage_of_the_whole_network_is_loss():
    X = scattered()
    X[200:500] = nan
    X[350, 2] = 1.0  # one was heard
    assert out(X) == []


def test_nodes_without_a_reading_were_never_fitted():
    X = scattered()
    X[:, 7] = nan
    found = service(X, DAY)
    np.testing.assert_array_equal(np.flatnonzero(found.never), [7])
    assert (found.states(~np.isnan(X))[:, 7] == State.NEVER_FITTED).all()
    assert not len(found.node)


def test_a_record_of_nothing_has_no_service():
    assert service(np.full((10, 3), nan), DAY).never.all()


def test_silences_do_not_depend_on_blocks(monkeypatch):
    X = scattered(loss=0.4)
    X[:150, 3], X[300:600, 5], X[:, 6] = nan, nan, nan
    whole = out(X)
    monkeypatch.setattr("fieldmend.core.engine.BLOCK_ENTRIES", 20 * 7)
    assert out(X) == whole


def test_runs_are_the_longest_stretches():
    mask = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]], dtype=bool)
    found = runs(lambda block: mask[block], mask.shape)
    assert list(zip(found.node, found.start, found.stop, strict=True)) == [
        (0, 0, 2), (0, 3, 4), (1, 1, 4), (2, 0, 1), (2, 2, 4),
    ]  # fmt: skip


def test_states_of_a_part_are_those_of_the_whole():
    life = Service(*np.array([[0, 2], [3, 0], [9, 5]]), never=np.array([False, True, False]))
    read = np.random.default_rng(0).random((10, 3)) < 0.3
    whole = life.states(read)
    for first, last in ((0, 4), (4, 6), (2, 10)):
        np.testing.assert_array_equal(life.states(read[first:last], first), whole[first:last])
    assert (whole[read] == State.READ).all()
    assert whole[9, 2] == State.LOST or read[9, 2]


# What is given out --------------------------------------------------------------------------------


def network(seed=1, **options):
    net = fm.simulate.network(
        slots=400, nodes=16, field="temperature", noise=0.05, sampling=0.9, seed=seed, **options
    )
    X = net.readings.copy()
    X[:120, 3] = nan
    X[:, 9] = nan
    return net, X


@pytest.fixture(scope="module")
def one():
    return fm.recover(Grid.of(network()[1]), holdout=False)["value"]


def test_only_what_was_lost_is_filled(one):
    for what in (one.estimate, one.lower, one.upper, one.filled):
        assert np.isnan(what[:119, 3]).all()
        assert np.isnan(what[:, 9]).all()
    lost = one.state == State.LOST
    assert lost.sum() > 300
    assert np.isfinite(one.filled[lost]).all()
    assert one.state.dtype == np.int8


def test_the_summary_counts_the_three_states():
    rec = fm.recover(Grid.of(network()[1]), holdout=False)
    state = rec["value"].state
    places = rec.summary()["conditions"]["value"]["places"]
    assert places["lost"] == np.count_nonzero(state == 1) == places["recovered"]
    assert places["not_in_service"] == np.count_nonzero(state == 2) >= 119
    assert places["never_fitted"] == 400
    assert places["replaced"] == np.count_nonzero(rec["value"].replaced)
    total = places["lost"] + places["not_in_service"] + places["never_fitted"]
    assert total == rec.summary()["conditions"]["value"]["flags"]["missing"]


def test_estimates_of_lost_readings_do_not_depend_on_what_else_is_given_out(one):
    more = fm.recover(Grid.of(network()[1]), holdout=False, extrapolate=True)["value"]
    assert np.isfinite(more.estimate).all()
    known = ~np.isnan(one.estimate)
    for what in ("estimate", "lower", "upper"):
        np.testing.assert_array_equal(getattr(more, what)[known], getattr(one, what)[known])


def test_extrapolated_intervals_hold():
    ends, never = [], []
    for seed in range(4):
        net, X = network(seed)
        more = fm.recover(Grid.of(X), holdout=False, extrapolate=True)["value"]
        inside = (more.lower <= net.truth) & (net.truth <= more.upper)
        ends.append(inside[:120, 3].mean())
        never.append(inside[:, 9].mean())
    assert np.mean(ends) > 0.8
    assert np.mean(never) > 0.8


def test_longer_gaps_are_left_empty(one):
    X = network()[1]
    X[200:230, 5] = nan
    X[198, 5] = X[199, 5] = X[230, 5] = 20.0
    short = fm.recover(Grid.of(X, slot_seconds=600), holdout=False, max_gap="4h")["value"]
    assert np.isnan(short.estimate[200:230, 5]).all()
    assert np.isnan(short.filled[200:230, 5]).all()
    gaps = runs(lambda rows: np.isnan(X[rows]) | short.replaced[rows], X.shape)
    for node, start, stop in zip(gaps.node, gaps.start, gaps.stop, strict=True):
        if stop - start <= 24 and node != 9:
            lost = short.state[start:stop, node] == State.LOST
            assert np.isfinite(short.filled[start:stop, node][lost]).all()
    exact = fm.recover(Grid.of(X, slot_seconds=600), holdout=False, max_gap="5h")["value"]
    assert np.isfinite(exact.filled[200:230, 5]).all()


def test_too_uncertain_estimates_are_left_empty(one):
    width = (one.upper - one.lower)[one.state == State.LOST]
    limit = float(np.median(width))
    X = network()[1]
    narrow = fm.recover(Grid.of(X), holdout=False, max_width=limit)["value"]
    lost = narrow.state == State.LOST
    np.testing.assert_array_equal(
        np.isnan(narrow.filled[lost]), ~(one.upper - one.lower <= limit)[lost]
    )
    named = fm.recover(Grid.of(X), holdout=False, max_width={"value": limit})["value"]
    np.testing.assert_array_equal(named.filled, narrow.filled)
    read = (narrow.flag == 1) | (narrow.flag == 2)
    assert np.isfinite(narrow.estimate[read]).all()  # beside a reading it does no harm


# What the estimate replaces -----------------------------------------------------------------------


def episode(node, start, stop, *, certain, kind="bias"):
    return Episode(node, "t", start, stop, kind, stop - start, 5.0, 0.9, "…", certain=certain)


def taken(how, episodes):
    flag = np.full((10, 3), 1, dtype=np.int8)
    flag[2:6, 0], flag[4:8, 1], flag[9, 2], flag[0, 2] = 3, 3, 4, 9
    mask = replaced(np.empty(flag.shape, dtype=bool), flag, tuple(episodes), how)
    return [tuple(at) for at in np.argwhere(mask).tolist()]


def test_the_estimate_replaces_what_is_certainly_false():
    found = taken("certain", [episode(0, 2, 5, certain=True), episode(1, 4, 8, certain=False)])
    assert found == [(2, 0), (3, 0), (4, 0), (9, 2)]


def test_or_all_suspects_or_no_reading():
    both = [episode(0, 2, 5, certain=True), episode(1, 4, 8, certain=False)]
    assert len(taken("suspects", both)) == 9
    assert taken("none", both) == []


def test_of_two_episodes_the_first_says_whether_it_is_certain():
    sure, unsure = episode(0, 2, 6, certain=True), episode(0, 4, 6, certain=False)
    assert len(taken("certain", [sure, unsure])) == 5
    assert taken("certain", [unsure, sure]) == [(2, 0), (3, 0), (9, 2)]


def test_an_event_replaces_nothing():
    assert taken("certain", [episode(0, 0, 10, certain=True, kind="event")]) == [(9, 2)]


@pytest.mark.parametrize("how", ["suspects", "certain", "none"])
def test_filled_follows_the_rule_everywhere(how, tmp_path):
    import duckdb

    net = fm.simulate.network(slots=200, nodes=12, seed=3)
    X = net.readings.copy()
    X[60:110, 4] = 17.0  # stuck
    X[20, 6] = 900.0
    rec = fm.recover(
        Grid.of(X), method="ls", holdout=False, replace=how, limits={"value": (-400, 400)}
    )
    one = rec["value"]
    suspect = one.flag == 3
    assert suspect.sum() > 20
    certain = one.flag == 4
    for slot, node in np.argwhere(suspect):
        holding = [e for e in one.episodes if e.node == node and e.start <= slot < e.stop]
        certain[slot, node] = holding[0].certain
    wanted = {
        "suspects": suspect | (one.flag == 4),
        "certain": certain,
        "none": np.zeros_like(suspect),
    }[how]
    np.testing.assert_array_equal(one.replaced, wanted)
    if how == "certain":
        assert one.replaced[20, 6]
        assert one.replaced[60:110, 4].sum() > 30
        assert np.count_nonzero(one.replaced) < np.count_nonzero(suspect)
    filled = np.where(wanted | np.isnan(X), one.estimate, X)
    np.testing.assert_array_equal(one.filled, filled)
    rec.to_parquet(tmp_path / "out.parquet")
    found = duckdb.sql(f"SELECT value_filled FROM '{tmp_path / 'out.parquet'}'").fetchnumpy()
    np.testing.assert_array_equal(found["value_filled"].reshape(X.shape), filled)
    pytest.importorskip("h5netcdf")
    xarray = pytest.importorskip("xarray")
    rec.to_netcdf(tmp_path / "out.nc")
    with xarray.open_dataset(tmp_path / "out.nc") as file:
        np.testing.assert_array_equal(file["value_filled"].values.T, filled)


def test_a_reading_that_is_replaced_by_too_wide_an_interval_leaves_nothing():
    observed = np.array([[1.0, 2.0], [3.0, nan]])
    estimate, lower, upper = observed * 0 + 1.0, observed * 0, observed * 0 + 5.0
    estimate[1, 1], lower[1, 1], upper[1, 1] = 1.0, 0.0, 0.5
    mask = np.array([[True, False], [False, False]])
    life = Service.throughout(2)
    emptied((estimate, lower, upper), observed, mask, life, Given(max_width=2.0))
    np.testing.assert_array_equal(np.isnan(estimate), [[True, False], [False, False]])


# What the report says of it ----------------------------------------------------------------------


def test_a_cell_without_a_sensor_is_no_loss():
    flag = np.full((4, 2), 9, dtype=np.int8)
    flag[:, 1] = 1
    flag[3, 1] = 9
    absent = np.zeros(flag.shape, dtype=bool)
    absent[:2, 0] = absent[2, 1] = True
    codes = state_cells(flag, Cells(2, 1), absent)
    np.testing.assert_array_equal(codes, [[ABSENT, TENTHS], [SEEN, TENTHS]])
    whole = state_cells(flag, Cells(4, 2), absent)
    assert whole[0, 0] == 6  # three of five


def test_the_report_tells_loss_from_absence(one):
    np.testing.assert_array_equal(one.state_of(3), one.state[:, 3])
    np.testing.assert_array_equal(one.state_of(9), one.state[:, 9])
    rec = fm.recover(Grid.of(network()[1]), holdout=False)
    drawing = states(rec, "value")
    assert ("card", "no sensor in service") in drawing.legend
    assert "without a sensor" in drawing.says
    row = contents.table(rec.summary())["rows"][0]
    places, readings = rec["value"].counts(), rec.summary()["conditions"]["value"]["readings"]
    assert row["missing"] == percent(places["lost"] / (places["lost"] + readings))
    said = contents.cards(rec.summary())
    assert any(card["name"] == "without a sensor" for card in said)
    assert "not in service in 1" in curve(rec, "value", 3).caption


def test_the_gaps_of_what_is_passed_through_are_drawn_as_nothing_lost():
    """A label of three stations, one of which has none: nothing is recovered, and nothing blue."""
    labels = np.tile([0.0, 1.0, 1.0, 0.0], 30)[:, None] + np.zeros((120, 3))
    labels[40:44, 0] = labels[:, 2] = np.nan
    grid = fm.Grid.of(labels, condition="label", slot_seconds=3600)
    rec = fm.recover(grid, holdout=False)
    one = rec["label"]
    assert one.method == "passed"
    state = stretches.slots(one, slice(0, 120), np.arange(3)).masks["state"]
    np.testing.assert_array_equal((state & stretches.ABSENT) > 0, np.isnan(labels))
    codes = np.array(states(rec, "label").data[0]["z"])
    assert (codes == ABSENT).sum() == np.isnan(labels).sum()
