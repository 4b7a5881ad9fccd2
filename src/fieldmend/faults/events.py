"""What looks like a fault and is none: many nodes or neighbours together, every day again."""

from __future__ import annotations

import numpy as np

from fieldmend.core.ranks import row_medians
from fieldmend.faults.labels import Context
from fieldmend.faults.neighbours import companions
from fieldmend.faults.stretches import (
    Array,
    Mask,
    grown,
    node_medians,
    slot_medians,
    stretches,
)

# An event moves at least this many nodes, and this share of those that are heard and sound, ...
NODES, SHARE = 3, 0.5
# ... and they set off within this many slots.
TOGETHER = 15
# As many of a node's five companions make its departure a local event.
NEIGHBOURS = 2
# With fewer nodes what is implied of one is what two or three others make of it; ...
WITNESSES = 6
# ... a distance from them that the node has more often than so is none.
OFTEN = 0.05
# Microseconds; and on how many other days a departure of half the size makes it a habit: a third
# of them, within these. A fault of a place that is dark at night has hours too, for as long as it
# lasts.
DAY, HABIT = 86_400_000_000, (2, 3)
# Days before and after that are looked at: a habit comes again before long.
DAYS = 60


def shared(found: Mask, deviation: Array, off: Mask) -> Mask:
    """Stretches of `found` that many nodes begin together, in the same direction.

    Nodes that are `off`, or were found long before the others, bear no witness: batteries die
    one by one, and the dead do not make the dying an event.
    """
    out = np.zeros(found.shape, dtype=np.bool_)
    heard = ~np.isnan(deviation)
    living = (heard & ~off).sum(axis=1)
    for side in (found & (deviation > 0), found & (deviation < 0)):
        fresh = side & (_age(side, heard) <= TOGETHER)
        together = fresh.sum(axis=1)
        sound = living - (side & ~fresh & ~off).sum(axis=1)
        many = (together >= NODES) & (together >= SHARE * sound)
        out |= fresh & many[:, None]
    for n in np.flatnonzero(out.any(axis=0)):
        out[:, n] = grown(out[:, n], found[:, n])
    return out


def _age(side: Mask, heard: Mask) -> Array:
    """Slots since the run of marks began, down each column; silence does not end a run."""
    place = np.arange(1, side.shape[0] + 1)[:, None]
    return np.asarray(place - np.maximum.accumulate(np.where(heard & ~side, place, 0), axis=0))


def local(mean: Array, least: float, context: Context, readings: Array) -> Mask:
    """Slots and nodes at which two of the node's five companions depart to the same side as it.

    Companions are near by place, else alike in their `readings`: alike in their departures, nodes
    that drift would excuse each other.
    """
    order, _ = companions(readings, context)
    up, down = mean > least, mean < -least
    out = np.zeros(mean.shape, dtype=np.bool_)
    for n in np.flatnonzero((up | down).any(axis=0)):
        near = order[n][order[n] >= 0]
        out[:, n] |= up[:, n] & (up[:, near].sum(axis=1) >= NEIGHBOURS)
        out[:, n] |= down[:, n] & (down[:, near].sum(axis=1) >= NEIGHBOURS)
    return out


def mostly(part: Mask, found: Mask) -> Mask:
    """Runs of `found`, down each column, of which at least half is in `part`."""
    out = np.zeros(found.shape, dtype=np.bool_)
    for n in np.flatnonzero((part & found).any(axis=0)):
        for a, b in zip(*stretches(found[:, n]), strict=True):
            out[a:b, n] = part[a:b, n].mean() >= 0.5
    return out


def recurrent(found: Mask, deviation: Array, context: Context) -> Mask:
    """Stretches of `found` that come back at the same hours: the place, not the sensor.

    A stretch is a habit if at its hours of a third of the other days (two at least, three at most;
    one, in a record of less than three) the node deviates to the same side by half as much, sixty
    days before and after at the most. Asked of stretches of up to 18 hours.
    """
    out = np.zeros(found.shape, dtype=np.bool_)
    day = round(DAY / context.slot) if context.slot > 0 else 0
    if day < 4:
        return out
    slots = found.shape[0]
    needed = int(np.clip(-(-(slots // day - 1) // 3), *HABIT)) if slots >= 3 * day else 1
    days_away = np.arange(1, min(slots // day, DAYS) + 1)
    shifts = np.concatenate([-days_away, days_away]) * day
    for n in np.flatnonzero(found.any(axis=0)):
        for a, b in zip(*stretches(_bridged(found[:, n], deviation[:, n])), strict=True):
            if b - a <= 0.75 * day:
                days = _typical(deviation[:, n], a + shifts[a + shifts >= 0], b - a)
                own = _typical(deviation[:, n], np.array([a]), b - a)
                alike = days * np.sign(own) >= 0.5 * np.abs(own)
                out[a:b, n] = np.count_nonzero(alike) >= needed
    return out & found


def keeps_its_distance(found: Mask, values: Array, left_out: Mask) -> Mask:
    """Stretches of `found`, in networks of few, in which a node is as near to the others as often.

    Two motes indoors and two outside imply each other by accident: a percent of humidity off, where
    they differ by eighteen at other times. Asked is how far the node is from the median of the
    others, beside its usual distance.
    """
    out = np.zeros(found.shape, dtype=np.bool_)
    if found.shape[1] >= WITNESSES:
        return out
    kept = np.where(left_out, np.nan, values)
    for n in np.flatnonzero(found.any(axis=0)):
        off = values[:, n] - slot_medians(np.delete(kept, n, axis=1))
        off = np.abs(off - node_medians(off[:, None]))
        elsewhere = off[~found[:, n] & ~np.isnan(off)]
        for a, b in zip(*stretches(found[:, n]), strict=True):
            part = off[a:b][~np.isnan(off[a:b])]
            if part.size and elsewhere.size:
                out[a:b, n] = (elsewhere >= np.median(part)).mean() > OFTEN
    return out & found


def _bridged(marks: Mask, deviation: Array) -> Mask:
    """Marks of one node, carried over slots in which it was not heard."""
    heard = ~np.isnan(deviation) | marks
    last = np.maximum.accumulate(np.where(heard, np.arange(marks.size), 0))
    return np.asarray(marks[last] & (marks | ~heard))


def _typical(series: Array, starts: Array, length: int) -> Array:
    """Of stretches of one length the median of what was heard; 0 where that is less than half.

    The last ones may reach beyond the end.
    """
    at = starts[:, None] + np.arange(length)
    part = np.where(at < series.size, series[np.minimum(at, series.size - 1)], np.nan)
    heard = np.count_nonzero(~np.isnan(part), axis=1)
    enough = heard > 0.5 * np.count_nonzero(at < series.size, axis=1)
    out = np.zeros(len(starts))
    out[enough] = row_medians(part[enough])
    return out
