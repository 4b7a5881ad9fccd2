"""Nodes that are far from their own level: displaced, absurd, strayed, run away.

Each node is held against its own past, in measures that the whole network gives: no field is
needed, and most nodes may be faulty at once.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.ranks import column_quantiles, quantiles
from fieldmend.faults import history
from fieldmend.faults.battery import on_low_battery
from fieldmend.faults.events import mostly, recurrent, shared
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import (
    MAD,
    Array,
    Mask,
    grown,
    joined,
    middle,
    node_medians,
    per_node,
    rare,
    slot_medians,
    stretches,
)

# Readings that do not part a stretch; half as many make one.
JOINED = 15
# Share of a node's other readings that come half as far: then it is where the node goes.
HABITUAL = 0.02
# Share of its readings that a node has to be among the others for its absence to be a fault.
AT_HOME = 0.1
# Of what is seldom to what is usual, at the least: a normal distribution's.
MILD = 1.57


def displaced(values: Array, left_out: Mask) -> Mask:
    """Rare jumps out and back, unless many nodes make them together."""
    deviation, spread = _own_deviation(values, left_out)
    common = slot_medians(np.where(left_out, np.nan, deviation / spread))
    relative = deviation - spread * np.nan_to_num(common)[:, None]
    found = per_node(values, left_out, lambda n, v, at: history.displaced(v, relative[at, n], at))
    return found & ~shared(found, deviation, left_out)


def absurd(values: Array, left_out: Mask) -> Mask:
    """Readings that lie where no other does, far off everything; single ones too.

    The limit is the size that one reading in 10⁶ would exceed, were the tail a power law, and half
    of the distance has to be the node's own: what all nodes do is none.
    """
    size, own = _sizes(values, left_out)
    pool = size[~np.isnan(size) & ~left_out]  # of none, nothing is too far
    return np.asarray((size > rare(pool, 4.0)) & (own >= 0.5 * size), dtype=np.bool_)


def strayed(values: Array, left_out: Mask) -> Mask:
    """Stretches far off the others of a node that is among them at other times.

    A node that fails for most of a short record makes its failure its own measure; here the measure
    is how far nine in ten nodes of the network are off their slot's median, nine tenths and 99 in
    100 of the time. The limit is the size that one reading in 10⁴ would exceed, were the tail a
    power law. A node that is never among the others (a station on a summit) is not judged, nor one
    that goes half as far at other times too (the sun).
    """
    off = np.abs(values - slot_medians(np.where(left_out, np.nan, values))[:, None])
    out = np.zeros(values.shape, dtype=np.bool_)
    heard = ~np.isnan(off).all(axis=0)
    if not heard.any():
        return out
    each = column_quantiles(off[:, heard], 0.9, 0.99)
    often, seldom = np.quantile(each, 0.9, axis=1)
    if often <= 0:
        return out
    far, usual = off > seldom * max(seldom / often, MILD) ** 2, off <= often
    for n in np.flatnonzero(far.any(axis=0)):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        if usual[at, n].mean() < AT_HOME:
            continue
        there = far[at, n]
        for a, b in zip(*stretches(joined(there, JOINED)), strict=True):
            if b - a < JOINED // 2 or there[a:b].mean() <= 0.5:
                continue
            as_far = off[at, n] > 0.5 * float(np.median(off[at[a:b], n]))
            core = np.zeros(at.size, dtype=np.bool_)
            core[a:b] = True
            own = grown(core, joined(as_far, JOINED))  # on its way there too
            if (as_far & ~own).sum() <= HABITUAL * (~own).sum():
                out[at[a:b], n] = True
    return out


def runaway(values: Array, left_out: Mask, context: Context) -> Mask:
    """Levels that no usual reading of the node comes near to, for long or for good.

    The limit is ``q60·(q60/q40)⁵`` of the network's deviations in units of each node's own spread
    to that side: 9 standard deviations for normal values, more for heavy tails. Quantiles that low
    are what a network has left when its batteries die one after the other. They know little of a
    tail, so half of the distance has to be the node's own: what the slot's other nodes do too is
    no running away, unless the battery is low, nor is where the node goes at other times too.
    """
    size, own = _sizes(values, left_out)
    pool = size[~np.isnan(size) & ~left_out]
    out = np.zeros(values.shape, dtype=np.bool_)
    low, high = quantiles(pool, 0.4, 0.6) if pool.size else (0.0, 0.0)
    if low <= 0:
        return out
    far = size > high * (high / low) ** 5
    for n in np.flatnonzero(far.any(axis=0)):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        beyond = far[at, n]
        for a, b in zip(*stretches(joined(beyond, JOINED)), strict=True):
            if b - a >= JOINED // 2 and beyond[a:b].mean() > 0.5:
                out[at[a:b], n] = True
    if not out.any():
        return out
    deviation, _ = _own_deviation(values, left_out)
    weak = on_low_battery(out, context)
    together = shared(out, deviation, left_out) | mostly(own < 0.5 * size, out)
    usual = (together | _habitual(size, out, left_out)) & ~weak
    return out & ~usual & ~recurrent(out, deviation, context)


def _habitual(size: Array, found: Mask, left_out: Mask) -> Mask:
    """Stretches of `found` half as far as which the node goes at other times too."""
    out = np.zeros(found.shape, dtype=np.bool_)
    for n in np.flatnonzero(found.any(axis=0)):
        usable = np.where(left_out[:, n], np.nan, size[:, n])
        ranked = np.sort(usable[~np.isnan(usable)])
        for a, b in zip(*stretches(found[:, n]), strict=True):
            here, own = size[a:b, n], usable[a:b]
            half = 0.5 * middle(here[~np.isnan(here)])
            others = ranked.size - np.count_nonzero(~np.isnan(own))
            above = ranked.size - np.searchsorted(ranked, half, side="right")
            if others:
                out[a:b, n] = (above - np.count_nonzero(own > half)) / others > HABITUAL
    return out


def _sizes(values: Array, left_out: Mask) -> tuple[Array, Array]:
    """Distances from the node's level in its spread to that side, and how much of it is its own.

    A skewed quantity has a wider side. Its own is what is left when the slot's median is taken off.
    """
    deviation, spread = _own_deviation(values, left_out)
    kept = np.where(left_out, np.nan, deviation)
    sides = []
    for sign in (1, -1):
        one = MAD * node_medians(np.where(sign * kept > 0, np.abs(kept), np.nan))
        # Never narrower than half of what both sides say: a side may hold a few readings only.
        sides.append(np.fmax(np.nan_to_num(one), 0.5 * spread))
    scaled = np.where(deviation > 0, deviation / sides[0], deviation / sides[1])
    common = np.nan_to_num(slot_medians(np.where(left_out, np.nan, scaled)))
    return np.abs(scaled), np.abs(scaled - common[:, None])


def _own_deviation(values: Array, left_out: Mask) -> tuple[Array, Array]:
    """Readings minus their node's median, and the nodes' spreads, positive."""
    kept = np.where(left_out, np.nan, values)
    deviation = values - node_medians(kept)
    spread = MAD * node_medians(np.abs(np.where(left_out, np.nan, deviation)))
    usual = spread[spread > 0]
    floor = 0.2 * float(np.median(usual)) if usual.size else 1.0
    return deviation, np.where(spread > floor, spread, floor)
