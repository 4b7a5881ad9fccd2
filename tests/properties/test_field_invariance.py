"""What must not change the automatic recovery: units, the order of nodes, one bad node."""

from __future__ import annotations

import numpy as np
import pytest

import fieldmend as fm


@pytest.fixture(scope="module")
def case():
    net = fm.simulate.network(300, 24, field="temperature", sampling=0.75, seed=1)
    return net, fm.decompose(net.readings, method="auto")


def test_the_same_twice(case):
    net, out = case
    again = fm.decompose(net.readings, method="auto")
    for name in ("estimate", "lower", "upper", "sparse"):
        np.testing.assert_array_equal(getattr(again, name), getattr(out, name))


def test_order_of_nodes(case):
    net, out = case
    order = np.random.default_rng(0).permutation(24)
    other = fm.decompose(net.readings[:, order], method="auto")
    np.testing.assert_allclose(other.estimate, out.estimate[:, order], rtol=1e-9)
    np.testing.assert_array_equal(other.sparse != 0, (out.sparse != 0)[:, order])
    held = net.readings[:, order][other.holdout.rows, other.holdout.columns]
    np.testing.assert_allclose(other.holdout.truth, held, rtol=1e-9)


def test_units_of_each_node(case):
    net, out = case
    factor, offset = np.linspace(0.1, 1.8, 24), np.linspace(-50, 300, 24)
    other = fm.decompose(net.readings * factor + offset, method="auto")
    np.testing.assert_allclose(
        (other.estimate - offset) / factor, out.estimate, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_array_equal(other.sparse != 0, out.sparse != 0)


def test_single_precision(case):
    net, out = case
    other = fm.decompose(net.readings.astype(np.float32), method="auto")
    for part in (other.estimate, other.low_rank, other.sparse, other.lower, other.upper):
        assert part.dtype == np.float32
    np.testing.assert_allclose(other.estimate, out.estimate, rtol=1e-3)


@pytest.mark.parametrize("size", [50.0, 1e30])
def test_one_bad_node_leaves_the_others_alone(case, size):
    net, out = case
    X = net.readings.copy()
    seen = net.observed[:, 5]
    X[seen, 5] = size * np.random.default_rng(1).normal(size=seen.sum())
    other = fm.decompose(X, method="auto")
    rest = np.arange(24) != 5
    moved = np.sqrt(((other.estimate - out.estimate)[:, rest] ** 2).mean())
    assert moved < 0.05 * net.truth.std()


def test_input_is_not_changed(case):
    net, _ = case
    before = net.readings.copy()
    fm.decompose(net.readings, method="auto")
    np.testing.assert_array_equal(before, net.readings)
