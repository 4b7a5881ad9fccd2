"""Tied nodes: the same ones depart at the same times, again and again, though they are not alike.

What really happens passes by other nodes the next time, or it concerns those that go together at
all times: neighbours, an aisle, a slope. Nodes that have nothing in common but that they go wrong
together hang on one gateway or one supply, and are no witnesses to each other.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.core.ranks import row_medians
from fieldmend.field.jumps import Index

_TIMES = 3  # that a node departs: what two had in common is chance
_AGAIN = 2 / 3  # who goes along once goes along another time as often
_ALIKE = 0.75  # of others are less like a node: halfway from any to all
_ALONG = 0.5  # of a departure, in slots
_SAMPLE = 500  # slots that tell who is alike
_BOUND = 5.0  # usual sizes


def tied(node: Index, first: Index, last: Index, readings: Array, sound: Mask) -> Mask:
    """Which departures, of a node from a first to a last slot, are those of nodes that are tied.

    `readings`, nodes × slots, and which of them nobody doubts, tell who is alike.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> readings = rng.normal(size=(12, 400))
    >>> first = np.repeat([50, 150, 250], 3)
    >>> trio, sound = np.tile([0, 1, 2], 3), np.ones((12, 400), dtype=bool)
    >>> bool(tied(trio, first, first + 9, readings, sound).all())  # always these three
    True
    >>> others = np.array([0, 1, 2, 2, 3, 4, 4, 5, 6])
    >>> bool(tied(others, first, first + 9, readings, sound).any())  # it roams
    False
    """
    nodes, slots = sound.shape
    departures = np.bincount(node, minlength=nodes)
    if not len(node) or departures.max() < _TIMES:
        return np.zeros(len(node), dtype=np.bool_)
    along = _along(node, first, last, nodes, slots)
    times = np.zeros((nodes, nodes))  # that the one goes along where the other departs
    np.add.at(times, node, along.astype(np.float64))
    pairs = (times * (times - 1)).sum(axis=1)
    again = pairs >= _AGAIN * times.sum(axis=1) * np.maximum(departures - 1, 1)
    mates = times > departures[:, None] / 2
    same = (departures >= _TIMES) & again & mates.any(axis=1)
    if same.any():
        same &= ~_alike(_likeness(readings, sound), mates, same)
    out: Mask = same[node] & (along & mates[node]).any(axis=1)
    # Where most that have company roam, some meet again.
    return out & (2 * np.count_nonzero(out) > np.count_nonzero(along.any(axis=1)))


def _along(node: Index, first: Index, last: Index, nodes: int, slots: int) -> Mask:
    """Of each departure who else is away for half of it, departures × nodes."""
    edges = np.zeros((nodes, slots + 1), dtype=np.int32)
    np.add.at(edges, (node, first), 1)
    np.add.at(edges, (node, last + 1), -1)
    away = np.cumsum(np.cumsum(edges[:, :-1], axis=1) > 0, axis=1, dtype=np.int32)
    away = np.pad(away, ((0, 0), (1, 0)))
    along = away[:, last + 1] - away[:, first] >= _ALONG * (last - first + 1)
    along[node, np.arange(len(node))] = False
    return np.asarray(along.T)


def _alike(likeness: Array, mates: Mask, asked: Mask) -> Mask:
    """Nodes that are more like those that go along with them than like the others.

    In the mean over the node and those tied to it, for one alone says little.
    """
    rank = np.full(len(mates), 0.5)
    for n in np.flatnonzero(asked).tolist():
        others = ~mates[n]
        others[n] = False
        if others.any():
            less = np.sort(likeness[n, others])
            place = np.searchsorted(less, likeness[n, mates[n]]) / len(less)
            rank[n] = float(place.mean())
        else:
            rank[n] = 1.0  # all go along: who is unlike, nobody can say
    bound = (mates | np.eye(len(mates), dtype=np.bool_)) & asked
    mean = (bound @ rank) / np.maximum(bound.sum(axis=1), 1)
    return np.asarray(mean >= _ALIKE)


def _likeness(readings: Array, sound: Mask) -> Array:
    """Correlations of the steps that nodes take beside all others, bounded, between sound readings.

    Not of levels: departures that nobody doubted yet would make those alike who share them.
    """
    slots = readings.shape[1]
    some = np.unique(np.linspace(0, slots - 1, min(slots, _SAMPLE)).astype(int))
    part = np.diff(np.where(sound[:, some], readings[:, some], np.nan), axis=1)
    common = _medians(part.T)
    known = ~np.isnan(part)
    share = (np.nan_to_num(part) @ common) / np.maximum(known @ common**2, 1e-12)
    part -= share[:, None] * common  # a fault widens its node's scale: it makes less of what all do
    size = _medians(np.abs(part))
    part = np.clip(np.nan_to_num(part / np.where(size > 0, size, 1.0)[:, None]), -_BOUND, _BOUND)
    norm = np.sqrt((part**2).sum(axis=1))
    part /= np.where(norm > 0, norm, 1.0)[:, None]
    return np.asarray(part @ part.T)


def _medians(rows: Array) -> Array:
    """Of what each row holds; 0 of nothing."""
    out = np.zeros(len(rows))
    heard = ~np.isnan(rows).all(axis=1)
    out[heard] = row_medians(rows[heard])
    return out
