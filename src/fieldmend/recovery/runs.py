"""Stretches of slots, node by node, found in one pass over blocks of slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    return joined(list(ended(inside, shape)))


def ended(inside: Callable[[slice], Array], shape: tuple[int, ...]) -> Iterator[Runs]:
    """The same as they end, block after block: there may be more than memory holds."""
    slots, nodes = shape
    before = np.zeros((1, nodes), dtype=np.bool_)
    open_at = np.zeros(nodes, dtype=np.int64)  # where the stretch of a node began, if it is in one
    for block in blocks(slots, nodes):
        now = inside(block)
        earlier = np.vstack([before, now[:-1]])
        starts, stops = (_edges(where, block) for where in (now & ~earlier, ~now & earlier))
        still = np.flatnonzero(before[0])
        begun = _sorted(np.hstack([np.stack([still, open_at[still]]), starts]))
        # The last beginning of a node that is inside at the end of the block stays open.
        last = np.append(np.diff(begun[0]) != 0, True) if begun.size else np.zeros(0, np.bool_)
        stays = last & now[-1][begun[0]]
        open_at[begun[0][stays]] = begun[1][stays]
        node, start = begun[:, ~stays]
        yield Runs(node, start, _sorted(stops)[1])
        before = now[-1:]
    last_in = np.flatnonzero(before[0])
    yield Runs(last_in, open_at[last_in], np.full(len(last_in), slots))


def joined(parts: Sequence[Runs]) -> Runs:
    """Stretches found in several places as one, by node, then slot."""
    every = np.hstack([np.stack([one.node, one.start, one.stop]) for one in parts])
    node, start, stop = every[:, np.lexsort((every[1], every[0]))]
    return Runs(node, start, stop)


def _edges(where: Array, block: slice) -> Array:
    slot, node = np.nonzero(where)
    return np.stack([node, slot + block.start])


def _sorted(edges: Array) -> Array:
    """By node, then slot: the nth beginning belongs to the nth end."""
    return np.asarray(edges[:, np.lexsort((edges[1], edges[0]))])
