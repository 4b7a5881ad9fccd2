"""Grid: readings as slots × nodes, with their labels and where they came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fieldmend.text import counted, slot_length

Array = np.ndarray[Any, np.dtype[Any]]


def stamp(time: int) -> str:
    """Microseconds, UTC, as ISO 8601: parts of a second only where there are any.

    Examples
    --------
    >>> stamp(1_078_358_400_000_000)
    '2004-03-04T00:00:00Z'
    """
    precision = "us" if time % 1_000_000 else "s"
    return f"{np.datetime64(int(time), 'us').astype(f'datetime64[{precision}]')}Z"


@dataclass(frozen=True)
class FileRead:
    """A file, table or frame that was read."""

    name: str
    sha256: str | None
    bytes: int | None
    dialect: str
    rows: int
    columns: str = ""


@dataclass(frozen=True)
class Rejects:
    """Rows that were set aside: the first thousand listed, all counted by reason."""

    listed: tuple[Any, ...] = ()
    """Each with `file`, `line`, `reason` and `text`."""
    totals: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Cells:
    """What became of a condition's cells: read = used + missing + duplicates + set_aside."""

    read: int = 0
    used: int = 0
    missing: int = 0
    duplicates: int = 0
    set_aside: int = 0
    why: Mapping[str, int] = field(default_factory=dict)
    """Of those set aside: with their `row`, or alone as no `number` or as `censored` (<0.1)."""


@dataclass(frozen=True)
class Origin:
    """Where readings came from. Always: read = used + duplicates + set_aside, in rows."""

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
    cells: Mapping[str, Cells] = field(default_factory=dict)
    """By condition."""


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
        Files, counts, notes and warnings; empty for a grid that was not read.

    Examples
    --------
    >>> import numpy as np
    >>> hours = 3_600_000_000 * np.arange(3)
    >>> grid = Grid({"t": np.zeros((3, 2))}, ("a", "b"), hours, 3_600_000_000)
    >>> grid, grid.shape
    (<Grid: 3 slots of 1 h × 2 nodes, t>, (3, 2))
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

    def __repr__(self) -> str:
        slots, nodes = counted(len(self.times), "slot"), counted(len(self.nodes), "node")
        return f"<Grid: {slots} of {slot_length(self.slot)} × {nodes}, {', '.join(self.values)}>"

    @classmethod
    def of(
        cls,
        readings: Any,
        *,
        condition: str = "value",
        unit: str = "",
        nodes: Any = None,
        start: str = "1970-01-01",
        slot_seconds: float = 300.0,
    ) -> "Grid":
        """A grid of one condition from a plain array.

        Parameters
        ----------
        readings
            Slots × nodes, NaN = not observed.
        condition, unit
            What was measured, and in what.
        nodes
            Their names; 1, 2, … if not given.
        start
            Where the first slot begins, UTC.
        slot_seconds
            Length of a slot.

        Returns
        -------
        Grid

        Raises
        ------
        ValueError
            For what is no slots × nodes.

        Examples
        --------
        >>> Grid.of([[1.0, 2.0], [1.5, float("nan")]]).nodes
        ('1', '2')
        """
        values = np.asarray(readings, dtype=np.float64)
        if values.ndim != 2 or not values.size:
            msg = f"readings must be slots × nodes, with at least one of each, not {values.shape}"
            raise ValueError(msg)
        slot = round(slot_seconds * 1e6)
        first = np.datetime64(start, "us").astype(np.int64)
        names = range(1, values.shape[1] + 1) if nodes is None else nodes
        return cls(
            {condition: np.where(np.isinf(values), np.nan, values)},
            tuple(str(name) for name in names),
            first + slot * np.arange(len(values), dtype=np.int64),
            slot,
            units={condition: unit} if unit else {},
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Slots, nodes."""
        return len(self.times), len(self.nodes)
