"""Who can testify about a node: its nearest companions, and its battery."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array, Mask, node_medians

COMPANIONS = 5
BATTERY = ("voltage", "battery", "vbat", "batt")
# Slots from which correlations are taken, evenly spaced.
SAMPLE = 500


@dataclass(frozen=True)
class Witnesses:
    """The nodes nearest to one node and what they imply for it."""

    count: int
    nearest: bool
    """In space; else the most correlated."""
    implied: Array
    """Slots; NaN where none of them was heard."""


def witnesses(values: Array, flagged: Mask, node: int, context: Context) -> Witnesses:
    """The node's level plus the median of its companions' deviations from theirs.

    Plain on purpose: the number in an explanation has to be one that its reader can redo.
    """
    sound = np.where(flagged, np.nan, values)
    others, nearest = companions(sound, node, context)
    deviation = sound[:, others] - node_medians(sound[:, others])
    implied = np.full(values.shape[0], np.nan)
    heard = ~np.isnan(deviation).all(axis=1)
    level = node_medians(sound[:, [node]])[0]
    if np.isnan(level):  # never sound: only its companions' own level is left
        level = float(np.nanmedian(sound[:, others])) if heard.any() else np.nan
    implied[heard] = level + np.nanmedian(deviation[heard], axis=1)
    return Witnesses(others.size, nearest, implied)


def companions(sound: Array, node: int, context: Context) -> tuple[Array, bool]:
    """Up to five other nodes with sound readings: nearest in space, else most correlated."""
    able = ~np.isnan(sound).all(axis=0)
    able[node] = False
    distance = _distances(node, context, sound.shape[1])
    in_space = distance is not None and bool(np.isfinite(distance[able]).any())
    if not in_space:
        distance = 1 - _correlations(sound, node)
    assert distance is not None
    able &= np.isfinite(distance)
    order = np.argsort(np.where(able, distance, np.inf), kind="stable")
    return order[: min(COMPANIONS, int(able.sum()))], in_space


def _distances(node: int, context: Context, nodes: int) -> Array | None:
    if context.places is None or len(context.nodes) != nodes:
        return None
    points = np.array([_point(context.places.get(name)) for name in context.nodes])
    return np.asarray(np.sqrt(((points - points[node]) ** 2).sum(axis=1)))


def _point(place: object) -> tuple[float, float, float]:
    """Metres or degrees, degrees of longitude shortened: only the order of distances matters."""
    if not isinstance(place, dict):
        return (np.nan, np.nan, np.nan)
    if "lat" in place:
        lat = float(place["lat"])
        return (lat, float(place["lon"]) * np.cos(np.radians(lat)), 0.0)
    return (float(place["x"]), float(place["y"]), float(place.get("z", 0.0)))


def _correlations(sound: Array, node: int) -> Array:
    rows = np.unique(np.linspace(0, sound.shape[0] - 1, min(SAMPLE, sound.shape[0])).astype(int))
    part = sound[rows]
    with np.errstate(invalid="ignore"):
        part = part - node_medians(part)
        size = node_medians(np.abs(part))
        part = np.clip(part / np.where(size > 0, size, 1.0), -5, 5)
    both = ~np.isnan(part) & ~np.isnan(part[:, [node]])
    mine, theirs = np.where(both, part[:, [node]], 0.0), np.where(both, part, 0.0)
    norm = np.sqrt((mine**2).sum(axis=0) * (theirs**2).sum(axis=0))
    return np.asarray((mine * theirs).sum(axis=0) / np.where(norm > 0, norm, 1.0))


def battery(context: Context) -> tuple[str, Array] | None:
    """The companion condition that is named like a voltage, if there is one."""
    for name, values in context.companions.items():
        if any(word in name.lower() for word in BATTERY):
            return name, np.asarray(values, dtype=np.float64)
    return None
