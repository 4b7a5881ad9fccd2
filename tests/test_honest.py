"""The printed error: readings hidden before anything looks, the whole recovery once more."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import fieldmend as fm
from fieldmend.evaluation.evaluate import evaluate
from fieldmend.flags import Flag
from fieldmend.grid import Grid
from fieldmend.holdout import drawing
from fieldmend.holdout.blocks import spread
from fieldmend.holdout.drawing import draw
from fieldmend.holdout.scoring import FAR, Lost, Said, Witnesses, believed, score, weights
from fieldmend.holdout.strata import COUNT, STARTS, strata
from fieldmend.recovery import conditions, honest, solving
from fieldmend.recovery.conditions import one_condition
from fieldmend.result.holdout import GapScore, Holdout
from fieldmend.result.options import Options

SLOTS, NODES = 600, 12


def lossy(seed=0, slots=SLOTS, nodes=NODES):
    """Heard: single losses, runs of 8 and 40, two outages of the whole network."""
    rng = np.random.default_rng(seed)
    heard = rng.random((slots, nodes)) < 0.97
    for n in range(nodes):
        for length in (8, 40):
            start = int(rng.integers(20, slots - 60))
            heard[start : start + length, n] = False
    for start in (100, 400):
        heard[start : start + 10] = False
    return heard


def network(seed=0, heard=None):
    heard = lossy(seed) if heard is None else heard
    net = fm.simulate.network(
        *heard.shape, field="temperature", sampling=1.0, anomaly_rate=0.0, noise=0.05, seed=seed
    )
    return np.where(heard, net.readings, np.nan)


# What is hidden ----------------------------------------------------------------------------------


def test_only_readings_are_hidden_and_a_tenth_to_a_fifth_of_them():
    heard = lossy()
    out = draw(heard, ~heard, 3)
    assert not out.mask[~heard].any()
    assert 0.08 < out.mask.sum() / heard.sum() < 0.26
    np.testing.assert_array_equal(out.mask, draw(heard, ~heard, 3).mask)
    assert (out.mask != draw(heard, ~heard, 4).mask).any()


def test_no_node_is_emptied():
    heard = np.ones((200, 6), dtype=bool)
    heard[:95, 0] = False  # it lost nearly half: its own gap is copied at others
    heard[30:110, 1] = False
    heard[:, 5] = False
    heard[[3, 90, 150], 5] = True  # three readings: none to spare
    for seed in range(20):
        mask = draw(heard, ~heard, seed, share=0.4).mask
        left = (heard & ~mask).sum(axis=0)
        assert (2 * left >= heard.sum(axis=0)).all()
        assert left[5] == 3


def test_gaps_of_every_kind_are_tried_as_they_were_lost():
    heard = lossy()
    everywhere = np.ones_like(heard)
    lost = np.bincount(strata(heard, everywhere)[~heard], minlength=COUNT)
    mask = draw(heard, ~heard, 0).mask
    hidden = np.bincount(strata(heard & ~mask, everywhere)[mask], minlength=COUNT)
    assert (hidden[lost > 0.02 * lost.sum()] >= 10).all()


def test_a_network_outage_is_copied_as_one():
    heard = np.ones((500, 10), dtype=bool)
    heard[200:212] = False
    mask = draw(heard, ~heard, 1).mask
    silent = mask.all(axis=1)
    assert silent.sum() >= 24
    assert mask[~silent].sum() <= 0.2 * mask.sum()


def test_who_fell_silent_together_falls_silent_together():
    heard = np.ones((600, 20), dtype=bool)
    for start in (50, 250, 450):
        heard[start : start + 12, :4] = False  # four nodes of one gateway
    mask = draw(heard, ~heard, 0).mask
    company = mask.sum(axis=1)[mask.any(axis=1)]
    assert np.median(company) >= 4


def test_an_outage_in_the_morning_is_copied_to_other_mornings():
    """Within what two days in all amount to: of twelve, two hours to either side."""
    heard = np.ones((12 * 24, 8), dtype=bool)
    heard[5 * 24 + 8 : 5 * 24 + 14] = False

    def hours(**options):
        hidden = draw(heard, ~heard, seed=3, **options).mask.all(axis=1)
        first = np.flatnonzero(hidden & ~np.roll(hidden, 1))
        return first // 24, first % 24

    days, near = hours(day=24.0)
    assert len(set(days)) >= 4
    assert set(near) <= set(range(5, 12))
    assert np.ptp(hours()[1]) > 12


def test_gaps_at_the_ends_are_copied_at_the_ends():
    heard = np.ones((300, 10), dtype=bool)
    heard[:30, :3] = False
    out = draw(heard, ~heard, 0)
    assert out.copied
    assert out.mask[:30].sum() == out.mask.sum() > 0


def test_without_loss_single_readings_are_hidden():
    heard = np.ones((300, 10), dtype=bool)
    out = draw(heard, ~heard, 0)
    assert not out.copied
    assert np.median(fm.diagnostics.gap_lengths(~out.mask)) == 1


def test_too_few_readings_hide_none():
    heard = np.ones((10, 5), dtype=bool)
    heard[4, 2] = False
    assert not draw(heard, ~heard, 0).mask.any()


def test_what_a_lost_packet_took_along_is_hidden_along():
    heard = np.ones((400, 8), dtype=bool)
    rng = np.random.default_rng(0)
    packets = rng.random(heard.shape) < 0.1
    alone = ~packets & (rng.random(heard.shape) < 0.1)
    heard[packets | alone] = False
    out = draw(heard, ~heard, 0)
    along = out.along(packets)  # the other condition was lost with whole packets only
    assert not along[~out.mask & heard].any()
    share = along[out.mask].mean()
    assert share == pytest.approx(packets.sum() / (~heard).sum(), abs=0.1)


# Nothing sees them -------------------------------------------------------------------------------


def test_hidden_readings_reach_no_stage(monkeypatch):
    """Absurd values where readings will be hidden: the second run gives the same estimates."""
    grid = Grid.of(network())
    options = Options()
    (trial,) = honest.trials(grid, "value", options)
    absurd = np.where(trial.hidden.mask, 1e6, grid.values["value"])
    planted = replace(grid, values={"value": absurd})
    seen = []

    def run(grid, *, options, name="value"):
        out = one_condition(grid, name, options)
        seen.append((out.estimate, out.lower, out.upper))
        return out

    scores = [honest.score(g, "value", options, run) for g in (grid, planted)]
    for one, other in zip(*seen, strict=True):
        np.testing.assert_array_equal(one, other)
    assert scores[1].method.mae > 1000 * scores[0].method.mae


def test_the_second_run_estimates_as_the_first_would_but_judges_nothing():
    X = network()
    X[50:600:40, 3] += 60.0
    grid = Grid.of(X)
    (trial,) = honest.trials(grid, "value", Options())
    judged = one_condition(trial.grid, "value", Options(holdout=False, everywhere=True))
    unjudged = one_condition(trial.grid, "value", honest.everywhere(Options()))
    for side in ("estimate", "lower", "upper"):
        np.testing.assert_array_equal(getattr(judged, side), getattr(unjudged, side))
    assert judged.episodes
    assert not unjudged.episodes
    assert not honest.everywhere(Options(extrapolate=True)).unjudged


def test_the_second_run_is_the_whole_recovery_of_what_is_left():
    grid = Grid.of(network())
    (trial,) = honest.trials(grid, "value", Options())
    rec = fm.recover(grid)["value"]
    left = one_condition(trial.grid, "value", honest.everywhere(Options()))
    mask = trial.hidden.mask
    errors = np.abs(left.estimate - grid.values["value"])[mask]
    assert rec.holdout.method.count == mask.sum() == errors.size
    held = Witnesses.of(trial.readings, mask, trial.lost, Said(left.estimate))
    np.testing.assert_allclose(np.abs(held.error), errors)
    assert rec.holdout.false == 0
    expected = score(held, Lost.of(~np.isnan(trial.readings), trial.lost))
    assert rec.holdout.method.mae == expected.method.mae
    assert rec.holdout.method.mae < rec.holdout.line.mae


def test_of_a_larger_record_both_runs_have_one_model_that_never_saw_the_hidden_readings(
    monkeypatch,
):
    """Absurd values where readings will be hidden: they change no parameter of the model."""
    monkeypatch.setattr(conditions, "ONCE", 1000)
    grid = Grid.of(network())
    (trial,) = honest.trials(grid, "value", Options())
    absurd = np.where(trial.hidden.mask, 300.0, grid.values["value"])
    fits = []
    fit = solving.decompose
    monkeypatch.setattr(solving, "decompose", lambda X, **k: fits.append(X) or fit(X, **k))
    one = fm.recover(grid)["value"]
    other = fm.recover(replace(grid, values={"value": absurd}))["value"]
    # What most of a slot saw is solved with once more, and leaves the model as it is.
    models = [X for X in fits if np.isnan(X[trial.hidden.mask]).all()]
    assert len(models) == 2
    np.testing.assert_array_equal(*models)
    np.testing.assert_array_equal(one.fitted.field.loadings, other.fitted.field.loadings)
    left = one_condition(trial.grid, "value", honest.everywhere(Options()))
    held = Witnesses.of(trial.readings, trial.hidden.mask, trial.lost, Said(left.estimate))
    expected = score(held, Lost.of(~np.isnan(trial.readings), trial.lost))
    assert one.holdout.method.mae == expected.method.mae
    # What is given out has heard the readings that were hidden.
    heard = ~np.isnan(grid.values["value"])
    assert (np.abs(one.estimate - left.estimate)[trial.hidden.mask] > 0).mean() > 0.9
    alone = fm.recover(grid, holdout=False)["value"]
    usual = np.nanmedian(one.upper - one.lower)
    assert np.nanmedian(np.abs(one.estimate - alone.estimate)[~heard]) < 0.2 * usual
    crew = fm.recover(grid, workers=2)["value"]
    np.testing.assert_array_equal(crew.estimate, one.estimate)
    assert crew.holdout == one.holdout


def test_hold_outs_are_repeated_exactly_and_may_be_left_out():
    grid = Grid.of(network())
    grid = replace(grid, values={"value": grid.values["value"][:150]}, times=grid.times[:150])
    assert fm.recover(grid)["value"].holdout == fm.recover(grid)["value"].holdout
    assert fm.recover(grid, holdout=False)["value"].holdout is None


def test_other_conditions_lost_with_it_are_hidden_with_it():
    X = network()
    grid = replace(Grid.of(X), values={"a": X, "b": np.where(np.isnan(X), np.nan, 2 * X)})
    (trial,) = honest.trials(grid, "a", Options())
    np.testing.assert_array_equal(
        np.isnan(trial.grid.values["b"]), np.isnan(trial.grid.values["a"])
    )
    assert trial.hidden.mask.any()


def test_long_records_are_scored_on_some_windows(monkeypatch):
    monkeypatch.setattr("fieldmend.recovery.windows.WINDOW", 12 * 512)
    runs = []
    original = conditions.one_condition
    monkeypatch.setattr(
        conditions,
        "one_condition",
        lambda grid, *a, **k: runs.append(grid.shape) or original(grid, *a, **k),
    )
    X = network(heard=lossy(slots=4000))
    rec = fm.recover(Grid.of(X), method="ls")["value"]
    assert runs == 4 * [(512, 12)]
    assert any("hidden readings scored in 4 of" in note for note in rec.notes)


def test_evaluate_agrees_with_recover():
    grid = Grid.of(network())
    printed = fm.recover(grid, seed=5)["value"].holdout
    found = evaluate(grid, only=["recover", "mc"], runs=1, seed=5)
    mae = {row["method"]: row["mae"] for row in found.table()}
    assert mae["recover"] == printed.method.mae
    assert mae["straight line"] == printed.line.mae
    assert mae["mc"] != mae["recover"]


# How they are scored -----------------------------------------------------------------------------


def witnesses(error, line, stratum, *, block=None, inside=None, gap=None):
    error, line = np.asarray(error, float), np.asarray(line, float)
    stratum = np.asarray(stratum)
    return Witnesses(
        error, line,
        np.full(error.shape, np.nan) if inside is None else np.asarray(inside, float),
        stratum,
        np.asarray(STARTS)[stratum % 5] if gap is None else np.asarray(gap),
        np.arange(error.size) % 20 if block is None else np.asarray(block),
    )  # fmt: skip


def lost_in(counts):
    stratum = np.repeat(list(counts), list(counts.values()))
    return Lost(stratum, np.asarray(STARTS)[stratum % 5], np.arange(stratum.size) % 20)


def test_each_kind_counts_by_what_was_lost_not_by_what_was_hidden():
    seen = witnesses([1.0] * 90 + [5.0] * 10, [2.0] * 100, [0] * 90 + [2] * 10)
    lost = lost_in({0: 25, 2: 75})
    np.testing.assert_allclose(weights(seen, lost), [0.25, 0, 0.75] + 7 * [0])
    out = score(seen, lost)
    assert out.method.mae == pytest.approx(0.25 * 1 + 0.75 * 5)
    assert out.method.rmse == pytest.approx(np.sqrt(0.25 * 1 + 0.75 * 25))
    assert out.line.mae == pytest.approx(2.0)
    assert [row.mae for row in out.classes] == pytest.approx([1.0, 5.0])
    assert [row.lost for row in out.classes] == [0.25, 0.75]
    assert out.tested == 1.0


def test_silent_gaps_count_by_their_share_within_a_class():
    seen = witnesses([1.0] * 50 + [9.0] * 50, [1.0] * 100, [1] * 50 + [6] * 50)
    out = score(seen, lost_in({1: 30, 6: 10}))
    assert out.method.mae == pytest.approx(0.75 * 1 + 0.25 * 9)
    (row,) = out.classes
    assert (row.mae, row.silent) == (pytest.approx(3.0), 0.25)


def test_what_could_not_be_tried_is_said_and_not_guessed():
    seen = witnesses([1.0] * 50, [2.0] * 50, [0] * 50)
    out = score(seen, lost_in({0: 60, 4: 40}))
    assert out.method.mae == pytest.approx(1.0)
    assert out.tested == pytest.approx(0.6)
    assert "40 %" in out.untested
    assert "256+" in out.untested
    last = out.classes[-1]
    assert (last.shortest, last.count, last.untested) == (256, 0, pytest.approx(0.4))


def test_longer_gaps_than_tried_are_untested():
    seen = witnesses([1.0] * 50, [2.0] * 50, [4] * 50, gap=[300] * 50)
    lost = Lost(np.full(100, 4), np.r_[np.full(30, 500), np.full(70, 5000)], np.arange(100) % 20)
    out = score(seen, lost)
    assert out.tested == pytest.approx(0.3)
    assert "70 %" in out.untested


def test_the_luck_of_what_was_lost_is_part_of_the_uncertainty():
    """Twenty blocks that differ tell the usual error well; one that was lost is one of them."""
    block = np.repeat(np.arange(20), 50)
    level = np.where(np.arange(20) % 2, 1.0, 3.0)
    seen = witnesses(level[block], np.full(1000, 5.0), np.zeros(1000, int), block=block)
    error = {}
    for blocks in (1, 5, 20, 10**4):
        mine = np.arange(10**4) % blocks
        lost = Lost(np.zeros(10**4, int), np.ones(10**4, int), mine)
        error[blocks] = score(seen, lost).mae_error
    usual = np.std(level, ddof=1) * stats.t.ppf(0.975, 19) / stats.norm.ppf(0.975)  # of one block
    known = usual / np.sqrt(20)
    assert error[10**4] == pytest.approx(known, rel=1e-3)
    assert error[20] == pytest.approx(np.sqrt(2) * known)
    assert error[5] == pytest.approx(np.hypot(known, usual / np.sqrt(5)))
    assert error[1] == pytest.approx(np.hypot(known, usual))
    out = score(seen, Lost(np.zeros(50, int), np.ones(50, int), np.zeros(50, int)))
    assert out.classes[0].mae_error == pytest.approx(error[1])
    assert out.difference_error == pytest.approx(known)  # who is closer in such gaps, lost or not


def test_what_was_not_tried_has_no_luck():
    block = np.repeat(np.arange(20), 50)
    level = np.where(np.arange(20) % 2, 1.0, 3.0)
    seen = witnesses(level[block], np.full(1000, 5.0), np.zeros(1000, int), block=block)
    out = score(seen, lost_in({0: 7}), copied=False)  # lost, and not tried
    usual = np.std(level, ddof=1) * stats.t.ppf(0.975, 19) / stats.norm.ppf(0.975)
    assert out.mae_error == pytest.approx(usual / np.sqrt(20))


def test_few_blocks_may_be_alike_by_accident():
    """Two at 3 and 3.1 do not tell that the third is there; but nothing is worse than one alone."""
    alike, apart = ([3.0] * 50 + [other] * 50 for other in (3.1, 9.0))
    two, one = np.repeat([0, 1], 50), np.zeros(100, int)
    lost = Lost(np.zeros(10**4, int), np.ones(10**4, int), np.arange(10**4))

    def error(values, block):
        seen = witnesses(values, np.full(100, 5.0), np.zeros(100, int), block=block)
        return score(seen, lost).mae_error

    assert error(alike, two) == pytest.approx(0.05 * stats.t.ppf(0.975, 1) / 1.96, rel=1e-3)
    assert error(apart, two) == pytest.approx(6.0, rel=1e-3)
    assert error(alike, one) == pytest.approx(3.05, rel=1e-3)


def test_suspects_count_with_a_limit_but_the_methods_own_errors_do_not():
    error, line = np.ones(1000), np.full(1000, 2.0)
    error[0] = line[0] = 1e6  # far off both, and suspect: a false reading
    error[1] = 50.0  # far off the estimate only: the estimate's own mistake
    error[2] = line[2] = 60.0  # far off both, and nobody doubts it: rain that nobody foresaw
    suspect = np.arange(1000) < 2
    out = score(witnesses(error, line, np.zeros(1000, int)), lost_in({0: 10}), suspect=suspect)
    assert out.far == 1
    assert out.method.mae == pytest.approx((997 + 50 + 60 + 2 * FAR) / 1000)
    assert out.plain_mae == pytest.approx((997 + 50 + 60 + 1e6) / 1000)


def test_rain_that_nobody_foresaw_counts_in_full():
    """It is dry nine times in ten: what nine errors in ten stay below says nothing of rain."""
    rng = np.random.default_rng(3)
    X = np.where(rng.random((600, 8)) < 0.03, rng.gamma(1.0, 5.0, (600, 8)), 0.0)
    X[rng.random(X.shape) < 0.1] = np.nan
    out = fm.recover(Grid.of(X, condition="rain", unit="mm"))["rain"].holdout
    assert out.method.mae == pytest.approx(out.plain_mae)


def test_no_interval_is_asked_to_hold_a_false_reading():
    error, line, inside = np.ones(100), np.ones(100), np.ones(100)
    error[0] = line[0] = 1e6
    inside[:11] = 0
    seen = witnesses(error, line, np.zeros(100, int), inside=inside)
    assert score(seen, lost_in({0: 1})).covered == pytest.approx(0.89)
    out = score(seen, lost_in({0: 1}), suspect=np.arange(100) < 1)
    assert out.covered == pytest.approx(89 / 99)


def test_the_line_runs_through_readings_as_they_arrived():
    X = np.tile(np.arange(40.0)[:, None], (1, 3))
    X[20, 0] = 500.0  # false, and a recovery would mask it
    hidden = np.zeros(X.shape, bool)
    hidden[21, 0] = True
    seen = Witnesses.of(X, hidden, np.zeros_like(hidden), Said(X))
    assert seen.line[0] == pytest.approx((500 + 22) / 2 - 21)


def test_directions_are_scored_the_short_way_round():
    X = np.full((40, 2), 350.0)
    X[10] = 5.0
    hidden = np.zeros(X.shape, bool)
    hidden[10] = True
    said = Said(np.full(X.shape, 359.0), np.full(X.shape, 340.0), np.full(X.shape, 370.0))
    seen = Witnesses.of(X, hidden, np.zeros_like(hidden), said, 360.0)
    np.testing.assert_allclose(seen.error, -6.0)
    np.testing.assert_allclose(seen.line, -15.0)
    assert (seen.inside == 1).all()


def test_false_readings_are_left_out_if_they_are_few():
    few, many = np.arange(100) < 20, np.arange(100) < 21
    np.testing.assert_array_equal(believed(few), ~few)
    assert believed(many).all()


def test_a_reading_that_is_certainly_false_is_no_truth(monkeypatch):
    X = network(heard=lossy(slots=800))
    false = np.zeros(X.shape, dtype=bool)
    false[10:790:3, 3] = ~np.isnan(X[10:790:3, 3])
    X[false] += 9.0
    monkeypatch.setattr(honest, "no_truth", lambda found: false)
    out = fm.recover(Grid.of(X), method="ls")["value"].holdout
    assert 0 < out.false < false.sum()
    assert out.all_mae > 1.02 * out.method.mae


def test_what_was_lost_beside_false_readings_lies_in_as_long_a_gap_as_is_bridged():
    """Single readings lost while a sensor was dead: estimates there go by nothing near them."""
    X = network()
    X[40:240, 0] = np.where(np.arange(200) % 4 == 0, np.nan, 0.0)
    dead = np.zeros(X.shape, dtype=bool)
    dead[40:240, 0] = ~np.isnan(X[40:240, 0])
    found = honest.Scores()
    for trial in honest.trials(Grid.of(X), "value", Options()):
        found.add(trial, Said(fm.metrics.interpolate(trial.grid.values["value"])))
    flag = np.where(dead, Flag.FAIL, Flag.PASS)
    blind, told = found.whole(), found.whole(honest.Doubt(dead, flag))
    total = np.isnan(X).sum()

    def share(out, shortest):
        return sum(c.lost for c in out.classes if c.shortest == shortest)

    assert share(blind, 1) - share(told, 1) == pytest.approx(50 / total)
    assert share(told, 64) - share(blind, 64) > 49.9 / total  # and a gap that reached into it
    # No such gap was tried: nothing is said of it, and that is said.
    assert told.tested < blind.tested - 0.9 * 50 / total
    # A hidden reading beside them lies in a longer gap too; those among them are left out.
    assert told.false == sum(int(w.hidden[dead].sum()) for w in found.where)


def test_a_node_that_left_its_level_is_no_truth_though_it_is_not_replaced():
    X = network(heard=lossy(slots=800))
    X[250:550, 3] += 12.0
    found = fm.recover(Grid.of(X), method="ls")["value"]
    assert found.holdout.false > 10
    assert not found.replaced[250:550, 3].any()
    assert found.holdout.all_mae > found.holdout.method.mae


# How sure it is ----------------------------------------------------------------------------------


def test_the_uncertainty_is_that_of_blocks():
    """Errors that come in blocks of 50: as wide as it is over many records."""
    rng = np.random.default_rng(0)
    level = rng.normal(size=(400, 20))
    values = np.abs(np.repeat(3 + level, 50, axis=1) + 0.1 * rng.normal(size=(400, 1000)))
    block = np.repeat(np.arange(20), 50)
    weight = np.eye(COUNT)[0]
    found = [spread(v, np.zeros(1000, int), block, weight) for v in values]
    assert np.mean(found) == pytest.approx(values.mean(axis=1).std(), rel=0.15)


def test_one_block_alone_is_as_uncertain_as_it_is_large():
    weight = np.eye(COUNT)[0]
    assert spread(np.full(50, 3.0), np.zeros(50, int), np.zeros(50, int), weight) == 3.0


def holdout(mae, line, error):
    errors = [fm.metrics.HiddenErrors(100, m, m, 0.0, ()) for m in (mae, line)]
    return Holdout(*errors, mae_error=error, difference_error=error)


@pytest.mark.parametrize(
    ("mae", "line", "error", "verdict", "closer"),
    [
        (1.0, 2.0, 0.1, "2 times closer than a straight line", "recovery"),
        (2.0, 1.0, 0.1, "a straight line is 2 times closer", "line"),
        (1.0, 1.2, 0.2, "no clear difference from a straight line", "neither"),
        (1.2, 1.0, 0.2, "no clear difference from a straight line", "neither"),
        (1.0, 6.0, 3.0, "closer than a straight line, but by too few gaps to be sure", "neither"),
        (2.0, 1.0, 3.0, "a straight line is closer, but by too few gaps to be sure", "neither"),
        (1.0, 1.005, 0.001, "as good as a straight line", "neither"),
    ],
)
def test_the_verdict_says_no_more_than_is_known(mae, line, error, verdict, closer):
    one = holdout(mae, line, error)
    assert (one.verdict, one.closer) == (verdict, closer)


def test_a_method_that_is_the_line_does_not_win():
    X = network()
    grid = Grid.of(X)
    (trial,) = honest.trials(grid, "value", Options())
    found = honest.Scores()
    found.add(trial, Said(fm.metrics.interpolate(trial.grid.values["value"])))
    out = found.whole()
    assert (out.closer, out.difference_error) == ("neither", 0.0)
    assert out.verdict == "as good as a straight line"


def test_the_line_is_said_to_win_where_it_does():
    rng = np.random.default_rng(0)
    walks = rng.normal(size=(400, 8)).cumsum(axis=0)  # every node goes its own way
    verdict = fm.recover(Grid.of(walks), method="ls")["value"].holdout.verdict
    assert verdict.startswith("a straight line is")


def test_the_sentence_has_it_all():
    row = GapScore(1, 3, 0.6, 0.0, 50, 0.31, 0.02, 0.4, 0.56, 0.7, 0.9)
    last = GapScore(256, None, 0.4, 0.0, 0, *5 * [np.nan], None, 0.4)
    one = replace(holdout(0.31, 0.56, 0.02), classes=(row, last))
    assert one.sentence("°C") == (
        "0.31 +- 0.04 °C, 1.8 times closer than a straight line; untested: 40 % of what was lost, "
        "in gaps of 256+ slots"
    )


def test_the_summary_tells_it_all():
    summary = fm.recover(Grid.of(network()), seed=2).summary()["conditions"]["value"]["holdout"]
    assert summary["mae_error"] > 0
    assert sum(row["lost"] for row in summary["by_gap"]) == pytest.approx(1.0)
    assert {"hidden", "mae", "rmse", "line_mae", "line_rmse", "skill", "covered", "verdict"} < set(
        summary
    )
    assert all(row["covered"] is not None for row in summary["by_gap"] if row["hidden"])


def test_the_draw_has_a_seed_of_its_own():
    """Calibration draws with the bare seed: the same number must not hide the same readings."""
    heard = np.ones((100, 10), dtype=bool)
    wanted = int(drawing.SHARE * heard.size)
    bare = np.zeros_like(heard)
    bare.ravel()[np.random.default_rng(0).choice(heard.size, wanted, replace=False)] = True
    assert (draw(heard, ~heard, 0).mask != bare).any()


def test_true_and_printed_error_agree():
    """Readings that only the test knows: what is printed is what is true of them."""
    heard = lossy(3, slots=900, nodes=16)
    net = fm.simulate.network(
        *heard.shape, field="temperature", sampling=1.0, anomaly_rate=0.0, noise=0.1, seed=7
    )
    rec = fm.recover(Grid.of(np.where(heard, net.readings, np.nan)))["value"]
    true = np.abs(rec.estimate - net.readings)[~heard].mean()
    assert 0.67 < true / rec.holdout.method.mae < 1.5
