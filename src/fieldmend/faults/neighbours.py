"""Who can testify about a node: its nearest companions, and its battery."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend import geo
from fieldmend.core.ranks import quantiles
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array, Mask, node_medians, slot_medians

COMPANIONS = 5
BATTERY = ("voltage", "battery", "vbat", "batt")
# A battery is low below so much of what it was before, in readings at least.
LOW, FEWEST = 0.02, 10
# Slots from which correlations are taken, evenly spaced.
SAMPLE = 500


@dataclass(frozen=True)
class Panel:
    """The sound readings of all nodes as deviations from their levels, and who is whose companion.

    `order` has for each node its companions, nearest first, −1 where there are fewer than five.
    """

    deviation: Array
    level: Array
    order: Array
    in_space: bool

    def implied(self, node: int, slots: Array) -> Array:
        """The node's level plus the median of its companions' deviations from theirs.

        Plain on purpose: the number in an explanation has to be one that its reader can redo.
        """
        theirs = self.deviation[np.ix_(slots, self.companions(node))]
        return np.asarray(self.level[node] + slot_medians(theirs))

    def companions(self, node: int) -> Array:
        """Columns of the node's companions."""
        return np.asarray(self.order[node][self.order[node] >= 0])


def panel(values: Array, flagged: Mask, context: Context) -> Panel:
    """Sound deviations, and each node's five nearest companions in space, else most correlated."""
    deviation = np.where(flagged, np.nan, values)
    level = node_medians(deviation)
    deviation -= level
    order, in_space = companions(deviation, context)
    # A node without any sound reading is taken to belong where the others are.
    known = ~np.isnan(level)
    level = np.where(known, level, np.median(level[known]) if known.any() else np.nan)
    return Panel(deviation, level, order, in_space)


def companions(
    deviation: Array, context: Context, count: int = COMPANIONS, likeness: Array | None = None
) -> tuple[Array, bool]:
    """Nodes × count: the nearest that have readings, −1 where there are no more; if in space.

    `likeness` are the correlations, where they are at hand.
    """
    able = np.asarray(~np.isnan(deviation).all(axis=0))
    distance = _distances(context, deviation.shape[1])
    in_space = distance is not None
    if distance is None:
        distance = 1 - (correlations(deviation) if likeness is None else likeness)
    return geo.nearest(distance, count, able), in_space


def _distances(context: Context, nodes: int) -> Array | None:
    """Between all pairs of nodes, if every node has a place."""
    if context.places is None or len(context.nodes) != nodes:
        return None
    places = [context.places.get(name) for name in context.nodes]
    if np.isnan(geo.points(places)).any():
        return None
    return geo.distances(places)


def correlations(deviation: Array) -> Array:
    """Between all pairs of nodes, of bounded deviations where both were heard."""
    slots = deviation.shape[0]
    rows = np.unique(np.linspace(0, slots - 1, min(SAMPLE, slots)).astype(int))
    part = deviation[rows]
    size = node_medians(np.abs(part))
    part = np.clip(part / np.where(size > 0, size, 1.0), -5, 5)
    seen = (~np.isnan(part)).astype(float)
    part = np.nan_to_num(part)
    energy = (part**2).T @ seen
    norm = np.sqrt(energy * energy.T)
    return np.asarray((part.T @ part) / np.where(norm > 0, norm, 1.0))


def battery(context: Context) -> tuple[str, Array] | None:
    """The companion condition that is named like a voltage, if there is one."""
    for name, values in context.companions.items():
        if any(word in name.lower() for word in BATTERY):
            return name, np.asarray(values, dtype=np.float64)
    return None


def battery_low(voltage: Array, start: int, stop: int) -> bool:
    """Whether a node's voltage in the last fifth of a stretch is below nearly all it was before."""
    before, here = voltage[:start], voltage[start + 4 * (stop - start) // 5 : stop]
    before, here = before[~np.isnan(before)], here[~np.isnan(here)]
    if before.size < FEWEST or here.size == 0:
        return False
    now = np.median(here)
    # Mostly it is not, and to count takes a small part of the time of ranks.
    if np.count_nonzero(before <= now) > LOW * before.size + 1:
        return False
    return bool(now < quantiles(before, LOW)[0])
