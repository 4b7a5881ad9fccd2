"""What a condition is decides how it is recovered: the way in and out of the field model."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.flags import Flag
from fieldmend.grid import Grid
from fieldmend.quantities import Quantity
from fieldmend.recovery.condition import Applying, recover_condition
from fieldmend.recovery.storage import Storage
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered

log = logging.getLogger(__name__)


def recover_quantity(
    grid: Grid,
    name: str,
    quantity: Quantity,
    options: Options,
    storage: Storage,
    *,
    say: Callable[[float], object] = lambda _: None,
    model: Applying | None = None,
) -> Recovered:
    """Recover one condition of a grid as what it is."""
    if not quantity.measured:
        return passed_through(grid, name, quantity, storage)
    return recover_condition(grid, name, options, storage, say=say, model=model)


def passed_through(grid: Grid, name: str, quantity: Quantity, storage: Storage) -> Recovered:
    """A label, an identifier, a sequence number: as it came, judged by nobody, nothing estimated.

    Its gaps are no lost readings.
    """
    X = grid.values[name]
    empty, zero = storage.array(X.shape), storage.array(X.shape)
    flag = storage.array(X.shape, np.int8)
    for block in blocks(*X.shape):
        empty[block], zero[block] = np.nan, 0.0
        lost = np.isnan(X[block])
        flag[block] = np.where(lost, np.int8(Flag.MISSING), np.int8(Flag.NOT_EVALUATED))
    note = f"passed through, not recovered: {quantity.reason} (another kind: --kind)"
    log.info("%s: %s", name, note)
    return Recovered(
        name=name, unit=quantity.unit, observed=X, estimate=empty, lower=None, upper=None,
        anomaly=zero, flag=flag, scale=np.zeros(X.shape[1]), method="passed through", rank=0,
        gap=np.nan, status="no measurement", choice="", holdout=None, episodes=(), notes=(note,),
        quantity=quantity,
    )  # fmt: skip
