"""Places that settle: a lasting departure that goes away by and by is no fault of the sensor.

A sensor that fails comes back in one step, when somebody has been there or it was started anew, or
not at all. A well recovers from pumping, a rack from a job, a stream from a flood: step by step.
"""

from __future__ import annotations

import numpy as np

from fieldmend.faults.jumping import settles
from fieldmend.faults.stretches import (
    Array,
    Mask,
    joined,
    middle,
    node_medians,
    slot_medians,
    stretches,
)

# Readings that do not part a stretch; slots between its last reading and the next at the most.
JOINED, NEXT = 7, 6
# Share of its readings for which a place may have been elsewhere, and how closely it may have gone
# with the network then: a sensor with a wrong unit or gain comes back with the day, too.
AWAY, ALIKE = 0.1, 0.9


def settled(values: Array, found: Mask) -> Mask:
    """Stretches of `found` that end by small steps, back to where the node was.

    Not if what the node does there is what all do, only more of it: a unit or a gain. Asked of
    readings without what all nodes do: over days the field itself moves. At the ends of a record,
    and where nothing was heard when it ended, nobody knows.

    Parameters
    ----------
    values
        Slots × nodes, NaN = not observed.
    found
        Readings in question.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> field = np.tile(np.sin(np.arange(400.0) / 9)[:, None], (1, 5))
    >>> field[200:230, 0] += 5 * np.exp(-np.arange(30) / 8)
    >>> field[200:230, 1] += 5.0
    >>> out = settled(field, np.abs(field - field[:, [3]]) > 0.5)
    >>> bool(out[:, 0].any()), bool(out[:, 1].any())
    (True, False)
    """
    out = np.zeros(found.shape, dtype=np.bool_)
    if not found.any():
        return out
    sound = np.where(found, np.nan, values)
    level = node_medians(sound)
    common = np.nan_to_num(slot_medians(sound - level))
    own = values - level - common[:, None]
    for n in np.flatnonzero(found.any(axis=0)):
        at = np.flatnonzero(~np.isnan(own[:, n]))
        series = own[at, n]
        parts = [
            (a, b)
            for a, b in zip(*stretches(joined(found[at, n], JOINED)), strict=True)
            if 0 < a
            and b < at.size
            and at[b] - at[b - 1] <= NEXT
            and _comes_back(series, a, b)
            and not _more_of_it(series[a:b], common[at[a:b]])
        ]
        if sum(b - a for a, b in parts) <= AWAY * at.size:
            for a, b in parts:
                out[at[a:b], n] = True
    return out & found


def _comes_back(series: Array, start: int, stop: int) -> bool:
    """Whether a stretch ends by small steps, and near where it began."""
    before, after = middle(series[max(start - 3, 0) : start]), middle(series[stop : stop + 3])
    away = float(np.abs(series[start:stop] - before).max())
    return abs(after - before) < 0.5 * away and settles(series[start - 1 : stop + 1])


def _more_of_it(own: Array, common: Array) -> bool:
    """Whether a departure follows the course of the network, as it is and in more than its trend.

    Over hours most things rise or fall, and what is left of two of them is bent alike.
    """
    place = np.linspace(-1.0, 1.0, own.size)
    level = np.ones((own.size, 1))
    return _alike(own, common, level) and _alike(own, common, np.column_stack([level, place]))


def _alike(own: Array, common: Array, known: Array) -> bool:
    """Whether one is the other times a number, but for what is known anyway."""
    x, y = (part - known @ np.linalg.lstsq(known, part, rcond=None)[0] for part in (common, own))
    size = float((x @ x) * (y @ y))
    return size > 0 and float(x @ y) ** 2 > ALIKE * size
