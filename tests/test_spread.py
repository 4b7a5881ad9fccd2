"""A matrix that lies in parts answers as NumPy does; who holds the parts is this process here."""

from itertools import pairwise

import numpy as np
import pytest

from fieldmend.core import engine, spread
from fieldmend.core.spread import RENEWED, Spread

EDGES = (0, 4, 5, 11)


class Here:
    """Tasks are done at once; which part each was sent to is written down."""

    def __init__(self, together=((0, 2), (1,))):
        self.sent, self.together = [], [list(one) for one in together]

    def submit(self, task, *given, part):
        self.sent.append((task.__name__, part))
        return task(*given)

    def gather(self, made):
        return list(made)

    def groups(self):
        return self.together


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(11, 3))


@pytest.fixture
def laid(X):
    parts = tuple(X[a:b] for a, b in pairwise(EDGES))
    return Spread(Here(), parts, EDGES, 3, X.dtype)


def assert_laid(found, wanted):
    """The numbers, in parts of the same slots."""
    assert [len(part) for part in found.parts] == [4, 1, 6]
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(
        np.asarray(found), wanted, rtol=1e-6 if wanted.itemsize < 8 else 1e-12
    )


def test_it_is_as_large_as_what_it_holds(laid, X):
    assert (len(laid), laid.shape, laid.size, laid.ndim, laid.age) == (11, (11, 3), 33, 2, 0)
    assert_laid(laid, X)
    assert np.asarray(laid, dtype=np.float32).dtype == np.float32


def test_what_is_here_is_laid_out_alike(laid, X):
    other = np.arange(22.0).reshape(11, 2)
    found = laid.like(other)
    assert_laid(found, other)
    assert [part for name, part in laid.holder.sent if name == "_same"] == [0, 1, 2]
    assert laid.like(found) is found


@pytest.mark.parametrize(
    "rows",
    [slice(None), slice(3, 7), slice(4, 5), slice(0, 4), slice(5, 11), slice(2, 2), slice(9, 99),
     slice(None, None, 2), slice(1, None, 3), slice(0, 11, 5), slice(-3, None), slice(3, 10, 7)],
)  # fmt: skip
def test_rows_are_brought_here(laid, X, rows):
    found = laid[rows]
    np.testing.assert_array_equal(found, X[rows])
    assert found.dtype == X.dtype
    asked = {
        n for a, n in ((0, 0), (4, 1), (5, 2)) for t in range(11)[rows] if a <= t < EDGES[n + 1]
    }
    assert [part for name, part in laid.holder.sent if name == "_slice"] == sorted(asked)


def test_products_quotients_and_precision(laid, X):
    by = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    assert_laid(laid @ by, X @ by)
    scale = np.array([1.0, 2.0, 4.0])
    assert_laid(laid / scale, X / scale)
    assert_laid(laid.astype(np.float32), X.astype(np.float32))
    assert laid.astype(np.float64) is laid
    single = laid.astype(np.float32)
    assert (single @ by).dtype == np.float32
    assert (single / scale).dtype == np.float64


def test_sums_and_ends_are_asked_for_once(laid, X):
    assert laid.mean() == pytest.approx(X.mean())
    assert np.vdot(laid, laid) == pytest.approx((X**2).sum())
    assert (laid.max(), laid.min()) == (X.max(), X.min())
    before = len(laid.holder.sent)
    assert laid.mean() == pytest.approx(X.mean())
    assert np.vdot(laid, laid) == pytest.approx((X**2).sum())
    assert len(laid.holder.sent) == before


def test_side_by_side_with_what_is_here(laid, X):
    other = np.ones((11, 2), dtype=np.float32)
    assert_laid(np.hstack([laid, other]), np.hstack([X, other]))
    assert_laid(np.hstack([laid, laid.like(other), laid]), np.hstack([X, other, X]))


def test_the_triangle_is_that_of_all_rows(laid, X):
    """A part of one slot has fewer rows than columns."""
    nothing, R = np.linalg.qr(laid)
    assert nothing is None
    assert R.shape == (3, 3)
    np.testing.assert_allclose(R.T @ R, X.T @ X, atol=1e-12)
    assert [spread._triangle(part).shape for part in laid.parts] == [(3, 3)] * 3


def test_what_it_does_not_know_is_refused(laid):
    with pytest.raises(TypeError):
        np.linalg.svd(laid)
    with pytest.raises(TypeError):
        np.vdot(laid, laid.astype(np.float32))


@pytest.mark.parametrize("together", [((0, 2), (1,)), ((0, 1, 2),), ((2,), (1,), (0,))])
def test_a_kernel_sees_the_rows_where_they_are(X, together):
    pytest.importorskip("cloudpickle")
    parts = tuple(X[a:b] for a, b in pairwise(EDGES))
    laid = Spread(Here(together), parts, EDGES, 3, X.dtype)
    other, add = np.arange(22.0).reshape(11, 2), np.array([10.0, 20.0])

    def kernel(own, theirs):
        return (own * 2, (theirs + add).astype(np.float32)), (own.sum(axis=0), (theirs**2).sum())

    here = engine.sweep(kernel, X, other)
    (twice, more), (total, square) = laid.sweep(kernel, [other])
    np.testing.assert_allclose(total, here[1][0])
    assert square == pytest.approx(here[1][1])
    assert_laid(twice, here[0][0])
    assert_laid(more, here[0][1])
    assert (twice.age, more.age) == (1, 1)
    assert (twice @ np.eye(3)).age == 1
    assert np.hstack([laid, twice]).age == 1


def test_rows_that_are_old_are_put_down_afresh(laid, X):
    old = Spread(laid.holder, laid.parts, EDGES, 3, X.dtype, RENEWED - 1)
    assert old.renewed() is old
    assert (old @ np.eye(3)).age == RENEWED - 1
    older = Spread(laid.holder, laid.parts, EDGES, 3, X.dtype, RENEWED)
    assert older.renewed().age == 0
    assert_laid(older.renewed(), X)
    assert_laid(older @ np.eye(3), X @ np.eye(3))
    assert (older @ np.eye(3)).age == 0


def test_a_kernel_travels_with_its_arrays():
    pytest.importorskip("cloudpickle")
    add = np.arange(5.0)
    held = spread.packed(lambda x: x + add)
    assert len(held[1]) == 1
    np.testing.assert_array_equal(spread.unpacked(held)(1.0), 1.0 + add)
