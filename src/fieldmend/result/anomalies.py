"""The list of anomalies: one row per flagged reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend import faults
from fieldmend.core.engine import blocks
from fieldmend.flags import BAD, Flag
from fieldmend.grid import Array

if TYPE_CHECKING:
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

COLUMNS = (
    "node", "time", "condition", "value", "expected", "deviation", "score", "kind", "episode",
)  # fmt: skip


def anomaly_columns(recovery: Result) -> dict[str, Any]:
    """Columns of the list, condition after condition, each in order of time, then node.

    ``score`` is the deviation in units of the node's usual distance from the field; ``episode``
    numbers the episodes of the whole recovery from 1.
    """
    parts: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    first = 1
    nodes = np.array(recovery.grid.nodes, dtype=object)
    times = recovery.grid.times.astype("datetime64[us]")
    for one in recovery.conditions.values():
        at = slot, node = _flagged(one)
        value, expected = one.observed[at], one.estimate[at]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            deviation = one.anomaly[at]  # of an angle: the shorter way round
            score = np.abs(deviation) / one.scale[node]
        episode = _episodes(one, slot, node)
        kinds = np.array([*(str(own.kind) for own in one.episodes), ""], dtype=object)
        limit = one.flag[at] == Flag.FAIL
        kind = np.where(limit, "limit", kinds[episode])
        row = (
            nodes[node],
            times[slot],
            np.full(len(slot), one.name, dtype=object),
            value,
            expected,
            deviation,
            score,
            kind,
            np.where(episode < 0, 0, episode + first),
        )
        for name, column in zip(COLUMNS, row, strict=True):
            parts[name].append(column)
        first += len(one.episodes)
    return {name: np.concatenate(columns) for name, columns in parts.items()}


def _flagged(one: Recovered) -> tuple[Array, Array]:
    """Slots and nodes of flagged readings, found by blocks."""
    found = []
    for block in blocks(*one.flag.shape):
        slot, node = np.nonzero(np.isin(one.flag[block], BAD))
        found.append((slot + block.start, node))
    slot, node = (np.concatenate(part) for part in zip(*found, strict=True))
    return slot, node


def _episodes(one: Recovered, slot: Array, node: Array) -> Array:
    """The episode that each flagged reading belongs to, −1 for none; of several the last."""
    out = np.full(len(slot), -1, dtype=np.int64)
    by_node = np.lexsort((slot, node))
    key = node[by_node] * len(one.flag) + slot[by_node]
    for i, episode in enumerate(one.episodes):
        if episode.kind != faults.Kind.EVENT:
            first = episode.node * len(one.flag)
            low, high = np.searchsorted(key, [first + episode.start, first + episode.stop])
            out[by_node[low:high]] = i
    return out
