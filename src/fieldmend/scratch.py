"""Folders for what is needed only while a run lasts; those of runs that were killed are removed.

Their names say which machine and process they belong to: a run that starts later removes what a
process that is no more has left, and nothing else.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

NAME = "fieldmend"


def host() -> str:
    """The machine, as eight hexadecimal digits."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def folder(within: Path | None = None, *, hidden: bool = False) -> Path:
    """A new folder of this process, in TMPDIR or `within` another.

    Examples
    --------
    >>> made = folder()
    >>> made.name.startswith(f"fieldmend-{host()}-{os.getpid()}-")
    True
    >>> made.rmdir()
    """
    where = Path(tempfile.gettempdir()) if within is None else within
    prefix = f"{'.' if hidden else ''}{NAME}-{host()}-"
    _tidied(where, prefix, os.getpid())
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=where))


@cache
def _tidied(where: Path, prefix: str, process: int) -> None:
    """Remove what killed runs left; once for each place in a process."""
    with suppress(OSError):
        for entry in where.glob(f"{prefix}*-*"):
            pid = entry.name.removeprefix(prefix).partition("-")[0]
            if pid.isdigit() and not process_runs(int(pid)):
                shutil.rmtree(entry, ignore_errors=True)


def process_runs(pid: int) -> bool:
    """Whether a process of this machine is there.

    Examples
    --------
    >>> process_runs(os.getpid())
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
