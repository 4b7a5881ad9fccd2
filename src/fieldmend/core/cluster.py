"""A crew of Dask workers: the same kernels and pieces, on other machines (extra ``dask``).

A kernel travels as a task, never scattered: what was scattered has no history, and is lost with the
worker that held it. A piece whose worker dies is done again elsewhere. So are the parts of a matrix
that lie with the workers (`Held`).
"""

from __future__ import annotations

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeVar

from fieldmend.core.crew import WorkersDied, heard
from fieldmend.core.worker import run

Piece = TypeVar("Piece")
Made = TypeVar("Made")

TRIES = 3  # of a piece whose workers die
PATIENCE = "20s"  # for a scheduler to answer
PARTS = 2  # of a matrix with each thread of the workers: the dead leave theirs to several


class SchedulerLost(ConnectionError):
    """The scheduler does not answer, or answers no more."""


class Cluster:
    """The workers of a Dask client, or of a scheduler's address."""

    def __init__(self, client: Any) -> None:
        distributed = _distributed()
        self._own = isinstance(client, str)
        if self._own:
            try:
                client = distributed.Client(client, timeout=PATIENCE)
            except (OSError, ValueError) as error:
                msg = f"no scheduler of Dask answers at {client} ({error})"
                raise SchedulerLost(msg) from error
        self._client = client
        self._lost = (
            CancelledError,
            distributed.CancelledError,
            distributed.comm.CommClosedError,
            OSError,
        )
        self._killed = distributed.KilledWorker

    @property
    def size(self) -> int:
        """Threads of all workers; two while none has come."""
        return max(2, int(sum(self._client.nthreads().values())))

    def close(self) -> None:
        """Let go of a scheduler that was given by its address."""
        if self._own:
            self._client.close(timeout=1)

    def ordered(
        self, kernel: Callable[[Piece], Made], pieces: Iterable[Piece]
    ) -> Iterator[tuple[Piece, Made]]:
        """Each piece with what was made of it; some are worked on ahead of the one asked for."""
        ahead: deque[tuple[Piece, Any]] = deque()
        with self._told():
            yield from self._ordered(kernel, pieces, ahead)

    def _ordered(
        self,
        kernel: Callable[[Piece], Made],
        pieces: Iterable[Piece],
        ahead: deque[tuple[Piece, Any]],
    ) -> Iterator[tuple[Piece, Made]]:
        try:
            held = self._submit(pickle.loads, pickle.dumps(kernel, protocol=5))
            most = 2 * self.size
            for piece in pieces:
                ahead.append((piece, self._submit(run, held, piece)))
                if len(ahead) > most:
                    yield self._taken(*ahead.popleft())
            while ahead:
                yield self._taken(*ahead.popleft())
        finally:
            for _, future in ahead:
                future.release()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong with Dask, in words."""
        try:
            yield
        except self._killed as error:
            msg = f"Dask's workers ended over one piece of the work, {TRIES} times"
            raise WorkersDied(msg) from error
        except self._lost as error:
            if isinstance(error, SchedulerLost) or self._answers():
                raise
            msg = f"the scheduler of Dask is gone ({type(error).__name__})"
            raise SchedulerLost(msg) from error

    def hold(self, slots: int) -> Held:
        """Room for matrices of so many slots, in parts with all workers."""
        threads = sorted(self._client.nthreads().items())
        homes = [home for home, count in threads for _ in range(PARTS * count)][:slots]
        return Held(self, homes or [""])

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """What was made, here."""
        with self._told():
            return list(self._client.gather(list(futures)))

    def delayed(self, parts: Sequence[Any]) -> list[Any]:
        """Futures of what Dask has only planned so far."""
        return list(self._client.compute(list(parts)))

    def _submit(self, task: Callable[..., Any], *given: Any, **where: Any) -> Any:
        with warnings.catch_warnings():
            # A window is as large as it is; Dask would have it scattered.
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(task, *given, pure=False, retries=TRIES, **where)

    def _taken(self, piece: Piece, future: Any) -> tuple[Piece, Any]:
        return piece, heard(future.result())

    def _answers(self) -> bool:
        return str(self._client.status) == "running"


class Held:
    """Parts of matrices with Dask's workers, each with the same one while that lives."""

    def __init__(self, cluster: Cluster, homes: list[str]) -> None:
        self.cluster, self.homes = cluster, homes

    def submit(self, task: Callable[..., Any], *given: Any, part: int) -> Any:
        """A future of what the task will make, where the part lies."""
        home = self.homes[part]
        where = {"workers": [home], "allow_other_workers": True} if home else {}
        return self.cluster._submit(task, *given, **where)

    def gather(self, made: Sequence[Any]) -> list[Any]:
        """What was made, here."""
        return self.cluster.gather(made)

    def groups(self) -> list[list[int]]:
        """Parts with the same worker."""
        return [
            [i for i, home in enumerate(self.homes) if home == one]
            for one in dict.fromkeys(self.homes)
        ]


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        msg = "a scheduler of Dask needs distributed: pip install 'fieldmend[dask]'"
        raise ImportError(msg) from error
    return distributed
