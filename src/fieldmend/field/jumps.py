"""How a node's readings usually jump from one to the next: the measure of a false reading.

Jumps are Student-t: real fields have steps (sun, doors), and a normal law would call them all
false. The scale is a node's own times a rise with the gap that all nodes share.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtrit

from fieldmend.core.prox import Array, Mask

Index = NDArray[np.intp]

_FREEDOM = np.array([1.2, 1.6, 2.0, 3.0, 5.0, 10.0, 30.0])
_HALF = stdtrit(_FREEDOM, 0.75)  # median |t|
_POOLED = 10.0  # jumps' worth of the network's scale in each node's own
_LEAST = 1e-4  # scale floor, in the units of the scaled readings
_ENOUGH = 20_000  # jumps to fit the freedom on
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
        s = self.scale[node] * self.rise[_octave(gap, len(self.rise))]
        out: Array = log_student(jump / s, self.freedom) - np.log(s)
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
    for _ in range(2):
        scale = _scales(size / rise[octave], node, nodes)
        rise = _rise(size / scale[node], octave, octaves)
    low, high = np.percentile(values, (1, 99))
    z = size / (scale[node] * rise[octave])
    best = _freedom(z[:: max(1, z.size // _ENOUGH)])
    width = 2.0 * max(float(high - low), 10 * float(np.median(scale)))
    centre, spread = _levels(values, at.node, nodes, scale)
    return JumpLaw(scale / _HALF[best], rise, float(_FREEDOM[best]), width, centre, spread)


def jumps_by_octave(at: Readings) -> Mask:
    """By octave of the gap: True where readings that follow each other tell how wide jumps are."""
    gaps = np.diff(at.slot)[at.node[1:] == at.node[:-1]]
    return np.asarray(np.bincount(_octave(gaps, 63)) >= _TOLD)


def _levels(values: Array, node: Index, nodes: int, scale: Array) -> tuple[Array, Array]:
    """Median and median distance from it; never less than what a jump measures."""
    starts = np.searchsorted(node, np.arange(nodes + 1)).tolist()
    centre, spread = np.zeros(nodes), np.ones(nodes)
    for n, (a, b) in enumerate(pairwise(starts)):
        if b > a:
            centre[n] = _median(values[a:b])
            spread[n] = _median(np.abs(values[a:b] - centre[n]))
    return centre, np.maximum(spread, scale)


def _median(values: Array) -> float:
    """As `numpy.median`, which takes more than twice as long for one node."""
    middle = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, middle)
    return float((ordered[middle[0]] + ordered[middle[1]]) / 2)


def _freedom(z: Array) -> int:
    """Which degrees of freedom suit jumps in units of their median size."""
    scores = [
        log_student(z * half, nu).mean() + np.log(half)
        for nu, half in zip(_FREEDOM.tolist(), _HALF.tolist(), strict=True)
    ]
    return int(np.argmax(scores))


def _octave(gap: Index, octaves: int) -> Index:
    out: Index = np.minimum(np.log2(gap).astype(np.intp), octaves - 1)
    return out


def _middle(sizes: Array) -> float:
    """The median; of readings in coarse steps, where it is 0, what larger jumps imply."""
    half, fifth = len(sizes) // 2, len(sizes) * 4 // 5
    still = int(np.count_nonzero(sizes <= 0.0))
    step = min(still + (len(sizes) - still) // 20, len(sizes) - 1)  # of those that moved
    ordered = np.partition(sizes, (half, fifth, step))
    return float(max(ordered[half], ordered[fifth] / 4, ordered[step]))


def _scales(size: Array, node: Index, nodes: int) -> Array:
    usual = _middle(size) + _LEAST
    starts = np.searchsorted(node, np.arange(nodes + 1)).tolist()
    parts = [size[a:b] for a, b in pairwise(starts)]
    own = np.array([_middle(part) if part.size else 0.0 for part in parts]) + _LEAST
    trust = np.diff(starts) / (np.diff(starts) + _POOLED)
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
