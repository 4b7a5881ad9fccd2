"""A second look at each node: its readings regressed on what the field says of the others.

The field model ties nodes together by a few common factors. Two nodes that are alike in a way of
their own (one room, one slope) share more than that. So each node's readings are regressed on the
field's estimates at the nodes most like it, just before, at and just after the slot, and on its own
at the same time of the days and weeks before and after, where such are known; what the
regression leaves is smoothed by a chain of its own. How much of this second estimate counts, hidden
readings decide (`lean`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from scipy.linalg import lapack

from fieldmend.core.prox import Array, Mask
from fieldmend.field.chains import Chains, NodeModel
from fieldmend.field.holdout import runs_of
from fieldmend.field.jumps import Index
from fieldmend.field.model import Data
from fieldmend.field.nodes import fit_nodes
from fieldmend.field.scaling import single
from fieldmend.geo import smallest

LIKE = 20  # nodes looked at: more cost, and hardly add
LAGS = (-1, 0, 1)
_NOW = LAGS.index(0)
_NEAR = 6  # of those nodes whose other conditions are looked at too, and their squares
_FAR = 5.0  # standard deviations
_FEWEST = 30  # readings of a node
_PENALTIES = np.array([0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
_FOLDS, _BLOCK = 5, 24  # of the cross-validation: slots of a block at least, or neighbours tell
_EXACT = 1e-6  # share of the squares that is as good as nothing: what is left is rounding
_LEAST = 1e-9


@dataclass(frozen=True)
class Second:
    """The regressions: which nodes, how they are scaled, coefficients, chains of the rest."""

    like: Index  # nodes × K
    centre: Array  # nodes: mean of the field there
    size: Array  # nodes: its spread
    level: Array  # nodes: mean reading
    penalty: Array  # nodes
    slope: Array  # nodes × (3K + 1 + periods)
    able: Mask  # nodes with enough readings
    nodes: NodeModel
    joint: bool = False  # are the other conditions asked too?
    periods: tuple[int, ...] = ()  # the same time on the days, and in the weeks, before and after

    def estimate(self, field: Array, data: Data) -> Array:
        """The second estimate at every entry; NaN for nodes with too few readings.

        Where other conditions are asked, NaN also where none of them was heard.
        """
        view = self._view(field, data)
        fitted = np.full(field.shape, np.nan)
        for n in np.flatnonzero(self.able).tolist():
            fitted[n] = self.level[n] + self.slope[n] @ view.of(n, self.like[n])
        rest = np.where(data.used & self.able[:, None], data.readings - fitted, 0.0)
        out = fitted + Chains(self.nodes, data.used & self.able[:, None], data.links).smooth(rest)
        return out if view.heard is None else np.where(view.heard, out, np.nan)

    def _view(self, field: Array, data: Data) -> _View:
        z = (field - self.centre[:, None]) / self.size[:, None]
        near = _lagged(z, data.links)
        again = np.stack([_same_time(z, data.slots, p) for p in self.periods] or [z[:, :0]])
        beside = data.others if self.joint else None
        if beside is None:
            return _View(near, again, None, None)
        others = np.stack([_lagged(_standard(one), data.links) for one in beside.values])
        return _View(near, again, others, beside.heard)


@dataclass(frozen=True)
class _Sums:
    """What a regression needs of its readings."""

    count: int
    square: float
    gram: Array
    side: Array

    @classmethod
    def of(cls, x: Array, y: Array, seen: Mask) -> _Sums:
        """Regressors and readings are zero where nothing was `seen`."""
        return cls(int(np.count_nonzero(seen)), float(y @ y), x @ x.T, x @ y)

    def of_first(self, width: int | None) -> _Sums:
        """The same of so many regressors, of all if None."""
        if width is None:
            return self
        return _Sums(self.count, self.square, self.gram[:width, :width], self.side[:width])

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(
            self.count + other.count,
            self.square + other.square,
            self.gram + other.gram,
            self.side + other.side,
        )

    def solved(self, penalty: float, one: int) -> tuple[float, Array]:
        """Level and slopes; which of the regressors is 1 everywhere tells the sums of the rest."""
        level = float(self.side[one]) / self.count
        return level, single(_ridge(self.gram, self.side - level * self.gram[one], penalty))


@dataclass(frozen=True)
class _View:
    """What nodes are regressed on: the field and the other conditions at each lag."""

    field: Array  # lags × nodes × slots
    again: Array  # periods × nodes × slots
    others: Array | None  # conditions × lags × nodes × slots
    heard: Mask | None

    def at(self, slots: Index) -> _View:
        """The same in another order of the slots.

        Taken, not indexed: that leaves slots side by side, as whoever takes some nodes of it wants
        them. Of any other layout all is copied for every node.
        """
        others = None if self.others is None else self.others.take(slots, axis=-1)
        heard = None if self.heard is None else self.heard[:, slots]
        again = self.again.take(slots, axis=-1) if self.again.shape[2] else self.again
        return _View(self.field.take(slots, axis=-1), again, others, heard)

    def first(self, look: Second) -> int | None:
        """How many of the regressors a look has that does not ask other conditions; None: all."""
        if look.joint or self.others is None:
            return None
        return self.one(look) + 1 + (len(self.again) if self.again.shape[2] else 0)

    def one(self, look: Second) -> int:
        """Which of the regressors is 1 everywhere: the field's are before it."""
        return int(len(self.field) * look.like.shape[1])

    def of(self, node: int, like: Index) -> Array:
        """The regressors of a node, one row each."""
        lags, _, slots = self.field.shape
        rows = [self.again[:, node]] if self.again.shape[2] else []
        for other in self.others if self.others is not None else ():
            near = other[_NOW, like[:_NEAR]]
            rows += [other[:, node], other[_NOW, node : node + 1] ** 2, near, near**2]
        own = lags * len(like)
        out = np.empty((own + 1 + sum(map(len, rows)), slots))
        # Most rows are the field's, and they are written once: copies of them take longer.
        np.take(self.field, like, axis=1, out=out[:own].reshape(lags, -1, slots), mode="clip")
        out[own] = 1.0
        if rows:
            np.concatenate(rows, out=out[own + 1 :])
        return out


def second_looks(
    field: Array, data: Data, *, periods: tuple[int, ...] = ()
) -> tuple[Second | None, Second | None]:
    """Learn the regressions from the field's estimates (nodes × slots) and the readings.

    Without other conditions, and with them where there are any: the regressors of the former are
    the first of the latter's, so one look at them does for both.
    """
    count = len(field)
    able = data.used.sum(axis=1) >= _FEWEST
    if count < 2 or not able.any():
        return None, None
    centre, size = field.mean(axis=1), field.std(axis=1) + _LEAST
    like = _alike((field - centre[:, None]) / size[:, None], min(LIKE, count - 1))
    one, zero = np.ones(count), np.zeros(count)
    blank = Second(
        like, centre, size, zero, zero, np.zeros((count, 0)), able, NodeModel(zero, one, one),
        periods=periods,
    )  # fmt: skip
    blanks = [blank] if data.others is None else [blank, replace(blank, joint=True)]
    used = data.used & able[:, None]
    second, *joint = (
        replace(look, nodes=fit_nodes(rest, used, data.links))
        for look, rest in _fitted(blanks, field, data)
    )
    return second, joint[0] if joint else None


def apart(
    asked: Sequence[tuple[Second, Sequence[Mask]]], field: Array, data: Data
) -> list[list[Array]]:
    """Second estimates by slopes learnt from all these readings, and from all but some slots'.

    Of looks at the same nodes, the one with most regressors last, each with the slots to be left
    out in turn. By one look at the regressors of a node: the sums over pieces of the record, added
    up. The same nodes, penalties and chains as before.
    """
    looks, away = zip(*asked, strict=True)
    wide, used = looks[-1], data.used & looks[-1].able[:, None]
    view = wide._view(field, data)
    whole = np.zeros(field.shape[1], dtype=np.bool_)
    out_of = [(whole, *masks) for masks in away]
    pieces = _pieces([mask for masks in out_of for mask in masks])
    fitted = [np.full((len(masks), *field.shape), np.nan) for masks in out_of]
    for n in np.flatnonzero(wide.able).tolist():
        seen, x = used[n], view.of(n, wide.like[n])
        # Zeros count as nothing in sums, and are cheaper than to pick what was seen.
        heard, y = x * seen, data.readings[n]
        sums = [_Sums.of(heard[:, p], y[p], seen[p]) for p in pieces]
        for look, masks, said in zip(looks, out_of, fitted, strict=True):
            width = view.first(look)
            own, its = [one.of_first(width) for one in sums], x[:width]
            levels, slopes = np.full(len(masks), look.level[n]), np.zeros((len(masks), len(its)))
            for k, gone in enumerate(masks):
                left = [one for one, p in zip(own, pieces, strict=True) if not gone[p.start]]
                if any(one.count for one in left):
                    levels[k], slopes[k] = reduce(add, left).solved(look.penalty[n], view.one(look))
            said[:, n] = slopes @ its + levels[:, None]
    out = []
    for look, said in zip(looks, fitted, strict=True):
        chains = Chains(look.nodes, used, data.links)
        mean = [one + chains.smooth(np.where(used, data.readings - one, 0.0)) for one in said]
        if look.joint and view.heard is not None:
            mean = [np.where(view.heard, one, np.nan) for one in mean]
        out.append(mean)
    return out


def _alike(z: Array, count: int) -> Index:
    """For each node those whose field goes most with its own."""
    likeness = np.abs(z @ z.T)
    np.fill_diagonal(likeness, -1.0)
    return smallest(-likeness, count)


def _lagged(z: Array, links: Mask) -> Array:
    """At each lag, lags × nodes × slots; across a cut as the slots on this side go on."""
    step = np.diff(z, axis=1) * links
    from_before, to_after = np.zeros_like(z), np.zeros_like(z)
    from_before[:, 1:], to_after[:, :-1] = step, step
    first, last = np.append(True, ~links), np.append(~links, True)
    return np.stack(
        [
            z - np.where(first, to_after, from_before),
            z,
            z + np.where(last, from_before, to_after),
        ]
    )


def _same_time(z: Array, slots: Index, period: int) -> Array:
    """Mean of what is said of the same time a period before and after; 0 where neither is there."""
    total, count = np.zeros_like(z), np.zeros(len(slots))
    for shift in (-period, period):
        at = np.minimum(np.searchsorted(slots, slots + shift), len(slots) - 1)
        there = slots[at] == slots + shift
        total += z[:, at] * there
        count += there
    out: Array = total / np.maximum(count, 1.0)
    return out


def _standard(values: Array) -> Array:
    """Centred and scaled node by node; what lies far out counts as far, not as far as it lies."""
    middle = np.median(values, axis=1, keepdims=True)
    size = values.std(axis=1, keepdims=True) + _LEAST
    out: Array = np.clip((values - middle) / size, -_FAR, _FAR)
    return out


def _fitted(looks: Sequence[Second], field: Array, data: Data) -> Iterator[tuple[Second, Array]]:
    """The regressions, and what they leave of the readings that they are of, zero elsewhere.

    Of looks at the same nodes, the one with most regressors last.
    """
    folds, wide = _Folds.of(data), looks[-1]
    view, order = wide._view(field, data).at(folds.order), folds.order
    level = wide.level.copy()
    nodes = np.flatnonzero(wide.able & data.used.any(axis=1)).tolist()

    def asked(n: int) -> tuple[Array, Array, Mask]:
        """Regressors and readings: zeros count as nothing, and are cheaper than to pick."""
        seen = data.used[n, order]
        x = view.of(n, wide.like[n])
        x *= seen
        return x, np.where(seen, data.readings[n, order] - level[n], 0.0), seen

    tried: list[dict[int, _Tried]] = [{} for _ in looks]
    width = [view.first(look) for look in looks]
    for n in nodes:
        level[n] = data.readings[n, data.used[n]].mean()
        sums = folds.sums(*asked(n))
        for own, count in zip(tried, width, strict=True):
            own[n] = _Tried.of([one.of_first(count) for one in sums])
    slope, penalty = [], np.zeros((len(looks), len(field)))
    for own, chosen in zip(tried, penalty, strict=True):
        # A node's own blocks are few where they are long: half of the say is all nodes'.
        usual = np.mean([one.left for one in own.values()], axis=0)
        slopes = np.zeros((len(field), max((len(one.side) for one in own.values()), default=0)))
        for n, one in own.items():
            chosen[n] = _PENALTIES[np.argmin(one.left + usual)]
            slopes[n] = single(_ridge(one.gram, one.side, float(chosen[n])))
        slope.append(slopes)
    rest = np.zeros((len(looks), *field.shape))
    for n in nodes:
        x, y, _ = asked(n)
        for slopes, left in zip(slope, rest, strict=True):
            left[n, order] = y - slopes[n] @ x[: slopes.shape[1]]
    for look, chosen, slopes, left in zip(looks, penalty, slope, rest, strict=True):
        yield replace(look, level=level, penalty=chosen, slope=slopes), left


def _pieces(masks: Sequence[Mask]) -> list[slice]:
    """The record cut where any of the masks changes."""
    changes = np.any(np.diff(masks, axis=1), axis=0)
    edges = [0, *(1 + np.flatnonzero(changes)).tolist(), len(masks[0])]
    return [slice(a, b) for a, b in pairwise(edges)]


def _ridge(gram: Array, side: Array, penalty: float) -> Array:
    """Slopes with a penalty: a positive definite system, half the work of any other.

    No slopes where rounding leaves nothing positive of it.
    """
    return _ridges(gram, side, (penalty,))[0]


def _ridges(gram: Array, side: Array, penalties: Iterable[float]) -> list[Array]:
    """The same for several penalties."""
    step, out = len(gram) + 1, []
    unit = 0.1 * gram.ravel()[::step].sum() / len(gram) + _LEAST
    for penalty in penalties:
        left = gram.copy()
        left.ravel()[::step] += penalty * unit
        _, slopes, info = lapack.dposv(left.T, side, lower=1, overwrite_a=True)
        out.append(slopes if info == 0 else np.zeros_like(side))
    return out


@dataclass(frozen=True)
class _Tried:
    """What each penalty leaves (the logarithm of the share), xxᵀ and xy, which it takes to know."""

    left: Array
    gram: Array
    side: Array

    @classmethod
    def of(cls, folds: Sequence[_Sums]) -> _Tried:
        """The penalties, by what slopes learnt from the other folds leave of each."""
        gram = np.sum([one.gram for one in folds], axis=0)
        side = np.sum([one.side for one in folds], axis=0)
        count = sum(one.count for one in folds)
        error, total = np.zeros(len(_PENALTIES)), _LEAST
        for one in folds:
            if not 0 < one.count < count:
                continue
            slopes = np.array(_ridges(gram - one.gram, side - one.side, _PENALTIES.tolist()))
            # What slopes leave of a fold's readings is known from its sums alone.
            error += ((slopes @ one.gram - 2 * one.side) * slopes).sum(axis=1) + one.square
            total += one.square
        return cls(np.log(np.maximum(error / total, _EXACT)), gram, side)


@dataclass(frozen=True)
class _Folds:
    """Cross-validation in blocks of slots: an order of the slots in which each fold is a piece.

    Blocks are as long as what is to be filled: slopes that foretell two hours from the hours around
    need not foretell a day.
    """

    fold: Index  # of each slot
    order: Index
    cuts: Index  # where each fold begins in that order

    @classmethod
    def of(cls, data: Data) -> _Folds:
        slots = len(data.slots)
        block = max(min(_usual_gap(data.lost), slots // _FOLDS), _BLOCK)
        fold = np.arange(slots) // block % _FOLDS
        order = np.argsort(fold, kind="stable")
        return cls(fold, order, np.searchsorted(fold[order], np.arange(_FOLDS + 1)))

    def sums(self, x: Array, y: Array, seen: Mask) -> list[_Sums]:
        """Of each fold. All in the folds' order, and zero where nothing was `seen`."""
        parts = [slice(a, b) for a, b in pairwise(self.cuts.tolist())]
        return [_Sums.of(x[:, part], y[part], seen[part]) for part in parts]


def _usual_gap(lost: Mask) -> int:
    """Half of what was lost lies in gaps as long as this or longer."""
    length = np.sort(runs_of(lost)[1])
    if not len(length):
        return 1
    total = np.cumsum(length)
    return int(length[np.searchsorted(total, total[-1] / 2)])
