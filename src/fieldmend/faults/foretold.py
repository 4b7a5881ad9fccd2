"""Single readings that the node's other conditions foretell: a storm of one day.

Means, extremes and sums of a day are of many packets: no corrupt one makes them depart together.
Gusts of 39 beside a mean wind of 13 are a storm, beside one of 4 they are not. In shorter slots a
reading may be a packet, and one that is corrupt spoils all conditions. A day in another unit does
so, too: what is far beyond anything that the other conditions ever foretold is no event.
"""

from __future__ import annotations

import numpy as np

from fieldmend.faults.stretches import Array

LONG = 86_400_000_000  # µs: slots whose readings are summaries
OF_IT, BEYOND = 0.5, 2.0  # part of the departure that is foretold: half of it, twice at the most
# Times the most that was foretold of any other slot: a record storm, but no other unit.
FARTHER = 3.0
RARE = 0.02  # of the other slots as much is foretold
ROWS = 20  # slots for each condition that is asked


def foretold(columns: Array, flagged: Array, slots: Array) -> bool:
    """Whether the departure in some slots is what the other conditions say of it.

    Parameters
    ----------
    columns
        Slots × conditions of one node, each off its level and what the network does; the first is
        the one in question.
    flagged
        Its readings in question, which teach nothing.
    slots
        Those that are asked about.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.gamma(2.0, size=300)
    >>> both = np.column_stack([2 * mean + rng.normal(size=300) / 4, mean])
    >>> both[100], both[200, 0] = (24.0, 12.0), 24.0
    >>> odd = np.isin(np.arange(300), [100, 200])
    >>> foretold(both, odd, np.array([100])), foretold(both, odd, np.array([200]))
    (True, False)
    """
    there = np.isfinite(columns[slots, 1:]).all(axis=0)
    others = columns[:, 1:][:, there]
    quiet = np.isfinite(others).all(axis=1) & np.isfinite(columns[:, 0]) & ~flagged
    if not there.any() or np.count_nonzero(quiet) < ROWS * others.shape[1]:
        return False
    asked = np.column_stack([others, np.ones(len(others))])
    weights = np.linalg.lstsq(asked[quiet], columns[quiet, 0], rcond=None)[0]
    usual, said = asked[quiet] @ weights, asked[slots] @ weights
    off = columns[slots, 0]
    part = said / np.where(off == 0, np.inf, off)
    side = 1.0 if off.sum() > 0 else -1.0
    rare = float(np.mean(side * usual >= (side * said).min())) <= RARE
    heard_of = (side * said).max() <= FARTHER * (side * usual).max()
    return bool((part >= OF_IT).all() and (part <= BEYOND).all() and rare and heard_of)
