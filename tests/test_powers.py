"""`decompose` of skewed readings: a root is modelled where hidden readings come out better."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.quantities.choosing import of_readings


def rivers(seed=0, slots=400, nodes=12):
    """Discharge: rain that gauges share more or less rises at once, recedes, and is multiplied."""
    rng = np.random.default_rng(seed)
    count = 3 + nodes
    rain = np.where(rng.random((slots, count)) < 0.05, rng.exponential(2.0, (slots, count)), 0.0)
    wet = np.zeros((slots, count))
    for t in range(1, slots):
        wet[t] = 0.7 * wet[t - 1] + rain[t]
    share = np.vstack([rng.dirichlet(np.ones(3), nodes).T * 0.6, 0.15 * np.eye(nodes)])
    return np.exp(wet @ share + 0.03 * rng.normal(size=(slots, nodes))) * rng.lognormal(size=nodes)


def hidden(X, seed=0, share=0.2):
    return np.random.default_rng([seed, 1]).random(X.shape) < share


@pytest.mark.parametrize("seed", [2, 3])
def test_a_flood_is_no_false_reading(seed):
    X = rivers(seed)
    lost = hidden(X, seed)
    Y = np.where(lost, np.nan, X)
    rooted, plain = (fm.decompose(Y, method="auto", power=p) for p in (None, 1))
    assert "roots" in rooted.choice
    assert np.count_nonzero(rooted.sparse) <= 0.1 * np.count_nonzero(plain.sparse)
    error = [np.sqrt(((out.estimate - X)[lost] ** 2).mean()) for out in (rooted, plain)]
    assert error[0] < 0.9 * error[1]
    inside = ((rooted.lower <= X) & (rooted.upper >= X))[lost].mean()
    assert 0.85 <= inside <= 0.97


def test_hidden_readings_and_the_model_speak_in_the_units_of_the_readings():
    X = rivers(2)
    lost = hidden(X, 2)
    Y = np.where(lost, np.nan, X)
    out = fm.decompose(Y, method="auto")
    rows, columns = out.holdout.rows, out.holdout.columns
    np.testing.assert_allclose(out.holdout.truth, X[rows, columns], rtol=1e-6)
    again = out.model.apply(Y)
    error = [np.abs(one.estimate - X)[lost].mean() for one in (again, out)]
    assert error[0] < 1.2 * error[1]


def test_what_is_not_skewed_is_solved_as_it_is_read():
    rng = np.random.default_rng(0)
    X = 20 + np.cumsum(rng.normal(size=(300, 1)), axis=0) + rng.normal(size=(300, 8))
    assert of_readings(X, 0.9, 0)[0].p == 1
    assert of_readings(-rivers(), 0.9, 0)[0].p == 1  # a tail below zero
    with_none, as_read = (fm.decompose(X, method="auto", power=p).estimate for p in (None, 1))
    np.testing.assert_array_equal(with_none, as_read)


def test_a_power_that_is_none_of_the_three_is_refused():
    with pytest.raises(ValueError, match=r"power must be 1, 1/2 or 1/3.*2"):
        fm.decompose(rivers(), method="auto", power=2)
