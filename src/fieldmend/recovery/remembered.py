"""What a model of earlier days expects of each node, by the other nodes of these slots."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import ndtri

from fieldmend.faults import Expect, Expected
from fieldmend.grid import Array
from fieldmend.recovery.quantity import power_of
from fieldmend.recovery.skewed import OnScale
from fieldmend.recovery.solving import ByModel, Solver
from fieldmend.recovery.windows import Window

GROUPS = 5  # nodes that are predicted together, from the rest; each by itself where they are few
FEW = 2 * GROUPS


def expectation(solver: Solver, readings: Array, window: Window) -> Expect | None:
    """How to ask a model what it expects; None where there is none, or it knows these very slots.

    On the scale that faults are looked for on.
    """
    base = solver.base if isinstance(solver, OnScale) else solver
    if not isinstance(base, ByModel) or base.own:
        return None
    return partial(_expected, base, solver, readings, window)


def _expected(
    model: ByModel, solver: Solver, readings: Array, window: Window, false: Array
) -> Expected:
    """Nodes of a group are silent to the model while it is asked about them."""
    believed = np.where(false, np.nan, readings)
    groups = np.arange(model.fitted.nodes) % (model.fitted.nodes if _few(model) else GROUPS)
    middle, spread = (np.full(readings.shape, np.nan) for _ in range(2))
    onto = power_of(solver).forward
    sds = 2 * ndtri((1 + model.fitted.level) / 2)  # in an interval
    for group in np.unique(groups):
        asked = np.flatnonzero(groups == group)
        left = believed.copy()
        left[:, asked] = np.nan
        columns = np.arange(readings.shape[1])
        estimate, lower, upper = model.hidden(left, window, columns)
        middle[:, asked] = onto(estimate[:, asked])
        if lower is not None and upper is not None:
            spread[:, asked] = (onto(upper[:, asked]) - onto(lower[:, asked])) / sds
    return Expected(middle, spread)


def _few(model: ByModel) -> bool:
    """Whether the rest of the nodes is too small without a whole group."""
    return model.fitted.nodes < FEW
