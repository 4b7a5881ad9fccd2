"""Progress bars on stderr, with rates and the time that remains."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


class Reading:
    """Reading, and nobody looks."""

    def stage(self, what: str, share: float) -> None:
        """So much of a stage is done."""

    def done(self, rows: int) -> None:
        """All rows are read."""


class ReadingBar(Reading):
    """One bar, filled anew by each stage: the time that remains is that of the stage."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress, self._what, self._stage = progress, what, ""
        self._task = progress.add_task(f"reading {what}", total=None, rate="")
        self._start = time.perf_counter()

    def stage(self, what: str, share: float) -> None:
        """Show it; a stage that has just begun starts from nothing."""
        if what != self._stage:
            self._stage = what
            self._progress.reset(self._task, total=1.0, description=f"{what} {self._what}")
        self._progress.update(self._task, completed=share)

    def done(self, rows: int) -> None:
        """The rate of the whole."""
        rate = f"{rows / max(time.perf_counter() - self._start, 1e-6):,.0f} rows/s"
        self._progress.update(
            self._task, description=f"reading {self._what}", total=1, completed=1, rate=rate
        )


class Silence:
    """No bars."""

    def reading(self, what: str) -> Reading:
        """Reading begins; what comes back is told its stages and the rows that were read."""
        return Reading()

    def writing(self, count: int) -> Callable[[str], None]:
        """Writing begins; call what comes back with each file before it is written."""
        return lambda name: None

    def recovering(self, readings: int) -> Callable[[str, float], None]:
        """Recovering begins; call what comes back with what is done and the share done."""
        return lambda what, share: None

    def counting(self, what: str) -> Callable[[int, int, float], None]:
        """Work in pieces begins; call what comes back with pieces done, in all, and seconds."""
        return lambda done, total, seconds: None


class Bars(Silence):
    """One bar for reading, one for recovering, one for writing."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def reading(self, what: str) -> Reading:
        """A bar by bytes or rows, stage after stage; then the rate."""
        return ReadingBar(self._progress, what)

    def writing(self, count: int) -> Callable[[str], None]:
        """A bar over the files."""
        task = self._progress.add_task("writing", total=count, rate="")
        begun: list[str] = []

        def step(name: str) -> None:
            self._progress.update(task, description=f"writing {name}", completed=len(begun))
            begun.append(name)

        return step

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
            self._progress.update(task, total=total, completed=done, rate=rate, before=first[0])

        return step


def time_left(elapsed: float, done: float, total: float, before: float = 0.0) -> float | None:
    """Seconds, at the pace since the stage began; None before anything is done.

    Pace of late would say nothing while one long step lasts. `before` was done in an earlier run.
    """
    return elapsed * (total - done) / (done - before) if done > before else None


@contextmanager
def progress(wanted: bool) -> Iterator[Silence]:
    """Bars if they are wanted, silence otherwise."""
    if not wanted:
        yield Silence()
        return
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    from fieldmend.cli.terminal import console

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            before = float(task.fields.get("before", 0.0))
            left = time_left(task.elapsed or 0.0, task.completed, task.total or 0.0, before)
            if left is None or task.total is None:
                return Text("-:--:--")
            return Text(str(timedelta(seconds=round(left))))

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeElapsedColumn(),
        TimeLeft(),
    )
    with Progress(*columns, console=console(sys.stderr)) as bars:
        yield Bars(bars)
