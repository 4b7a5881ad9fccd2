"""A model's rules for false readings, made fit for messages that come seldom.

A model learns from a record of nearly all readings how far a node jumps from one to the next. Over
the gaps of a schedule nodes wander farther, and a rule that never saw such gaps calls an ordinary
day false. How far they wander the record knows, from readings that lie as far apart. But whether a
node's own past may still object, where it says so little, depends on how many readings are false:
there are two rules, and what was not sent decides between them, schedule by schedule.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from scipy.special import stdtrit

from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.fitted import FittedField
from fieldmend.field.flags import Channel, Rule, first_channels, second_channels
from fieldmend.field.jumps import JumpLaw
from fieldmend.field.record import Record
from fieldmend.field.screens import JumpScreen
from fieldmend.grid import Array, Grid

FEWEST = 100  # pairs of readings, to tell how far nodes wander


def for_long_gaps(model: FieldModel, grid: Grid) -> tuple[FieldModel, ...]:
    """The model of a record with rules for long gaps: one that heeds a node's past, one less."""
    return tuple(_with_rules(model, grid, heeding=heeding) for heeding in (True, False))


def _with_rules(model: FieldModel, grid: Grid, *, heeding: bool) -> FieldModel:
    parts: dict[str, FittedField] = {}
    for name, part in model.conditions.items():
        screen = part.screen
        if isinstance(screen, JumpScreen):
            screen = _screen(part, screen, grid.values[name], heeding)
        parts[name] = replace(part, screen=screen)
    return replace(model, conditions=parts)


def _screen(part: FittedField, screen: JumpScreen, X: Array, heeding: bool) -> JumpScreen:
    data = Record.of(X, ~np.isnan(X), part.view).data(np.arange(len(X)))
    now, clean = part.window(data)
    second = _rule(screen.second, second_channels(clean, now.common()), clean.used)
    if not heeding:  # to the law of neighbouring readings every jump is odd: it objects to nothing
        second = replace(second, laws=(second.laws[0], *screen.second.laws[1:]))
    return JumpScreen(_rule(screen.first, first_channels(clean), clean.used), second)


def _rule(rule: Rule, channels: tuple[Channel, ...], used: Array) -> Rule:
    pairs = zip(rule.laws, channels, strict=True)
    return replace(rule, laws=tuple(wandering(law, one.values, used) for law, one in pairs))


def wandering(law: JumpLaw, values: Array, used: Array) -> JumpLaw:
    """The law with jumps over longer gaps as wide as they are in a record.

    Parameters
    ----------
    law
        Of the jumps between readings that follow each other.
    values, used
        What the law is of, nodes × slots, and where there is a reading.

    Examples
    --------
    >>> walk = np.cumsum(np.random.default_rng(0).normal(size=(5, 4000)), axis=1)
    >>> one = JumpLaw(np.ones(5), np.ones(1), 30.0, 1.0, np.zeros(5), np.ones(5))
    >>> wandering(one, walk, np.ones(walk.shape, dtype=bool)).rise.round()[:5]
    array([1., 2., 2., 3., 5.])
    """
    unit = (law.scale * float(stdtrit(law.freedom, 0.75)))[:, None]
    rise = [float(law.rise[0])]
    lag = 2
    while lag <= used.shape[1] // 2:
        far = round(lag * sqrt(2.0))  # the middle of the octave
        both = used[:, far:] & used[:, :-far]
        if both.sum() < FEWEST:
            break
        size = (np.abs(values[:, far:] - values[:, :-far]) / unit)[both]
        rise.append(max(rise[-1], float(np.median(size))))
        lag *= 2
    return replace(law, rise=np.array(rise if len(rise) >= len(law.rise) else law.rise))
