"""Values that stand exactly, again and again, where readings do not: codes for "no reading"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fieldmend.quantities import names
from fieldmend.quantities.behaviour import Array
from fieldmend.quantities.kinds import Kind
from fieldmend.quantities.names import MEASURES
from fieldmend.text import counted

FEWEST = 100  # readings before anything is said
OFTEN, SHARE = 20, 0.005  # a code comes so often, and at least this share of the time
TRIED = 8  # of the commonest values
OFTENER = 8  # times as often as values beside it
BESIDE = 0.05  # of the usual range
OFF = 0.25  # of the usual range: beyond the readings by so much, a value is off the field
JUMP = 2  # times all but the largest steps, into a code and out of it
DISTINCT = 20  # other values at least: of classes, one is always the commonest
TAIL = 4  # times the median: the 95 % quantile of a skewed quantity
RUNS = 3  # times that it comes
STEPS = 3  # of the scale: after 0 and 0.2 mm of rain, 0.4 is the next amount
GROSS = 5  # times the usual range between a value and the next one: five of it are enough
CLASSES = 5  # other values: of fewer, a small one is a class, not a code
SMALL = 10
SCALE_ENDS = {Kind.CIRCULAR: (0.0, 360.0), Kind.BOUNDED: (0.0, 1.0, 8.0, 9.0, 100.0)}
FROM_ZERO = (Kind.POSITIVE, Kind.INTERMITTENT, Kind.ACCUMULATOR)


@dataclass(frozen=True)
class Standing:
    """A value that may be a code; `longest` run of readings in which it stood."""

    value: float
    longest: int = 0

    @property
    def words(self) -> str:
        """How it stands, if that is remarkable."""
        return f", up to {counted(self.longest, 'time')} in a row" if self.longest > 1 else ""


def usual_value(name: str, value: float, values: Array) -> bool:
    """Whether a value is one that this quantity takes: rain 0, humidity 100, the foot of a scale.

    Examples
    --------
    >>> rain = np.array([0.0] * 90 + [0.2, 1.4, 3.0])
    >>> usual_value("rr1", 0.0, rain), usual_value("rr1", -1.0, rain)
    (True, False)
    """
    what = names.measure(names.words(name))
    kind = MEASURES[what].kind if what else None
    if kind is Kind.PASSED:
        return True
    if kind is not None and value in SCALE_ENDS.get(kind, ()):
        return True
    if kind in FROM_ZERO:
        return value == 0
    if value == 0 and kind is None and values.size:
        # Nothing is below, and readings come near: a zero like light's at night.
        rest = values[np.isfinite(values) & (values != 0)]
        reach = np.quantile(rest, (0.05, 0.95)) if rest.size else (1.0, 1.0)
        return bool(rest.size and rest.min() > 0 and reach[0] <= 0.2 * reach[1])
    return False


def beside(value: float, values: Array) -> float:
    """How far from a known code readings speak against it; infinite where nothing speaks for it.

    A hundredth, or two steps of a scale that has steps: of directions in fives, 85 is one like
    all others. A small one among a few classes is a class.

    Examples
    --------
    >>> beside(85.0, np.linspace(10, 30, 200)), beside(85.0, np.arange(0.0, 360.0, 5.0))
    (1.0, 10.0)
    """
    rest = np.unique(values[np.isfinite(values) & (values != value)])
    if abs(value) < SMALL and rest.size < CLASSES and (rest.size or value >= 0):
        return np.inf
    steps = 2 * _step(rest) if rest.size >= CLASSES else 0.0
    return max(1.0, abs(value) / 100, steps)


def _step(values: Array) -> float:
    """Between one value and the next, on a scale that has steps."""
    distinct = np.unique(values)
    return float(np.median(np.diff(distinct))) if distinct.size > 1 else 0.0


def off_scale(name: str, value: float, rest: tuple[float, float, float, float]) -> bool:
    """Whether a value that is a code elsewhere cannot be a reading of this condition.

    `rest` are the lowest, the 5 % and 95 % quantiles and the highest of its other readings.

    Examples
    --------
    >>> off_scale("T", -200.0, (-3.0, 1.0, 20.0, 24.0)), off_scale("x", 85.0, (0.0, 9.0, 90.0, 99))
    (True, False)
    """
    what = names.measure(names.words(name))
    kind = MEASURES[what].kind if what else None
    if kind in FROM_ZERO and value < 0:
        return True
    lowest, low, high, highest = rest
    slack = OFF * (high - low)
    return value < lowest - slack or value > highest + slack


def standing(name: str, values: Array, node: Array) -> Iterator[Standing]:
    """Values that stand exactly where the readings of a condition do not.

    Far off all others; or inside their range, eight times as often as the values beside it, with
    leaps in and out; or the one negative value of a quantity that has none. In any case it comes
    again: a sensor sticks once.

    Parameters
    ----------
    name
        Of the condition: it says which values are usual.
    values, node
        Readings by node, in order of time, and which node each is of.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> t = np.round(10 + rng.normal(0, 0.3, 900).cumsum(), 1)
    >>> t[100:200] = t[400:420] = t[700:760] = -1.0
    >>> [(one.value, one.longest) for one in standing("temperature", t, np.zeros(900))]
    [(-1.0, 100)]
    """
    fine = np.isfinite(values)
    values, node = values[fine], node[fine]
    if values.size < FEWEST:
        return
    distinct, count = np.unique(values, return_counts=True)
    commonest = np.argsort(-count, kind="stable")[:TRIED]
    least = max(OFTEN, SHARE * values.size)
    found = [float(distinct[i]) for i in commonest[count[commonest] >= least]]
    found = [one for one in found if _stands(name, one, values, node)]
    found += [one for one in _gross(distinct, count, values, node) if one not in found]
    for value in found:
        if not usual_value(name, value, values):
            yield Standing(value, int(_runs(values, node, value)[1].max()))


def _gross(distinct: Array, count: Array, values: Array, node: Array) -> Iterator[float]:
    """The lowest and the highest, if they are far off and come again: no noise does so exactly."""
    low, high = np.quantile(values, (0.05, 0.95))
    for end, beside in ((0, 1), (-1, -2)) if distinct.size > CLASSES and high > low else ():
        off = abs(float(distinct[end]) - float(distinct[beside]))
        again = count[end] >= GROSS and len(_runs(values, node, float(distinct[end]))[0]) >= RUNS
        if off > GROSS * (high - low) and again:
            yield float(distinct[end])


def _stands(name: str, value: float, values: Array, node: Array) -> bool:
    rest = values[values != value]
    if rest.size < FEWEST // 2 or len(_runs(values, node, value)[0]) < RUNS:
        return False
    low, high = np.quantile(rest, (0.05, 0.95))
    if high <= low:
        return False
    beside = np.count_nonzero(np.abs(rest - value) <= BESIDE * (high - low))
    mine = values.size - rest.size
    what = names.measure(names.words(name))
    kind = MEASURES[what].kind if what else None
    if kind in FROM_ZERO and value < 0:
        return bool(np.count_nonzero(rest < 0) <= 0.1 * mine)
    off = max(OFF * (high - low), STEPS * _step(rest))
    if value < rest.min() - off or value > rest.max() + off:
        return True
    tail = rest.min() >= 0 and high > TAIL * np.median(rest)
    if kind in (*FROM_ZERO, *SCALE_ENDS) or (kind is None and tail):
        return False  # at the ends of their scales such quantities leap and stand by nature
    if len(np.unique(rest)) < DISTINCT:
        return False
    if value < low - off or value > high + off:
        return bool(beside * OFTENER <= mine)
    return _leaps(value, values, node, rest, BESIDE * (high - low))


def _leaps(value: float, values: Array, node: Array, rest: Array, reach: float) -> bool:
    """Inside the range: far commoner than its neighbours, left and entered by leaps, again."""
    mine = values.size - rest.size
    near = rest[np.abs(rest - value) <= reach]
    _, each = np.unique(near, return_counts=True)
    if mine < OFTENER * (float(np.median(each)) if each.size else 1.0):
        return False
    if value > rest.max() and near.size:
        return False  # the top of a sensor's scale
    start, length = _runs(values, node, value)
    start = start[length >= max(2, length.max() / 10)]  # readings may be equal to it by chance
    if len(start) < RUNS:
        return False
    same = node[1:] == node[:-1]
    step = np.abs(np.diff(values))[same]
    moved = step[step > 0]
    if not moved.size:
        return False
    before = start[start > 0] - 1
    before = before[node[before] == node[before + 1]]
    leap = np.abs(values[before] - value)
    # A sensor at the end of its scale gets there by steps of usual size.
    return bool(leap.size and np.median(leap) >= JUMP * np.quantile(moved, 0.95))


def _runs(values: Array, node: Array, value: float) -> tuple[Array, Array]:
    """Start and length of the runs of a value, none of them over two nodes."""
    here = values == value
    begins = here.copy()
    begins[1:] &= ~(here[:-1] & (node[1:] == node[:-1]))
    start = np.flatnonzero(begins)
    number = np.cumsum(begins)[here]
    return start, np.bincount(number)[1:]
