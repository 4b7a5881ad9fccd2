"""How far a series goes out of its surroundings, and how often it goes as far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from fieldmend.core.ranks import counted
from fieldmend.faults.stretches import Array, medians, node_medians

# A departure is looked at in about so many steps, whatever its length.
STEPS = 6
# Others may see it so many slots earlier or later, and a quarter of its length.
LAG = 6
# Positions in the record that say what is usual.
PLACES = 500
# Stretches like the one in question that the record has to hold.
FEWEST = 6
# Steps of the widest shape, its reference included.
WIDEST = 3 * (2 * STEPS + 2 * LAG)
# Numbers at once in looking at many stretches: their arrays stay in the processor's cache.
BLOCK = 65_536


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


@dataclass(frozen=True)
class _Asked:
    """A stretch: shape and first step, whose it is, who is asked, which way it went, how far."""

    shape: Shape
    first: int
    node: int
    near: Array
    side: int
    own: float


@dataclass
class _Usual:
    """How far columns go out of their surroundings at places all over the record."""

    places: Array
    ways: tuple[Array, Array]  # up and down, places × columns
    known: Array  # columns that are filled in


class Course:
    """How far each column goes out of its surroundings, at any place and scale.

    Columns are nodes, or conditions of one node. NaN = not heard, or not to be heard. What is usual
    is told by each column `alone`, or by all together, where they go their own ways. Which side
    they go to does not matter with `either`: warm air is dry, steam is not.
    """

    def __init__(self, values: Array, *, alone: bool, either: bool = False) -> None:
        self.values, self.alone, self.either = values, alone, either
        self._sums: dict[int, tuple[Array, Array]] = {}
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
        (_, went), *_ = self.each([(start, stop, node)], [near], [side])
        return went

    def each(
        self,
        at: Sequence[tuple[int, int, int]],
        near: Sequence[Array],
        side: Sequence[int | None],
        least: float = -np.inf,
    ) -> Iterator[tuple[int, Went]]:
        """The same of many stretches, of one shape after the other: its place in `at`, and it.

        Left out are those in which nobody goes at least this part of the node's way.
        """
        shapes: dict[Shape, list[int]] = {}
        for i, (start, stop, _) in enumerate(at):
            shapes.setdefault(Shape.of(stop - start), []).append(i)
        for shape, alike in shapes.items():
            most = 1 + max(near[i].size for i in alike)
            size = max(1, BLOCK // (most * (shape.centre + 2 * shape.around)))
            for a in range(0, len(alike), size):
                some = alike[a : a + size]
                first = np.array([at[i][0] // shape.step - shape.lag for i in some])
                columns = np.array([[at[i][2]] * most for i in some])  # the node itself last
                for row, i in zip(columns, some, strict=True):
                    row[: near[i].size] = near[i]
                out, size_of, to = self._ways(shape, first, columns, [side[i] for i in some])
                other = columns != columns[:, -1:]
                far = (other & (size_of[0] >= least)).any(axis=1)
                for k in np.flatnonzero(far | (least == -np.inf)):
                    i = some[k]
                    asked = _Asked(shape, int(first[k]), at[i][2], near[i], to[k], out[0, k, -1])
                    yield i, self._went(asked, out[:, k], size_of[:, k])

    def _ways(
        self, shape: Shape, first: Array, columns: Array, sides: list[int | None]
    ) -> tuple[Array, Array, list[int]]:
        """How far columns go, to the side of each row's last and to the other, and which it is.

        As they are, and in their own spreads as parts of the last one's way.
        """
        out = np.array(self._out(shape, first, columns))
        down = out[1, :, -1] > out[0, :, -1]
        to = [int(down[k]) if side is None else side for k, side in enumerate(sides)]
        both = np.array([to, [1 - side for side in to]])
        out = out[both, np.arange(len(to))]
        with np.errstate(over="ignore", invalid="ignore"):
            own = np.maximum(out[0, :, -1] / self.spread[columns[:, -1]], 1e-300)[:, None]
            return out, np.nan_to_num(out / self.spread[columns] / own), to

    def _went(self, asked: _Asked, out: Array, size: Array) -> Went:
        its = slice(0, asked.near.size)
        ways = zip(out, (asked.side, 1 - asked.side), strict=True)
        shares = [partial(self._share, asked, mine[its], way) for mine, way in ways]
        return Went(size[0, its], size[1, its], *shares)

    def _share(self, asked: _Asked, mine: Array, way: int) -> Array:
        """Shares of stretches elsewhere in which those near went as far that way."""
        shape, node, near = asked.shape, asked.node, asked.near
        usual = self._everywhere(shape, np.append(near, node))
        far = np.abs(usual.places - asked.first) > shape.centre
        far &= ~(usual.ways[asked.side][:, node] > 0.5 * abs(asked.own))
        whole = np.count_nonzero(far) / max(len(far), 1) * self._stretches(shape)
        if whole < FEWEST:  # too long for anybody to say what is usual
            return np.ones(near.size)
        return self._shares(mine, usual.ways[way][np.ix_(far, near)], whole)

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
            count = counted(heard.T)
            if self.alone:
                share = counted((usual >= mine).T) / np.maximum(count, 1)
            else:
                whole *= max(len(mine), 1)
                every = usual[heard]
                less = np.array([np.count_nonzero(every < one) for one in mine])
                share = 1 - less / max(every.size, 1)
        least = 1 / (1 + whole * (count.sum() / max(heard.size, 1)))
        return np.where(np.isnan(mine), 1.0, np.maximum(share, least))

    def _stretches(self, shape: Shape) -> float:
        """Stretches of this shape that the record holds; half overlapping, they differ still."""
        return 2 * len(self.values) / (shape.step * shape.centre)

    def _everywhere(self, shape: Shape, columns: Array) -> _Usual:
        """Places in the record, and how far these columns at least go out there, up and down."""
        usual = self._usual.get(shape)
        if usual is None:
            steps = -(-len(self.values) // shape.step)
            first = np.unique(np.linspace(0, max(steps - shape.centre, 0), PLACES).astype(int))
            size = len(first), self.values.shape[1]
            usual = _Usual(first, (np.empty(size), np.empty(size)), np.zeros(size[1], np.bool_))
            self._usual[shape] = usual
        new = columns[~usual.known[columns]]
        if new.size:
            for way, out in zip(
                usual.ways, self._out(shape, usual.places, new[None, :]), strict=True
            ):
                way[:, new] = out
            usual.known[new] = True
        return usual

    def _out(self, shape: Shape, first: Array, columns: Array) -> tuple[Array, Array]:
        """Farthest above and below the reference, of windows that begin at `first`.

        `columns` has a row for each window, or one for all.
        """
        pad = shape.around
        width = shape.centre + 2 * pad
        every = np.lib.stride_tricks.sliding_window_view(self._coarse(shape.step), width, axis=1)
        part = every[columns, (first + WIDEST - pad)[:, None]]  # windows × columns × steps
        held = _running_means(part[:, :, pad : pad + shape.centre], shape.lasts)
        around = np.concatenate([part[:, :, :pad], part[:, :, pad + shape.centre :]], axis=2)
        middle = medians(around)
        with np.errstate(invalid="ignore"):
            high = np.where(np.isnan(held), -np.inf, held).max(axis=2) - middle
            low = middle - np.where(np.isnan(held), np.inf, held).min(axis=2)
        if self.either:
            high = low = np.maximum(high, low)
        heard = ~np.isnan(held).all(axis=2) & ~np.isnan(middle)
        return np.where(heard, high, np.nan), np.where(heard, low, np.nan)

    def _coarse(self, step: int) -> Array:
        """Columns × means of so many slots, with as much silence around as windows reach."""
        if step not in self._steps:
            means = self._means(step).T
            self._steps[step] = np.pad(means, ((0, 0), (WIDEST, WIDEST)), constant_values=np.nan)
        return self._steps[step]

    def _means(self, step: int) -> Array:
        """Means of what was heard in so many slots, a power of two; NaN where nothing was."""
        if step == 1:
            return self.values
        total, count = self._summed(step)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def _summed(self, step: int) -> tuple[Array, Array]:
        """Sum and number of what was heard, each from those of half the step."""
        if step not in self._sums:
            if step == 1:
                known = ~np.isnan(self.values)
                self._sums[1] = np.where(known, self.values, 0.0), known.astype(np.float64)
            else:
                total, count = self._summed(step // 2)
                self._sums[step] = _paired(total), _paired(count)
        return self._sums[step]


def window_medians(part: Array) -> Array:
    """Medians along the middle axis of windows × steps × columns, NaN left out."""
    windows, steps, columns = part.shape
    return node_medians(part.transpose(1, 0, 2).reshape(steps, -1)).reshape(windows, columns)


def _running_means(part: Array, width: int) -> Array:
    """Means of so many neighbouring steps, along the last axis; NaN where most were not heard."""
    if width == 1:
        return part
    known = ~np.isnan(part)
    total, count = (
        np.cumsum(np.pad(a, ((0, 0), (0, 0), (1, 0))), axis=2)
        for a in (np.where(known, part, 0.0), known.astype(float))
    )
    total, count = (a[:, :, width:] - a[:, :, :-width] for a in (total, count))
    return np.where(count >= width / 2, total / np.maximum(count, 1), np.nan)


def _paired(rows: Array) -> Array:
    """Sums of two rows each; the last one may be alone."""
    out: Array = rows[::2].copy()
    out[: len(rows) // 2] += rows[1::2]
    return out
