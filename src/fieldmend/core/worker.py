"""The other end of `crew`: a process that runs kernels on pieces until its input ends."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import warnings
from dataclasses import dataclass, field
from typing import IO, Any

from fieldmend.core.room import keep_freed

LENGTH = 8  # bytes that say how long a message is


@dataclass
class Said:
    """What a kernel made of a piece, and what was logged and warned of on the way."""

    made: Any = None
    error: BaseException | None = None
    logged: list[tuple[str, int, str]] = field(default_factory=list)
    warned: list[tuple[str, type[Warning]]] = field(default_factory=list)


def send(pipe: IO[bytes], message: Any) -> None:
    """One message: its length, then its pickle."""
    text = message if isinstance(message, bytes) else pickle.dumps(message, protocol=5)
    pipe.write(len(text).to_bytes(LENGTH, "little"))
    pipe.write(text)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """The next message; EOFError where there is none."""
    head = pipe.read(LENGTH)
    size = int.from_bytes(head, "little")
    text = pipe.read(size) if len(head) == LENGTH else b""
    if len(head) < LENGTH or len(text) < size:
        raise EOFError
    return pickle.loads(text)  # from our own process, by a pipe nobody else holds


class _Kept(logging.Handler):
    """What is logged, kept for the other end."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said

    def emit(self, record: logging.LogRecord) -> None:
        self.said.logged.append((record.name, record.levelno, record.getMessage()))


def run(kernel: Any, piece: Any) -> Said:
    """The kernel on one piece; what goes wrong is part of the answer."""
    said = Said()
    log, keep = logging.getLogger("fieldmend"), _Kept(said)
    log.addHandler(keep)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            said.made = kernel(piece)
        said.warned = [(str(one.message), one.category) for one in caught]
    except Exception as error:  # raised again where the piece came from
        said.error = error
    finally:
        log.removeHandler(keep)
    return said


def main() -> None:
    """Kernel (or None for the one at hand), piece, answer; and again."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us when it is interrupted
    logging.getLogger("fieldmend").setLevel(logging.INFO)
    logging.getLogger("fieldmend").propagate = False
    # What anything prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    keep_freed()
    kernel = None
    try:
        while True:
            kernel = receive(sys.stdin.buffer) or kernel
            said = run(kernel, receive(sys.stdin.buffer))
            try:
                text = pickle.dumps(said, protocol=5)
            except Exception as error:  # an error that cannot be pickled
                text = pickle.dumps(Said(error=RuntimeError(f"{said.error or error}")), protocol=5)
            send(answers, text)
    except (EOFError, BrokenPipeError):
        pass
