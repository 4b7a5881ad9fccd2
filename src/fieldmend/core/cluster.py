"""A crew of Dask workers: the same kernels and pieces, on other machines (extra ``dask``).

A kernel travels as a task, never scattered: what was scattered has no history, and is lost with the
worker that held it. A piece whose worker dies is done again elsewhere.
"""

from __future__ import annotations

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from fieldmend.core.crew import WorkersDied, heard
from fieldmend.core.worker import run

Piece = TypeVar("Piece")
Made = TypeVar("Made")

TRIES = 3  # of a piece whose workers die
PATIENCE = "20s"  # for a scheduler to answer


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
        try:
            held = self._submit(pickle.loads, pickle.dumps(kernel, protocol=5))
            most = 2 * self.size
            for piece in pieces:
                ahead.append((piece, self._submit(run, held, piece)))
                if len(ahead) > most:
                    yield self._taken(*ahead.popleft())
            while ahead:
                yield self._taken(*ahead.popleft())
        except self._killed as error:
            msg = f"Dask's workers ended over one piece of the work, {TRIES} times"
            raise WorkersDied(msg) from error
        except self._lost as error:
            if isinstance(error, SchedulerLost) or self._answers():
                raise
            msg = f"the scheduler of Dask is gone ({type(error).__name__})"
            raise SchedulerLost(msg) from error
        finally:
            for _, future in ahead:
                future.release()

    def _submit(self, task: Callable[..., Any], *given: Any) -> Any:
        with warnings.catch_warnings():
            # A window is as large as it is; Dask would have it scattered.
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(task, *given, pure=False, retries=TRIES)

    def _taken(self, piece: Piece, future: Any) -> tuple[Piece, Any]:
        return piece, heard(future.result())

    def _answers(self) -> bool:
        return str(self._client.status) == "running"


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        msg = "a scheduler of Dask needs distributed: pip install 'fieldmend[dask]'"
        raise ImportError(msg) from error
    return distributed
