"""What travels with the arrays: the labels that come in, the episodes that go out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fieldmend.faults.stretches import Array
from fieldmend.quantities import Kind, Quantity


@dataclass(frozen=True)
class Context:
    """Labels of the columns and rows, all optional.

    Attributes
    ----------
    nodes
        Names as they may be shown.
    times
        Left edges of the slots, int64 microseconds, UTC.
    slot
        Length of a slot, microseconds; 0 if not known.
    places
        Node → ``{"lat", "lon"}`` or ``{"x", "y"[, "z"]}``.
    condition, unit
        What is measured.
    companions
        Other conditions on the same grid; one that is named like a voltage is read as the battery.
    usual
        Least distance from the field that counts as usual. A method that follows the readings
        closely passes its typical error at hidden readings.
    quantity
        What kind of condition it is: what is possible at all, and which tests make sense.
    """

    nodes: Sequence[str] = ()
    times: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    slot: int = 0
    places: Mapping[str, Mapping[str, float]] | None = None
    condition: str = ""
    unit: str = ""
    companions: Mapping[str, Array] = field(default_factory=dict)
    usual: float = 0.0
    quantity: Quantity = field(default_factory=lambda: Quantity(Kind.LINEAR))


@dataclass(frozen=True)
class Episode:
    """Flagged readings of one node that belong together.

    Attributes
    ----------
    node
        Column; for an event that of the node that moved most.
    condition
    start, stop
        First slot, and one past the last.
    kind
        A `Kind`, or the word for it.
    readings
        How many readings in it are flagged; 0 for an event.
    severity
        Median |reading − estimate| over the node's usual spread; for an event the median move over
        the nodes' usual steps.
    confidence
        0 to 1, see `docs/faults.md`.
    explanation
        One sentence.
    certain
        Whether the readings are false beyond doubt, so that the estimate may take their place:
        stuck, dead, physically impossible, or single and far beyond all that the node and its
        companions read.
    """

    node: int
    condition: str
    start: int
    stop: int
    kind: str
    readings: int
    severity: float
    confidence: float
    explanation: str
    certain: bool = False
