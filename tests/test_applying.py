"""A model that was fitted before: recover(model=), rec.model, --save-model and --model."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.grid import Grid
from fieldmend.recovery import modelling, solving, windows
from fieldmend.recovery.stretches import stretches
from fieldmend.result.states import State

nan = np.nan
NODES = tuple("abcdefghij")


def network(seed=2):
    return fm.simulate.network(
        slots=600, nodes=10, field="temperature", noise=0.05, sampling=0.9, anomaly_rate=0.01,
        seed=seed,
    )  # fmt: skip


def grid(X, first=0, nodes=NODES):
    out = Grid.of(X, condition="t", unit="°C", nodes=nodes, start="2024-01-01")
    return replace(out, times=out.times + first * out.slot)


@pytest.fixture(scope="module")
def net():
    return network()


@pytest.fixture(scope="module")
def old(net):
    return fm.recover(grid(net.readings[:400]), holdout=False)


@pytest.fixture(scope="module")
def model(old):
    return old.model


def test_the_model_of_a_recovery_is_that_of_its_conditions(net, old, model):
    assert tuple(model.nodes) == NODES
    assert list(model) == ["t"]
    part = model["t"]
    assert part.unit == "°C"
    assert part.fitted_on.first == old.grid.times[0]
    assert part.fitted_on.last == old.grid.times[-1]
    assert part.live is not None  # the filter can start
    _, now = model.step(model.start(), net.readings[400])
    assert np.isfinite(now.estimate).all()
    assert old.model is model  # made once


def test_applied_to_its_own_record_it_gives_nearly_what_fitting_gave(net, old, model):
    again = fm.recover(grid(net.readings[:400]), model=model, holdout=False)["t"]
    apart = np.abs(again.estimate - old["t"].estimate)
    assert np.nanmedian(apart) < 0.02
    assert again.fitted is model["t"]
    assert again.status == "model applied"


def test_applying_fits_nothing(net, model, monkeypatch):
    monkeypatch.setattr(solving, "decompose", lambda *_, **__: pytest.fail("it fits"))
    one = fm.recover(grid(net.readings[400:], 400), model=model)["t"]
    assert one.holdout.method.count > 50
    assert one.holdout.covered > 0.8
    assert one.warnings == ()


def test_new_days_come_out_as_well_as_with_a_fresh_fit(net, model):
    X, truth = net.readings[400:].copy(), net.truth[400:]
    X[60:80, 3] = nan

    def error(**options):
        one = fm.recover(grid(X, 400), holdout=False, **options)["t"]
        return np.abs(one.estimate - truth)[60:80, 3].mean()

    assert error(model=model) < 1.2 * error()


def test_the_file_gives_the_same_as_the_model(net, model, tmp_path):
    model.save(tmp_path / "m.npz")
    a = fm.recover(grid(net.readings[400:], 400), model=model, holdout=False)["t"]
    b = fm.recover(grid(net.readings[400:], 400), model=tmp_path / "m.npz", holdout=False)["t"]
    for what in ("estimate", "lower", "upper", "flag"):
        np.testing.assert_array_equal(getattr(a, what), getattr(b, what))


def test_nodes_are_matched_by_name_and_missing_ones_estimated(net, model):
    order = [7, 2, 0, 9, 1, 4, 8, 6, 3]  # no 5
    part = grid(net.readings[400:][:, order], 400, tuple(NODES[n] for n in order))
    rec = fm.recover(part, model=model)
    assert rec.grid.nodes == NODES
    one, truth = rec["t"], net.truth[400:]
    whole = fm.recover(grid(net.readings[400:], 400), model=model)["t"]
    there = np.arange(10) != 5
    assert np.abs(one.estimate - whole.estimate)[:, there].mean() < 0.05
    assert (one.flag[:, 5] == 9).all()
    assert (one.state[:, 5] == State.LOST).all()  # it was in service when the model was fitted
    inside = (one.lower <= truth) & (truth <= one.upper)
    assert inside[:, 5].mean() > 0.75
    width = (one.upper - one.lower).mean(axis=0)
    assert width[5] > 1.5 * np.median(width[there])


def test_unknown_nodes_are_refused_or_followed_by_their_own_readings(net, model):
    X = np.hstack([net.readings[400:], 5 + np.sin(np.arange(200) / 9)[:, None]])
    X[80:84, 10] = nan
    new = grid(X, 400, (*NODES, "new"))
    with pytest.raises(fm.InputError, match=r"does not know node new. .*new_nodes='own'"):
        fm.recover(new, model=model)
    one = fm.recover(new, model=model, new_nodes="own", holdout=False)["t"]
    line = np.interp(np.arange(80, 84), [79, 84], X[[79, 84], 10])
    np.testing.assert_allclose(one.estimate[80:84, 10], line, atol=0.1)
    old = fm.recover(grid(net.readings[400:], 400), model=model, holdout=False)["t"]
    np.testing.assert_array_equal(one.estimate[:, :10], old.estimate)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "ls"}, "method 'ls': not with a model"),
        ({"joint": True}, "joint: not with a model"),
        ({"level": 0.5}, r"intervals are of level 0.9, not 0.5. Take --level 0.9 \(level=0.9\)"),
        ({"new_nodes": "guess"}, "new_nodes='guess'. It is 'refuse' or 'own'"),
        ({"model": "nowhere.npz"}, "nowhere.npz: no model there"),
    ],
)
def test_what_does_not_go_with_a_model_is_refused(net, model, options, message):
    with pytest.raises(fm.InputError, match=message):
        fm.recover(grid(net.readings[400:]), **{"model": model, **options})


def test_another_slot_length_is_refused_with_the_option_that_makes_it_right(net, model):
    other = Grid.of(net.readings, condition="t", nodes=NODES, slot_seconds=60)
    with pytest.raises(fm.InputError, match=r"slots of 1 min: .* Take --slot 5min \(slot='5min'\)"):
        fm.recover(other, model=model)


def test_another_condition_is_refused_unless_it_is_empty_or_no_measurement(net, model):
    both = grid(net.readings[400:], 400)
    both.values["other"] = net.readings[400:] - 30
    with pytest.raises(fm.InputError, match=r"the model knows nothing of 'other'. .*fitted on t"):
        fm.recover(both, model=model)
    both.values["other"] = np.full((200, 10), nan)
    rec = fm.recover(both, model=model, holdout=False)
    assert rec["other"].method == "none"
    assert rec["t"].status == "model applied"


def test_a_model_that_no_longer_fits_is_said_so(net, model):
    rng = np.random.default_rng(0)
    wild = grid(net.readings[400:] + 3 * rng.normal(size=(200, 10)), 400)
    for holdout in (True, False):
        (said,) = fm.recover(wild, model=model, holdout=holdout)["t"].warnings
        assert "no longer fits" in said
        assert said.endswith("fit it again: recover without --model")


def test_the_quick_way_compares_with_no_fresh_fit(net, model, monkeypatch):
    asked = []
    check = modelling.check_fit
    monkeypatch.setattr(
        modelling, "check_fit", lambda *a, **k: asked.append(k["fresh"]) or check(*a, **k)
    )
    for holdout in (True, False):
        one = fm.recover(grid(net.readings[400:], 400), model=model, holdout=holdout)["t"]
        assert one.warnings == ()
    assert asked == [True, False]


def test_of_a_long_record_the_newest_slots_are_asked_by_their_numbers(net, model, monkeypatch):
    asked = []
    check = modelling.check_fit

    def spied(part, X, seen, **options):
        asked.append((options["first"], X))
        return check(part, X, seen, **options)

    monkeypatch.setattr(modelling, "NEWEST", 150)
    monkeypatch.setattr(modelling, "check_fit", spied)
    fm.recover(grid(net.readings[400:], 400), model=model, holdout=False)
    ((first, X),) = asked
    assert first == 450
    np.testing.assert_array_equal(X, net.readings[450:])


def test_only_some_recoveries_have_a_model(net):
    with pytest.raises(fm.InputError, match="method 'ls' fitted no model"):
        _ = fm.recover(grid(net.readings[:100]), method="ls", holdout=False).model


# Nodes that were silent --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def partial_model(net):
    X = net.readings[:400].copy()
    X[:, 4] = nan
    return fm.recover(grid(X), holdout=False).model


def test_a_node_silent_when_the_model_was_fitted_has_its_place(partial_model, tmp_path):
    part = partial_model["t"]
    assert part.unheard == (4,)
    assert part.nodes == 10
    np.testing.assert_array_equal(np.sort(part.view.order), np.arange(10))
    partial_model.save(tmp_path / "m.npz")
    assert fm.FieldModel.load(tmp_path / "m.npz")["t"].unheard == (4,)


def test_it_changes_nothing_for_the_others(net, partial_model):
    X = net.readings[400:].copy()
    X[:, 4] = nan
    others = np.arange(10) != 4
    alone = fm.recover(grid(net.readings[:400, others], 0, tuple("abcdfghij")), holdout=False).model
    a = fm.recover(grid(X, 400), model=partial_model, holdout=False)["t"]
    b = fm.recover(grid(X[:, others], 400, tuple("abcdfghij")), model=alone, holdout=False)["t"]
    np.testing.assert_allclose(a.estimate[:, others], b.estimate, atol=1e-3)


def test_it_stays_empty_while_it_is_silent_and_follows_its_readings_later(net, partial_model):
    X = net.readings[400:].copy()
    heard = fm.recover(grid(X, 400), model=partial_model, holdout=False)["t"]
    lost = np.isnan(X[:, 4])
    assert np.abs(heard.estimate - net.truth[400:])[lost, 4].mean() < 1.0
    X[:, 4] = nan
    silent = fm.recover(grid(X, 400), model=partial_model, holdout=False)["t"]
    assert (silent.state[:, 4] == State.NEVER_FITTED).all()
    assert np.isnan(silent.estimate[:, 4]).all()


# Long records: fitted once -----------------------------------------------------------------------


def test_a_long_record_is_fitted_once_and_its_windows_by_that(monkeypatch):
    long = fm.simulate.network(
        slots=4000, nodes=8, field="temperature", noise=0.05, sampling=0.9, seed=3
    )
    whole = fm.recover(Grid.of(long.readings), holdout=False)["value"]
    monkeypatch.setattr(windows, "WINDOW", 8 * 1200)
    calls = []
    decompose = solving.decompose
    monkeypatch.setattr(
        solving, "decompose", lambda X, **k: calls.append(X.shape) or decompose(X, **k)
    )
    rec = fm.recover(Grid.of(long.readings), holdout=False)
    parts = rec["value"]
    assert calls == [(1200 // 8 * 8, 8)]
    assert parts.status == "model applied"
    error, best = (np.nanmean(np.abs(one.estimate - long.truth)) for one in (parts, whole))
    assert error < 1.2 * best
    inside = (parts.lower <= long.truth) & (long.truth <= parts.upper)
    assert inside[parts.state == State.LOST].mean() > 0.85
    assert rec.model["value"].fitted_on.rows == 1200


def test_windows_of_a_skewed_quantity_are_solved_on_its_scale(monkeypatch):
    net = fm.simulate.network(
        slots=2400, nodes=8, field="temperature", noise=0.05, sampling=0.9, seed=3
    )
    X = np.exp((net.readings - 18) / 2)
    grid = Grid.of(X, condition="pm10", unit="µg/m³")
    monkeypatch.setattr(windows, "WINDOW", 8 * 1200)
    one = fm.recover(grid, holdout=False, kinds={"pm10": "positive"})["pm10"]
    assert one.status == "model applied"
    assert "solved on" in one.choice
    assert one.fitted.view.power.p < 1  # a model of roots, that knows the way back
    again = one.fitted.apply(X, np.isfinite(X), own=False).estimate
    assert np.nanmedian(np.abs(again / one.estimate - 1)) < 0.1
    assert (one.lower[np.isfinite(one.lower)] >= 0).all()
    off = np.abs(np.log(one.estimate) * 2 + 18 - net.truth)
    assert np.nanmedian(off[one.state == State.LOST]) < 0.5


def test_a_model_is_not_fitted_anew_for_the_windows_of_a_long_record(net, model, monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 1)
    monkeypatch.setattr(windows, "SHORTEST", 100)
    monkeypatch.setattr(solving, "decompose", lambda *_, **__: pytest.fail("it fits"))
    one = fm.recover(grid(net.readings[400:], 400), model=model, holdout=False)["t"]
    assert one.fitted is model["t"]
    whole = np.isfinite(one.estimate)
    assert np.abs(one.estimate - net.truth[400:])[whole].mean() < 0.1


def test_stretches_follow_the_clock():
    found, fitting = stretches(1_000_000, 1200, [96, 672])
    assert fitting == [96, 672]
    assert len(found) == 8
    for before, after in pairwise(found):
        assert before.stop <= after.start
        assert after.start % 672 == (after.stop - after.start) % 672 == 0
    assert found[-1].stop <= 1_000_000
    assert stretches(1_000_000, 1200, [50_000])[1] == []


# The command -------------------------------------------------------------------------------------


def test_the_command_saves_a_model_and_applies_it(net, tmp_path, capsys):
    def run(*arguments):
        code = main([str(one) for one in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    for name, rows in (("old", slice(0, 400)), ("new", slice(400, 600))):
        lines = ["time," + ",".join(NODES)]
        for i, row in enumerate(net.readings[rows], rows.start):
            stamp = np.datetime64("2024-01-01") + np.timedelta64(5 * i, "m")
            lines.append(f"{stamp}:00Z," + ",".join("" if np.isnan(v) else f"{v:.4f}" for v in row))
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    file = tmp_path / "site.npz"
    shared = ("--out", tmp_path, "--no-report", "--json")
    code, out, err = run("recover", tmp_path / "old.csv", "--save-model", file, *shared)
    assert code == 0, err
    assert json.loads(out)["files"]["model"] == str(file)
    code, out, err = run("recover", tmp_path / "new.csv", "--model", file, *shared)
    assert code == 0, err
    (one,) = json.loads(out)["conditions"].values()
    assert one["status"] == "model applied"
    code, _, err = run("recover", tmp_path / "old.csv", "--save-model", file, "--force", *shared,
                       "--method", "ls")  # fmt: skip
    assert code == 2
    assert "--save-model: only method auto" in err
