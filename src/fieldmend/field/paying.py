"""A flag must pay: readings beside what was flagged are hidden, and estimated with and without it.

A false reading misleads the estimate of its neighbours; a real peak, however sudden, is what they
rise to. So the readings just before and just after each flagged segment are hidden, and estimated
twice from the node's other readings and the common field: as if the segment were real, and without
it. Flags with little evidence behind them are kept only if leaving them out pays on the whole;
those of single readings (and of few nodes) also only if as many have more: where there are spikes,
most are plain to see. Where most nodes leave their course every now and then, it is a habit, and
nothing is false.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.chains import Chains
from fieldmend.field.flags import COMPANY, NEVER, Channel, Rule, Segments
from fieldmend.field.joined import joined
from fieldmend.field.model import Data, Field

_PLAIN = 3.0, 2.0  # strong evidence, of single readings (49 in 50 of injected ones) and of longer
_HABIT = 0.01  # departures of several readings, of a node's readings: more often are no faults
_FAR = 4.0  # times the nineteenth twentieth: an error beyond counts as this large


def paying(
    rule: Rule, channels: tuple[Channel, ...], data: Data, field: Field
) -> tuple[Mask, Rule]:
    """The flags that pay, and the rule with the evidence that they were found to need."""
    found = rule.segments(channels, data.used, data.slots)
    false = found.mask(data.used)
    if not false.any():
        return false, rule
    gain = _gains(found, false, data, field)
    more, few = list(rule.more), len(data.used) < COMPANY
    for k, own in enumerate((found.length == 1, found.length > 1)):
        strong = _PLAIN[k] if k == 0 or few else 0.0
        more[k] += _needed(found.score[own], gain[own], strong)
    rule = replace(rule, more=(more[0], more[1]))
    false = rule.segments(channels, data.used, data.slots).mask(data.used)
    _, events = joined(false, channels[0].values, data.used, data.readings)
    rule = replace(rule, events=events)
    return rule.apply(channels, data.used, data.slots), rule


def habitual(rule: Rule, channels: tuple[Channel, ...], data: Data) -> bool:
    """True if most nodes leave their course and come back so often that it is what they do.

    A kettle, a pump, a door: what is beside is closer without them, but not what was lost within.
    """
    found = rule.segments(channels, data.used, data.slots)
    longer = found.at.node[found.start[found.length > 1]]
    often = np.bincount(longer, minlength=len(data.used)) / np.maximum(data.used.sum(axis=1), 1)
    return float(np.median(often)) > _HABIT


def _gains(found: Segments, false: Mask, data: Data, field: Field) -> Array:
    """By how much squared errors beside each segment fall without it."""
    inner, first, after = found.at.inner, found.start, found.start + found.length
    count = len(found.at.node)
    beside = np.zeros(count, dtype=np.bool_)
    beside[first[inner[first]] - 1] = True
    beside[after[inner[after]]] = True
    hidden = np.zeros_like(data.used)
    hidden[data.used] = beside
    with_it, without = (
        _errors(data.using(kept & ~hidden), data, field) for kept in (data.used, data.used & ~false)
    )
    error = without[hidden]
    far = _FAR * float(np.quantile(np.abs(error), 0.95)) + 1e-12
    fall = np.minimum(np.abs(with_it), far) ** 2 - np.minimum(np.abs(without), far) ** 2
    each = np.append(fall[data.used], 0.0)
    out: Array = np.where(inner[first], each[first - 1], 0.0) + np.where(
        inner[after], each[after], 0.0
    )
    return out


def _errors(rest: Data, data: Data, field: Field) -> Array:
    common = field.common()
    own = Chains(field.nodes, rest.used, rest.links).smooth((rest.readings - common) * rest.used)
    out: Array = (data.readings - common - own) * data.used
    return out


def _needed(score: Array, gain: Array, strong: float = 0.0) -> float:
    """How much more evidence leaves the segments that pay most, all together.

    Weak evidence counts only if as many segments have `strong` evidence.
    """
    if not len(score):
        return 0.0
    plain = score > strong
    if 2 * plain.sum() < len(plain):
        return max(strong, _needed(score[plain], gain[plain]))
    order = np.argsort(-score, kind="stable")
    total = np.cumsum(gain[order])
    best = int(np.argmax(total))
    if total[best] <= 0:
        return NEVER
    if best == len(total) - 1:
        return 0.0
    return float(score[order][best : best + 2].mean())
