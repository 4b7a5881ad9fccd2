"""Directions and meters, which no model follows: settled as a recovery of the window solves them.

A filter knows straight lines only; what is said of them at once, `onward.py` says. When a slot
settles, there is a window of readings around it, and that is enough to solve them from.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.errors import InputError
from fieldmend.grid import Array, Grid
from fieldmend.quantities import Kind, identify
from fieldmend.recovery.conditions import one_condition
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered

KINDS = (Kind.CIRCULAR, Kind.ACCUMULATOR)
LEAST = 144  # slots of a window, half of the usual one: in less there is no course to be seen
OFTEN = 0.1  # of the window's slots that a node is heard in: made-up names must cost nothing
MOST = 250  # nodes: a second or two of each settling for thirty, with a network's size it grows


def recovered(grid: Grid, name: str, options: Options) -> tuple[Recovered, Array] | None:
    """One condition of a window, and its nodes' columns; None where it is none of these kinds.

    Parameters
    ----------
    grid
        The window, all that was read.
    name
        The condition.
    options
        As for `recover`.
    """
    X = grid.values[name]
    columns = np.flatnonzero(np.isfinite(X).mean(axis=0) >= OFTEN)
    if len(X) < LEAST or not 0 < len(columns) <= MOST:
        return None
    mine = X[:, columns]
    if identify(name, grid.units.get(name, ""), mine).kind not in KINDS:
        return None
    nodes = tuple(grid.nodes[k] for k in columns)
    part = replace(grid, values={name: mine}, nodes=nodes)
    try:
        return one_condition(part, name, options.for_grid(part)), columns
    except InputError:  # too little of it to be solved
        return None
