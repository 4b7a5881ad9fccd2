"""Files that change while they are read: noticed afterwards, and read again from a copy.

The SHA-256 in the account has to be that of the bytes that were used, and a logger does not wait.
"""

from dataclasses import dataclass
from pathlib import Path

from fieldmend.records.sources.text import BLOCK


@dataclass(frozen=True)
class Mark:
    """How a file was when reading began."""

    path: Path
    size: int
    modified: int
    """In ns."""
    lines: bool
    """It is text, and not packed: its first lines are a file too."""

    @classmethod
    def of(cls, path: Path, *, lines: bool) -> "Mark":
        """Of a file as it is now."""
        found = path.stat()
        return cls(path, found.st_size, found.st_mtime_ns, lines)

    @property
    def holds(self) -> bool:
        """Whether the file is as it was."""
        try:
            return self == Mark.of(self.path, lines=self.lines)
        except OSError:
            return False


def copied(path: Path, work: Path) -> Path:
    """The lines that a file has now, in a copy; a line that is being written is left out."""
    left = path.stat().st_size
    out = work / f"still-{len(list(work.iterdir()))}"
    end = 0
    with path.open("rb") as source, out.open("wb") as target:
        while left > 0 and (block := source.read(min(left, BLOCK))):
            left -= len(block)
            if b"\n" in block:
                end = target.tell() + block.rindex(b"\n") + 1
            target.write(block)
        target.truncate(end or target.tell())
    return out
