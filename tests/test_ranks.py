"""Order statistics of many nodes: those of NumPy, and those of one node after the other."""

import numpy as np
import pytest

from fieldmend.core.ranks import column_quantiles, higher, parted, quantiles, row_medians
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


def test_an_array_is_parted_at_every_place_asked_for():
    values = np.random.default_rng(1).normal(size=500)
    for places in ((3,), (7, 8), (499, 0), (10, 10, 250, 300)):
        found, ranked = parted(values, *places), np.sort(values)
        assert all(found[place] == ranked[place] for place in places)
        assert sorted(found) == ranked.tolist()
