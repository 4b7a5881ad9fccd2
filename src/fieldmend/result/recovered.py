"""One condition, recovered: arrays, flags, episodes, and how it was done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.faults import Episode
from fieldmend.field.fitted import FittedField
from fieldmend.flags import Flag
from fieldmend.grid import Array
from fieldmend.quantities import Quantity
from fieldmend.result.holdout import Holdout
from fieldmend.result.states import Service, State


@dataclass(frozen=True, repr=False, eq=False)
class Recovered:
    """One condition, recovered. Arrays are slots × nodes.

    Attributes
    ----------
    observed
        The readings as they arrived, NaN where lost. Never changed.
    estimate
        The recovered field; NaN where there was nothing to recover (a node that was not in service
        or never fitted) and where the user wants none (`max_gap`, `max_width`).
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
    service
        When which node was in service; all of them, always, if it is not given.
    fitted
        The condition's part of the model, where the method fits one.
    replaced
        True where the estimate stands for a reading in `filled`; readings that fail, if it is not
        given.
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
    service: Service | None = None
    replaced: Array | None = None
    fitted: FittedField | None = None

    def __post_init__(self) -> None:
        if self.service is None:
            object.__setattr__(self, "service", Service.throughout(self.observed.shape[1]))
        if self.replaced is None:
            object.__setattr__(self, "replaced", self.flag == Flag.FAIL)

    def __repr__(self) -> str:
        slots, nodes = self.observed.shape
        suspect = int(np.count_nonzero(self.flag == Flag.SUSPECT))
        return f"<Recovered {self.name}: {slots} slots × {nodes} nodes, {suspect} suspect>"

    @property
    def filled(self) -> Array:
        """The reading; the estimate where it is lost or certainly false; NaN where neither is."""
        return self.filled_rows(slice(None))

    def filled_rows(self, rows: slice) -> Array:
        """`filled` in some slots."""
        assert self.replaced is not None
        observed = self.observed[rows]
        keep = ~np.isnan(observed) & ~self.replaced[rows]
        return np.where(keep, observed, self.estimate[rows])

    @property
    def state(self) -> Array:
        """What each place is, int8: a `State`, made when it is asked for."""
        return self.state_rows(slice(0, len(self.observed)))

    def state_rows(self, rows: slice) -> Array:
        """`state` in some slots."""
        assert self.service is not None
        return self.service.states(~np.isnan(self.observed[rows]), rows.start or 0)

    def state_of(self, node: int) -> Array:
        """`state` of one node."""
        assert self.service is not None
        return self.service.of(node).states(~np.isnan(self.observed[:, [node]]))[:, 0]

    def counts(self) -> dict[str, int]:
        """Places by state; of the lost ones how many have an estimate; readings replaced.

        All 0 for a condition that is no measurement: its gaps are no lost readings.
        """
        total = np.zeros(len(State), dtype=np.int64)
        recovered = replaced = 0
        assert self.replaced is not None
        for rows in blocks(*self.observed.shape):
            state = self.state_rows(rows)
            total += np.bincount(state.ravel(), minlength=len(State))
            known = ~np.isnan(self.estimate[rows])
            recovered += int(np.count_nonzero((state == State.LOST) & known))
            replaced += int(np.count_nonzero(self.replaced[rows] & known))
        if self.quantity is not None and not self.quantity.measured:
            total[:] = 0
        named = {state.name.lower(): int(total[state]) for state in State if state}
        return {**named, "recovered": recovered, "replaced": replaced}
