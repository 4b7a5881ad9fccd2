"""What was lost: rates per node and gaps (Section V, "Data Loss Rate")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Ecdf:
    """Empirical distribution of a sample.

    Attributes
    ----------
    values
        What the sample holds, rising.
    shares
        Of the sample: ``shares[i]`` is at most ``values[i]``.
    """

    values: FloatArray
    shares: FloatArray


def loss_rates(observed: BoolArray) -> FloatArray:
    """Loss rate of each node, r_n = (lost readings of n)/T (Section V, "Data Loss Rate").

    Parameters
    ----------
    observed
        Slots × nodes, True where a reading arrived.

    Returns
    -------
    ndarray
        One rate per node.

    Examples
    --------
    >>> loss_rates(np.array([[True, False], [True, True]]))
    array([0. , 0.5])
    """
    return np.asarray(1 - as_mask("observed", observed).mean(axis=0))


def ecdf(values: FloatArray) -> Ecdf:
    """Empirical cumulative distribution; of `loss_rates` it is the paper's Fig. 4 (left).

    Parameters
    ----------
    values
        A sample without NaN, of any shape.

    Returns
    -------
    Ecdf

    Raises
    ------
    ValueError
        For an empty sample, or one with NaN.

    Examples
    --------
    >>> ecdf(np.array([0.5, 0.1, 0.5, 0.9]))
    Ecdf(values=array([0.1, 0.5, 0.9]), shares=array([0.25, 0.75, 1.  ]))
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0 or np.isnan(sample).any():
        raise ValueError("the sample must hold at least one value and no NaN")
    distinct, counts = np.unique(sample, return_counts=True)
    return Ecdf(distinct, np.cumsum(counts) / sample.size)


def gap_at(observed: BoolArray) -> IntArray:
    """Length of the gap that each entry lies in: a run of lost slots of one node; 0 where observed.

    Parameters
    ----------
    observed
        Slots × nodes, True where a reading arrived.

    Returns
    -------
    ndarray of int
        Slots × nodes.

    Examples
    --------
    >>> gap_at(np.array([[True], [False], [False], [True], [False]]))[:, 0]
    array([0, 2, 2, 0, 1])
    """
    seen = as_mask("observed", observed)
    slot = np.arange(seen.shape[0])[:, None]
    before = np.maximum.accumulate(np.where(seen, slot, -1), axis=0)
    after = np.where(seen, slot, seen.shape[0])
    after = np.minimum.accumulate(after[::-1], axis=0)[::-1]
    return np.where(seen, 0, after - before - 1)


def gap_lengths(observed: BoolArray) -> IntArray:
    """Lengths of all gaps, node after node in time order; gaps at the ends count as they are.

    Parameters
    ----------
    observed
        Slots × nodes, True where a reading arrived.

    Returns
    -------
    ndarray of int
        One length per gap; empty when nothing is lost.

    Examples
    --------
    >>> gap_lengths(np.array([[True, False], [False, True], [False, False]]))
    array([2, 1, 1])
    """
    seen = as_mask("observed", observed)
    starts = ~seen & np.vstack([np.ones((1, seen.shape[1]), dtype=np.bool_), seen[:-1]])
    return gap_at(seen).T[starts.T]


def as_mask(name: str, mask: BoolArray) -> BoolArray:
    """Check that a mask is boolean, slots × nodes and not empty."""
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} must be a boolean array, slots × nodes, not empty")
    return array
