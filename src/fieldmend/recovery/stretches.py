"""Long records: the stretches of slots that a model is fitted on, once, before the windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fieldmend.recovery.windows import Window, windows

COUNT = 8  # stretches, evenly spread over the record
ENTRIES = 4_000_000
"""All together: of a tenth of them the model is fitted, more only take longer to look at."""


def stretches(
    slots: int, nodes: int, period: Sequence[int] = (), entries: int | None = None
) -> tuple[list[Window], list[int]]:
    """Stretches for a model to be fitted on, and the periods that fit in one.

    Together they hold no more than a window does; one is a period long, however many nodes there
    are. Lengths and starts are whole numbers of the longest period: laid end to end, the stretches
    follow the clock as the record does.

    Examples
    --------
    >>> found, fitting = stretches(1_000_000, 1200, [96, 672, 35_040])
    >>> [one.start for one in found][:3], found[0].stop, fitting
    ([0, 142464, 284928], 672, [96, 672])
    """
    window = windows(slots, nodes, entries)[0]
    length = (window.stop - window.start) // COUNT
    fitting = [one for one in period if one <= length]
    step = max(fitting, default=1)
    length = min(length, max(ENTRIES // nodes // COUNT, step))
    length -= length % step
    starts = np.linspace(0, slots - length, COUNT).astype(int) // step * step
    found = [Window(start, start + length, start, start + length) for start in starts.tolist()]
    return found, fitting
