"""Nodes that send on change: silence is a reading, "still within δ of the last".

A node that sends only what lies more than δ off its last message says something by saying nothing.
What the others and the times around make of a silent place is a normal distribution; what the
silence says is a band; both together are that distribution cut off at the ends of the band. Its
mean is the estimate, its quantiles are the interval: inside the band by construction, near the last
reading where nothing else is known, near the field where the band is wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from fieldmend.core.engine import blocks
from fieldmend.errors import InputError
from fieldmend.grid import Array
from fieldmend.quantities import Kind, Quantity
from fieldmend.recovery.runs import runs
from fieldmend.result.options import Options
from fieldmend.result.states import Service
from fieldmend.text import counted, measure, shown

NO_BAND = (Kind.CIRCULAR, Kind.ACCUMULATOR)
SAMPLED = 200_000  # places that intervals are held against silences at
WIDER = (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 4.0, 5.0)
UNLIKELY = 1e-6  # a place of which no more is made: an event that the others did not see
FARTHEST = 8.0  # standard deviations: beyond, the nearest end of the band is the answer

Sides = tuple[Array, Array | None, Array | None]
"""Estimate, lower and upper end of its interval; None where the method has none."""


def check_on_change(options: Options, quantities: Mapping[str, Quantity]) -> None:
    """A band needs a straight line to lie on.

    Raises
    ------
    InputError
        For directions and meters.
    """
    for name, quantity in quantities.items():
        if options.change(name) is not None and quantity.kind in NO_BAND:
            raise InputError(
                f"on_change for {shown(name)}, which is {quantity.kind}: last ± δ says nothing of "
                "it",
                hint="Name the conditions that are sent on change: --on-change temperature=0.45",
            )


def resting(life: Service, observed: Array) -> Service:
    """When which node was in service, given that it sends on change: silence inside is no absence.

    A node that is silent up to the end of the record rests, unless it does so for longer than any
    node was silent before it spoke again.
    """
    slots = len(observed)
    found = runs(lambda rows: np.asarray(np.isnan(observed[rows])), observed.shape)
    inside = (found.start > 0) & (found.stop < slots)
    longest = int((found.stop - found.start)[inside].max(initial=0))
    at_start, at_end = life.start == 0, life.stop == slots
    kept = at_start | (at_end & (life.stop - life.start > longest))
    # Hours at which nobody has anything to send are no hours without service.
    return Service(life.node[kept], life.start[kept], life.stop[kept], life.never)


@dataclass(frozen=True)
class Band:
    """What silence says of a condition: within `delta` of the last message, and within bounds."""

    delta: float
    level: float  # of the intervals
    low: float = -np.inf
    high: float = np.inf

    def ends(self, centre: Array) -> tuple[Array, Array]:
        """Where the bands around these readings end; a reading beyond a bound keeps its band."""
        low = np.maximum(centre - self.delta, np.minimum(self.low, centre))
        high = np.minimum(centre + self.delta, np.maximum(self.high, centre))
        return low, high


def narrow(sides: Sides, observed: Array, replaced: Array, band: Band, unit: str = "") -> str:
    """Bring what is said of silent places into their bands, in place.

    Parameters
    ----------
    sides
        Estimate and interval, slots × nodes.
    observed
        The readings, NaN where the node was silent.
    replaced
        True for readings that are held to be false: silence after one says nothing true.
    band
        What silence says.
    unit
        Of the readings.

    Returns
    -------
    str
        What was done, for the notes.
    """
    count = 0
    wider = _doubt(sides, observed, replaced, band)
    for rows, centre, silent in _silences(observed, replaced):
        count += int(np.count_nonzero(silent))
        parts = [None if side is None else side[rows] for side in sides]
        for side, part in zip(sides, _inside(parts, centre, silent, band, wider), strict=True):
            if side is not None:
                side[rows] = part
    return (
        f"silence at {counted(count, 'place')} read as within {measure(band.delta, unit)} of the "
        "node's last message (sent on change): not lost, and not scored on hidden readings"
    )


def _silences(observed: Array, replaced: Array) -> Iterator[tuple[slice, Array, Array]]:
    """Blocks of slots, each node's last message in them, and where it says something."""
    last = np.full(observed.shape[1], np.nan)
    for rows in blocks(*observed.shape):
        held = np.where(replaced[rows], np.inf, observed[rows])  # inf: sent, but not to be believed
        centre = _carried(held, last)
        last = centre[-1].copy()
        yield rows, centre, np.isnan(observed[rows]) & np.isfinite(centre)


def _doubt(sides: Sides, observed: Array, replaced: Array, band: Band) -> float:
    """How many times wider than they say intervals have to be for the silences to be likely.

    A silence tells where the reading was, within the band: if estimates lie beyond their bands
    more often than their intervals allow, it is the intervals that are wrong.
    """
    estimate, lower, upper = sides
    if lower is None or upper is None:
        return 1.0
    found: list[Array] = []
    most = SAMPLED / max(observed.size, 1)
    for rows, centre, silent in _silences(observed, replaced):
        at = np.flatnonzero(silent)[:: max(1, round(1 / most))]
        mean = estimate[rows].ravel()[at]
        half = (upper[rows].ravel()[at] - lower[rows].ravel()[at]) / 2
        sd = np.maximum(half / float(ndtri(0.5 + band.level / 2)), np.finfo(np.float64).tiny)
        low, high = band.ends(centre.ravel()[at])
        with np.errstate(over="ignore", invalid="ignore"):
            found.append(np.stack([(low - mean) / sd, (high - mean) / sd]))
    z = np.concatenate(found, axis=1)
    z = z[:, np.isfinite(z).all(axis=0)]
    if not z.shape[1]:
        return 1.0

    def likely(factor: float) -> float:
        inside = ndtr(z[1] / factor) - ndtr(z[0] / factor)
        return float(np.log(np.maximum(inside, UNLIKELY)).mean())

    return max(WIDER, key=likely)


def _carried(held: Array, last: Array) -> Array:
    """Each node's last message, slot by slot; `last` is the one before the first slot."""
    rows = np.arange(len(held))[:, None]
    at = np.maximum.accumulate(np.where(np.isnan(held), -1, rows), axis=0)
    values = np.take_along_axis(held, np.maximum(at, 0), axis=0)
    return np.where(at >= 0, values, last)


def _inside(
    parts: list[Array | None], centre: Array, silent: Array, band: Band, wider: float
) -> list[Array | None]:
    estimate, lower, upper = parts
    assert estimate is not None
    ends, mean = band.ends(centre[silent]), estimate[silent]
    if lower is None or upper is None:
        moved = [np.clip(mean, *ends)]
    else:
        half = np.maximum(upper[silent] - lower[silent], 0.0) / 2
        sd = wider * half / float(ndtri(0.5 + band.level / 2))
        moved = list(cut_off(mean, sd, *ends, band.level))
    out: list[Array | None] = []
    for part, values in zip(parts, [*moved, None, None][:3], strict=True):
        if part is not None and values is not None:
            part = part.copy()
            part[silent] = np.where(np.isnan(mean), np.nan, values)
        out.append(part)
    return out


def cut_off(
    mean: Array, sd: Array, low: Array, high: Array, level: float
) -> tuple[Array, Array, Array]:
    """Mean and quantiles of a normal distribution cut off at both ends.

    Parameters
    ----------
    mean, sd
        Before it is cut off.
    low, high
        The ends.
    level
        Of what lies between the quantiles.

    Returns
    -------
    mean, lower, upper
        All within the ends.

    Examples
    --------
    >>> one = np.ones(1)
    >>> [round(float(x[0]), 2) for x in cut_off(0 * one, 100 * one, 2 * one, 4 * one, 0.9)]
    [3.0, 2.1, 3.9]
    >>> [round(float(x[0]), 2) for x in cut_off(9 * one, 0.1 * one, 2 * one, 4 * one, 0.9)]
    [4.0, 4.0, 4.0]
    """
    sd = np.maximum(sd, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = (low - mean) / sd, (high - mean) / sd
        turn = a > 0  # both ends in the lower tail, where the distribution function has digits
        a, b = np.where(turn, -b, a), np.where(turn, -a, b)
        below, above = ndtr(a), ndtr(b)
        weight = above - below
        far = ~(b > -FARTHEST) | ~(weight > 0)
        weight = np.where(far, 1.0, weight)
        shift = (_density(a) - _density(b)) / weight
        ends = [ndtri(below + share * weight) for share in ((1 - level) / 2, (1 + level) / 2)]
    sign = np.where(turn, -1.0, 1.0)
    nearest = np.clip(mean, low, high)

    def back(z: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.clip(np.where(far, nearest, mean + sd * sign * z), low, high)

    lower, upper = back(ends[0]), back(ends[1])
    return back(shift), np.minimum(lower, upper), np.maximum(lower, upper)


def _density(z: Array) -> Array:
    return np.asarray(np.exp(-0.5 * np.minimum(z * z, 1400.0)) / np.sqrt(2 * np.pi))
