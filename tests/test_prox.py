"""Every proximal map against a brute-force argmin over a grid that crosses all its branches."""

import itertools

import numpy as np
import pytest

import naive
from fieldmend.core import prox

STEP = 1e-3
GRID = np.arange(-4.0, 4.0 + STEP / 2, STEP)
# Inside, on and beyond both kinks for every threshold below, and zero.
POINTS = [-3.5, -2.0, -1.001, -1.0, -0.999, -0.5, -0.3, 0.0, 0.1, 0.5, 0.501, 1.0, 1.5, 2.0, 3.25]
THRESHOLDS = [0.0, 0.3, 0.5, 1.0, 2.0]


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("x", POINTS)
def test_soft_threshold_is_the_argmin(x, threshold):
    best, _ = naive.argmin_on_grid(lambda s: threshold * abs(s) + 0.5 * (s - x) ** 2, GRID)
    found = prox.soft_threshold(np.array([x]), threshold)[0]
    assert found == pytest.approx(best, abs=STEP)
    assert found == pytest.approx(naive.shrink(x, threshold), abs=1e-15)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("x", POINTS)
def test_huber_is_the_least_value(x, threshold):
    _, least = naive.argmin_on_grid(lambda s: threshold * abs(s) + 0.5 * (x - s) ** 2, GRID)
    found = prox.huber(np.array([x]), threshold)[0]
    assert found <= least + 1e-12
    assert found == pytest.approx(least, abs=STEP**2)


def test_huber_without_a_threshold_is_a_square():
    x = np.array([-3.0, 0.0, 1e3])
    np.testing.assert_array_equal(prox.huber(x, np.inf), 0.5 * x**2)
    np.testing.assert_array_equal(prox.soft_threshold(x, np.inf), [0.0, 0.0, 0.0])


@pytest.mark.parametrize("threshold", [0.3, 1.0])
def test_the_derivative_of_huber_is_the_clipped_residual(threshold):
    x, h = np.linspace(-2, 2, 41) + 0.013, 1e-6
    slope = (prox.huber(x + h, threshold) - prox.huber(x - h, threshold)) / (2 * h)
    np.testing.assert_allclose(slope, np.clip(x, -threshold, threshold), atol=1e-9)


def test_soft_threshold_keeps_zero_exactly_and_shape_and_kind():
    x = np.zeros((2, 3), np.float32)
    out = prox.soft_threshold(x, 0.5)
    assert out.dtype == np.float32
    assert out.shape == (2, 3)
    assert not out.any()


def svt(X, threshold):
    U, s, Vt = prox.singular_value_threshold(np.asarray(X, float), threshold)
    return (U * s) @ Vt


# 2 × 2 matrices with both, one and no singular value above the threshold, at it, and repeated.
MATRICES = {
    "both above": [[2.0, 0.5], [-0.25, 1.25]],
    "one above": [[1.5, 0.75], [0.75, 0.5]],
    "none above": [[0.25, 0.1], [-0.2, 0.3]],
    "one at the threshold": [[1.75, 0.0], [0.0, 0.5]],
    "repeated": [[1.0, 1.0], [1.0, -1.0]],
    "rank one": [[1.0, -1.0], [-1.0, 1.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("threshold", [0.5, 1.0])
def test_singular_value_threshold_is_the_argmin(name, threshold):
    """½‖L − X‖² + τ‖L‖_* is strongly convex: F(G) ≥ F(L*) + ½‖G − L*‖² for all G, iff L* is least.

    The grid: every 2 × 2 matrix with entries −2, −1.75, …, 2, and finer ones around the answer.
    """
    X = np.array(MATRICES[name])
    found = svt(X, threshold)
    coarse = np.array(list(itertools.product(np.arange(-2, 2.01, 0.25), repeat=4)))
    fine = found.ravel() + np.array(list(itertools.product(np.arange(-0.06, 0.07, 0.02), repeat=4)))
    for grid in (coarse, fine):
        G = grid.reshape(-1, 2, 2)

        def value(L):
            size = np.linalg.svd(L, compute_uv=False).sum(axis=-1)
            return threshold * size + 0.5 * ((L - X) ** 2).sum(axis=(-1, -2))

        bound = value(found) + 0.5 * ((G - found) ** 2).sum(axis=(-1, -2))
        assert (value(G) >= bound - 1e-12).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1), (6, 3), (3, 6)])
def test_singular_value_threshold_of_any_shape(shape):
    X = np.random.default_rng(5).normal(size=shape)
    for threshold in (0.0, 0.4, 1.0, 100.0):
        U, s, Vt = prox.singular_value_threshold(X, threshold)
        np.testing.assert_allclose(
            (U * s) @ Vt, naive.shrink_singular_values(X, threshold), atol=1e-13
        )
        assert (s > 0).all()
        np.testing.assert_allclose(U.T @ U, np.eye(len(s)), atol=1e-13)
        np.testing.assert_allclose(Vt @ Vt.T, np.eye(len(s)), atol=1e-13)
