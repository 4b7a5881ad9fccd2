"""Daily and weekly cycles: each node's usual course, used where hidden readings ask for it.

Common factors follow the others while they are heard. Where all are silent for hours, nothing is
left but what usually happens at that time of the day. The course is taken off the readings, the
model is fitted to the rest, and the course is put back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.days import Ways, ways_of
from fieldmend.field.jumps import Index
from fieldmend.field.model import Data
from fieldmend.field.scaling import single

CYCLES = 3  # of a period that a record must hold
_CLIP = 5.0  # scaled readings further off than this count as this far
_DAY, _FEWEST = 86_400_000_000, 4  # a day in microseconds; slots that it must have
_SMOOTH = 48  # the course is smoothed over this part of the period


@dataclass(frozen=True)
class Course:
    """The usual course of each node, nodes × period, scaled; and what the trial said."""

    values: Array
    said: str
    ways: Ways | None = None  # in which days depart from it

    def at(self, data: Data) -> Array:
        """Nodes × slots; what kind of day it was, the readings tell."""
        out: Array = self.values[:, data.slots % self.values.shape[1]]
        return out if self.ways is None else out + self.ways.at(data.readings - out, data)


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


def with_kinds(course: Course, data: Data, week: int) -> Course:
    """The same with the ways in which days differ from it, if there are days enough to tell them.

    `week` is the number of days after which they may come again; 1: none.
    """
    length = course.values.shape[1]
    return replace(course, ways=ways_of(data.readings - course.at(data), data, length, week))


def explained(course: Course, data: Data) -> float:
    """Share of the readings' variance that the course tells."""
    count = np.maximum(data.used.sum(axis=1, keepdims=True), 1)

    def spread(values: Array) -> float:
        seen = values * data.used
        return float((((values - seen.sum(axis=1, keepdims=True) / count) * data.used) ** 2).sum())

    total = spread(data.readings)
    return 1.0 - spread(data.readings - course.at(data)) / total if total > 0 else 0.0


def relearnt(course: Course, rest: Data) -> Array:
    """The course, nodes × slots, as some of the readings tell it, from which it was taken off."""
    seen = rest.less(-rest.usual)
    other = Course(course_of(seen, course.values.shape[1]), "")
    if course.ways is not None:
        other = with_kinds(other, seen, course.ways.usual.shape[1])
    return other.at(seen)


def course_of(data: Data, length: int) -> Array:
    """Mean of each node at each phase, about its own mean, held back where it was seen rarely.

    And as far as days differ: of each node the share is kept that is no chance.
    """
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
    _, noise, spread = _phase_means(clipped, data.used, phase, length)
    return single(_share(noise, spread)[:, None] * smooth)


def long_enough(lengths: Iterable[int], slots: Index) -> list[int]:
    """The periods of which these slots hold enough, each a multiple of the one before."""
    span, out = int(slots[-1] - slots[0]) + 1, list[int]()
    for length in sorted(lengths):
        if span >= CYCLES * length and all(length % n == 0 and length > n for n in out):
            out.append(length)
    return out


def layered_course(data: Data, lengths: Iterable[int]) -> tuple[Course, float]:
    """The course of the day, then how days of the week differ from it, each held back by doubt.

    A mean at a phase is noise as far as the days differ there: what is kept of all phases of a node
    is the share of their spread that this does not explain. `lengths` rise, each a multiple of the
    one before. Beside the course that share over all nodes, for the first of them.
    """
    rest, total = np.clip(data.readings, -_CLIP, _CLIP), np.zeros((len(data.readings), 1))
    believed = list[float]()
    for length in lengths:
        means, noise, spread = _phase_means(rest, data.used, data.slots % length, length)
        kept = _share(noise, spread)
        believed.append(float(_share(noise.sum(), spread.sum())))
        layer = kept[:, None] * means
        total = np.tile(total, length // total.shape[1]) + layer
        rest = rest - layer[:, data.slots % length]
    return Course(single(total), ""), believed[0]


def _share(noise: Array, spread: Array) -> Array:
    out: Array = np.clip(1.0 - noise / np.maximum(spread, 1e-300), 0.0, 1.0)
    return out


def _phase_means(
    values: Array, used: Mask, phase: Index, length: int
) -> tuple[Array, Array, Array]:
    """Each node's mean at each phase, about its own; of these: variance by chance, mean square."""
    out, noise, spread = np.zeros((len(values), length)), *np.zeros((2, len(values)))
    for n, seen in enumerate(used):
        if not seen.any():
            continue
        at, own = phase[seen], values[n, seen] - values[n, seen].mean()
        count = np.bincount(at, minlength=length)
        there = count > 0
        out[n] = np.bincount(at, own, minlength=length) / np.maximum(count, 1)
        free = max(len(own) - int(there.sum()), 1)
        noise[n] = float(((own - out[n][at]) ** 2).sum()) / free * (1.0 / count[there]).mean()
        spread[n] = float((out[n][there] ** 2).mean())
    return out, noise, spread


def without(data: Data, course: Course) -> Data:
    """The readings with the course taken off."""
    return data.less(course.at(data))
