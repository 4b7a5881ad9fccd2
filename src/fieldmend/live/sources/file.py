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
        self.inode, self.place, self.rest = 0, 0, b""

    def run(self, feed: Feed) -> None:
        """Read until the feed has ended."""
        feed.begun()
        try:
            self._resume(feed)
            while not feed.ended.is_set():
                if not self._read(feed) and not self._moved():
                    if not self.follow:
                        return
                    feed.ended.wait(PAUSE)
        except Stopped:
            pass
        finally:
            if self.file is not None:
                self.file.close()

    def _resume(self, feed: Feed) -> None:
        """Go on where the journal says, if it is the same file and still as long."""
        journal = feed.intake.journal
        inode, place = int(journal.get("file_inode") or 0), int(journal.get("file_place") or 0)
        if not self._open():
            return
        assert self.file is not None
        if inode == self.inode and place <= os.fstat(self.file.fileno()).st_size:
            head = self.file.readline()
            list(self.lines.read(head.decode("utf-8", "replace"), 0))  # the header
            self.file.seek(place)
            self.place = place

    def _open(self) -> bool:
        try:
            self.file = self.path.open("rb")
        except FileNotFoundError:
            return False
        self.inode = os.fstat(self.file.fileno()).st_ino
        self.place, self.rest, self.lines = 0, b"", Lines(self.format, str(self.path))
        return True

    def _moved(self) -> bool:
        """Whether another file is there now, or this one was cut: then it is begun anew."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False  # between two files
        if self.file is not None and there.st_ino == self.inode and there.st_size >= self.place:
            return False
        if self.file is not None:
            self.file.close()
        return self._open()

    def _read(self, feed: Feed) -> bool:
        """The next whole lines; False if there are none."""
        if self.file is None:
            return False
        data = self.rest + self.file.read(CHUNK)
        *whole, self.rest = data.split(b"\n")
        if not self.follow and len(data) < CHUNK and self.rest:
            whole, self.rest = [*whole, self.rest], b""  # the last line has no end
        self.place = self.file.tell()
        if not whole:
            return False
        arrived = feed.clock.now()
        for k in range(0, len(whole), AT_ONCE):
            some = [line.decode("utf-8", "replace") for line in whole[k : k + AT_ONCE]]
            feed.take((one for line in some for one in self.lines.read(line, arrived)), arrived)
        journal = feed.intake.journal
        with journal.writing() as connection:
            put(connection, file_inode=self.inode, file_place=self.place - len(self.rest))
        return True
