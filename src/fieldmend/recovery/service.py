"""When which node was in service: silences that are no loss, told from those that are.

A node that was not there yet, or is gone, has lost nothing. Neither has one that is silent for
longer than silences are here. What counts as long follows from the record:

- at its ends, longer than any silence inside that is plausible, or than a twentieth of the record;
- inside, longer than 99 in 100 of the network's silences and than a tenth of the record, or longer
  than a quarter of it; but never less than thirty days: a node that comes back sooner was out of
  order, one that stays away for longer was taken down, whatever the record's length.

A silence is counted in slots in which the network was heard: an outage of the gateway is loss.
But hours at which nobody is heard on any day (a metro at night, a school) have lost nothing either.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.field.cycles import usual_periods
from fieldmend.field.outages import closed_slots
from fieldmend.grid import Array
from fieldmend.recovery.judging import NEAR
from fieldmend.recovery.runs import Runs, ended, joined
from fieldmend.result.states import Service

LONGEST = 0.25  # of the record: a node that is silent for longer was not in service
USUAL = 0.99  # of the network's silences are no longer
INSIDE, AT_END = 0.1, 0.05  # of the record: shorter is never too long; longer at an end always is
REPAIR = 30 * 86_400_000_000  # µs until a node that fell silent is up again, at the most
QUIET = 0.5  # of the nodes usually heard: with fewer, it is the network that is silent


def service(X: Array, slot: int) -> Service:
    """When which node was in service: it sent readings, right or wrong. A slot is in µs."""
    slots, nodes = X.shape
    heard = np.zeros(slots, dtype=np.int64)
    for block in blocks(slots, nodes):
        heard[block] = np.count_nonzero(~np.isnan(X[block]), axis=1)
    alive = heard >= QUIET * _usual(heard)
    clock = np.concatenate([[0], np.cumsum(alive)])
    lengths = np.zeros(slots + 1, dtype=np.int64)  # of silences inside: how many are that long
    kept = []
    # All silences may be more than memory holds; none shorter than this can be too long.
    least = min(INSIDE, LONGEST) * slots
    for found in ended(lambda block: np.isnan(X[block]), X.shape):
        length = clock[found.stop] - clock[found.start]
        at_edge = (found.start == 0) | (found.stop == slots)
        lengths += np.bincount(length[~at_edge], minlength=slots + 1)
        some = at_edge | (length > least)
        kept.append(Runs(found.node[some], found.start[some], found.stop[some]))
    found = joined(kept)
    start, stop = found.start, found.stop
    length = clock[stop] - clock[start]
    never = np.zeros(nodes, dtype=np.bool_)
    whole = (start == 0) & (stop == slots)
    never[found.node[whole]] = True
    at_end = ((start == 0) | (stop == slots)) & ~whole
    inside = (start > 0) & (stop < slots)
    longest = max(NEAR, LONGEST * slots)
    usual = _quantile(lengths[: int(longest) + 1])
    plausible = max(min(max(usual, NEAR, INSIDE * slots), longest), REPAIR / max(slot, 1))
    known = np.flatnonzero(lengths[: int(min(plausible, slots)) + 1])
    end = min(max(1, known.max(initial=0)), max(NEAR, AT_END * slots))
    out = (inside & (length > plausible)) | (at_end & (stop - start > end))
    return Service(found.node[out], start[out], stop[out], never, _closed(heard > 0, slot))


def _closed(heard: Array, slot: int) -> Array:
    """Stretches of slots, start and stop, at hours at which nobody was heard on any day."""
    day = next(iter(usual_periods(slot)), 0)
    if not day:
        return np.zeros((0, 2), dtype=np.int64)
    closed = closed_slots(heard, np.arange(len(heard)), day)
    edges = np.diff(np.concatenate([[0], closed, [0]]).astype(np.int8))
    return np.flatnonzero(edges).reshape(-1, 2)


def _usual(heard: Array) -> float:
    """Nodes heard in a slot with any."""
    some = heard[heard > 0]
    return float(np.median(some)) if some.size else 0.0


def _quantile(counts: Array) -> float:
    """The quantile, the higher of two neighbours, of lengths given by how many are that long."""
    total = int(counts.sum())
    if not total:
        return 0.0
    rank = np.ceil((total - 1) * USUAL)
    return float(np.searchsorted(np.cumsum(counts), rank + 1))
