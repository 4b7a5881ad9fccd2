"""The kinds of quantities, and which tests for faults make sense for each: a table, no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Kind(StrEnum):
    """What a condition is, as far as its arithmetic goes."""

    LINEAR = "linear"
    CIRCULAR = "circular"
    ACCUMULATOR = "accumulator"
    POSITIVE = "positive"
    BOUNDED = "bounded"
    INTERMITTENT = "intermittent"
    MIXED = "mixed"
    PASSED = "passed"


@dataclass(frozen=True)
class Tests:
    """Which tests for faults apply.

    Attributes
    ----------
    spikes
        Single readings that jump out and back.
    stuck
        Values that repeat for longer than usual.
    noisy
        Stretches far rougher than the node's rougher times.
    drift
        Lasting departures: displaced, runaway, drifting, dead.
    """

    spikes: bool = True
    stuck: bool = True
    noisy: bool = True
    drift: bool = True


TESTS: Mapping[Kind, Tests] = MappingProxyType(
    {
        Kind.LINEAR: Tests(),
        Kind.POSITIVE: Tests(),
        Kind.BOUNDED: Tests(),
        # A vane turns in a moment, and in a calm it points anywhere: only one that no longer
        # moves is certainly broken.
        Kind.CIRCULAR: Tests(spikes=False, noisy=False, drift=False),
        # A meter stands still when nothing happens. Its spikes are readings off its rising course.
        Kind.ACCUMULATOR: Tests(stuck=False, noisy=False, drift=False),
        # A shower over one gauge is what rain does, and fog at one airport. Zeros are not a stuck
        # gauge, nor is what others often tell, a drop, a full hour of sun, as far as it sees; any
        # other amount, over and over, is.
        Kind.INTERMITTENT: Tests(spikes=False, noisy=False, drift=False),
        # No node measures what another does: how far it goes with them is no more than a habit.
        Kind.MIXED: Tests(noisy=False, drift=False),
        Kind.PASSED: Tests(spikes=False, stuck=False, noisy=False, drift=False),
    }
)
"""Only what the kind's own nature cannot explain is tested for."""

WORDS: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.LINEAR: "any value, differences mean the same everywhere",
        Kind.CIRCULAR: "an angle: the top of its scale is the bottom again",
        Kind.ACCUMULATOR: "a meter that only rises, until it is set back",
        Kind.POSITIVE: "not below zero, many small values and few large ones",
        Kind.BOUNDED: "between two bounds that it often touches",
        Kind.INTERMITTENT: "at one end of its range most of the time: zero, or as far as it sees",
        Kind.MIXED: "each node measures something else: a plant's tags, a building's points",
        Kind.PASSED: "no measurement: passed through, never recovered",
    }
)
