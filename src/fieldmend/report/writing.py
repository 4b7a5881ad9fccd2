"""A file appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise FileExistsError if the file is there and `force` is not set."""
    if path.exists() and not force:
        msg = f"{path} exists: choose another name, or set force to replace it"
        raise FileExistsError(msg)


def write_whole(path: Path, data: bytes, *, force: bool) -> None:
    """Write a file: temporary file beside it, fsync, rename."""
    refuse_existing(path, force=force)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
