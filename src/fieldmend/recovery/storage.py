"""Where results live: in memory, or in files of a temporary folder if they are too large."""

from __future__ import annotations

import logging
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend import scratch
from fieldmend.grid import Array, Grid
from fieldmend.recovery.windows import windows

log = logging.getLogger(__name__)

IN_MEMORY = 2_000_000_000
"""Bytes of results that are kept in memory; more go to files."""
BYTES = 34  # of a cell: estimate, lower, upper and anomaly in float64, flag, replaced or not


@dataclass(frozen=True)
class Storage:
    """Makes the arrays of the results. `folder` is None in memory."""

    folder: Path | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, grid: Grid) -> Storage:
        """Look how large the results will be, say it if it is much, and choose."""
        slots, nodes = grid.shape
        size = BYTES * slots * nodes * len(grid.values)
        large = any(isinstance(array, np.memmap) for array in grid.values.values())
        count = len(windows(slots, nodes))
        notes = []
        if count > 1:
            notes.append(f"{slots:,} slots × {nodes:,} nodes: solved in {count} windows of slots")
        if not large and size <= IN_MEMORY:
            cls._say(notes)
            return cls(None, tuple(notes))
        folder = scratch.folder()
        notes.append(f"the results take up to {_gigabytes(size)}, kept in files, not in memory")
        free = shutil.disk_usage(folder).free
        if free < size:
            folder.rmdir()
            raise OSError(
                ENOSPC,
                f"the results take up to {_gigabytes(size)} and {_gigabytes(free)} are free "
                "there: set TMPDIR to a larger disk, or take a longer slot or fewer conditions",
                str(folder.parent),
            )
        cls._say(notes)
        return cls(folder, tuple(notes))

    @staticmethod
    def _say(notes: list[str]) -> None:
        for note in notes:
            log.info(note)

    def array(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """An array to be filled."""
        if self.folder is None:
            return np.empty(shape, dtype)
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            return np.memmap(file.name, dtype=dtype, mode="w+", shape=shape)

    def belongs_to(self, owner: object) -> None:
        """Remove the files with their owner."""
        if self.folder is not None:
            weakref.finalize(owner, shutil.rmtree, self.folder, ignore_errors=True)

    def clear(self) -> None:
        """Remove the files now."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
