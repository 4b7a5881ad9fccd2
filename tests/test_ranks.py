"""Order statistics of many nodes: those of NumPy, and those of one node after the other."""

import numpy as np
import pytest

from fieldmend.core import ranks
from fieldmend.core.ranks import (
    column_quantiles,
    each_median,
    higher,
    quantiles,
    row_medians,
    standing,
)
from fieldmend.field import jumps


@pytest.mark.parametrize("size", [1, 2, 3, 10, 101, 1440, 4000, 4001, 9000])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_quantiles_are_numpys_to_the_last_bit(size, dtype):
    rng = np.random.default_rng(size)
    shares = (0.0, 0.01, 0.5, 0.75, 0.9, 0.99, 1.0)
    for _ in range(5):
        values = (100 * rng.standard_normal(size)).astype(dtype)
        assert quantiles(values, *shares) == tuple(np.quantile(values, shares))
        for share in (*shares, 1 / 3, 0.9 * (1 + 1 / 40)):
            assert higher(values, share) == np.quantile(values, share, method="higher")


def test_all_nodes_at_once_are_each_by_itself():
    rng = np.random.default_rng(3)
    counts = [7, 0, 1, 40, 0, 2, 0]
    node = np.repeat(np.arange(len(counts)), counts)
    size = np.round(rng.exponential(9.0, len(node)) ** 2, 1)
    size[node == 3] *= rng.random(40) < 0.35  # mostly at rest: its larger jumps are asked
    by_node = jumps._ByNode.of(node, len(counts))
    each = [size[node == n] for n in range(len(counts))]
    medians = [np.median(own) if own.size else -1.0 for own in each]
    assert by_node.medians(size, -1.0).tolist() == medians
    middles = [jumps._middle(own) if own.size else 0.0 for own in each]
    assert jumps._middles(size, by_node).tolist() == middles


def test_octaves_are_whole_powers_of_two():
    gap = np.arange(1, 5000)
    assert jumps._octave(gap, 63).tolist() == [int(n).bit_length() - 1 for n in gap]
    assert jumps._octave(gap, 3).max() == 2


@pytest.mark.parametrize("slots", [1, 2, 9, 40])
def test_columns_and_rows_without_what_was_lost_are_numpys(slots):
    rng = np.random.default_rng(slots)
    values = rng.normal(size=(slots, 30))
    lost = rng.random(values.shape) < 0.4
    lost[0] = False  # every column has a number
    values[lost] = np.nan
    shares = (0.0, 0.1, 0.5, 0.9, 1.0)
    assert (column_quantiles(values, *shares) == np.nanquantile(values, shares, axis=0)).all()
    assert (row_medians(values.T) == np.nanmedian(values, axis=0)).all()


@pytest.mark.parametrize("size", [1, 500, 1999, 2000, 30_000])
@pytest.mark.parametrize("kind", ["normal", "rounded", "still", "periodic", "lost", "rising"])
def test_what_stands_at_places_is_what_sorting_puts_there(size, kind):
    rng = np.random.default_rng(size)
    values = rng.normal(size=size)
    if kind == "rounded":
        values = np.round(values)
    elif kind == "still":
        values[rng.random(size) < 0.7] = 0.0
    elif kind == "periodic":  # as often as a sample is taken: it knows one phase
        values = np.tile([0.0, *rng.normal(size=10)], size // 11 + 1)[:size]
        values[:: max(1, int(np.sqrt(size) / ranks._SAMPLED))] = 9.0
    elif kind == "lost":
        values[rng.random(size) < 0.6] = np.nan
    elif kind == "rising":
        values.sort()
    last = size - 1
    ranked = np.sort(values)
    for places in ((0,), (last // 2, size // 2), (last, 0), (last // 5, last // 5, 4 * last // 5)):
        np.testing.assert_array_equal(standing(values, *places), ranked[list(places)])


def test_few_of_many_are_parted(monkeypatch):
    """The middle tenth of ordinary numbers is all that is moved."""
    sizes = []
    plain = ranks._parted
    monkeypatch.setattr(ranks, "_parted", lambda v, p: sizes.append(v.size) or plain(v, p))
    standing(np.random.default_rng(0).normal(size=30_000), 14_999, 15_000, 24_000)
    assert len(sizes) == 2
    assert max(sizes) < 5000


def test_nodes_with_many_jumps_are_ranked_as_those_with_few(monkeypatch):
    rng = np.random.default_rng(4)
    counts = [7, 300, 0, 1, 40, 500]
    node = np.repeat(np.arange(len(counts)), counts)
    size = np.where(rng.random(len(node)) < 0.3, 0.0, rng.exponential(size=len(node)))
    by_node = jumps._ByNode.of(node, len(counts))
    plain = by_node.medians(size, -1.0), jumps._middles(size, by_node)
    monkeypatch.setattr(jumps, "_LONG", 100)
    long = by_node.medians(size, -1.0), jumps._middles(size, by_node)
    for one, other in zip(plain, long, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("slots", [600, 1441, 9000])
def test_medians_of_long_rows_are_those_of_sorting(slots, dtype, monkeypatch):
    rng = np.random.default_rng(slots)
    X = rng.normal(size=(40, slots)).astype(dtype)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[1], X[2, 1:], X[3, 5] = np.nan, np.nan, np.inf
    X[4, : slots // 2] = np.nan
    X[5] = np.round(X[5])
    X[6, :: int(np.sqrt(slots) / ranks._SAMPLED)] = 99.0  # all that a sample sees
    X[7, :99] = -np.inf
    X[8] = np.sort(X[8])
    found = each_median(X)
    monkeypatch.setattr(ranks, "_WIDE", 10**9)
    np.testing.assert_array_equal(found, each_median(X))
    assert found.dtype == dtype
