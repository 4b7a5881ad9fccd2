"""Many nodes: regions of some hundred, each with companions around it, answers kept for its core.

A network of thousands has more going on than a dozen common factors hold, and what happens at one
end says nothing of the other. Regions are cut by place where places are known, else by likeness of
the series: both are coordinates of the nodes, and one algorithm cuts either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.jumps import Index
from fieldmend.field.likeness import likeness

MANY = 600  # nodes: a larger network is recovered region by region,
UNPLACED = 2000  # without places, as likeness may part what belongs together
CORE = 250  # nodes decided together, at most
HALO = 50  # companions around them, at most
_AROUND = 12  # regions among which companions are looked for
PLACED = 0.5  # of the nodes have places: enough to go by
_STEPS = 15  # of power iteration: an axis need not be exact


@dataclass(frozen=True, eq=False)
class Region:
    """Some nodes, in rising order, and which of them are decided here; the others are company."""

    nodes: Index
    core: Mask  # one for each of `nodes`

    @property
    def decided(self) -> Index:
        """Numbers of the nodes that are decided here."""
        return self.nodes[self.core]


def cut(at: Array, most: int = CORE, halo: int = HALO) -> list[Region]:
    """Regions of nodes that lie together: nodes × coordinates in, every node decided once.

    The nodes are halved across the axis they are spread along most, until a part is small enough;
    the nodes nearest to a part are its company.

    >>> line = np.arange(10.0)[:, None]
    >>> [region.nodes.tolist() for region in cut(line, most=5, halo=1)]
    [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 8, 9]]
    """
    groups = _halved(at, np.arange(len(at)), most)
    centres = np.array([at[group].mean(axis=0) for group in groups])
    out = []
    for i, group in enumerate(groups):
        near = np.argsort(_apart(centres[[i]], centres)[0], kind="stable")[: _AROUND + 1]
        others = np.concatenate([groups[k] for k in near if k != i] or [group[:0]])
        distance = _apart(at[group], at[others]).min(axis=0) if len(others) else others
        company = others[np.lexsort((others, distance))][:halo]
        nodes = np.sort(np.concatenate([group, company]))
        out.append(Region(nodes, np.isin(nodes, group)))
    return out


def coordinates(X: Array, observed: Mask, places: Array | None = None) -> Array:
    """Where nodes are to each other: their places, NaN where not known, or how alike they are.

    A node without a place stands where the one stands that is most like it; if more than half are
    without, likeness decides alone.
    """
    if places is None:
        return likeness(X, observed)
    known: Mask = np.asarray(np.isfinite(places).all(axis=1))
    if np.count_nonzero(known) < PLACED * len(places):
        return likeness(X, observed)
    if known.all():
        return places
    like, out = likeness(X, observed), places.copy()
    placed = np.flatnonzero(known)
    for node in np.flatnonzero(~known):
        out[node] = places[placed[_apart(like[[node]], like[placed])[0].argmin()]]
    return out


def said(plan: Sequence[Region], ranks: Sequence[int]) -> str:
    """What a recovery by regions is, in words."""
    most = max(len(region.nodes) for region in plan)
    factors = f"{min(ranks)} to {max(ranks)}" if min(ranks) < max(ranks) else f"{max(ranks)}"
    return (
        f"{len(plan)} regions of up to {most} nodes, each with its neighbours, "
        f"of {factors} common factors"
    )


def _halved(at: Array, group: Index, most: int) -> list[Index]:
    parts = -(-len(group) // most)
    if parts <= 1:
        return [group]
    order = np.argsort(_along(at[group]), kind="stable")
    low = len(group) * (parts // 2) // parts
    halves = np.sort(group[order[:low]]), np.sort(group[order[low:]])
    return [one for half in halves for one in _halved(at, half, most)]


def _along(at: Array) -> Array:
    """Each node's place along the axis that the nodes are spread along most."""
    own = at - at.mean(axis=0)
    axis = own[np.abs(own).sum(axis=1).argmax()]
    for _ in range(_STEPS):
        axis = own.T @ (own @ axis)
        axis /= np.sqrt((axis**2).sum()) or 1.0
    # An axis has two ends: which is the first must not hang on rounding.
    return np.asarray(own @ (axis * (np.sign(axis[np.abs(axis).argmax()]) or 1.0)))


def _apart(one: Array, other: Array) -> Array:
    """Squared distances between two sets of points."""
    middle = other.mean(axis=0)
    a, b = one - middle, other - middle
    far: Array = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * (a @ b.T)
    return far
