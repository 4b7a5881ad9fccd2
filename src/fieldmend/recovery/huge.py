"""Readings too large to compute with: a node of such gets no estimate, rather than a wrong one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.flags import Flag
from fieldmend.grid import Array
from fieldmend.recovery.judging import FEWEST_READINGS
from fieldmend.result.recovered import Recovered
from fieldmend.text import listed, shown

LARGEST = 1e300
"""Beyond, the solvers bound readings: their differences have to stay finite."""


def without_huge(one: Recovered, nodes: tuple[str, ...]) -> Recovered:
    """The same, with nothing estimated at nodes whose usual reading is beyond `LARGEST`.

    Single readings beyond are flagged like any other that lies far off, and change nothing here.
    """
    X = one.observed
    beyond = np.zeros(X.shape[1], dtype=np.bool_)
    for block in blocks(*X.shape):
        beyond |= (np.abs(X[block]) > LARGEST).any(axis=0)
    huge = [node for node in np.flatnonzero(beyond).tolist() if _usual(X[:, node]) > LARGEST]
    if not huge:
        return one
    for array in (one.estimate, one.lower, one.upper):
        if array is not None:
            array[:, huge] = np.nan
    heard = ~np.isnan(X[:, huge])
    one.anomaly[:, huge] = 0.0
    one.flag[:, huge] = np.where(heard, Flag.NOT_EVALUATED, Flag.MISSING)
    if one.replaced is not None:
        one.replaced[:, huge] = False
    names = listed([shown(nodes[node]) for node in huge])
    said = f"{names}: readings beyond {LARGEST:g}, nothing estimated there"
    return replace(
        one,
        episodes=tuple(e for e in one.episodes if e.node not in huge),
        notes=(*one.notes, said),
        warnings=(*one.warnings, said),
    )


def _usual(column: Array) -> float:
    seen = np.sort(np.abs(column[~np.isnan(column)]))
    return float(seen[len(seen) // 2]) if len(seen) >= FEWEST_READINGS else 0.0
