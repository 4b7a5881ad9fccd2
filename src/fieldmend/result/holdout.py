"""What readings hidden on purpose say about a recovery."""

from __future__ import annotations

from dataclasses import dataclass

from fieldmend.metrics import HiddenErrors


@dataclass(frozen=True)
class Holdout:
    """Errors on readings that were hidden on purpose, shaped like the real gaps.

    `method` and `line` score the same readings: the method, and a straight line between a node's
    own readings. `covered` is the share that fell into the interval, None without intervals.
    """

    method: HiddenErrors
    line: HiddenErrors
    covered: float | None = None

    @property
    def verdict(self) -> str:
        """Who won, in words."""
        ours, line = self.method.mae, self.line.mae
        if abs(ours - line) <= 0.01 * max(ours, line):
            return "as good as a straight line"
        if ours < line:
            return f"{_by(line, ours)} closer than a straight line"
        return f"a straight line is {_by(ours, line)} closer"


def _by(larger: float, smaller: float) -> str:
    if smaller == 0:
        return "infinitely"
    ratio = larger / smaller
    return f"{1 - 1 / ratio:.0%}" if ratio < 1.5 else f"{ratio:.2g} times"
