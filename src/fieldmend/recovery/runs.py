"""Stretches of slots, node by node, found in one pass over blocks of slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.grid import Array


@dataclass(frozen=True, eq=False)
class Runs:
    """Stretches by node, then slot: `start` is the first slot, `stop` one past the last."""

    node: Array
    start: Array
    stop: Array


def runs(inside: Callable[[slice], Array], shape: tuple[int, ...]) -> Runs:
    """The longest stretches in which `inside`, asked block by block, is True.

    Examples
    --------
    >>> mask = np.array([[True, False], [True, True], [False, True]])
    >>> found = runs(lambda block: mask[block], mask.shape)
    >>> list(zip(found.node.tolist(), found.start.tolist(), found.stop.tolist()))
    [(0, 0, 2), (1, 1, 3)]
    """
    slots, nodes = shape
    before = np.zeros((1, nodes), dtype=np.bool_)
    edges: tuple[list[Array], list[Array]] = ([], [])
    for block in blocks(slots, nodes):
        now = inside(block)
        earlier = np.vstack([before, now[:-1]])
        for where, kept in zip((now & ~earlier, ~now & earlier), edges, strict=True):
            slot, node = np.nonzero(where)
            kept.append(np.stack([node, slot + block.start]))
        before = now[-1:]
    last = np.flatnonzero(before[0])
    edges[1].append(np.stack([last, np.full(len(last), slots)]))
    (node, start), (_, stop) = (_sorted(np.hstack(kept)) for kept in edges)
    return Runs(node, start, stop)


def _sorted(edges: Array) -> Array:
    """By node, then slot: the nth beginning belongs to the nth end."""
    return np.asarray(edges[:, np.lexsort((edges[1], edges[0]))])
