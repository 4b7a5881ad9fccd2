"""``decompose``: what it promises about its inputs, its result, its limits and its options."""

import logging
import pickle
from itertools import pairwise

import numpy as np
import pytest

import fieldmend as fm
import naive
from fieldmend.core.loop import Iteration

LITERAL = {"center": False, "scale": False}
# Every method, with what it has to be told on the network below.
METHODS = {
    "ls": {},
    "ls debiased": {"debias": True},
    "ls delta": {"delta": 40.0},
    "apg": {"method": "apg"},
    "mc": {"method": "mc"},
    "srmf": {"method": "srmf"},
    "srmf factored": {"method": "srmf", "factored": True, "rank": 3, "lam": 0.1},
    "oracle": {"method": "oracle", "rank": 3},
}
CERTIFIED = ["ls", "ls debiased", "ls delta", "apg", "mc"]


@pytest.fixture(scope="module")
def net():
    return fm.simulate.network(80, 15, rank=3, sampling=0.8, seed=7)


@pytest.fixture(scope="module")
def solved(net):
    return {name: fm.decompose(net.readings, **options) for name, options in METHODS.items()}


# The result


@pytest.mark.parametrize("name", METHODS)
def test_the_result_is_whole(net, solved, name):
    out = solved[name]
    assert out.estimate.shape == out.low_rank.shape == out.sparse.shape == net.readings.shape
    assert np.isfinite(out.estimate).all()
    assert np.isfinite(out.sparse).all()
    np.testing.assert_array_equal(out.estimate, out.low_rank)
    assert not out.sparse[~net.observed].any()
    assert out.status is fm.Status.CONVERGED
    assert out.status == "converged"
    assert out.advice == fm.Status.CONVERGED.advice
    assert out.method == METHODS[name].get("method", "ls")
    assert isinstance(out.iterations, int)
    assert isinstance(out.rank, int)
    assert 1 <= out.rank <= 15


@pytest.mark.parametrize("name", METHODS)
def test_the_trace_tells_the_whole_solve(solved, name):
    out = solved[name]
    assert len(out.trace) == out.iterations >= 1
    assert [row.number for row in out.trace] == list(range(1, out.iterations + 1))
    assert all(isinstance(row, Iteration) for row in out.trace)
    assert all(np.isfinite(row.objective) for row in out.trace)
    seconds = [row.seconds for row in out.trace]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert out.objective == pytest.approx(out.trace[-1].objective)
    if name in CERTIFIED:
        assert out.gap == pytest.approx(out.trace[-1].gap)


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_certificate_is_that_of_the_scaled_problem(net, solved, name):
    """Centre and scale as the result says, and the paper's problem has this objective and gap."""
    out = solved[name]
    if name == "ls debiased":  # its gap stays that of the convex solve
        assert 0 <= out.gap <= 1e-6
        return
    R = np.where(net.observed, (net.readings - out.scaling.center) / out.scaling.scale, 0.0)
    L = (out.low_rank - out.scaling.center) / out.scaling.scale
    S = out.sparse / out.scaling.scale
    value = naive.objective(R, net.observed, (L, S), out.lam, out.mu)
    assert out.objective == pytest.approx(value, rel=1e-6)
    gap = naive.dual_gap(R, net.observed, L, out.lam, out.mu) / value
    assert gap <= 1.1e-6
    assert out.gap == pytest.approx(gap, abs=1e-8)


@pytest.mark.parametrize("name", ["srmf", "srmf factored", "oracle"])
def test_no_certificate_is_said_to_be_none(solved, name):
    assert np.isnan(solved[name].gap)


def test_repr_says_what_matters(solved):
    text = repr(solved["ls"])
    for part in ("ls", "80 slots", "15 nodes", f"rank {solved['ls'].rank}", "converged", "gap"):
        assert part in text


def test_the_result_can_be_copied_to_another_process(solved):
    out = solved["mc"]
    try:
        again = pickle.loads(pickle.dumps(out))
    except (AttributeError, pickle.PicklingError) as problem:  # pragma: no cover
        pytest.fail(f"not picklable: {problem}")
    np.testing.assert_array_equal(again.estimate, out.estimate)
    assert again.status is out.status


# Inputs


@pytest.mark.parametrize("name", METHODS)
def test_inputs_are_never_modified(net, name):
    X, O = net.readings.copy(), net.observed.copy()
    O[3:6] = False
    kept = X.copy(), O.copy()
    X.setflags(write=False)
    O.setflags(write=False)
    fm.decompose(X, O, **METHODS[name])
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(O, kept[1])


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_bytes(net, solved, name):
    again = fm.decompose(net.readings, **METHODS[name])
    assert again.estimate.tobytes() == solved[name].estimate.tobytes()
    assert again.sparse.tobytes() == solved[name].sparse.tobytes()
    assert again.objective == solved[name].objective
    assert [r.objective for r in again.trace] == [r.objective for r in solved[name].trace]


@pytest.mark.parametrize("name", [n for n in METHODS if n != "srmf factored"])  # not convex
def test_another_seed_gives_the_same_answer(net, solved, name):
    other = fm.decompose(net.readings, seed=123, **METHODS[name])
    spread = np.nanstd(net.readings)
    tolerance = 0.01 if name == "ls debiased" else 1e-3
    assert np.abs(other.estimate - solved[name].estimate).max() < tolerance * spread


def test_solving_leaves_numpy_s_random_state_alone(net):
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    fm.decompose(net.readings)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_kind_that_goes_in_comes_out(net, solved, name, kind):
    out = fm.decompose(net.readings.astype(kind), **METHODS[name])
    assert out.estimate.dtype == out.low_rank.dtype == out.sparse.dtype == kind
    spread = np.nanstd(net.readings)
    if name != "srmf factored":
        tolerance = 0.01 if name in ("ls debiased", "ls delta") else 1e-3
        assert np.abs(out.estimate - solved[name].estimate).max() < tolerance * spread


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint16, np.bool_])
def test_whole_numbers_are_readings_too(kind):
    rng = np.random.default_rng(0)
    X = (20 + 10 * rng.random((30, 1)) + rng.integers(0, 4, (30, 6))).astype(kind)
    if kind is np.bool_:
        X = rng.random((30, 6)) < 0.5
    out = fm.decompose(X, lam=0.3, mu=1.0)
    assert out.estimate.dtype == np.float64
    same = fm.decompose(X.astype(float), lam=0.3, mu=1.0)
    np.testing.assert_array_equal(out.estimate, same.estimate)


def test_lists_strides_and_orders_do_not_matter(net, solved):
    X = net.readings
    for other in (X.tolist(), np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        out = fm.decompose(other)
        np.testing.assert_allclose(out.estimate, solved["ls"].estimate, rtol=1e-6)


@pytest.mark.parametrize("order", ["<f8", ">f8", ">f4"])
def test_byte_order_does_not_matter(net, solved, order):
    """NetCDF and FITS files hold big-endian numbers."""
    out = fm.decompose(net.readings.astype(order))
    assert out.estimate.dtype == np.dtype(order).newbyteorder("=")
    np.testing.assert_allclose(out.estimate, solved["ls"].estimate, atol=0.01)


def test_a_masked_array_s_mask_is_not_lost(net):
    """Masked values are not readings: either they count as missing or the array is refused."""
    X = np.where(net.observed, net.readings, 0.0)
    masked = np.ma.masked_array(np.where(net.observed, X, 1e6), mask=~net.observed)
    try:
        out = fm.decompose(masked)
    except (TypeError, ValueError):
        return
    np.testing.assert_array_equal(out.estimate, fm.decompose(net.readings).estimate)


# What was observed


@pytest.mark.parametrize("name", METHODS)
def test_only_observed_entries_count(net, solved, name):
    """Any values, even infinite ones, may stand where the mask says nothing was observed."""
    rng = np.random.default_rng(0)
    for filler in (0.0, -1e30, np.inf, 50 * rng.normal(size=net.readings.shape)):
        X = np.where(net.observed, net.readings, filler)
        out = fm.decompose(X, net.observed, **METHODS[name])
        np.testing.assert_array_equal(out.estimate, solved[name].estimate)
        np.testing.assert_array_equal(out.sparse, solved[name].sparse)
        for weight in ("lam", "mu"):
            np.testing.assert_equal(getattr(out, weight), getattr(solved[name], weight))


def test_the_mask_and_nan_add_up(net):
    O = np.ones(net.readings.shape, bool)
    O[::7] = False
    both = fm.decompose(net.readings, O)
    np.testing.assert_array_equal(
        both.estimate, fm.decompose(np.where(O, net.readings, np.nan)).estimate
    )
    assert not both.sparse[~(O & net.observed)].any()


def test_default_weights(net, solved):
    slots, nodes = net.readings.shape
    edge = np.sqrt(net.observed.mean()) * (np.sqrt(slots) + np.sqrt(nodes))
    assert solved["ls"].lam == pytest.approx(2 / edge)
    assert solved["apg"].lam == pytest.approx(1 / np.sqrt(slots))  # the paper's
    assert solved["mc"].lam == np.inf
    noise = solved["ls"].mu / edge * np.median(solved["ls"].scaling.scale)
    assert 0.25 <= noise <= 1.0  # simulated with 0.5


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_the_default_mu_measures_the_noise(noise):
    net = fm.simulate.network(300, 40, rank=3, sampling=0.6, noise=noise, seed=1)
    out = fm.decompose(net.readings, scale=False)
    edge = np.sqrt(net.observed.mean()) * (np.sqrt(300) + np.sqrt(40))
    assert out.mu / edge == pytest.approx(noise, rel=0.25)


# The constrained form


@pytest.mark.parametrize("method", ["ls", "apg", "mc"])
@pytest.mark.parametrize("scaled", [False, True])
def test_delta_bounds_the_residual_and_is_used_up(net, method, scaled):
    options = {} if scaled else LITERAL
    for delta in (15.0, 100.0):
        out = fm.decompose(net.readings, method=method, delta=delta, **options)
        rest = np.where(net.observed, net.readings - out.low_rank - out.sparse, 0.0)
        assert np.linalg.norm(rest) <= delta * (1 + 1e-9)
        assert np.linalg.norm(rest) >= 0.98 * delta
        assert out.status is fm.Status.CONVERGED
        assert out.gap <= 1e-6


def test_delta_solves_the_paper_s_constrained_problem():
    """min ‖L‖_* + λ‖S‖₁ subject to ‖P_O(R − L − S)‖_F ≤ δ, by CVXPY."""
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(10, 1)) @ rng.normal(size=(1, 6)) + 0.1 * rng.normal(size=(10, 6))
    X[2, 3] += 5
    O = rng.random(X.shape) < 0.8
    lam, delta = 0.4, 0.7
    L, S = cp.Variable(X.shape), cp.Variable(X.shape)
    rest = cp.norm(cp.multiply(O.astype(float), X - L - S), "fro")
    cost = cp.normNuc(L) + lam * cp.sum(cp.abs(S))
    problem = cp.Problem(cp.Minimize(cost), [rest <= delta])
    problem.solve(solver=cp.CLARABEL)
    out = fm.decompose(X, O, lam=lam, delta=delta, tol=1e-8, **LITERAL)
    value = naive.nuclear_norm(out.low_rank) + lam * np.abs(out.sparse).sum()
    assert value == pytest.approx(problem.value, rel=1e-3)


def test_a_generous_delta_leaves_nothing_to_explain(net):
    out = fm.decompose(net.readings, delta=1e6, **LITERAL)
    assert not out.low_rank.any()
    assert not out.sparse.any()


# Limits


@pytest.mark.parametrize("method", ["ls", "apg", "mc"])
def test_an_iteration_limit_warns_and_the_gap_is_still_a_bound(net, method):
    X, weights = net.readings, {"lam": None if method == "mc" else 0.15, "mu": 5.0}
    best = fm.decompose(X, method=method, tol=1e-8, **weights)
    for limit in (1, 3, 8):
        with pytest.warns(fm.ConvergenceWarning, match=r"iteration limit.*warm_start"):
            out = fm.decompose(X, method=method, max_iter=limit, **weights)
        assert out.status is fm.Status.ITERATION_LIMIT
        assert "max_iter" in out.advice
        assert out.iterations == limit
        assert out.gap > 1e-6
        assert out.objective * (1 - out.gap) <= best.objective * (1 + 1e-9)
        assert out.objective >= best.objective * (1 - 1e-7)
        assert not out.sparse[~net.observed].any()


@pytest.mark.parametrize("method", ["ls", "apg", "mc", "srmf"])
def test_a_time_limit_warns(net, method):
    with pytest.warns(fm.ConvergenceWarning, match=r"time limit.*max_seconds"):
        out = fm.decompose(net.readings, method=method, max_seconds=1e-9)
    assert out.status is fm.Status.TIME_LIMIT
    assert "max_seconds" in out.advice
    assert out.iterations == 1
    assert np.isfinite(out.estimate).all()
    if method != "srmf":
        assert 1e-6 < out.gap <= 1


def test_the_warning_points_at_the_caller(net):
    with pytest.warns(fm.ConvergenceWarning) as caught:
        fm.decompose(net.readings, max_iter=1)
    assert caught[0].filename == __file__


def test_going_on_from_where_a_limit_stopped(net):
    with pytest.warns(fm.ConvergenceWarning):
        short = fm.decompose(net.readings, max_iter=12, tol=1e-9)
    rest = fm.decompose(net.readings, warm_start=short, lam=short.lam, mu=short.mu)
    whole = fm.decompose(net.readings, lam=short.lam, mu=short.mu)
    assert rest.objective == pytest.approx(whole.objective, rel=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_the_callback_sees_every_iteration(net, name):
    seen = []
    out = fm.decompose(net.readings, callback=seen.append, **METHODS[name])
    assert tuple(seen) == out.trace


def test_a_callback_may_stop_the_solve(net):
    class Enough(Exception):
        pass

    def stop(row):
        if row.number == 3:
            raise Enough

    with pytest.raises(Enough):
        fm.decompose(net.readings, mu=0.1, callback=stop)


def test_nothing_is_printed_or_logged_above_info(net, capfd, caplog):
    with caplog.at_level(logging.WARNING):
        fm.decompose(net.readings)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


# Warm start


def test_a_warm_start_changes_the_iterations_not_the_optimum(net):
    first = fm.decompose(net.readings, lam=0.15, mu=3.0)
    for mu in (3.0, 2.8):
        cold = fm.decompose(net.readings, lam=0.15, mu=mu)
        warm = fm.decompose(net.readings, lam=0.15, mu=mu, warm_start=first)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
        assert warm.iterations <= cold.iterations
    again = fm.decompose(net.readings, lam=0.15, mu=3.0, warm_start=first)
    assert again.iterations < first.iterations / 3


def test_a_warm_start_in_other_units(net):
    """The start is carried over from its own centre and scale."""
    first = fm.decompose(net.readings, lam=0.15, mu=3.0)
    X = 1.8 * net.readings + 32
    warm = fm.decompose(X, lam=0.15, mu=3.0, warm_start=first)
    cold = fm.decompose(X, lam=0.15, mu=3.0)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


def test_a_warm_start_of_another_shape_is_refused(net, solved):
    with pytest.raises(ValueError, match="shape"):
        fm.decompose(net.readings[:-1], warm_start=solved["ls"])


# Options


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "pca"}, ValueError, "unknown method 'pca': use one of ls, apg"),
        ({"rank": 3}, TypeError, "'ls' has no option 'rank'"),
        ({"method": "mc", "suport": 1}, TypeError, "'mc' has no option 'suport'"),
        ({"method": "srmf", "space": 1}, TypeError, "it takes factored, rank"),
        ({"method": "auto", "tol": 1e-3}, ValueError, "'auto' has no option 'tol'; it takes level"),
        ({"method": "auto", "center": False}, ValueError, "'auto' has no option 'center'"),
        ({"method": "auto", "scale": False}, ValueError, "'auto' has no option 'scale'"),
        ({"method": "auto", "max_seconds": 5}, ValueError, "'auto' has no option 'max_seconds'"),
        ({"method": "auto", "max_iter": 5}, ValueError, "'auto' has no option 'max_iter'"),
        ({"method": "auto", "lam": 1.0}, ValueError, "lam is for ls, apg, srmf"),
        ({"method": "auto", "perod": 24}, TypeError, "Did you mean 'period'"),
        ({"method": "ls", "level": 0.5}, TypeError, "level is for auto"),
        ({"method": "atuo"}, ValueError, "Did you mean 'auto'"),
        ({"method": "mc", "lam": 1.0}, ValueError, "'mc' has no option 'lam'"),
        ({"method": "oracle", "rank": 2, "mu": 1.0}, ValueError, "'oracle' has no option 'mu'"),
        ({"method": "oracle", "rank": 2, "center": False}, ValueError, "no option 'center'"),
        ({"method": "apg", "warm_start": "x"}, ValueError, "'apg' has no option 'warm_start'"),
        ({"method": "srmf", "rank": 2}, ValueError, "rank with factored=True"),
        ({"method": "srmf", "factored": True, "mu": 1.0}, ValueError, "mu without it"),
        ({"method": "mc", "debias": True}, ValueError, "debias"),
        ({"method": "srmf", "debias": True}, ValueError, "debias"),
        ({"method": "oracle", "debias": True, "rank": 2}, ValueError, "debias"),
        ({"mu": 1.0, "delta": 1.0}, ValueError, "not both"),
        ({"method": "srmf", "delta": 1.0}, ValueError, "delta"),
        ({"method": "oracle", "rank": 2, "delta": 1.0}, ValueError, "delta"),
        ({"method": "oracle"}, ValueError, "space"),
        ({"method": "oracle", "rank": 2, "support": [[True]]}, ValueError, "support"),
        ({"lam": 0.0}, ValueError, "lam must be"),
        ({"lam": -1.0}, ValueError, "lam must be"),
        ({"lam": np.nan}, ValueError, "lam must be"),
        ({"mu": 0.0}, ValueError, "mu must be"),
        ({"mu": 1e-300}, ValueError, "mu must be"),  # its square underflows: no certificate
        ({"mu": 1e300}, ValueError, "mu must be"),
        ({"delta": 0.0}, ValueError, "delta must be"),
        ({"tol": 0.0}, ValueError, "tol must be"),
        ({"tol": -1e-6}, ValueError, "tol must be"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"max_iter": -3}, ValueError, "max_iter"),
        ({"max_seconds": -1.0}, ValueError, "max_seconds"),
        ({"mu": np.inf}, ValueError, "mu must be"),
        ({"method": "oracle", "rank": 0}, ValueError, "rank"),
        ({"method": "oracle", "rank": -1}, ValueError, "rank"),
        ({"method": "oracle", "rank": 16}, ValueError, "rank"),
        ({"method": "srmf", "factored": True, "rank": 0}, ValueError, "rank"),
        ({"method": "oracle", "space": (np.ones((3, 1)), np.ones((15, 1)))}, ValueError, "space"),
        ({"method": "oracle", "space": (np.ones((80, 1)),)}, ValueError, "space"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_bad_options_are_named_before_any_work(net, options, error, message):
    def worked(_):
        raise AssertionError("it went to work")

    with pytest.raises(error, match=message):
        fm.decompose(net.readings, callback=worked, **options)


def test_defaults_may_be_written_out(net):
    """What a method has no use for is refused if it would change something elsewhere."""
    plain = {"tol": 1e-6, "center": True, "scale": True, "debias": False, "lam": None}
    out = fm.decompose(net.readings, method="auto", **plain)
    want = fm.decompose(net.readings, method="auto")
    np.testing.assert_array_equal(out.estimate, want.estimate)


def test_auto_tells_the_callback_how_far_it_is(net):
    rows = []
    out = fm.decompose(net.readings, method="auto", callback=rows.append)
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) >= 8  # two screens, the growth, the fit, four hold-outs, a window
    assert rows[-1].rank == out.rank
    assert all(a.seconds <= b.seconds for a, b in pairwise(rows))
    want = fm.decompose(net.readings, method="auto")
    np.testing.assert_array_equal(out.estimate, want.estimate)


def test_auto_leaves_lasting_faults_out_as_recover_does():
    net = fm.simulate.network(500, 16, field="temperature", sampling=0.8, anomaly_rate=0.0, seed=4)
    X = net.readings.copy()
    X[150:330, 5] += np.linspace(0, 12, 180)  # a drift
    X[300:, 9] = 55.0  # stuck
    out = fm.decompose(X, method="auto")
    naive = fm.decompose(X, method="auto", faults=False)
    # What has no times is taken for three days.
    grid = fm.Grid.of(X, start="2024-03-04", slot_seconds=3 * 86_400 / len(X))
    found = fm.recover(grid, holdout=False).conditions["value"]
    false = np.isfinite(X) & (X != net.readings)
    assert "lasting faults left out" in out.choice
    assert (out.sparse != 0)[false].mean() > 0.7
    # Both leave the same readings out, so they say the same of what is lost.
    lost = np.isnan(X)
    rms = [
        np.sqrt(((e - net.truth)[lost | false] ** 2).mean())
        for e in (out.estimate, found.estimate, naive.estimate)
    ]
    assert rms[0] < 0.5 * rms[2]
    assert abs(rms[0] / rms[1] - 1) < 0.15
    # What is false is told by how much.
    np.testing.assert_allclose(out.sparse[400, 9], X[400, 9] - out.estimate[400, 9])


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_one_or_two_nodes_have_nobody_to_tell_their_floods_from_faults(nodes):
    """A river's floods were flagged and filled over: 5 times as far off as a straight line."""
    rng = np.random.default_rng(0)
    stage = np.zeros((1000, nodes))
    for start in rng.integers(20, 950, 6):
        stage[start : start + 30, 0] += rng.exponential(30) * 0.85 ** np.arange(30)
    stage += 2 + 0.05 * rng.normal(size=stage.shape)
    Y = np.where(rng.random(stage.shape) < 0.3, np.nan, stage)
    out = fm.decompose(Y, method="auto")
    assert (np.count_nonzero(out.sparse) == 0) == (nodes < 3)
    if nodes < 3:
        lost = np.isnan(Y[:, 0])
        ours, line = (
            np.sqrt(np.mean((e[lost, 0] - stage[lost, 0]) ** 2))
            for e in (out.estimate, fm.metrics.interpolate(Y))
        )
        assert ours < 1.1 * line
