"""Intervals where there was no sensor: as wide as ends and whole nodes, hidden on purpose, ask for.

Hold-outs hide gaps inside a node's life. Beyond it an estimate is less certain: how much less is
found by hiding the ends of some nodes and solving again; and for a node that was never heard, by
how far the nodes lie from the median of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.flags import KEPT
from fieldmend.grid import Array
from fieldmend.quantities import Quantity, circle
from fieldmend.recovery.window import Piece, Setting, evidence
from fieldmend.result.states import Service, State

HIDDEN = 0.25  # of the slots, at one end of every second node
SAMPLED = 200_000  # entries that the distance from the others is measured on


@dataclass(frozen=True)
class Margin:
    """How wide intervals have to be beyond a node's life."""

    factor: float  # of the interval, not in service
    spread: float  # half the interval, never fitted


def margin(piece: Piece, setting: Setting, estimate: Array, flag: Array) -> Margin:
    """Both margins, from one window with an end of every second node hidden, and the estimates."""
    return Margin(_at_ends(piece, setting), _of_nodes(piece, setting, estimate, flag))


def widen(
    sides: tuple[Array, Array],
    estimate: Array,
    observed: Array,
    life: Service,
    wide: Margin,
    *,
    quantity: Quantity,
) -> None:
    """Make the intervals (lower, upper) as wide as they have to be, in place, within bounds."""
    for block in blocks(*estimate.shape):
        state = life.states(~np.isnan(observed[block]), block.start)
        middle = estimate[block]
        for side, sign in zip(sides, (-1.0, 1.0), strict=True):
            part = side[block]
            part = np.where(
                state == State.NOT_IN_SERVICE, middle + wide.factor * (part - middle), part
            )
            never = (state == State.NEVER_FITTED) | life.never
            part = np.where(never, middle + sign * wide.spread, part)
            if quantity.period:  # no arc is longer than the circle
                part = np.clip(part, middle - quantity.period / 2, middle + quantity.period / 2)
            side[block] = np.clip(part, quantity.low, quantity.high)


def _at_ends(piece: Piece, setting: Setting) -> float:
    """The factor that makes intervals hold at ends that were hidden; at least 1."""
    believed = evidence(piece, setting).believed
    columns = np.flatnonzero((~np.isnan(believed)).sum(axis=0) > 0)
    X = believed[:, columns]
    slots = len(X)
    hidden = np.zeros(X.shape, dtype=np.bool_)
    hidden[slots - int(HIDDEN * slots) :, ::4] = True
    hidden[: int(HIDDEN * slots), 2::4] = True
    hidden &= ~np.isnan(X)
    left = np.where(hidden, np.nan, X)
    if not hidden.any() or np.isnan(left).all(axis=0).any():
        return 1.0
    estimate, lower, upper = setting.solver.hidden(left, piece.window, columns)
    if lower is None or upper is None:
        return 1.0
    half = np.maximum((upper - lower) / 2, np.finfo(np.float64).tiny)
    beside = circle.near(X, estimate, setting.quantity.period)
    off = np.where(hidden, np.abs(beside - estimate) / half, np.nan)
    return max(1.0, _quantile(off, setting.options.level))


def _of_nodes(piece: Piece, setting: Setting, estimate: Array, flag: Array) -> float:
    """How far readings lie from the median of the other nodes' estimates."""
    heard = np.flatnonzero(setting.known.heard)
    step = max(1, -(-piece.readings[:, heard].size // SAMPLED))
    X = piece.readings[::step, heard]
    rows = slice(piece.window.start, piece.window.stop, step)
    field = np.asarray(estimate[rows])[:, heard]
    kept = np.isin(np.asarray(flag[rows])[:, heard], KEPT)
    off = np.full(X.shape, np.nan)
    for n in range(len(heard)):
        others = np.delete(field, n, axis=1) if len(heard) > 1 else field
        usual = np.median(others, axis=1)
        off[:, n] = np.abs(circle.near(X[:, n], usual, setting.quantity.period) - usual)
    return _quantile(np.where(kept, off, np.nan), setting.options.level)


def _quantile(off: Array, level: float) -> float:
    """The quantile of a node that is not among these, each of which counts the same."""
    count = (~np.isnan(off)).sum(axis=0)
    nodes = int(np.count_nonzero(count))
    if not nodes:
        return 1.0
    weight = np.broadcast_to(1.0 / np.maximum(count, 1), off.shape)
    there = ~np.isnan(off)
    values, weights = off[there], weight[there]
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / nodes
    at = min(int(np.searchsorted(share, level * (1 + 1 / nodes))), len(order) - 1)
    return float(values[order[at]])
