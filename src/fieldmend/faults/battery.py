"""A node's battery, where it was sent along: readings on one that runs dry may be false."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fieldmend.core.ranks import quantiles
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array, Mask, node_medians, stretches

NAMES = ("voltage", "battery", "vbat", "batt")
# A cell that has lost less than a tenth of its voltage is hardly used, whatever its chemistry; of
# charge told in percent a fifth is little.
SPENT, LITTLE_CHARGE = 0.9, 20.0
# More than any cell's volts, and fewer than its millivolts: percent.
PERCENT = 30.0, 101.0
# What a battery was before is told by so many readings; lower than all but this share of them.
FEWEST, SELDOM = 10, 0.02
# Slots that tell what batteries here are when they are fresh, evenly spaced; and which of them.
SAMPLE, FRESH = 500, 0.95


@dataclass(frozen=True, eq=False)
class Battery:
    """A condition that tells of batteries, slots × nodes."""

    name: str
    volts: Array

    @cached_property
    def spent(self) -> Array:
        """Of each node, below what its battery is used up by and large.

        Fresh is the most that the node had, or that nodes here usually had, if that is more: a
        record may begin late in a battery's life.
        """
        rows = np.linspace(0, len(self.volts) - 1, min(SAMPLE, len(self.volts))).astype(int)
        some = self.volts[rows]
        heard = ~np.isnan(some).all(axis=0)
        fresh = np.full(some.shape[1], np.nan)
        fresh[heard] = np.nanquantile(some[:, heard], FRESH, axis=0)
        fresh = np.fmax(fresh, node_medians(fresh[:, None])[0])
        low, high = PERCENT
        return np.where((fresh > low) & (fresh < high), LITTLE_CHARGE, SPENT * fresh)

    def low(self, node: int, start: int, stop: int) -> bool:
        """Whether it is used up in the last fifth of a stretch, and lower than nearly all before.

        Every battery falls: that it never was as low says nothing alone.
        """
        voltage = self.volts[:, node]
        before, here = voltage[:start], voltage[start + 4 * (stop - start) // 5 : stop]
        before, here = before[~np.isnan(before)], here[~np.isnan(here)]
        if before.size < FEWEST or here.size == 0:
            return False
        now = float(np.median(here))
        # Mostly it is not, and to count takes a small part of the time of ranks.
        if np.count_nonzero(before <= now) > SELDOM * before.size + 1:
            return False
        return bool(now < quantiles(before, SELDOM)[0] and now < self.spent[node])


def battery(context: Context) -> Battery | None:
    """The companion condition that is named like a voltage, if there is one."""
    for name, values in context.companions.items():
        if is_battery(name):
            return Battery(name, np.asarray(values, dtype=np.float64))
    return None


def is_battery(condition: str) -> bool:
    """Whether a condition is named like a battery's voltage or charge."""
    return any(word in condition.lower() for word in NAMES)


def on_low_battery(found: Mask, context: Context) -> Mask:
    """Stretches of `found` in which the node's battery is low."""
    out = np.zeros(found.shape, dtype=np.bool_)
    volts = battery(context)
    if volts is None:
        return out
    for n in map(int, np.flatnonzero(found.any(axis=0))):
        for a, b in zip(*stretches(found[:, n]), strict=True):
            out[a:b, n] = volts.low(n, int(a), int(b))
    return out
