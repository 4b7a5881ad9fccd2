"""From flagged readings to episodes: grouped, named, weighed, explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldmend.faults import history
from fieldmend.faults.battery import battery
from fieldmend.faults.certainty import Reach, certain, reach
from fieldmend.faults.events import DAY
from fieldmend.faults.explain import explain, explain_event, explain_local, swings
from fieldmend.faults.kind import Kind
from fieldmend.faults.labels import Context, Episode
from fieldmend.faults.neighbours import Panel, panel
from fieldmend.faults.packets import Packets
from fieldmend.faults.stretches import (
    MAD,
    Array,
    Mask,
    bounded,
    joined,
    middle,
    node_medians,
    resolution,
    stretches,
)
from fieldmend.faults.together import Local, Move, common_moves, gathered
from fieldmend.quantities import Kind as QuantityKind

# Readings between two flagged ones that do not part them: in a lasting fault, and otherwise.
LASTING_GAP, SHORT_GAP = 15, 1
# Longest run of flagged readings that is a spike, and that is a burst.
SPIKE, BURST = 2, 30
# A stretch is called dead if it reaches the node's last reading and ends this many spreads off.
DEAD = 8.0
# A stretch of which so much is one value is stuck.
STILL = 0.8
# Confidence in what is certain, at the least: a value that repeats is false however near it lies.
SURE = 0.9


@dataclass(frozen=True)
class Stretch:
    """One node's flagged readings that belong together, and what its kind is read from."""

    node: int
    at: Array
    """Slots of all its readings, from the first flagged to the last."""
    deviation: Array
    """Reading − estimate, in spreads."""
    readings: Array
    implied: Array
    """What its companions imply."""
    flagged: int
    to_end: bool
    lasting: bool
    step: float
    """Usual distance between neighbouring readings."""
    beside: float = np.nan
    """What it reads before and after, unflagged; NaN where nothing is heard."""
    since: bool = False
    """Accused by a model of earlier days, which says what is `implied`."""


def classify(
    X: Any,
    estimate: Any,
    suspect: Mask,
    context: Context | None = None,
    persistent: Mask | None = None,
    *,
    event: Mask | None = None,
    since: Mask | None = None,
) -> tuple[Episode, ...]:
    """Group flagged readings into episodes, name their kinds and explain them.

    Parameters
    ----------
    X, estimate
        Readings (NaN = not observed) and the recovered field, slots × nodes.
    suspect
        Flagged readings, of whatever method.
    context
        Labels, places, companion conditions.
    persistent
        Those in lasting stretches; they are flagged too. Runs of more than 30 flagged readings
        count as lasting in any case.
    event
        Readings that were off and that others saw too: reported as events, not flagged.
    since
        Readings that a model of earlier days accuses: `estimate` says where they belong.

    Returns
    -------
    tuple of Episode
        By node, then start; every flagged reading lies in exactly one episode. Events follow
        last: they are no faults, and none of their readings need be flagged.

    Notes
    -----
    Time and memory O(T·N).

    Examples
    --------
    >>> import fieldmend as fm
    >>> from fieldmend import faults
    >>> net = fm.simulate.network(400, 20, field="temperature", anomaly="dead", noise=0.1, seed=1)
    >>> lasting = faults.persistent(net.readings)
    >>> known = np.where(lasting, np.nan, net.readings)
    >>> episodes = faults.classify(net.readings, fm.decompose(known).estimate, lasting)
    >>> {str(e.kind) for e in episodes}
    {'dead'}
    """
    context = context or Context()
    values, power = bounded(X)
    fitted = np.clip(np.ldexp(np.asarray(estimate, dtype=np.float64), -int(power)), -1e60, 1e60)
    observed = ~np.isnan(values)
    lasting = np.zeros_like(observed) if persistent is None else persistent & observed
    flagged = (np.asarray(suspect, dtype=np.bool_) & observed) | lasting
    residual = values - fitted
    alike = context.quantity.kind is not QuantityKind.MIXED
    spread = _spreads(residual, flagged, alike=alike)
    spread = np.maximum(spread, np.ldexp(context.usual, -int(power)))
    seen = panel(values, flagged, context)
    read = _as_read(values, context, int(power))
    allowed = reach(read, flagged, seen)
    packets = Packets(context)
    moved = np.zeros_like(observed) if since is None else since & observed
    unit = 2.0**power
    found = [
        _episode(
            _held_against(stretch, moved, fitted, context),
            seen,
            packets,
            context,
            allowed=allowed,
            unit=unit,
        )
        for stretch in _all(read, residual / spread, flagged, lasting, seen)
    ]
    found.sort(key=lambda episode: (episode.node, episode.start))
    day = round(DAY / context.slot) if context.slot > 0 else LASTING_GAP
    moves = common_moves(values, flagged, max(day, 1)) if alike else []
    common = [
        _event(move, move.nodes, context, explain_event(move, context, unit)) for move in moves
    ]
    if event is None or not event.any():
        return (*found, *common)
    # What is within a node's usual spread, or below its resolution, is nothing to tell.
    least = np.maximum(spread, resolution(values))
    local = [
        one
        for one in gathered(event & observed & ~flagged, residual / spread, residual)
        if abs(one.size) > least[one.node]
    ]
    seen_too = (
        _event(one, one.readings, context, explain_local(one, context, unit)) for one in local
    )
    return (*found, *common, *seen_too)


def kinds(episodes: Sequence[Episode], shape: tuple[int, int]) -> tuple[Array, tuple[str, ...]]:
    """For each slot and node the index of its episode, −1 for none; and the kind of each episode.

    Events are left out: they are no faults.

    Examples
    --------
    >>> one = Episode(1, "t", 2, 4, "burst", 2, 9.0, 0.8, "…")
    >>> kinds([one], (5, 2))[0].T
    array([[-1, -1, -1, -1, -1],
           [-1, -1,  0,  0, -1]])
    """
    out = np.full(shape, -1, dtype=np.int64)
    for i, episode in enumerate(episodes):
        if episode.kind != Kind.EVENT:
            out[episode.start : episode.stop, episode.node] = i
    return out, tuple(str(episode.kind) for episode in episodes)


def _as_read(values: Array, context: Context, power: int) -> Array:
    """Readings as they were sent: a direction is judged on the turn nearest to the estimate."""
    turn, start = np.ldexp((context.quantity.period, context.quantity.start), -power)
    if not turn:
        return values
    share = np.round((values - start) / turn % 1, 9) % 1  # 0 and a full turn are one
    return np.asarray(start + turn * share)


def _spreads(residual: Array, flagged: Mask, *, alike: bool) -> Array:
    """Robust standard deviations of unflagged residuals; of nodes alike, not far below all's."""
    spread = MAD * node_medians(np.abs(np.where(flagged, np.nan, residual)))
    usual = spread[spread > 0]
    typical = float(np.median(usual)) if usual.size else 1.0
    spread = np.nan_to_num(spread, nan=typical)
    return np.maximum(spread, 0.2 * typical) if alike else np.where(spread > 0, spread, typical)


def _all(values: Array, z: Array, flagged: Mask, lasting: Mask, seen: Panel) -> Iterator[Stretch]:
    for n in np.flatnonzero(flagged.any(axis=0)):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        readings, deviation, false = values[at, n], z[at, n], flagged[at, n]
        sound = np.flatnonzero(~false)
        step = history.usual_roughness(history.roughness(readings[sound]))
        lasts_here = _longer(lasting[at, n], SPIKE) | _long_runs(false)
        long = joined(lasts_here, LASTING_GAP)
        short = joined(false & ~long, SHORT_GAP) & ~long
        implied = np.empty(at.size)  # of all its stretches at once
        implied[long | short] = seen.implied(int(n), at[long | short])
        for marks, lasts in ((long, True), (short, False)):
            for a, b in _parted(readings, marks, false):
                yield Stretch(
                    node=int(n),
                    at=at[a:b],
                    deviation=deviation[a:b],
                    readings=readings[a:b],
                    implied=implied[a:b],
                    flagged=int(np.count_nonzero(false[a:b])),
                    to_end=b >= at.size - max(1, (b - a) // 20),
                    lasting=lasts,
                    step=step,
                    beside=_beside(readings, sound, a, b),
                )


def _beside(readings: Array, sound: Array, start: int, stop: int) -> float:
    """Mean of the nearest readings before and after a stretch, of those that are not flagged."""
    at = [*sound[: np.searchsorted(sound, start)][-1:], *sound[np.searchsorted(sound, stop) :][:1]]
    return float(readings[at].mean()) if at else np.nan


def _held_against(stretch: Stretch, since: Mask, estimate: Array, context: Context) -> Stretch:
    """A stretch that is mostly accused by a model, held against what the model says.

    And one of a node that nobody is like: no companions can say what it should read.
    """
    at = stretch.at, stretch.node
    if context.quantity.kind is QuantityKind.MIXED:
        return replace(stretch, implied=estimate[at])
    if 2 * np.count_nonzero(since[at]) <= stretch.flagged:
        return stretch
    return replace(stretch, implied=estimate[at], since=True)


def _parted(readings: Array, marks: Mask, false: Mask) -> Iterator[tuple[int, int]]:
    """First and one past the last of each run of marks; where one mostly stands still, that apart.

    What is beside a stuck stretch, or between two, was not stuck, and may have been true.
    """
    for a, b in zip(*stretches(marks), strict=True):
        pieces = [(int(a + c), int(a + d)) for c, d in zip(*stretches(false[a:b]), strict=True)]
        if len(pieces) > 1 and all(_still(readings[c:d]) for c, d in pieces):
            yield from pieces
            continue
        if b - a < history.SHORTEST_STUCK:
            yield int(a), int(b)
            continue
        runs = history.repeats(readings[a:b])
        longest = int(np.argmax(runs.length))
        length, first = int(runs.length[longest]), int(a + runs.start[longest])
        to_end = b >= marks.size - max(1, (b - a) // 20)  # a node that dies comes to rest
        if to_end or length < max(STILL * (b - a), history.SHORTEST_STUCK):
            yield int(a), int(b)
            continue
        for c, d in ((int(a), first), (first, first + length), (first + length, int(b))):
            if d > c:
                yield c, d


def _still(readings: Array) -> bool:
    """Whether a piece is one value, too often for a spike."""
    return readings.size > SPIKE and history.repeats(readings).length.size == 1


def _longer(marks: Mask, most: int) -> Mask:
    """Runs of more than so many: single readings an hour apart are no lasting fault."""
    out = np.zeros_like(marks)
    for a, b in zip(*stretches(marks), strict=True):
        out[a:b] = b - a > most
    return out


def _long_runs(marks: Mask) -> Mask:
    """Runs of flagged readings that are too long for a burst, whoever flagged them."""
    out = np.zeros_like(marks)
    for a, b in zip(*stretches(joined(marks, SHORT_GAP)), strict=True):
        out[a:b] = marks[a:b] & (b - a > BURST)
    return out


def _kind(stretch: Stretch, seen: Panel, packets: Packets, context: Context) -> Kind:
    if stretch.at.size <= SPIKE:
        return Kind.PACKET if packets.off(stretch.node, int(stretch.at[0])) else Kind.SPIKE
    if not stretch.lasting:
        return Kind.BURST
    if _dead(stretch, seen, context):
        return Kind.DEAD
    if history.repeats(stretch.readings).length.max() >= STILL * stretch.at.size:
        return Kind.STUCK
    if not stretch.since and (_noisy(stretch) or swings(stretch.deviation)):
        return Kind.NOISY if stretch.at.size > BURST else Kind.BURST
    third = max(stretch.at.size // 3, 1)
    first = float(np.median(stretch.deviation[:third]))
    last = float(np.median(stretch.deviation[-third:]))
    if abs(last - first) > 0.5 * max(abs(first), abs(last)):
        return Kind.DRIFT
    return Kind.BIAS if stretch.at.size > BURST else Kind.BURST


def _dead(stretch: Stretch, seen: Panel, context: Context) -> bool:
    """Off to its last reading, out of its range, and saturated, run away or low on battery."""
    end = max(stretch.at.size // 5, 1)
    if not stretch.to_end or float(np.median(np.abs(stretch.deviation[-end:]))) < DEAD:
        return False
    saturated = history.repeats(stretch.readings[-end:]).length.max() >= 0.3 * end
    stopped = bool((saturated and end > 1) or _low_battery(stretch, context))
    sound = seen.deviation[:, stretch.node]
    sound = sound[~np.isnan(sound)]
    if stretch.since and sound.size < stretch.at.size / 2:  # too few to tell its range
        return stopped
    if sound.size == 0:
        return True
    low, high = np.quantile(sound, (0.005, 0.995))
    level = float(np.median(stretch.readings[-end:])) - seen.level[stretch.node]
    beyond = max(level - high, low - level)
    return bool(beyond > 0 and (stopped or beyond > 0.5 * (high - low)))


def _low_battery(stretch: Stretch, context: Context) -> bool:
    volts = battery(context)
    first, last = int(stretch.at[0]), int(stretch.at[-1])
    return volts is not None and volts.low(stretch.node, first, last + 1)


def _noisy(stretch: Stretch) -> bool:
    step = np.diff(stretch.readings)
    turning = float((step[1:] * step[:-1] < 0).mean()) if step.size > 1 else 0.0
    return turning > 0.5 and float(np.median(np.abs(step))) > 2 * stretch.step


def _episode(
    stretch: Stretch,
    seen: Panel,
    packets: Packets,
    context: Context,
    *,
    allowed: Reach,
    unit: float,
) -> Episode:
    kind = _kind(stretch, seen, packets, context)
    severity = middle(np.abs(stretch.deviation))
    sure = certain(
        kind,
        stretch,
        allowed,
        low_battery=kind == Kind.DEAD and _low_battery(stretch, context),
        impossible=_impossible(stretch.readings * unit, context),
    )
    return Episode(
        node=stretch.node,
        condition=context.condition,
        start=int(stretch.at[0]),
        stop=int(stretch.at[-1]) + 1,
        kind=kind,
        readings=stretch.flagged,
        severity=severity,
        confidence=max(confidence(severity, stretch.flagged), SURE if sure else 0.0),
        explanation=explain(kind, stretch, seen, context, unit),
        certain=sure,
    )


def _impossible(readings: Array, context: Context) -> bool:
    """Whether most of the readings cannot be true of what is measured."""
    low, high = context.quantity.possible
    if low == -np.inf and high == np.inf:
        return False
    return bool(((readings < low) | (readings > high)).mean() > 0.5)


def _event(one: Move | Local, evidence: int, context: Context, explanation: str) -> Episode:
    return Episode(
        node=one.node,
        condition=context.condition,
        start=one.start,
        stop=one.stop,
        kind=Kind.EVENT,
        readings=0,
        severity=one.strength,
        confidence=confidence(one.strength, evidence),
        explanation=explanation,
    )


def confidence(severity: float, readings: int) -> float:
    """e/(1 + e) with the evidence e = severity/6 · readings^(1/4), at most 0.99.

    Half for one reading at the least size that counts; more for larger and for longer departures,
    slowly in length because neighbouring readings say nearly the same. An order, not a
    probability.

    Examples
    --------
    >>> round(confidence(6, 1), 2), round(confidence(6, 100), 2), round(confidence(60, 1), 2)
    (0.5, 0.76, 0.91)
    """
    evidence = severity / 6 * max(readings, 1) ** 0.25
    return float(min(evidence / (1 + evidence), 0.99))
