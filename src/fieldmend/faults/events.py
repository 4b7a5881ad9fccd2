"""Many nodes together: a thing that happened, not a fault."""

from __future__ import annotations

import numpy as np

from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array, Mask, grown
from fieldmend.faults.witnesses import companions

# An event moves at least this many nodes, and this share of those that are heard and sound, ...
NODES, SHARE = 3, 0.5
# ... and they set off within this many slots.
TOGETHER = 15
# As many of a node's five companions make its departure a local event.
NEIGHBOURS = 2


def shared(found: Mask, deviation: Array, off: Mask) -> Mask:
    """Stretches of `found` that many nodes begin together, in the same direction.

    Nodes that are `off`, or were found long before the others, bear no witness: batteries die
    one by one, and the dead do not make the dying an event.
    """
    out = np.zeros(found.shape, dtype=np.bool_)
    living = (~np.isnan(deviation) & ~off).sum(axis=1)
    for side in (found & (deviation > 0), found & (deviation < 0)):
        fresh = side & (_age(side) <= TOGETHER)
        together = fresh.sum(axis=1)
        sound = living - (side & ~fresh & ~off).sum(axis=1)
        many = (together >= NODES) & (together >= SHARE * sound)
        out |= fresh & many[:, None]
    for n in np.flatnonzero(out.any(axis=0)):
        out[:, n] = grown(out[:, n], found[:, n])
    return out


def _age(side: Mask) -> Array:
    """Slots since the run of marks began, down each column."""
    place = np.arange(1, side.shape[0] + 1)[:, None]
    return np.asarray(place - np.maximum.accumulate(np.where(side, 0, place), axis=0))


def local(mean: Array, least: float, context: Context) -> Mask:
    """Slots and nodes at which two of the node's five companions depart to the same side as it."""
    order, _ = companions(np.where(mean == 0, np.nan, mean), context)
    up, down = mean > least, mean < -least
    out = np.zeros(mean.shape, dtype=np.bool_)
    for n in np.flatnonzero((up | down).any(axis=0)):
        near = order[n][order[n] >= 0]
        out[:, n] |= up[:, n] & (up[:, near].sum(axis=1) >= NEIGHBOURS)
        out[:, n] |= down[:, n] & (down[:, near].sum(axis=1) >= NEIGHBOURS)
    return out
