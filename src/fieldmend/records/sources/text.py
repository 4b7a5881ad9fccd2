"""From the bytes of a file to text that DuckDB reads safely, line numbers unchanged.

Compressed files are unpacked, foreign encodings and line ends rewritten, and quotes that do not
close taken out, since one of them swallows the lines after it. A plain UTF-8 file is left where
it is. Cost: one pass over the bytes; a second, in Python, only where something must be rewritten.
"""

import bz2
import codecs
import csv
import gzip
import hashlib
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO

from fieldmend.errors import InputError
from fieldmend.records.sources import encodings
from fieldmend.records.sources.cutting import BLANKS, split
from fieldmend.records.watching import tell
from fieldmend.text import shown

BLOCK = 1 << 20
HEAD = 1 << 18
MAX_EXPANSION = 1000
JOINED = 50  # lines that one quoted cell may span
PACKED = {
    ".gz": (b"\x1f\x8b", "gzip"),
    ".zst": (b"\x28\xb5\x2f\xfd", "Zstandard"),
    ".xz": (b"\xfd7zXZ\0", "xz"),
    ".bz2": (b"BZh", "bzip2"),
}


@dataclass(frozen=True)
class Reject:
    """A row that was set aside."""

    file: str
    line: int
    reason: str
    text: str = ""


@dataclass
class Text:
    """A text file, ready to be read."""

    name: str
    path: Path
    sha256: str
    bytes: int
    head: list[str] = field(default_factory=list)
    encoding: str = "utf-8"
    words: list[str] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    quotes: bool = False
    rewrite: bool = False


def fingerprint(path: Path) -> tuple[str, int]:
    """SHA-256 of a file, as long as it is when this begins: one that grows is not run after.

    And its length, in bytes.
    """
    left = size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, BLOCK))):
            digest.update(block)
            left -= len(block)
            tell("checking", size - left, size)
    return digest.hexdigest(), size - left


def unpack(path: Path, name: str, work: Path, *, salvage: bool) -> tuple[Path, list[str]]:
    """The file itself, or what is in it if it is compressed; and a warning if it was cut short."""
    with path.open("rb") as file:
        kind = packing(file.read(8))
    suffix = Path(name).suffix.lower()
    named = PACKED[suffix][1] if suffix in PACKED else ""
    if named and named != kind:
        raise InputError(
            f"named {suffix}, but it is not {named} data", file=name, hint="Rename it to what it is"
        )
    if not kind:
        return path, []
    if not named and suffix not in ("", ".tmp") and name != "standard input":
        raise InputError(
            f"it is {kind} data, though named {suffix}", file=name, hint="Rename it to what it is"
        )
    out = work / f"unpacked-{path.stat().st_ino}-{len(list(work.iterdir()))}"
    trouble = _decompress(path, out, name, kind)
    if not trouble:
        return out, []
    return out, [_cut_short(out, name, trouble, salvage=salvage)]


def packing(magic: bytes) -> str:
    """How a file that begins so is compressed; empty if it is not."""
    return next((kind for start, kind in PACKED.values() if magic.startswith(start)), "")


def bare(name: str) -> str:
    """A file's name without the suffix of its compression."""
    return name[: -len(Path(name).suffix)] if Path(name).suffix.lower() in PACKED else name


def _decompress(path: Path, out: Path, name: str, kind: str) -> str:
    written = 0
    size = path.stat().st_size
    with path.open("rb") as raw, out.open("wb") as target:
        source = _reader(raw, kind)
        while True:
            try:
                block = source(BLOCK)
            except (EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
                return str(error) or type(error).__name__
            if not block:
                break
            written += len(block)
            tell("unpacking", raw.tell(), size)
            if written > max(BLOCK, MAX_EXPANSION * raw.tell()):  # of what was read so far
                raise InputError(
                    f"it expands more than {MAX_EXPANSION} times: refused",
                    file=name,
                    hint="Unpack it yourself if you trust it",
                )
            try:
                target.write(block)
            except OSError as error:
                said = f"{error.strerror}, unpacking {shown(name)}: set TMPDIR to a larger disk"
                raise OSError(error.errno, said, str(out.parent)) from error
    return ""


def _reader(raw: IO[bytes], kind: str) -> Callable[[int], bytes]:
    # read1 hands out what came before a broken end; read would lose it with the exception.
    if kind == "gzip":
        return gzip.GzipFile(fileobj=raw).read1
    if kind == "xz":
        return lzma.LZMAFile(raw).read1
    if kind == "bzip2":
        return bz2.BZ2File(raw).read1
    zstd = zstd_module()

    def source(size: int) -> bytes:
        try:
            block: bytes = packed.read1(size)
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from error
        return block

    packed = zstd.ZstdFile(raw)
    return source


def zstd_module() -> ModuleType:
    """Python's own from 3.14 on, and the same module for those before."""
    if sys.version_info >= (3, 14):
        return import_module("compression.zstd")
    return import_module("backports.zstd")


def _cut_short(out: Path, name: str, trouble: str, *, salvage: bool) -> str:
    data = out.read_bytes() if out.stat().st_size < 64 * BLOCK else b""
    end = (data.rfind(b"\n") + 1) if data else _last_newline(out)
    with out.open("rb") as file:
        file.seek(max(0, end - 4096))
        last = file.read(end - max(0, end - 4096)).rstrip(b"\r\n").rsplit(b"\n", 1)[-1]
    good = shown(last.decode("utf-8", "replace"))
    if not salvage:
        raise InputError(
            f"the compressed data is damaged or cut short ({shown(trouble)}); "
            f"the last good row is {good!r}",
            file=name,
            hint="Fetch it again, or keep what is there with salvage=True (--salvage)",
        )
    with out.open("r+b") as file:
        file.truncate(end)
    return f"{shown(name)} is damaged or cut short; rows up to {good!r} were kept"


def _last_newline(path: Path) -> int:
    with path.open("rb") as file:
        position = file.seek(0, 2)
        while position > 0:
            start = max(0, position - BLOCK)
            file.seek(start)
            found = file.read(position - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            position = start
    return 0


def survey(path: Path, name: str, sha256: str, given: str | None = None) -> Text:
    """Look at every byte once: encoding, line ends, quotes, and the first lines.

    `given`: the encoding that the user named.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
        encoding = encodings.named(given) if given else encodings.found(head, name)
        text = Text(name, path, sha256, path.stat().st_size, encoding=encoding)
        if encoding not in ("utf-8", "utf-8-sig"):
            text.words.append(encoding.upper())
        text.rewrite = encoding != "utf-8"
        file.seek(0)
        newline = carriage = pairs = 0
        carry = b""
        while block := file.read(BLOCK):
            text.quotes = text.quotes or b'"' in block
            if b"\r" in block or carry:
                carriage += block.count(b"\r")
                pairs += block.count(b"\r\n") + (carry == b"\r" and block[:1] == b"\n")
                carry = block[-1:] if block[-1:] == b"\r" else b""
            newline += block.count(b"\n")
            tell("looking through", file.tell(), text.bytes)
    if carriage and (carriage != pairs or newline != pairs):
        text.rewrite = True
        text.words.append("lines end with CR" if not newline else "line ends mixed")
    text.head = head_lines(path, encoding)
    return text


def head_lines(path: Path, encoding: str) -> list[str]:
    """The first lines, without their ends and without a half line at the cut."""
    with path.open("rb") as file:
        raw = file.read(HEAD)
        whole = not file.read(1)
    return lines_in(raw, encoding, whole=whole)


def lines_in(raw: bytes, encoding: str, *, whole: bool) -> list[str]:
    """The lines of some bytes; the last one is left out if it may go on."""
    lines = re.split(r"\r\n|\r|\n", codecs.decode(raw, encoding, "replace"))
    if lines and not lines[-1]:
        lines.pop()
    elif not whole and len(lines) > 1:
        lines.pop()
    return lines


def rewritten(text: Text, delimiter: str, width: int, work: Path) -> Text:
    """The text as UTF-8 with plain line ends, quotes that close, and blanks made one.

    Line numbers stay: a line that is taken out leaves an empty one, which DuckDB passes over.
    """
    unclosed = text.quotes and _has_odd_line(text)
    # What UTF-16 cannot decode has no bytes to keep; a byte that is not UTF-8 stays as it is.
    errors = "surrogateescape" if text.encoding.startswith("utf-8") else "replace"
    if not (text.rewrite or unclosed or delimiter == BLANKS):
        return text
    out = work / f"text-{len(list(work.iterdir()))}"
    with (
        text.path.open("r", encoding=text.encoding, errors=errors, newline=None) as file,
        out.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as target,
    ):
        lines: Iterator[str] = _told(file, text.bytes)
        if delimiter == BLANKS:
            lines = (" ".join(line.split()) for line in lines)
        if unclosed:
            mark = " " if delimiter == BLANKS else delimiter
            lines = _closed(lines, mark, width, text)
        target.writelines(line + "\n" for line in lines)
    text.path, text.encoding = out, "utf-8"
    return text


def _told(file: IO[str], size: int) -> Iterator[str]:
    """Lines without their ends; how far it is, now and then."""
    for number, line in enumerate(file):
        if number % 100_000 == 0:
            tell("rewriting", file.buffer.tell(), size)  # type: ignore[attr-defined]
        yield line.rstrip("\n")


def _has_odd_line(text: Text) -> bool:
    if text.encoding.startswith(("utf-16", "utf-32")):
        return True
    with text.path.open("rb") as file:
        return any(line.count(b'"') % 2 for line in file)


def _closed(lines: Iterator[str], delimiter: str, width: int, text: Text) -> Iterator[str]:
    number = 0
    waiting: list[str] = []
    while True:
        line = waiting.pop(0) if waiting else next(lines, None)
        if line is None:
            return
        number += 1
        if line.count('"') % 2 == 0:
            yield line
            continue
        while len(waiting) < JOINED and (following := next(lines, None)) is not None:
            waiting.append(following)
        taken = _cell_end(line, waiting, delimiter, width)
        if taken is None:
            text.rejects.append(
                Reject(text.name, number, "quote: it does not close", shown(line.strip()))
            )
            yield ""
            continue
        yield line
        for _ in range(taken):
            number += 1
            yield waiting.pop(0)


def _cell_end(line: str, following: list[str], delimiter: str, width: int) -> int | None:
    """How many lines a quoted cell goes on, if that gives a row of the right width."""
    joined = line
    for count, more in enumerate(following, 1):
        joined += "\n" + more
        if more.count('"') % 2:
            # Strict: after a quote that closes there is a delimiter, or it did not close.
            lines = csv.reader(joined.splitlines(keepends=True), delimiter=delimiter, strict=True)
            try:
                rows = list(lines)
            except csv.Error:
                return None
            return count if len(rows) == 1 and len(rows[0]) == width else None
    return None


def record_lines(path: Path, skip: int, rejected: set[int], wanted: list[int]) -> dict[int, int]:
    """The physical line of the wanted records, by their ordinals (sorted, from 0)."""
    found: dict[int, int] = {}
    ordinal, position = -1, 0
    inside, start = False, 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if position == len(wanted):
                break
            if number <= skip:
                continue
            if inside:
                inside = line.count(b'"') % 2 == 0
                if inside:
                    continue
            else:
                if not line.strip(b"\r\n") or number in rejected:
                    continue
                start = number
                inside = line.count(b'"') % 2 == 1
                if inside:
                    continue
            ordinal += 1
            if ordinal == wanted[position]:
                found[ordinal] = start
                position += 1
    return found


__all__ = [
    "Reject",
    "Text",
    "fingerprint",
    "record_lines",
    "rewritten",
    "split",
    "survey",
    "unpack",
]
