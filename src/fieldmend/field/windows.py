"""Long records: which slots the parameters are fitted on, and the windows that are smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fieldmend.field.jumps import Index

_FIT_ENTRIES = 4e5  # enough readings to learn the parameters from
_FIT_SLOTS = 400  # but at least so many slots
_PIECES = 8  # stretches the fitted slots come from, spread over the record
_FEW_SLOTS = 3000  # loadings learnt from fewer slots are worth a pass over the whole record
_ENTRIES = 1e6  # of one window
_WINDOW = 600  # slots at least
_MARGIN = 100  # slots that neighbouring windows share on each side


@dataclass(frozen=True)
class Window:
    """Slots first … last − 1 are smoothed together, of which start … stop − 1 are kept."""

    first: int
    last: int
    start: int
    stop: int

    @property
    def slots(self) -> Index:
        """Numbers of all its slots."""
        return np.arange(self.first, self.last, dtype=np.intp)

    @property
    def kept(self) -> slice:
        """The part that is kept, within the window."""
        return slice(self.start - self.first, self.stop - self.first)


def fit_slots(slots: int, nodes: int) -> Index:
    """All slots of a record of ordinary size; of a long one, evenly spread stretches."""
    wanted = max(_FIT_SLOTS, int(_FIT_ENTRIES / nodes))
    if slots <= 1.25 * wanted:
        return np.arange(slots, dtype=np.intp)
    length = wanted // _PIECES
    starts = np.linspace(0, slots - length, _PIECES).astype(np.intp)
    return np.unique(np.concatenate([np.arange(s, s + length) for s in starts]))


def worth_refining(fitted: int, slots: int) -> bool:
    """True if loadings would gain from the slots that they were not fitted on."""
    return fitted < min(slots, _FEW_SLOTS)


def windows(slots: int, nodes: int) -> list[Window]:
    """Windows of about a million entries that overlap by a hundred slots each way."""
    length = max(_WINDOW, int(_ENTRIES / nodes))
    count = max(1, int(np.ceil(slots / length)))
    edges = np.linspace(0, slots, count + 1).astype(int).tolist()
    return [Window(max(0, a - _MARGIN), min(slots, b + _MARGIN), a, b) for a, b in pairwise(edges)]
