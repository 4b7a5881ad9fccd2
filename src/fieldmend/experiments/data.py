"""The nine matrices of the paper's Table I: from files where they are, else simulated look-alikes.

The construction is the paper's (Section V): slots of ten times the resolution, one of the readings
in a slot picked at random. Of the grid the stretch of slots with the most readings is taken, and
the nodes heard best in it. Slots without any reading stay empty: they are never shown to a method
and never scored; only where a full matrix is needed (singular values) a straight line fills them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldmend import simulate
from fieldmend.errors import InputError
from fieldmend.grid import Array, Grid, stamp
from fieldmend.metrics import interpolate
from fieldmend.records import read

FloatArray = Array  # float64, slots × nodes; typed loosely, as `decompose` gives it back
log = logging.getLogger(__name__)

SEED = 2015  # of everything random in these experiments
NOISE = 0.01  # of a simulated field's range
ANOMALIES = 0.04  # of a simulated matrix: within the 2.77–5.51 % that the paper found


@dataclass(frozen=True)
class Source:
    """What a deployment of Table I is made from."""

    title: str
    patterns: tuple[str, ...]  # files, the first pattern that matches counts
    slot: str
    raw_slot: str  # at which a reading is expected: for the loss rates
    conditions: Mapping[str, tuple[str, ...]]  # name → names in files


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "intellab": Source(
            "IntelLab",
            ("data.txt*", "intellab*.txt*", "intellab*.parquet"),
            "5min",
            "30s",
            {"temperature": (), "humidity": (), "light": ()},
        ),
        "greenorbs": Source(
            "GreenOrbs",
            ("greenorbs*",),
            "10min",
            "1min",
            {"temperature": (), "humidity": (), "light": ("illumination",)},
        ),
        "ndbc": Source(
            "NDBC",
            ("ctd*", "ndbc*.parquet", "ndbc*.csv*", "ndbc*.txt*"),
            "1h",
            "1h",
            {
                "air_temperature": ("air_temp_c", "atmp"),
                "water_temperature": ("water_temp_c", "wtmp", "temperature"),
                "pressure": ("pressure_hpa", "pres", "bar"),
            },
        ),
    }
)
# The paper's CTD files, for whoever has them: other conditions, every 10 minutes.
CTD: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"temperature": (), "salt": ("salinity", "psal"), "conductivity": ("cond",)}
)


@dataclass(frozen=True)
class Matrix:
    """One matrix of Table I, slots × nodes, NaN where nothing was ever observed."""

    deployment: str
    condition: str
    values: FloatArray
    simulated: bool
    field: FloatArray | None = None  # the true field, of a simulated one
    false: NDArray[np.bool_] | None = None  # where its spikes are
    start: str = ""

    @property
    def name(self) -> str:
        """Deployment and condition."""
        return f"{self.deployment} {self.condition}"

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where there is a reading."""
        return ~np.isnan(self.values)

    @property
    def full(self) -> FloatArray:
        """Without holes: a straight line through the node's own readings fills them."""
        return interpolate(self.values)

    @property
    def labels(self) -> dict[str, str]:
        """The columns that say in every table what this is."""
        return {
            "deployment": self.deployment,
            "condition": self.condition,
            "simulated": "yes" if self.simulated else "no",
        }

    @property
    def fingerprint(self) -> str:
        """Of the numbers."""
        found = hashlib.sha256(np.ascontiguousarray(self.values).tobytes())
        found.update(repr((self.values.shape, self.name, self.simulated)).encode())
        return found.hexdigest()[:16]

    def cut(self, slots: int, nodes: int) -> Matrix:
        """Some slots from the middle and the first nodes: for a quick look."""
        first = max(0, (len(self.values) - slots) // 2)
        part = (slice(first, first + slots), slice(nodes))
        return replace(
            self,
            values=self.values[part],
            field=None if self.field is None else self.field[part],
            false=None if self.false is None else self.false[part],
        )


@dataclass(frozen=True)
class Deployment:
    """A deployment: its matrices, where they are from, and the loss rate of each node."""

    key: str
    title: str
    origin: str
    matrices: tuple[Matrix, ...]
    loss: FloatArray
    slot_minutes: float
    simulated: bool


def load(folder: Path | None) -> tuple[Deployment, ...]:
    """The three deployments: from the folder's files, simulated where there are none."""
    found = {key: _files(folder, source) for key, source in SOURCES.items()}
    if folder is not None and not any(found.values()):
        patterns = ", ".join(p for source in SOURCES.values() for p in source.patterns)
        raise InputError(
            "no file of the paper's data sets", file=str(folder), hint=f"Names: {patterns}"
        )
    return tuple(
        _measured(key, source, found[key]) if found[key] else simulated(key)
        for key, source in SOURCES.items()
    )


def _files(folder: Path | None, source: Source) -> list[Path]:
    if folder is None:
        return []
    if not folder.is_dir():
        raise InputError(
            "no such folder", file=str(folder), hint="--data names the folder of the files"
        )
    for pattern in source.patterns:
        paths = [p for p in sorted(folder.glob(pattern)) if not _places_only(p)]
        if paths:
            return paths
    return []


def _places_only(path: Path) -> bool:
    return "locs" in path.name or "locations" in path.name or "full" in path.name


def _measured(key: str, source: Source, paths: list[Path]) -> Deployment:
    log.info("reading %s", ", ".join(path.name for path in paths))
    ctd = paths[0].name.startswith("ctd")
    slot, raw = ("100min", "10min") if ctd else (source.slot, source.raw_slot)
    records = read([str(path) for path in paths])
    try:
        grid = records.grid(slot=slot, slot_value="random", seed=SEED)
        expected = grid if raw == slot else records.grid(slot=raw)
    finally:
        records.close()
    shape = simulate.DEPLOYMENTS[key]
    names = _conditions(grid, CTD if ctd else source.conditions, paths[0])
    matrices = tuple(
        _densest(grid, column, (key, name), (shape.slots, shape.nodes))
        for name, column in names.items()
    )
    first = expected.values[next(iter(names.values()))]
    loss = 1 - (~np.isnan(first)).mean(axis=0)
    origin = ", ".join(path.name for path in paths)
    heard = loss[loss < 1]
    return Deployment(key, source.title, origin, matrices, heard, grid.slot / 6e7, simulated=False)


def _conditions(grid: Grid, wanted: Mapping[str, tuple[str, ...]], path: Path) -> dict[str, str]:
    """Name → column, for the wanted conditions that the grid has."""
    there = {name.casefold(): name for name in grid.values}
    found = {
        name: there[alias]
        for name, aliases in wanted.items()
        for alias in (name, *aliases)
        if alias in there
    }
    if not found:
        raise InputError(
            f"none of the conditions {', '.join(wanted)}",
            file=str(path),
            hint=f"Columns found: {', '.join(grid.values)}",
        )
    return found


def _densest(grid: Grid, column: str, name: tuple[str, str], size: tuple[int, int]) -> Matrix:
    """The stretch of slots, and the nodes heard best in it, that hold the most readings."""
    values = grid.values[column]
    slots, nodes = min(size[0], len(values)), min(size[1], values.shape[1])
    total = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(~np.isnan(values), axis=0)])
    counts = total[slots:] - total[: len(total) - slots]
    held = np.sort(counts, axis=1)[:, -nodes:].sum(axis=1)
    first = int(held.argmax())
    best = np.sort(np.argsort(-counts[first], kind="stable")[:nodes])
    best = best[counts[first, best] > 0]
    chosen = values[first : first + slots, best]
    return Matrix(*name, chosen, simulated=False, start=stamp(int(grid.times[first])))


def simulated(key: str) -> Deployment:
    """A look-alike: a smooth field, noise, and 4 % spikes; loss rates as in the paper's Fig. 4."""
    shape = simulate.DEPLOYMENTS[key]
    matrices = []
    for i, condition in enumerate(shape.conditions):
        field = simulate.deployment(key, condition, seed=SEED + i)
        rng = np.random.default_rng([SEED, i])
        noisy = field + NOISE * np.ptp(field) * rng.normal(size=field.shape)
        made = simulate.corrupt(noisy, rate=ANOMALIES, seed=rng)
        matrices.append(Matrix(key, condition, made.readings, True, field, made.deviation != 0))
    drawn = simulate.observe(shape.slots, shape.nodes, loss="per_node", rate=0.4, seed=SEED)
    loss = 1 - drawn.mean(axis=0)
    origin = "simulated: climate field, 1 % noise, 4 % spikes"
    minutes = 1440 / shape.slots_per_day
    title = SOURCES[key].title
    return Deployment(key, title, origin, tuple(matrices), loss, minutes, simulated=True)


def table(deployments: tuple[Deployment, ...]) -> list[dict[str, Any]]:
    """Table I: what there is, beside the paper's sizes."""
    rows = []
    for one in deployments:
        size = simulate.DEPLOYMENTS[one.key]
        for matrix in one.matrices:
            slots, nodes = matrix.values.shape
            rows.append(
                {
                    **matrix.labels,
                    "origin": one.origin,
                    "nodes": nodes,
                    "slots": slots,
                    "paper_nodes": size.nodes,
                    "paper_slots": size.slots,
                    "slot_minutes": float(one.slot_minutes),
                    "start": matrix.start,
                    "empty_share": float(1 - matrix.known.mean()),
                    **_extremes(matrix.values),
                }
            )
    return rows


def _extremes(values: FloatArray) -> dict[str, float]:
    """The range, and how much of ΣL² the single largest reading makes up."""
    seen = values[~np.isnan(values)]
    return {
        "lowest": float(seen.min()),
        "median": float(np.median(seen)),
        "highest": float(seen.max()),
        "largest_share": float((seen**2).max() / (seen**2).sum()),
    }
