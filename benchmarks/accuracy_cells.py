"""The cells of the accuracy tables: data × loss × anomalies, each drawn several times.

Without anomalies every loss on every data set; spikes and mixed faults at half of the readings on
some (`FALSE`). Sizes are such that all of it takes half an hour of CPU: at most 52 nodes and 500
to 1500 slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np

import accuracy_data as data
from accuracy_data import Array, BoolArray
from accuracy_loss import BETWEEN, LOSSES, arrived, fits
from fieldmend.simulate import corrupt, network

BOTH = ("uniform p=.5", "offline 24 h")
DRAWS = 3  # of what is lost and what is false, each cell
MIXED = ("spikes", "bursts", "stuck", "drift", "dead")
RATE = 0.04
QUICK = (
    "simulated temperature",
    "simulated low_rank",
    "IntelLab temperature",
    "IntelLab light",
    "NDBC pressure",
)
FALSE = (*QUICK, "Redwood temperature", "NDBC air", "Molène temperature", "PM10")
TARGETS = ("Redwood temperature, radio, none", "Redwood humidity, radio, none")


@dataclass(frozen=True)
class Cell:
    """Readings with NaN, the truth (NaN where unknown), which readings are false."""

    name: str
    readings: Array
    truth: Array
    support: BoolArray
    slots_a_day: int
    draw: int = 0
    again: Array | None = None  # simulated: another noisy reading of the same field
    space: tuple[Array, Array] | None = None  # simulated: for the oracle

    @cached_property
    def fingerprint(self) -> str:
        """Hash of readings and truth: what was kept of other data is not this cell's."""
        return sha256(self.readings.tobytes() + self.truth.tobytes()).hexdigest()[:12]


@dataclass(frozen=True)
class Plan:
    """A cell that is made where it is needed."""

    source: str
    loss: str
    kind: str
    build: Callable[[Plan], Cell]
    quick: bool = False
    draw: int = 0

    @property
    def name(self) -> str:
        """As in the tables."""
        return f"{self.source}, {self.loss}, {self.kind}"


def plans(*, quick: bool) -> list[Plan]:
    """All cells, real ones only where the data are."""
    if not data.available():
        print(f"no real data at {data.DATA}: simulated cells only")
    cells = [*_grid(), *_between(), *_own_faults()]
    every = [replace(cell, draw=k) for cell in cells for k in range(draws(cell))]
    return [plan for plan in (*every, LARGE) if plan.quick or not quick]


def draws(cell: Plan) -> int:
    """How often: what a radio really lost, or faultbench has in it, is there once."""
    return 1 if cell.loss == "radio" else DRAWS


def _grid() -> Iterator[Plan]:
    for name, source in data.sources().items():
        for loss in LOSSES:
            if not fits(loss, source.days):
                continue
            if loss == "radio" and not name.startswith("Redwood"):
                continue
            for kind in ("none", "spikes", "mixed"):
                plan = Plan(name, loss, kind, _built)
                few = kind in ("none", "spikes") and loss in BOTH and name in QUICK
                if kind == "none" or (loss == BOTH[0] and name in FALSE):
                    yield replace(plan, quick=few or plan.name in TARGETS)


def _between() -> Iterator[Plan]:
    for loss in BETWEEN:
        yield Plan("simulated temperature", loss, "spikes", _built)


def _own_faults() -> Iterator[Plan]:
    for attribute in data.FAULTBENCH if data.available() else ():
        for fault_set in ("drift", "mixed"):
            yield Plan(f"faultbench {attribute}", BOTH[0], f"its {fault_set}", _faultbench)


def _built(plan: Plan) -> Cell:
    source = data.sources()[plan.source]
    truth = source.truth()
    if plan.source.startswith("Redwood") and plan.loss == "radio":
        readings = data.redwood(plan.source.split()[1])[1]  # what it did deliver
    else:
        rng = np.random.default_rng(13 + plan.draw)
        measured = truth + source.noise * rng.normal(size=truth.shape)
        seen = arrived(plan.loss, *truth.shape, source.slots_a_day, plan.draw)
        readings = np.where(seen, measured, np.nan)
        if source.false is not None:  # delivered as they are, but nobody is asked for them
            truth = np.where(source.false(truth), np.nan, truth)
    false, support = _corrupted(readings, plan.kind, plan.draw)
    cell = Cell(plan.name, false, truth, support, source.slots_a_day, plan.draw)
    return _known(cell, source) if source.rank else cell


def _known(cell: Cell, source: data.Source) -> Cell:
    U, _, Vt = np.linalg.svd(cell.truth, full_matrices=False)
    noise = source.noise * np.random.default_rng(22).normal(size=cell.truth.shape)
    space = U[:, : source.rank], Vt[: source.rank].T
    return replace(cell, again=cell.truth + noise, space=space)


def _corrupted(readings: Array, kind: str, draw: int) -> tuple[Array, BoolArray]:
    """Make 4 % false; mixed faults share them, later kinds take what they hit."""
    out = readings.copy()
    kinds = {"none": (), "mixed": MIXED}.get(kind, (kind,))
    for k, each in enumerate(kinds):
        faulty = corrupt(readings, kind=each, rate=RATE / len(kinds), seed=12 + k + 10 * draw)
        out[faulty.support] = faulty.readings[faulty.support]
    return out, np.isfinite(readings) & (out != readings)


def _faultbench(plan: Plan) -> Cell:
    clean, value, false = data.faultbench(plan.source.split()[1], plan.kind.split()[1])
    clean, value, false = (part[: data.BRIEF] for part in (clean, value, false))
    seen = arrived(plan.loss, *clean.shape, 288, plan.draw)
    return Cell(plan.name, np.where(seen, value, np.nan), clean, seen & false, 288, plan.draw)


def _large(plan: Plan) -> Cell:
    net = network(10_000, 1_000, field="temperature", seed=21)
    again = net.truth + 0.5 * np.random.default_rng(22).normal(size=net.truth.shape)
    return Cell(plan.name, net.readings, net.truth, net.support, 288, again=again)


LARGE = Plan("simulated 10000×1000", BOTH[0], "spikes", _large)
