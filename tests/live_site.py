"""A small network for the tests of `live`: a record, its model, a station whose clock is set."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.grid import Grid
from fieldmend.live.clock import SetClock
from fieldmend.live.intake import Intake
from fieldmend.live.journal import Journal
from fieldmend.live.messages import Reading
from fieldmend.live.modelling import Models
from fieldmend.live.settings import DAY, Settings
from fieldmend.live.station import Station
from fieldmend.live.view import View

FITTED, SLOTS, NODES = 300, 700, 12
START = "2026-03-01"


@cache
def record() -> Grid:
    net = fm.simulate.network(slots=SLOTS, nodes=NODES, field="temperature", seed=3)
    readings = net.truth + np.random.default_rng(3).normal(0.0, 0.1, net.truth.shape)
    names = [f"m{k}" for k in range(NODES)]
    return Grid.of(readings, nodes=names, condition="temperature", unit="degC", start=START)


def cut(grid: Grid, rows: slice) -> Grid:
    values = {name: X[rows] for name, X in grid.values.items()}
    return replace(grid, values=values, times=grid.times[rows])


@cache
def model() -> fm.FieldModel:
    return fm.FieldModel.fit(cut(record(), slice(0, FITTED)))


@dataclass
class Site:
    station: Station
    clock: SetClock

    @property
    def view(self) -> View:
        return View(self.station.journal.folder)

    @property
    def rows(self):
        return self.station.journal.connection.execute

    def reads(self, row: int, X=None, skip=()) -> list[Reading]:
        grid = record()
        y = grid.values["temperature"][row] if X is None else X[row]
        time = int(grid.times[row])
        return [
            Reading(node, "temperature", time + 1000 * k, float(y[k]))
            for k, node in enumerate(grid.nodes)
            if np.isfinite(y[k]) and node not in skip
        ]

    def take(self, reads: list[Reading]) -> dict[str, int]:
        return self.station.intake.take(reads, self.clock.now())

    def slot(self, row: int, X=None, skip=()) -> None:
        """One slot's readings in its middle, then its end."""
        self.clock.time = int(record().times[row]) + self.station.slot // 2
        self.take(self.reads(row, X, skip))
        self.end(row)

    def end(self, row: int) -> None:
        late = self.station.settings.late
        self.clock.time = int(record().times[row]) + self.station.slot + late
        self.station.tick()

    def close(self) -> None:
        self.station.models.stop()
        self.station.journal.close()


def site(folder: Path, *, first: int = FITTED, given=True, **more) -> Site:
    settings = replace(Settings(refit=1000 * DAY), **more)
    clock = SetClock(int(record().times[first]))
    journal = Journal.open(folder, slot=settings.slot)
    weakref.finalize(journal, journal.connection.close)
    intake = Intake(journal, clock)
    out = Station(intake, settings, clock, Models(journal, settings, model() if given else None))
    out.start()
    return Site(out, clock)
