"""A recorded network fed to the station of `fieldmend live`, its clock set: no waiting."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.grid import Array, Grid
from fieldmend.live.clock import SetClock
from fieldmend.live.companions import Companions
from fieldmend.live.intake import Intake
from fieldmend.live.journal import Journal
from fieldmend.live.messages import Reading
from fieldmend.live.modelling import Models
from fieldmend.live.settings import DAY, Settings
from fieldmend.live.station import Station

SHARED = Path(__file__).parents[2] / "shared" / "data"
DATA = Path(os.environ.get("FIELDMEND_DATA", SHARED)) / "intellab_mar04_08.parquet"
MINUTE = 60_000_000


def intellab(*conditions: str) -> Grid:
    """IntelLab, 4 to 8 March, five-minute slots; mote 18 dies and is left out."""
    grid = fm.read(str(DATA)).grid("5min")
    kept = [name != "18" for name in grid.nodes]
    return replace(
        grid,
        values={one: grid.values[one][:, kept] for one in conditions or ("temperature",)},
        nodes=tuple(n for n, k in zip(grid.nodes, kept, strict=True) if k),
        places=None,
    )


def asked_for_intellab() -> None:
    """End, and say so, where its readings are not: what needs them is left out."""
    if not DATA.exists():
        print(f"left out: no {DATA.name}; FIELDMEND_DATA names its folder")
        sys.exit()


def cut(grid: Grid, rows: slice) -> Grid:
    values = {name: X[rows] for name, X in grid.values.items()}
    return replace(grid, values=values, times=grid.times[rows])


@contextmanager
def station(
    model: fm.FieldModel, start: int, companions: Companions | None = None, **more: int
) -> Iterator[Station]:
    """A station in a folder of its own; models are never fitted anew."""
    settings = replace(Settings(refit=10_000 * DAY), **more)
    with tempfile.TemporaryDirectory() as folder:
        with closing(Journal.open(folder, slot=settings.slot)) as journal:
            clock = SetClock(start)
            intake = Intake(journal, clock)
            out = Station(intake, settings, clock, Models(journal, settings, model, companions))
            out.start()
            yield out


def feed(one: Station, grid: Grid, row: int, changed: dict[str, Array] | None = None) -> None:
    """One slot's readings as they come, then the slot's end."""
    one.clock.time = int(grid.times[row]) + one.slot // 2
    _take(one, grid, row, changed)
    _end(one, grid, row)


def catch_up(
    one: Station, grid: Grid, rows: range, changed: dict[str, Array] | None = None
) -> None:
    """Many slots' readings at once, as after live was down: it closes slots as fast as it can."""
    one.clock.time = int(grid.times[rows[-1]]) + one.slot
    for row in rows:
        _take(one, grid, row, changed)
    one.tick()
    _end(one, grid, rows[-1])


def _take(one: Station, grid: Grid, row: int, changed: dict[str, Array] | None) -> None:
    time = int(grid.times[row])
    reads = [
        Reading(node, name, time + 1000 * k, float(X[row, k]))
        for name, X in (grid.values | (changed or {})).items()
        for k, node in enumerate(grid.nodes)
        if np.isfinite(X[row, k])
    ]
    one.intake.take(reads, one.clock.now())


def _end(one: Station, grid: Grid, row: int) -> None:
    """All that is due at the end of a slot."""
    one.clock.time = int(grid.times[row]) + one.slot + one.settings.late + 1
    while one.tick():
        pass


def by_node(draws: list[tuple[Array, Array]]) -> float:
    """Standard error of the share that holds: of a draw, what held and whose reading it was.

    Readings of one node in one draw are one witness.
    """
    off, held = [], np.concatenate([one for one, _ in draws])
    for one, nodes in draws:
        for node in np.unique(nodes):
            off.append(float((one[nodes == node] - held.mean()).sum()))
    return float(np.sqrt(np.square(off).sum()) / len(held))
