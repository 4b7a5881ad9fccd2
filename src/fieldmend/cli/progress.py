"""Progress bars on stderr, with rates and the time that remains."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


class Silence:
    """No bars."""

    def reading(self, what: str) -> Callable[[int], None]:
        """Reading began; call what comes back with the rows that were read."""
        return lambda rows: None

    def recovering(self, readings: int) -> Callable[[str, float], None]:
        """Recovering begins; call what comes back with what is done and the share done."""
        return lambda what, share: None

    def counting(self, what: str) -> Callable[[int, int, float], None]:
        """Work in pieces begins; call what comes back with pieces done, in all, and seconds."""
        return lambda done, total, seconds: None


class Bars(Silence):
    """One bar for reading, one for recovering."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def reading(self, what: str) -> Callable[[int], None]:
        """Reading has no known end: a bar that moves, then the rate."""
        task = self._progress.add_task(f"reading {what}", total=None, rate="")
        start = time.perf_counter()

        def done(rows: int) -> None:
            rate = f"{rows / max(time.perf_counter() - start, 1e-6):,.0f} rows/s"
            self._progress.update(task, total=1, completed=1, rate=rate)

        return done

    def recovering(self, readings: int) -> Callable[[str, float], None]:
        """A bar over all readings of all conditions."""
        task = self._progress.add_task("recovering", total=1.0, rate="")
        start = time.perf_counter()

        def step(what: str, share: float) -> None:
            rate = share * readings / max(time.perf_counter() - start, 1e-6)
            self._progress.update(
                task,
                description=what,
                completed=share,
                rate=f"{rate:,.0f} readings/s" if share else "",
            )

        return step

    def counting(self, what: str) -> Callable[[int, int, float], None]:
        """A bar over the pieces; those done in an earlier run are there from the start."""
        task = self._progress.add_task(what, total=None, rate="")
        first: list[int] = []

        def step(done: int, total: int, seconds: float) -> None:
            first.append(done) if not first else None
            rate = f"{(done - first[0]) / seconds:.1f}/s" if seconds else ""
            self._progress.update(task, total=total, completed=done, rate=rate)

        return step


@contextmanager
def progress(wanted: bool) -> Iterator[Silence]:
    """Bars if they are wanted, silence otherwise."""
    if not wanted:
        yield Silence()
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from fieldmend.cli.terminal import console

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(sys.stderr)) as bars:
        yield Bars(bars)
