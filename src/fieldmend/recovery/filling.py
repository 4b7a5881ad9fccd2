"""What is given out: which readings the estimate replaces, and where there is no estimate to give.

Works on the finished arrays of a condition, a block of slots at a time where it can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.faults import Episode, Kind
from fieldmend.flags import BAD, Flag
from fieldmend.grid import Array
from fieldmend.recovery.onchange import Band
from fieldmend.recovery.runs import runs
from fieldmend.result.states import Service, State


@dataclass(frozen=True)
class Given:
    """What may be given out: options of the recovery, in slots and units of one condition."""

    replace: str = "certain"
    extrapolate: bool = False
    max_gap: float | None = None  # slots
    max_width: float | None = None  # of the interval
    band: Band | None = None  # what silence says, where nodes send on change


def replaced(out: Array, flag: Array, episodes: tuple[Episode, ...], how: str) -> Array:
    """True (in `out`) where the estimate takes the place of a reading.

    ``certain``: beyond the hard limits, or suspect in an episode that is certainly false;
    ``suspects``: all that is suspect; ``none``: no reading.
    """
    taken = {"none": (), "certain": (Flag.FAIL,), "suspects": BAD}[how]
    for block in blocks(*flag.shape):
        out[block] = np.isin(flag[block], taken)
    if how == "certain":
        for one in reversed(episodes):  # of several, the first names the reading
            if one.kind != Kind.EVENT:
                held = (slice(one.start, one.stop), one.node)
                suspect = flag[held] == Flag.SUSPECT
                out[held] = np.where(suspect, one.certain, out[held])
    return out


def emptied(
    arrays: tuple[Array, Array | None, Array | None],
    observed: Array,
    replaced: Array,
    service: Service,
    given: Given,
) -> None:
    """Take out of estimate, lower and upper what is not to be given out.

    Places that were not in service, nodes that were never fitted, and, where the estimate would
    stand for a reading, gaps that are too long and intervals that are too wide.
    """
    _, lower, upper = arrays
    kept = [array for array in arrays if array is not None]
    for block in blocks(*observed.shape):
        read = ~np.isnan(observed[block])
        stands = ~read | replaced[block]
        empty = np.zeros_like(read)
        if not given.extrapolate:
            empty |= service.states(read, block.start) > State.LOST
            empty[:, service.never] = True
        if given.max_width is not None and lower is not None and upper is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                empty |= stands & ~(upper[block] - lower[block] <= given.max_width)
        if empty.any():
            for array in kept:
                array[block] = np.where(empty, np.nan, array[block])
    if given.max_gap is not None:
        gone = runs(lambda rows: np.isnan(observed[rows]) | replaced[rows], observed.shape)
        for i in np.flatnonzero(gone.stop - gone.start > given.max_gap):
            for array in kept:
                array[gone.start[i] : gone.stop[i], gone.node[i]] = np.nan
