"""One instance a folder: a second one is refused with the first's pid."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from fieldmend.errors import InputError

FILE = "live.lock"


class Lock:
    """Held while the process lives; the system lets go of it, however the process ends.

    Parameters
    ----------
    folder
        The state's.

    Raises
    ------
    InputError
        Where another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / FILE).open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            pid = self._file.read().strip() or "unknown"
            self._file.close()
            raise InputError(
                f"another fieldmend live runs on it (pid {pid})",
                file=str(folder),
                hint="End that one first, or name another --state",
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Let go."""
        self._file.close()


def holder(folder: Path) -> int | None:
    """The pid of the process that holds a folder; None if there is none."""
    try:
        file = (folder / FILE).open("r+")
    except OSError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            text = file.read().strip()
            return int(text) if text.isdigit() else None
    return None
