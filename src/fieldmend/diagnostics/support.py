"""The support of the anomalies: its share, and whether it is uniformly random."""

from __future__ import annotations

from dataclasses import dataclass

from fieldmend.diagnostics.loss import BoolArray, IntArray, as_mask


@dataclass(frozen=True)
class Clumping:
    """One view of how unevenly a support lies.

    Attributes
    ----------
    ratio
        Observed over expected under a uniformly random support: 1.0 is what chance gives on
        average, more is clumped, less is more even than chance.
    p_value
        Approximate probability that chance clumps at least this much.
    """

    ratio: float
    p_value: float


@dataclass(frozen=True)
class SupportUniformity:
    """How far a support is from uniformly random, in three views.

    Attributes
    ----------
    slots
        Dispersion of the counts per slot: high when whole moments are false (interference, events).
    nodes
        Dispersion of the counts per node: high when some nodes fail.
    runs
        Pairs of successive slots of a node that are both in the support: high for bursts.
    """

    slots: Clumping
    nodes: Clumping
    runs: Clumping


def anomaly_ratio(support: BoolArray, observed: BoolArray) -> float:
    """Share of the readings that are false, |Ω|/|O| (Fig. 4 right: 2.77 % to 5.51 %).

    Parameters
    ----------
    support
        Ω: slots × nodes, True where a reading is false.
    observed
        O: slots × nodes, True where a reading arrived; holds the support
        (Section IV, "Partial Observation").

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> anomaly_ratio(np.array([[True, False]]), np.array([[True, True]]))
    0.5
    """
    false, seen = _support(support, observed)
    return int(false.sum()) / int(seen.sum())


def support_uniformity(support: BoolArray, observed: BoolArray) -> SupportUniformity:
    """How far the support of S is from "selected uniformly at random" (Section IV-A).

    Reference: every set of k = |Ω| among the m = |O| readings is equally likely.

    Parameters
    ----------
    support
        Ω: slots × nodes, True where a reading is false.
    observed
        O: slots × nodes, True where a reading arrived; holds the support.

    Returns
    -------
    SupportUniformity
        In each view 1.0 is the exact mean under the reference. With nothing to compare (empty or
        full support, a single slot or node, no pairs) ratio and p-value are 1.

    Notes
    -----
    Slots and nodes: Σ(k_g − e_g)²/e_g · (m−1)/(m−k) / (G−1) over the G groups with readings,
    e_g = k·m_g/m: the chi-square statistic with its finite-population correction, over its mean.
    Runs: pairs in the support over their mean A·k(k−1)/(m(m−1)), A the number of successive slots
    of a node that are both observed. The p-values take a chi-square law, and a gamma law with
    the exact mean and variance; rough when less than about one false reading per group or five
    pairs are expected. Time and memory O(TN).

    Examples
    --------
    >>> import numpy as np
    >>> support = np.zeros((10, 10), dtype=bool); support[:, 3] = True  # one node all false
    >>> uniformity = support_uniformity(support, np.ones((10, 10), dtype=bool))
    >>> round(uniformity.nodes.ratio, 6), round(uniformity.slots.ratio, 6)
    (11.0, 0.0)
    """
    false, seen = _support(support, observed)
    return SupportUniformity(
        slots=_dispersion(false.sum(axis=1), seen.sum(axis=1)),
        nodes=_dispersion(false.sum(axis=0), seen.sum(axis=0)),
        runs=_pairs(false, seen),
    )


def _dispersion(false: IntArray, seen: IntArray) -> Clumping:
    false, seen = false[seen > 0], seen[seen > 0]
    k, m, groups = int(false.sum()), int(seen.sum()), seen.size
    if groups < 2 or k in (0, m):
        return Clumping(1.0, 1.0)
    from scipy.special import chdtrc  # here: 0.2 s that `metrics` need not wait for

    expected = k * seen / m
    statistic = float(((false - expected) ** 2 / expected).sum()) * (m - 1) / (m - k)
    return Clumping(statistic / (groups - 1), float(chdtrc(groups - 1, statistic)))


def _pairs(false: BoolArray, seen: BoolArray) -> Clumping:
    k, m = int(false.sum()), int(seen.sum())
    both = seen[1:] & seen[:-1]
    pairs, chains = int(both.sum()), int((both[1:] & both[:-1]).sum())
    if pairs == 0 or k < 2 or k == m:
        return Clumping(1.0, 1.0)
    two = k * (k - 1) / (m * (m - 1))
    three = two * (k - 2) / (m - 2)  # m > k >= 2
    four = three * (k - 3) / (m - 3) if m > 3 else 0.0
    mean = pairs * two
    # Two pairs are the same one, share a reading (`chains` of them, in both orders), or are apart.
    apart = pairs * (pairs - 1) - 2 * chains
    variance = mean + 2 * chains * three + apart * four - mean**2
    count = int((false[1:] & false[:-1]).sum())
    if count == 0 or variance <= 1e-12 * mean:
        return Clumping(count / mean, 1.0)
    from scipy.special import gammaincc  # as above

    shape, scale = mean**2 / variance, variance / mean
    return Clumping(count / mean, float(gammaincc(shape, (count - 0.5) / scale)))


def _support(support: BoolArray, observed: BoolArray) -> tuple[BoolArray, BoolArray]:
    false, seen = as_mask("support", support), as_mask("observed", observed)
    if false.shape != seen.shape:
        raise ValueError(f"shapes differ: support {false.shape}, observed {seen.shape}")
    if not seen.any():
        raise ValueError("nothing was observed")
    if (false & ~seen).any():
        raise ValueError("the support reaches outside the observed entries, where S is zero")
    return false, seen
