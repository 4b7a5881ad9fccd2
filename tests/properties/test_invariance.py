"""What must not matter does not: the order of nodes and slots, units, orientation, precision."""

import warnings

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import fieldmend as fm

# The same examples in every run, and no time spent on simpler ones: a recipe is simple enough.
few = settings(
    max_examples=12, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate]
)
LITERAL = {"center": False, "scale": False}
GIVEN = {"lam": 0.2, "mu": 2.0, "tol": 1e-8, "max_iter": 20_000}


def recipes(slots=(30, 70), nodes=(8, 20), sampling=(0.6, 1.0)):
    """What to simulate: low rank, noise, spikes, lost readings."""
    return st.fixed_dictionaries(
        {
            "slots": st.integers(*slots),
            "nodes": st.integers(*nodes),
            "rank": st.integers(1, 3),
            "sampling": st.floats(*sampling),
            "noise": st.floats(0.3, 3.0),
            "anomaly_rate": st.floats(0.0, 0.08),
            "seed": st.integers(0, 2**16),
        }
    )


simulate = fm.simulate.network


def spread(X):
    """Robust size of each node's variation, one node at a time."""
    sizes = []
    for x in X.T:
        x = x[~np.isnan(x)]
        sizes.append(1.4826 * np.median(np.abs(x - np.median(x))) if x.size else np.nan)
    usual = np.nanmedian(sizes)
    return np.array([size if size > 0 else usual for size in sizes])


def distance(a, b, scale):
    """Root mean square difference, in the nodes' own scales."""
    return float(np.sqrt((((a - b) / scale) ** 2).mean()))


def same(a, b, X, tolerance):
    """Two results are one: the same optimum, field and anomalies."""
    scale = spread(X)
    assert abs(a.objective / b.objective - 1) < 10 * tolerance
    assert distance(a.estimate, b.estimate, scale) < tolerance
    assert distance(a.sparse, b.sparse, scale) < tolerance


# Order


@few
@given(recipe=recipes(), seed=st.integers(0, 99))
def test_permuting_nodes_permutes_the_result(recipe, seed):
    net = simulate(**recipe)
    X, order = net.readings, np.random.default_rng(seed).permutation(net.readings.shape[1])
    a, b = fm.decompose(X, **GIVEN), fm.decompose(X[:, order], **GIVEN)
    scale = spread(X)
    assert abs(a.objective / b.objective - 1) < 1e-7
    assert distance(a.estimate[:, order], b.estimate, scale[order]) < 1e-3
    assert distance(a.sparse[:, order], b.sparse, scale[order]) < 1e-3


@few
@given(recipe=recipes(), seed=st.integers(0, 99))
def test_permuting_slots_permutes_the_result(recipe, seed):
    net = simulate(**recipe)
    X, order = net.readings, np.random.default_rng(seed).permutation(len(net.readings))
    a, b = fm.decompose(X, **GIVEN), fm.decompose(X[order], **GIVEN)
    scale = spread(X)
    assert abs(a.objective / b.objective - 1) < 1e-7
    assert distance(a.estimate[order], b.estimate, scale) < 1e-3
    assert distance(a.sparse[order], b.sparse, scale) < 1e-3


@few
@given(recipe=recipes(), seed=st.integers(0, 99), method=st.sampled_from(["ls", "apg", "mc"]))
def test_permuting_nodes_and_slots_with_the_defaults(recipe, seed, method):
    """The default μ is a measurement: it may move by a fraction of a per cent, not more."""
    net = simulate(**recipe)
    rng, X = np.random.default_rng(seed), net.readings
    slots, nodes = rng.permutation(len(X)), rng.permutation(X.shape[1])
    options = {"method": method, "max_iter": 20_000}
    a, b = fm.decompose(X, **options), fm.decompose(X[slots][:, nodes], **options)
    assert abs(a.mu / b.mu - 1) < 0.02
    assert distance(a.estimate[slots][:, nodes], b.estimate, spread(X)[nodes]) < 0.01


@few
@given(recipe=recipes((80, 150), (15, 25), (0.7, 1.0)), seed=st.integers(0, 99))
def test_permuting_nodes_with_the_refit(recipe, seed):
    net = simulate(**recipe)
    X, order = net.readings, np.random.default_rng(seed).permutation(net.readings.shape[1])
    a, b = (fm.decompose(x, debias=True, max_iter=20_000) for x in (X, X[:, order]))
    assert distance(a.estimate[:, order], b.estimate, spread(X)[order]) < 0.05


# Units


@few
@given(
    recipe=recipes(),
    gain=st.floats(1e-6, 1e6),
    sign=st.sampled_from([-1.0, 1.0]),
    offset=st.floats(-1e3, 1e3),
    options=st.sampled_from([{}, {"method": "mc"}, {"debias": True}, {"method": "apg"}]),
)
def test_the_unit_of_the_network_does_not_matter(recipe, gain, sign, offset, options):
    """Celsius or Fahrenheit: the same flags, and the field in the unit of the readings.

    (Upside down, the refit's random starts are others, and a small network's rank may be too.)
    """
    net = simulate(**recipe)
    sign = 1.0 if "debias" in options else sign
    a = fm.decompose(net.readings, **options, max_iter=20_000)
    X = sign * gain * (net.readings + offset)
    b = fm.decompose(X, **options, max_iter=20_000)
    scale = spread(X)
    assert distance(sign * gain * (a.estimate + offset), b.estimate, scale) < 1e-3
    assert ((a.sparse != 0) != (b.sparse != 0)).mean() < 0.002
    assert abs(a.mu / b.mu - 1) < 1e-3


@few
@given(recipe=recipes(), seed=st.integers(0, 99), debias=st.booleans())
def test_each_node_may_have_its_own_unit(recipe, seed, debias):
    net = simulate(**recipe)
    rng = np.random.default_rng(seed)
    nodes = net.readings.shape[1]
    gain = 10 ** rng.uniform(-3, 3, nodes)
    if not debias:  # a node upside down changes no singular value of the scaled readings
        gain *= rng.choice([-1, 1], nodes)
    offset = 100 * rng.normal(size=nodes)
    X = gain * (net.readings + offset)
    a = fm.decompose(net.readings, debias=debias, max_iter=20_000)
    b = fm.decompose(X, debias=debias, max_iter=20_000)
    tolerance = 1e-3 if debias else 0.01
    assert distance(gain * (a.estimate + offset), b.estimate, spread(X)) < tolerance
    assert abs(a.mu / b.mu - 1) < 0.02


@few
@given(recipe=recipes(), gain=st.floats(1e-3, 1e3))
def test_in_the_data_s_own_units_mu_has_a_unit_too(recipe, gain):
    net = simulate(**recipe)
    a = fm.decompose(net.readings, lam=0.2, mu=20.0, **LITERAL)
    b = fm.decompose(gain * net.readings, lam=0.2, mu=20.0 * gain, **LITERAL)
    assert abs(b.objective / gain**2 / a.objective - 1) < 2e-6
    assert distance(gain * a.estimate, b.estimate, gain * spread(net.readings)) < 1e-3


# Orientation


@few
@given(recipe=recipes(), method=st.sampled_from(["ls", "apg", "mc", "srmf"]))
def test_transposing_transposes_the_result(recipe, method):
    net = simulate(**recipe)
    X = net.readings
    options = {"method": method, "mu": 20.0, "max_iter": 20_000, **LITERAL}
    a, b = fm.decompose(X, **options), fm.decompose(X.T, **options)
    assert abs(a.objective / b.objective - 1) < 2e-6
    assert distance(a.estimate, b.estimate.T, spread(X)) < 1e-2


@few
@given(recipe=recipes())
def test_transposing_with_default_weights(recipe):
    net = simulate(**recipe)
    a, b = (fm.decompose(x, **LITERAL, max_iter=20_000) for x in (net.readings, net.readings.T))
    assert abs(a.mu / b.mu - 1) < 0.02
    assert distance(a.estimate, b.estimate.T, spread(net.readings)) < 1e-2


# Precision


@few
@given(
    recipe=recipes(),
    options=st.sampled_from([{}, {"lam": 0.2, "mu": 2.0}, {"method": "mc"}, {"method": "apg"}]),
)
def test_single_precision_agrees_with_double(recipe, options):
    net = simulate(**recipe)
    a = fm.decompose(net.readings, **options, max_iter=20_000)
    b = fm.decompose(net.readings.astype(np.float32), **options, max_iter=20_000)
    assert b.estimate.dtype == b.sparse.dtype == np.float32
    assert distance(a.estimate, b.estimate, spread(net.readings)) < 5e-3
    assert abs(a.mu / b.mu - 1) < 0.02
    if "mu" in options:
        assert abs(a.objective / b.objective - 1) < 1e-4


# Start


@few
@given(
    recipe=recipes(),
    other=st.sampled_from(["the same", "a larger mu", "no anomalies", "another seed"]),
    transposed=st.booleans(),
)
def test_a_warm_start_gives_the_same_optimum_sooner(recipe, other, transposed):
    net = simulate(**recipe)
    X = net.readings.T if transposed else net.readings
    weights = {"lam": 0.2, "mu": 2.0, "max_iter": 20_000}
    first = {
        "the same": {**weights},
        "a larger mu": {**weights, "mu": 2.2},
        "no anomalies": {"method": "mc", "mu": 2.0, "max_iter": 20_000},
        "another seed": {**weights, "seed": 5},
    }[other]
    start = fm.decompose(X, **first)
    cold, warm = fm.decompose(X, **weights), fm.decompose(X, **weights, warm_start=start)
    assert warm.status is fm.Status.CONVERGED
    same(cold, warm, X, 0.02)
    assert abs(cold.objective / warm.objective - 1) < 2e-6
    if other in ("the same", "another seed"):
        assert warm.iterations <= max(3, cold.iterations // 2)


# Objective and gap


@few
@given(recipe=recipes())
def test_more_weight_explains_less(recipe):
    """Along μ: the residual rises, ‖L‖_* + λ‖S‖₁ falls, F/μ falls; theory says so, strictly."""
    net = simulate(**recipe)
    residuals, prices, values = [], [], []
    for mu in (2.0, 4.0, 8.0, 40.0):
        out = fm.decompose(
            net.readings, lam=0.2, mu=mu, center=True, scale=False, tol=1e-8, max_iter=20_000
        )
        rest = np.where(net.observed, net.readings - out.low_rank - out.sparse, 0.0)
        residuals.append(np.linalg.norm(rest))
        nuclear = np.linalg.svd(out.low_rank - out.scaling.center, compute_uv=False).sum()
        prices.append(nuclear + 0.2 * np.abs(out.sparse).sum())
        values.append(out.objective / mu)
    assert (np.diff(residuals) >= -1e-3 * residuals[-1]).all()
    assert (np.diff(prices) <= 1e-3 * prices[0]).all()
    assert (np.diff(values) <= 1e-6 * values[0]).all()


@few
@given(recipe=recipes(), limit=st.integers(1, 40), method=st.sampled_from(["ls", "apg", "mc"]))
def test_whenever_it_is_stopped_the_gap_is_a_bound(recipe, limit, method):
    net = simulate(**recipe)
    weights = {"mu": 1.0} if method == "mc" else {"lam": 0.2, "mu": 1.0}
    best = fm.decompose(net.readings, method=method, **weights, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ConvergenceWarning)
        out = fm.decompose(net.readings, method=method, **weights, max_iter=limit)
    assert 0 <= out.gap <= 1
    assert out.objective * (1 - out.gap) <= best.objective * (1 + 1e-9)
    assert out.objective >= best.objective * (1 - best.gap) * (1 - 1e-9)
    assert (out.status is fm.Status.CONVERGED) == (out.gap <= 1e-6)
