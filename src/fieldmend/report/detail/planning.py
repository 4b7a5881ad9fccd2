"""How fine each node is kept: all slots if they fit, else stretches, and all slots where it counts.

Bytes are measured on a few nodes before anything is promised. What is finer than the rest: around
every episode, then whole nodes, those first that need a look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.faults import Kind
from fieldmend.flags import BAD, Flag
from fieldmend.report.detail.packing import Packed, pack, step_of
from fieldmend.report.detail.stretches import Part, slots, stretches

if TYPE_CHECKING:
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

SAMPLE = 256  # stretches of each that they are measured on, in the middle of the record
SAMPLED = 6  # nodes of a condition that bytes are measured on
COARSEST = 24  # stretches of a record at the least; nodes are left out before that
FINER = 0.3  # of the room kept for slots around episodes and for the worst nodes
AROUND = 60  # slots shown before and after an episode
LONGEST = 1500  # slots of one excerpt
PIECES = 4000
QUANTISED = 200_000  # readings that a step is chosen by


@dataclass(frozen=True)
class Kept:
    """One condition: every node in stretches of one width, and some slots one by one.

    Attributes
    ----------
    name
    width
        Slots in a stretch; 1 if every slot is there.
    nodes
        Indices of the nodes that are there, in the order of the packed arrays.
    whole
        Their stretches, node after node.
    pieces
        Node, first slot and one past the last, of what is there slot by slot besides.
    fine
        Their slots, piece after piece.
    """

    name: str
    width: int
    nodes: tuple[int, ...]
    whole: Packed
    pieces: tuple[tuple[int, int, int], ...] = ()
    fine: Packed | None = None

    @property
    def size(self) -> int:
        """Bytes in the page."""
        return len(self.whole.text) + (0 if self.fine is None else len(self.fine.text))


@dataclass(frozen=True)
class Detail:
    """All conditions, and how many series did not find room."""

    conditions: dict[str, Kept] = field(default_factory=dict)
    left_out: int = 0

    @property
    def size(self) -> int:
        """Bytes in the page."""
        return sum(one.size for one in self.conditions.values())


def plan(recovery: Result, room: float, first: Sequence[tuple[str, int]] = ()) -> Detail:
    """What fits into so many bytes.

    Parameters
    ----------
    recovery
    room
        Bytes, base64 and all.
    first
        Conditions and nodes to look at first: shown slot by slot before others.
    """
    count = len(recovery.grid.times)
    steps = {name: _step(one) for name, one in recovery.conditions.items()}
    ranked = list(_ranked(recovery))
    per_slot = {name: _bytes(recovery, name, 1, steps[name]) for name in recovery.conditions}
    nodes = recovery.grid.shape[1]
    if sum(per_slot.values()) * count * nodes <= 0.95 * room:
        found = _coarse(recovery, ranked, 1, steps)
        if found.size <= room:
            return found
    coarse = (1 - FINER) * room
    width = max(2, int(np.ceil(1.5 * sum(per_slot.values()) * count * nodes / coarse)))
    for _ in range(4):
        per = {
            name: _bytes(recovery, name, width, steps[name]) * -(-count // width)
            for name in recovery.conditions
        }
        total = sum(per.values()) * nodes
        coarsest = max(2, -(-count // COARSEST))
        if 0.8 * coarse < total <= coarse or (total > coarse and width >= coarsest):
            break
        width = int(np.clip(np.ceil(width * total / (0.9 * coarse)), 2, coarsest))
    kept = _affordable(ranked, per, coarse)
    found = _coarse(recovery, kept, width, steps)
    left = 0.9 * (room - found.size)
    pieces = _pieces(recovery, found, first, ranked, per_slot, room=left)
    conditions = {
        name: _with_pieces(recovery.conditions[name], one, pieces.get(name, ()), steps[name])
        for name, one in found.conditions.items()
    }
    return Detail(conditions, len(ranked) - len(kept))


def _step(one: Recovered) -> float:
    every = max(1, one.observed.size // QUANTISED)
    noise = one.scale[one.scale > 0]
    sample = np.concatenate([one.observed[::every].ravel(), one.estimate[::every].ravel()])
    return step_of(sample, float(np.median(noise)) if noise.size else 0.0)


def _ranked(recovery: Result) -> Iterator[tuple[str, int]]:
    """Series, those first whose readings are flagged or lost."""
    rows = []
    for c, (name, one) in enumerate(recovery.conditions.items()):
        bad, lost = np.zeros((2, one.flag.shape[1]), dtype=np.int64)
        for part in blocks(*one.flag.shape):
            bad += np.count_nonzero(np.isin(one.flag[part], BAD), axis=0)
            lost += np.count_nonzero(one.flag[part] == Flag.MISSING, axis=0)
        rows += [(-int(bad[n]), -int(lost[n]), c, n, name) for n in range(len(bad))]
    for *_, n, name in sorted(rows):
        yield name, n


def _bytes(recovery: Result, name: str, width: int, step: float) -> float:
    """Of a stretch, measured on a few nodes."""
    one = recovery.conditions[name]
    nodes = np.unique(np.linspace(0, one.flag.shape[1] - 1, SAMPLED).round().astype(int))
    if width == 1:
        rows = slice(0, min(len(one.flag), 20_000))
        part = slots(one, rows, nodes)
    else:
        some = min(len(one.flag), SAMPLE * width)
        first = (len(one.flag) - some) // 2
        part = stretches(one, width, nodes, slice(first, first + some))
    return len(_packed(part, step).text) / max(1, part.masks["state"].size)


def _packed(part: Part, step: float) -> Packed:
    """Node after node."""
    return pack(
        {name: array.T.ravel() for name, array in part.numbers.items()},
        {name: array.T.ravel() for name, array in part.masks.items()},
        step,
    )


def _coarse(
    recovery: Result, series: Iterable[tuple[str, int]], width: int, steps: Mapping[str, float]
) -> Detail:
    mine: dict[str, list[int]] = {name: [] for name in recovery.conditions}
    for name, node in series:
        mine[name].append(node)
    out = {}
    for name, one in recovery.conditions.items():
        nodes = np.array(sorted(mine[name]), dtype=np.intp)
        whole = slice(0, len(one.flag))
        part = slots(one, whole, nodes) if width == 1 else stretches(one, width, nodes)
        out[name] = Kept(name, width, tuple(nodes.tolist()), _packed(part, steps[name]))
    return Detail(out)


def _affordable(
    ranked: list[tuple[str, int]], per: Mapping[str, float], room: float
) -> list[tuple[str, int]]:
    kept, spent = [], 0.0
    for name, node in ranked:
        spent += per[name]
        if spent > room:
            break
        kept.append((name, node))
    return kept


def _pieces(
    recovery: Result,
    found: Detail,
    first: Sequence[tuple[str, int]],
    ranked: Sequence[tuple[str, int]],
    per_slot: Mapping[str, float],
    *,
    room: float,
) -> dict[str, list[tuple[int, int, int]]]:
    """What is kept slot by slot, by condition, until the room is spent."""
    count = len(recovery.grid.times)
    taken: dict[str, list[tuple[int, int, int]]] = {name: [] for name in recovery.conditions}
    spans: dict[tuple[str, int], list[tuple[int, int]]] = {}
    there = {name: set(one.nodes) for name, one in found.conditions.items()}
    wanted = [(name, node, 0, count) for name, node in first]
    wanted = [*wanted[: len(wanted) // 2 + 1], *_excerpts(recovery), *wanted]
    number = 0
    for name, node, start, stop in [*wanted, *((n, i, 0, count) for n, i in ranked)]:
        mine = spans.setdefault((name, node), [])
        if node not in there[name] or any(start < b and a < stop for a, b in mine):
            continue
        cost = per_slot[name] * (stop - start)
        if cost <= room and number < PIECES:
            room -= cost
            number += 1
            mine.append((start, stop))
            taken[name].append((node, start, stop))
        elif room < 1000:
            break
    return taken


def _excerpts(recovery: Result) -> Iterator[tuple[str, int, int, int]]:
    """Around every fault, the longest first; of a long one its beginning."""
    count = len(recovery.grid.times)
    episodes = [
        (name, e)
        for name, one in recovery.conditions.items()
        for e in one.episodes
        if e.kind != Kind.EVENT
    ]
    for name, e in sorted(episodes, key=lambda item: -item[1].readings):
        start = max(0, e.start - AROUND)
        yield name, e.node, start, min(count, e.stop + AROUND, start + LONGEST)


def _with_pieces(
    one: Recovered, kept: Kept, pieces: Sequence[tuple[int, int, int]], step: float
) -> Kept:
    if not pieces:
        return kept
    parts = [slots(one, slice(a, b), np.array([n], dtype=np.intp)) for n, a, b in pieces]
    joined: Any = [
        {
            name: np.concatenate([getattr(p, what)[name][:, 0] for p in parts])
            for name in getattr(parts[0], what)
        }
        for what in ("numbers", "masks")
    ]
    fine = pack(joined[0], joined[1], step)
    return Kept(kept.name, kept.width, kept.nodes, kept.whole, tuple(pieces), fine)
