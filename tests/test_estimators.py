"""The scikit-learn estimator: its contract, and what `transform` promises about new slots."""

import os
import pickle
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fieldmend as fm
from fieldmend import FieldRecovery, LSDecomposition
from fieldmend.core.prox import huber
from fieldmend.estimators.slots import HuberFit, RejectingFit

TRAIN, NEW = slice(0, 300), slice(300, None)
nan = np.nan


@pytest.fixture(scope="module")
def net():
    return fm.simulate.network(500, 24, rank=3, sampling=0.6, seed=5)


@pytest.fixture(scope="module", params=[False, True], ids=["convex", "debiased"])
def model(request, net):
    return LSDecomposition(debias=request.param).fit(net.readings[TRAIN])


def error(field, net, slots):
    """Mean absolute error where readings were lost."""
    return np.abs(field - net.truth[slots])[net.lost[slots]].mean()


def rms(difference):
    return np.sqrt(np.mean(np.square(difference, dtype=np.float64)))


# The contract

ESTIMATORS = [LSDecomposition(), LSDecomposition(debias=True), FieldRecovery()]

# scikit-learn skips this one unless SCIPY_ARRAY_API was set before SciPy was imported.
ARRAYS = "check_array_api_input"
FRESH = f"""
from fieldmend import FieldRecovery, LSDecomposition
from sklearn.utils.estimator_checks import estimator_checks_generator
for one in {ESTIMATORS!r}:
    checks = [c for c in estimator_checks_generator(one) if c[1].func.__name__ == "{ARRAYS}"]
    assert len(checks) == 1, checks
    for estimator, check in checks:
        check(estimator)
    print(one)
"""


@cache
def those_that_pass():
    """All three in one process of its own."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout.splitlines(), ran.stderr


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    if check.func.__name__ != ARRAYS:
        check(estimator)
        return
    passed, said = those_that_pass()
    assert repr(estimator) in passed, said


def test_attributes_are_those_of_the_decomposition(net, model):
    X = net.readings[TRAIN]
    out = fm.decompose(X, debias=model.debias)
    np.testing.assert_array_equal(model.anomalies_, out.sparse)
    assert (model.rank_, model.gap_, model.n_iter_) == (out.rank, out.gap, out.iterations)
    assert (model.status_, model.lam_, model.mu_) == (out.status, out.lam, out.mu)
    assert model.components_.shape == (model.rank_, 24)
    np.testing.assert_allclose(
        model.components_ @ model.components_.T, np.eye(model.rank_), atol=1e-12
    )
    # The field lies in the space learnt.
    field = (out.estimate - model.center_) / model.scale_
    projected = field @ model.components_.T @ model.components_
    np.testing.assert_allclose(projected, field, atol=1e-8)
    centred = field - model.debias * field.mean(axis=0)
    np.testing.assert_allclose(
        np.linalg.svd(centred, compute_uv=False)[: model.rank_], model.singular_values_, rtol=1e-8
    )


def test_parameters_reach_the_solver(net):
    X = net.readings[TRAIN]
    given = LSDecomposition(lam=0.2, mu=3.0, center=False, scale=False, random_state=3).fit(X)
    out = fm.decompose(X, lam=0.2, mu=3.0, center=False, scale=False, seed=3)
    np.testing.assert_array_equal(given.decomposition_.estimate, out.estimate)
    assert not given.center_.any()
    assert (given.scale_ == 1).all()
    with pytest.warns(fm.ConvergenceWarning):
        assert LSDecomposition(max_iter=2).fit(X).n_iter_ == 2
    with pytest.raises(ValueError, match="tol"):
        LSDecomposition(tol=-1.0).fit(X)


@pytest.mark.parametrize("state", [None, np.random.RandomState(4)])
def test_any_kind_of_random_state(net, state):
    fitted = LSDecomposition(random_state=state).fit(net.readings[:100])
    assert fitted.score(net.readings[100:200]) > 0


# What transform computes


def test_transform_minimises_what_it_says(net):
    """Against a general-purpose minimiser of the documented objective, slot by slot."""
    X = net.readings[TRAIN]
    model = LSDecomposition(lam=0.05, mu=4.0).fit(X)  # d = 0.2: hundreds of readings beyond it
    V, d = model.components_.T, model.lam_ * model.mu_
    slots = net.readings[300:312].copy()
    slots[0, 1:] = nan  # one reading, which alone has to hold every coefficient
    slots[0, 0] = 150.0
    slots[1, 3] = 1e6
    field = model.transform(slots)
    for t, x in enumerate(slots):
        O = ~np.isnan(x)
        y = np.clip((x[O] - model.center_[O]) / model.scale_[O], -1e4, 1e4)

        def objective(b, y=y, V=V[O]):
            ridge = 0.5 * model.mu_ * (b**2 / model.singular_values_).sum()
            slope = -V.T @ np.clip(y - V @ b, -d, d) + model.mu_ * b / model.singular_values_
            return huber(y - V @ b, d).sum() + ridge, slope

        best = scipy.optimize.minimize(
            objective, np.zeros(model.rank_), jac=True, options={"gtol": 1e-10}
        ).x
        expected = model.center_ + model.scale_ * (V @ best)
        np.testing.assert_allclose(field[t], expected, rtol=1e-5, atol=1e-5)


def test_a_coefficient_that_only_a_false_reading_holds():
    """Reweighting alone creeps here: 0.98 of the error is left after each step."""
    d, ridge = 1.0, 0.01  # b = d/ridge = 100: the reading stays 2d off
    fit = HuberFit(np.ones((1, 1)), np.array([ridge]), d)
    b = fit.coefficients(np.array([[102.0]]), np.array([[True]]))
    np.testing.assert_allclose(b, d / ridge, rtol=1e-12)


def test_a_debiased_slot_with_one_reading_stays_near_the_mean():
    """One node of two, b ~ N(0, σ²/T): b = y v/(v² + noise²T/σ²)."""
    V, noise, prior = np.array([[0.8], [0.6]]), np.array([0.5, 0.5]), 2.0
    fit = RejectingFit(V, np.array([1 / prior]), noise)
    b = fit.coefficients(np.array([[0.4, 0.0]]), np.array([[True, False]]))
    np.testing.assert_allclose(b, 0.4 * 0.8 / (0.8**2 + 0.5**2 / prior), rtol=1e-3)
    model = LSDecomposition(debias=True).fit(fm.simulate.network(200, 10, seed=2).readings)
    np.testing.assert_allclose(model._slot_fit.ridge, 200 / model.singular_values_**2)


def test_training_slots_get_back_the_estimate_of_the_decomposition(net):
    X = net.readings[TRAIN]
    model = LSDecomposition(tol=1e-10).fit(X)
    np.testing.assert_allclose(model.transform(X), model.decomposition_.estimate, atol=1e-2)
    np.testing.assert_array_equal(clone(model).fit_transform(X), model.transform(X))


def test_new_slots_are_recovered_about_as_well_as_training_slots(net, model):
    trained = error(model.decomposition_.estimate, net, TRAIN)
    field = model.transform(net.readings[NEW])
    assert np.isfinite(field).all()
    assert error(field, net, NEW) < 1.25 * trained
    medians = np.broadcast_to(np.nanmedian(net.readings[TRAIN], axis=0), field.shape)
    assert error(field, net, NEW) < 0.15 * error(medians, net, NEW)


@pytest.mark.parametrize("size", [1e3, 1e9])
def test_a_false_reading_hardly_moves_its_slot(net, model, size):
    clean = net.truth[NEW].copy()
    false = clean.copy()
    slots = np.arange(len(clean))
    false[slots, slots % 24] += size
    field, moved = model.transform(clean), model.transform(false)
    spread = clean.std()
    assert np.abs(moved - field).max() < 0.3 * spread
    assert np.abs(moved - clean).mean() < 0.05 * spread


def test_missing_readings(net, model):
    X = net.readings[NEW].copy()
    X[7] = nan
    field = model.transform(X)
    np.testing.assert_allclose(field[7], model.center_, rtol=1e-12)
    only = np.flatnonzero(~np.isnan(X[8]))[0]
    X[8, np.arange(24) != only] = nan
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.transform(np.full((3, 24), nan))).all()


def test_no_slot_sees_another(net, model):
    X = net.readings[NEW]
    field = model.transform(X)
    one_by_one = np.vstack([model.transform(X[t : t + 1]) for t in range(len(X))])
    np.testing.assert_allclose(one_by_one, field, rtol=1e-9, atol=1e-7)
    # More entries than a block holds.
    np.testing.assert_allclose(
        model.transform(np.tile(X, (60, 1)))[-len(X) :], field, rtol=1e-9, atol=1e-7
    )


def test_units_do_not_matter(net, model):
    celsius, fahrenheit = net.readings, 1.8 * net.readings + 32
    other = clone(model).fit(fahrenheit[TRAIN])
    expected = 1.8 * model.transform(celsius[NEW]) + 32
    assert rms(other.transform(fahrenheit[NEW]) - expected) < 0.01
    np.testing.assert_allclose(other.noise_, 1.8 * model.noise_, rtol=1e-2)
    assert other.score(fahrenheit[NEW]) == pytest.approx(model.score(celsius[NEW]), abs=1e-3)


@pytest.mark.parametrize("nodes", [12, 24])  # with 12, the fit uses up a third of the readings
def test_noise_is_that_of_the_simulation(nodes):
    net = fm.simulate.network(1000, nodes, rank=3, sampling=0.6, seed=5)
    noise = LSDecomposition(debias=True).fit(net.readings).noise_
    assert noise.shape == (nodes,)
    np.testing.assert_allclose(np.median(noise), 0.5, rtol=0.1)
    np.testing.assert_allclose(noise, 0.5, rtol=0.35)


def test_a_node_that_never_reported(net, model):
    X = net.readings[TRAIN].copy()
    X[:, 4] = nan
    fitted = clone(model).fit(X)
    assert fitted.noise_[4] > 0
    assert np.isfinite(fitted.transform(net.readings[NEW])).all()


@pytest.mark.parametrize("debias", [False, True])
def test_a_constant_field(debias):
    X = np.full((40, 6), 7.0)
    fitted = LSDecomposition(debias=debias).fit(X)
    X[0, 2] = nan
    np.testing.assert_allclose(fitted.transform(X), 7.0, rtol=1e-9)
    assert fitted.score(X) == 1.0


# Score


def test_score_is_the_error_on_hidden_readings(net, model):
    X = net.readings[NEW]
    score = model.score(X)
    assert model.score(X) == score
    assert 0.5 < score < 1
    assert clone(model).set_params(random_state=1).fit(net.readings[TRAIN]).score(X) != score
    # The model of another network knows nothing about this one.
    stranger = clone(model).fit(np.random.default_rng(0).permuted(net.readings[TRAIN], axis=0))
    assert stranger.score(X) < 0.2


def test_score_forgives_false_readings(net, model):
    X = net.readings[NEW].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.02] += 1e6
    assert model.score(X) > 0.5


def test_score_does_not_see_what_it_hides(net, monkeypatch):
    """Were hidden readings visible, a model that returns what it sees would score 1."""
    model = LSDecomposition().fit(net.readings[TRAIN])

    def echo(X, O):
        return np.where(O, X, model.center_)

    monkeypatch.setattr(model, "_field", echo)
    assert model.score(net.readings[NEW]) == pytest.approx(0, abs=0.1)


def test_nothing_to_score(model):
    with pytest.raises(ValueError, match="nothing to score"):
        model.score(np.full((3, 24), nan))


# Inside scikit-learn


def test_frames_and_names(net):
    names = [f"mast {n}" for n in range(24)]
    days = pd.date_range("2026-01-01", periods=500, freq="5min")
    frame = pd.DataFrame(net.readings, index=days, columns=names)
    model = LSDecomposition().set_output(transform="pandas").fit(frame[TRAIN])
    field = model.transform(frame[NEW])
    assert list(model.feature_names_in_) == names == list(model.get_feature_names_out())
    assert list(field.columns) == names
    pd.testing.assert_index_equal(field.index, days[NEW])
    bare = LSDecomposition().fit(net.readings[TRAIN]).transform(net.readings[NEW])
    np.testing.assert_array_equal(field.to_numpy(), bare)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[NEW][names[::-1]])


def test_pipeline(net):
    X = net.readings
    pipeline = make_pipeline(LSDecomposition(debias=True), StandardScaler()).fit(X[TRAIN])
    out = pipeline.transform(X[NEW])
    assert out.shape == (200, 24)
    back = pipeline[-1].inverse_transform(out)
    np.testing.assert_allclose(back, pipeline[0].transform(X[NEW]), rtol=1e-9)
    assert list(pipeline.get_feature_names_out()) == [f"x{n}" for n in range(24)]


def test_grid_search_finds_the_better_model(net):
    grid = {"debias": [False, True], "mu": [None, 100.0]}
    search = GridSearchCV(LSDecomposition(), grid, cv=3, error_score="raise").fit(net.readings)
    assert search.best_params_ == {"debias": True, "mu": None}
    inside = GridSearchCV(
        make_pipeline(LSDecomposition()), {"lsdecomposition__lam": [0.05, 0.2]}, cv=3
    ).fit(net.readings)
    assert np.isfinite(inside.cv_results_["mean_test_score"]).all()
    assert (cross_val_score(LSDecomposition(), net.readings, cv=3) > 0.5).all()


def test_pickle(net, model):
    copy = pickle.loads(pickle.dumps(model))
    X = net.readings[NEW]
    np.testing.assert_array_equal(copy.transform(X), model.transform(X))


def test_single_precision(net, model):
    X = net.readings.astype(np.float32)
    single = clone(model).fit(X[TRAIN])
    field = single.transform(X[NEW])
    assert field.dtype == np.float32
    assert single.anomalies_.dtype == np.float32
    assert single.fit_transform(X[TRAIN]).dtype == np.float32
    # Each solve stops anywhere within tol of the optimum; the error of the field is above 0.1.
    assert rms(field - model.transform(net.readings[NEW])) < 0.02
    # And back: nothing of the first fit stays.
    again = single.fit(net.readings[TRAIN])
    np.testing.assert_array_equal(
        again.transform(net.readings[NEW]), model.transform(net.readings[NEW])
    )


def test_readings_that_cannot_be(net, model):
    with pytest.raises(ValueError, match="23 features, but LSDecomposition is expecting 24"):
        model.transform(net.readings[NEW, :-1])
    X = net.readings[NEW].copy()
    X[0, 0] = np.inf
    for method in (clone(model).fit, model.transform, model.score):
        with pytest.raises(ValueError, match="infinity"):
            method(X)
    with pytest.raises(ValueError, match="observed"):
        clone(model).fit(np.full((5, 3), nan))


# The automatic recovery


@pytest.fixture(scope="module")
def automatic(net):
    return FieldRecovery().fit(net.readings[TRAIN])


def test_training_slots_are_those_of_auto(net, automatic):
    out = fm.decompose(net.readings[TRAIN], method="auto")
    np.testing.assert_array_equal(automatic.estimate_, out.estimate)
    np.testing.assert_array_equal(automatic.lower_, out.lower)
    assert automatic.choice_ == out.choice


def test_new_slots_are_recovered_from_their_readings(net, automatic):
    field = automatic.transform(net.readings[NEW])
    medians = np.broadcast_to(automatic.center_, field.shape)
    assert error(field, net, NEW) < 0.2 * error(medians, net, NEW)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_of_new_slots_hold_what_they_promise(net, level, ordered):
    model = FieldRecovery(level=level, ordered=ordered).fit(net.readings[TRAIN])
    # An interval is for the reading that would have been made: noise included.
    clean = net.observed[NEW] & ~net.support[NEW]
    rng = np.random.default_rng(0)
    hidden = clean & (rng.random(clean.shape) < 0.1)
    X = np.where(hidden, nan, net.readings[NEW])
    lower, upper = model.predict_interval(X)
    inside = (lower <= net.readings[NEW]) & (net.readings[NEW] <= upper)
    assert abs(inside[hidden].mean() - level) < 0.08


@pytest.fixture(scope="module")
def smooth():
    return fm.simulate.network(400, 12, field="temperature", noise=0.1, seed=5)


def test_consecutive_slots_are_recovered_with_their_past_and_future(smooth):
    train, new = smooth.readings[TRAIN], smooth.readings[NEW]
    ordered = FieldRecovery().fit(train)
    alone = FieldRecovery(ordered=False).fit(train)
    np.testing.assert_array_equal(alone.estimate_, ordered.estimate_)
    assert (ordered.ordered_, alone.ordered_) == (True, False)
    field = ordered.transform(new)
    np.testing.assert_array_equal(field, ordered.model_.apply(new).estimate)
    assert error(field, smooth, NEW) < 0.6 * error(alone.transform(new), smooth, NEW)
    assert ordered.score(new) > alone.score(new)
    lower, upper = ordered.predict_interval(new)
    np.testing.assert_array_equal(lower, ordered.model_.apply(new).lower)
    assert (lower < upper).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_training_slots_are_not_recovered_twice(smooth, kind):
    X = smooth.readings[TRAIN].astype(kind)
    model = FieldRecovery()
    out = model.fit_transform(X)
    np.testing.assert_array_equal(out, model.estimate_)
    np.testing.assert_array_equal(model.transform(X.copy()), model.estimate_)
    np.testing.assert_array_equal(model.predict_interval(X)[1], model.upper_)
    out[:] = 0
    assert model.estimate_.any()
    assert (model.transform(X[1:]) != model.estimate_[1:]).any()


def test_where_the_order_is_not_used_no_slot_sees_another(smooth):
    X = smooth.readings
    for model in (FieldRecovery(ordered=False).fit(X[TRAIN]), FieldRecovery().fit(X[:30, :4])):
        assert not model.ordered_
        new = X[NEW, : model.n_features_in_]
        turned = model.transform(new[::-1])[::-1]
        np.testing.assert_allclose(turned, model.transform(new), rtol=1e-9)


@pytest.mark.parametrize("kind", [FieldRecovery, LSDecomposition])
def test_masked_readings_are_not_observed(smooth, kind):
    X = smooth.readings[TRAIN]
    hide = np.random.default_rng(0).random(X.shape) < 0.2
    want = kind().fit(np.where(hide, nan, X))
    wrong = np.ma.MaskedArray(np.where(hide, 1000.0, X), hide)
    got = kind().fit(wrong)
    np.testing.assert_array_equal(got.components_, want.components_)
    np.testing.assert_array_equal(got.transform(wrong), want.transform(np.where(hide, nan, X)))
    assert got.score(wrong) == want.score(np.where(hide, nan, X))
    whole = np.ma.MaskedArray(np.arange(12).reshape(6, 2), np.eye(6, 2, dtype=bool))
    assert np.isfinite(kind().fit(whole).transform(whole)).all()
