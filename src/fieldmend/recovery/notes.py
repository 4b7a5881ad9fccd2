"""What a person should know about a recovered condition, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fieldmend.grid import Grid
from fieldmend.recovery.judging import FEWEST_NODES, FEWEST_READINGS, FEWEST_SLOTS
from fieldmend.recovery.witnesses import Witnesses
from fieldmend.text import NAMED, counted, moment, named, percent, shown

ABSENT = 0.05  # of the record, at its start or end: a node that appears or dies


def too_little(slots: int, known: Witnesses) -> str | None:
    """Why nothing can be judged, if nothing can."""
    count = len(known.distinct)
    if count >= FEWEST_NODES and slots >= FEWEST_SLOTS:
        return None
    if count < FEWEST_NODES:
        same = int(np.count_nonzero(known.heard)) - count
        repeated = f" ({same} more repeat{'s' * (same == 1)} another)" if same else ""
        few = f"{counted(count, 'node')}{repeated}, fewer than {FEWEST_NODES}"
    else:
        few = f"{counted(slots, 'slot')}, fewer than {FEWEST_SLOTS}"
    return (
        f"{few}: nothing to compare with, so flags are 2, readings are passed through, and gaps "
        "are filled by a straight line between a node's own readings"
    )


def about_nodes(grid: Grid, known: Witnesses) -> Iterator[str]:
    """Nodes that were never heard, hardly, not from the start, not to the end, or twice."""
    nodes = [shown(name) for name in grid.nodes]
    silent = np.flatnonzero(~known.heard)
    if len(silent) and len(silent) < len(nodes):
        yield (
            f"{named('node', [nodes[n] for n in silent])} without a reading: estimated as the "
            "median of the others"
        )
    few = np.flatnonzero(known.heard & (known.readings < FEWEST_READINGS))
    if len(few):
        verb = "has" if len(few) == 1 else "have"
        yield (
            f"{named('node', [nodes[n] for n in few])} {verb} fewer than {FEWEST_READINGS} "
            "readings: too few to judge, flags are 2"
        )
    yield from _absent(grid, nodes, known)
    for n in np.flatnonzero(known.heard & (known.twin < np.arange(len(nodes))))[:NAMED]:
        yield (
            f"nodes {nodes[known.twin[n]]} and {nodes[n]} have the same readings throughout: "
            "they count as one when readings are compared"
        )


def _absent(grid: Grid, nodes: list[str], known: Witnesses) -> Iterator[str]:
    slots = len(grid.times)
    before = np.where(known.heard, known.first, 0) / slots
    after = np.where(known.heard, slots - 1 - known.last, 0) / slots
    for share, edge, word in ((before, known.first, "before"), (after, known.last + 1, "after")):
        gone = np.flatnonzero(share >= ABSENT)
        for n in gone[:NAMED]:
            yield (
                f"node {nodes[n]} has no reading {word} {_when(grid, int(edge[n]))}: "
                f"{percent(share[n])} of its slots are estimated from the others"
            )
        if len(gone) > NAMED:
            yield (
                f"{len(gone) - NAMED} more nodes have no reading {word} some time: "
                f"{percent(share[gone[NAMED:]].mean())} of their slots are estimated from the "
                "others"
            )


def _when(grid: Grid, slot: int) -> str:
    """The start of a slot, or the end of the record."""
    return moment(int(grid.times[0]) + slot * grid.slot)
