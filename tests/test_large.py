"""What takes minutes: the sizes the solver promises, tall, wide and with thousands of nodes."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.core.problem import largest_eigenpairs

pytestmark = pytest.mark.long


def field(slots, nodes, *, rank=3, rate=0.5, seed=0):
    """Float32 readings of a rank-3 field, made in place: no second copy of a large one."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((slots, rank), dtype=np.float32) @ rng.standard_normal(
        (rank, nodes), dtype=np.float32
    )
    X = truth + np.float32(0.05) * rng.standard_normal((slots, nodes), dtype=np.float32)
    spiked = rng.random((slots, nodes), dtype=np.float32)
    X[spiked < 0.04] += 20
    X[spiked < 0.02] -= 40
    X[rng.random((slots, nodes), dtype=np.float32) > rate] = np.nan
    return truth, X


def recovered(shape):
    """NSE of a solve whose proof, precision and support are in order."""
    truth, X = field(*shape)
    out = fm.decompose(X)
    assert out.status == "converged"
    assert out.gap <= 1e-6
    assert out.estimate.dtype == np.float32
    assert out.rank <= 6
    assert not out.sparse[np.isnan(X)].any()
    return fm.metrics.nse(out.estimate, truth)


@pytest.mark.parametrize("shape", [(6000, 5000), (300, 5000)])
def test_thousands_of_nodes(shape):
    assert recovered(shape) < 2e-3


def test_millions_of_slots_are_recovered_as_well_as_thousands():
    """Ten readings a slot are few for a convex method; a longer record must not be worse."""
    assert recovered((2_000_000, 20)) < 1.1 * recovered((2000, 20))


def test_the_norm_of_many_nodes_is_bounded_from_above():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4000, 1600))
    gram = A.T @ A
    top = np.linalg.eigvalsh(gram)[-1]
    values, vectors = largest_eigenpairs(gram, 12)
    assert top <= values[-1] <= top * (1 + 1e-6)
    np.testing.assert_allclose(np.linalg.norm(gram @ vectors[:, -1]), top, rtol=1e-4)
