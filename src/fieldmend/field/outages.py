"""Slots in which most of the network is silent: others say nothing of a node there."""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Mask
from fieldmend.field.jumps import Index

_SILENT = 0.5  # of the nodes usually heard: with fewer, a slot is silent
_CHANCE = 4.0  # standard deviations: so few are not heard by chance


def usual_company(used: Mask) -> float:
    """How many nodes are heard in a usual slot, of those in which any is."""
    heard = used.sum(axis=0)
    return float(np.median(heard[heard > 0])) if heard.any() else 0.0


def silent_slots(used: Mask, usual: float) -> Mask:
    """Slots with less than half of the usual company, and less than scattered loss would leave."""
    chance = np.sqrt(usual * max(1.0 - usual / len(used), 0.0))
    out: Mask = used.sum(axis=0) < min(_SILENT * usual, usual - _CHANCE * chance)
    return out


def outage_numbers(silent: Mask, slots: Index) -> Index:
    """The silent stretch that each slot lies in, from 0; -1 outside."""
    before = np.append(False, silent[:-1] & (np.diff(slots) == 1))
    number = np.cumsum(silent & ~before) - 1
    return np.where(silent, number, -1).astype(np.intp)
