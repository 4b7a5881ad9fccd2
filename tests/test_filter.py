"""The field model slot by slot: its algebra against a dense Kalman filter, and what it promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import online
from fieldmend.field.chains import NodeModel
from fieldmend.field.checking import check_fit
from fieldmend.field.filter import Belief, hear, predict
from fieldmend.field.fitted import Live
from fieldmend.field.holdout import Calibration
from fieldmend.field.model import Field
from fieldmend.field.online import _gate, replay
from fieldmend.field.power import Power
from test_fieldmodel import grid_of, network

NEVER = 1e9  # a gate that lets everything pass


def field_of(nodes, rank, seed=0):
    rng = np.random.default_rng(seed)
    nothing = np.zeros((rank, 0))
    own = NodeModel(
        rng.uniform(0.5, 0.99, nodes), rng.uniform(0.05, 0.3, nodes), rng.uniform(0.02, 0.2, nodes)
    )
    return Field(
        level=rng.normal(size=nodes),
        loadings=rng.normal(size=(nodes, rank)),
        mean_loading=np.zeros(rank),
        relevance=np.ones(rank),
        doubt=np.zeros((nodes, rank + 1, rank + 1)),
        phi=rng.uniform(0.6, 0.98, rank),
        nodes=own,
        factors=nothing,
        deviation=nothing,
        blur=np.zeros((rank, rank)),
    )


def simulated(field, slots, seed=0, lost=0.4):
    """Readings of the model itself, slots × nodes, and where they are seen."""
    rng = np.random.default_rng(seed)
    nodes, rank = field.loadings.shape
    b, r, out = rng.normal(size=rank), np.zeros(nodes), []
    for _ in range(slots):
        b = field.phi * b + np.sqrt(1 - field.phi**2) * rng.normal(size=rank)
        r = field.nodes.phi * r + np.sqrt(field.nodes.innovation) * rng.normal(size=nodes)
        e = np.sqrt(field.nodes.noise) * rng.normal(size=nodes)
        out.append(field.level + field.loadings @ b + r + e)
    Y = np.array(out)
    return Y, rng.random(Y.shape) > lost


class Dense:
    """A Kalman filter of (b, r) with its full covariance; nothing is dropped, nothing is fast."""

    def __init__(self, field):
        self.field = field
        nodes, rank = field.loadings.shape
        self.move = np.diag(np.concatenate([field.phi, field.nodes.phi]))
        self.push = np.diag(np.concatenate([1 - field.phi**2, field.nodes.innovation]))
        self.look = np.hstack([field.loadings, np.eye(nodes)])
        self.mean = np.zeros(rank + nodes)
        self.cov = np.diag(np.concatenate([np.ones(rank), field.nodes.spread]))

    @classmethod
    def of(cls, field, belief):
        """The joint Gaussian that a belief stands for."""
        out, C, P = cls(field), belief.tie, belief.covariance
        out.mean = np.concatenate([belief.factors, belief.own])
        out.cov = np.block([[P, P @ C.T], [C @ P, C @ P @ C.T + np.diag(belief.spread)]])
        return out

    def predict(self):
        self.mean = self.move @ self.mean
        self.cov = self.move @ self.cov @ self.move.T + self.push

    def expects(self, n):
        """Mean and variance of node n's reading."""
        row = self.look[n]
        return self.field.level[n] + row @ self.mean, row @ self.cov @ row + self.field.nodes.noise[
            n
        ]

    def hear(self, y, seen):
        for n in np.flatnonzero(seen):
            mean, variance = self.expects(n)
            gain = self.cov @ self.look[n] / variance
            self.mean = self.mean + gain * (y[n] - mean)
            self.cov = self.cov - np.outer(gain, gain) * variance
        return self.field.level + self.look @ self.mean

    def variance(self):
        return np.einsum("ni,ij,nj->n", self.look, self.cov, self.look) + self.field.nodes.noise


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_with_one_node_it_is_the_kalman_filter(rank):
    field = field_of(1, rank)
    Y, O = simulated(field, 60)
    now, dense = Belief.start(field), Dense(field)
    for y, seen in zip(Y, O, strict=True):
        now, heard = hear(field, predict(field, now), y, seen, NEVER)
        dense.predict()
        np.testing.assert_allclose(heard.mean, dense.hear(y, seen), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(heard.variance, dense.variance(), rtol=1e-9)


def test_the_update_is_exact_and_the_prediction_keeps_what_it_says():
    field = field_of(5, 2)
    Y, O = simulated(field, 30)
    now = Belief.start(field)
    for y, seen in zip(Y, O, strict=True):
        dense = Dense.of(field, now)
        dense.predict()
        now = predict(field, now)
        kept = Dense.of(field, now)
        np.testing.assert_allclose(kept.mean, dense.mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(kept.cov[:2], dense.cov[:2], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(np.diag(kept.cov), np.diag(dense.cov), rtol=1e-9)
        dense = Dense.of(field, now)
        now, heard = hear(field, now, y, seen, NEVER)
        np.testing.assert_allclose(heard.mean, dense.hear(y, seen), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(heard.variance, dense.variance(), rtol=1e-8)
        np.testing.assert_allclose(Dense.of(field, now).cov, dense.cov, rtol=1e-7, atol=1e-10)


def test_what_is_dropped_hardly_matters():
    field = field_of(8, 2, seed=3)
    Y, O = simulated(field, 300, seed=3, lost=0.6)
    now, dense, gap, error = Belief.start(field), Dense(field), [], []
    for y, seen in zip(Y, O, strict=True):
        now, heard = hear(field, predict(field, now), y, seen, NEVER)
        dense.predict()
        exact = dense.hear(y, seen)
        gap.append(heard.mean - exact)
        error.append((y - exact)[~seen])
    assert np.square(gap).mean() < 0.01 * np.square(np.concatenate(error)).mean()


def test_scores_are_those_of_leaving_the_reading_out():
    field = field_of(6, 2, seed=1)
    Y, O = simulated(field, 12, seed=1)
    now = Belief.start(field)
    for y, seen in zip(Y, O, strict=True):
        ahead = predict(field, now)
        now, heard = hear(field, ahead, y, seen, NEVER)
        assert (np.isnan(heard.score) == ~seen).all()
        for n in np.flatnonzero(seen):
            dense = Dense.of(field, ahead)
            dense.hear(y, seen & (np.arange(6) != n))
            mean, variance = dense.expects(n)
            np.testing.assert_allclose(heard.expected[n], mean, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(heard.score[n], abs(y[n] - mean) / np.sqrt(variance))


def warmed(field, slots=100, seed=0):
    Y, O = simulated(field, slots, seed=seed, lost=0.2)
    now = Belief.start(field)
    for y, seen in zip(Y, O, strict=True):
        now, _ = hear(field, predict(field, now), y, seen, 6.0)
    return predict(field, now)


def test_a_gross_reading_moves_nothing():
    field = field_of(12, 2)
    now = warmed(field)
    y = field.level + field.loadings @ now.factors + now.own
    seen = np.ones(12, bool)
    wrong = y.copy()
    wrong[[3, 7]] += [50.0, -20.0]
    after, heard = hear(field, now, wrong, seen, 6.0)
    without, want = hear(field, now, y, seen & ~np.isin(np.arange(12), [3, 7]), 6.0)
    assert list(np.flatnonzero(~heard.believed)) == [3, 7]
    assert (heard.score[[3, 7]] > 6.0).all()
    for name in ("factors", "covariance", "own", "tie", "spread", "since"):
        np.testing.assert_allclose(getattr(after, name), getattr(without, name), atol=1e-12)
    np.testing.assert_allclose(heard.mean, want.mean)
    np.testing.assert_allclose(heard.expected[3], want.mean[3])
    assert after.since[3] > 0


def test_what_all_nodes_do_is_no_error():
    field = field_of(12, 2)
    now = warmed(field)
    y = field.level + field.loadings @ (now.factors + np.array([4.0, 0.0])) + now.own
    after, heard = hear(field, now, y, np.ones(12, bool), 6.0)
    assert heard.believed.all()
    assert after.factors[0] - now.factors[0] > 2.0


def run(field, now, offsets, node=3):
    """Readings as expected but for one node's offsets; how many of them were believed at once."""
    believed = []
    for offset in offsets:
        y = field.level + field.loadings @ now.factors + now.own
        y[node] = field.level[node] + offset
        now, heard = hear(field, now, y, np.ones(len(y), bool), 6.0)
        believed.append(bool(heard.believed[node]))
        now = predict(field, now)
    return believed, heard


def test_a_step_is_believed_after_six_readings():
    field = field_of(12, 2)
    believed, heard = run(field, warmed(field), [30.0] * 9)
    assert believed == [False] * 5 + [True] * 4
    assert abs(heard.mean[3] - field.level[3] - 30.0) < 3.0
    believed, heard = run(field, warmed(field), [30.0] * 9 + [0.0] * 7)
    assert believed[9:] == [False] * 5 + [True] * 2
    assert abs(heard.mean[3] - field.level[3]) < 3.0


def test_a_small_step_is_believed_at_its_second_reading():
    field = field_of(6, 2)
    for size in (8.0, 10.0):
        now = warmed(field)
        believed, _ = run(field, now, [size] * 4)
        assert believed == [False, True, True, True]


def test_garbage_is_never_believed():
    field = field_of(12, 2)
    wild = np.random.default_rng(0).choice([-1, 1], 40) * np.random.default_rng(1).uniform(
        50, 500, 40
    )
    believed, _ = run(field, warmed(field), wild)
    assert not any(believed)


def test_two_alike_among_garbage_are_no_step():
    field = field_of(12, 2)
    believed, _ = run(field, warmed(field), [60.0, -80.0, 90.0, -120.0, 200.0, 200.0, 200.0])
    assert not any(believed)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_believed_is_within_the_gate(seed):
    """Up to a third of the readings of a slot are false, by little or by much."""
    field = field_of(30, 3, seed=seed)
    now, rng = warmed(field, seed=seed), np.random.default_rng(seed)
    for _ in range(20):
        y = now.expected(field) + 0.3 * rng.normal(size=30)
        wrong = rng.random(30) < 0.33
        y[wrong] += rng.choice([-1, 1], wrong.sum()) * rng.uniform(1.0, 8.0, wrong.sum())
        after, heard = hear(field, now, y, np.ones(30, bool), 4.5)
        assert (heard.score[heard.believed] <= 4.5).all()
        assert (after.since[heard.believed] == 0).all()
        now = predict(field, after)


def test_a_node_that_comes_back_is_not_held_to_be_off():
    """Rejected readings before a silence do not add up with one after it that is right."""
    field = field_of(12, 2)
    now = warmed(field)
    right = (field.loadings @ now.factors + now.own)[3]
    believed, _ = run(field, now, [30.0] * 4 + [right] + [30.0] * 4)
    assert believed == [False] * 4 + [True] + [False] * 4


def test_the_gate_is_what_one_in_ten_thousand_passes():
    rng = np.random.default_rng(0)
    heavy = rng.pareto(3.0, 5000) + 1.0  # P(x > g) = g⁻³
    assert _gate(heavy) == pytest.approx(1e4 ** (1 / 3), rel=0.25)
    one_more = np.append(np.abs(rng.normal(size=3000)), 1000.0)
    assert 4.5 <= _gate(one_more) < 12.0
    assert _gate(np.abs(rng.normal(size=3000))) == 4.5
    assert _gate(np.full(100, 50.0)) == 6.0


# Through the model, in the units of the readings.


@pytest.fixture(scope="module")
def net():
    return network(900, 16, seed=4)


@pytest.fixture(scope="module")
def model(net):
    return fm.FieldModel.fit(net.readings[:600])


def stepped(model, X, state=None):
    state = model.start() if state is None else state
    rows = []
    for y in X:
        state, now = model.step(state, y)
        rows.append(now)
    columns = {name: np.array([getattr(n, name) for n in rows]) for name in vars(rows[0])}
    return state, columns


def test_it_beats_the_last_value_and_its_intervals_hold(net, model):
    state, _ = stepped(model, net.readings[500:600])
    _, out = stepped(model, net.readings[600:], state)
    last = net.readings.copy()
    for t in range(1, len(last)):
        last[t] = np.where(np.isnan(last[t]), last[t - 1], last[t])
    lost, truth = net.lost[600:], net.truth[600:]
    error = np.abs(out["estimate"] - truth)[lost].mean()
    assert error < 0.6 * np.abs(last[600:] - truth)[lost].mean()
    noisy = truth + 0.1 * np.random.default_rng(0).normal(size=truth.shape)
    inside = (out["lower"] <= noisy) & (noisy <= out["upper"])
    assert 0.85 < inside[lost].mean() < 0.99
    false = net.support[600:]
    assert (out["score"][false] > model["value"].live.gate).mean() > 0.9
    good = net.observed[600:] & ~false
    assert (out["score"][good] > model["value"].live.gate).mean() < 0.003


def test_false_readings_do_not_widen_the_intervals(net, model):
    """4 % of the readings are spikes of many standard deviations; the calibration saw none."""
    clean = network(900, 16, seed=4, anomaly_rate=0.0)
    without = fm.FieldModel.fit(clean.readings[:600])["value"].live.calibration
    assert model["value"].live.calibration.factor.max() < 1.5 * without.factor.max()


def test_step_is_pure(net, model):
    state, _ = stepped(model, net.readings[500:520])
    y = net.readings[520].copy()
    first, now = model.step(state, y)
    model.step(first, net.readings[521])
    again, same = model.step(state, y)
    for name, value in vars(now).items():
        np.testing.assert_array_equal(value, getattr(same, name))
    np.testing.assert_array_equal(first.belief.own, again.belief.own)
    np.testing.assert_array_equal(y, net.readings[520])
    assert first.slot == state.slot + 1 == 600 + 21


def test_units_and_the_way_up_do_not_matter(net, model):
    other = fm.FieldModel.fit(-1.8 * net.readings[:600] + 32.0)
    _, a = stepped(model, net.readings[600:630])
    _, b = stepped(other, -1.8 * net.readings[600:630] + 32.0)
    np.testing.assert_allclose(b["estimate"], -1.8 * a["estimate"] + 32.0, rtol=1e-6)
    np.testing.assert_allclose(b["lower"], -1.8 * a["upper"] + 32.0, rtol=1e-6)
    np.testing.assert_allclose(b["expected"], -1.8 * a["expected"] + 32.0, rtol=1e-6)
    np.testing.assert_allclose(b["score"], a["score"], rtol=1e-4)


def test_replay_is_kept_in_the_file(net, model, tmp_path):
    model.save(tmp_path / "m")
    again = fm.FieldModel.load(tmp_path / "m")
    _, a = stepped(model, net.readings[600:620])
    _, b = stepped(again, net.readings[600:620])
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name])
    assert again["value"].live.gate == model["value"].live.gate


def test_intervals_of_long_silences_are_those_of_days_to_come():
    """The fit knew the days that it replays; what it did not fit is taken as it is."""
    X, slot = network(300, 8, seed=3, sampling=1.0).readings, 1_800_000_000
    part, O = fm.FieldModel.fit(X)["value"], np.isfinite(X)

    def factor(**given):
        return replay(part, X, O, **given).calibration.factor

    calibration = replay(part, X, O).calibration
    nodes, gap = part.field.nodes, np.exp(calibration.centres)[:, None]
    own = nodes.spread / (nodes.spread + nodes.noise)
    untold = np.median(own * (1 - nodes.phi ** (2 * gap)), axis=1)
    days = 300 * slot / 86_400_000_000
    wider = factor(slot=slot) / calibration.factor
    np.testing.assert_allclose(wider**2, 1 + 2 / (days - 1) * untold)
    assert wider[0] < wider[-1]
    hours = factor(slot=slot // 100) / calibration.factor
    np.testing.assert_allclose(hours**2, 1 + 2 * untold)  # as of two days
    np.testing.assert_array_equal(factor(first=300, slot=slot), factor(first=300))
    assert replay(part, X, O, slot=slot).gate == replay(part, X, O).gate


def test_intervals_hang_little_on_which_runs_were_hidden(monkeypatch):
    """In a few days long runs are few."""
    X = network(600, 10, seed=5, sampling=1.0).readings
    part, O = fm.FieldModel.fit(X)["value"], np.isfinite(X)

    def spread(draws):
        monkeypatch.setattr(online, "_DRAWS", draws)
        found = [replay(part, X, O, seed=seed).calibration for seed in range(8)]
        return np.std([np.log(one.at(np.array([60.0]))) for one in found])

    assert spread(4) < 0.7 * spread(1)


def test_without_a_replay_the_model_is_taken_at_its_word(net):
    model = fm.decompose(net.readings[:600], method="auto").model
    assert model["value"].live is None
    _, plain = stepped(model, net.readings[600:610])
    half = Live(Calibration(np.zeros(1), np.full(1, 1.6448536)), 6.0)
    part = replace(model["value"], live=half)
    _, same = stepped(replace(model, conditions={"value": part}), net.readings[600:610])
    np.testing.assert_allclose(plain["upper"], same["upper"])


def test_a_newer_replay_changes_intervals_only(net, model):
    newer = model.replayed(net.readings[600:])
    _, a = stepped(model, net.readings[600:610])
    _, b = stepped(newer, net.readings[600:610])
    np.testing.assert_array_equal(a["estimate"], b["estimate"])
    assert np.abs(a["upper"] - b["upper"]).max() > 0


def test_conditions_are_followed_side_by_side(net):
    X = net.readings
    grid = grid_of({"t": X[:300], "h": X[:300, ::-1] + 40.0})
    model = fm.FieldModel.fit(grid)
    state, now = model.step(model.start(), {"t": X[300]})
    assert set(now) == {"t", "h"}
    assert np.isnan(now["h"].score).all()
    alone = fm.FieldModel.fit(X[:300], period=[24, 168])
    _, want = alone.step(alone.start(), X[300])
    np.testing.assert_allclose(now["t"].estimate, want.estimate)
    with pytest.raises(fm.InputError, match="knows nothing of 'light'"):
        model.step(state, {"light": X[300]})
    later = grid_of({"t": X[300:], "h": X[300:]}, start="2024-01-13T12:00")
    assert model.replayed(later)["t"].live.gate != model["t"].live.gate


def test_a_course_goes_on_where_the_record_ended():
    rng = np.random.default_rng(3)
    X = 10 * np.sin(2 * np.pi * np.arange(24 * 20) / 24)[:, None] + 0.3 * rng.normal(size=(480, 8))
    for day in range(0, 18, 2):
        X[24 * day + 3 : 24 * day + 15] = np.nan
    model = fm.FieldModel.fit(X[: 24 * 18 + 5], period=24)
    assert "used" in model["value"].view.course.said
    silent = np.full((24, 8), np.nan)
    _, out = stepped(model, silent)
    want = 10 * np.sin(2 * np.pi * (5 + np.arange(24)) / 24)
    assert np.abs(out["estimate"] - want[:, None]).mean() < 2.0
    _, out = stepped(model, silent, model.start(slot=0))
    want = 10 * np.sin(2 * np.pi * np.arange(24) / 24)
    assert np.abs(out["estimate"] - want[:, None]).mean() < 2.0


def test_a_replay_begins_with_the_courses_first_slot_unless_it_is_told():
    rng = np.random.default_rng(3)
    X = 10 * np.sin(2 * np.pi * np.arange(480) / 24)[:, None] + 0.3 * rng.normal(size=(480, 8))
    for day in range(0, 20, 2):
        X[24 * day + 3 : 24 * day + 15] = np.nan
    model = fm.FieldModel.fit(X[:432], period=24)
    plain, first, later = (
        model.replayed(X[432:], **told)["value"].live.calibration.factor.tolist()
        for told in ({}, {"first": 0}, {"first": 5})
    )
    assert plain == first != later


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.zeros(3), "3 nodes, the model 16"),
        (np.zeros((2, 16)), "one number a node"),
        (np.full(16, np.inf), "infinite"),
    ],
)
def test_other_readings_are_refused(model, y, said):
    with pytest.raises(ValueError, match=said):
        model.step(model.start(), y)


def test_masked_readings_are_not_heard(net, model):
    y = net.readings[600]
    hide = np.arange(16) < 8
    _, a = model.step(model.start(), np.ma.MaskedArray(y, hide))
    _, b = model.step(model.start(), np.where(hide, np.nan, y))
    np.testing.assert_array_equal(a.estimate, b.estimate)
    assert np.isnan(a.score[:8]).all()
    assert a.estimate.dtype == np.float64
    _, c = model.step(model.start(), y.astype(np.float32))
    assert c.estimate.dtype == c.lower.dtype == np.float32


@pytest.mark.parametrize("loss", [0.5, 0.8])
def test_on_real_temperatures_it_halves_the_error_of_the_last_value(real, loss):
    """IntelLab, parameters from the two days before; six slots later a window is as good as all."""
    grid = fm.read(str(real("intellab_mar04_08.parquet"))).grid(slot="5min")
    X = grid.values["temperature"][: 3 * 288, [n != "18" for n in grid.nodes]]
    hidden = np.isfinite(X) & (np.random.default_rng(1).random(X.shape) < loss)
    model = fm.FieldModel.fit(X[:576])
    Y = np.where(hidden, np.nan, X)
    state, _ = stepped(model, Y[432:576])
    _, out = stepped(model, Y[576:], state)
    last = Y.copy()
    for t in range(1, len(last)):
        last[t] = np.where(np.isnan(last[t]), last[t - 1], last[t])
    lost, truth = hidden[576:], X[576:]
    error = np.abs(out["estimate"] - truth)[lost].mean()
    assert error < 0.5 * np.abs(last[576:] - truth)[lost].mean()
    inside = (out["lower"] <= truth) & (truth <= out["upper"])
    assert 0.85 < inside[lost].mean() < 0.99
    if loss > 0.5:
        return
    batch, later = model.apply(Y).estimate, []
    for end in range(600, 864, 12):
        later.append(model.apply(Y[end - 288 : end]).estimate[-7])
    rows = np.arange(600, 864, 12) - 7
    off = [np.abs(e - X[rows])[hidden[rows]].mean() for e in (np.array(later), batch[rows])]
    assert off[0] < 1.1 * off[1]


def test_a_model_of_roots_is_one_of_readings_everywhere(tmp_path):
    """Skewed quantities are modelled on a power: to apply, follow, save and check it."""
    power = Power(0.5, 1.0)
    Y, _ = simulated(field_of(8, 2), 120, lost=0.0)
    Y += 6.0 - Y.min()
    X = power.back(Y)
    roots = fm.FieldModel.fit(Y)
    part = next(iter(roots.conditions.values()))
    view = replace(part.view, power=power)
    model = replace(roots, conditions={"value": replace(part, view=view)})
    model.save(tmp_path / "model.npz")
    model = fm.FieldModel.load(tmp_path / "model.npz")
    seen = np.random.default_rng(6).random(X.shape) < 0.7
    mine, its = (m["value"].apply(Z, seen, own=False) for m, Z in ((model, X), (roots, Y)))
    np.testing.assert_allclose(mine.estimate, power.back(its.estimate), rtol=1e-9)
    np.testing.assert_allclose(mine.lower, power.back(its.lower), rtol=1e-9)
    states = [online.start(m["value"]) for m in (model, roots)]
    for t in range(5):
        (a, now), (b, then) = (
            online.step(m["value"], s, np.where(seen[t], Z[t], np.nan), seen[t])
            for m, s, Z in zip((model, roots), states, (X, Y), strict=True)
        )
        states = [a, b]
        np.testing.assert_allclose(now.upper, power.back(then.upper), rtol=1e-9)
    mine, its = (
        check_fit(m["value"], Z, seen, first=0, fresh=True, seed=0)
        for m, Z in ((model, X), (roots, Y))
    )
    assert mine.error == pytest.approx(its.error)
    assert mine.fresh == pytest.approx(its.fresh)
