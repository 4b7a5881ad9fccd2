"""Who does the work: this process alone, or several processes of this machine.

A crew takes pure kernels and pieces and gives the results back in order, so that their number
changes no digit. Its processes are started by their own text (`worker`), not forked and not by
running the caller's script again: a notebook, a script without a guard and DuckDB's threads are
all the same to them. Each has one BLAS thread; so has the command.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Protocol, Self, TypeVar

from fieldmend.core.worker import Said, receive, send

Piece = TypeVar("Piece")
Made = TypeVar("Made")

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
START = "import sys; sys.path[:] = {path!r}; from fieldmend.core.worker import main; main()"
DEATHS = 3  # of processes over one piece, then it is the piece's fault


class Crew(Protocol):
    """Runs kernels on pieces."""

    @property
    def size(self) -> int:
        """How many pieces are worked on at a time."""

    def ordered(
        self, kernel: Callable[[Piece], Made], pieces: Iterable[Piece]
    ) -> Iterator[tuple[Piece, Made]]:
        """Each piece and what the kernel made of it, in the order of the pieces."""


class Alone:
    """One piece after the other, here."""

    size = 1

    def ordered(
        self, kernel: Callable[[Piece], Made], pieces: Iterable[Piece]
    ) -> Iterator[tuple[Piece, Made]]:
        """A piece is asked for when it is needed, and nothing is kept of it."""
        for piece in pieces:
            yield piece, kernel(piece)

    def close(self) -> None:
        """There is nothing to end."""


class WorkersDied(MemoryError):
    """Processes end over and over: there is not enough memory for them, or somebody ends them."""


class Processes:
    """Several processes of this machine, started when they are first needed.

    Kernels and pieces go by pickle, to processes of our own only. A process that ends on its way
    costs its piece, which another does again.

    Examples
    --------
    >>> with Processes(2) as crew:
    ...     [made for _, made in crew.ordered(abs, [-3, 2, -1])]
    [3, 2, 1]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._free: SimpleQueue[_Worker | None] = SimpleQueue()
        for _ in range(size):
            self._free.put(None)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="fieldmend-crew")
        self._started: list[_Worker] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are at."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._started):
            worker.process.kill()
        self._threads.shutdown(wait=True)
        for worker in self._started:
            worker.end()

    def ordered(
        self, kernel: Callable[[Piece], Made], pieces: Iterable[Piece]
    ) -> Iterator[tuple[Piece, Made]]:
        """Each piece with what was made of it; a few are worked on ahead of the one asked for."""
        text = pickle.dumps(kernel, protocol=5)
        ahead: deque[tuple[Piece, Future[Said]]] = deque()
        for piece in pieces:
            ahead.append((piece, self._threads.submit(self._one, text, piece)))
            if len(ahead) > self.size:
                yield _taken(ahead.popleft())
        while ahead:
            yield _taken(ahead.popleft())

    def _one(self, kernel: bytes, piece: Any) -> Said:
        for _ in range(DEATHS):
            worker = self._free.get() or self._new()
            try:
                said = worker.ask(kernel, piece)
            except (EOFError, OSError):
                worker.end()
                self._free.put(None)
                if self._closed:
                    break
            else:
                self._free.put(worker)
                return said
        msg = f"{DEATHS} processes ended over one piece of the work: too little memory for them?"
        raise WorkersDied(msg)

    def _new(self) -> _Worker:
        worker = _Worker()
        self._started.append(worker)
        if self._closed:
            worker.process.kill()
        return worker


class _Worker:
    """One process, and the kernel that it has."""

    def __init__(self) -> None:
        one = dict.fromkeys(ONE_THREAD, "1")
        self.process = subprocess.Popen(
            [sys.executable, "-c", START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | one,
        )
        self.kernel = b""

    def ask(self, kernel: bytes, piece: Any) -> Said:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        send(self.process.stdin, None if kernel is self.kernel else kernel)
        self.kernel = kernel
        send(self.process.stdin, piece)
        said = receive(self.process.stdout)
        assert isinstance(said, Said)
        return said

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except OSError:  # what was not sent yet cannot be
                pass


def _taken(asked: tuple[Piece, Future[Said]]) -> tuple[Piece, Any]:
    piece, future = asked
    return piece, heard(future.result())


def heard(said: Said) -> Any:
    """What was made; what was logged and warned of there is logged and warned of here."""
    for name, level, message in said.logged:
        logging.getLogger(name).log(level, message)
    for message, category in said.warned:
        warnings.warn(message, category, stacklevel=2)
    if said.error is not None:
        raise said.error
    return said.made


def cores() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1
