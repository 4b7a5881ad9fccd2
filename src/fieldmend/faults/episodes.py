"""From flagged readings to episodes: grouped, named, weighed, explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend.faults import history
from fieldmend.faults.explain import explain
from fieldmend.faults.labels import Context, Episode
from fieldmend.faults.stretches import MAD, Array, Mask, bounded, joined, node_medians, stretches
from fieldmend.faults.witnesses import battery, witnesses

# Readings between two flagged ones that do not part them: in a lasting fault, and otherwise.
LASTING_GAP, SHORT_GAP = 15, 1
# Longest run of flagged readings that is a spike.
SPIKE = 2
# A stretch is called dead if it reaches the node's last reading and ends this many spreads off.
DEAD = 8.0
# A companion condition this many of its own robust deviations off makes a packet of a spike.
PACKET = 10.0


@dataclass(frozen=True)
class Stretch:
    """One node's flagged readings that belong together, and what its kind is read from."""

    node: int
    at: Array
    """Slots of all its readings, from the first flagged to the last."""
    deviation: Array
    """Reading − estimate, in spreads."""
    readings: Array
    flagged: int
    to_end: bool
    lasting: bool
    step: float
    """Usual distance between neighbouring readings."""


def classify(
    X: Any,
    estimate: Any,
    suspect: Mask,
    context: Context | None = None,
    persistent: Mask | None = None,
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
        Those in lasting stretches; they are flagged too.

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
    >>> {e.kind for e in episodes}
    {'dead'}
    """
    context = context or Context()
    values, power = bounded(X)
    fitted = np.clip(np.ldexp(np.asarray(estimate, dtype=np.float64), -int(power)), -1e60, 1e60)
    observed = ~np.isnan(values)
    lasting = np.zeros_like(observed) if persistent is None else persistent & observed
    flagged = (np.asarray(suspect, dtype=np.bool_) & observed) | lasting
    residual = values - fitted
    spread = _spreads(residual, flagged)
    found = []
    for stretch in _all(values, residual / spread, flagged, lasting):
        kind = _kind(stretch, values, context)
        found.append(_episode(stretch, kind, values, flagged, context, 2.0**power))
    return tuple(found)


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
        if episode.kind != "event":
            out[episode.start : episode.stop, episode.node] = i
    return out, tuple(episode.kind for episode in episodes)


def _spreads(residual: Array, flagged: Mask) -> Array:
    """Robust standard deviations of the unflagged residuals, not far below the network's."""
    spread = MAD * node_medians(np.abs(np.where(flagged, np.nan, residual)))
    usual = spread[spread > 0]
    typical = float(np.median(usual)) if usual.size else 1.0
    return np.maximum(np.nan_to_num(spread, nan=typical), 0.2 * typical)


def _all(values: Array, z: Array, flagged: Mask, lasting: Mask) -> Iterator[Stretch]:
    for n in np.flatnonzero(flagged.any(axis=0)):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        readings = values[at, n]
        step = history.usual_roughness(history.roughness(readings[~flagged[at, n]]))
        long = joined(lasting[at, n], LASTING_GAP)
        short = joined(flagged[at, n] & ~long, SHORT_GAP) & ~long
        for marks, lasts in ((long, True), (short, False)):
            for a, b in zip(*stretches(marks), strict=True):
                yield Stretch(
                    node=int(n),
                    at=at[a:b],
                    deviation=z[at[a:b], n],
                    readings=readings[a:b],
                    flagged=int(flagged[at[a:b], n].sum()),
                    to_end=b >= at.size - max(1, (b - a) // 20),
                    lasting=lasts,
                    step=step,
                )


def _kind(stretch: Stretch, values: Array, context: Context) -> str:
    if stretch.at.size <= SPIKE:
        return "packet" if _packet(stretch, context) else "spike"
    if not stretch.lasting:
        return "burst"
    constant = history.repeats(stretch.readings).length.max() >= 0.8 * stretch.at.size
    if stretch.to_end and _beyond_return(stretch, values):
        return "dead"
    if constant:
        return "stuck"
    if _noisy(stretch):
        return "burst"
    third = max(stretch.at.size // 3, 1)
    first, last = (float(np.median(part)) for part in (stretch.deviation[:third], stretch.deviation[-third:]))
    return "drift" if abs(last - first) > 0.5 * max(abs(first), abs(last)) else "bias"


def _beyond_return(stretch: Stretch, values: Array) -> bool:
    """Whether the end of a stretch lies far off, and out of the range of all that went before."""
    end = max(stretch.at.size // 5, 1)
    before = values[: stretch.at[0], stretch.node]
    before = before[~np.isnan(before)]
    level = float(np.median(stretch.readings[-end:]))
    beyond = before.size == 0 or not before.min() <= level <= before.max()
    return beyond and float(np.median(np.abs(stretch.deviation[-end:]))) > DEAD


def _noisy(stretch: Stretch) -> bool:
    step = np.diff(stretch.readings)
    turning = float((step[1:] * step[:-1] < 0).mean()) if step.size > 1 else 0.0
    return turning > 0.5 and float(np.median(np.abs(step))) > 2 * stretch.step


def _packet(stretch: Stretch, context: Context) -> bool:
    """Whether another condition of the same node is off in the same slot."""
    for name, array in context.companions.items():
        if name == context.condition:
            continue
        column = np.asarray(array, dtype=np.float64)[:, stretch.node]
        at = np.flatnonzero(~np.isnan(column))
        place = np.searchsorted(at, stretch.at[0])
        if place >= at.size or at[place] != stretch.at[0] or at.size < 10:
            continue
        around = column[at[max(place - 5, 0) : place + 6]]
        usual = MAD * np.median(np.abs(np.diff(column[at])))
        wander = MAD * np.median(np.abs(around - np.median(around)))
        if abs(column[at[place]] - np.median(around)) > PACKET * max(usual, wander):
            return True
    return False


def _episode(
    stretch: Stretch, kind: str, values: Array, flagged: Mask, context: Context, unit: float
) -> Episode:
    severity = float(np.median(np.abs(stretch.deviation)))
    return Episode(
        node=stretch.node,
        condition=context.condition,
        start=int(stretch.at[0]),
        stop=int(stretch.at[-1]) + 1,
        kind=kind,
        readings=stretch.flagged,
        severity=severity,
        confidence=confidence(severity, stretch.flagged),
        explanation=explain(
            kind,
            stretch,
            witnesses(values, flagged, stretch.node, context),
            battery(context),
            context,
            unit,
        ),
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
