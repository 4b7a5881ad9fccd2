"""Slots in which most of the network is silent: others say nothing of a node there."""

from __future__ import annotations

import numpy as np

from fieldmend.core.prox import Mask
from fieldmend.field.jumps import Index

_SILENT = 0.5  # of the nodes usually heard: with fewer, a slot is silent
_DAYS = 5  # that tell at which hours nobody is heard
_REST, _SELDOM = 12, 3.0  # part of a day, and times what passes between the other hours
_BRIEF = 2  # slots of a silence that lasts, at least, however short a day is
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


def lasting_silence(silent: Mask, slots: Index, length: int) -> Mask:
    """Slots of silences of a twelfth of the day (`length` slots) or more.

    Shorter ones are bridged from both sides; and in a long record chance alone silences half of a
    small network now and then, for a slot.
    """
    number = outage_numbers(silent, slots)
    lasts = np.bincount(number[silent], minlength=1) >= max(length // _REST, _BRIEF)
    return np.asarray(silent & lasts[number])


def closed_slots(heard: Mask, slots: Index, length: int) -> Mask:
    """Slots at hours at which nobody was heard on any day: nothing is lost there.

    `heard` is True where anybody was; a day has `length` slots. Such hours last a twelfth of the
    day or more, and far longer than what passes between the others: readings every three hours are
    seldom, not closed in between.
    """
    out: Mask = np.zeros(len(slots), dtype=np.bool_)
    at = np.flatnonzero(np.bincount(slots[heard] % length))
    if len(at) < 2 or len(np.unique(slots[heard] // length)) < _DAYS:
        return out
    apart = np.diff(np.append(at, at[0] + length))
    least = max(length / _REST, _SELDOM * float(np.median(apart)))
    for first, steps in zip(at.tolist(), apart.tolist(), strict=True):
        if steps - 1 >= least:
            out |= (slots - first - 1) % length < steps - 1
    return out


def outage_numbers(silent: Mask, slots: Index) -> Index:
    """The silent stretch that each slot lies in, from 0; -1 outside."""
    before = np.append(False, silent[:-1] & (np.diff(slots) == 1))
    number = np.cumsum(silent & ~before) - 1
    return np.where(silent, number, -1).astype(np.intp)
