"""Room for large arrays: how much memory may be taken, and files for what does not fit."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

_limit: ContextVar[int | None] = ContextVar("limit", default=None)
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
LEAST = 500_000_000
"""Bytes that no limit may be below: Python and its libraries take a third of it."""


@contextmanager
def limited(memory: int | None) -> Iterator[None]:
    """Within, no more memory than so many bytes is to be taken; None: what the system has."""
    token = _limit.set(memory)
    try:
        yield
    finally:
        _limit.reset(token)


def limit() -> int | None:
    """The bytes that were set by `limited`."""
    return _limit.get()


def size_in_bytes(given: str | float) -> int:
    """A size as people write it.

    Examples
    --------
    >>> size_in_bytes("4GB"), size_in_bytes("1.5 GiB"), size_in_bytes(2e9)
    (4000000000, 1610612736, 2000000000)
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        return int(given)
    found = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)(i?)b?\s*", str(given).casefold())
    try:
        number = float(found[1]) if found else 0.0
    except ValueError:
        number = 0.0
    if found is None or number <= 0:
        msg = f"{given!r} is no size of memory: write 4GB or 800MB"
        raise ValueError(msg)
    unit = UNITS[found[2]]
    if found[3]:
        unit = 1024 ** (len(str(unit)) // 3)
    return int(number * unit)


def free_memory() -> int:
    """Bytes of memory that may be taken: the limit; else what is free; else half of all."""
    most = _limit.get()
    if most is not None:
        return most
    try:
        text = Path("/proc/meminfo").read_text()
        line = next(line for line in text.splitlines() if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def free_disk() -> int:
    """Bytes that are free where temporary files go."""
    return shutil.disk_usage(tempfile.gettempdir()).free


def on_disk(shape: tuple[int, ...], dtype: Any = np.float64) -> np.memmap[Any, Any]:
    """An array in a file without a name: it is gone with the array."""
    with tempfile.TemporaryFile(prefix="fieldmend-") as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)
