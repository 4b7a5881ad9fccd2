"""Injected faults: the sparse part S of R = L + S + Z, with its support known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from fieldmend.simulate.patterns import (
    BoolArray,
    FloatArray,
    IntArray,
    runs,
    scattered,
    stretches,
)

# Sizes of faults as shares of the range of the readings: from hardly visible to gross.
SIZE = (0.2, 1.0)


@dataclass(frozen=True)
class Corruption:
    """Readings with faults in them, and the faults.

    Attributes
    ----------
    readings
        As delivered, NaN where nothing arrived.
    deviation
        S: what the faults added, zero elsewhere and zero where nothing arrived.
    """

    readings: FloatArray
    deviation: FloatArray

    @property
    def support(self) -> BoolArray:
        """Where the deviation is not zero."""
        return np.not_equal(self.deviation, 0)


@dataclass(frozen=True)
class _Episodes:
    """The faulty readings in node-after-node order, cut into episodes.

    `index` places them among all delivered readings, `label` names their episode, `step` counts
    from 0 within it; `first` and `length` are per episode.
    """

    index: IntArray
    label: IntArray
    step: IntArray
    first: IntArray
    length: IntArray


_Place = Callable[[BoolArray, int, np.random.Generator, float], BoolArray]
_Alter = Callable[[FloatArray, _Episodes, float, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class Fault:
    """A kind of fault: where it strikes, for how many readings on average, what it does."""

    place: _Place
    mean_length: float
    alter: _Alter


def corrupt(
    readings: FloatArray,
    *,
    kind: str = "spikes",
    rate: float = 0.04,
    count: int | None = None,
    mean_length: float | None = None,
    seed: int | np.random.Generator = 0,
) -> Corruption:
    """Make some of the delivered readings false.

    Parameters
    ----------
    readings
        Slots × nodes, NaN where nothing arrived. Not changed.
    kind
        ``"spikes"``: single readings, moved up or down by 0.2 to 1 of the range of all readings.
        ``"constant"``: single readings, all moved up by the range (Section I's "anomalies with
        value = 100" on a field in [0, 100], read as additive like S in R = L + S + Z).
        ``"bursts"``: runs of readings moved together. ``"stuck"``: a node repeats its last good
        reading for a stretch. ``"drift"``: a node leaves the truth along a straight line.
        ``"dead"``: from some moment on a node sends one value beyond the range, as IntelLab's
        motes did with low batteries.
    rate
        Share of the delivered readings to make false, 0 to 1.
    count
        Their number; takes the place of `rate`.
    mean_length
        Mean length of an episode in delivered readings, for all kinds but the first two.
    seed
        Seed or generator.

    Returns
    -------
    Corruption

    Raises
    ------
    ValueError
        For an unknown kind, a rate outside [0, 1], or episodes shorter than one slot.

    Notes
    -----
    Exactly the number asked for is hit, or a ValueError says that there is no room. The support can
    only be smaller where a fault happens to change nothing: stuck at a value that does not vary.
    If all readings are equal their range is taken as the larger of their size and 1.
    Time and memory O(TN).

    Examples
    --------
    >>> import numpy as np
    >>> out = corrupt(np.arange(8.0).reshape(8, 1), kind="stuck", count=3, seed=0)
    >>> out.readings[:, 0]
    array([0., 1., 2., 2., 2., 2., 6., 7.])
    >>> out.deviation[:, 0]
    array([ 0.,  0.,  0., -1., -2., -3.,  0.,  0.])
    """
    if kind not in FAULTS:
        raise ValueError(f"unknown anomaly {kind!r}, choose from {', '.join(FAULTS)}")
    observed = _delivered(readings)
    if not 0 <= rate <= 1:
        raise ValueError(f"the anomaly rate must lie in [0, 1], got {rate}")
    if mean_length is not None and mean_length < 1:
        raise ValueError(f"mean_length must be at least 1, got {mean_length}")
    number = round(rate * int(observed.sum())) if count is None else count
    if number == 0:
        return Corruption(readings.astype(np.float64), np.zeros(readings.shape))
    fault, rng = FAULTS[kind], np.random.default_rng(seed)
    marks = fault.place(observed, number, rng, mean_length or fault.mean_length)
    return _apply(fault.alter, readings, marks, rng)


def _delivered(readings: FloatArray) -> BoolArray:
    if readings.ndim != 2:
        raise ValueError(f"readings must be slots × nodes, got {readings.ndim} dimension(s)")
    if np.isinf(readings).any():
        raise ValueError("readings hold infinite values")
    return ~np.isnan(readings)


def _apply(
    alter: _Alter, readings: FloatArray, marks: BoolArray, rng: np.random.Generator
) -> Corruption:
    observed = ~np.isnan(readings)
    sound = readings.T[observed.T].astype(np.float64)
    episodes = _episodes(marks, observed)
    # The false value is stored, not sound + deviation: a stuck node repeats to the last bit.
    false = sound.copy()
    false[episodes.index] = alter(sound, episodes, _span(sound), rng)
    corrupted, deviation = np.full(readings.shape, np.nan), np.zeros(readings.shape)
    corrupted.T[observed.T] = false
    deviation.T[observed.T] = false - sound
    return Corruption(corrupted, deviation)


def _episodes(marks: BoolArray, observed: BoolArray) -> _Episodes:
    marked = marks.T[observed.T]
    node = np.nonzero(observed.T)[0]
    index = np.flatnonzero(marked)
    follows = (np.diff(index, prepend=-2) == 1) & (np.diff(node[index], prepend=-1) == 0)
    label = np.cumsum(~follows) - 1
    first = index[~follows]
    return _Episodes(index, label, index - first[label], first, np.bincount(label))


def _span(values: FloatArray) -> float:
    span = float(np.ptp(values))
    return span if span > 0 else max(1.0, float(np.abs(values).max()))


def _sizes(number: int, span: float, rng: np.random.Generator) -> FloatArray:
    return np.asarray(rng.uniform(*SIZE, number) * span * rng.choice([-1.0, 1.0], number))


def _shift_each(
    sound: FloatArray, episodes: _Episodes, span: float, rng: np.random.Generator
) -> FloatArray:
    return sound[episodes.index] + _sizes(episodes.index.size, span, rng)


def _shift_alike(
    sound: FloatArray, episodes: _Episodes, span: float, _rng: np.random.Generator
) -> FloatArray:
    return sound[episodes.index] + span


def _shift_episode(
    sound: FloatArray, episodes: _Episodes, span: float, rng: np.random.Generator
) -> FloatArray:
    return sound[episodes.index] + _sizes(episodes.first.size, span, rng)[episodes.label]


def _stick(
    sound: FloatArray, episodes: _Episodes, _span: float, _rng: np.random.Generator
) -> FloatArray:
    return sound[episodes.first - 1][episodes.label]


def _ramp(
    sound: FloatArray, episodes: _Episodes, span: float, rng: np.random.Generator
) -> FloatArray:
    grown = (episodes.step + 1) / episodes.length[episodes.label]
    return sound[episodes.index] + grown * _sizes(episodes.first.size, span, rng)[episodes.label]


def _rail(
    sound: FloatArray, episodes: _Episodes, span: float, _rng: np.random.Generator
) -> FloatArray:
    return np.full(episodes.index.size, sound.max() + span / 2)


def _scattered(
    observed: BoolArray, count: int, rng: np.random.Generator, _mean_length: float
) -> BoolArray:
    return scattered(observed, count, rng)


def _runs(
    observed: BoolArray, count: int, rng: np.random.Generator, mean_length: float
) -> BoolArray:
    return runs(observed, count, rng, mean_length=mean_length)


def _stretches(
    observed: BoolArray,
    count: int,
    rng: np.random.Generator,
    mean_length: float,
    *,
    lead: int = 0,
    to_end: bool = False,
) -> BoolArray:
    return stretches(observed, count, rng, mean_length=mean_length, lead=lead, to_end=to_end)


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "spikes": Fault(_scattered, 1, _shift_each),
        "constant": Fault(_scattered, 1, _shift_alike),
        "bursts": Fault(_runs, 10, _shift_episode),
        "stuck": Fault(partial(_stretches, lead=1), 50, _stick),
        "drift": Fault(_stretches, 50, _ramp),
        "dead": Fault(partial(_stretches, to_end=True), 100, _rail),
    }
)
