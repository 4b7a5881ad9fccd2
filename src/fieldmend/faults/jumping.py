"""A false segment jumps out and jumps back. What goes away by and by is a place that settles.

A door opens and the room cools in a moment; it takes an hour to be warm again. Seen from the other
nodes that is a segment out of the field, with a first and a last reading somewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldmend.faults.spikes import smooth
from fieldmend.faults.stretches import Array, Mask, bounded, stretches

# A jump exceeds three in four of the node's own, and ...
USUAL = 0.75
# ... of three readings or more this part of how far they are off, else it is no way back.
SHORTEST, PART = 3, 0.5


def jumping(X: Any, flagged: Mask) -> Mask:
    """Those of the flagged readings that stand in a segment which jumps out and back by itself.

    Both jumps have to exceed what is usual for the node: where nothing but the estimate moved, the
    others did. Of three readings or more, a last jump of less than half the way is a place that
    settles, unless the readings jump as far among themselves. At the ends of a record nobody knows,
    and where a node does not go smoothly in time, the estimate alone decides.

    Parameters
    ----------
    X
        Slots × nodes, NaN = not observed.
    flagged
        Readings in question, True only where something was observed.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> X = np.arange(30.0)[:, None] / 100
    >>> X[10:20, 0] += np.linspace(1.0, 0.1, 10)  # a door
    >>> X[25:28, 0] += 1.0
    >>> out = np.isin(np.arange(30), [*range(10, 20), 25, 26, 27])[:, None]
    >>> np.flatnonzero(jumping(X, out)).tolist()
    [25, 26, 27]
    """
    values, _ = bounded(X)
    out = flagged.copy()
    for n in np.flatnonzero(flagged.any(axis=0)):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        readings = values[at, n]
        jumps = np.abs(np.diff(readings))
        sound = readings[~flagged[at, n]]
        if sound.size < SHORTEST or not smooth(sound):
            continue
        usual = np.quantile(jumps, USUAL)
        for a, b in zip(*stretches(flagged[at, n]), strict=True):
            if 0 < a and b < at.size:
                ends = min(jumps[a - 1], jumps[b - 1])
                out[at[a:b], n] = ends > usual and not settles(readings[a - 1 : b + 1])
    return out


def settles(part: Array) -> bool:
    """Whether readings, with one before and one after, come back by small steps."""
    if part.size < SHORTEST + 2:
        return False
    straight = np.linspace(part[0], part[-1], part.size)
    off = PART * np.abs(part - straight).max()
    return bool(abs(part[-1] - part[-2]) < off and np.abs(np.diff(part[1:-1])).max() < off)
