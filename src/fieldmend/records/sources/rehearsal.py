"""A file that may end the process that reads it is first read by another.

The libraries beneath netCDF-4 believe what a file says of itself; a damaged one can end them by a
segmentation fault, which no Python code can catch, or keep them busy for ever. So another process
reads it first, and is ended where that takes it longer than a file of its size can take. It is
started with the first such file, while this one imports what it needs itself, and kept for the
next.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

SECONDS = 5.0  # of its CPU for any file
BYTES_A_SECOND = 5e6  # slow for a packed one on a slow machine
READER = f"""
import gc, json, os, sys, time, warnings
warnings.simplefilter("ignore")
import xarray
gc.freeze()  # what was imported is not looked through again after every file
try:
    import resource
except ImportError:  # Windows: nothing ends it there
    resource = None
for line in sys.stdin:
    try:
        path = json.loads(line)
        if resource:
            spent = time.process_time() + {SECONDS} + os.path.getsize(path) / {BYTES_A_SECOND}
            most = resource.getrlimit(resource.RLIMIT_CPU)[1]  # none, or the user's own
            limit = int(spent) + 1 if most == resource.RLIM_INFINITY else min(int(spent) + 1, most)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, most))
        with xarray.open_dataset(path) as data:
            for name in data.variables:
                data[name].values  # one after the other: no more memory than the largest
            if not data.variables:  # what is in groups
                import h5py
                with h5py.File(path) as file:
                    file.visititems(
                        lambda _, one: hasattr(one, "shape") and one[()] is None or None
                    )
    except Exception:
        pass  # whoever asks will meet it too, and says it in words
    data = None
    gc.collect()  # what a damaged file leaves behind may end the process when it is cleared away
    print("read", flush=True)
"""

_lock = threading.Lock()
_reader: subprocess.Popen[str] | None = None


def begin() -> None:
    """Start the other process, if it is not there already."""
    global _reader
    if _reader is None or _reader.poll() is not None:
        _close()
        _reader = subprocess.Popen(
            [sys.executable, "-P", "-c", READER], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def survived(path: Path) -> bool:
    """Whether a process that reads the whole file, whatever it finds there, lives on.

    Parameters
    ----------
    path
        The file.
    """
    with _lock:
        begin()
        assert _reader is not None
        assert _reader.stdin is not None
        assert _reader.stdout is not None
        try:
            print(json.dumps(str(path.resolve())), file=_reader.stdin, flush=True)
            said = _reader.stdout.readline()
        except BrokenPipeError:
            said = ""
        except BaseException:  # Ctrl-C: its answer would be taken for that to the next file
            _reader.kill()
            raise
        return said == "read\n"


@atexit.register
def _close() -> None:
    """End the other process, and take leave of it."""
    if _reader is None:
        return
    for pipe in (_reader.stdin, _reader.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    _reader.wait()
