"""What to look at first: the faults of a result, ranked and put into words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend import spill
from fieldmend.core.engine import blocks
from fieldmend.faults import Kind
from fieldmend.faults.ranking import Item, ranked, silences
from fieldmend.flags import Flag
from fieldmend.grid import stamp
from fieldmend.text import counted, figure, listed, shown

if TYPE_CHECKING:
    from fieldmend.result.result import Result

LOOK_FIRST = 10
NAMED = 3  # values and nodes that are written out


def look_first(recovery: Result, count: int = LOOK_FIRST) -> list[dict[str, Any]]:
    """What needs a visit, the gravest first: many nodes at one time, then node by node.

    Dead, stuck, drifting, offset, silent and noisy nodes, one line each over all their conditions;
    then those with single false readings, one line each.
    """
    found = {name: one.episodes for name, one in recovery.conditions.items()}
    slots, nodes = len(recovery.grid.times), len(recovery.grid.nodes)
    items = [
        (item.kind.gravity + len(Kind) * item.together, _fault(recovery, item))
        for item in ranked(found, nodes, slots)
    ]
    items += [(Kind.SILENT.gravity, one) for one in _silent(recovery)]
    items.sort(key=lambda item: -item[0])  # stable: within a kind as ranked
    return [one for _, one in items[:count]]


def events(recovery: Result, count: int = LOOK_FIRST) -> list[dict[str, Any]]:
    """What really happened, the strongest first: no faults, nothing of it is flagged."""
    found = [
        (name, episode)
        for name, one in recovery.conditions.items()
        for episode in one.episodes
        if episode.kind == Kind.EVENT
    ]
    found.sort(key=lambda item: -item[1].severity)
    grid = recovery.grid
    return [
        {
            "node": grid.nodes[episode.node],
            "condition": name,
            "start": stamp(grid.times[episode.start]),
            "end": stamp(grid.times[episode.stop - 1] + grid.slot),
            "explanation": episode.explanation,
        }
        for name, episode in found[:count]
    ]


def _fault(recovery: Result, item: Item) -> dict[str, Any]:
    grid, worst = recovery.grid, item.episode
    return {
        "node": grid.nodes[worst.node],
        "nodes": [grid.nodes[n] for n in item.nodes],
        "condition": worst.condition or item.conditions[0],
        "conditions": list(item.conditions),
        "kind": str(item.kind),
        "start": stamp(grid.times[item.start]),
        "end": stamp(grid.times[item.stop - 1] + grid.slot),
        "readings": item.readings,
        "severity": _number(worst.severity),
        "confidence": _number(worst.confidence),
        "certain": worst.certain,
        "visit": "look at what they share: gateway, power" if item.together else item.kind.visit,
        "explanation": _words(recovery, item),
    }


def _words(recovery: Result, item: Item) -> str:
    if item.together:
        return f"{len(item.nodes)} nodes at one time{_values(recovery, item)}: look at the gateway"
    text = item.episode.explanation
    if item.count > 1 and not item.kind.lasts:
        many = counted(item.readings, "suspect reading")
        text = f"{many} in {item.count} places; the worst {text}"
    others = [shown(c) for c in item.conditions if c != item.episode.condition]
    return f"{text}; also {listed(others)}" if others else text


def _values(recovery: Result, item: Item) -> str:
    """What they all read, where that is a few values: a gateway's own, not the sensors'."""
    one = recovery.conditions.get(item.episode.condition)
    if one is None:
        return ""
    rows = slice(item.start, item.stop)
    columns = list(item.nodes)
    off = one.flag[rows][:, columns] == Flag.SUSPECT
    read = [figure(float(v)) for v in one.observed[rows][:, columns][off]]
    common = Counter(read).most_common(NAMED)  # of as many, the earlier: not as hashes fall
    if not read or sum(count for _, count in common) < 0.9 * len(read):
        return f", {counted(item.readings, 'suspect reading')}"
    return f": all read {' or '.join(word for word, _ in common)}"


def _silent(recovery: Result) -> list[dict[str, Any]]:
    every = list(recovery.conditions.values())
    shape = recovery.grid.shape
    large = isinstance(every[0].flag, np.memmap)
    heard = spill.on_disk(shape, np.bool_) if large else np.zeros(shape, dtype=np.bool_)
    for block in blocks(*shape):
        heard[block] = np.any([one.flag[block] != Flag.MISSING for one in every], axis=0)
    grid, name = recovery.grid, next(iter(recovery.conditions))
    return [
        {
            "node": grid.nodes[node],
            "nodes": [grid.nodes[node]],
            "condition": name,
            "conditions": list(recovery.conditions),
            "kind": str(Kind.SILENT),
            "start": stamp(grid.times[last] + grid.slot),
            "end": stamp(grid.times[-1] + grid.slot),
            "readings": 0,
            "severity": None,
            "confidence": None,
            "certain": True,
            "visit": Kind.SILENT.visit,
            "explanation": "not heard any more while others are",
        }
        for node, last in silences(heard)
    ]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
