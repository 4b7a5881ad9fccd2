"""Meters: solved as what they counted from slot to slot, back as what they show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fieldmend.diagnostics import gap_at
from fieldmend.field.holdout import Holdout
from fieldmend.grid import Array
from fieldmend.holdout.drawing import draw
from fieldmend.quantities import counter
from fieldmend.recovery.solving import Around, Bounded, Solved, Solver
from fieldmend.recovery.windows import Window

SEED = 31  # apart from the seeds of other hold-outs


@dataclass(frozen=True)
class OnMeter:
    """A solver of amounts makes one of meters.

    A reading is what the meter shows: estimates pass through it. Between two readings they never
    fall, and the interval lies between the two: what was counted in all is known, only when is not.
    """

    base: Solver
    level: float
    seed: int

    def __call__(self, evidence: Array, around: Around) -> Solved:
        """What every meter shows in every slot of a window."""
        found = counter.counted(evidence)
        level = around.level
        solved = self.base(found.amount, replace(around, level=np.zeros_like(level), others=()))
        estimate = counter.shown(found.readings, _not_below_zero(solved.estimate))
        room = _room(found.readings, estimate)
        held = self._held(evidence, around.window)
        silent = ~np.isfinite(evidence).any(axis=0)
        if silent.any() and not silent.all():
            usual = np.median(estimate[:, ~silent], axis=1, keepdims=True)
            estimate[:, silent] = usual + level[silent]
        lower = upper = None
        if held is not None:
            lower, upper = _around(estimate, room, held[1])
        return replace(
            solved,
            estimate=estimate,
            lower=lower,
            upper=upper,
            suspect=found.misread,
            holdout=None if held is None else held[0],
            fitted=None,
            again=None,
            judged=None,
            choice=f"{solved.choice}, solved as what was counted in each slot".lstrip(", "),
        )

    def hidden(self, left: Array, window: Window, columns: Array) -> Bounded:
        """What meters show in all slots, from the readings that are left of them."""
        found = counter.counted(left)
        heard = np.isfinite(found.amount).any(axis=0)
        if not heard.any():
            return counter.shown(found.readings, np.zeros(left.shape)), None, None
        solved = self.base.hidden(found.amount[:, heard], window, columns[heard])[0]
        amount = np.repeat(np.median(solved, axis=1, keepdims=True), left.shape[1], axis=1)
        amount[:, heard] = solved
        amount = _not_below_zero(amount)
        return counter.shown(found.readings, amount), None, None

    def _held(self, evidence: Array, window: Window) -> tuple[Holdout, float] | None:
        """Hidden readings, and how many times the room between two readings an interval takes."""
        heard = np.flatnonzero(np.isfinite(evidence).sum(axis=0) > 1)
        if not len(heard):
            return None
        readings = counter.counted(evidence[:, heard]).readings
        seen: Array = np.isfinite(readings)
        hidden = draw(seen, ~seen, self.seed + SEED).mask
        if not hidden.any():
            return None
        left = np.where(hidden, np.nan, readings)
        left[:, ~np.isfinite(left).any(axis=0)] = readings[:, ~np.isfinite(left).any(axis=0)]
        hidden &= ~np.isfinite(left)
        estimate = self.hidden(left, window, heard)[0]
        room = _room(left, estimate)
        truth, at = readings[hidden], estimate[hidden]
        width = room.width[hidden]
        off = np.abs(truth - at)
        wide = width > 0
        factor = float(np.quantile(off[wide] / width[wide], self.level)) if wide.any() else 0.0
        lower, upper = _around(estimate, room, factor)
        rows, columns = np.nonzero(hidden)
        gap = gap_at(np.isfinite(left))[hidden]
        everyone = np.flatnonzero(np.isfinite(evidence).any(axis=0))
        places = np.searchsorted(everyone, heard[columns])
        return Holdout(rows, places, truth, at, lower[hidden], upper[hidden], gap), factor


@dataclass(frozen=True)
class Room:
    """What a meter can show at each place, at least and at most; and how uncertain that is."""

    low: Array
    high: Array
    width: Array


def _room(readings: Array, estimate: Array) -> Room:
    """Between the readings around a gap; open beyond the last one and where it was set back.

    The width is that of a bridge: nothing at its ends, most in the middle.
    """
    slots = len(readings)
    low, high = np.full(readings.shape, -np.inf), np.full(readings.shape, np.inf)
    width = np.zeros(readings.shape)
    for n in range(readings.shape[1]):
        at = np.flatnonzero(np.isfinite(readings[:, n]))
        if not at.size:
            continue
        values = readings[at, n]
        low[at, n], high[at, n] = values, values
        step = np.diff(values)
        usual = float(np.median(step[step >= 0])) if (step >= 0).any() else 0.0
        for a, b in pairwise(at.tolist()):
            inside = slice(a + 1, b)
            share = (np.arange(a + 1, b) - a) / (b - a)
            rise = readings[b, n] - readings[a, n]
            bridge = np.sqrt(share * (1 - share))
            if rise >= 0:
                low[inside, n], high[inside, n] = readings[a, n], readings[b, n]
                width[inside, n] = rise * bridge
            else:
                low[inside, n] = 0.0
                width[inside, n] = max(readings[a, n], readings[b, n]) * bridge
        first, last = at[0], at[-1]
        high[:first, n], low[last + 1 :, n] = values[0], values[-1]
        ahead, after = first - np.arange(first), np.arange(last + 1, slots) - last
        width[:first, n] = np.abs(values[0] - estimate[:first, n]) + usual * np.sqrt(ahead)
        width[last + 1 :, n] = estimate[last + 1 :, n] - values[-1] + usual * np.sqrt(after)
    return Room(low, high, width)


def _around(estimate: Array, room: Room, factor: float) -> tuple[Array, Array]:
    half = factor * room.width
    with np.errstate(invalid="ignore"):
        lower = np.minimum(np.maximum(estimate - half, room.low), estimate)
        upper = np.maximum(np.minimum(estimate + half, room.high), estimate)
    return lower, upper


def _not_below_zero(amount: Array) -> Array:
    return np.asarray(np.maximum(np.nan_to_num(amount, nan=0.0), 0.0))
