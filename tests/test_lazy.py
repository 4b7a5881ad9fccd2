"""Readings that stay in a file or in Dask: the same iterates, rows made when they are taken."""

import tracemalloc

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.core import engine, lazy, noise


@pytest.fixture
def readings():
    return fm.simulate.network(slots=300, nodes=12, seed=4, anomaly_rate=0.02).readings


def in_a_file(tmp_path, X):
    out = np.memmap(tmp_path / "x", dtype=X.dtype, mode="w+", shape=X.shape)
    out[:] = X
    return out


def in_dask(tmp_path, X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(70, 12))


def in_zarr(tmp_path, X):
    return pytest.importorskip("zarr").array(X, chunks=(64, 12))


@pytest.mark.parametrize("where", [in_a_file, in_dask, in_zarr])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_readings_that_stay_give_the_same(tmp_path, readings, where, dtype, monkeypatch):
    monkeypatch.setattr(lazy, "ENTRIES", 1000)
    X = readings.astype(dtype)
    plain = fm.decompose(X, tol=1e-5)
    out = fm.decompose(where(tmp_path, X), tol=1e-5)
    assert [one.objective for one in out.trace] == [one.objective for one in plain.trace]
    assert out.estimate.dtype == out.sparse.dtype == dtype
    for part in ("estimate", "sparse", "low_rank"):
        made, whole = getattr(out, part), getattr(plain, part)
        assert isinstance(made, lazy.LazyRows)
        np.testing.assert_array_equal(np.asarray(made), whole)
        # A product of few rows may be summed in another order than one of many: as digits go.
        close = {"rtol": 0, "atol": 50 * np.finfo(dtype).eps * np.nanmax(np.abs(X))}
        for key in (17, (slice(-3, None), 2), slice(5, 90, 7), [3, 299], slice(None, None, -1)):
            np.testing.assert_allclose(made[key], whole[key], **close)
    assert repr(out).replace("LazyRows", "") == repr(plain)


@pytest.mark.parametrize("where", [in_a_file, in_dask, in_zarr])
def test_a_long_record_that_stays_starts_from_some_of_its_slots_too(tmp_path, where, monkeypatch):
    monkeypatch.setattr(noise, "_ENTRIES", 12_000)
    X = fm.simulate.network(slots=2400, nodes=12, seed=1).readings
    plain, out = fm.decompose(X), fm.decompose(where(tmp_path, X))
    assert [one.objective for one in out.trace] == [one.objective for one in plain.trace]


def test_a_mask_and_what_cannot_be_used(tmp_path, readings):
    X = in_a_file(tmp_path, readings)
    seen = np.random.default_rng(0).random(X.shape) < 0.8
    np.testing.assert_array_equal(
        fm.decompose(X, seen).estimate[:], fm.decompose(np.array(readings), seen).estimate
    )
    with pytest.raises(ValueError, match="mask of the shape"):
        fm.decompose(X, seen[:-1])
    X[:] = np.nan
    with pytest.raises(ValueError, match="nothing to decompose"):
        fm.decompose(X)
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(
            lazy.LazyRows((1, 1), np.dtype(float), lambda rows: np.zeros((1, 1))), copy=False
        )


def test_nothing_as_large_as_the_readings_is_held(tmp_path, monkeypatch):
    """Blocks are all that is ever made: no array of all slots × nodes but in files."""
    X = np.memmap(tmp_path / "x", dtype=np.float32, mode="w+", shape=(36_000, 400))
    rng = np.random.default_rng(0)
    X[:] = rng.standard_normal((36_000, 2)) @ rng.standard_normal((2, 400))
    X += 0.1 * rng.standard_normal(X.shape).astype(np.float32)
    fm.decompose(X[:500].copy(), tol=1e-3)  # what is imported on the way is not counted
    monkeypatch.setattr(lazy, "ENTRIES", 100_000)
    monkeypatch.setattr(lazy, "SAMPLED", 1000)
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", 100_000)
    monkeypatch.setattr("fieldmend.core.noise._ENTRIES", 1e5)
    tracemalloc.start()
    out = fm.decompose(X, tol=1e-3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert out.gap <= 1e-3
    assert peak < 0.6 * X.size * X.itemsize
