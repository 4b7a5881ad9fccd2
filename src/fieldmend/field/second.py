"""A second look at each node: its readings regressed on what the field says of the others.

The field model ties nodes together by a few common factors. Two nodes that are alike in a way of
their own (one room, one slope) share more than that. So each node's readings are regressed on the
field's estimates at the nodes most like it, just before, at and just after the slot, and on its own
at the same time of the days and weeks before and after, where such are known; what the
regression leaves is smoothed by a chain of its own. How much of this second estimate counts, hidden
readings decide (`lean`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

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

    def apart(self, field: Array, data: Data, away: Sequence[Mask]) -> list[Array]:
        """Second estimates by slopes learnt from all these readings, and from all but some slots'.

        The same nodes, penalties and chains. By one look at the regressors of a node: the sums over
        all readings, less those over the slots that are left out.
        """
        view = self._view(field, data)
        folds = _Folds.of(data)
        fitted = np.full((1 + len(away), *field.shape), np.nan)
        parts = [_piece(slots) for slots in away]
        for n in np.flatnonzero(self.able).tolist():
            seen, whole = data.used[n], view.of(n, self.like[n])
            # Zeros count as nothing in sums, and are cheaper than to pick what was seen.
            x, y = whole * seen, data.readings[n]
            penalty = self.penalty[n]
            if penalty == 0 and seen.any():
                off = np.where(seen, y - y[seen].mean(), 0.0)
                tried = folds.tried(x[:, folds.order], off[folds.order], seen)
                penalty = _PENALTIES[np.argmin(tried.left)]
            sums = _Sums.of(x, y, seen)
            left = [sums, *(sums.less(_Sums.of(x[:, p], y[p], seen[p])) for p in parts)]
            levels, slopes = zip(*(one.solved(penalty, self.level[n]) for one in left), strict=True)
            fitted[:, n] = np.array(slopes) @ whole + np.array(levels)[:, None]
        used = data.used & self.able[:, None]
        chains = Chains(self.nodes, used, data.links)
        rest = (np.where(used, data.readings - one, 0.0) for one in fitted)
        out = [one + chains.smooth(own) for one, own in zip(fitted, rest, strict=True)]
        if view.heard is None:
            return out
        return [np.where(view.heard, one, np.nan) for one in out]


@dataclass(frozen=True)
class _Sums:
    """What a regression needs of its readings."""

    count: int
    total: float
    gram: Array
    side: Array
    once: Array  # sum of each regressor

    @classmethod
    def of(cls, x: Array, y: Array, seen: Mask) -> _Sums:
        """Regressors and readings are zero where nothing was `seen`."""
        return cls(int(seen.sum()), float(y.sum()), x @ x.T, x @ y, x.sum(axis=1))

    def less(self, out: _Sums) -> _Sums:
        """Without some of the readings."""
        return _Sums(
            self.count - out.count,
            self.total - out.total,
            self.gram - out.gram,
            self.side - out.side,
            self.once - out.once,
        )

    def solved(self, penalty: float, level: float) -> tuple[float, Array]:
        """Level and slopes; `level` as it was, and no slopes, where no reading is left."""
        if not self.count:
            return level, np.zeros(len(self.side))
        level = self.total / self.count
        side = self.side - level * self.once
        return level, single(_ridge(self.gram, side, penalty))


@dataclass(frozen=True)
class _View:
    """What nodes are regressed on: the field and the other conditions at each lag."""

    field: Array  # lags × nodes × slots
    again: Array  # periods × nodes × slots
    others: Array | None  # conditions × lags × nodes × slots
    heard: Mask | None

    def at(self, slots: Index) -> _View:
        """The same in another order of the slots."""
        others = None if self.others is None else self.others[..., slots]
        heard = None if self.heard is None else self.heard[:, slots]
        again = self.again[..., slots] if self.again.shape[2] else self.again
        return _View(self.field[..., slots], again, others, heard)

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


def second_look(
    field: Array, data: Data, *, joint: bool = False, periods: tuple[int, ...] = ()
) -> Second | None:
    """Learn the regressions from the field's estimates (nodes × slots) and the readings."""
    count = len(field)
    able = data.used.sum(axis=1) >= _FEWEST
    if count < 2 or not able.any():
        return None
    centre, size = field.mean(axis=1), field.std(axis=1) + _LEAST
    like = _alike((field - centre[:, None]) / size[:, None], min(LIKE, count - 1))
    one, zero = np.ones(count), np.zeros(count)
    blank = Second(
        like, centre, size, zero, zero, np.zeros((count, 0)), able, NodeModel(zero, one, one),
        joint, periods,
    )  # fmt: skip
    first, rest = _fitted(blank, field, data)
    return replace(first, nodes=fit_nodes(rest, data.used & able[:, None], data.links))


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


def _fitted(kept: Second, field: Array, data: Data) -> tuple[Second, Array]:
    """The regressions, and what they leave of the readings that they are of, zero elsewhere."""
    folds = _Folds.of(data)
    view, order = kept._view(field, data).at(folds.order), folds.order
    level, penalty, slopes = kept.level.copy(), kept.penalty.copy(), {}
    rest = np.zeros(field.shape)

    def asked(n: int) -> tuple[Array, Array]:
        """Regressors and readings: zeros count as nothing, and are cheaper than to pick."""
        seen = data.used[n, order]
        x = view.of(n, kept.like[n])
        x *= seen
        return x, np.where(seen, data.readings[n, order] - level[n], 0.0)

    tried = {}
    for n in np.flatnonzero(kept.able & data.used.any(axis=1)).tolist():
        level[n] = data.readings[n, data.used[n]].mean()
        tried[n] = folds.tried(*asked(n), data.used[n])
    # A node's own blocks are few where they are long: half of the say is all nodes'.
    usual = np.mean([one.left for one in tried.values()], axis=0)
    for n, own in tried.items():
        penalty[n] = _PENALTIES[np.argmin(own.left + usual)]
        slopes[n] = single(_ridge(own.gram, own.side, float(penalty[n])))
        x, y = asked(n)
        rest[n, order] = y - slopes[n] @ x
    width = max((len(slope) for slope in slopes.values()), default=kept.slope.shape[1])
    slope = np.zeros((len(field), width))
    for n, one in slopes.items():
        slope[n] = one
    return replace(kept, level=level, penalty=penalty, slope=slope), rest


def _piece(slots: Mask) -> slice | Mask:
    """Slots that follow each other as a slice, which takes no copy."""
    at = np.flatnonzero(slots)
    whole = len(at) and at[-1] - at[0] + 1 == len(at)
    return slice(int(at[0]), int(at[-1]) + 1) if whole else slots


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

    def tried(self, x: Array, y: Array, seen: Mask) -> _Tried:
        """The penalties, by what slopes learnt from the other folds leave of each.

        Regressors and readings are in the folds' order, zero where nothing was `seen`.
        """
        # What slopes leave of a fold's readings is known from its sums alone.
        parts = [(x[:, a:b], y[a:b]) for a, b in pairwise(self.cuts.tolist())]
        grams, sides = [a @ a.T for a, _ in parts], [a @ b for a, b in parts]
        gram, side = np.sum(grams, axis=0), np.sum(sides, axis=0)
        count = np.bincount(self.fold[seen], minlength=_FOLDS)
        error, total = np.zeros(len(_PENALTIES)), _LEAST
        for f in np.flatnonzero((count > 0) & (count < count.sum())).tolist():
            others, every = (gram - grams[f], side - sides[f]), float(parts[f][1] @ parts[f][1])
            slopes = np.array(_ridges(*others, _PENALTIES.tolist()))
            error += ((slopes @ grams[f] - 2 * sides[f]) * slopes).sum(axis=1) + every
            total += every
        return _Tried(np.log(np.maximum(error / total, _EXACT)), gram, side)


def _usual_gap(lost: Mask) -> int:
    """Half of what was lost lies in gaps as long as this or longer."""
    length = np.sort(runs_of(lost)[1])
    if not len(length):
        return 1
    total = np.cumsum(length)
    return int(length[np.searchsorted(total, total[-1] / 2)])
