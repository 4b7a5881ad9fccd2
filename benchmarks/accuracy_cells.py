"""The cells of the accuracy tables: data × loss × anomalies. Seeds are fixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import accuracy_data as data
from fieldmend.simulate import corrupt, network, observe

Array = NDArray[np.float64]

# name: (pattern, share lost, mean length in slots)
LOSSES = {
    "uniform p=.9": ("uniform", 0.1, None),
    "uniform p=.5": ("uniform", 0.5, None),
    "uniform p=.2": ("uniform", 0.8, None),
    "uniform p=.1": ("uniform", 0.9, None),
    "bursts": ("bursts", 0.3, 10.0),
    "offline 1/25": ("blocks", 0.1, 20.0),
    "offline 1/5": ("blocks", 0.3, None),
}
ANOMALIES = ("none", "spikes", "bursts")
QUICK = ("uniform p=.5", "offline 1/5")


@dataclass(frozen=True)
class Cell:
    """Readings with NaN, the truth (NaN where unknown), which readings are false."""

    name: str
    readings: Array
    truth: Array
    support: NDArray[np.bool_]
    period: int | None  # slots a day
    again: Array | None = None  # simulated: another noisy reading of the same field
    space: tuple[Array, Array] | None = None  # simulated: for the oracle

    @property
    def simulated(self) -> bool:
        """Is everything known?"""
        return self.space is not None


def cells(*, quick: bool) -> Iterator[Cell]:
    """All cells, real ones only where the data are."""
    yield from _simulated(quick)
    if not data.available():
        print(f"no real data at {data.DATA}: simulated cells only")
        return
    yield from _redwood()
    for name, (truth, period) in _matrices(quick).items():
        for loss in QUICK if quick else LOSSES:
            for kind in ANOMALIES[:2] if quick else ANOMALIES:
                yield _lossy(name, truth, loss, kind, period)


def _matrices(quick: bool) -> dict[str, tuple[Array, int]]:
    real = {f"IntelLab {c}": (data.intellab(c), 288) for c in data.INTELLAB}
    real |= {f"NDBC {v}": (data.ndbc(v), 24) for v in data.NDBC}
    names = ("IntelLab temperature", "IntelLab light", "NDBC pressure") if quick else real
    return {name: real[name] for name in names}


def _lossy(name: str, truth: Array, loss: str, kind: str, period: int) -> Cell:
    pattern, rate, length = LOSSES[loss]
    seen = observe(*truth.shape, loss=pattern, rate=rate, mean_length=length, seed=11)
    readings = np.where(seen, truth, np.nan)
    return _corrupted(f"{name}, {loss}, {kind}", readings, truth, kind, period)


def _corrupted(name: str, readings: Array, truth: Array, kind: str, period: int) -> Cell:
    if kind == "none":
        return Cell(name, readings, truth, np.zeros(truth.shape, dtype=bool), period)
    false = corrupt(readings, kind=kind, rate=0.04, seed=12)
    return Cell(name, false.readings, truth, false.support, period)


def _redwood() -> Iterator[Cell]:
    for condition in ("temperature", "humidity"):
        logged, heard = data.redwood(condition)
        for kind in ANOMALIES[:2]:
            yield _corrupted(f"Redwood {condition}, radio, {kind}", heard, logged, kind, 288)


def _simulated(quick: bool) -> Iterator[Cell]:
    for field, rank in (("temperature", 3), ("low_rank", 4)):
        for p in (0.5, 0.1) if quick else (0.9, 0.7, 0.5, 0.3, 0.2, 0.1):
            net = network(500, 54, field=field, sampling=p, seed=21)
            U, _, Vt = np.linalg.svd(net.truth, full_matrices=False)
            again = net.truth + 0.5 * np.random.default_rng(22).normal(size=net.truth.shape)
            space = U[:, :rank], Vt[:rank].T
            name = f"simulated {field}, uniform p={p:g}, spikes"
            yield Cell(name, net.readings, net.truth, net.support, 288, again, space)
