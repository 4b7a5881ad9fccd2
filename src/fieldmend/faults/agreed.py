"""Masks that the field refutes: readings set aside for long that are what was expected anyway.

A lasting mask hides a node's readings from the field, so what the field says there is a prediction
made without them. Where it comes true, nothing was wrong with them.
"""

from __future__ import annotations

import numpy as np

from fieldmend.faults.stretches import Array, Mask, joined, rolling, stretches

# Of a sound stretch nine in ten readings lie inside, and half of them within half of the way to
# the interval's end.
INSIDE, MIDDLE = 0.8, 0.6
# Readings that are looked at together, and that do not part a stretch.
TOGETHER = 15


def agreed(readings: Array, estimate: Array, interval: tuple[Array, Array], masked: Mask) -> Mask:
    """Masked readings that came out as the field said, which did not know them.

    Parameters
    ----------
    readings, estimate
        Slots × nodes; NaN = not observed.
    interval
        Lower and upper ends, of 90 % or so.
    masked
        Readings that the estimate was made without.

    Returns
    -------
    ndarray of bool
        Stretches of which most lie inside their interval, and half of them well inside; of other
        stretches the ends for which that holds: a node that dies was well before.

    Examples
    --------
    >>> field = np.zeros((60, 1))
    >>> seen = np.where(np.arange(60)[:, None] < 40, 0.1, 9.0)
    >>> masked = np.arange(60)[:, None] >= 10
    >>> out = agreed(seen, field, (field - 1, field + 1), masked)
    >>> bool(out[10:25].all()), bool(out[40:].any())
    (True, False)
    """
    lower, upper = interval
    out = np.zeros(masked.shape, dtype=np.bool_)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        off = readings - estimate
        room = np.where(off > 0, upper - estimate, estimate - lower)
        part = np.where(off == 0, 0.0, np.abs(off) / room)
    for n in np.flatnonzero(masked.any(axis=0)):
        at = np.flatnonzero(~np.isnan(readings[:, n]))
        marks = masked[at, n]
        for a, b in zip(*stretches(joined(marks, TOGETHER)), strict=True):
            own = at[a:b][marks[a:b]]
            out[own, n] = _ends(part[own, n])
    return out


def _ends(part: Array) -> Mask:
    """All of a stretch, if it is as expected; else its beginning and its end, if they are."""
    inside = part <= 1
    out = np.zeros(part.size, dtype=np.bool_)
    if _expected(part):
        return ~out
    well = rolling(inside.astype(float), TOGETHER) >= INSIDE
    for side in (slice(None), slice(None, None, -1)):
        # Up to the first place where it is not, and to the last reading inside before that.
        first = int(np.argmin(well[side]))
        kept = first - int(np.argmax(inside[side][:first][::-1])) if first else 0
        if kept and _expected(part[side][:kept]):
            out[side][:kept] = True
    return out


def _expected(part: Array) -> bool:
    return bool((part <= 1).mean() >= INSIDE and (part <= MIDDLE).mean() >= 0.5)
