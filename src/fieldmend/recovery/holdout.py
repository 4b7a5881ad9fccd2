"""Readings hidden on purpose, in gaps as long as the real ones, and how far off they come back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fieldmend.diagnostics import gap_lengths
from fieldmend.grid import Array
from fieldmend.metrics import GapErrors, HiddenErrors, hidden_errors, interpolate
from fieldmend.result.holdout import Holdout

SHARE = 0.05  # of the readings are hidden
FEWEST = 20  # hidden readings that a score needs
LONGEST = 0.25  # of the record: a longer gap is cut, so that the node is still known
ROUNDS = 16
LARGEST = 1e150  # a node with a reading beyond is not scored: errors are squared


def hide(readings: Array, seed: int) -> Array:
    """A mask of readings to hide, about 5 % of them; all False if there are too few.

    Gap lengths are drawn from the record's own gaps; a record without gaps hides single readings.
    Gaps that touch the ends of the record (a node that was not there yet) are left out: they are no
    model for a gap inside. No node loses more than half of its readings.
    """
    rng = np.random.default_rng(seed)
    observed: Array = ~np.isnan(readings)
    observed &= ~(np.abs(readings) > LARGEST).any(axis=0)
    hidden = np.zeros_like(observed)
    per_node = np.count_nonzero(observed, axis=0)
    heard = np.flatnonzero(per_node >= 5)
    total = int(per_node.sum())
    wanted = int(SHARE * total)
    if wanted < FEWEST or len(heard) == 0:
        return hidden
    lengths = _lengths(observed, max(1, int(LONGEST * len(observed))))
    each = float(lengths.mean()) * total / observed.size
    for _ in range(ROUNDS):
        short = wanted - int(np.count_nonzero(hidden))
        if short <= 0:
            break
        count = max(1, round(short / each))
        node, length = rng.choice(heard, count), rng.choice(lengths, count)
        start = rng.integers(1 - length, len(observed))
        new = _covered(observed.shape, node, start, start + length) & observed
        keep = 2 * np.count_nonzero(hidden | new, axis=0) <= per_node
        hidden |= new & keep
    return hidden


def _covered(shape: tuple[int, ...], node: Array, start: Array, stop: Array) -> Array:
    """True inside any of the gaps."""
    edges = np.zeros((shape[0] + 1, shape[1]), dtype=np.int32)
    np.add.at(edges, (np.maximum(start, 0), node), 1)
    np.add.at(edges, (np.minimum(stop, shape[0]), node), -1)
    inside: Array = np.cumsum(edges[:-1], axis=0) > 0
    return inside


def _lengths(observed: Array, longest: int) -> Array:
    """Lengths of the gaps inside the record, or 1."""
    first: Array = np.argmax(observed, axis=0)
    last: Array = len(observed) - np.argmax(observed[::-1], axis=0)
    slot = np.arange(len(observed))[:, None]
    inside = observed | (slot < first) | (slot >= last)
    found = np.minimum(gap_lengths(inside), longest)
    return found if found.size else np.ones(1, dtype=np.int64)


def scored(readings: Array, hidden: Array, estimate: Array) -> Holdout:
    """The errors of an estimate made without the hidden readings, beside a straight line's."""
    left = np.where(hidden, np.nan, readings)
    truth = np.where(hidden, readings, np.nan)
    seen: Array = ~np.isnan(left)
    line = np.where(hidden, interpolate(left), 0.0)
    ours = hidden_errors(np.where(hidden, estimate, 0.0), truth, seen, readings=left)
    return Holdout(ours, hidden_errors(line, truth, seen, readings=left))


def merged(parts: Sequence[Holdout]) -> Holdout | None:
    """The windows' scores as one."""
    if len(parts) < 2:
        return parts[0] if parts else None
    ours, line = [p.method for p in parts], [p.line for p in parts]
    counts = [p.method.count for p in parts]
    covered = [p.covered for p in parts if p.covered is not None]
    return Holdout(
        _whole(ours, line),
        _whole(line, line),
        float(np.average(covered, weights=counts)) if len(covered) == len(parts) else None,
    )


def _whole(parts: Sequence[HiddenErrors], line: Sequence[HiddenErrors]) -> HiddenErrors:
    rows = sorted({(g.shortest, g.longest) for p in parts for g in p.by_gap})
    by_gap = []
    for shortest, longest in rows:
        pairs = [
            (a, b)
            for p, q in zip(parts, line, strict=True)
            for a, b in zip(p.by_gap, q.by_gap, strict=True)
            if a.shortest == shortest
        ]
        figures = _figures([a for a, _ in pairs], [b for _, b in pairs])
        by_gap.append(GapErrors(shortest, longest, *figures))
    return HiddenErrors(*_figures(parts, line), by_gap=tuple(by_gap))


Scores = Sequence[HiddenErrors] | Sequence[GapErrors]


def _figures(parts: Scores, line: Scores) -> tuple[int, float, float, float]:
    """Count, MAE, RMSE and skill of the parts together."""
    counts = [p.count for p in parts]
    mae = float(np.average([p.mae for p in parts], weights=counts))
    mse = float(np.average([p.rmse**2 for p in parts], weights=counts))
    mse_line = float(np.average([p.rmse**2 for p in line], weights=counts))
    if mse_line == 0:
        skill = 0.0 if mse == 0 else -np.inf
    else:
        skill = 1 - mse / mse_line
    return sum(counts), mae, float(np.sqrt(mse)), skill
