"""All conditions of a grid: each is recovered, and once more without readings that are hidden.

The run without them knows nothing of the other. Of a small record, nor does the other of it; of
a larger one, whose model one reading in ten hardly changes, it takes over the model that was fitted
without the hidden readings: one fit instead of two. Conditions know nothing of each other's
results. So a crew may do them anywhere and in any order; a record of several windows is shared out
by windows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fieldmend import spill
from fieldmend.core.crew import Alone, Crew, Processes, cores
from fieldmend.errors import InputError
from fieldmend.grid import Grid, Origin
from fieldmend.holdout.scoring import Said
from fieldmend.quantities import Quantity, identify
from fieldmend.recovery import honest
from fieldmend.recovery.condition import Share
from fieldmend.recovery.keeping import Kept, opened
from fieldmend.recovery.modelling import Known, still_fitting
from fieldmend.recovery.regional import recover_nodes
from fieldmend.recovery.solving import DECIDES, Solver
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.wide import many
from fieldmend.recovery.windows import EACH, windows
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.text import shown

if TYPE_CHECKING:
    from fieldmend.core.cluster import Cluster

WITHOUT_SCORE = ("line", "none", "passed")  # nothing estimated, or by a line anyway
BUSY = 600_000
"""Entries to be solved from which on other processes are worth their start: some ten seconds."""
ONCE = 50_000
"""Entries from which on one model, fitted without the hidden readings, does for both runs."""
FITTED = 0.8  # of the time, when one of two runs has its model
PROCESS = 250_000_000  # bytes of a process before it has readings
IN_MEMORY = Storage()

Tell = Callable[[str, float], object]
"""Called with a condition and the share of all conditions that is done."""


Run = Literal["whole", "hidden", "both"]
Made = tuple[Recovered | None, honest.Scores | None]


@dataclass(frozen=True)
class Task:
    """One run of a condition: of all readings, of those that are not hidden, or both."""

    name: str
    run: Run


@dataclass(frozen=True, eq=False)
class Work:
    """What holds for all conditions; of one of them what a task says."""

    grid: Grid
    quantities: Mapping[str, Quantity]
    options: Options
    known: Known | None = None

    def within(self, name: str) -> Grid:
        """The grid that a condition is seen in: labels say nothing of what was measured."""
        if not self.quantities[name].measured:
            return self.grid
        kept = {
            n: X
            for n, X in self.grid.values.items()
            if n not in self.quantities or self.quantities[n].measured
        }
        return replace(self.grid, values=kept)

    def __call__(self, task: Task) -> Made:
        """A task by itself, in memory; the readings do not come back with the result."""
        if task.run == "hidden":
            return None, self.hidden(task.name)
        if task.run == "both":
            found, scores = self.both(task.name, IN_MEMORY)
        else:
            found, scores = self.whole(task.name, IN_MEMORY), None
        return replace(found, observed=np.empty((0, 0))), scores

    def runs(self, name: str) -> tuple[Run, ...]:
        """What is to be run of a condition."""
        if not self.to_score(name):
            return ("whole",)
        return ("both",) if self.fitted_once() else ("whole", "hidden")

    def fitted_once(self) -> bool:
        """Whether both runs of a condition have one model: a large record, in one piece."""
        if many(self.grid, self.options):
            return False
        shape, window = self.grid.shape, self.options.window
        large = int(np.prod(shape)) >= ONCE and len(windows(*shape, window)) == 1
        return large and self.known is None and self.options.method in DECIDES

    def to_score(self, name: str) -> bool:
        """Whether readings of a condition are to be hidden.

        Not of one that nodes send on change: the silence after a hidden reading would be read as
        if it had never been sent, and what nodes did not send, nobody can score.
        """
        on_change = self.options.change(name) is not None
        return self.options.holdout and self.quantities[name].measured and not on_change

    def whole(
        self,
        name: str,
        storage: Storage,
        say: Share = lambda _: None,
        crew: Crew | None = None,
        kept: Kept | None = None,
        *,
        solver: Solver | None = None,
    ) -> Recovered:
        """Recover a condition from all readings; by a solver, if there is one already."""
        grid, what = self.within(name), self.quantities[name]
        model = None if self.known is None else self.known.applying(name, grid)
        more: dict[str, Any] = {"model": model, "solver": solver, "crew": crew, "kept": kept}
        return recover_nodes(grid, name, what, self.options, storage, say=say, **more)[0]

    def both(
        self,
        name: str,
        storage: Storage,
        say: Share = lambda _: None,
        kept: Kept | None = None,
    ) -> tuple[Recovered, honest.Scores]:
        """Without the hidden readings first; then all of them, by the model fitted to the others.

        Nothing that is said of a hidden reading, here or in what was learnt, knows of it.
        """
        scores, solver, grid = honest.Scores(self.quantities[name]), None, self.within(name)
        for trial in honest.trials(grid, name, self.options):
            options = honest.everywhere(self.options)
            quantity = _taken_as(trial.grid, name, options)
            out, again = recover_nodes(trial.grid, name, quantity, options, IN_MEMORY)
            said = Said(out.estimate, out.lower, out.upper)
            scores.add(trial, said)
            solver = again if quantity.kind is self.quantities[name].kind else None
            say(FITTED)
        return self.whole(name, storage, say, kept=kept, solver=solver), scores

    def hidden(self, name: str, crew: Crew | None = None) -> honest.Scores:
        """What a second run says of readings that were hidden from it."""
        run = partial(one_condition, name=name, known=self.known)
        what = self.quantities[name]
        return honest.tried(self.within(name), name, self.options, run, quantity=what, crew=crew)

    def scored(self, found: Recovered, scores: honest.Scores | None) -> Recovered:
        """A condition with how far off it is, and whether a model still fits it."""
        if scores is not None and found.method not in WITHOUT_SCORE:
            found = replace(found, holdout=scores.whole(honest.Doubt.of(found)))
        if self.known is None:
            return found
        model = self.known.applying(found.name, self.within(found.name))
        return found if model is None else still_fitting(found, model, self.options)


def one_condition(grid: Grid, name: str, options: Options, known: Known | None = None) -> Recovered:
    """All that `recover` does with one condition, from finding out what it is; but no score."""
    quantity = _taken_as(grid, name, options)
    model = None if known is None else known.applying(name, grid)
    return recover_nodes(grid, name, quantity, options, IN_MEMORY, model=model)[0]


def scored_condition(
    grid: Grid, name: str, options: Options
) -> tuple[Recovered, honest.Scores | None]:
    """One condition as `recover` recovers and scores it."""
    work = Work(grid, {name: _taken_as(grid, name, options)}, options)
    if work.runs(name) == ("both",):
        return work.both(name, IN_MEMORY)
    scores = work.hidden(name) if work.to_score(name) else None
    return work.whole(name, IN_MEMORY), scores


def _taken_as(grid: Grid, name: str, options: Options) -> Quantity:
    unit, kind = grid.units.get(name, ""), options.kinds.get(name)
    return identify(name, unit, grid.values[name], kind=kind)


def recovered(
    work: Work,
    storage: Storage,
    crew: Crew,
    tell: Tell,
    keep: Path | None = None,
) -> dict[str, Recovered]:
    """Every condition, recovered and scored; finished windows are kept in a folder, if given."""
    one_window = len(windows(*work.grid.shape, work.options.window)) == 1
    whole = one_window and not many(work.grid, work.options)
    if crew.size > 1 and whole and not storage.files and keep is None:
        return _shared_out(work, crew, tell)
    every = None if keep is None else opened(keep, work.grid, work.options)
    return dict(_in_turn(work, storage, crew, tell, every))


def _in_turn(
    work: Work, storage: Storage, crew: Crew, tell: Tell, every: list[Kept] | None
) -> Iterator[tuple[str, Recovered]]:
    names, half = list(work.grid.values), 0.5 if work.options.holdout else 1.0
    for i, name in enumerate(names):

        def part(share: float, name: str = name, i: int = i) -> None:
            tell(name, (i + share) / len(names))

        def first(share: float, part: Share = part) -> None:
            part(half * share)

        part(0.0)
        kept = None if every is None else every[i]
        scores = None
        if work.runs(name) == ("both",):
            found, scores = work.both(name, storage, part, kept)
        else:
            found = work.whole(name, storage, first, crew, kept)
            if work.to_score(name) and found.method not in WITHOUT_SCORE:
                scores = work.hidden(name, crew)
        part(1.0)
        yield name, work.scored(found, scores)


def _shared_out(work: Work, crew: Crew, tell: Tell) -> dict[str, Recovered]:
    tasks = [Task(name, run) for name in work.grid.values for run in work.runs(name)]
    sent = replace(work, grid=replace(work.grid, origin=Origin()))
    found: dict[str, Recovered] = {}
    scores: dict[str, honest.Scores] = {}
    tell(tasks[0].name, 0.0)
    for done, (task, (one, score)) in enumerate(crew.ordered(sent, tasks), 1):
        if one is not None:
            found[task.name] = replace(one, observed=work.grid.values[task.name])
        if score is not None:
            scores[task.name] = score
        tell(task.name, done / len(tasks))
    return {name: work.scored(one, scores.get(name)) for name, one in found.items()}


def crew_for(
    workers: int | None, grid: Grid, options: Options, client: Any = None
) -> Alone | Processes | Cluster:
    """So many processes as were asked for; if none were, as many as there are processors.

    A short record is done before they have started: it is done here. With a client of Dask, or the
    address of its scheduler, its workers do it.
    """
    if client is not None:
        from fieldmend.core.cluster import Cluster

        return Cluster(client)
    if workers is None:
        entries = int(np.prod(grid.shape)) * len(grid.values) * (1 + options.holdout)
        few = os.environ.get("FIELDMEND_THREADS", "")
        most = int(few) if few.isdigit() and int(few) else cores()
        workers = min(most, cores()) if entries >= BUSY and options.method == "auto" else 1
        workers = min(workers, _fitting(options.window))
    return Processes(workers) if workers > 1 else Alone()


def _fitting(window: int | None) -> int:
    """Processes that a limit of memory has room for: each takes its window, and what it is of."""
    memory = spill.limit()
    if memory is None or window is None:
        return cores()
    return max(1, (memory - PROCESS) // (PROCESS + EACH * window))


def check_workers(workers: int | None) -> None:
    """Refuse what is no number of processes, before any work is done."""
    whole: Any = workers
    if whole is None or (isinstance(whole, int) and whole >= 1 and whole is not True):
        return
    raise InputError(f"workers {shown(workers)}", hint="Give a whole number from 1")
