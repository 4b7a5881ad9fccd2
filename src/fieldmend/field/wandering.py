"""How far nodes wander over gaps that a record did not have: so far may they jump across them.

The law of jumps is learnt between readings that follow each other, so it knows the gaps of its own
record only. Days to come, and messages that are sent seldom, have longer ones, and a rule that
never saw such gaps calls what comes after a silence false. But how far nodes wander in that time
the record knows as well, from readings that lie as far apart.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from scipy.special import stdtrit

from fieldmend.core.prox import Array, Mask
from fieldmend.field.flags import Channel, Rule, first_channels, second_channels
from fieldmend.field.jumps import Index, JumpLaw, Readings, jumps_by_octave
from fieldmend.field.model import Data
from fieldmend.field.screens import JumpScreen, Screen

_FEWEST = 100  # pairs of readings, to tell how far nodes wander
_ENOUGH = 20_000  # more of them say the same


def for_long_gaps(screen: Screen, clean: Data, common: Array) -> Screen:
    """The rules for false readings, with laws that know longer gaps than those of the record.

    Parameters
    ----------
    screen
        As it was learnt.
    clean
        The readings that it was learnt from, without the false ones.
    common
        The common field there.
    """
    if not isinstance(screen, JumpScreen):
        return screen
    first = _rule(screen.first, first_channels(clean), clean)
    return JumpScreen(first, _rule(screen.second, second_channels(clean, common), clean))


def _rule(rule: Rule, channels: tuple[Channel, ...], clean: Data) -> Rule:
    pairs = zip(rule.laws, channels, strict=True)
    laws = (wandering(law, one.values, clean.used, clean.slots) for law, one in pairs)
    return replace(rule, laws=tuple(laws))


def wandering(law: JumpLaw, values: Array, used: Mask, slots: Index) -> JumpLaw:
    """The law with jumps over gaps that the record hardly had as wide as nodes wander there.

    Parameters
    ----------
    law
        Of the jumps between readings that follow each other.
    values, used
        What the law is of, nodes × slots, and where there is a reading.
    slots
        Numbers of the slots: of a long record, some are left out.

    Examples
    --------
    >>> walk = np.cumsum(np.random.default_rng(0).normal(size=(5, 4000)), axis=1)
    >>> one = JumpLaw(np.ones(5), np.ones(1), 30.0, 1.0, np.zeros(5), np.ones(5))
    >>> wandering(one, walk, np.ones(walk.shape, dtype=bool), np.arange(4000)).rise.round()[:5]
    array([1., 2., 2., 3., 5.])
    """
    known = jumps_by_octave(Readings.where(used, slots))
    unit = law.scale * float(stdtrit(law.freedom, 0.75))
    rise = [float(law.rise[0])]
    for octave in range(1, int(used.shape[1]).bit_length() - 1):
        own = float(law.rise[octave]) if octave < len(law.rise) else None
        if own is None or octave >= len(known) or not known[octave]:
            own = _wandered(values, used, slots, unit, round(sqrt(2.0) * 2**octave)) or own
        if own is None:
            break
        rise.append(max(rise[-1], own))
    return replace(law, rise=np.array([*rise, *law.rise[len(rise) :]]))


def _wandered(values: Array, used: Mask, slots: Index, unit: Array, far: int) -> float | None:
    """The median distance between readings so many slots apart; None of too few."""
    both = used[:, far:] & used[:, :-far] & (slots[far:] - slots[:-far] == far)
    node, at = np.nonzero(both)
    if len(node) < _FEWEST:
        return None
    some = slice(None, None, max(1, len(node) // _ENOUGH))
    node, at = node[some], at[some]
    return float(np.median(np.abs(values[node, at + far] - values[node, at]) / unit[node]))
