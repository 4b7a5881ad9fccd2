"""Which faults are beyond doubt: only their readings may be replaced by the estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fieldmend.faults import history
from fieldmend.faults.kind import Kind
from fieldmend.faults.neighbours import Panel
from fieldmend.faults.stretches import Array, Mask

if TYPE_CHECKING:
    from fieldmend.faults.episodes import Stretch

# A false reading is certain beyond this many times the farthest that the node and its companions
# ever were from their middle: heavy tails double their record now and then, hardly more.
FARTHER = 2.0
# A value that the network sends so often (rain 0.0) is no sign of a stuck sensor by itself.
USUAL = 0.05


@dataclass(frozen=True)
class Reach:
    """How far sound readings go: of each node and its companions, from the node's level."""

    level: Array
    farthest: Array
    sound: Array
    """All sound readings, in order of size."""


def reach(values: Array, flagged: Mask, seen: Panel) -> Reach:
    """What the record allows, of readings that nobody flagged."""
    size = np.abs(seen.deviation)
    size[np.isnan(size)] = 0.0
    own = size.max(axis=0) if size.size else np.zeros(values.shape[1])
    theirs = np.array([own[seen.companions(n)].max(initial=0.0) for n in range(own.size)])
    sound = values[~flagged & ~np.isnan(values)]
    return Reach(seen.level, np.maximum(own, theirs), np.sort(sound))


def certain(
    kind: Kind, stretch: Stretch, allowed: Reach, *, low_battery: bool, impossible: bool
) -> bool:
    """Whether an episode's readings are false beyond doubt."""
    if impossible:
        return True
    distance = np.abs(stretch.readings - allowed.level[stretch.node])
    farthest = FARTHER * allowed.farthest[stretch.node]
    if kind == Kind.STUCK:
        return _rare_value(stretch.readings, allowed.sound)
    if kind == Kind.DEAD:
        end = max(stretch.at.size // 5, 1)
        saturated = history.repeats(stretch.readings[-end:]).length.max() >= 0.3 * end > 0.3
        return bool(saturated or low_battery or np.median(distance[-end:]) > farthest)
    if kind in (Kind.SPIKE, Kind.PACKET, Kind.BURST):
        return bool(allowed.farthest[stretch.node] > 0 and distance.min() > farthest)
    return False


def _rare_value(readings: Array, sound: Array) -> bool:
    value = np.median(readings)
    width = 2e-7 * abs(value)
    alike = np.searchsorted(sound, value + width, "right") - np.searchsorted(sound, value - width)
    return bool(alike <= USUAL * sound.size)
