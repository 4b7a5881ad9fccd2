"""Grid: readings as slots × nodes, with their labels and where they came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class FileRead:
    """A file, table or frame that was read."""

    name: str
    sha256: str | None
    bytes: int | None
    dialect: str
    rows: int


@dataclass(frozen=True)
class Rejects:
    """Rows that were set aside: the first thousand listed, all counted by reason."""

    listed: tuple[Any, ...] = ()
    """Each with `file`, `line`, `reason` and `text`."""
    totals: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Origin:
    """Where readings came from. Always: read = used + duplicates + set_aside."""

    files: tuple[FileRead, ...] = ()
    dialect: str = ""
    read: int = 0
    used: int = 0
    duplicates: int = 0
    set_aside: int = 0
    rejects: Rejects = field(default_factory=Rejects)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grid:
    """Readings as slots × nodes.

    Attributes
    ----------
    values : dict
        Condition → float64 array, slots × nodes; NaN where nothing was observed.
    nodes : tuple of str
    times : ndarray of int64
        Left edges of the slots, microseconds, UTC; regular.
    slot : int
        Length of a slot, microseconds.
    places : dict or None
        Node → ``{"lat", "lon"[, "elevation"]}`` or ``{"x", "y"[, "z"]}``.
    units : dict
        Condition → unit, where it is known.
    origin : Origin
    """

    values: dict[str, Array]
    nodes: tuple[str, ...]
    times: Array
    slot: int
    places: dict[str, dict[str, float]] | None = None
    units: dict[str, str] = field(default_factory=dict)
    origin: Origin = field(default_factory=Origin)

    def __post_init__(self) -> None:
        shape = (len(self.times), len(self.nodes))
        for name, array in self.values.items():
            if array.shape != shape:
                msg = f"{name} is {array.shape}, slots × nodes are {shape}"
                raise ValueError(msg)

    @property
    def shape(self) -> tuple[int, int]:
        """Slots, nodes."""
        return len(self.times), len(self.nodes)
