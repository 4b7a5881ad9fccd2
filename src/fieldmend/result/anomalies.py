"""The list of anomalies: one row per flagged reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend import faults
from fieldmend.flags import BAD, Flag

if TYPE_CHECKING:
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
        flagged = np.isin(one.flag, BAD)
        slot, node = np.nonzero(flagged)
        value, expected = one.observed[flagged], one.estimate[flagged]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            deviation = one.anomaly[flagged]  # of an angle: the shorter way round
            score = np.abs(deviation) / one.scale[node]
        index, names = faults.kinds(one.episodes, flagged.shape)
        episode, kinds = index[flagged], np.array([*names, ""], dtype=object)
        limit = one.flag[flagged] == Flag.FAIL
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
