"""What happens to many: moves that most nodes make at once, and departures that others see too.

Reported as events, never as faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fieldmend.faults.excursions import LAG
from fieldmend.faults.stretches import (
    MAD,
    Array,
    Mask,
    joined,
    node_medians,
    rare,
    slot_medians,
    stretches,
)

# Fewer nodes are no crowd; this share of those heard has to move, each by this many usual steps.
FEWEST, SHARE, STEPS = 5, 0.6, 5.0


@dataclass(frozen=True)
class Move:
    """A common move: from slot `start` until it is undone by another or by half; a day at most."""

    start: int
    stop: int
    node: int
    """The node that moved most, in its own usual steps."""
    nodes: int
    heard: int
    size: float
    """Median move in the data's units."""
    strength: float
    """Median move in usual steps."""


def common_moves(values: Array, flagged: Mask, longest: int) -> Iterator[Move]:
    """Slots at which at least 60 % of five or more nodes jump to the same side, rarely so."""
    sound = np.where(flagged, np.nan, values)
    step = np.diff(sound, axis=0)
    usual = MAD * node_medians(np.abs(step))
    if values.shape[0] < 2 or values.shape[1] < FEWEST or not (usual > 0).any():
        return
    usual = np.where(usual > 0, usual, np.median(usual[usual > 0]))
    score = step / usual
    heard = (~np.isnan(score)).sum(axis=1)
    moved = np.maximum((score > STEPS).sum(axis=1), (score < -STEPS).sum(axis=1))
    crowd = np.flatnonzero((heard >= FEWEST) & (moved >= SHARE * heard))
    if crowd.size == 0:
        return
    typical = np.zeros(heard.size)
    typical[heard > 0] = slot_medians(score[heard > 0])
    crowd = crowd[np.abs(typical[crowd]) > max(rare(typical, 1.0), STEPS)]
    free = 0
    for t in map(int, crowd):
        if t + 1 < free:
            continue
        size = float(slot_medians(step[t : t + 1])[0])
        back = crowd[(crowd > t) & (typical[crowd] * typical[t] < 0)]
        end = _undone(sound, t, size, longest)
        stop = free = end
        if back.size and back[0] < end:  # the way back is no event of its own
            stop, free = int(back[0]) + 1, int(back[0]) + 2
        node = int(np.nanargmax(np.abs(score[t])))
        yield Move(t + 1, stop, node, int(moved[t]), int(heard[t]), size, abs(float(typical[t])))


def _undone(sound: Array, before: int, size: float, longest: int) -> int:
    """One past the last slot at which the nodes are still half the move away."""
    later = sound[before + 1 : before + 1 + longest] - sound[before]
    known = ~np.isnan(later).all(axis=1)
    way = np.full(later.shape[0], size)
    way[known] = slot_medians(later[known])
    back = np.flatnonzero(way * np.sign(size) < 0.5 * abs(size))
    return before + 1 + (int(back[0]) if back.size else later.shape[0])


@dataclass(frozen=True)
class Local:
    """Departures of some nodes about one time that others see too."""

    start: int
    stop: int
    node: int
    """The node that departed most, in its own spreads."""
    nodes: int
    readings: int
    size: float
    strength: float


def gathered(event: Mask, z: Array, residual: Array) -> list[Local]:
    """Stretches of all nodes that overlap in time, or nearly, as one event each."""
    marks = joined(np.asarray(event.any(axis=1)), LAG)
    out = []
    for a, b in zip(*stretches(marks), strict=True):
        part = event[a:b]
        size = np.where(part, np.abs(z[a:b]), -1.0)
        t, n = np.unravel_index(int(np.argmax(size)), size.shape)
        out.append(
            Local(
                start=int(a),
                stop=int(b),
                node=int(n),
                nodes=int(part.any(axis=0).sum()),
                readings=int(part.sum()),
                size=float(residual[a + t, n]),
                strength=float(np.median(size[part])),
            )
        )
    return out
