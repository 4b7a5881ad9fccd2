"""Many nodes together: a thing that happened, not a fault."""

from __future__ import annotations

import numpy as np

from fieldmend.faults.stretches import Array, Mask, grown

# An event moves at least this many nodes, and this share of those that are heard and sound, ...
NODES, SHARE = 3, 0.5
# ... and they set off within this many slots.
TOGETHER = 15


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
