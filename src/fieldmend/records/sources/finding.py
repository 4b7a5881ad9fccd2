"""From what the user typed to files that lie still: folders, patterns, streams, archives.

A path that is there is that file, whatever letters it has. Pipes are copied, since they can be read
but once; devices are refused. Archives are unpacked into the temporary folder, within bounds, and
what their members are called never becomes a path.
"""

import glob
import os
import shutil
import stat
import sys
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from fieldmend.errors import InputError
from fieldmend.records.sources.text import BLOCK, MAX_EXPANSION
from fieldmend.text import shown, typed

ZIP = b"PK\x03\x04"
TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
READ = (
    ".csv .txt .dat .tsv .psv .asc .ascii .json .ndjson .jsonl .parquet .pq .nc .sqlite .db .lp "
    ".gz .zst .xz .bz2 .zip .tar .tgz"
).split()
WRITTEN = (".recovered.", ".anomalies.", ".rejects.")  # by fieldmend itself
MEMBERS = 10_000
JOURNAL = "journal.db"  # of `fieldmend live`: its folder holds readings there, and older days


def files(name: str) -> tuple[list[str], list[str]]:
    """The files that a name means, in order, and what is to be said of it."""
    if os.path.isdir(name):
        return _folder(name)
    try:
        if os.path.lexists(name) or not glob.has_magic(name):
            return [name], []
        found = sorted(one for one in glob.glob(name, recursive=True) if os.path.isfile(one))
    except (OSError, ValueError):
        return [name], []
    if not found:
        return [name], []
    return found, [f"{shown(name)}: {len(found):,} files"]


def _folder(name: str) -> tuple[list[str], list[str]]:
    if os.path.isfile(os.path.join(name, JOURNAL)):
        days = sorted(glob.glob(os.path.join(glob.escape(name), "days", "*.readings.parquet")))
        return [*days, os.path.join(name, JOURNAL)], []
    found, over, other = [], 0, Counter[str]()
    for folder, folders, names in os.walk(name):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for one in sorted(names):
            good = Path(one).suffix.lower() in READ and not any(part in one for part in WRITTEN)
            if one.startswith(".") or not good:
                over += 1
                other[Path(one).suffix] += not one.startswith(".") and not good
                continue
            found.append(os.path.join(folder, one))
    if not found:
        raise InputError(
            "it is a folder without a file that can be read", file=name,
            hint="Looked for " + ", ".join(READ[:11]) + _as_pattern(name, other),
        )  # fmt: skip
    passed = f", {over:,} others passed over" if over else ""
    return found, [f"{shown(name)}: {len(found):,} files{passed}"]


def _as_pattern(folder: str, other: Counter[str]) -> str:
    """How to hand in files of another ending, if there are some: they may be text all the same."""
    ending = next((one for one, count in other.most_common() if one and count), "")
    if not ending:
        return ""
    pattern = typed(os.path.join(glob.escape(folder), f"*{ending}"))
    return f"; if the {shown(ending)} files are text, hand in {pattern}"


def still(name: str, work: Path) -> Path:
    """The file itself; what can be read but once is copied first."""
    if name == "-":
        return _copied(sys.stdin.buffer, "standard input", work)
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return path  # it will be said when it is opened
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        with path.open("rb") as file:
            return _copied(file, name, work)
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError("it is a device, no file", file=name, hint="Hand in a file or a pipe")
    return path


def _copied(source: IO[bytes], name: str, work: Path) -> Path:
    path = work / f"stream-{len(list(work.iterdir()))}.tmp"
    written = 0
    with path.open("wb") as file:
        while block := source.read(BLOCK):
            if written < 8 * BLOCK and len(block) == BLOCK and not block.strip(b"\0"):
                raise InputError("it is not text: nothing but zeros", file=name)
            written += file.write(block)
            if written % (256 * BLOCK) < BLOCK and shutil.disk_usage(work).free < written // 2:
                raise InputError(
                    f"it has over {written / 1e9:.1f} GB, and the temporary folder is nearly full",
                    file=name,
                    hint="Set TMPDIR to a larger disk, or hand in a part",
                )
    return path


def members(path: Path, name: str, magic: bytes, work: Path) -> list[tuple[str, Path]] | None:
    """The files of an archive, unpacked: (name to show, path); None if it is no archive."""
    lower = name.lower()
    if magic.startswith(ZIP) and not lower.endswith((".npz", ".xlsx", ".ods", ".docx", ".kmz")):
        return _unpacked(path, name, work, _zip_members)
    if lower.endswith(TAR):
        return _unpacked(path, name, work, _tar_members)
    return None


Opener = Callable[[], IO[bytes] | None]


def _unpacked(
    path: Path, name: str, work: Path, listed: Callable[[Path], Iterator[tuple[str, Opener]]]
) -> list[tuple[str, Path]]:
    out: list[tuple[str, Path]] = []
    bound = max(BLOCK, MAX_EXPANSION * path.stat().st_size)
    written = 0
    try:
        for member, opened in listed(path):
            base = member.rsplit("/", 1)[-1]
            if base.startswith((".", "__")) or "__MACOSX" in member:
                continue
            if len(out) >= MEMBERS:
                raise InputError(f"over {MEMBERS:,} files in it", file=name)
            suffix = Path(base).suffix[:12]
            target = work / f"member-{len(out)}-{len(list(work.iterdir()))}{suffix}"
            source = opened()
            if source is None:
                continue
            with source, target.open("wb") as file:
                while block := source.read(BLOCK):
                    written += file.write(block)
                    if written > bound:
                        raise InputError(
                            f"it expands more than {MAX_EXPANSION} times: refused", file=name,
                            hint="Unpack it yourself if you trust it",
                        )  # fmt: skip
            out.append((f"{name}/{member}", target))
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, ValueError, LookupError,
            NotImplementedError, RuntimeError) as error:  # fmt: skip
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the archive cannot be read ({shown(error)})", file=name, hint="Fetch it again"
        ) from error
    if not out:
        raise InputError("no file in the archive", file=name)
    return out


def _zip_members(path: Path) -> Iterator[tuple[str, Opener]]:
    with zipfile.ZipFile(path) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            if not info.is_dir():
                yield info.filename, lambda info=info: archive.open(info)  # type: ignore[misc]


def _tar_members(path: Path) -> Iterator[tuple[str, Opener]]:
    with tarfile.open(path, "r:*") as archive:
        for info in archive:
            if info.isfile():
                yield info.name, lambda info=info: archive.extractfile(info)  # type: ignore[misc]
