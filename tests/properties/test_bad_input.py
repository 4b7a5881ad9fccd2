"""Whatever comes in: a clear ValueError or a defined result, never NaN, never a LAPACK error."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fieldmend as fm
import naive

LITERAL = {"center": False, "scale": False}
OPTIONS = {
    "ls": {},
    "ls debiased": {"debias": True},
    "ls literal": LITERAL,
    "ls given": {"lam": 0.3, "mu": 0.5},
    "ls delta": {"delta": 1.0},
    "ls centred": {"scale": False},
    "apg": {"method": "apg"},
    "mc": {"method": "mc"},
    "mc literal": {"method": "mc", **LITERAL},
    "srmf": {"method": "srmf"},
    "srmf factored": {"method": "srmf", "factored": True, "rank": 1},
    "oracle": {"method": "oracle", "rank": 1},
}


def readings():
    rng = np.random.default_rng(0)
    return 3 * rng.normal(size=(30, 1)) + rng.normal(size=(30, 8))


def with_(index, value):
    X = readings()
    X[index] = value
    return X


def alone():
    """One reading in all."""
    X = np.full((30, 8), np.nan)
    X[3, 2] = 7.0
    return X


def diagonal():
    """One reading per node, no two in one slot."""
    X = np.full((30, 8), np.nan)
    X[np.arange(8), np.arange(8)] = readings()[np.arange(8), np.arange(8)]
    return X


signs = np.where(np.arange(30) % 2, -1.0, 1.0)
ODD = {
    "constant": lambda: np.full((30, 8), 5.0),
    "zero": lambda: np.zeros((30, 8)),
    "one reading": alone,
    "one reading per node": diagonal,
    "single row": lambda: readings()[:1],
    "single column": lambda: readings()[:, :1],
    "single entry": lambda: readings()[:1, :1],
    "two by two": lambda: readings()[:2, :2],
    "two rows": lambda: readings()[:2],
    "missing node": lambda: with_((slice(None), 3), np.nan),
    "missing slot": lambda: with_(3, np.nan),
    "constant node": lambda: with_((slice(None), 3), 2.0),
    "constant slot": lambda: with_(3, 2.0),
    "same nodes": lambda: readings()[:, [0] * 8],
    "same slots": lambda: readings()[[0] * 30],
    "coarse steps": lambda: np.round(readings() / 10),
    "on and off": lambda: (readings() > 1.0).astype(float),
    "mostly zero": lambda: np.where(readings() > 4, readings(), 0.0),
    "1e30": lambda: with_((2, 2), 1e30),
    "all 1e30": lambda: readings() * 1e30,
    "node 1e30": lambda: with_((slice(None), 3), 1e30 * np.arange(30)),
    "1e308": lambda: with_((2, 2), 1e308),
    "node 1e308": lambda: with_((slice(None), 3), 1e308),
    "node +-1e308": lambda: with_((slice(None), 3), 1e308 * signs),
    "all +-1e308": lambda: np.sign(readings()) * 1e308,
    "largest": lambda: with_((2, 2), np.finfo(float).max),
    "5e-324": lambda: with_((2, 2), 5e-324),
    "node 5e-324": lambda: with_((slice(None), 3), 5e-324 * signs),
    "all +-5e-324": lambda: np.sign(readings()) * 5e-324,
    "all 1e-300": lambda: readings() * 1e-300,
    "all 1e-170": lambda: readings() * 1e-170,
    "whole numbers": lambda: np.round(10 * readings()).astype(int),
    "bytes": lambda: np.round(10 * readings()).clip(-100, 100).astype(np.int8),
    "truth values": lambda: readings() > 0,
    "list": lambda: readings().tolist(),
    "single precision": lambda: readings().astype(np.float32),
    "single precision 1e30": lambda: with_((2, 2), 1e30).astype(np.float32),
    "single precision all 1e30": lambda: (readings() * 1e30).astype(np.float32),
    "single precision 1e-40": lambda: (readings() * 1e-40).astype(np.float32),
}


def solve(X, **options):
    """The result, or None for a ValueError that was meant; limits may be reached."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ConvergenceWarning)
        try:
            return fm.decompose(X, **options)
        except np.linalg.LinAlgError:  # a ValueError by inheritance only
            raise
        except ValueError as error:
            if len(str(error)) < 20:
                raise  # that is no sentence
            return None


def check(X, out):
    """Finite, of the right shape, S zero off O, L + S within what was read."""
    X = np.asarray(X)
    given = X.astype(np.float64)
    observed = ~np.isnan(given)
    for part in (out.estimate, out.low_rank, out.sparse):
        assert part.shape == X.shape
        assert part.dtype == (X.dtype if X.dtype.kind == "f" else np.float64)
        assert np.isfinite(part).all()
    assert not out.sparse[~observed].any()
    assert np.isfinite(out.objective)
    assert out.objective >= 0
    assert 0 <= out.rank
    if out.method in ("ls", "apg", "mc"):
        assert 0 <= out.gap <= 1
        assert (out.gap <= 1e-6) == (out.status is fm.Status.CONVERGED)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", ODD)
def test_odd_readings_give_a_defined_result(kind, options):
    X = ODD[kind]()
    out = solve(X, max_iter=40 if "delta" in options else 300, **OPTIONS[options])
    if out is None:  # only what cannot be squared, and only unscaled, may be refused
        assert any(size in kind for size in ("1e30", "1e308", "largest", "e-"))
        assert options not in ("ls", "ls debiased", "ls given", "apg", "mc", "srmf")
        return
    check(X, out)


@pytest.mark.parametrize("options", ["ls", "ls debiased", "mc"])
@pytest.mark.parametrize(
    "kind",
    [k for k in ODD if k not in ("two by two", "single column")],
)
def test_odd_readings_converge_with_the_defaults(kind, options):
    """No limit is reached (a warning is an error here) on anything a network may send."""
    out = fm.decompose(ODD[kind](), **OPTIONS[options])
    assert out.status is fm.Status.CONVERGED


# What the result is, where it is known


@pytest.mark.parametrize("options", ["ls", "ls debiased", "mc", "apg", "srmf", "oracle"])
@pytest.mark.parametrize("value", [0.0, 5.0, -1e30, 1e-300])
def test_a_constant_network_is_itself(options, value):
    out = fm.decompose(np.full((12, 5), value), **OPTIONS[options])
    np.testing.assert_allclose(out.estimate, value, rtol=1e-6)
    assert not out.sparse.any()


def test_a_node_without_readings_is_like_the_others():
    X = ODD["missing node"]()
    out = fm.decompose(X)
    low, high = np.nanmin(X), np.nanmax(X)
    assert (out.estimate[:, 3] >= low).all()
    assert (out.estimate[:, 3] <= high).all()


def test_a_slot_without_readings_is_every_node_s_middle():
    X = ODD["missing slot"]()
    out = fm.decompose(X)
    np.testing.assert_allclose(out.estimate[3], np.nanmedian(X, axis=0), atol=1e-9)


@pytest.mark.parametrize("value", [1e30, 1e308, np.finfo(float).max])
def test_one_absurd_reading_leaves_the_rest_as_it_was(value):
    rest = fm.decompose(with_((2, 2), np.nan))
    out = fm.decompose(with_((2, 2), value))
    assert np.sqrt(((out.estimate - rest.estimate) ** 2).mean()) < 0.1 * rest.estimate.std()
    assert out.sparse[2, 2] == pytest.approx(value)


def test_two_identical_nodes_get_identical_estimates():
    out = fm.decompose(ODD["same nodes"]())
    np.testing.assert_allclose(out.estimate, out.estimate[:, :1] @ np.ones((1, 8)), atol=1e-6)


def test_the_certificate_of_tiny_readings_is_no_accident():
    """In units in which squares underflow: refused, or a gap that is really that small."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 6)) + rng.normal(size=(12, 1))
    for unit in (1e-120, 1e-160, 1e-200):
        out = solve(X * unit, lam=0.5, mu=0.8 * unit, **LITERAL)
        if out is not None:
            O = np.ones(X.shape, bool)
            L, S = out.low_rank / unit, out.sparse / unit
            value = naive.objective(X, O, (L, S), 0.5, 0.8)
            assert naive.dual_gap(X, O, L, 0.5, 0.8) <= (out.gap + 1e-9) * value


# What is refused, with a sentence


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((5, 3), np.nan), "no entry"),
        (np.empty((0, 3)), "shape"),
        (np.empty((3, 0)), "shape"),
        (np.empty((0, 0)), "shape"),
        ([], r"shape|dtype"),
        ([[]], "shape"),
        (np.ones(4), "shape"),
        (np.ones((2, 3, 4)), "shape"),
        (1.0, "shape"),
        (None, r"object|dtype"),
        (np.array([[1.0, "a"]], dtype=object), "object"),
        (np.array([[1.0, 2.0]], dtype=object), "object"),
        ([["1.0", "2.0"]], "dtype"),
        (np.ones((2, 2), complex), "complex"),
        (np.zeros((2, 2), "datetime64[s]"), "datetime"),
        (with_((2, 5), np.inf), "slot 2, node 5"),
        (with_((2, 5), -np.inf), "infinite"),
    ],
    ids=lambda value: "" if isinstance(value, str) else None,
)
@pytest.mark.parametrize("options", ["ls", "mc", "oracle"])
def test_what_is_no_table_of_readings_is_refused(X, message, options):
    with pytest.raises(ValueError, match=message):
        fm.decompose(X, **OPTIONS[options])


def test_a_ragged_list_is_refused():
    with pytest.raises(ValueError, match=r"inhomogeneous|shape"):
        fm.decompose([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    "observed",
    [
        np.ones((3, 3), bool),
        np.ones((30, 8), int),
        np.ones((30, 8)),
        np.ones(30, bool),
        True,
        "all",
    ],
    ids=str,
)
def test_what_is_no_mask_is_refused(observed):
    with pytest.raises(ValueError, match="observed must be a boolean mask"):
        fm.decompose(readings(), observed)


def test_nothing_left_by_the_mask_is_refused():
    with pytest.raises(ValueError, match="no entry"):
        fm.decompose(readings(), np.zeros((30, 8), bool))


def test_an_infinite_reading_that_the_mask_hides_is_no_reading():
    X = with_((2, 5), np.inf)
    fm.decompose(X, np.isfinite(X))


def test_every_reading_an_anomaly_for_the_oracle():
    """Told that all readings are false it has nothing to go by; it says so or returns numbers."""
    X = readings()
    for known in ({"rank": 1}, {"space": (np.ones((30, 1)), np.ones((8, 1)))}):
        out = solve(X, method="oracle", support=np.ones(X.shape, bool), **known)
        if out is not None:
            check(X, out)


# Anything at all


anything = arrays(
    st.sampled_from([np.float64, np.float32]),
    st.tuples(st.integers(0, 6), st.integers(0, 6)),
    elements=st.one_of(
        st.floats(width=32),
        st.floats(-100, 100, width=32),
        st.sampled_from([0.0, 1.0, np.nan, 2.0**120, -(2.0**100), 2.0**-140]),
    ),
)
huge = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    elements=st.floats(allow_infinity=False),
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(X=st.one_of(anything, huge), options=st.sampled_from(sorted(OPTIONS)))
@example(X=np.full((2, 3), 5e-324), options="ls debiased")
@example(X=np.array([[1e308, -1e308], [np.nan, 1.0]]), options="ls delta")
@example(X=np.array([[0.0, 0.0], [0.0, 1e-160]]), options="ls literal")
@example(X=np.array([[np.nan, 0.0]]), options="oracle")
@example(X=np.array([[2e9, 1.5e-299], [2e9, 0.0]]), options="apg")
def test_anything_at_all(X, options):
    kept = X.copy()
    out = solve(X, max_iter=60, **OPTIONS[options])
    np.testing.assert_array_equal(X, kept)
    if out is not None:
        check(X, out)
