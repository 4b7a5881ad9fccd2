"""Which readings are false: they jump out and jump back.

A segment of up to 80 readings is false when leaving it out explains the jumps better than keeping
it: the log likelihood ratio of one jump across against a jump out and a jump back. A real step
(the sun
arrives, a door opens) costs one jump and is spared. Every channel has to agree: a node's own past
*and* its companions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.core.ranks import row_medians
from fieldmend.field.joined import joined
from fieldmend.field.jumps import Index, JumpLaw, Readings, fit_jumps
from fieldmend.field.model import Data

_LONGEST = 80
_LONGEST_END = 30  # at the ends of a record, where nothing jumps back
_EVIDENCE = 3.0
_DECIDED = 1.0  # beyond the evidence: what scores less still counts as a jump that happens
_END = 4.0  # more evidence is wanted there
_PER_READING = 0.1
_ODD = 2.0  # a jump this much less likely than none is a candidate
_RATES = (0.01, 0.001)  # of single false readings and of longer segments, to start from
_HIGHEST = (0.1, 0.02)  # and at the most
_ROUNDING = 1e-6  # of a bound
_ROUNDS = 3
COMPANY = 6  # nodes: with fewer, what one reads alone may as well be so
_MOVED = 4, 2.0  # a segment of so many readings that goes so many times as far as it jumped
_STEP = 2.0  # a wave goes so many times as far as the largest of its steps
_MOVING = 5.0  # more evidence is wanted of such
NEVER = 1e9  # evidence that nothing has


@dataclass(frozen=True)
class Channel:
    """One view of the readings, nodes × slots, and how far it may fall short of the evidence."""

    values: Array
    slack: float = 0.0


@dataclass(frozen=True)
class Rule:
    """What was learnt about jumps: applied to other stretches of the same record as it is."""

    laws: tuple[JumpLaw, ...]
    rates: tuple[float, float]
    more: tuple[float, float] = (0.0, 0.0)  # evidence that single ones and longer segments need
    events: bool = False  # segments that others join are what happened

    def apply(self, channels: tuple[Channel, ...], used: Mask, slots: Index) -> Mask:
        """Readings (among the used) that every channel calls false."""
        false = self.segments(channels, used, slots).mask(used)
        if self.events:
            false &= ~joined(false, channels[0].values, used, channels[-1].values)[0]
        return false

    def segments(self, channels: tuple[Channel, ...], used: Mask, slots: Index) -> Segments:
        """The false segments."""
        at = Readings.where(used, slots)
        start, length, score = _View(channels, used, at, self.laws).segments(self.rates)
        kept = score > np.where(length == 1, *self.more)
        start, length, score = start[kept], length[kept], score[kept]
        if len(used) < COMPANY:
            moved = [_moved(c.values[used], at, start, length) for c in channels]
            kept = ~np.any(moved, axis=0) | (score > _MOVING)
            start, length, score = start[kept], length[kept], score[kept]
        kept = ~_waves(channels[0].values[used], at, start, length)
        start, length, score = start[kept], length[kept], score[kept]
        return Segments(at, start, length, score)


@dataclass(frozen=True)
class Segments:
    """Segments of readings held to be false: first reading, length, evidence beyond the needed."""

    at: Readings
    start: Index
    length: Index
    score: Array

    def mask(self, used: Mask) -> Mask:
        """Their readings among the used ones, nodes × slots."""
        return _placed(~_outside(self.start, self.length, len(self.at.node)), used)


def learn(channels: tuple[Channel, ...], used: Mask, slots: Index) -> tuple[Mask, Rule]:
    """False readings, and the rule that found them.

    The law of the jumps is learnt again without what was clearly false. Leaving out all that was
    flagged would thin its tails each time, until real steps are flagged too.
    """
    at = Readings.where(used, slots)
    good, rates = np.ones(len(at.node), dtype=np.bool_), _RATES
    view = _learnt(channels, used, at, good)
    for left in reversed(range(_ROUNDS)):
        rule = Rule(view.laws, rates)
        start, length, score = view.segments(rates)
        clear = score > _DECIDED
        before, good = good, _outside(start[clear], length[clear], len(at.node))
        rates = _rates(length, len(at.node))
        changed = bool((good != before).any())
        if not left or (rates == rule.rates and not changed):
            break
        if changed:
            view = _learnt(channels, used, at, good)
    return _placed(~_outside(start, length, len(at.node)), used), rule


def _learnt(channels: tuple[Channel, ...], used: Mask, at: Readings, good: Mask) -> _View:
    kept = Readings(at.slot[good], at.node[good])
    laws = tuple(fit_jumps(c.values[used][good], kept, len(used)) for c in channels)
    return _View(channels, used, at, laws)


def _placed(marked: Mask, used: Mask) -> Mask:
    out = np.zeros(used.shape, dtype=np.bool_)
    out[used] = marked
    return out


class _View:
    """The readings seen by all channels' laws: whatever does not depend on the rates."""

    def __init__(
        self, channels: tuple[Channel, ...], used: Mask, at: Readings, laws: tuple[JumpLaw, ...]
    ) -> None:
        self.laws, self.slack = laws, [c.slack for c in channels]
        if not len(at.node):
            self.start = self.end = np.zeros(0, np.intp)
            return
        values = (c.values[used] for c in channels)
        self.scorers = [_Scorer(v, at, law) for v, law in zip(values, laws, strict=True)]
        self.start, self.end = self.scorers[0].pairs(self.slack[0])
        self.most = self.scorers[0].most(self.start, self.end)

    def segments(self, rates: tuple[float, float]) -> tuple[Index, Index, Array]:
        """The false segments: first reading, length, score."""
        return _chosen(*self._candidates(rates))

    def _candidates(self, rates: tuple[float, float]) -> tuple[Index, Index, Array]:
        """Segments (first reading, length) that pass, and by how much."""
        start, end = self.start, self.end
        if not len(start):
            return start, end, np.zeros(0)
        prior = _prior(rates)[end - start]
        evidence, most = np.full(len(start), np.inf), self.most
        for scorer, slack in zip(self.scorers, self.slack, strict=True):
            if scorer is not self.scorers[0]:
                most = scorer.most(start, end)
            # What cannot pass is dropped before it is scored: most pairs.
            kept = most + slack + prior > 0
            start, end, prior, evidence = start[kept], end[kept], prior[kept], evidence[kept]
            evidence = np.minimum(evidence, scorer.score(start, end) + slack)
        score = prior + evidence
        kept = score > 0
        return start[kept], (end - start)[kept], score[kept]


def _prior(rates: tuple[float, float]) -> Array:
    """How far a segment of each length is from being believed without evidence."""
    length = np.arange(_LONGEST + 1)
    # A longer segment is one long fault, or single ones side by side.
    longer = np.maximum(np.log(rates[1]), length * np.log(rates[0]))
    score = np.where(length == 1, np.log(rates[0]), longer)
    out: Array = score - _PER_READING * (length - 1) - _EVIDENCE
    return out


class _Scorer:
    """Log likelihood ratios of segments in one channel; boundary i is before reading i."""

    def __init__(self, values: Array, at: Readings, law: JumpLaw) -> None:
        self.values, self.at, self.law, self.inner = values, at, law, at.inner
        jump = np.where(self.inner, np.diff(values, prepend=0.0, append=0.0), 0.0)
        gap = np.where(self.inner, np.diff(at.slot, prepend=0, append=0), 1)
        node = np.append(at.node, at.node[-1])
        self.log_width = np.log(law.width)
        self.highest = law.highest()
        density, none = law.log_densities(jump, gap, node)
        self.loss = np.where(self.inner, -density, 0.0)
        self.odd = ~self.inner | (none - density > _ODD)
        # Within a segment, a jump that only a second false reading explains.
        again = np.maximum(self.loss - self.log_width + np.log(_RATES[0]), 0.0) * self.inner
        self.within = np.concatenate([[0.0], np.cumsum(again)])

    def score(self, start: Index, end: Index) -> Array:
        """Evidence that readings start … end − 1 are false."""
        both = self.inner[start] & self.inner[end]
        across: Array = np.empty(len(start))
        i, j = start[both], end[both]
        gap = self.at.slot[j] - self.at.slot[i - 1]
        jump = self.values[j] - self.values[i - 1]
        across[both] = self.law.log_density(jump, gap, self.at.node[i])
        across[~both] = self._at_end(start[~both], end[~both]) - _END
        return self._jumps(start, end) + across

    def most(self, start: Index, end: Index) -> Array:
        """What `score` is at the most: as if there were no jump across the segment."""
        both = self.inner[start] & self.inner[end]
        return self._jumps(start, end) + np.where(both, self.highest[self.at.node[start]], np.inf)

    def pairs(self, slack: float) -> tuple[Index, Index]:
        """Pairs of odd boundaries of one node, at most 80 readings apart (30 at an end).

        Without those that could not pass whatever the rates: of `most`, by boundaries side by side
        instead of pair by pair, that is nearly all of them.
        """
        place = np.flatnonzero(self.odd)
        node, inner = np.append(self.at.node, self.at.node[-1]), self.inner[place]
        after, before = node[place], node[np.maximum(place - 1, 0)]
        out = self.loss[place] - self.within[np.minimum(place + 1, len(self.within) - 1)]
        out += self.highest[after] - self.log_width + slack + _ROUNDING
        back = self.loss[place] + self.within[place]
        prior = _prior(_HIGHEST)
        starts, ends = [], []
        for k in range(1, _LONGEST + 1):
            length = place[k:] - place[:-k]
            near = length <= _LONGEST
            if not near.any():
                break
            near &= after[:-k] == before[k:]
            both = inner[:-k] & inner[k:]
            passing = out[:-k] + back[k:] + prior[np.minimum(length, _LONGEST)] > 0
            at_end = (inner[:-k] ^ inner[k:]) & (length <= _LONGEST_END)
            kept = np.flatnonzero(near & ((both & passing) | at_end))
            starts.append(place[kept])
            ends.append(place[kept + k])
        if not starts:
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        return np.concatenate(starts), np.concatenate(ends)

    def _jumps(self, start: Index, end: Index) -> Array:
        inside = self.within[end] - self.within[start + 1]
        out: Array = self.loss[start] + self.loss[end] + inside - self.log_width
        return out

    def _at_end(self, start: Index, end: Index) -> Array:
        """With nothing on one side: how much less usual the level inside is than that outside."""
        last = len(self.values) - 1
        first = self.inner[end]  # the record begins with the segment, readings follow
        inside = np.where(first, np.minimum(end, last + 1) - 1, start)
        outside = np.where(first, np.minimum(end, last), np.maximum(start - 1, 0))
        node = self.at.node[start]
        levels = self.law.log_level(self.values[outside], node)
        out: Array = levels - self.law.log_level(self.values[inside], node)
        return out


def _chosen(start: Index, length: Index, score: Array) -> tuple[Index, Index, Array]:
    """The segments with the largest total score that leave a reading between them."""
    if not len(start):
        return start, length, score
    order = np.argsort(start + length, kind="stable")
    start, length, score = start[order], length[order], score[order]
    # The last segment that ends before the one at hand starts, a good reading between.
    before = np.searchsorted(start + length, start - 1, side="right")
    total, take, best = [0.0], [], 0.0
    for own, b in zip(score.tolist(), before.tolist(), strict=True):
        with_it = own + total[b]
        take.append(with_it > best)
        if with_it > best:
            best = with_it
        total.append(best)
    chosen, i = [], len(take)
    while i:
        if take[i - 1]:
            chosen.append(i - 1)
            i = int(before[i - 1])
        else:
            i -= 1
    kept = np.array(chosen[::-1], dtype=np.intp)
    return start[kept], length[kept], score[kept]


def _moved(values: Array, at: Readings, start: Index, length: Index) -> Mask:
    """Segments that went further than they jumped: a door that opens, rather than a fault.

    Most of what is false jumps to where it stays and jumps back from there. A drift moves, too, but
    that it is one, only company can tell.
    """
    out, inner = np.zeros(len(start), dtype=np.bool_), at.inner
    fewest, further = _MOVED
    for k in np.flatnonzero(length >= fewest).tolist():
        first, after = int(start[k]), int(start[k] + length[k])
        sides = [
            values[i] for i, there in ((first - 1, inner[first]), (after, inner[after])) if there
        ]
        off = np.abs(values[first:after] - np.linspace(sides[0], sides[-1], int(length[k])))
        ends = [d for d, there in ((off[0], inner[first]), (off[-1], inner[after])) if there]
        out[k] = off.max() > further * min(ends)
    return out


def _waves(values: Array, at: Readings, start: Index, length: Index) -> Mask:
    """Segments that come and go by steps, each far less than how far they go: what happens.

    What fails jumps at one end at least: to where it stays, or back from where it drifted.
    """
    out, inner = np.zeros(len(start), dtype=np.bool_), at.inner
    for k in np.flatnonzero(length >= _MOVED[0]).tolist():
        first, after = int(start[k]), int(start[k] + length[k])
        if not (inner[first] and inner[after]):
            continue
        off = values[first:after] - np.linspace(values[first - 1], values[after], int(length[k]))
        # Across a long gap it may have gone by steps, as a random walk does (of half its slots).
        slots = np.diff(at.slot[first - 1 : after + 1])
        steps = np.abs(np.diff(off, prepend=0.0, append=0.0)) / np.sqrt(np.maximum(slots / 2, 1.0))
        out[k] = _STEP * steps.max() < np.abs(off).max()
    return out


def _outside(start: Index, length: Index, count: int) -> Mask:
    edge = np.zeros(count + 1, dtype=np.intp)
    np.add.at(edge, start, 1)
    np.add.at(edge, start + length, -1)
    out: Mask = np.cumsum(edge[:-1]) == 0
    return out


def _rates(length: Index, count: int) -> tuple[float, float]:
    """How often segments begin, by experience; never less than a little."""
    single, longer = int((length == 1).sum()), int((length > 1).sum())
    return (
        min(_HIGHEST[0], (single + 1.0) / (count + 100.0)),
        min(_HIGHEST[1], (longer + 0.2) / (count + 200.0)),
    )


def first_channels(data: Data) -> tuple[Channel, ...]:
    """Before any field is known: a node's own past and its distance to the slot's median."""
    middle = np.zeros(data.readings.shape[1])
    heard = data.used.any(axis=0)
    middle[heard] = row_medians(np.where(data.used, data.readings, np.nan).T[heard])
    return Channel(data.readings), Channel(data.readings - middle)


def second_channels(data: Data, common: Array) -> tuple[Channel, ...]:
    """With a field at hand: the departure from it decides, the node's own past may object."""
    return Channel(data.readings - common), Channel(data.readings, slack=6.0)
