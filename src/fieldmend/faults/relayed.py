"""One value that several nodes send in the same slot and that none of them measured.

A gateway that lost its sensors, or its power, puts one number in the place of all their readings:
0, −37, 85. To each other these nodes are an event, so nobody is asked. What tells them apart is the
number itself: what happens to many leaves each where it stands among the others, and nothing real
takes them all to the same digit and back to where they came from.
"""

from __future__ import annotations

from math import comb

import numpy as np

from fieldmend.core.ranks import quantiles
from fieldmend.faults.ranking import CROWD, SHARE
from fieldmend.faults.runs import Runs, runs_of
from fieldmend.faults.stretches import Array, Mask, resolution
from fieldmend.quantities import Kind, Quantity, units
from fieldmend.quantities.names import MEASURES

# Fewer nodes are no crowd.
NODES = 3
# A jump is as many times what nine in ten of the node's steps stay below.
JUMP = 2.0
# Share of the runs at a value that may have come about without jumps: else it is one that is read.
READ = 0.1
# Others that jump at the same time, as a share of the crowd: more, and something happened.
RIVALS = 0.5
# How often chance may put such a crowd on one value in a whole record.
CHANCE = 0.01
# Steps of the scale by which a crowd stood apart, for one value to tell anything.
APART = 20.0
# Share of all readings above which a value is where nodes rest: of what is known to be measured,
# and of what nobody named, which may be set to it every night.
RESTING, USUAL = 0.5, 0.05
# Share of a record's steps that are none: more, and nodes are set, not measured.
SET = 0.9
TESTED = (Kind.LINEAR, Kind.POSITIVE)


def relayed(values: Array, quantity: Quantity, runs: Runs | None = None) -> Mask:
    """Readings of one value to which three nodes or more jump at once, and from which they return.

    Beyond all that the network reads otherwise it is no measurement, unless it may be the end of
    a scale; within, if chance hardly puts nodes that stood apart on one value.
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    if quantity.kind not in TESTED:
        return out
    runs = runs_of(values) if runs is None else runs
    step = _large_steps(values)
    if runs.node.size == 0 or not (step > 0).any():
        return out
    told = _told(values[runs.first, runs.node])
    way = _Ways(values, runs, step)
    for crowd in _crowds(runs, told, np.flatnonzero(way.jumped)):
        at = np.flatnonzero(told == told[crowd[0]])
        if runs.length[at].sum() > (RESTING if _known(quantity) else USUAL) * runs.length.sum():
            continue
        jumped = at[way.jumped[at]]
        novel = at.size - jumped.size <= READ * at.size
        if _nobodys(values, told[crowd[0]], crowd, way, quantity, novel=novel):
            # A code once is a code wherever it comes; what is read, too, only at that time.
            for run in jumped if novel else _with_the_same_edges(runs, crowd, at):
                part = slice(runs.first[run], runs.last[run] + 1)
                out[part, runs.node[run]] = ~np.isnan(values[part, runs.node[run]])
    return out


def _told(readings: Array) -> Array:
    """Readings that are equal up to single precision made equal."""
    with np.errstate(over="ignore"):  # 1e308 may have been sent
        return np.asarray(readings.astype(np.float32))


class _Ways:
    """How each run was come to and left: by a jump, which way, and back to where it came from."""

    def __init__(self, values: Array, runs: Runs, step: Array) -> None:
        here = values[runs.first, runs.node]
        self.before = np.where(runs.before >= 0, values[runs.before, runs.node], np.nan)
        end = np.minimum(runs.after, len(values) - 1)
        after = np.where(runs.after < len(values), values[end, runs.node], np.nan)
        into, out = here - self.before, here - after
        least = np.where(step > 0, step, np.inf)[runs.node]
        lasts = runs.after == len(values)
        with np.errstate(invalid="ignore"):
            self.came = np.where(np.abs(into) > least, np.sign(into), 0.0)
            back = np.abs(after - self.before) < 0.5 * np.minimum(np.abs(into), np.abs(out))
            self.jumped = (self.came != 0) & (lasts | (np.abs(out) > least))
            self.returned = self.jumped & (lasts | (back & (np.sign(out) == self.came)))
        self.runs = runs


def _large_steps(values: Array) -> Array:
    """What makes a step of each node a jump; 0 where it is set rather than measured."""
    out = np.zeros(values.shape[1])
    for n, column in enumerate(values.T):
        steps = np.abs(np.diff(column[~np.isnan(column)]))
        moves = steps[steps > 0]
        if moves.size > (1.0 - SET) * steps.size:
            (usual,) = quantiles(moves, 0.9)
            out[n] = JUMP * usual
    return out


def _crowds(runs: Runs, told: Array, jumped: Array) -> list[Array]:
    """Of the runs that were jumped to those at one value that overlap, three at once or more."""
    order = jumped[np.lexsort((runs.first[jumped], told[jumped]))]
    if order.size < NODES:
        return []
    # One value's runs lie behind all of the next smaller one's.
    _, place = np.unique(told[order], return_inverse=True)
    apart = place * (runs.after.max() + 2)
    end = np.maximum.accumulate(runs.last[order] + apart)
    new = np.flatnonzero(runs.first[order][1:] + apart[1:] > end[:-1]) + 1
    edges = np.concatenate([[0], new, [order.size]])
    large = np.flatnonzero(np.diff(edges) >= NODES)
    crowds = [order[edges[k] : edges[k + 1]] for k in large]
    return [crowd for crowd in crowds if _at_once(runs.of(crowd)) >= NODES]


def _at_once(runs: Runs) -> int:
    """The most of them in one slot."""
    begun = np.sort(runs.first)
    ended = np.searchsorted(np.sort(runs.last), begun)
    return int((np.arange(1, begun.size + 1) - ended).max())


def _with_the_same_edges(runs: Runs, crowd: Array, others: Array) -> Array:
    """A crowd, and those others that may have begun and ended with it: they were near its value."""
    first, last = np.median(runs.first[crowd]), np.median(runs.last[crowd])
    same = (runs.before[others] < first) & (runs.first[others] >= first)
    same &= (runs.last[others] <= last) & (runs.after[others] > last)
    return np.union1d(crowd, others[same & (runs.length[others] > 1)])


def _nobodys(
    values: Array, level: float, crowd: Array, way: _Ways, quantity: Quantity, *, novel: bool
) -> bool:
    """Whether nobody can have measured what a crowd tells."""
    runs = way.runs.of(crowd)
    nodes = np.unique(runs.node).size
    if nodes < NODES or _rivals(way, crowd) > RIVALS * nodes:
        return False
    with np.errstate(invalid="ignore"):
        rest = values[np.abs(values - level) > 2e-7 * abs(level)]
    low, high = float(rest.min()), float(rest.max())
    step = float(resolution(values)[runs.node].max())
    before = way.before[crowd]
    apart = float(np.nanmax(before) - np.nanmin(before))
    if low < level < high:
        if apart < APART * step:
            return False
        return _by_chance(values, level, way, crowd, step / apart) < CHANCE
    if not novel or quantity.kind is not Kind.LINEAR or 2 * way.returned[crowd].sum() < crowd.size:
        return False  # the end of a scale
    if level == 0 and low >= 0 and not _degrees(quantity):
        return False  # a plant that was shut down
    if max(apart, low - level, level - high) < APART * step:
        return False  # what is told so coarsely is alike by itself
    return _known(quantity) or nodes >= max(CROWD, SHARE * values.shape[1])


def _known(quantity: Quantity) -> bool:
    """Whether it is said what is measured."""
    return bool(quantity.what) or _degrees(quantity)


def _degrees(quantity: Quantity) -> bool:
    """Whether its zero is a value like any other."""
    families = MEASURES[quantity.what].families if quantity.what else ()
    return "temperature" in (*families, units.spelt(quantity.unit)[0])


def _rivals(way: _Ways, crowd: Array) -> int:
    """Nodes that jump to a side to which the crowd does, when it does, and land elsewhere."""
    first = way.runs.first[crowd]
    now = np.isin(way.came, way.came[crowd]) & (way.runs.first >= first.min() - 1)
    now &= way.runs.first <= np.median(first) + 1
    others = np.setdiff1d(way.runs.node[now], way.runs.node[crowd])
    return int(others.size)


def _by_chance(values: Array, level: float, way: _Ways, crowd: Array, share: float) -> float:
    """How often as many of the nodes that jump land on one value, each so by this share at least.

    Asked of all slots in which as many jump: half as many rivals may have been there.
    """
    nodes = np.unique(way.runs.node[crowd]).size
    usual = float((_told(values[~np.isnan(values)]) == level).mean())
    jumps = np.bincount(way.runs.first[way.came != 0], minlength=len(values))
    occasions = max(int(np.count_nonzero(jumps >= nodes)), 1)
    ways = comb(nodes + int(RIVALS * nodes), nodes)
    return float(occasions * ways * max(share, usual) ** (nodes - 1))
