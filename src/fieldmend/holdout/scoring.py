"""How far off an estimate is that never saw the hidden readings, weighted by what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.diagnostics import gap_at
from fieldmend.grid import Array
from fieldmend.holdout.blocks import blocks_of, concentration, spread
from fieldmend.holdout.strata import COUNT, STARTS, Index, Mask, bounds, strata
from fieldmend.metrics import GapErrors, HiddenErrors, interpolate
from fieldmend.result.holdout import GapScore, Holdout

FAR = 5.0  # times the error that nine in ten stay below, off estimate and line both
LONGER = 2.0  # times the longest gap tried: what was lost in longer ones is untested
DOUBTED = 0.2  # of the hidden readings may be left out as false
FEWEST = 10  # hidden readings that a kind of gap needs to be tested


@dataclass(frozen=True)
class Lost:
    """What was lost: entries of each stratum, the lengths of their gaps, and when, in blocks."""

    stratum: Index
    gap: Index
    block: Index

    @classmethod
    def of(cls, heard: Mask, lost: Mask) -> Lost:
        """From what was heard and what was lost, slots × nodes.

        A reading that is taken for false is not heard: whoever estimates goes without it, and what
        was lost beside it lies in a gap as long as all that is missing there.
        """
        gap = gap_at(heard)
        return cls(strata(heard, heard | lost)[lost], gap[lost], blocks_of(heard, lost, gap))

    @classmethod
    def pooled(cls, parts: Sequence[Lost]) -> Lost:
        """Several stretches of a record as one."""
        return cls(*_pooled(parts))

    def kept(self, which: Mask) -> Lost:
        """Some of it."""
        return Lost(*(array[which] for array in vars(self).values()))


@dataclass(frozen=True)
class Said:
    """What a method says without the hidden readings, slots × nodes."""

    estimate: Array
    lower: Array | None = None
    upper: Array | None = None

    def over(self, scale: Array) -> Said:
        """The same in parts of a scale of each node."""
        ends = (None if end is None else end / scale for end in (self.lower, self.upper))
        return Said(self.estimate / scale, *ends)

    def held(self, truth: Array, hidden: Mask, period: float) -> Array:
        """1 where the interval held the truth, 0 where not, NaN where there is none."""
        if self.lower is None or self.upper is None:
            return np.full(truth.shape, np.nan)
        low, high = self.lower[hidden], self.upper[hidden]
        held = (low <= truth) & (truth <= high)
        if period:
            held = (truth - low) % period <= high - low
        return np.where(np.isnan(low + high), np.nan, held)


@dataclass(frozen=True)
class Witnesses:
    """Hidden readings and what was said of them; one entry each.

    ``error`` and ``line`` are signed, ``inside`` is 1 where the interval held the reading, NaN
    without interval. ``block`` numbers stretches of time: gaps of one block may share their errors.
    """

    error: Array
    line: Array
    inside: Array
    stratum: Index
    gap: Index
    block: Index

    @classmethod
    def of(
        cls, readings: Array, hidden: Mask, lost: Mask, said: Said, period: float = 0.0
    ) -> Witnesses:
        """Score hidden readings, slots × nodes; NaN in `readings` where nothing was heard.

        The line runs through what is left of the readings as they arrived; both go round a circle
        of length `period` if there is one.
        """
        left = np.where(hidden, np.nan, readings)
        truth = readings[hidden]
        nowhere = np.zeros(truth.shape, dtype=np.intp)
        found = cls(
            around(said.estimate[hidden] - truth, period),
            around(_straight(left, period)[hidden] - truth, period),
            said.held(truth, hidden, period),
            nowhere,
            nowhere,
            nowhere,
        )
        return found.placed(~np.isnan(left), ~np.isnan(readings) | lost, hidden)

    def placed(self, heard: Mask, expected: Mask, hidden: Mask) -> Witnesses:
        """The same in the gaps that are bridged, where `heard` is what an estimate goes by."""
        gap = gap_at(heard)
        stratum = strata(heard, expected)[hidden]
        return replace(self, stratum=stratum, gap=gap[hidden], block=blocks_of(heard, hidden, gap))

    @classmethod
    def pooled(cls, parts: Sequence[Witnesses]) -> Witnesses:
        """Several stretches of a record as one."""
        return cls(*_pooled(parts))

    def kept(self, which: Mask) -> Witnesses:
        """Some of them."""
        return Witnesses(*(array[which] for array in vars(self).values()))


def _pooled(parts: Sequence[Lost] | Sequence[Witnesses]) -> list[Array]:
    """All columns one after the other; blocks, the last of them, are numbered on."""
    offset = np.cumsum([0, *(int(p.block.max(initial=-1)) + 1 for p in parts)])
    columns = list(zip(*(list(vars(p).values()) for p in parts), strict=True))
    block = [b + o for b, o in zip(columns.pop(), offset, strict=False)]
    return [np.concatenate(c) for c in (*columns, block)]


def believed(doubted: Mask) -> Mask:
    """Hidden readings to score: all but those that are no truth, if these are few.

    A sensor that is stuck is no truth to compare with, and a line through its other readings comes
    close to nothing but its fault. But who doubts many readings could doubt its own mistakes away:
    then all of them are scored.
    """
    if doubted.mean() > DOUBTED:
        return np.ones_like(doubted)
    return ~doubted


def score(
    seen: Witnesses, lost: Lost, *, copied: bool = True, suspect: Mask | None = None
) -> Holdout | None:
    """The errors of an estimate made without the hidden readings, beside a straight line's.

    The error of a suspect reading that is far off estimate and line both is limited: it says more
    of the reading. No other is: rain that nobody foresaw is an error, however large.

    Parameters
    ----------
    seen
        The hidden readings. Those without an estimate are left out.
    lost
        What was really lost.
    copied
        Whether they were hidden in copies of the real gaps.
    suspect
        True for hidden readings that a recovery of all readings calls suspect; None for none.

    Returns
    -------
    Holdout or None
        None without hidden readings.
    """
    known = np.isfinite(seen.error) & np.isfinite(seen.line)
    doubted = np.zeros_like(known) if suspect is None else suspect
    seen, doubted = seen.kept(known), doubted[known]
    if not seen.error.size:
        return None
    weight = weights(seen, lost) if copied else np.zeros(COUNT)
    as_lost = bool(weight.any())
    if not as_lost:
        weight = np.bincount(seen.stratum, minlength=COUNT) / seen.error.size
    table = _Table.of(seen, doubted)
    return table.whole(weight, lost, copied=copied and as_lost)


def weights(seen: Witnesses, lost: Lost) -> Array:
    """Share of what was lost by stratum, 0 where nothing was tried."""
    share = np.bincount(lost.stratum[_tried(seen, lost)], minlength=COUNT).astype(np.float64)
    return share / share.sum() if share.any() else share


def _tried(seen: Witnesses, lost: Lost) -> Mask:
    """Lost entries in strata with enough hidden readings, in gaps about as long as those."""
    count = np.bincount(seen.stratum, minlength=COUNT)
    longest = np.zeros(COUNT)
    np.maximum.at(longest, seen.stratum, seen.gap)
    out: Mask = (count >= FEWEST)[lost.stratum]
    return out & (lost.gap <= LONGER * longest[lost.stratum])


@dataclass(frozen=True)
class _Table:
    """Errors of every hidden reading; those of far suspects limited."""

    seen: Witnesses
    ours: Array
    line: Array
    far: Mask

    @classmethod
    def of(cls, seen: Witnesses, doubted: Mask) -> _Table:
        ours, line = np.abs(seen.error), np.abs(seen.line)
        limit = np.full(COUNT, np.inf)
        for k in np.unique(seen.stratum):
            here = seen.stratum == k
            limit[k] = FAR * max(float(np.quantile(e[here], 0.9)) for e in (ours, line))
        limit = np.where(limit > 0, limit, np.inf)
        at = limit[seen.stratum]
        far = doubted & (ours > at) & (line > at)
        ours, line = np.where(far, at, ours), np.where(far, at, line)
        return cls(seen, ours, line, far)

    def kept(self, which: Mask) -> _Table:
        """Some of them."""
        return _Table(self.seen.kept(which), self.ours[which], self.line[which], self.far[which])

    def whole(self, weight: Array, lost: Lost, *, copied: bool) -> Holdout:
        """All strata by their weight."""
        ours, line = self._errors(self.ours, weight), self._errors(self.line, weight)
        skill = _skill(ours[1], line[1])
        classes = tuple(self._class(i, weight, lost, copied=copied) for i in range(len(STARTS)))
        tried = lost.kept(_tried(self.seen, lost) & copied)
        rows = [c for c in classes if c.count]
        count = self.ours.size
        return Holdout(
            HiddenErrors(count, *ours, skill, tuple(_ours(c) for c in rows)),
            HiddenErrors(count, *line, 0.0, tuple(_line(c) for c in rows)),
            self._covered(weight),
            self._at_lost(self.ours, weight, tried),
            self._uncertainty(self.ours - self.line, weight),
            self._mean(np.abs(self.seen.error), weight),
            self._mean(np.abs(self.seen.line), weight),
            int(np.count_nonzero(self.far)),
            tuple(c for c in classes if c.count or c.lost),
            copied,
            float(np.mean(_tried(self.seen, lost))) if copied and lost.gap.size else 1.0 * copied,
        )

    def _mean(self, values: Array, weight: Array) -> float:
        """Mean of each stratum, by its weight; strata without readings are left out."""
        count = np.bincount(self.seen.stratum, minlength=COUNT)
        used = np.where(count > 0, weight, 0.0)
        if not used.any():
            used = np.where(count > 0, count, 0.0)
        top = float(values.max(initial=0.0)) or 1.0  # sums of 1e300 stay finite
        means = np.bincount(self.seen.stratum, values / top, COUNT) / np.maximum(count, 1)
        return top * float(means @ (used / used.sum()))

    def _errors(self, values: Array, weight: Array) -> tuple[float, float]:
        top = float(values.max()) or 1.0
        return self._mean(values, weight), top * self._mean((values / top) ** 2, weight) ** 0.5

    def _uncertainty(self, values: Array, weight: Array) -> float:
        return spread(values, self.seen.stratum, self.seen.block, weight)

    def _at_lost(self, values: Array, weight: Array, lost: Lost) -> float:
        """How far the mean at what was lost may be off that of the hidden readings, one error.

        Both are draws: few gaps that were lost may be the hard ones, however well it is known what
        such gaps usually cost.
        """
        error = self._uncertainty(values, weight)
        for k in np.unique(lost.stratum):
            alone = np.where(np.arange(COUNT) == k, weight, 0.0)
            of = (lost.block[lost.stratum == k], self.seen.block[self.seen.stratum == k])
            theirs, ours = (concentration(block) for block in of)
            luck = self._uncertainty(values, alone) * np.sqrt(theirs / ours)
            error = float(np.hypot(error, luck))
        return error

    def _covered(self, weight: Array) -> float | None:
        asked = ~self.far & ~np.isnan(self.seen.inside)
        if not asked.any():
            return None
        part = self.kept(asked)
        return part._mean(part.seen.inside, weight)

    def _class(self, i: int, weight: Array, lost: Lost, *, copied: bool) -> GapScore:
        both = (i, i + len(STARTS))
        share = np.bincount(lost.stratum, minlength=COUNT)[list(both)]
        total = max(lost.stratum.size, 1)
        mine = lost.kept(_tried(self.seen, lost) & (lost.stratum % len(STARTS) == i) & copied)
        here = self.seen.stratum % len(STARTS) == i
        gone = float((share.sum() - mine.stratum.size) / total)
        facts = (*bounds(i), float(share.sum() / total), float(share[1] / max(share.sum(), 1)))
        if not here.any():
            none = (np.nan, np.nan, np.nan, np.nan, np.nan)
            return GapScore(*facts, 0, *none, None, gone)
        part = self.kept(here)
        own = np.zeros(COUNT)
        own[list(both)] = weight[list(both)]
        if not own.any():
            own[list(both)] = np.bincount(part.seen.stratum, minlength=COUNT)[list(both)]
        own = own / own.sum()
        error = part._at_lost(part.ours, own, mine)
        mae, rmse = part._errors(part.ours, own)
        means = mae, error, rmse, *part._errors(part.line, own)
        return GapScore(*facts, int(here.sum()), *means, part._covered(own), gone)


def around(off: Array, period: float) -> Array:
    """Differences the shorter way round a circle; as they are without one."""
    return off if not period else (off + period / 2) % period - period / 2


def _straight(left: Array, period: float) -> Array:
    """Straight lines between the readings that are left; chords of the circle if there is one."""
    if not period:
        return interpolate(left)
    angle = np.asarray(2 * np.pi / period * left, dtype=np.float64)
    sine, cosine = (interpolate(np.asarray(f(angle))) for f in (np.sin, np.cos))
    return np.asarray(np.arctan2(sine, cosine) * (period / (2 * np.pi)), dtype=np.float64)


def _ours(one: GapScore) -> GapErrors:
    skill = _skill(one.rmse, one.line_rmse)
    return GapErrors(one.shortest, one.longest, one.count, one.mae, one.rmse, skill)


def _line(one: GapScore) -> GapErrors:
    return GapErrors(one.shortest, one.longest, one.count, one.line_mae, one.line_rmse, 0.0)


def _skill(ours: float, line: float) -> float:
    if line == 0:
        return 0.0 if ours == 0 else -np.inf
    return 1 - (ours / line) ** 2
