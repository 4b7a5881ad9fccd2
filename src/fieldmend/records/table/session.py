"""A temporary database for one call of `read`: in memory for small input, else in a file."""

import atexit
import itertools
import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend import spill
from fieldmend.errors import InputError
from fieldmend.scratch import folder
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

MEMORY = "1200MB"  # DuckDB's share; what does not fit goes to disk
SMALL = 1 << 25  # bytes of input that stay in memory
_numbers = itertools.count()


@cache
def _instance(process: int) -> "duckdb.DuckDBPyConnection":
    """One DuckDB per process: to start one costs more than to read a small file.

    Nothing is fetched, and nothing is found in the caller's variables.
    """
    import duckdb

    spill = str(folder())
    atexit.register(shutil.rmtree, spill, ignore_errors=True)
    con = duckdb.connect(":memory:")
    con.execute(
        "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; "
        f"SET memory_limit = '{MEMORY}'; SET preserve_insertion_order = true; "
        # It takes time that grows with the square of the columns, and gains nothing here.
        "SET disabled_optimizers = 'expression_rewriter'"
    )
    con.execute("SET temp_directory = $d", {"d": spill})
    threads = os.environ.get("FIELDMEND_THREADS", "")
    if threads.isdigit() and int(threads):
        con.execute(f"SET threads = {int(threads)}")
    return con


def _share() -> str:
    """DuckDB's share of the memory: a quarter of what is limited, and no more than usual."""
    limit = spill.limit()
    return MEMORY if limit is None else f"{min(1200, limit // 4_000_000)}MB"


@dataclass(frozen=True)
class Session:
    """A database and a folder, both gone when it is closed."""

    work: Path
    con: "duckdb.DuckDBPyConnection"
    name: str

    @classmethod
    def open(cls, *, small: bool) -> "Session":
        """A new one. UTC throughout."""
        work = folder()
        name = f"session_{next(_numbers)}"
        try:
            con = _instance(os.getpid()).cursor()
            con.execute(f"SET memory_limit = '{_share()}'")
            con.execute(
                "SET TimeZone = 'UTC'; SET python_enable_replacements = false; "
                "SET enable_progress_bar = false"
            )
            where = ":memory:" if small else str(work / "records.duckdb")
            con.execute(f"ATTACH '{where.replace(chr(39), chr(39) * 2)}' AS {name}; USE {name}")
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
        return cls(work, con, name)

    def close(self) -> None:
        """Remove the database; `con` may have been closed before."""
        import duckdb

        self.con.close()
        try:
            con = _instance(os.getpid()).cursor()
            con.execute(f"DETACH DATABASE IF EXISTS {self.name}")
            con.close()
        except duckdb.Error:  # a database that failed within answers no more
            _instance.cache_clear()
        shutil.rmtree(self.work, ignore_errors=True)


def raise_readable(error: BaseException, sources: Sequence[Any]) -> None:
    """Say what DuckDB found wrong with a source in a sentence; other errors are not ours."""
    import duckdb

    if isinstance(error, duckdb.InterruptException):
        raise KeyboardInterrupt from error
    if isinstance(error, duckdb.FatalException | duckdb.InternalException):
        _instance.cache_clear()  # it answers no more; the next call starts another
    elif isinstance(error, duckdb.OutOfMemoryException):
        return
    if isinstance(error, duckdb.Error | UnicodeDecodeError):
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"it cannot be read ({shown(said)})",
            file=sources[0].name if len(sources) == 1 else None,
            hint="It may be damaged: fetch it again",
        ) from error


def is_small(source: Any) -> bool:
    """Whether a source is known to be small: files by their size; frames are in memory already."""
    if isinstance(source, list | tuple):
        return all(is_small(one) for one in source)
    if isinstance(source, str | os.PathLike):
        try:
            found = os.stat(source)
            return stat.S_ISREG(found.st_mode) and found.st_size <= SMALL
        except (OSError, ValueError):
            return False
    return True
