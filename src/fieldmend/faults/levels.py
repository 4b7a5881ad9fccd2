"""Nodes that leave their level for long or for good, against what the other nodes imply."""

from __future__ import annotations

import numpy as np

from fieldmend.faults.implied import Implied
from fieldmend.faults.labels import Context
from fieldmend.faults.shifts import Blocks, began_at_home, outstanding
from fieldmend.faults.stretches import Array, Mask, joined, node_medians, rolling, slot_medians


def shifted(values: Array, field: Implied, left_out: Mask, context: Context) -> Mask:
    """Readings of nodes that left their level, against what the others imply.

    Parameters
    ----------
    values
        Slots × nodes.
    field
        What the others imply of `values`.
    left_out
        Readings known to be false.
    context
        Its slot length tells what a day is: what lasts for hours is left to other tests.

    Returns
    -------
    ndarray of bool
        Readings a third of the way or more from where the node belongs.
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    residual = np.where(left_out, np.nan, field.residual)
    off = values - slot_medians(values)[:, None]
    shifts = outstanding(Blocks.of(residual), context, distances=Blocks.of(off).told)
    if not shifts:
        return out
    levels = node_medians(off)
    for shift in shifts:
        n, home, size = shift.node, shift.home, shift.size
        if shift.inside.start == 0 and began_at_home(off[:, n], shift.inside.stop, levels):
            home, size = home + size, -size  # it began where it belongs, and left for good
        out[:, n] = away(residual[:, n] - home, size, shift.spread)
    return out & ~np.isnan(values)


def away(departure: Array, size: float, unrest: float) -> Mask:
    """Where a node is on the side of its shift, a third of the way or more, for most of the time.

    Readings that came back are good: at least half of those around a false one are off.
    """
    heard = np.flatnonzero(~np.isnan(departure))
    limit = max(abs(size) / 3, 2 * unrest)
    off = departure[heard] * np.sign(size) > limit
    crowd = rolling(off.astype(float), 15) >= 0.5
    out = np.zeros(departure.size, dtype=np.bool_)
    out[heard] = off & joined(crowd, 15)
    return out
