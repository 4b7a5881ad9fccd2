"""Verbs over blocks: many small blocks give what one block gives."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.core import engine
from fieldmend.core.problem import LowRank, Problem


@pytest.fixture
def tiny(monkeypatch):
    """Blocks of at most 50 entries."""
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", 50)


@pytest.mark.parametrize(("slots", "nodes"), [(1, 1), (7, 3), (50, 1), (51, 1), (3, 80), (100, 7)])
def test_blocks_cover_every_slot_once_in_order(tiny, slots, nodes):
    cut = list(engine.blocks(slots, nodes))
    assert [t for b in cut for t in range(b.start, b.stop)] == list(range(slots))
    assert all(b.stop - b.start == 1 or (b.stop - b.start) * nodes <= 50 for b in cut)


def test_no_slots_no_blocks():
    assert list(engine.blocks(0, 5)) == []


def kernel(x, y):
    """Rows of two widths, sums of three kinds."""
    return (x * 2, y.sum(axis=1)), (x.T @ y, np.vdot(x, x), float(y.sum()))


def test_many_blocks_equal_one(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(103, 6)), rng.normal(size=(103, 4))
    rows, sums = engine.sweep(kernel, x, y)
    for entries in (1, 6, 50, 600):
        monkeypatch.setattr(engine, "BLOCK_ENTRIES", entries)
        again, totals = engine.sweep(kernel, x, y)
        for one, many in zip(rows, again, strict=True):
            np.testing.assert_array_equal(many, one)
        for one, many in zip(sums, totals, strict=True):
            np.testing.assert_allclose(many, one, rtol=1e-12, atol=1e-12)


def test_rows_without_sums_of_all_blocks_come_back(tiny):
    X = np.arange(600.0).reshape(200, 3)
    (rows,), sums = engine.sweep(lambda block: ((2 * block,), ()), X)
    assert sums == ()
    np.testing.assert_array_equal(rows, 2 * X)


def test_sums_are_added_in_double(tiny):
    """A long sum of float32 parts would lose the small ones."""
    x = np.full((4000, 50), 0.1, np.float32)  # one block per slot
    x[0] = 1e6
    rows, (total,) = engine.sweep(lambda b: ((b,), (b[:, 0].sum(),)), x)
    assert rows[0].dtype == np.float32
    assert total == pytest.approx(1e6 + 3999 * float(np.float32(0.1)), rel=1e-12)


@pytest.mark.parametrize("entries", [50, 10**9])
def test_sums_come_back_in_double_however_many_blocks(monkeypatch, entries):
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", entries)
    x = np.ones((40, 5), np.float32)
    _, sums = engine.sweep(lambda b: ((), (b.T @ b, b.sum())), x)
    assert all(np.asarray(s).dtype == np.float64 for s in sums)


def test_the_certificate_does_not_depend_on_the_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    R, O = rng.normal(size=(60, 9)), rng.random((60, 9)) < 0.7
    L = LowRank(rng.normal(size=(60, 2)), rng.normal(size=(9, 2)))
    problem = Problem(R * O, O, 0.2, 1.5)
    whole = problem.certify(L)
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", 20)
    parts = problem.certify(L)
    assert parts.objective == pytest.approx(whole.objective, rel=1e-13)
    assert parts.gap == pytest.approx(whole.gap, rel=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"debias": True},
        {"method": "mc"},
        {"method": "apg"},
        {"delta": 40.0},
        {"method": "srmf"},
        {"method": "oracle", "rank": 3},
    ],
    ids=str,
)
def test_decompose_does_not_depend_on_the_blocks(monkeypatch, options):
    net = fm.simulate.network(90, 12, sampling=0.7, seed=3)
    whole = fm.decompose(net.readings, **options)
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", 100)
    parts = fm.decompose(net.readings, **options)
    spread = np.nanstd(net.readings)
    assert parts.status == whole.status
    assert np.abs(parts.estimate - whole.estimate).max() < 1e-6 * spread
    np.testing.assert_array_equal(parts.sparse != 0, whole.sparse != 0)
