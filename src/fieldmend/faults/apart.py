"""Nodes that stand apart from all others for all of their record.

Nothing in a record says what is wrong with them: a summit, another unit, a fault as old as the
file. So it is told, and nobody is flagged for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fieldmend.faults.stretches import Array, node_medians, slot_medians
from fieldmend.quantities.conversion import conversions

# Tukey's fences, in distances between quartiles; so few levels have no quartiles to speak of.
INNER, OUTER, FEWEST_OTHERS = 1.5, 3.0, 5
# Throughout is all but this share of the readings.
SELDOM = 0.1
# In another unit a node is as restless as the others, give or take this factor.
AS_RESTLESS = 3.0


@dataclass(frozen=True)
class Apart:
    """A node, how far it usually is from the others, and what it usually reads.

    `unit` is another one by which it would be among them, if there is one, and `converted` what it
    would read then.
    """

    node: int
    off: float
    level: float
    unit: str = ""
    converted: float = np.nan


def standing_apart(values: Array, unit: str, *, ratios: bool = False) -> list[Apart]:
    """Nodes far outside the levels of all others, by Tukey's outer fences, throughout.

    And by more than nodes here wander: of batteries all alike, one is apart by millivolts.

    Parameters
    ----------
    values
        Slots × nodes, NaN = not observed; a sample will do.
    unit
        Of the readings, as far as it is known.
    ratios
        Whether nodes differ by factors, as concentrations do: their logarithms are asked.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = 12 + np.arange(8) / 4 + rng.normal(size=(100, 8))
    >>> X[:, 3] = 1.8 * X[:, 3] + 32
    >>> (found,) = standing_apart(X, "°C")
    >>> found.node, round(found.off), found.unit, round(found.converted)
    (3, 42, '°F', 13)
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a node may send 1e308
        return _standing_apart(values, unit, np.log if ratios else np.asarray)


def _standing_apart(values: Array, unit: str, scale: Callable[[Array], Array]) -> list[Apart]:
    heard = ~np.isnan(values).all(axis=1)
    usually, off = node_medians(values), _off(values[heard])
    values = np.where(np.isfinite(scaled := scale(values)), scaled, np.nan)[heard]
    distance = values - slot_medians(values)[:, None]
    beside, level = node_medians(distance), node_medians(values)
    restless = node_medians(np.abs(values - level))
    known = np.isfinite(beside)
    out = []
    for n in map(int, np.flatnonzero(known)):
        others = known & (np.arange(known.size) != n)
        if np.count_nonzero(others) < FEWEST_OTHERS or _within(beside[n], beside[others], OUTER):
            continue
        usual = float(np.median(restless[others]))
        nearest = np.nanquantile(distance[:, n], SELDOM if beside[n] > 0 else 1 - SELDOM)
        if abs(beside[n]) < OUTER * usual or _within(nearest, beside[others], OUTER):
            continue
        apart = Apart(n, float(off[n]), float(usually[n]))
        for other, factor, offset in conversions(unit):
            there = factor * usually[n] + offset
            steeper = 1.0 if scale is np.log else factor
            calm = usual / AS_RESTLESS <= steeper * restless[n] <= usual * AS_RESTLESS
            if calm and _within(float(scale(np.array(there))), level[others], INNER):
                apart = Apart(n, float(off[n]), float(usually[n]), other, float(there))
                break
        out.append(apart)
    return out


def _off(values: Array) -> Array:
    return node_medians(values - slot_medians(values)[:, None])


def _within(one: float, others: Array, reach: float) -> bool:
    """Whether it lies within so many distances between quartiles of the others' quartiles."""
    low, high = np.quantile(others, (0.25, 0.75))
    return bool(low - reach * (high - low) <= one <= high + reach * (high - low))
