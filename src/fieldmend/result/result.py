"""The result of a recovery as plain data: all that report, export and summary know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fieldmend.grid import Grid
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.version import __version__


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """Every condition, recovered, with the labels of the grid.

    Attributes
    ----------
    grid
        The readings and their labels.
    conditions
        Condition → `Recovered`.
    options
        How it was made.
    backend
        The library of the frames that are given out; the first that is installed if None.
    notes
        Sentences about the whole.
    """

    grid: Grid
    conditions: Mapping[str, Recovered]
    options: Options
    backend: str | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, condition: str) -> Recovered:
        return self.conditions[condition]

    @property
    def made_by(self) -> str:
        """Version and options, for a file's history; no clock: the same every time."""
        return f"fieldmend {__version__}: method {self.options.method}, seed {self.options.seed}"
