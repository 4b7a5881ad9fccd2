"""Directions: solved as sines and cosines, back as an angle and an arc around it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.diagnostics import gap_at
from fieldmend.field.holdout import Holdout
from fieldmend.grid import Array
from fieldmend.holdout.drawing import draw
from fieldmend.quantities import circle
from fieldmend.recovery.solving import Around, Bounded, Solved, Solver
from fieldmend.recovery.windows import Window

SEED = 29  # apart from the seeds of other hold-outs
SHORTEST = 0.05  # length of a mean vector: shorter ones point anywhere
FEWEST = 100  # hidden readings that an arc of its own needs, by length of the gap
GAPS = (1, 4, 16, 64)  # shortest gap of each class


@dataclass(frozen=True)
class OnCircle:
    """A solver of channels makes one of angles.

    Angles are counted from where all readings together point to: turned readings then give turned
    estimates. They come back from `start` to a turn later, and lower and upper ends of the arc
    around them on the same turn as the estimate, though they may reach beyond it: 350 ± 20 is
    330 to 370. So lower ≤ estimate ≤ upper always holds, and a reading lies inside if it does on
    the turn nearest to the estimate.
    """

    base: Solver
    period: float
    zero: float
    start: float
    level: float
    seed: int

    def __call__(self, evidence: Array, around: Around) -> Solved:
        """The field at every node and slot of a window."""
        both = circle.channels(evidence, self.period, self.zero)
        # Sines and cosines have no use for the level of an angle, nor for columns in other units.
        bare = replace(around, level=np.zeros(both.shape[1]), others=())
        solved = self.base(both, bare)
        if solved.method == "line":
            return replace(solved, estimate=self._line(evidence), suspect=None)
        estimate, raw = self._arc(solved.estimate, solved.lower, solved.upper)
        held = self._held(evidence, around.window)
        half = None if raw is None or held is None else self._half(raw, evidence, held[1])
        silent = ~np.isfinite(evidence).any(axis=0)
        if half is not None and silent.any():
            half[:, silent] = self.period / 2
        return replace(
            solved,
            estimate=estimate,
            lower=None if half is None else estimate - half,
            upper=None if half is None else estimate + half,
            suspect=np.zeros(evidence.shape, dtype=np.bool_),
            holdout=None if held is None else held[0],
            fitted=None,
            again=None,
            judged=None,
            choice=f"{solved.choice}, on the circle (sine and cosine)".lstrip(", "),
        )

    def hidden(self, left: Array, window: Window, columns: Array) -> Bounded:
        """The field of some nodes from the readings that are left of them."""
        both = circle.channels(left, self.period, self.zero)
        pair = np.concatenate([columns, columns])
        estimate, raw = self._arc(*self.base.hidden(both, window, pair))
        if raw is None:
            return estimate, None, None
        return estimate, estimate - raw, estimate + raw

    def _arc(
        self, channels: Array, lower: Array | None, upper: Array | None
    ) -> tuple[Array, Array | None]:
        """Angles, and the half of the arc that the channels' intervals span, not calibrated."""
        sine, cosine = np.hsplit(channels, 2)
        angle = circle.angle_of(sine, cosine, self.period, self.zero)
        estimate = circle.first_turn(angle, self.period, self.start)
        if lower is None or upper is None:
            return estimate, None
        of_sine, of_cosine = np.hsplit((upper - lower) / 2, 2)
        long = np.maximum(np.hypot(sine, cosine), SHORTEST)
        across = np.hypot(cosine * of_sine, sine * of_cosine) / long**2
        return estimate, across * self.period / (2 * np.pi)

    def _held(self, evidence: Array, window: Window) -> tuple[Holdout, Array] | None:
        """Readings hidden in both channels at once; and by class of gap, how much to widen arcs."""
        heard = np.flatnonzero(np.isfinite(evidence).any(axis=0))
        angles = evidence[:, heard]
        seen: Array = np.isfinite(angles)
        hidden = draw(seen, ~seen, self.seed + SEED).mask
        if not hidden.any():
            return None
        left = np.where(hidden, np.nan, angles)
        estimate, lower, _ = self.hidden(left, window, heard)
        rows, columns = np.nonzero(hidden)
        at = estimate[hidden]
        truth = circle.near(angles[hidden], at, self.period)
        gap = gap_at(np.isfinite(left))[hidden]
        if lower is None:
            return None
        raw = at - lower[hidden]
        widen = _widening(np.abs(truth - at) / np.maximum(raw, 1e-9), gap, self.level)
        half = np.minimum(raw * widen[_class(gap)], self.period / 2)
        found = Holdout(rows, columns, truth, at, at - half, at + half, gap)
        return found, widen

    def _half(self, raw: Array, evidence: Array, widen: Array) -> Array:
        gap = gap_at(np.isfinite(evidence))
        return np.asarray(np.minimum(raw * widen[_class(gap)], self.period / 2))

    def _line(self, evidence: Array) -> Array:
        from fieldmend.metrics import interpolate

        if not np.isfinite(evidence).any():
            return np.full(evidence.shape, np.nan)
        line = interpolate(circle.continuous(evidence, self.period))
        return circle.first_turn(line, self.period, self.start)


def _class(gap: Array) -> Array:
    return np.searchsorted(GAPS, np.maximum(gap, 1), side="right") - 1


def _widening(ratio: Array, gap: Array, level: float) -> Array:
    """By class of gap: the factor that makes arcs hold as often as they should; never falling."""
    every = float(np.quantile(ratio, level))
    out, last = np.full(len(GAPS), every), 0.0
    for k in range(len(GAPS)):
        mine = ratio[_class(gap) == k]
        if mine.size >= FEWEST:
            out[k] = last = float(np.quantile(mine, level))
        else:
            out[k] = max(every, last)
    return out
