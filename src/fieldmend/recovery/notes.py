"""What a person should know about a recovered condition, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fieldmend.faults import Apart
from fieldmend.grid import Grid
from fieldmend.recovery.judging import FEWEST_NODES, FEWEST_READINGS, FEWEST_SLOTS
from fieldmend.recovery.witnesses import Witnesses
from fieldmend.result.states import Service
from fieldmend.text import NAMED, count, counted, figure, measure, moment, named, percent, shown

UNLIKE = (
    "nodes measure unlike things: none is held against another for long, and errors are told in "
    "parts of each node's own range (from its 10 to its 90 % quantile)"
)
LEFT_EMPTY = "never fitted, left empty (--extrapolate estimates it)"


def too_little(slots: int, known: Witnesses) -> str | None:
    """Why nothing can be judged, if nothing can."""
    distinct = len(known.distinct)
    if distinct >= FEWEST_NODES and slots >= FEWEST_SLOTS:
        return None
    if distinct < FEWEST_NODES:
        same = int(np.count_nonzero(known.heard)) - distinct
        repeated = f" ({same} more repeat{'s' * (same == 1)} another)" if same else ""
        few = f"{counted(distinct, 'node')}{repeated}, fewer than {FEWEST_NODES}"
    else:
        few = f"{counted(slots, 'slot')}, fewer than {FEWEST_SLOTS}"
    return (
        f"{few}: nothing to compare with, so flags are 2, readings are passed through, and gaps "
        "are filled by a straight line between a node's own readings"
    )


def about_nodes(
    grid: Grid, known: Witnesses, life: Service, *, extrapolate: bool = False
) -> Iterator[str]:
    """Nodes that were never heard, hardly, not all the time, or twice."""
    nodes = [shown(name) for name in grid.nodes]
    silent = np.flatnonzero(~known.heard)
    if len(silent) and len(silent) < len(nodes):
        what = "estimated as the median of the others" if extrapolate else LEFT_EMPTY
        yield f"{named('node', [nodes[n] for n in silent])} without a reading: {what}"
    few = np.flatnonzero(known.heard & (known.readings < FEWEST_READINGS))
    if len(few):
        verb = "has" if len(few) == 1 else "have"
        yield (
            f"{named('node', [nodes[n] for n in few])} {verb} fewer than {FEWEST_READINGS} "
            "readings: too few to judge, flags are 2"
        )
    yield from _closed(grid, life, extrapolate=extrapolate)
    yield from _absent(grid, nodes, life, extrapolate=extrapolate)
    for n in np.flatnonzero(known.heard & (known.twin < np.arange(len(nodes))))[:NAMED]:
        yield (
            f"nodes {nodes[known.twin[n]]} and {nodes[n]} have the same readings throughout: "
            "they count as one when readings are compared"
        )


def about_apart(grid: Grid, apart: Sequence[Apart], unit: str) -> Iterator[str]:
    """Nodes that are far from all others throughout: told, since nothing says who is right."""
    for one in apart[:NAMED]:
        node = shown(grid.nodes[one.node])
        side = "above" if one.off > 0 else "below"
        far = f"{measure(abs(one.off), unit)} {side} the network's median"
        if one.unit:
            yield (
                f"node {node} reads {figure(one.level)}, {far} throughout: in {one.unit}? "
                f"That would be {measure(one.converted, unit)}, as the others read; nothing is "
                "flagged for it"
            )
        else:
            yield (
                f"node {node} is {far} throughout, farther than all others: another place or "
                "quantity, or off since before this file; nothing is flagged for it"
            )
    if len(apart) > NAMED:
        yield f"and {counted(len(apart) - NAMED, 'node')} more far from all others throughout"


def _closed(grid: Grid, life: Service, *, extrapolate: bool) -> Iterator[str]:
    """Hours at which nobody is ever heard."""
    if not len(life.closed):
        return
    edges = int(grid.times[0]) + life.closed * grid.slot
    edges = edges[(life.closed[:, 0] > 0) & (life.closed[:, 1] < len(grid.times))]
    hours = sorted({tuple(moment(e, date=False) for e in pair) for pair in edges.tolist()})
    said = " and ".join(f"from {a} to {b}" for a, b in hours[:NAMED])
    what = "estimated all the same" if extrapolate else "left empty, not lost"
    slots = int((life.closed[:, 1] - life.closed[:, 0]).sum())
    yield f"nobody is heard {said} on any day: {counted(slots, 'slot')} {what}"


def _absent(grid: Grid, nodes: list[str], life: Service, *, extrapolate: bool) -> Iterator[str]:
    """Nodes that came later, left earlier, or were away for long."""
    slots = len(grid.times)
    share = (life.stop - life.start) / slots
    for i in range(min(NAMED, len(share))):
        start, stop = int(life.start[i]), int(life.stop[i])
        if start == 0:
            when = f"before {_when(grid, stop)}"
        elif stop == slots:
            when = f"after {_when(grid, start)}"
        else:
            when = f"from {_when(grid, start)} to {_when(grid, stop)}"
        what = "estimated from the others" if extrapolate else "left empty"
        node = nodes[int(life.node[i])]
        yield f"node {node} has no reading {when}: {percent(share[i])} of its slots {what}"
    if len(share) > NAMED:
        others = counted(len(set(life.node[NAMED:].tolist())), "more node")
        what = "estimated from the others" if extrapolate else "left empty"
        yield (
            f"{others} not in service for some time: "
            f"{count(int((life.stop - life.start)[NAMED:].sum()))} of their slots {what}"
        )


def _when(grid: Grid, slot: int) -> str:
    """The start of a slot, or the end of the record."""
    return moment(int(grid.times[0]) + slot * grid.slot)
