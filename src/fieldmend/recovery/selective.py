"""Is what was lost like what was heard? If not, no hidden reading can try its estimates.

Gusts are reported when it blows, gauges fail in storms, loggers sleep at night. Then readings are
missing *because* of what they would have been, and what was heard, hidden readings among it, tells
of other times. Witnesses are the other conditions of the same node, and the other nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from fieldmend.core.prox import Array, Mask
from fieldmend.grid import Grid
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import State
from fieldmend.text import figure, measure, shown

ENTRIES, STRETCHES = 400_000, 16  # looked at, of a longer record in so many stretches
FEWEST = 30  # lost readings, and gaps, that can tell
# Of pairs of a lost and a heard slot the share in which a witness was higher at one of them.
APART = 0.8
SURE = 4.0  # standard errors from what chance makes of it, every gap one draw


def warned(grid: Grid, done: Mapping[str, Recovered]) -> dict[str, Recovered]:
    """The same, with a warning where what was lost is unlike what was heard."""
    return {
        name: replace(one, warnings=(*one.warnings, *_told(grid, name, one)))
        for name, one in done.items()
    }


def _told(grid: Grid, name: str, one: Recovered) -> Iterator[str]:
    """One sentence at the most: of the witness that tells lost from heard best."""
    some = _stretches(*grid.shape)
    if one.service is None or sum(part.stop - part.start for part in some) < 2 * FEWEST:
        return
    X = _taken(grid.values[name], some)
    heard = ~np.isnan(X)
    values = grid.values[name]
    states = [one.service.states(~np.isnan(values[part]), part.start) for part in some]
    lost = np.vstack(states) == State.LOST
    if np.count_nonzero(lost) < FEWEST:
        return
    found = []
    for other, Y in grid.values.items():
        if other != name:
            y = _taken(Y, some)
            found.append((_apart(y, heard, lost), other, y))
    share, other, y = max(found, key=lambda one: abs(one[0] - 0.5), default=(0.5, "", X))
    among = _apart(_others(X), heard, lost)
    if max(abs(share - 0.5), abs(among - 0.5)) < APART - 0.5:
        return
    if abs(share - 0.5) >= abs(among - 0.5):
        side = "higher" if share > 0.5 else "lower"
        there = [float(np.nanmedian(y[part])) for part in (lost, heard)]
        unit = grid.units.get(other, "")
        what = (
            f"{shown(other)} was {side} (in the median {measure(there[0], unit)}, "
            f"{figure(there[1])} where it was heard)"
        )
    else:
        what = f"the other nodes were {'higher' if among > 0.5 else 'lower'} than usual"
    yield (
        f"most of what was lost lies where {what}: readings are missing for a reason, hidden ones "
        "are from other times, and the error printed is not that of what was lost"
    )


def _stretches(slots: int, nodes: int) -> list[slice]:
    """All slots, or stretches of them from all over the record."""
    length = max(1, ENTRIES // (STRETCHES * nodes))
    if slots <= STRETCHES * length:
        return [slice(0, slots)]
    starts = np.linspace(0, slots - length, STRETCHES).round().astype(int)
    return [slice(a, a + length) for a in starts.tolist()]


def _taken(X: Array, some: list[slice]) -> Array:
    return np.vstack([np.asarray(X[part], dtype=np.float64) for part in some])


def _apart(y: Array, heard: Mask, lost: Mask) -> float:
    """Chance that a witness is higher at a lost slot than at a heard one; ½ if it cannot tell."""
    there = ~np.isnan(y)
    if 2 * np.count_nonzero(lost & there) < np.count_nonzero(lost):
        return 0.5
    share, weight, gaps = 0.0, 0, 0
    for n in range(y.shape[1]):
        a, b = lost[:, n] & there[:, n], heard[:, n] & there[:, n]
        few, many = int(np.count_nonzero(a)), int(np.count_nonzero(b))
        if not few or many < FEWEST:
            continue
        ranks = rankdata(y[a | b, n])[a[a | b]]
        share += float(ranks.sum() - few * (few + 1) / 2) / many
        weight += few
        gaps += int(np.count_nonzero(a[1:] & ~a[:-1])) + int(a[0])
    if weight < FEWEST or gaps < FEWEST:
        return 0.5
    share /= weight
    return share if abs(share - 0.5) > SURE / np.sqrt(12.0 * gaps) else 0.5


def _others(X: Array) -> Array:
    """Where the others are in their own ranges, on the average, seen from each node."""
    there = ~np.isnan(X)
    heard = there.any(axis=0)
    place = np.zeros_like(X)
    for n in np.flatnonzero(heard):
        own = there[:, n]
        place[own, n] = rankdata(X[own, n]) / np.count_nonzero(own)
    total, count = place.sum(axis=1, keepdims=True), there.sum(axis=1, keepdims=True)
    others = count - there
    out: Array = np.where(others > 0, (total - place) / np.maximum(others, 1), np.nan)
    return out
