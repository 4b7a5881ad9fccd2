"""A file that grows: its new lines, across rotation and truncation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from fieldmend.live.journal import put
from fieldmend.live.sources.feed import Feed, Stopped
from fieldmend.live.sources.lines import AT_ONCE, Lines

PAUSE = 0.5  # seconds between two looks
CHUNK = 1 << 20
MARK = 256  # bytes before our place that tell whether what we read is still there


class GrowingFile:
    """`logger.csv --follow`. Where it was is remembered in the journal: a restart goes on there.

    Parameters
    ----------
    path
        The file; it need not be there yet.
    format
        Of its lines.
    follow
        Wait for more at its end. Otherwise it is read once.
    """

    def __init__(self, path: str | Path, format: str = "auto", *, follow: bool = True) -> None:
        self.path, self.format, self.follow = Path(path), format, follow
        self.lines = Lines(format, str(path))
        self.file: BinaryIO | None = None
        self.inode, self.place, self.rest, self.mark = 0, 0, b"", b""

    def run(self, feed: Feed) -> None:
        """Read until the feed has ended."""
        feed.begun()
        try:
            self._resume(feed)
            while not feed.ended.is_set():
                if not self._read(feed) and not self._moved(feed):
                    if not self.follow:
                        return
                    feed.ended.wait(PAUSE)
        except Stopped:
            pass
        finally:
            if self.file is not None:
                self.file.close()

    def _resume(self, feed: Feed) -> None:
        """Go on where the journal says, in the file that holds what we read of it.

        It may have another name by now: turned over while nobody looked, its last lines are there.
        """
        journal = feed.intake.journal
        inode, place = int(journal.get("file_inode") or 0), int(journal.get("file_place") or 0)
        mark = bytes.fromhex(journal.get("file_mark") or "")
        for path in [self.path, *self._beside(inode)]:
            if self._open(path) and inode == self.inode and self._holds(mark, place):
                assert self.file is not None
                head = self.file.readline()
                list(self.lines.read(head.decode("utf-8", "replace"), 0))  # the header
                self.file.seek(place)
                self.place, self.mark = place, mark
                return
        self._open()

    def _beside(self, inode: int) -> list[Path]:
        """The file of this number in the same folder, under whatever name."""
        try:
            with os.scandir(self.path.parent) as found:
                return [Path(one) for one in found if inode and one.inode() == inode]
        except OSError:
            return []

    def _open(self, path: Path | None = None) -> bool:
        if self.file is not None:
            self.file.close()
            self.file = None
        try:
            self.file = (path or self.path).open("rb")
        except FileNotFoundError:
            return False
        self.inode = os.fstat(self.file.fileno()).st_ino
        self.place, self.rest, self.lines = 0, b"", Lines(self.format, str(self.path))
        self.mark = b""
        return True

    def _holds(self, mark: bytes, place: int) -> bool:
        """Whether these bytes are before a place: a file cut and written anew may be longer."""
        assert self.file is not None
        if os.fstat(self.file.fileno()).st_size < place:
            return False
        here = self.file.tell()
        self.file.seek(place - len(mark))
        found = self.file.read(len(mark))
        self.file.seek(here)
        return found == mark

    def _moved(self, feed: Feed) -> bool:
        """Whether another file is there now, or this one was cut: then it is begun anew."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False  # between two files
        if self.file is not None and there.st_ino == self.inode and there.st_size >= self.place:
            return False  # as long as it was; what is in it, `_read` asks
        if self.file is not None and there.st_ino != self.inode:
            while self._read(feed, last=True):  # what was written since we looked
                pass
        return self._open()

    def _read(self, feed: Feed, *, last: bool = False) -> bool:
        """The next whole lines; False if there are none. `last`: no more is written to it."""
        if self.file is None or self._rewritten():
            return False
        data = self.rest + self.file.read(CHUNK)
        *whole, self.rest = data.split(b"\n")
        if (last or not self.follow) and len(data) < CHUNK and self.rest:
            whole, self.rest = [*whole, self.rest], b""  # the last line has no end
        self.place = self.file.tell()
        if not whole:
            return False
        for k in range(0, len(whole), AT_ONCE):
            some = [line.decode("utf-8", "replace") for line in whole[k : k + AT_ONCE]]
            arrived = feed.intake.arrival(len(some))
            feed.take(self.lines.read_all(some, arrived), arrived)
        self.mark = (self.mark + data[: len(data) - len(self.rest)])[-MARK:]
        place, journal = self.place - len(self.rest), feed.intake.journal
        with journal.writing() as connection:
            put(connection, file_inode=self.inode, file_place=place, file_mark=self.mark.hex())
        return True

    def _rewritten(self) -> bool:
        """Whether there is more, but not after what was read: then the file is begun anew."""
        assert self.file is not None
        size = os.fstat(self.file.fileno()).st_size
        if size <= self.place or self._holds(self.mark, self.place - len(self.rest)):
            return False
        return not self._open()
