"""The cases: sizes × sampling rates × seeds, simulated once and kept as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIZES = ((54, 500), (216, 300), (326, 750), (500, 5000))
SAMPLING = (0.9, 0.5, 0.3)
SEEDS = (0, 1, 2)
RANK, NOISE, ANOMALY_RATE = 4, 0.5, 0.04


@dataclass(frozen=True)
class Case:
    """One simulated network: nodes × slots as in the paper's tables, stored slots × nodes."""

    nodes: int
    slots: int
    sampling: float
    seed: int

    @property
    def size(self) -> str:
        """Nodes × slots in words."""
        return f"{self.nodes}×{self.slots}"

    @property
    def stem(self) -> str:
        """File name without its ending."""
        return f"{self.nodes}x{self.slots}-p{self.sampling:g}-{self.seed}"


@dataclass(frozen=True)
class Truth:
    """What the grader knows and no method is shown."""

    field: NDArray[np.float64]
    observed: NDArray[np.bool_]
    anomalous: NDArray[np.bool_]


def prepare(case: Case, folder: Path) -> tuple[Path, Truth]:
    """Simulate a case, write its readings for the workers and hand out the truth."""
    from fieldmend.simulate import network

    net = network(
        case.slots,
        case.nodes,
        field="low_rank",
        rank=RANK,
        sampling=case.sampling,
        anomaly="spikes",
        anomaly_rate=ANOMALY_RATE,
        noise=NOISE,
        seed=case.seed,
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case.stem}.npz"
    np.savez(path, readings=net.readings)
    return path, Truth(net.truth, net.observed, net.anomalies != 0)
