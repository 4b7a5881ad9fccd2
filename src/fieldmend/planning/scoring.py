"""The error of a replay: what it is, how sure, and at which node it is worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.grid import Array

BLOCKS = 8
SURE = 1.9
"""Standard errors above the error: where the quantile 0.95 of Student's t with seven degrees of
freedom lies. Later days may be worse than the record's, but seldom by more."""
DAY = 86_400_000_000  # µs
FEWEST_DAYS = 2.9  # days that a doubt can be told from: of two, nobody knows what days differ by
FEWEST = 8  # readings of a node that its error is told of
AHEAD = 2**0.5
"""Times the doubt of a record of fewer days. Its blocks are hours of the same days: what comes is
another draw, no more alike to it than its hours to each other, and the doubts of both add up."""


@dataclass(frozen=True)
class Score:
    """How far off readings are that were not sent.

    Attributes
    ----------
    error
        Mean absolute error, or a quantile of the absolute error.
    doubt
        Its standard error, from eight blocks of the record.
    worst
        Column of the node with the largest error, and that error.
    count
        Readings that it is of.
    """

    error: float
    doubt: float
    worst: tuple[int, float]
    count: int

    @property
    def low(self) -> float:
        """Lower end of its interval."""
        return max(0.0, self.error - SURE * self.doubt)

    @property
    def high(self) -> float:
        """Upper end of its interval: what is held against the error that was asked for."""
        return self.error + SURE * self.doubt


NOTHING = Score(0.0, 0.0, (-1, 0.0), 0)
"""Everything is sent: nothing to be off at."""


def score(
    off: Array, block: Array, quantile: float | None = None, *, few_days: bool = False
) -> Score:
    """The error of what is not NaN.

    What blocks differ by and what phases differ by add up: later days have another of each.

    Parameters
    ----------
    off
        Distances from the readings, phases × slots × nodes; NaN where nothing is scored.
    block
        Number of each slot's block.
    quantile
        Of the distances; their mean if None.
    few_days
        Whether the record is too short to tell what days differ by.

    Examples
    --------
    >>> off = np.tile([1.0, 3.0], (1, 80, 1))
    >>> found = score(off, np.arange(80) // 10)
    >>> found.error, found.doubt, found.worst
    (2.0, 0.0, (1, 3.0))
    """
    scored = np.isfinite(off)
    if not scored.any():
        return NOTHING
    by_block = [statistic(off[:, block == b], quantile) for b in np.unique(block)]
    known = np.array([one for one in by_block if np.isfinite(one)])
    doubt = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.inf
    if len(off) > 1:
        doubt = float(np.hypot(doubt, np.std([statistic(one, quantile) for one in off], ddof=1)))
    doubt *= AHEAD if few_days else 1.0
    enough = np.flatnonzero(scored.sum(axis=(0, 1)) >= FEWEST)
    by_node = {int(n): statistic(off[:, :, n], quantile) for n in enough}
    worst = max(by_node.items(), key=lambda item: item[1], default=(-1, np.nan))
    return Score(statistic(off, quantile), doubt, worst, int(scored.sum()))


def statistic(off: Array, quantile: float | None) -> float:
    """Mean or quantile of what is not NaN; NaN of nothing."""
    values = off[np.isfinite(off)]
    if not values.size:
        return float("nan")
    return float(values.mean() if quantile is None else np.quantile(values, quantile))


def few_days(slots: int, slot: int) -> bool:
    """Whether nobody knows from so many slots what days differ by."""
    return slots * slot < FEWEST_DAYS * DAY


def blocks_of(slots: int, slot: int) -> Array:
    """The number of each slot's block: eight of equal length, of whole days where days suffice.

    Examples
    --------
    >>> np.bincount(blocks_of(12 * 24, 3_600_000_000)).tolist()
    [48, 24, 48, 24, 48, 24, 48, 24]
    """
    number = np.arange(slots)
    days = int(number[-1] * slot // DAY) + 1 if slots else 0
    if days < BLOCKS:
        return number * BLOCKS // max(slots, 1)
    return np.minimum(number * slot // DAY, days - 1) * BLOCKS // days
