"""Directions and meters at once: where a node was, and how the others have moved since.

The filter knows straight lines only. A vane turns with the wind, a meter counts on with the hour:
what is common to the nodes is the median of their steps from slot to slot, a meter's in parts of
its own usual step. A node is expected where it was last believed, moved by so much of what was
common since as moves of the past had of it. Every reading that comes says how far off that was;
those errors, by the length of the gap before them, are the intervals, wider while more of late
were beyond them than should be, and narrower while fewer were.

A vane that turns alone is what wind does: no direction is called false at once. A meter that falls
is, unless it begins again from nothing, and one that leaps; the next reading tells whether it was
set anew.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Mask
from fieldmend.grid import Array
from fieldmend.live.afresh import KINDS, LEAST
from fieldmend.live.pacing import moved
from fieldmend.quantities import Kind, Quantity, circle, identify
from fieldmend.quantities.counter import JUMP

ENOUGH = 4  # nodes with a step from the last slot: in fewer, the median is one node's own
FEWEST = 100  # errors that an interval is told from
STRIDES = 20  # steps of a meter that tell which one is a leap
KEPT = 3000  # errors of each length of gap, the newest
OFTEN = 6  # slots after which widths are told anew
STEADY = 0.99  # of a meter's usual step, and of what was learnt of common moves, stays a slot later
CLASSES = 12  # of gaps, each twice as long as the one before


@dataclass(frozen=True)
class Onwards:
    """One slot of one condition, an entry a node; NaN where nothing can be said."""

    estimate: Array
    lower: Array
    upper: Array
    believed: Mask


def begun(name: str, unit: str, rows: list[Array], level: float) -> Onward | None:
    """What follows a condition of these first slots; None where it is no direction or meter."""
    width = len(rows[-1])
    X = np.array([np.r_[row, np.full(width - len(row), np.nan)] for row in rows])
    found = identify(name, unit, X)
    if len(X) < LEAST or found.kind not in KINDS:
        return None
    out = Onward(found, level, signed=bool((X < 0).any()))
    for row in X:
        out.follow(row)
    return out


class Onward:
    """One condition, slot by slot.

    Parameters
    ----------
    quantity
        What it is: circular, or a meter.
    level
        Of its intervals.
    signed
        Whether directions are told from −180°, not from 0.

    Examples
    --------
    >>> meters = Onward(identify("energy_total", "", np.zeros((0, 1))), 0.9)
    >>> for t in range(200):
    ...     _ = meters.follow(t * np.arange(1.0, 7.0))
    >>> now = meters.follow(np.r_[200.0, 400.0, 600.0, 800.0, 7.0e9, np.nan])
    >>> float(now.estimate[5].round(6)), now.believed.tolist()
    (1200.0, [True, True, True, True, False, False])
    """

    def __init__(self, quantity: Quantity, level: float, *, signed: bool = False) -> None:
        self.period = quantity.period if quantity.kind is Kind.CIRCULAR else 0.0
        self.level, self.signed = level, signed
        self.slot, self.common = 0, 0.0  # slots so far, and the sum of their common steps
        self.newest = np.zeros(0)  # the last slot's believed readings
        self.last = np.zeros(0)  # last believed reading
        self.at = np.zeros(0)  # its slot
        self.common_at = np.zeros(0)  # the common sum by then
        self.rate = np.zeros(0)  # a meter's usual step; 1 for directions
        self.stride = np.zeros(0)  # a meter's usual step while it counts
        self.strides = np.zeros(0)  # how many of them were seen
        self.doubted = np.zeros(0)  # a reading that was not believed, after the last that was
        self.shared = np.zeros(2)  # Σ own·common, Σ common² of moves beyond the usual ones
        self.errors = [deque[float](maxlen=KEPT) for _ in range(CLASSES)]
        self.widths = np.full(CLASSES, np.nan)
        self.wide = np.ones(CLASSES)  # times that they have to be now

    def follow(self, y: Array) -> Onwards:
        """One slot further: its readings, NaN where there is none."""
        self._widen(len(y))
        self.slot += 1
        if self.slot % OFTEN == 0:
            self._learn()
        seen, gap = np.isfinite(y), self.slot - self.at
        step, others = self._steps(y)
        self.common += step
        with np.errstate(invalid="ignore", divide="ignore"):
            usual = gap * self._usual
            beside = self.common - self.common_at - usual
            expected = self.last + self.rate * (usual + self._weight * beside)
            off = self._apart(y - expected) / self.rate
            own = self._apart(y - self.last) / self.rate - usual
        false = self._false(y, gap)
        # What goes on from a reading that was not believed: a meter was set, or another is there.
        anew = false & (y >= self.doubted) & (y - self.doubted <= self._leap(gap))
        believed = seen & (~false | anew)
        told = self._told(y, expected, gap, believed)
        heard = believed & ~anew & np.isfinite(off)
        self._note(np.abs(off), self._class(gap), heard)
        both = heard & (gap == 1) & np.isfinite(others)
        mine, theirs = own[both], others[both] - self._usual
        self.shared = STEADY * self.shared + np.array([mine @ theirs, theirs @ theirs])
        self.doubted = np.where(believed, np.nan, np.where(false, y, self.doubted))
        self._take(y, believed, anew)
        return told

    @property
    def _usual(self) -> float:
        """Steps of a slot in which nothing is known of the others."""
        return 0.0 if self.period else 1.0

    @property
    def _weight(self) -> float:
        """How much of a common move a node makes with the others."""
        both, common = self.shared
        return float(np.clip(both / common, 0.0, 1.0)) if common > 0 else 0.0

    def _false(self, y: Array, gap: Array) -> Mask:
        """Meters that fall, but not to about nothing, or leap."""
        out: Mask = np.zeros(len(y), np.bool_)
        if not self.period:
            leap = self._leap(gap)
            again = (y >= 0) & (y <= leap)
            out = ((y < self.last) & ~again) | (y - self.last > leap)
        return out

    def _leap(self, gap: Array) -> Array:
        """What no meter counts in such a time."""
        out: Array = np.where(self.strides >= STRIDES, JUMP * self.stride * gap, np.inf)
        return out

    def _steps(self, y: Array) -> tuple[float, Array]:
        """What is common to the steps of nodes heard in this slot and the last one: their median.

        And the same for each of them without its own: how much of it a node makes must not be
        learnt from its own step.
        """
        others = np.full(len(y), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            steps = self._apart(y - self.newest) / self.rate
        at = np.flatnonzero(np.isfinite(steps) & ((steps >= 0) | (self.period > 0)))
        if len(at) < ENOUGH:
            return self._usual, others
        at = at[np.argsort(steps[at])]
        found, rank = steps[at], np.arange(len(at))
        low, high = (len(at) - 2) // 2, (len(at) - 1) // 2  # the middle of one fewer
        others[at] = (found[low + (low >= rank)] + found[high + (high >= rank)]) / 2
        return float(np.median(found)), others

    def _take(self, y: Array, believed: Mask, anew: Mask) -> None:
        if not self.period:
            with np.errstate(invalid="ignore"):
                pace = (y - self.last) / (self.slot - self.at)
                counted = believed & ~anew & (pace >= 0)
                mixed = STEADY * self.rate + (1.0 - STEADY) * pace
                stride = self.stride + (pace - self.stride) / (self.strides + 1.0)
            first = counted & np.isnan(self.rate) & (pace > 0)
            self.rate = np.where(first, pace, np.where(counted & (mixed > 0), mixed, self.rate))
            some = counted & (pace > 0)
            self.stride = np.where(first, pace, np.where(some, stride, self.stride))
            self.strides = np.minimum(self.strides + some, 1.0 / (1.0 - STEADY))
        self.newest = np.where(believed, y, np.nan)
        self.last = np.where(believed, y, self.last)
        self.at = np.where(believed, self.slot, self.at)
        self.common_at = np.where(believed, self.common, self.common_at)

    def _note(self, off: Array, kind: Array, which: Mask) -> None:
        off, kind = off[which], kind[which]
        for k in np.unique(kind).tolist():
            its = off[kind == k]
            if len(self.errors[k]) >= FEWEST and np.isfinite(self.widths[k]):
                beyond = float(np.mean(its > self.wide[k] * self.widths[k]))
                self.wide[k] = moved(self.wide[k], beyond - (1.0 - self.level))
            self.errors[k].extend(its.tolist())

    def _told(self, y: Array, expected: Array, gap: Array, believed: Mask) -> Onwards:
        """A believed reading is its own estimate, as sure as the next slot is known from it."""
        estimate = np.where(believed, y, expected)
        half = self._half(np.where(believed, 1.0, gap)) * self.rate
        estimate = np.where(np.isfinite(half), estimate, np.nan)
        if self.period:
            half = np.minimum(half, self.period / 2)
            start = -self.period / 2 if self.signed else 0.0
            estimate = circle.first_turn(estimate, self.period, start)
            return Onwards(estimate, estimate - half, estimate + half, believed)
        floor = np.where(believed, y, self.last)  # no meter falls
        return Onwards(estimate, np.maximum(estimate - half, floor), estimate + half, believed)

    def _half(self, gap: Array) -> Array:
        """Half an interval after such gaps, in usual steps, as wide as it has to be now."""
        known = [k for k, kept in enumerate(self.errors) if len(kept) >= FEWEST] or [0]
        wide = np.interp(np.arange(CLASSES), known, self.wide[known])
        out: Array = (wide * self.widths)[self._class(gap)]
        return out

    def _apart(self, difference: Array) -> Array:
        return circle.turned(difference, self.period) if self.period else difference

    @staticmethod
    def _class(gap: Array) -> Array:
        since = np.maximum(np.nan_to_num(gap, nan=1.0), 1.0)
        out: Array = np.clip(np.log2(since), 0, CLASSES - 1).astype(np.intp)
        return out

    def _learn(self) -> None:
        """Half an interval for each length of gap.

        By the errors of gaps as long; between two such lengths, in between. Beyond the longest,
        turns add up as what has nothing to do with each other; a pace that is off stays off.
        """
        known = [k for k, kept in enumerate(self.errors) if len(kept) >= FEWEST]
        if not known:
            return
        tiny = np.finfo(float).tiny
        width = [np.quantile(np.fromiter(self.errors[k], float), self.level) for k in known]
        each = np.arange(CLASSES)
        growth = 0.5 if self.period else 1.0
        beyond = growth * np.log(2.0) * np.maximum(each - known[-1], 0)
        self.widths = np.exp(np.interp(each, known, np.log(np.maximum(width, tiny))) + beyond)

    def _widen(self, nodes: int) -> None:
        """Room for nodes that have joined."""
        nothing = np.full(nodes - len(self.last), np.nan)
        if not nothing.size:
            return
        self.newest, self.last = np.r_[self.newest, nothing], np.r_[self.last, nothing]
        self.at, self.common_at = np.r_[self.at, nothing], np.r_[self.common_at, nothing]
        rate = np.ones(len(nothing)) if self.period else nothing
        self.rate, self.stride = np.r_[self.rate, rate], np.r_[self.stride, nothing]
        self.doubted, self.strides = np.r_[self.doubted, nothing], np.r_[self.strides, 0 * rate]
        self.strides = np.nan_to_num(self.strides)
