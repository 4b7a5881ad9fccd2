"""Which entries to mark: scattered, in runs, or one stretch per node; exactly as many as asked.

Loss patterns and fault patterns are the same three shapes, drawn among all entries or among the
readings that arrived. A node's entries are taken in time order, so that a run of faults is a run
of *delivered* readings, with lost slots between them skipped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def scattered(allowed: BoolArray, count: int, rng: np.random.Generator) -> BoolArray:
    """Mark `count` allowed entries, every subset equally likely (the paper's uniform support).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> int(scattered(np.ones((4, 3), dtype=bool), 5, rng).sum())
    5
    """
    places = _room(allowed, count)
    return _marked(allowed, rng.choice(places, size=count, replace=False))


def scattered_by_node(allowed: BoolArray, counts: IntArray, rng: np.random.Generator) -> BoolArray:
    """Mark `counts[n]` entries of each node n, every subset of a node's slots equally likely.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scattered_by_node(np.ones((9, 3), dtype=bool), np.array([0, 4, 9]), rng).sum(axis=0)
    array([0, 4, 9])
    """
    keys = np.where(allowed, rng.random(allowed.shape), np.inf)
    order = np.argsort(np.argsort(keys, axis=0), axis=0)
    return np.asarray(allowed & (order < counts), dtype=np.bool_)


def runs(
    allowed: BoolArray, count: int, rng: np.random.Generator, *, mean_length: float
) -> BoolArray:
    """Mark `count` entries in runs: a Gilbert-Elliott chain conditioned on its totals.

    The two-state chain has geometric sojourns; given their number and their sum these are uniform
    compositions, which is what is drawn, so the count is exact and no chain is stepped. The nodes
    follow one another in one long sequence; a run that crosses from one node into the next is
    cut there. Healthy runs last at least one entry, so a marked share q needs runs of at least
    q/(1−q) on average: `mean_length` is raised to that when it is shorter.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> runs(np.ones((12, 1), dtype=bool), 6, rng, mean_length=3)[:, 0].astype(int)
    array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0])
    """
    places = _room(allowed, count)
    if count == 0:
        return np.zeros_like(allowed)
    healthy = places.size - count
    number = int(np.clip(round(count / mean_length), 1, min(count, healthy + 1)))
    lengths = np.empty(2 * number + 1, dtype=np.int64)
    lengths[1::2] = _composition(count, number, rng)
    lengths[::2] = _composition(healthy + 2, number + 1, rng)
    lengths[[0, -1]] -= 1  # the outer healthy runs may be empty, the inner ones not
    return _marked(allowed, places[np.repeat(np.arange(lengths.size) % 2 == 1, lengths)])


def stretches(
    allowed: BoolArray,
    count: int,
    rng: np.random.Generator,
    *,
    mean_length: float,
    lead: int = 0,
    to_end: bool = False,
) -> BoolArray:
    """Mark `count` entries as one stretch in each of a few nodes.

    About ``count / mean_length`` nodes are struck, more if these cannot hold the count; lengths
    vary by a factor of three. The first `lead` entries of a node stay unmarked; with `to_end` every
    stretch lasts to the node's last entry.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stretches(np.ones((50, 8), dtype=bool), 40, rng, mean_length=20).sum(axis=0)
    array([ 0,  0, 19,  0, 21,  0,  0,  0])
    """
    entries = allowed.sum(axis=0)
    room = np.maximum(entries - lead, 0)
    if count > room.sum():
        raise ValueError(f"cannot mark {count} entries, the nodes have room for {room.sum()}")
    order = rng.permutation(np.flatnonzero(room))
    enough = int(np.searchsorted(np.cumsum(room[order]), count)) + 1
    struck = order[: max(enough, round(count / mean_length))]
    lengths = np.zeros_like(entries)
    lengths[struck] = share(count, rng.uniform(0.5, 1.5, struck.size), room[struck])
    last = entries - lengths
    start = last if to_end else rng.integers(np.minimum(lead, last), last, endpoint=True)
    nth = np.cumsum(allowed, axis=0) - 1
    return np.asarray(allowed & (nth >= start) & (nth < start + lengths), dtype=np.bool_)


def share(total: int, weights: FloatArray, caps: IntArray) -> IntArray:
    """Split `total` into integers as near to proportional to positive `weights` as `caps` allow.

    Examples
    --------
    >>> share(10, np.array([1.0, 1.0, 2.0]), np.array([9, 9, 3]))
    array([4, 3, 3])
    """
    low, high = 0.0, float((caps / weights).max(initial=0.0))
    for _ in range(64):  # bisection on the one scale at which the capped parts sum to the total
        middle = (low + high) / 2
        if np.minimum(middle * weights, caps).sum() < total:
            low = middle
        else:
            high = middle
    wanted = np.minimum(high * weights, caps)
    parts = np.floor(wanted).astype(np.int64)
    # Rounding leaves fewer than one each; it goes to the largest remainders with room.
    order = np.argsort(np.where(parts < caps, parts - wanted, np.inf), kind="stable")
    parts[order[: total - int(parts.sum())]] += 1
    return parts


def _room(allowed: BoolArray, count: int) -> IntArray:
    """Positions of the allowed entries, node after node, each in time order."""
    places = np.flatnonzero(allowed.T)
    if not 0 <= count <= places.size:
        raise ValueError(f"cannot mark {count} of {places.size} entries")
    return places


def _marked(allowed: BoolArray, places: IntArray) -> BoolArray:
    marks = np.zeros(allowed.size, dtype=np.bool_)
    marks[places] = True
    return marks.reshape(allowed.shape[::-1]).T.copy()


def _composition(total: int, parts: int, rng: np.random.Generator) -> IntArray:
    """Positive integers that sum to `total`, every such sequence of `parts` equally likely."""
    cuts = np.sort(rng.choice(total - 1, size=parts - 1, replace=False)) + 1
    return np.diff(cuts, prepend=0, append=total)
