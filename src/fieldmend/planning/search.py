"""Which schedules are tried: a coarse walk over all shares, then closely where the error is met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from fieldmend.grid import Array, Grid
from fieldmend.planning.replay import Played, Replay
from fieldmend.planning.schedule import Schedule
from fieldmend.planning.scoring import BLOCKS, few_days

COARSE = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Of so many readings one is sent."""
FINE = 1.04  # ratio of two shares that are tried
ALIKE = 1.03  # ratio of two shares that are no reason to prefer one
BEYOND = 1.3  # times the first that missed the error: so far one looks for another that meets it


@dataclass(frozen=True)
class Asked:
    """The error that is asked of a condition."""

    condition: str
    error: float

    def meets(self, played: Played) -> bool:
        """Whether the replay is within it, doubt included."""
        return played.scores[self.condition].high <= self.error

    def hopeless(self, played: Played) -> bool:
        """Whether it clearly misses: what is thinner and meets the error does so by luck."""
        return played.scores[self.condition].low > self.error


Make = Callable[[float], Schedule | None]
"""A schedule that sends about one in so many; None where there is none."""


def explore(
    replay: Replay, design: str, asked: Asked, say: Callable[[], object] = lambda: None
) -> list[Played]:
    """Everything that was tried of a design, the most messages first."""
    make = maker(replay, design, asked.condition)
    tried: dict[float, Played] = {}

    def at(few: float) -> Played | None:
        schedule = make(few)
        if schedule is None:
            return None
        say()
        tried[few] = replay.play(schedule)
        return tried[few]

    met, missed = 1.0, 0.0
    for few in COARSE:
        found = at(few)
        if found is None:  # beyond what the record can tell; up to there it can
            missed = missed or few
            break
        if asked.meets(found):
            met, missed = few, 0.0
        elif not missed:
            missed = few
        if asked.hopeless(found):
            break
    for closer in _between(met, missed, whole=design != "change"):
        found = at(closer)
        if found is not None and asked.meets(found):
            break
    every = {id(one): one for one in tried.values() if one.share < 1.0}
    return sorted(every.values(), key=lambda one: -one.share)


def _between(met: float, missed: float, *, whole: bool) -> list[float]:
    """What to try between one in so many that met the error and one that did not, fewest first.

    And a little beyond: errors rise with the interval, but not with every step of it.
    """
    if not missed:
        return []
    out: list[float] = []
    at = met * FINE
    while at < missed * BEYOND:
        few = float(round(at)) if whole else at
        if few > met and few not in (missed, *out):
            out.append(few)
        at *= FINE
    return out[::-1]


def longest_interval(grid: Grid) -> float:
    """Slots: every node is heard in each block, or blocks would not tell how sure an error is.

    Twice as often where blocks cannot tell it in any case: on a record without three days.
    """
    heard = 2 if few_days(len(grid.times), grid.slot) else 1
    return len(grid.times) / (heard * BLOCKS)


def maker(replay: Replay, design: str, condition: str) -> Make:
    """Schedules of a design by how few of the readings they send."""
    grid = replay.grid
    longest = longest_interval(grid)

    def clock(few: float) -> Schedule | None:
        every = round(few)
        return Schedule.of(design, grid, every) if every <= longest else None

    if design != "change":
        return clock
    steps = Steps.of(grid.values[condition])

    def change(few: float) -> Schedule | None:
        if few > longest:
            return None
        return _sending(replay, condition, 1.0 / few, steps)

    return change


@dataclass(frozen=True)
class Steps:
    """The changes that are tried: between two steps of the sensor, where readings come in steps."""

    step: float  # 0 where they do not
    largest: float

    @classmethod
    def of(cls, X: Array) -> Steps:
        """From readings.

        Examples
        --------
        >>> Steps.of(np.array([[1.0, 1.1], [1.3, 1.2], [1.1, np.nan]])).step
        0.1
        """
        values = X[np.isfinite(X)]
        levels = np.unique(values)
        if levels.size < 2:
            return cls(0.0, 1.0)
        gaps = np.diff(levels)
        step = float(f"{np.median(gaps):.3g}")  # a sensor's step has few digits; floats have many
        steady = np.abs(gaps / step - np.round(gaps / step)) < 0.02 if step > 0 else np.zeros(1)
        largest = float(levels[-1] - levels[0])
        return cls(step if np.mean(steady) > 0.99 else 0.0, largest)

    def at(self, change: float) -> float:
        """The nearest change that is tried, and never one that a reading can be exactly off by."""
        if self.step:
            return float(f"{(max(ceil(change / self.step), 1) - 0.5) * self.step:.6g}")
        return float(f"{change:.3g}")


def _sending(replay: Replay, condition: str, share: float, steps: Steps) -> Schedule | None:
    """On change, by as much as makes nodes send about this share of their readings."""
    low, high = 0.0, steps.largest
    found: dict[float, float] = {}
    for _ in range(16):
        change = steps.at((low + high) / 2 if low == 0 or high / low > 4 else (low * high) ** 0.5)
        if change in found or change <= 0:
            break
        found[change] = replay.share(_on_change(replay, condition, change))
        low, high = (change, high) if found[change] > share else (low, change)
        if abs(found[change] / share - 1) < 0.02:
            break
    if not found:
        return None
    best = min(found, key=lambda change: abs(np.log(max(found[change], 1e-9) / share)))
    return _on_change(replay, condition, best)


def _on_change(replay: Replay, condition: str, change: float) -> Schedule:
    return Schedule.of("change", replay.grid, changes={condition: change})


def best_of(tried: Sequence[Played], asked: Sequence[Asked]) -> Played | None:
    """The fewest messages of those within every error that is asked for.

    Of designs that send as few as each other, the one with the smallest errors.
    """
    within = [one for one in tried if all(each.meets(one) for each in asked)]
    fewest = min((one.share for one in within), default=0.0)
    alike = [one for one in within if one.share <= ALIKE * fewest]

    def worst(one: Played) -> float:
        return max(one.scores[each.condition].high / each.error for each in asked)

    return min(alike, key=worst, default=None)
