"""From arguments to an exit code. No traceback for what a user can mend."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

# A network's matrices are narrow: on two cores a second BLAS thread was seen to wait for the first
# until the whole command took seven times the CPU. Read when NumPy is imported; yours count first.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

DONE, SUSPECTS, USAGE, INPUT, ENVIRONMENT, BUG, STOPPED = 0, 1, 2, 3, 4, 70, 130
"""The exit codes. 70 is what BSD's sysexits call an error inside the program."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code comes back.

    Parameters
    ----------
    arguments
        Those of the process by default.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    with _streams(), _terminable() as arrived, warnings.catch_warnings():
        warnings.showwarning = _one_line
        try:
            code = _invoke(given)
        except KeyboardInterrupt:
            code = STOPPED
        except SystemExit as end:  # shell completion, a reader that closed the pipe, SIGTERM
            code = end.code if isinstance(end.code, int) else DONE
        except Exception as error:
            if os.environ.get("FIELDMEND_DEBUG"):
                raise
            if arrived:  # DuckDB turns a signal into an error of its own
                code = 128 + arrived[0]
            else:
                code, message = _judged(error)
                _say(message)
        if code == STOPPED:
            _say("stopped; no file was left half written")
    return code


def _invoke(given: list[str]) -> int:
    code = _command().main(given, prog_name="fieldmend", standalone_mode=False, obj=given)
    return code if isinstance(code, int) else DONE


@cache
def _command() -> Any:
    """All commands and their options: made once in a process."""
    from typer.main import get_command

    from fieldmend.cli.app import app

    return get_command(app)


def _judged(error: Exception) -> tuple[int, str]:
    """The exit code of an error, and its sentence."""
    from typer import TyperException

    from fieldmend.cli.nightly import Busy
    from fieldmend.errors import InputError
    from fieldmend.export import OutputError

    if isinstance(error, TyperException):
        return USAGE, _usage(error)
    if isinstance(error, OutputError | Busy):
        return error.exit_code, str(error)
    if isinstance(error, InputError):
        return INPUT, str(error)
    if isinstance(error, MemoryError) or _is_duckdb(error, "OutOfMemoryException"):
        return ENVIRONMENT, (
            "not enough memory. Try a longer --slot, fewer conditions (--condition), or a part "
            "of the record"
        )
    if isinstance(error, ConnectionError):
        return ENVIRONMENT, str(error)
    if isinstance(error, OSError) or _is_duckdb(error, "IOException"):
        return ENVIRONMENT, _environment(error)
    if isinstance(error, ImportError):
        return ENVIRONMENT, str(error)
    return BUG, (
        f"an error inside fieldmend ({type(error).__name__}: {error}). Please report it with the "
        "command; FIELDMEND_DEBUG=1 shows where it happened"
    )


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "fieldmend"
    said = error.format_message().rstrip(".")
    return f"{said}{'' if said.endswith('?') else '.'} See {path} --help"


def _environment(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}. Look at the disk's space and the permissions"


def _is_duckdb(error: Exception, name: str) -> bool:
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(error, getattr(duckdb, name))


def _say(message: str) -> None:
    from fieldmend.text import escaped

    print(f"fieldmend: {escaped(message)}", file=sys.stderr)  # noqa: T201 - the command speaks


def _one_line(message: Warning | str, *_: object, **__: object) -> None:
    _say(f"warning: {message}")


@contextmanager
def _streams() -> Iterator[None]:
    """Characters that the terminal cannot show are escaped; a stream that is closed takes all."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    yield


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """SIGTERM ends the process as an exception would: temporary files go.

    Signals that arrived are listed, whatever becomes of their exceptions.
    """
    arrived: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return

    def end(number: int, _: object) -> NoReturn:
        arrived.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, end)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        before[signal.SIGINT] = signal.signal(signal.SIGINT, end)
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
