"""Noise that is short or faint beside what `noisy` asks for: a node trembles, its network does not.

A node's own past tells how rough it can be by many of its readings; a stretch of some dozen is told
by holding nodes against each other. How far a reading lies from the middle of its two neighbours is
no matter of level, ramp or step; noise does it reading by reading.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.ranks import quantiles
from fieldmend.faults import history
from fieldmend.faults.labels import Context
from fieldmend.faults.neighbours import companions
from fieldmend.faults.shifts import highest
from fieldmend.faults.stretches import (
    MAD,
    Array,
    Mask,
    grown,
    middle,
    node_medians,
    resolution,
    slot_medians,
    stretches,
)

# Readings around one whose median tells, and part of a stretch's limit as far as which it reaches.
WINDOW, PART = 15, 0.5
# Part of its roughness that most companions have too: weather.
ALIKE = 0.5
# Times the noise by which the level may be off, whoever else is rough: smoke is as noisy as it is
# dense. Or, if hardly another is; more is a departure, with some noise in it.
STAYED, MOVED, OTHERS = 1.0, 4.0, 2
# Share of a node's times that are calmer than what is usual, and than what is much; the limit is
# extrapolated as that of a departure.
USUAL, MUCH, TAIL = 0.75, 0.95, 2.5
# Times as rough as usual that are no noise, by however little a network's rougher times exceed it.
LEAST = 4.0


def trembling(values: Array, left_out: Mask, context: Context) -> Mask:
    """Stretches rougher than any of a network of so many sound nodes would be.

    Roughness is the median, over fifteen readings, of their distances from the middle of their two
    neighbours in time or from the nearer one, in what is usual for the node and the hour. Where
    most companions are half as rough it is what happens there; so it is where two others are and
    the level has moved by more than the noise (smoke), and where it has moved by four times as much
    (a gusty wind, warm and dry) it is a departure: others are asked about these.
    """
    rough = _roughness(np.where(left_out, np.nan, values), values)
    heard = ~np.isnan(rough)
    out = np.zeros(values.shape, dtype=np.bool_)
    if not heard.any():
        return out
    rough /= np.fmax(slot_medians(rough), 1.0)[:, None]
    top = np.fmax.reduce(rough, axis=0, initial=0.0)
    usual, much = quantiles(rough[heard], USUAL, MUCH)
    tail = much * (much / usual) ** TAIL if usual > 0 else np.inf
    limit = max(LEAST, min(highest(top), tail))
    accused = np.flatnonzero(top > limit)
    if not accused.size:
        return out
    deviation = values - node_medians(np.where(left_out, np.nan, values))
    kept = np.where(left_out, np.nan, deviation)
    order, _ = companions(kept, context)
    kept = kept - np.nan_to_num(slot_medians(kept))[:, None]
    for n in map(int, accused):
        at = np.flatnonzero(heard[:, n])
        own = rough[at, n]
        theirs = np.nan_to_num(slot_medians(rough[np.ix_(at, order[n][order[n] >= 0])]))
        alone = theirs < ALIKE * own
        found = grown(own > limit, own > PART * limit)
        for a, b in zip(*stretches(found), strict=True):
            if b - a > WINDOW // 2 and alone[a:b].mean() > 0.5:
                moved = _moved(kept[at, n], a, b)
                about = np.delete(rough[at[a:b]], n, axis=1)
                along = node_medians(about) >= ALIKE * middle(own[a:b])
                few = np.count_nonzero(along) < OTHERS
                out[at[a:b], n] = moved <= STAYED or (moved <= MOVED and few)
    return out


def _roughness(values: Array, all_of: Array) -> Array:
    """Of each reading how rough the node is about it, in what is usual for the node."""
    from scipy.ndimage import median_filter  # slow to import

    out = np.full(values.shape, np.nan)
    usual = np.zeros(values.shape[1])
    for n, column in enumerate(values.T):
        at = np.flatnonzero(~np.isnan(column))
        if at.size < 2 * WINDOW:
            continue
        series = column[at]
        off = np.abs(series[1:-1] - (series[:-2] + series[2:]) / 2)
        # Beside a single spike one of the neighbours is near.
        off = np.minimum(np.pad(off, 1, mode="edge"), history.roughness(series))
        out[at, n] = median_filter(off, WINDOW, mode="nearest")
        (usual[n],) = quantiles(out[at, n], USUAL)
    least = resolution(all_of)
    known = usual[usual > 0]
    floor = 0.5 * float(np.median(known)) if known.size else 1.0
    return np.asarray(out / np.maximum(np.maximum(usual, least), floor))


def _moved(series: Array, start: int, stop: int) -> float:
    """How far a stretch is from its surroundings, in the noise in it."""
    around = np.concatenate([series[max(start - WINDOW, 0) : start], series[stop : stop + WINDOW]])
    inside = series[start:stop]
    noise = MAD * middle(np.abs(np.diff(inside))) / np.sqrt(2)
    if not around.size or noise <= 0:
        return np.inf
    return float(abs(middle(inside) - middle(around)) / noise)
