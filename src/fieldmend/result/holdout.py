"""What readings hidden on purpose say about a recovery."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fieldmend.metrics import HiddenErrors
from fieldmend.text import counted, figure, gap_range, percent, shown

CLEAR = 2.0  # standard errors that a difference needs: chance makes so much once in twenty times
FAR = 1.5  # times as far off: too much to be called no difference
SAID = 0.005  # of what was lost: less that is untested is not worth a word


@dataclass(frozen=True)
class GapScore:
    """Errors in gaps of `shortest` to `longest` slots (None: no end).

    Attributes
    ----------
    lost
        Share of what was lost that lies in such gaps.
    silent
        Share of that in slots in which most of the network is silent.
    count
        Readings hidden in such gaps; 0 where none could be.
    mae, mae_error
        Mean absolute error and its standard error as that at what was lost, from blocks of time.
    rmse
        Root mean square error.
    line_mae, line_rmse
        A straight line's.
    covered
        Share inside the interval, None without intervals.
    untested
        Share of what was lost that lies in gaps longer than any that could be tried.
    """

    shortest: int
    longest: int | None
    lost: float
    silent: float
    count: int
    mae: float
    mae_error: float
    rmse: float
    line_mae: float
    line_rmse: float
    covered: float | None = None
    untested: float = 0.0

    @property
    def range(self) -> str:
        """Lengths in slots: 1-3, 256+."""
        return gap_range(self.shortest, self.longest, "-")


@dataclass(frozen=True)
class Holdout:
    """Errors on readings that were hidden before anything looked at them.

    The whole recovery ran again without them. They were hidden in the pattern of what was lost, and
    each kind of gap counts by its share of what was lost.

    Attributes
    ----------
    method, line
        The same readings scored twice: the recovery, and a straight line between the node's own
        readings as they arrived.
    covered
        Share that fell into the interval, None without intervals.
    mae_error
        Standard error of the mean absolute error as that at what was lost, from blocks of time: how
        few gaps were tried and how few were lost are both in it. NaN where unknown.
    difference_error
        Standard error of its difference to the line's.
    plain_mae, plain_line_mae
        The mean absolute errors at the hidden readings as they are, without a limit on any single
        error.
    far
        Hidden readings that are suspect and so far off estimate and line both that their errors
        are limited; no interval is asked to hold them.
    classes
        The same by length of the gap, in classes; those that were lost but not tried too.
    copied
        False where nothing was lost, or nothing of it could be copied: single readings then.
    tested
        Share of what was lost that lies in kinds of gaps that were tried.
    false
        Hidden readings that the recovery of all readings holds to be false, certainly or for long:
        left out as no truth to compare with; none are where they would be more than a fifth.
    all_mae, all_line_mae
        The mean absolute errors with those.
    """

    method: HiddenErrors
    line: HiddenErrors
    covered: float | None = None
    mae_error: float = math.nan
    difference_error: float = math.nan
    plain_mae: float = math.nan
    plain_line_mae: float = math.nan
    far: int = 0
    classes: tuple[GapScore, ...] = ()
    copied: bool = True
    tested: float = 1.0
    false: int = 0
    all_mae: float = math.nan
    all_line_mae: float = math.nan

    def __repr__(self) -> str:
        return f"<Holdout: {counted(self.method.count, 'reading')} hidden, {self.sentence()}>"

    @property
    def alike(self) -> bool:
        """Whether estimate and line are equally close, to a hundredth."""
        ours, line = self.method.mae, self.line.mae
        return abs(ours - line) <= 0.01 * max(ours, line)

    @property
    def clear(self) -> bool:
        """Whether the difference to the line is more than chance makes of these blocks of time.

        Where no uncertainty is known, a tenth will do.
        """
        off = abs(self.method.mae - self.line.mae)
        if self.alike:
            return False
        if math.isnan(self.difference_error):
            return off > 0.1 * max(self.method.mae, self.line.mae)
        return off > CLEAR * self.difference_error

    @property
    def closer(self) -> str:
        """Who is clearly closer: ``recovery``, ``line`` or ``neither``."""
        if not self.clear:
            return "neither"
        return "recovery" if self.method.mae < self.line.mae else "line"

    @property
    def verdict(self) -> str:
        """Who won, in words; nobody where the difference is not clear."""
        ours, line = self.method.mae, self.line.mae
        if self.alike:
            return "as good as a straight line"
        if not self.clear and max(ours, line) >= FAR * min(ours, line):
            # Beside figures so far apart, "no difference" would be read as a mistake.
            who = "closer than a straight line" if ours < line else "a straight line is closer"
            return f"{who}, but by too few gaps to be sure"
        if not self.clear:
            return "no clear difference from a straight line"
        if ours < line:
            return f"{_by(line, ours)} closer than a straight line"
        return f"a straight line is {_by(ours, line)} closer"

    @property
    def untested(self) -> str:
        """What was lost and could not be tried, in words; empty if all was."""
        if not self.copied:
            if not self.classes or not any(one.lost for one in self.classes):
                return "nothing was lost: single readings were hidden"
            return "what was lost could not be tried: single readings were hidden instead"
        parts = [
            f"{percent(one.untested)} of what was lost, in gaps of {one.range} slots"
            for one in self.classes
            if one.untested >= SAID
        ]
        return f"untested: {'; '.join(parts)}" if parts else ""

    @property
    def sides(self) -> float:
        """How far the mean absolute error may lie off, nineteen times in twenty."""
        return CLEAR * self.mae_error

    def sentence(self, unit: str = "") -> str:
        """The error, its uncertainty, who won, by length of the gap, and what was not tried.

        Plain ASCII but for the unit: a terminal may have nothing else.
        """
        error = figure(self.method.mae)
        if math.isfinite(self.sides):
            error = f"{error} +- {figure(self.sides)}"
        said = f"{error} {shown(unit)}".strip() + f", {self.verdict}"
        rows = [f"{one.range}: {figure(one.mae)}" for one in self.classes if one.count]
        if len(rows) > 1:
            said += f"; by slots in the gap {', '.join(rows)}"
        return said + (f"; {self.untested}" if self.untested else "")


def _by(larger: float, smaller: float) -> str:
    if smaller == 0:
        return "infinitely"
    ratio = larger / smaller
    if ratio >= 100:
        return f"{float(f'{ratio:.2g}'):,.0f} times"
    return f"{1 - 1 / ratio:.0%}" if ratio < 1.5 else f"{ratio:.2g} times"
