"""One condition, recovered: arrays, flags, episodes, and how it was done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.faults import Episode
from fieldmend.flags import KEPT, Flag
from fieldmend.grid import Array
from fieldmend.quantities import Quantity
from fieldmend.result.holdout import Holdout


@dataclass(frozen=True, repr=False, eq=False)
class Recovered:
    """One condition, recovered. Arrays are slots × nodes.

    Attributes
    ----------
    observed
        The readings as they arrived, NaN where lost. Never changed.
    estimate
        The recovered field; NaN only where nothing can be said (no reading at all).
    lower, upper
        Calibrated interval, or None where the method has none.
    anomaly
        How far a suspect reading lies off the field; 0 elsewhere.
    flag
        QARTOD, int8: 1 pass, 2 not evaluated, 3 suspect, 4 fail, 9 missing.
    scale
        Usual distance between a node's readings and the field, one number per node.
    quantity
        What the condition is, and why it is held to be that.
    """

    name: str
    unit: str
    observed: Array
    estimate: Array
    lower: Array | None
    upper: Array | None
    anomaly: Array
    flag: Array
    scale: Array
    method: str
    rank: int
    gap: float
    status: str
    choice: str
    holdout: Holdout | None
    episodes: tuple[Episode, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    quantity: Quantity | None = None

    def __repr__(self) -> str:
        slots, nodes = self.observed.shape
        suspect = int(np.count_nonzero(self.flag == Flag.SUSPECT))
        return f"<Recovered {self.name}: {slots} slots × {nodes} nodes, {suspect} suspect>"

    @property
    def filled(self) -> Array:
        """The reading where its flag is 1 or 2, else the estimate."""
        keep = np.isin(self.flag, KEPT)
        return np.where(keep, self.observed, self.estimate)
