"""Daily and weekly cycles: each node's usual course, used where hidden readings ask for it.

Common factors follow the others while they are heard. Where all are silent for hours, nothing is
left but what usually happens at that time of the day. The course is taken off the readings, the
model is fitted to the rest, and the course is put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.fitting import quick_field
from fieldmend.field.holdout import draw_hidden, runs_of
from fieldmend.field.jumps import Index
from fieldmend.field.model import Data, estimate
from fieldmend.field.scaling import single

_CYCLES = 3  # of a period that a record must hold
_LONG = 12  # a gap is long from a twelfth of the period on: two hours of a day
_WORTH = 0.01, 0.2  # lost entries of all, and long gaps of the lost, that make a trial worth it
_HIDDEN = 0.1
_BETTER = 0.97  # the error on hidden readings has to fall by this factor
_CLIP = 5.0  # scaled readings further off than this count as this far
_DAY, _FEWEST = 86_400_000_000, 4  # a day in microseconds; slots that it must have
_SMOOTH = 48  # the course is smoothed over this part of the period


@dataclass(frozen=True)
class Course:
    """The usual course of each node, nodes × period, scaled; and what the trial said."""

    values: Array
    said: str

    def at(self, slots: Index) -> Array:
        """Nodes × slots."""
        out: Array = self.values[:, slots % self.values.shape[1]]
        return out


def periods(period: object) -> list[int]:
    """The period or periods asked for, in slots, checked."""
    if period is None:
        return []
    given: list[Any] = list(period) if isinstance(period, Iterable) else [period]
    for one in given:
        if isinstance(one, bool) or not isinstance(one, int | np.integer) or one < 2:
            msg = f"period must be whole numbers of slots from 2, not {one!r}"
            raise ValueError(msg)
    return [int(one) for one in given]


def usual_periods(slot: int) -> tuple[int, ...]:
    """Slots in a day and in a week, of slots (µs) that divide a day into enough of them."""
    day = _DAY // slot if slot > 0 and _DAY % slot == 0 else 0
    return (day, 7 * day) if day >= _FEWEST else ()


def choose_course(data: Data, asked: list[int], slots: int, seed: int) -> Course | None:
    """The course that lowers the error on hidden readings; None if no trial was worth it.

    A course of zeros carries the sentence that it was tried in vain.
    """
    lengths = [n for n in asked if slots >= _CYCLES * n and _worth_it(data, n)]
    if not lengths:
        return None
    rng = np.random.default_rng([seed, 7])
    hidden = draw_hidden(data.used, ~data.used, _HIDDEN, rng)
    rest = data.using(data.used & ~hidden)
    if not hidden.any() or not rest.used.any():
        return None
    plain = _error(data, hidden, lambda: estimate_of(rest, seed))
    found = []
    for length in lengths:
        values = course_of(rest, length)

        def cyclic(values: Array = values) -> Array:
            course = Course(values, "")
            return estimate_of(without(rest, course), seed) + course.at(rest.slots)

        found.append((_error(data, hidden, cyclic), length))
    error, length = min(found)
    change = 100 * (error / plain - 1) if plain > 0 else 0.0
    said = f"a cycle of {length} slots changed the error on hidden readings by {change:+.0f} %: "
    if error < _BETTER * plain:
        return Course(course_of(data, length), said + "used")
    return Course(np.zeros((len(data.used), 1)), said + "not used")


def course_of(data: Data, length: int) -> Array:
    """Mean of each node at each phase, about its own mean, held back where it was seen rarely."""
    phase = data.slots % length
    clipped = np.clip(data.readings, -_CLIP, _CLIP)
    out = np.zeros((len(clipped), length))
    for n, seen in enumerate(data.used):
        count = np.bincount(phase[seen], minlength=length)
        total = np.bincount(phase[seen], clipped[n, seen], minlength=length)
        mean = clipped[n, seen].mean() if seen.any() else 0.0
        out[n] = (total - count * mean) / (count + 1.0)
    width = max(1, length // _SMOOTH)
    kernel = np.zeros(length)
    kernel[np.arange(width) - width // 2] = 1.0 / width
    smooth: Array = np.fft.irfft(np.fft.rfft(out) * np.fft.rfft(kernel), n=length)
    return single(smooth)


def without(data: Data, course: Course) -> Data:
    """The readings with the course taken off."""
    rest = np.where(data.used, data.readings - course.at(data.slots), 0.0)
    return replace(data, readings=rest)


def estimate_of(data: Data, seed: int) -> Array:
    """The field at every entry, nodes × slots."""
    return estimate(quick_field(data, seed), data)[0]


def _worth_it(data: Data, length: int) -> bool:
    lost = runs_of(~data.used)[1]
    total = int(lost.sum())
    long = int(lost[lost >= max(length // _LONG, 2)].sum())
    return total >= _WORTH[0] * data.used.size and long >= _WORTH[1] * total


def _error(data: Data, hidden: Mask, guess: Callable[[], Array]) -> float:
    """Root mean square error on hidden readings, the worst twentieth left out."""
    square = np.sort((data.readings - guess())[hidden] ** 2)
    return float(np.sqrt(square[: max(1, int(0.95 * square.size))].mean()))
