"""Outputs appear whole or not at all, and never in place of something else unless asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fieldmend.scratch import host, process_runs
from fieldmend.text import shown

USAGE, ENVIRONMENT = 2, 4  # exit codes

PathLike = str | os.PathLike[str]


class OutputError(OSError):
    """An output that cannot be written; says which, why, and what to try.

    `exit_code` is 2 where the call was wrong (the file exists, the folder is not there), 4 where
    the environment failed (permission, disk).
    """

    def __init__(self, path: PathLike, what: str, *, exit_code: int, hint: str = "") -> None:
        self.path, self.what, self.hint, self.exit_code = Path(path), what, hint, exit_code
        text = f"{shown(path)}: {what}"
        super().__init__(f"{text}. {hint}" if hint else text)


def check_outputs(
    paths: Iterable[PathLike], *, force: bool = False, inputs: Iterable[PathLike] = ()
) -> None:
    """Find out before any work whether the outputs can be written.

    A missing folder is made if its parent is there. With `force` existing files may be replaced,
    but never a file that is also an input.

    Raises
    ------
    OutputError
    """
    seen: dict[Path, PathLike] = {}
    sources = {_identity(source) for source in inputs} - {None}
    for given in paths:
        path = _absolute(given)
        if path in seen:
            raise OutputError(given, "named for two outputs", exit_code=USAGE)
        seen[path] = given
        if _identity(path) is not None and _identity(path) in sources:
            hint = "Choose another name"
            raise OutputError(given, "it is an input", exit_code=USAGE, hint=hint)
        _check_target(path, given, force=force)
        _check_folder(path.parent)


def _identity(path: PathLike) -> tuple[int, int] | None:
    """The file itself, whatever it is called; None if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _absolute(path: PathLike) -> Path:
    """Links of the folder are followed, the last part's is not: a link itself is replaced."""
    full = Path(os.path.abspath(path))
    return full.parent.resolve() / full.name


def _check_target(path: Path, given: PathLike, *, force: bool) -> None:
    try:
        exists, folder = os.path.lexists(path), path.is_dir() and not path.is_symlink()
    except (OSError, ValueError) as error:  # a name that is too long, or holds a NUL
        raise OutputError(given, f"no name for a file ({error})", exit_code=USAGE) from error
    if folder:
        raise OutputError(given, "is a folder", exit_code=USAGE, hint="Name a file in it")
    if exists and not force:
        hint = "Choose another name, or replace it with force=True (--force)"
        raise OutputError(given, "is there already", exit_code=USAGE, hint=hint)


def _check_folder(folder: Path) -> None:
    if not folder.exists():
        if not folder.parent.is_dir():
            hint = "Make it first"
            raise OutputError(folder, "no such folder", exit_code=USAGE, hint=hint)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(folder, reason(error), exit_code=ENVIRONMENT) from error
    if not folder.is_dir():
        raise OutputError(folder, "is no folder", exit_code=USAGE)
    try:  # asking beats os.access: it knows of read-only disks
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        hint = "Choose a folder that you may write to"
        raise OutputError(folder, reason(error), exit_code=ENVIRONMENT, hint=hint) from error


@contextmanager
def whole(path: PathLike, *, force: bool = False) -> Iterator[Path]:
    """A temporary file beside `path` to write to; it becomes `path` when all went well.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole(f"{folder}/out.txt") as part:
    ...         _ = part.write_text("all of it")
    ...     Path(folder, "out.txt").read_text()
    'all of it'
    """
    check_outputs([path], force=force)
    target = _absolute(path)
    _remove_abandoned(target)
    part = target.parent / f"{_prefix(target)}{os.getpid()}.part"
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        publish(part, target, force=force)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(path, reason(error), exit_code=ENVIRONMENT) from error
    finally:
        with suppress(OSError):
            part.unlink()
    _sync_folder(target.parent)


def publish(part: Path, target: Path, *, force: bool) -> None:
    """Rename; without `force`, a file that appeared meanwhile is left alone."""
    if not force:
        try:
            os.link(part, target)  # unlike a rename, it refuses to replace
        except FileExistsError as error:
            raise OutputError(target, "is there already", exit_code=USAGE) from error
        except OSError:
            pass  # a disk without links
        else:
            return
    os.replace(part, target)


def _prefix(target: Path) -> str:
    # Long names are cut: the temporary one has to fit too.
    stem = target.name.encode()[:150].decode(errors="ignore")
    return f".{stem}.{host()}-"


def _remove_abandoned(target: Path) -> None:
    """Remove what runs on this machine that were killed left of this very file."""
    prefix = _prefix(target)
    for entry in target.parent.iterdir():
        pid = entry.name.removeprefix(prefix).removesuffix(".part")
        if entry.name == f"{prefix}{pid}.part" and pid.isdigit() and not process_runs(int(pid)):
            with suppress(OSError):
                entry.unlink()


def _sync_folder(folder: Path) -> None:
    """The new name itself reaches the disk; not every system lets a folder be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def reason(error: OSError) -> str:
    """Why the system refused, in its words."""
    return (error.strerror or str(error)).lower()
