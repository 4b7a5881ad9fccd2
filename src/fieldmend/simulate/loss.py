"""Loss patterns: which readings arrived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from fieldmend.simulate.patterns import (
    BoolArray,
    FloatArray,
    runs,
    scattered,
    scattered_by_node,
    share,
    stretches,
)

# Section V, Fig. 4: the loss rates of single nodes lie between 5 % and 95 %.
NODE_RATES = (0.05, 0.95)


def observe(
    slots: int,
    nodes: int,
    *,
    loss: str = "uniform",
    rate: float = 0.5,
    mean_length: float | None = None,
    seed: int | np.random.Generator = 0,
) -> BoolArray:
    """Draw the observed set O: True where a reading arrived, slots × nodes.

    Exactly ``round(rate * slots * nodes)`` readings are lost. A node, or a slot, may lose all of
    its readings, as in real networks.

    Parameters
    ----------
    slots, nodes
        Shape.
    loss
        ``"uniform"``: every set of that size is equally likely (the paper's evaluation, Section
        VII). ``"per_node"``: nodes differ, their rates spread over 5–95 % around `rate`.
        ``"bursts"``: runs of lost readings, Gilbert-Elliott. ``"blocks"``: nodes go offline, each
        for one stretch.
    rate
        Share of readings lost, 0 to 1.
    mean_length
        Mean length in slots of a burst (default 10) or of an offline stretch (default a fifth
        of the slots); raised when the rate cannot be had otherwise. Has no meaning for the others.
    seed
        Seed or generator.

    Returns
    -------
    ndarray of bool

    Raises
    ------
    ValueError
        For an unknown pattern, a rate outside [0, 1], or no slots or nodes.

    Notes
    -----
    Time O(TN), for ``per_node`` O(TN log T); memory O(TN).

    Examples
    --------
    >>> observed = observe(100, 10, loss="bursts", rate=0.3, seed=1)
    >>> observed.shape, float(observed.mean())
    ((100, 10), 0.7)
    """
    if slots < 1 or nodes < 1:
        raise ValueError(f"slots and nodes must be at least 1, got {slots} and {nodes}")
    if not 0 <= rate <= 1:
        raise ValueError(f"the loss rate must lie in [0, 1], got {rate}")
    if loss not in LOSSES:
        raise ValueError(f"unknown loss {loss!r}, choose from {', '.join(LOSSES)}")
    if mean_length is not None and mean_length < 1:
        raise ValueError(f"mean_length must be at least 1, got {mean_length}")
    lost = LOSSES[loss](
        np.ones((slots, nodes), dtype=np.bool_), rate, mean_length, np.random.default_rng(seed)
    )
    return ~lost


def node_rates(nodes: int, rate: float, rng: np.random.Generator) -> FloatArray:
    """Loss rates from 5 to 95 % in random order, with mean `rate`: a + (b−a)u^g, u evenly spaced.

    g = (b−rate)/(rate−a) makes the mean right, since u^g has mean 1/(1+g). Above one half it is the
    mirror image. A `rate` below 5 or above 95 % is every node's.

    Examples
    --------
    >>> rates = node_rates(200, 0.5, np.random.default_rng(0))
    >>> [round(float(r), 2) for r in (rates.min(), rates.mean(), rates.max())]
    [0.05, 0.5, 0.95]
    """
    low, high = NODE_RATES
    if not low < rate < high:
        return np.full(nodes, rate)
    if rate > (low + high) / 2:
        return low + high - node_rates(nodes, low + high - rate, rng)
    even = (rng.permutation(nodes) + 0.5) / nodes
    return np.asarray(low + (high - low) * even ** ((high - rate) / (rate - low)))


def _uniform(
    everything: BoolArray, rate: float, _mean_length: float | None, rng: np.random.Generator
) -> BoolArray:
    return scattered(everything, round(rate * everything.size), rng)


def _per_node(
    everything: BoolArray, rate: float, _mean_length: float | None, rng: np.random.Generator
) -> BoolArray:
    slots, nodes = everything.shape
    count = round(rate * everything.size)
    if count == 0:
        return np.zeros_like(everything)
    counts = share(count, node_rates(nodes, rate, rng), np.full(nodes, slots))
    return scattered_by_node(everything, counts, rng)


def _bursts(
    everything: BoolArray, rate: float, mean_length: float | None, rng: np.random.Generator
) -> BoolArray:
    length = 10.0 if mean_length is None else mean_length
    return runs(everything, round(rate * everything.size), rng, mean_length=length)


def _blocks(
    everything: BoolArray, rate: float, mean_length: float | None, rng: np.random.Generator
) -> BoolArray:
    length = max(1.0, everything.shape[0] / 5) if mean_length is None else mean_length
    return stretches(everything, round(rate * everything.size), rng, mean_length=length)


_Draw = Callable[[BoolArray, float, float | None, np.random.Generator], BoolArray]

LOSSES: Mapping[str, _Draw] = MappingProxyType(
    {"uniform": _uniform, "per_node": _per_node, "bursts": _bursts, "blocks": _blocks}
)
