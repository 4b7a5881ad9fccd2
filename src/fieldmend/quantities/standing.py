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
    for i in commonest[count[commonest] >= least]:
        value = float(distinct[i])
        if not usual_value(name, value, values) and _stands(name, value, values, node):
            yield Standing(value, int(_runs(values, node, value)[1].max()))


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
    off = OFF * (high - low)
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
