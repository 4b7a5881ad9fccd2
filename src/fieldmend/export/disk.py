"""A file for a library that does not survive a disk that is full.

HDF5 ends the process by a segmentation fault where a write fails as it closes a file. So writes go
through here: one that fails is kept and told to us, and the library is told that all is well.
"""

from __future__ import annotations

import io
import os
from types import TracebackType


class Disk:
    """A new file to write and read; leaving it raises the first error that a write met."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = io.FileIO(path, "w+")
        self.error: OSError | None = None

    def __enter__(self) -> Disk:
        """The file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; a write that failed is the cause of whatever else went wrong."""
        self._file.close()
        if self.error is not None:
            raise self.error

    def write(self, data: bytes | memoryview) -> int:
        """All of it, or nothing more once one has failed."""
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while self.error is None and left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self.error = error
        return size

    def read(self, size: int = -1) -> bytes:
        """The bytes that are there."""
        return self._file.read(size) or b""

    def readinto(self, buffer: memoryview) -> int:
        """As many bytes as are asked for: zeros, where a write has failed."""
        there = memoryview(buffer).cast("B")
        got = self._file.readinto(there) or 0
        there[got:] = bytes(len(there) - got)
        return len(there)

    def truncate(self, size: int | None = None) -> int:
        """To that size."""
        try:
            return self._file.truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """To a place in it."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()

    def flush(self) -> None:
        """Nothing: it keeps nothing back."""
