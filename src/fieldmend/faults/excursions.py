"""How far a series goes out of its surroundings, and how often it goes as far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fieldmend.faults.stretches import Array, node_medians

# A departure is looked at in about so many steps, whatever its length.
STEPS = 6
# Others may see it so many slots earlier or later, and a quarter of its length.
LAG = 6
# Positions in the record that say what is usual.
PLACES = 500
# Stretches like the one in question that the record has to hold.
FEWEST = 6


@dataclass(frozen=True)
class Shape:
    """A stretch in steps: slots per step, steps inside, steps of lag, steps of reference."""

    step: int
    inside: int
    lag: int

    @classmethod
    def of(cls, length: int) -> Shape:
        """For a departure of so many slots."""
        step = 1 << max(0, int(np.log2(max(length / STEPS, 1))))
        inside = max(1, -(-length // step))
        return cls(step, inside, max(-(-LAG // step), inside // 4))

    @property
    def lasts(self) -> int:
        """Steps for which others have to stay out: half as long."""
        return max(1, self.inside // 2)

    @property
    def centre(self) -> int:
        """Steps in which others may see it."""
        return self.inside + 2 * self.lag

    @property
    def around(self) -> int:
        """Steps of reference on either side."""
        return self.centre


class Went:
    """Of each companion: the share of other stretches in which it went as far, and how far.

    `same` to the node's side, `other` to the other; `size` and `back` the same ways as parts of the
    node's own, each in its own spread. Of most departures nobody went far enough to be a witness,
    and of most of the others nobody asks who went the other way: shares are found when they are
    asked for.
    """

    def __init__(
        self,
        size: Array,
        back: Array,
        same: Callable[[], Array] | None = None,
        other: Callable[[], Array] | None = None,
    ) -> None:
        self.size, self.back = size, back
        self._same, self._other = same, other

    @cached_property
    def same(self) -> Array:
        """Share of stretches in which each went as far to the node's side."""
        return np.ones(len(self.size)) if self._same is None else self._same()

    @cached_property
    def other(self) -> Array:
        """Share of stretches in which each went as far to the other side."""
        return np.ones(len(self.size)) if self._other is None else self._other()


@dataclass
class _Usual:
    """How far columns go out of their surroundings at places all over the record."""

    places: Array
    high: Array  # places × columns
    low: Array
    known: Array  # columns that are filled in


class Course:
    """How far each column goes out of its surroundings, at any place and scale.

    Columns are nodes, or conditions of one node. NaN = not heard, or not to be heard. What is usual
    is told by each column `alone`, or by all together, where they go their own ways. Which side
    they go to does not matter with `either`: warm air is dry, steam is not.
    """

    def __init__(self, values: Array, *, alone: bool, either: bool = False) -> None:
        self.values, self.alone, self.either = values, alone, either
        self._steps: dict[int, Array] = {}
        self._usual: dict[Shape, _Usual] = {}

    @cached_property
    def spread(self) -> Array:
        """Of each column, positive."""
        spread = node_medians(np.abs(self.values - node_medians(self.values)))
        return np.where(spread > 0, spread, 1.0)

    def __call__(
        self, start: int, stop: int, node: int, near: Array, side: int | None = None
    ) -> Went:
        """How far those near went, to that side and to the other.

        Other are stretches in which the node itself did not go half as far as now: what comes again
        and again, and is seen each time, is seen. A share is never below one stretch in as many as
        the record holds; 1 where nothing was heard. `side` is 0 for up, 1 for down, else the
        node's own.
        """
        shape = Shape.of(stop - start)
        first = start // shape.step - shape.lag
        columns = np.append(near, node)
        out = [o[0] for o in self._out(shape, np.array([first]), columns)]
        if side is None:
            side = int(out[1][-1] > out[0][-1])
        own = max(out[side][-1] / self.spread[node], 1e-300)
        both = side, 1 - side
        with np.errstate(over="ignore", invalid="ignore"):
            size, back = (np.nan_to_num(out[s][:-1] / self.spread[near] / own) for s in both)

        def share(s: int) -> Array:
            places, *usual = self._everywhere(shape, columns)
            far = np.abs(places - first) > shape.centre
            far &= ~(usual[side][:, -1] > 0.5 * abs(out[side][-1]))
            whole = np.count_nonzero(far) / max(len(places), 1) * self._stretches(shape)
            if whole < FEWEST:  # too long for anybody to say what is usual
                return np.ones(near.size)
            return self._shares(out[s][:-1], usual[s][far][:, :-1], whole)

        return Went(size, back, lambda: share(side), lambda: share(1 - side))

    def _shares(self, mine: Array, usual: Array, whole: float) -> Array:
        """Share of usual excursions that are as large, each node in its own measure."""
        measure = node_medians(np.abs(usual))
        resting = ~(measure > 0)
        if resting.any():
            still = usual[:, resting]
            measure[resting] = node_medians(np.where(still == 0, np.nan, np.abs(still)))
        with np.errstate(invalid="ignore"):
            mine, usual = mine / measure, usual / measure
            heard = ~np.isnan(usual)
            if self.alone:
                share = (usual >= mine).sum(axis=0) / np.maximum(heard.sum(axis=0), 1)
            else:
                whole *= max(len(mine), 1)
                every = usual[heard]
                less = np.count_nonzero(every < mine[:, None], axis=1)
                share = 1 - less / max(every.size, 1)
        least = 1 / (1 + whole * (heard.mean() if heard.size else 0))
        return np.where(np.isnan(mine), 1.0, np.maximum(share, least))

    def _stretches(self, shape: Shape) -> float:
        """Stretches of this shape that the record holds; half overlapping, they differ still."""
        return 2 * len(self.values) / (shape.step * shape.centre)

    def _everywhere(self, shape: Shape, columns: Array) -> tuple[Array, Array, Array]:
        """Places in the record, and how far the columns go out there, above and below."""
        usual = self._usual.get(shape)
        if usual is None:
            steps = -(-len(self.values) // shape.step)
            first = np.unique(np.linspace(0, max(steps - shape.centre, 0), PLACES).astype(int))
            size = len(first), self.values.shape[1]
            usual = _Usual(first, np.empty(size), np.empty(size), np.zeros(size[1], np.bool_))
            self._usual[shape] = usual
        new = columns[~usual.known[columns]]
        if new.size:
            usual.high[:, new], usual.low[:, new] = self._out(shape, usual.places, new)
            usual.known[new] = True
        return usual.places, usual.high[:, columns], usual.low[:, columns]

    def _out(self, shape: Shape, first: Array, columns: Array) -> tuple[Array, Array]:
        """Farthest above and below the reference, of windows that begin at `first`."""
        pad = shape.around
        series = self._coarse(shape.step)
        width = shape.centre + 2 * pad
        rows = first[:, None] + np.arange(-pad, width - pad)
        beyond = (rows < 0) | (rows >= len(series))
        part = series[np.clip(rows, 0, len(series) - 1)[:, :, None], columns]
        part[beyond] = np.nan
        held = _running_means(part[:, pad : pad + shape.centre], shape.lasts)
        around = np.concatenate([part[:, :pad], part[:, pad + shape.centre :]], axis=1)
        middle = window_medians(around)
        with np.errstate(invalid="ignore"):
            high = np.where(np.isnan(held), -np.inf, held).max(axis=1) - middle
            low = middle - np.where(np.isnan(held), np.inf, held).min(axis=1)
        if self.either:
            high = low = np.maximum(high, low)
        heard = ~np.isnan(held).all(axis=1) & ~np.isnan(middle)
        return np.where(heard, high, np.nan), np.where(heard, low, np.nan)

    def _coarse(self, step: int) -> Array:
        if step not in self._steps:
            self._steps[step] = _block_means(self.values, step)
        return self._steps[step]


def window_medians(part: Array) -> Array:
    """Medians along the middle axis of windows × steps × columns, NaN left out."""
    windows, steps, columns = part.shape
    return node_medians(part.transpose(1, 0, 2).reshape(steps, -1)).reshape(windows, columns)


def _running_means(part: Array, width: int) -> Array:
    """Means of so many neighbouring steps, along the middle axis; NaN where most were not heard."""
    if width == 1:
        return part
    known = ~np.isnan(part)
    total, count = (
        np.cumsum(np.pad(a, ((0, 0), (1, 0), (0, 0))), axis=1)
        for a in (np.where(known, part, 0.0), known.astype(float))
    )
    total, count = (a[:, width:] - a[:, :-width] for a in (total, count))
    return np.where(count >= width / 2, total / np.maximum(count, 1), np.nan)


def _block_means(values: Array, step: int) -> Array:
    if step == 1:
        return values
    rows = -(-len(values) // step)
    padded = np.full((rows * step, values.shape[1]), np.nan)
    padded[: len(values)] = values
    blocks = padded.reshape(rows, step, -1)
    known = ~np.isnan(blocks)
    count = known.sum(axis=1)
    total = np.where(known, blocks, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
