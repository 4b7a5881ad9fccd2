"""Where results live: in memory, or in files without a name if they are too large."""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass
from errno import ENOSPC
from typing import Any

import numpy as np

from fieldmend import spill
from fieldmend.grid import Array, Grid
from fieldmend.recovery.windows import windows

log = logging.getLogger(__name__)

IN_MEMORY = 2_000_000_000
"""Bytes of results that are kept in memory; more go to files."""
BYTES = 34  # of a cell: estimate, lower, upper and anomaly in float64, flag, replaced or not
SHARE = 8  # of memory that is limited, results take one part of so many


@dataclass(frozen=True)
class Storage:
    """Makes the arrays of the results.

    Attributes
    ----------
    files
        Whether they lie in files, which are gone with them.
    notes
        What is to be said of it.
    real
        The precision of what is estimated.
    """

    files: bool = False
    notes: tuple[str, ...] = ()
    real: Any = np.float64

    @classmethod
    def of(cls, grid: Grid, *, single: bool = False, entries: int | None = None) -> Storage:
        """Look how large the results will be, say it if it is much, and choose.

        Parameters
        ----------
        grid
            What is to be recovered.
        single
            In single precision: half the room.
        entries
            Of a window, if not the usual.
        """
        slots, nodes = grid.shape
        size = BYTES * slots * nodes * len(grid.values) // (2 if single else 1)
        large = any(isinstance(array, np.memmap) for array in grid.values.values())
        count = len(windows(slots, nodes, entries))
        notes = []
        if count > 1:
            notes.append(f"{slots:,} slots × {nodes:,} nodes: solved in {count} windows of slots")
        limit = spill.limit()
        most = IN_MEMORY if limit is None else min(IN_MEMORY, limit // SHARE)
        real = np.float32 if single else np.float64
        if not large and size <= most:
            _say(notes)
            return cls(False, tuple(notes), real)
        notes.append(f"the results take up to {_gigabytes(size)}, kept in files, not in memory")
        free = spill.free_disk()
        if free < size:
            raise OSError(
                ENOSPC,
                f"the results take up to {_gigabytes(size)} and {_gigabytes(free)} are free "
                "there: set TMPDIR to a larger disk, or take a longer slot or fewer conditions",
                tempfile.gettempdir(),
            )
        _say(notes)
        return cls(True, tuple(notes), real)

    def array(self, shape: tuple[int, ...], dtype: Any = None) -> Array:
        """An array to be filled; of what is estimated, if no type is given."""
        kind = self.real if dtype is None else dtype
        return spill.on_disk(shape, kind) if self.files else np.empty(shape, kind)


def _say(notes: list[str]) -> None:
    for note in notes:
        log.info(note)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
