"""Months, quarters and years: steps of the calendar, which differ in length."""

from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]

DAY = 86_400 * 1_000_000
YEAR = 31_556_952 * 1_000_000  # the Gregorian mean: its parts never run away from the calendar
PERIODS = (
    ("months", 28 * DAY, 31 * DAY, YEAR // 12),
    ("quarters", 90 * DAY, 92 * DAY, YEAR // 4),
    ("years", 365 * DAY, 366 * DAY, YEAR),
)
ALIKE = 0.9  # share of stamps on one day of the month


def period(t: Ints, step: int) -> tuple[int, str] | None:
    """The mean length of the calendar's period that stamps come at, and its name, or None.

    They do if their step is about as long, and nearly all are of one day of the month, or of the
    last one: every 28 days is no month. Days are those of any zone.

    Examples
    --------
    >>> t = np.arange("2000-01", "2004-01", dtype="M8[M]").astype("M8[us]").astype(np.int64)
    >>> period(t, 31 * DAY)
    (2629746000000, 'months')
    >>> period(np.arange(9) * 28 * DAY, 28 * DAY) is None
    True
    """
    for name, shortest, longest, mean in PERIODS:
        if shortest <= step <= longest and _one_day(t):
            return mean, name
    return None


def _one_day(t: Ints) -> bool:
    """Whether stamps are of one day of the month, or of its last, wherever midnight is."""
    return any(_alike(np.unique((t + hours) // DAY)) for hours in range(0, DAY, DAY // 4))


def _alike(day: Ints) -> bool:
    month = day.astype("M8[D]").astype("M8[M]")
    of_month = day - month.astype("M8[D]").astype(np.int64)
    last = int(np.count_nonzero((day + 1).astype("M8[D]").astype("M8[M]") > month))
    return max(int(np.bincount(of_month).max()), last) >= ALIKE * len(day)
