"""Episodes: flagged readings of one node that belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fieldmend.faults.spikes import Array, spread


@dataclass(frozen=True)
class Episode:
    """Flagged readings of one node that belong together; slots from `start` to before `stop`."""

    node: int
    condition: str
    start: int
    stop: int
    kind: str
    readings: int
    severity: float
    confidence: float
    explanation: str


@dataclass(frozen=True)
class Context:
    """Labels and companions of one condition."""

    nodes: Sequence[str]
    times: Array
    slot: int
    condition: str
    unit: str = ""
    places: Mapping[str, Mapping[str, float]] | None = None
    companions: Mapping[str, Any] = field(default_factory=dict)


def classify(X: Array, estimate: Array, suspect: Array, context: Context) -> tuple[Episode, ...]:
    """Group flagged readings that follow each other: one is a spike, more are a burst."""
    scale = spread(X, estimate)
    found = []
    for node in np.flatnonzero(suspect.any(axis=0)):
        seen = np.flatnonzero(~np.isnan(X[:, node]))
        flagged = suspect[seen, node].astype(np.int8)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], flagged, [0]])))
        for first, last in edges.reshape(-1, 2):
            slots = seen[first:last]
            with np.errstate(over="ignore", divide="ignore"):
                off = float(np.median(X[slots, node] - estimate[slots, node]))
                severity = float(abs(off) / scale[node]) if scale[node] else np.inf
            side = "above" if off > 0 else "below"
            unit = f" {context.unit}" if context.unit else ""
            found.append(
                Episode(
                    int(node), context.condition, int(slots[0]), int(slots[-1]) + 1,
                    "spike" if len(slots) == 1 else "burst", len(slots), severity, 0.5,
                    f"{len(slots)} reading{'s' * (len(slots) > 1)} {abs(off):.3g}{unit} {side} "
                    "what the other nodes imply",
                )
            )  # fmt: skip
    return tuple(found)
