"""How a node's readings usually jump from one to the next: the measure of a false reading.

Jumps are Student-t: real fields have steps (sun, doors), and a normal law would call them all
false. The scale is a node's own times a rise with the gap that all nodes share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtrit

from fieldmend.core.prox import Array, Mask
from fieldmend.core.ranks import quantiles, standing

Index = NDArray[np.intp]

_FREEDOM = np.array([1.2, 1.6, 2.0, 3.0, 5.0, 10.0, 30.0])
_HALF = stdtrit(_FREEDOM, 0.75)  # median |t|
_POOLED = 10.0  # jumps' worth of the network's scale in each node's own
_LEAST = 1e-4  # scale floor, in the units of the scaled readings
_ENOUGH = 20_000  # jumps to fit the freedom on
_LONG = 2000  # jumps of a node that take longer to sort than to find a few of
_TOLD = 20  # jumps over gaps of an octave, to tell how wide they are


@dataclass(frozen=True)
class Readings:
    """A node's readings, nodes one after the other: value, slot and node of each."""

    slot: Index
    node: Index

    @classmethod
    def where(cls, used: Mask, slots: Index) -> Readings:
        """The used entries of nodes × slots, in that order; `slots` are the slots' numbers."""
        node, column = np.nonzero(used)
        return cls(slots[column], node)

    @property
    def inner(self) -> Mask:
        """True where the boundary before reading i lies between two readings of one node."""
        out = np.zeros(len(self.node) + 1, dtype=np.bool_)
        out[1:-1] = self.node[1:] == self.node[:-1]
        return out


@dataclass(frozen=True)
class JumpLaw:
    """Log density of a jump of a node over a gap."""

    scale: Array  # per node
    rise: Array  # per octave of the gap
    freedom: float
    width: float  # range over which false readings fall
    centre: Array  # per node, of the readings themselves
    spread: Array  # per node, their median distance from the centre

    def log_density(self, jump: Array, gap: Index, node: Index) -> Array:
        """Student-t with the node's scale, wider over longer gaps."""
        s = self._size(gap, node)
        out: Array = log_student(jump / s, self.freedom) - np.log(s)
        return out

    def log_densities(self, jump: Array, gap: Index, node: Index) -> tuple[Array, Array]:
        """The same, and that of no jump over the same gap."""
        s = self._size(gap, node)
        log_s = np.log(s)
        none = log_student(np.zeros(1), self.freedom) - log_s
        return log_student(jump / s, self.freedom) - log_s, none

    def _size(self, gap: Index, node: Index) -> Array:
        out: Array = self.scale[node] * self.rise[_octave(gap, len(self.rise))]
        return out

    def highest(self) -> Array:
        """The largest log density of each node: no jump, over the kindest gap."""
        return np.asarray(
            log_student(np.zeros(1), self.freedom) - np.log(self.scale * self.rise.min())
        )

    def log_level(self, value: Array, node: Index) -> Array:
        """How usual a value is for its node, whatever came before it."""
        s = self.spread[node] / _HALF[3]
        z = (value - self.centre[node]) / s
        out: Array = log_student(z, float(_FREEDOM[3])) - np.log(s)
        return out


def log_student(z: Array, nu: float) -> Array:
    """Log density of Student's t."""
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
    out: Array = constant - (nu + 1) / 2 * np.log1p(z**2 / nu)
    return out


def fit_jumps(values: Array, at: Readings, nodes: int) -> JumpLaw:
    """The law of the jumps between consecutive readings."""
    same = at.node[1:] == at.node[:-1]
    size = np.abs(np.diff(values))[same]
    gap, node = np.diff(at.slot)[same], at.node[1:][same]
    if size.size == 0:
        return JumpLaw(np.ones(nodes), np.ones(1), 3.0, 1.0, np.zeros(nodes), np.ones(nodes))
    octave = _octave(gap, 63)
    octaves = int(octave.max()) + 1
    rise: Array = np.ones(octaves)
    scale: Array = np.ones(nodes)
    by_node = _ByNode.of(node, nodes)
    for _ in range(2):
        scale = _scales(size / rise[octave], by_node)
        rise = _rise(size / scale[node], octave, octaves)
    low, high = quantiles(values, 0.01, 0.99)
    z = size / (scale[node] * rise[octave])
    best = _freedom(z[:: max(1, z.size // _ENOUGH)])
    width = 2.0 * max(high - low, 10 * float(np.median(scale)))
    centre, spread = _levels(values, at.node, nodes, scale)
    return JumpLaw(scale / _HALF[best], rise, float(_FREEDOM[best]), width, centre, spread)


def jumps_by_octave(at: Readings) -> Mask:
    """By octave of the gap: True where readings that follow each other tell how wide jumps are."""
    gaps = np.diff(at.slot)[at.node[1:] == at.node[:-1]]
    return np.asarray(np.bincount(_octave(gaps, 63)) >= _TOLD)


def _levels(values: Array, node: Index, nodes: int, scale: Array) -> tuple[Array, Array]:
    """Median and median distance from it; never less than what a jump measures."""
    by_node = _ByNode.of(node, nodes)
    centre = by_node.medians(values, 0.0)
    spread = by_node.medians(np.abs(values - centre[node]), 1.0)
    return centre, np.maximum(spread, scale)


@dataclass(frozen=True)
class _ByNode:
    """Numbers of all nodes, one node after the other, ranked node by node at once."""

    node: Index
    place: Index  # of each number among its node's
    count: Index  # of each node

    @classmethod
    def of(cls, node: Index, nodes: int) -> _ByNode:
        starts = np.searchsorted(node, np.arange(nodes + 1))
        return cls(node, np.arange(len(node)) - starts[node], np.diff(starts))

    def standing(self, values: Array, *ranks: Index) -> Array:
        """Those of each node at ranks of its own, ranks × nodes; of one that has none, any."""
        out = np.zeros((len(ranks), len(self.count)))
        last = np.cumsum(self.count)
        long = np.flatnonzero(self.count > _LONG).tolist()
        for n in long:
            own = values[last[n] - self.count[n] : last[n]]
            out[:, n] = standing(own, *(int(rank[n]) for rank in ranks))
        if len(long) < len(self.count):
            ranked = self._ranked(values)
            short = self.count <= _LONG
            for k, rank in enumerate(ranks):
                out[k, short] = ranked[np.flatnonzero(short), np.maximum(rank[short], 0)]
        return out

    def _ranked(self, values: Array) -> Array:
        """Short nodes × the most that one has, smallest first; what a node has not is infinite."""
        short = self.count <= _LONG
        out = np.full((len(self.count), max(int(self.count[short].max(initial=1)), 1)), np.inf)
        here = slice(None) if short.all() else short[self.node]
        out[self.node[here], self.place[here]] = values[here]
        out.sort(axis=1)
        return out

    def medians(self, values: Array, nothing: float) -> Array:
        """Of every node; `nothing` for one that has none."""
        low, high = self.standing(values, (self.count - 1) // 2, self.count // 2)
        return np.where(self.count > 0, (low + high) / 2, nothing)


def _freedom(z: Array) -> int:
    """Which degrees of freedom suit jumps in units of their median size."""
    scores = [
        log_student(z * half, nu).mean() + np.log(half)
        for nu, half in zip(_FREEDOM.tolist(), _HALF.tolist(), strict=True)
    ]
    return int(np.argmax(scores))


def _octave(gap: Index, octaves: int) -> Index:
    whole = np.frexp(np.asarray(gap, dtype=np.float64))[1] - 1
    out: Index = np.minimum(whole, octaves - 1).astype(np.intp)
    return out


def _middle(sizes: Array) -> float:
    """The median; of readings in coarse steps, where it is 0, what larger jumps imply."""
    half, fifth = len(sizes) // 2, len(sizes) * 4 // 5
    still = int(np.count_nonzero(sizes <= 0.0))
    step = min(still + (len(sizes) - still) // 20, len(sizes) - 1)  # of those that moved
    half_way, larger, moved = standing(sizes, half, fifth, step)
    return float(max(half_way, larger / 4, moved))


def _middles(size: Array, by_node: _ByNode) -> Array:
    """As `_middle` of each node; 0 for one that has none."""
    count = by_node.count
    still = np.bincount(by_node.node[size <= 0.0], minlength=len(count))
    step = np.minimum(still + (count - still) // 20, count - 1)
    half, fifth, moved = by_node.standing(size, count // 2, count * 4 // 5, step)
    return np.where(count > 0, np.maximum(np.maximum(half, fifth / 4), moved), 0.0)


def _scales(size: Array, by_node: _ByNode) -> Array:
    usual = _middle(size) + _LEAST
    own = _middles(size, by_node) + _LEAST
    trust = by_node.count / (by_node.count + _POOLED)
    out: Array = own**trust * usual ** (1 - trust)
    return out


def _rise(z: Array, octave: Index, octaves: int) -> Array:
    """Median size by octave of the gap, never falling; 1 for neighbouring slots."""
    out = np.ones(octaves)
    for k in range(octaves):
        here = z[octave == k]
        out[k] = _middle(here) if here.size >= _TOLD else (out[k - 1] * 1.2 if k else 1.0)
    out = np.maximum.accumulate(np.maximum(out, _LEAST))
    rise: Array = out / out[0]
    return rise
