"""What passes is evidence: the field led through readings that only looked false.

A field is solved without the readings that it doubts, or that a search for lasting faults hides.
Some of them pass in the end: nothing jumped, it is the node's habit, the field expects them after
all. What was lost among them is then what they show, not what the field would have been had nothing
happened.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.field.leading import correction
from fieldmend.grid import Array
from fieldmend.recovery.solving import Solved


def led_through(
    solved: Solved,
    readings: Array,
    passed: Array,
    *,
    fading: bool = True,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Solved:
    """The field with a correction that leads it through some readings of its nodes.

    `readings` lie on the turn of the estimate, `bounds` are what the quantity can be.
    """
    if not passed.any():
        return solved
    shift = correction(solved.estimate, readings, passed, fading=fading)
    estimate, lower, upper = (
        None if end is None else np.where(shift == 0, end, np.clip(end + shift, *bounds))
        for end in (solved.estimate, solved.lower, solved.upper)
    )
    assert estimate is not None
    return replace(solved, estimate=estimate, lower=lower, upper=upper)
