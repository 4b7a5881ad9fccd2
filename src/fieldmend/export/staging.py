"""All files of a run, renamed at its end: never the tables of one beside the report of another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fieldmend import scratch
from fieldmend.export.writing import ENVIRONMENT, OutputError, check_outputs, publish, reason


class Staging:
    """Folders beside the outputs; what is written to them appears when all of it is there."""

    def __init__(self) -> None:
        self._folders: dict[Path, Path] = {}

    def part(self, target: Path) -> Path:
        """Where an output is before the end, on the disk where it will be."""
        home = target.absolute().parent
        if home not in self._folders:
            self._folders[home] = scratch.folder(home, hidden=True)
        return self._folders[home] / target.name

    def put(self, target: Path, write: Callable[[Path], object]) -> None:
        """Write one output; `write` gets the path of its part, which has the same name."""
        part = self.part(target)
        write(part)
        with part.open("rb+") as file:
            os.fsync(file.fileno())

    def clear(self) -> None:
        """Remove what was not published."""
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def staged(targets: Mapping[str, Path], *, force: bool = False) -> Iterator[Staging]:
    """Where the outputs of a run are written; they are renamed when the block ends well.

    Parameters
    ----------
    targets
        Kind → path, all of one disk or each in its folder.
    force
        Replace files that are there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = Path(folder, "out.txt")
    ...     with staged({"text": out}) as staging:
    ...         staging.put(out, lambda part: part.write_text("all of it"))
    ...         out.exists()
    ...     out.read_text(), len(list(Path(folder).iterdir()))
    False
    ('all of it', 1)
    """
    check_outputs(targets.values(), force=force)
    staging = Staging()
    try:
        yield staging
        for target in targets.values():
            publish(staging.part(target), target.absolute(), force=force)
    except OutputError:
        raise
    except OSError as error:
        where = error.filename or next(iter(targets.values()))
        raise OutputError(where, reason(error), exit_code=ENVIRONMENT) from error
    finally:
        staging.clear()
