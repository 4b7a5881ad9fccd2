"""Whoever waits for a large file may know how far it is: stages, and the share of each.

The reader says what it does to whoever watches in this context, and nothing if nobody does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

EVERY = 0.2  # seconds between two looks at a query
Say = Callable[[str, float], object]
"""Called with the stage and the share of it that is done, from 0 to 1."""
_watcher: ContextVar[Say | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(say: Say) -> Iterator[None]:
    """Have the reader say how far it is.

    Examples
    --------
    >>> seen = []
    >>> with watched(lambda what, share: seen.append((what, share))):
    ...     tell("unpacking", 1, 4)
    >>> tell("unpacking", 2, 4)
    >>> seen
    [('unpacking', 0.25)]
    """
    token = _watcher.set(say)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell(what: str, done: float, total: float) -> None:
    """So much of so much of a stage is done."""
    say = _watcher.get()
    if say is not None:
        say(what, min(1.0, done / total) if total > 0 else 1.0)


@contextmanager
def query(con: Any, what: str) -> Iterator[None]:
    """While DuckDB is at work within: its own estimate of how far it is, a few times a second."""
    say = _watcher.get()
    if say is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        while not over.wait(EVERY):
            percent = float(con.query_progress())
            if percent >= 0:  # -1 between two queries
                say(what, min(1.0, percent / 100))

    con.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        con.execute("SET enable_progress_bar = false")
    say(what, 1.0)
