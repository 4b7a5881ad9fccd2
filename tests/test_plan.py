"""How seldom may the nodes send? Replayed, chosen, written, verified on later days."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.field.screens import JumpScreen
from fieldmend.planning.calibrating import for_schedule, witnesses
from fieldmend.planning.comparing import best
from fieldmend.planning.energy import Energy, airtime_ms, of_radio
from fieldmend.planning.replay import Replay, cut, thinned
from fieldmend.planning.schedule import Schedule, received, short_gaps
from fieldmend.planning.scoring import blocks_of, few_days, score
from fieldmend.planning.search import Asked, Steps, best_of, explore, longest_interval
from fieldmend.planning.seldom import both_rules
from fieldmend.quantities import identify_all

SLOTS, NODES, HALF_HOUR = 288, 4, 1800
HALF = SLOTS // 2  # three days
ERROR = 0.1


def network(slots=SLOTS, seed=5, nodes=NODES):
    net = fm.simulate.network(
        slots=slots, nodes=nodes, field="temperature", noise=0.05, sampling=0.97,
        anomaly_rate=0.0, seed=seed,
    )  # fmt: skip
    return fm.Grid.of(net.readings, condition="t", unit="°C", slot_seconds=HALF_HOUR)


@pytest.fixture(scope="module")
def whole():
    return network()


@pytest.fixture(scope="module")
def made(whole):
    """A plan from the first three days, verified on the last three."""
    return fm.plan(cut(whole, slice(0, HALF)), error=ERROR, verify=cut(whole, slice(HALF, None)))


def test_the_fewest_messages_within_the_error_are_chosen(made):
    every = [one for tried in made.tried.values() for one in tried]
    within = [one for one in every if one.scores["t"].high <= ERROR]
    assert set(made.tried) == {"clock", "staggered", "change"}
    fewest = min(one.share for one in within)
    alike = [one.scores["t"].high for one in within if one.share <= 1.03 * fewest]
    assert made.chosen.scores["t"].high == min(alike)
    assert made.chosen.share < 0.5
    for tried in made.tried.values():  # sending less is hardly ever better
        assert tried[0].scores["t"].error < tried[-1].scores["t"].error


def test_later_days_are_within_the_error(made):
    assert made.found.errors["t"] <= ERROR
    assert made.found.errors["t"] <= made.chosen.scores["t"].high
    assert made.found.share == pytest.approx(made.chosen.share, rel=0.25)


def test_of_a_record_that_overlaps_only_the_rest_is_verified_on(made, whole):
    again = made.verify(whole)
    assert again.found.errors == made.found.errors
    assert any("what comes after" in note for note in again.found.notes)
    assert "not later" in made.verify(made.record).found.notes[0]


def test_a_quantile_of_the_error_is_larger_than_its_mean(made):
    high = fm.plan(made.record, error=ERROR, quantile=0.95, designs=["clock"])
    mean = {one.schedule.every: one.scores["t"].error for one in made.tried["clock"]}
    for one in high.tried["clock"]:
        assert one.scores["t"].error > mean.get(one.schedule.every, 0.0)
    assert "0.95 of all errors" in high.advice


def sends(rows, readings, times):
    """Slow and obvious: what a node does that obeys its line of schedule.csv."""
    sent = 0
    for n, row in enumerate(rows):
        interval, phase = float(row["interval_s"]), float(row["phase_s"])
        change, last = row["change"], None
        for t, time in enumerate(times):
            now = readings[t, n]
            if (time / 1e6 - phase) % interval >= HALF_HOUR or np.isnan(now):
                continue
            if not change or last is None or abs(now - last) > float(change):
                sent, last = sent + 1, now
    return sent / np.isfinite(readings).sum()


@pytest.mark.parametrize("design", ["clock", "staggered", "change"])
def test_the_schedule_sends_the_promised_share(made, design):
    played = best(made, design)
    rows = list(csv.DictReader(replace(made, schedule=played.schedule).schedule_csv().splitlines()))
    assert [row["node"] for row in rows] == list(made.record.nodes)
    found = sends(rows, made.record.values["t"], made.record.times)
    assert found == pytest.approx(played.share, rel=0.02)


def test_no_share_of_its_designs_is_better(made, whole):
    replay = made.ground.replay
    asked = Asked("t", ERROR)
    found = explore(replay, "staggered", asked)
    every = [replay.play(Schedule.of("staggered", made.record, k)) for k in range(2, 13)]
    fewest = best_of(every, [asked])
    assert best_of(found, [asked]).share <= 1.15 * fewest.share


def test_what_is_written_is_whole_and_recovers_what_is_sent(made, whole, tmp_path):
    files = made.write(tmp_path / "plan")
    said = json.loads(files["plan"].read_text())
    assert {"condition", "error_asked", "chosen", "designs", "verified"} <= set(said)
    assert {"design", "share", "interval_s", "error", "low", "high"} <= set(said["chosen"])
    assert said["chosen"]["low"] <= said["chosen"]["error"] <= said["chosen"]["high"] <= ERROR
    assert said["verified"]["within"] is True
    page = files["curve"].read_text()
    assert "asked: 0.1" in page
    assert 'src="http' not in page
    later = cut(whole, slice(HALF, None))
    sent = made.schedule.sent(later.values, later.times)
    changes = dict(made.schedule.changes) or None
    rec = fm.recover(thinned(later, sent), model=files["model"], on_change=changes, holdout=False)
    off = np.abs(rec["t"].estimate - later.values["t"])[~sent & np.isfinite(later.values["t"])]
    assert np.nanmean(off) <= 1.1 * ERROR
    with pytest.raises(OSError, match="is there already"):
        made.write(tmp_path / "plan")


def test_intervals_under_a_schedule_hold():
    """The model is calibrated for the schedule."""
    grid = network(384, nodes=8)
    early, later = cut(grid, slice(0, 192)), cut(grid, slice(192, None))
    schedule = Schedule.of("clock", early, 8)
    models = both_rules(fm.FieldModel.fit(early))
    model = Replay(early, identify_all(early.values, early.units, {})).model(schedule, models)
    sent = schedule.sent(later.values, later.times)
    one = fm.recover(thinned(later, sent), model=model, holdout=False)["t"]
    X, at = later.values["t"], ~sent & np.isfinite(later.values["t"])
    held = ((one.lower <= X) & (X <= one.upper))[at].mean()
    assert 0.8 < held < 0.97
    assert not np.array_equal(
        models[0]["t"].later.calibration.factor, model["t"].later.calibration.factor
    )


def wandering_days(seed=4):
    field = fm.simulate.climate_field(
        288, 6, climate=fm.simulate.CLIMATES["humidity"], slots_per_day=48, seed=seed
    )
    net = fm.simulate.network(
        field=field, noise=0.03 * float(field.std()), sampling=0.9, loss="bursts",
        anomaly_rate=0.0, seed=seed,
    )  # fmt: skip
    return fm.Grid.of(net.readings, condition="t", slot_seconds=HALF_HOUR)


@pytest.fixture(scope="module")
def unaware_and_rules():
    """A model that knows neighbouring readings only, and the two that a plan chooses between."""
    model = fm.FieldModel.fit(cut(wandering_days(), slice(0, 144)))
    screen = model["t"].screen
    rules = [
        replace(rule, laws=tuple(replace(law, rise=law.rise[:1]) for law in rule.laws))
        for rule in (screen.first, screen.second)
    ]
    unaware = replace(model["t"], screen=JumpScreen(*rules))
    return replace(model, conditions={"t": unaware}), *both_rules(model)


def test_an_ordinary_day_is_not_false_for_coming_seldom(unaware_and_rules):
    """How far nodes jump over the gaps of a schedule is not how far they jump to the next slot."""
    late = cut(wandering_days(), slice(144, None))
    sent = Schedule.of("clock", late, 8).sent(late.values, late.times)
    false = [
        int((one.apply(thinned(late, sent))["t"].sparse != 0).sum()) for one in unaware_and_rules
    ]
    assert false[0] > 5  # the network has none
    assert max(false[1:]) <= 1


def test_what_was_not_sent_chooses_the_rule_for_false_readings(unaware_and_rules):
    unaware, good, _ = (one["t"] for one in unaware_and_rules)
    late = cut(wandering_days(), slice(144, None))
    sent = Schedule.of("clock", late, 8).sent(late.values, late.times)
    true = np.ones(sent.shape, dtype=bool)
    trials = [witnesses(one, late.values["t"], sent, true, 144) for one in (unaware, good)]
    assert for_schedule([unaware, good], trials).screen is good.screen
    assert for_schedule([good, unaware], trials[::-1]).screen is good.screen


def test_one_rule_heeds_a_nodes_past_over_long_gaps_and_the_other_does_not(unaware_and_rules):
    heeding, unheeding = (one["t"].screen for one in unaware_and_rules[1:])
    assert len(heeding.second.laws[1].rise) > 5
    assert unheeding.second.laws[1].rise.tolist() == [1.0]
    assert unheeding.first is heeding.first
    assert unheeding.second.laws[0] is heeding.second.laws[0]


def test_the_longest_interval_lets_every_block_hear_every_node(whole):
    assert longest_interval(whole) == SLOTS / 8
    assert longest_interval(cut(whole, slice(0, 96))) == 96 / 16  # two days: no doubt can be told


def test_a_verified_plan_says_the_error_with_flagged_readings_too(made, whole):
    later = cut(whole, slice(HALF, None))
    schedule = Schedule.of("clock", later, 3)
    unsent = ~schedule.sent(later.values, later.times)[:, 2] & np.isfinite(later.values["t"][:, 2])
    X = later.values["t"].copy()
    X[np.flatnonzero(unsent)[10:100:20], 2] += 30.0
    found = replace(made, schedule=schedule).verify(replace(later, values={"t": X})).found
    assert found.errors["t"] < 0.8 * found.counted["t"]
    assert any("with them the error is" in note for note in found.notes)
    said = made.verify(later).to_dict()["verified"]
    assert said["error_with_flagged"] >= said["error"]


def test_two_days_have_no_interval_and_a_tiny_error_no_plan(whole, tmp_path):
    found = fm.plan(cut(whole, slice(0, 96)), error=1e-6, designs=["clock"])
    assert found.chosen is None
    assert found.advice.startswith("Send everything")
    said = found.to_dict()
    assert said["chosen"] is None
    assert said["designs"][0]["low"] is None
    assert any("no interval" in note for note in said["notes"])
    assert found.ground.replay.few_days  # what is chosen leaves room for days that differ
    assert set(found.write(tmp_path)) == {"plan", "curve", "model"}
    with pytest.raises(fm.InputError, match="no plan to verify"):
        found.verify(whole)


def test_a_message_carries_all_conditions(whole):
    grid = cut(whole, slice(0, 96))
    values = {"t": grid.values["t"], "u": 60 - 3 * grid.values["t"]}
    both = replace(grid, values=values, units={})
    found = fm.plan(both, error={"t": 0.1, "u": 0.3}, designs=["change"])
    assert all(found.chosen.scores[name].high <= e for name, e in {"t": 0.1, "u": 0.3}.items())
    said = found.to_dict()
    assert [one["condition"] for one in said["conditions"]] == ["t", "u"]
    together = next(one for one in found.tried["change"] if len(one.schedule.changes) == 2)
    assert set(together.schedule.changes) == {"t", "u"}
    assert "change_u" in replace(found, schedule=together.schedule).schedule_csv()


REFUSED = [
    ({"error": 0}, "cannot be kept"),
    ({"error": -0.2}, "cannot be kept"),
    ({"error": float("nan")}, "cannot be kept"),
    ({"error": {}}, "no error is asked for"),
    ({"error": 0.2, "condition": "x"}, "there is no condition 'x'"),
    ({"error": 0.2, "quantile": 1.5}, "quantile"),
    ({"error": 0.2, "designs": ["subset"]}, "no design 'subset'"),
    ({"error": 0.2, "kinds": {"t": "circular"}}, "a direction has no mean error"),
    ({"error": 0.2, "kinds": {"t": "accumulator"}}, "send it as seldom as you need"),
    ({"error": 0.2, "kinds": {"t": "intermittent"}}, "at rest most of the time"),
]


@pytest.mark.parametrize(("options", "said"), REFUSED)
def test_what_cannot_be_planned_is_refused(whole, options, said):
    with pytest.raises(fm.InputError, match=said):
        fm.plan(whole, **options)


def test_one_node_a_day_and_two_conditions_are_refused(whole):
    with pytest.raises(fm.InputError, match="1 node with readings"):
        fm.plan(cut(whole, slice(None), np.array([0])), error=0.2)
    with pytest.raises(fm.InputError, match="a plan takes two days"):
        fm.plan(cut(whole, slice(0, 48)), error=0.2)
    flat = replace(whole, values={"t": np.full(whole.shape, 7.0)})
    with pytest.raises(fm.InputError, match="t is 7 throughout"):
        fm.plan(flat, error=0.2)
    both = replace(whole, values={"t": whole.values["t"], "u": whole.values["t"]}, units={})
    with pytest.raises(fm.InputError, match="the conditions are 2: t and u"):
        fm.plan(both, error=0.2)


def write(path, grid):
    X = grid.values["t"]
    rows = [
        f"n{n},{np.datetime64(int(grid.times[t]), 'us')},{X[t, n]:.3f}"
        for t, n in zip(*np.nonzero(np.isfinite(X)), strict=True)
    ]
    path.write_text("node,time,t\n" + "\n".join(rows) + "\n")
    return str(path)


def test_the_command(whole, tmp_path, capsys):
    early = write(tmp_path / "a.csv", cut(whole, slice(0, 96)))
    late = write(tmp_path / "b.csv", cut(whole, slice(96, 192)))
    out = str(tmp_path / "plan")
    common = ["plan", early, "--error", "0.15", "--designs", "staggered", "--slot", "30min"]
    assert main([*common, "--verify", late, "--out", out]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("each node at its own phase", "No longer seen", "J a day", "Verified", "--model"):
        assert words in said
    assert sorted(p.name for p in (tmp_path / "plan").iterdir()) == [
        "curve.html",
        "model.npz",
        "plan.json",
        "schedule.csv",
    ]
    assert main([*common, "--out", out]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "--error"),
        (["--error", "0"], 2, "cannot be kept"),
        (["--error", "much"], 2, "neither a number"),
        (["--error", "1", "--condition", "x"], 3, "x"),
        (["--error", "1", "--designs", "subset"], 2, "no design 'subset'"),
        (["--error", "1", "--quantile", "2"], 2, "quantile"),
        (["--error", "1", "--verify", "nowhere.csv"], 3, "there is no such file"),
        (["--error", "1", "--radio", "smoke"], 2, "--radio"),
        (["--error", "1", "--radio", "802.15.4", "--payload", "200"], 2, "1 to 114"),
        (["--error", "1", "--sleep-ua", "-1"], 2, "--sleep-ua"),
        (["--error", "1"], 3, "a plan takes two days"),
    ],
)
def test_the_command_refuses(whole, tmp_path, capsys, arguments, code, said):  # noqa: PLR0917
    day = write(tmp_path / "day.csv", cut(whole, slice(0, 48)))
    assert main(["plan", day, *arguments]) == code
    err = capsys.readouterr().err
    assert said in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_lost_messages_are_those_of_short_gaps():
    there = np.ones((40, 2), bool)
    there[5, 0] = False
    there[8:28, 1] = False  # down, not lost
    assert np.argwhere(short_gaps(there)).tolist() == [[5, 0]]
    X = np.where(there, 1.0, np.nan)
    got = received(np.ones((40, 2), bool), {"t": X})
    assert np.argwhere(~got).tolist() == [[25, 0]]


def test_phases_are_spread_evenly():
    grid = fm.Grid.of(np.zeros((64, 50)))
    due = Schedule.of("staggered", grid, 16).due(grid.times)
    assert np.all(due.sum(axis=0) == 4)
    assert due.sum(axis=1).max() <= 5
    assert np.all(Schedule.of("clock", grid, 16).due(grid.times).sum(axis=1) % 50 == 0)


def test_changes_fall_between_the_steps_of_a_sensor():
    steps = Steps.of(np.round(np.random.default_rng(1).normal(280, 5, (200, 5)), 1))
    assert steps.step == 0.1
    assert steps.at(0.42) == pytest.approx(0.45)
    assert Steps.of(np.random.default_rng(1).normal(size=(200, 5))).step == 0


def test_scores_by_blocks_and_quantile():
    off = np.full((1, 80, 2), np.nan)
    off[0, :, 0] = np.repeat(np.arange(8.0), 10)
    found = score(off, np.arange(80) // 10)
    assert found.error == 3.5
    assert found.doubt == pytest.approx(np.std(np.arange(8), ddof=1) / np.sqrt(8))
    assert found.worst == (0, 3.5)
    assert score(off, np.arange(80) // 10, 0.9).error > 6
    assert set(blocks_of(7 * 48, HALF_HOUR * 1_000_000)) == set(range(8))


def test_what_phases_differ_by_is_doubt():
    off = np.ones((3, 80, 2)) * np.array([1.0, 2.0, 3.0])[:, None, None]
    found = score(off, np.arange(80) // 10)
    assert found.error == 2.0
    assert found.doubt == pytest.approx(1.0)  # blocks are alike; the next phase is any of these


def test_from_few_days_the_doubt_is_of_what_comes_too():
    off = np.full((1, 80, 2), np.nan)
    off[0, :, 0] = np.repeat(np.arange(8.0), 10)
    known = score(off, np.arange(80) // 10)
    unknown = score(off, np.arange(80) // 10, few_days=True)
    assert unknown.error == known.error
    assert unknown.doubt == pytest.approx(np.sqrt(2) * known.doubt)
    assert few_days(139, HALF_HOUR * 1_000_000)
    assert not few_days(140, HALF_HOUR * 1_000_000)


def test_few_messages_are_played_at_several_phases(whole):
    few = Schedule.of("staggered", whole, 24)
    shifts = few.shifted(9)
    assert len(shifts) == 4
    due = np.stack([one.due(whole.times) for one in shifts])
    assert due.sum(axis=0).max() == 1  # no reading twice
    assert [len(few.shifted(k)) for k in (1, 3)] == [1, 3]
    assert few.shifted(1)[0].phases.tolist() == few.phases.tolist()
    assert len(Schedule.of("clock", whole, 2).shifted(9)) == 2
    assert len(Schedule.of("change", whole, changes={"t": 0.1}).shifted(9)) == 1


@pytest.mark.parametrize(("sf", "size", "ms"), [(7, 25, 61.7), (10, 25, 411.6), (12, 64, 2793.5)])
def test_airtime_is_that_of_public_calculators(sf, size, ms):
    assert airtime_ms(sf, size) == pytest.approx(ms, abs=0.1)


def test_energy():
    assert Energy(54, sleep_ua=10).a_day(288, 288) == pytest.approx(54 * 0.288 + 2.592)
    assert Energy(0.3, sleep_ua=10).radio_share(288, 288) < 0.05
    assert of_radio("lora-sf12", 12)[0] > 10 * of_radio("lora-sf7", 12)[0]
    with pytest.raises(fm.InputError, match="no radio"):
        of_radio("smoke", 12)
