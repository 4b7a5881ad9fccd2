"""Singular values and vectors: energy (Section V) and incoherence (Section IV-A)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class EnergyRank:
    """How many of the largest singular values hold a share of the energy.

    Attributes
    ----------
    count
        Their number.
    fraction
        `count` / min(slots, nodes), as the paper's Section V reports it.
    """

    count: int
    fraction: float


@dataclass(frozen=True)
class Incoherence:
    """The smallest μ that satisfies each of the three inequalities of the incoherence condition.

    Attributes
    ----------
    slots
        From max‖Uᵀe_t‖² <= μr/T, U the singular vectors over slots; between 1 and T/r.
    nodes
        From max‖Vᵀe_n‖² <= μr/N, V the singular vectors over nodes; between 1 and N/r.
    joint
        From max|UVᵀ| <= √(μr/(TN)); between 1 and TN/r.
    rank
        The rank r used.
    """

    slots: float
    nodes: float
    joint: float
    rank: int

    @property
    def worst(self) -> float:
        """The largest of the three: the μ of the paper's condition."""
        return max(self.slots, self.nodes, self.joint)


def singular_energy(X: FloatArray, *, squared: bool = False) -> FloatArray:
    """Share of the energy in the 1, 2, … largest singular values (Section V, Fig. 5).

    ``(σ_1 + … + σ_k) / (σ_1 + … + σ_m)``, m = min(T, N); with `squared` the same of σ².

    Parameters
    ----------
    X
        Slots × nodes, no NaN: recover or fill it first.
    squared
        Sum squares.

    Returns
    -------
    ndarray
        m shares, rising to 1.

    Raises
    ------
    ValueError
        For a matrix of zeros, or one with NaN or infinite entries.

    Notes
    -----
    Erratum: Section V calls one minus the plain sum the relative error of the best rank-k
    approximation in the Frobenius norm. It is the error in the nuclear norm; in the Frobenius
    norm it is √(1 − share of squares). One SVD: time O(TN·min(T, N)).

    Examples
    --------
    >>> singular_energy(np.diag([3.0, 1.0]))
    array([0.75, 1.  ])
    >>> singular_energy(np.diag([3.0, 1.0]), squared=True)
    array([0.9, 1. ])
    """
    values = np.linalg.svd(_matrix("X", X), compute_uv=False)
    if values[0] == 0:
        raise ValueError("a matrix of zeros has no energy to share out")
    parts = values / values[0]  # squares of tiny or huge values neither vanish nor overflow
    sums = np.cumsum(parts**2 if squared else parts)
    return np.asarray(sums / sums[-1])


def values_for_energy(X: FloatArray, *, share: float = 0.9, squared: bool = False) -> EnergyRank:
    """Fewest singular values that hold a share of the energy (Section V: "18 % capture 90 %").

    Parameters
    ----------
    X
        Slots × nodes, no NaN.
    share
        In (0, 1].
    squared
        As in `singular_energy`.

    Returns
    -------
    EnergyRank

    Raises
    ------
    ValueError
        For a share outside (0, 1].

    Examples
    --------
    >>> values_for_energy(np.diag([8.0, 1.0, 1.0, 0.0]), share=0.85)
    EnergyRank(count=2, fraction=0.5)
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must lie in (0, 1], got {share}")
    energy = singular_energy(X, squared=squared)
    # A share that is reached exactly must not be missed by rounding of the sums.
    count = int(np.argmax(energy >= share - 1e-12)) + 1
    return EnergyRank(count, count / energy.size)


def incoherence(
    L: FloatArray, rank: int | None = None, *, rtol: float | None = None
) -> Incoherence:
    """Incoherence of a low-rank matrix: the smallest μ of the paper's condition in Section IV-A.

    ``max_t ‖Uᵀe_t‖² <= μr/T``, ``max_n ‖Vᵀe_n‖² <= μr/N``, ``max|UVᵀ| <= √(μr/(TN))`` with
    L = UΣVᵀ of rank r.

    Parameters
    ----------
    L
        Slots × nodes, no NaN.
    rank
        r: how many of the singular vectors to keep; by default the numerical rank.
    rtol
        Singular values above rtol·σ_1 count for the numerical rank; by default
        max(T, N)·eps. Raise it for a field that is only approximately of low rank.

    Returns
    -------
    Incoherence

    Raises
    ------
    ValueError
        If L has not that many singular vectors.

    Notes
    -----
    1 is spread evenly, the upper ends are all in one slot, node or entry. A `rank` that cuts
    through equal singular values leaves the choice of vectors, and so μ, to rounding.
    Time O(TN·min(T, N)).

    Examples
    --------
    >>> incoherence(np.ones((4, 3))).worst.__round__(12)
    1.0
    >>> spike = np.zeros((4, 3)); spike[0, 0] = 1.0
    >>> incoherence(spike)
    Incoherence(slots=4.0, nodes=3.0, joint=12.0, rank=1)
    """
    U, values, Vt = np.linalg.svd(_matrix("L", L), full_matrices=False)
    cut = max(L.shape) * np.finfo(np.float64).eps if rtol is None else rtol
    found = int((values > cut * values[0]).sum())
    r = found if rank is None else rank
    if not 1 <= r <= found:
        raise ValueError(f"L has numerical rank {found} (rtol {cut:.2g}): no {r} singular vectors")
    U, Vt = U[:, :r], Vt[:r]
    slots, nodes = L.shape
    return Incoherence(
        slots=slots / r * float((U**2).sum(axis=1).max()),
        nodes=nodes / r * float((Vt**2).sum(axis=0).max()),
        joint=slots * nodes / r * float(np.abs(U @ Vt).max()) ** 2,
        rank=r,
    )


def _matrix(name: str, X: FloatArray) -> FloatArray:
    array = np.asarray(X, dtype=np.float64)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be slots × nodes, not empty, without NaN or infinite values")
    return array
