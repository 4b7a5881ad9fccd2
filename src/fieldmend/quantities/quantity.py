"""Quantity: what a condition is, why it is held to be that, and what it can be."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from fieldmend.quantities.kinds import TESTS, Kind, Tests


@dataclass(frozen=True)
class Quantity:
    """What a condition measures.

    Attributes
    ----------
    kind
        How it is computed with, one of `Kind`.
    low, high
        Bounds of estimates and their intervals; infinite where there are none.
    period
        Length of the circle of a circular quantity (360, 2π, 24), else 0.
    unit
        As the file says it, or guessed.
    reason
        Why it is held to be of this kind, in words.
    guessed
        Whether the kind rests on names or behaviour alone that could mean something else too.
    what
        The quantity's own name where it was recognised: "wind direction", "rain".
    possible
        Lowest and highest value that can be true at all. A reading beyond is a gross error. Wider
        than the bounds of estimates: an analyser at zero may read −0.4, a humidity sensor 103.
    unit_guessed
        Whether the unit was guessed, from the range of the readings.
    """

    kind: Kind
    low: float = -inf
    high: float = inf
    unit: str = ""
    reason: str = ""
    guessed: bool = False
    period: float = 0.0
    what: str = ""
    possible: tuple[float, float] = (-inf, inf)
    unit_guessed: bool = False

    @property
    def tests(self) -> Tests:
        """Which tests for faults apply."""
        return TESTS[self.kind]

    @property
    def measured(self) -> bool:
        """Whether there is anything to recover."""
        return self.kind is not Kind.PASSED

    @property
    def start(self) -> float:
        """Where a turn begins that angles are given on: 0, or half a turn before it."""
        return -self.period / 2 if self.possible[0] < -0.1 * self.period else 0.0

    @property
    def bounded(self) -> bool:
        """Whether estimates have a bound."""
        return isfinite(self.low) or isfinite(self.high)

    def in_words(self) -> str:
        """Kind, bounds or period, and the reason, as a sentence.

        Examples
        --------
        >>> Quantity(Kind.BOUNDED, 0.0, 100.0, "%", "named as humidity").in_words()
        'bounded (0 to 100 %): named as humidity'
        """
        sure = "perhaps " if self.guessed else ""
        return f"{sure}{self.kind}{self.extent()}: {self.reason}"

    def extent(self) -> str:
        """Bounds or period in brackets, nothing where there are none."""
        unit = f" {self.unit}" if self.unit and self.unit != "°" else self.unit
        if self.kind is Kind.CIRCULAR:
            unit = " × 10°" if self.unit == "10°" else unit
            return f" (round at {self.period:g}{unit})"
        if isfinite(self.low) and isfinite(self.high):
            return f" ({self.low:g} to {self.high:g}{unit})"
        if isfinite(self.low):
            return f" (from {self.low:g}{unit})"
        return f" (to {self.high:g}{unit})" if isfinite(self.high) else ""
