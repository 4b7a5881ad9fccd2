"""How rough a node usually is, also where it has been noisy for much of the record."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fieldmend.faults import history
from fieldmend.faults.labels import Context
from fieldmend.faults.shifts import AT_HOME, Blocks, outstanding
from fieldmend.faults.stretches import Array, slot_medians

# Levels wander from day to day; how rough a node is hangs on the hour: one day tells of the next.
DAYS = 2


def usual(values: Array, context: Context) -> Array:
    """Each node's usual roughness, in standard deviations of a step.

    A node that fails for a third of the record makes its noise its own measure. So where a node
    turned far rougher for long than nodes of this network do, while hardly another did, the rest
    of its record is asked.
    """
    rough = np.full(values.shape, np.nan)
    for n, column in enumerate(values.T):
        heard = ~np.isnan(column)
        rough[heard, n] = history.roughness(column[heard])
    out = np.array([history.usual_roughness(column[~np.isnan(column)]) for column in rough.T])
    floor = 0.2 * float(np.median(out))
    if floor <= 0:
        return out
    told = Blocks.of(rough, _level(floor))
    # Where all are rougher, by day, nobody has changed.
    common = slot_medians(told.told)
    for shift in outstanding(Blocks(told.told - common[:, None], told.edges), context, DAYS):
        inside = np.zeros(len(values), dtype=np.bool_)
        inside[shift.inside] = True
        home = ~inside if shift.size > 0 else inside  # it may be the calmer part that stands out
        calm = rough[home & ~np.isnan(rough[:, shift.node]), shift.node]
        if calm.size >= AT_HOME * (~np.isnan(rough[:, shift.node])).sum():
            out[shift.node] = history.usual_roughness(calm)
    return np.asarray(np.maximum(out, floor))


def _level(floor: float) -> Callable[[Array], Array]:
    """Logarithm of each column's mean roughness; what a sensor cannot tell apart is none."""

    def level(rough: Array) -> Array:
        count = (~np.isnan(rough)).sum(axis=0)
        mean = np.nansum(rough, axis=0) / np.maximum(count, 1)
        return np.asarray(np.where(count > 0, np.log(mean + floor), np.nan))

    return level
