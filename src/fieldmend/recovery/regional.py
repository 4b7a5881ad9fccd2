"""Networks of many nodes: each region is recovered as one of its own, then all are put together.

What windows are to a long record, regions are to a wide one: their results are pure functions of
their readings, so a crew may work on them anywhere, and memory and time grow with the readings, not
with pairs of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fieldmend.core import engine
from fieldmend.field.regions import Region, said
from fieldmend.grid import Array, Grid
from fieldmend.quantities import Quantity
from fieldmend.recovery import honest
from fieldmend.recovery.condition import recover_condition, sentences
from fieldmend.recovery.keeping import Kept
from fieldmend.recovery.sinks import worst_gap
from fieldmend.recovery.solving import DECIDES, Solver
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.wide import among, many, regions
from fieldmend.recovery.witnesses import witnesses
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import Service

ARRAYS = ("estimate", "lower", "upper", "anomaly", "flag", "replaced")
KINDS = {"flag": np.int8, "replaced": np.bool_}  # what is not estimated
WARNED = 5  # regions whose warnings are passed on


def recover_nodes(
    grid: Grid, name: str, quantity: Quantity, options: Options, storage: Storage, **how: Any
) -> tuple[Recovered, Solver | None]:
    """One condition, region by region where nodes are many; as `recover_condition`.

    Regions that were kept by a run that was ended are taken as they are.
    """
    if how.get("model") is not None or not quantity.measured or not many(grid, options):
        return recover_condition(grid, name, quantity, options, storage, **how)
    plan = regions(grid, name)
    kernel = partial(_region, name=name, quantity=quantity, options=options, real=storage.real)
    sink = _Whole(grid.values[name], storage)
    kept: Kept | None = how.get("kept")
    done = 0 if kept is None else min(kept.count(), len(plan))
    for i, region in enumerate(plan[:done]):
        assert kept is not None
        sink.put(region, kept.load_region(i, name, grid.units.get(name, ""), quantity))

    def put(piece: _Piece, found: Recovered) -> None:
        if kept is not None:
            kept.save_region(len(sink.parts), found)
        sink.put(piece.region, found)
        if "say" in how:
            how["say"](len(sink.parts) / len(plan))

    engine.each(kernel, _pieces(grid, plan[done:]), put, how.get("crew"))
    found = sink.result()
    known = witnesses(grid.values[name], options.limits.get(name))
    assert found.service is not None
    more = sentences(grid, known, found.service, options, 1)
    few = honest.REGIONS
    if options.holdout and len(plan) > few:
        more.append(f"hidden readings scored in {few} of {len(plan)} regions, evenly spread")
    return replace(found, notes=(*found.notes, *more)), None


@dataclass(frozen=True, eq=False)
class _Piece:
    """A region and its readings."""

    region: Region
    grid: Grid


def _pieces(grid: Grid, plan: list[Region]) -> Iterator[_Piece]:
    for region in plan:
        yield _Piece(region, among(grid, region.nodes))


def _region(piece: _Piece, name: str, quantity: Quantity, options: Options, real: Any) -> Recovered:
    """The core of a region, recovered; its company, and what was read, stay behind."""
    storage = Storage(real=real)
    found, _ = recover_condition(piece.grid, name, quantity, options, storage, spoken=False)
    core, life = piece.region.core, found.service
    assert life is not None
    number = np.cumsum(core) - 1  # of a node in the core
    here = core[life.node]
    arrays: dict[str, Any] = {key: _columns(getattr(found, key), core) for key in ARRAYS}
    return replace(
        found,
        **arrays,
        observed=np.empty((0, int(core.sum()))),
        scale=found.scale[core],
        episodes=tuple(
            replace(e, node=int(number[e.node])) for e in found.episodes if core[e.node]
        ),
        service=Service(
            number[life.node[here]],
            life.start[here],
            life.stop[here],
            life.never[core],
            life.closed,
        ),
        fitted=None,
    )


def _columns(array: Array | None, core: Array) -> Array | None:
    return None if array is None else array[:, core]


class _Whole:
    """All regions' results as they come in."""

    def __init__(self, observed: Array, storage: Storage) -> None:
        self.observed, self.storage = observed, storage
        self.arrays: dict[str, Array] = {}
        self.scale = np.zeros(observed.shape[1])
        self.never = np.zeros(observed.shape[1], dtype=np.bool_)
        self.parts: list[tuple[Region, Recovered]] = []  # their small parts only

    def put(self, region: Region, found: Recovered) -> None:
        """Keep what was decided in a region's core."""
        at = region.decided
        assert found.service is not None
        for name in ARRAYS:
            part = getattr(found, name)
            if part is None:
                continue
            if name not in self.arrays:
                self.arrays[name] = self.storage.array(self.observed.shape, KINDS.get(name))
                if name not in KINDS:
                    self.arrays[name][:] = np.nan
            self.arrays[name][:, at] = part
        self.scale[at] = found.scale
        self.never[at] = found.service.never
        nothing: dict[str, Any] = dict.fromkeys(ARRAYS, np.empty((0, 0)))
        self.parts.append((region, replace(found, **nothing)))

    def result(self) -> Recovered:
        """All of them as one."""
        found = [one for _, one in self.parts]
        solved = [one for one in found if one.method in DECIDES] or found
        worst = next((one for one in solved if one.notes), solved[0])
        episodes = [
            replace(e, node=int(region.decided[e.node]))
            for region, one in self.parts
            for e in one.episodes
        ]
        episodes.sort(key=lambda e: (e.node, e.start))
        arrays: dict[str, Any] = {name: self.arrays.get(name) for name in ARRAYS}
        warned = dict.fromkeys(text for one in found for text in one.warnings)
        return replace(
            solved[0],
            observed=self.observed,
            **arrays,
            scale=self.scale,
            rank=max(one.rank for one in found),
            gap=worst_gap(one.gap for one in solved),
            status=worst.status,
            choice=said([region for region, _ in self.parts], [one.rank for one in found]),
            episodes=tuple(episodes),
            notes=tuple(dict.fromkeys(note for one in found for note in one.notes))[:WARNED],
            warnings=tuple(warned)[:WARNED],
            service=self._service(),
        )

    def _service(self) -> Service:
        lives = [(region.decided, one.service) for region, one in self.parts if one.service]
        node = np.concatenate([at[own.node] for at, own in lives])
        start = np.concatenate([own.start for _, own in lives])
        stop = np.concatenate([own.stop for _, own in lives])
        order = np.lexsort((start, node))
        # What one region rests from, another one may have lost.
        every = np.concatenate([own.closed for _, own in lives])
        closed, often = np.unique(every, axis=0, return_counts=True)
        closed = closed[often == len(lives)]
        return Service(node[order], start[order], stop[order], self.never, closed)
