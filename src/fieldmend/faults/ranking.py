"""What to look at first: one line for each thing that somebody has to see to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.faults.kind import Kind
from fieldmend.faults.labels import Episode
from fieldmend.faults.stretches import Array, Mask

# So many nodes, and this share of all, that go wrong within a slot or two share a cause.
CROWD, SHARE = 5, 0.2
# Slots apart that are still at once.
AT_ONCE = 2
# A silence is one if it is this many times longer than any before and this share of the record.
SILENCE, PART = 4, 0.05


@dataclass(frozen=True)
class Item:
    """Episodes that one visit is about, the gravest as `episode`.

    `nodes` and `conditions` are all that are concerned, `readings` the flagged ones, `count` the
    number of episodes.
    """

    episode: Episode
    kind: Kind
    nodes: tuple[int, ...]
    conditions: tuple[str, ...]
    start: int
    stop: int
    readings: int
    count: int

    @property
    def together(self) -> bool:
        """Whether many nodes are concerned at one time."""
        return len(self.nodes) > 1


def ranked(found: Mapping[str, Sequence[Episode]], nodes: int, slots: int) -> list[Item]:
    """Faults by what has to be done: many nodes at one time, then node by node, the gravest first.

    Lasting faults are one item for each node and kind, over all its conditions; what else is
    false at a node (spikes, bursts, packets) is one item of that node. Events are no faults.

    Parameters
    ----------
    found
        Condition → its episodes.
    nodes, slots
        Size of the network.

    Returns
    -------
    list of Item

    Examples
    --------
    >>> one = Episode(0, "t", 5, 6, "spike", 1, 30.0, 0.9, "…")
    >>> two = Episode(1, "t", 2, 90, "stuck", 88, 7.0, 0.8, "…")
    >>> [(item.kind.value, item.nodes) for item in ranked({"t": [one, two]}, 2, 100)]
    [('stuck', (1,)), ('spike', (0,))]
    """
    faults = [e for one in found.values() for e in one if e.kind != Kind.EVENT]
    crowds = _crowds(faults, nodes, slots)
    taken = {id(e) for crowd in crowds for e in crowd}
    groups: dict[tuple[int, Kind], list[Episode]] = {}
    for episode in faults:
        if id(episode) not in taken:
            groups.setdefault((episode.node, _task(episode)), []).append(episode)
    items = [_item(crowd) for crowd in crowds] + [_item(group) for group in groups.values()]
    return sorted(items, key=lambda i: (-i.together, -i.kind.gravity, -_weight(i), i.nodes))


def _task(episode: Episode) -> Kind:
    """Lasting faults are told apart; whatever is short is one thing."""
    kind = _kind(episode)
    return kind if kind.lasts else Kind.SPIKE


def _kind(episode: Episode) -> Kind:
    return Kind.named(episode.kind) or Kind.SPIKE


def _crowds(faults: Sequence[Episode], nodes: int, slots: int) -> list[list[Episode]]:
    """Episodes that so many nodes begin at once that chance does not explain it."""
    ordered = sorted(faults, key=lambda e: e.start)
    starts = [e.start for e in ordered]
    usual = len({(e.node, e.start) for e in faults}) * (AT_ONCE + 1) / max(slots, 1)
    least = max(CROWD, SHARE * nodes, usual + 6 * usual**0.5)
    out, i = [], 0
    while i < len(ordered):
        crowd = ordered[i : bisect_right(starts, starts[i] + AT_ONCE, lo=i)]
        if len({e.node for e in crowd}) >= least:
            out.append(crowd)
            i += len(crowd)
        else:
            i += 1
    return out


def _item(group: list[Episode]) -> Item:
    worst = max(group, key=lambda e: (_kind(e).gravity, _evidence(e)))
    return Item(
        episode=worst,
        kind=_kind(worst),
        nodes=tuple(sorted({e.node for e in group})),
        conditions=tuple(dict.fromkeys(e.condition for e in [worst, *group])),
        start=min(e.start for e in group),
        stop=max(e.stop for e in group),
        readings=sum(e.readings for e in group),
        count=len(group),
    )


def _weight(item: Item) -> float:
    return _evidence(replace(item.episode, readings=max(item.readings, 1)))


def _evidence(episode: Episode) -> float:
    return float(min(episode.severity, 1e6) * episode.readings**0.5 * episode.confidence)


def silences(heard: Mask) -> list[tuple[int, int]]:
    """Nodes that fell silent before the record ended, and their last slot; the longest first.

    Long beside all their earlier silences, and while others went on.

    Examples
    --------
    >>> heard = np.ones((100, 3), dtype=bool)
    >>> heard[60:, 1] = False
    >>> silences(heard)
    [(1, 59)]
    """
    slots = len(heard)
    out: list[tuple[int, int]] = []
    if not heard.any():
        return out
    end = int(np.flatnonzero(heard.any(axis=1))[-1])
    for n in np.flatnonzero(heard.any(axis=0)):
        at: Array = np.flatnonzero(heard[:, n])
        gap = int(np.diff(at).max(initial=1))
        quiet = end - int(at[-1])
        if at.size >= CROWD and quiet > max(SILENCE * gap, PART * slots):
            out.append((int(n), int(at[-1])))
    return sorted(out, key=lambda one: one[1])
