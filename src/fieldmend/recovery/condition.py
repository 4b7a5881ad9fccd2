"""One condition: window after window, set aside what cannot be evidence, solve, judge, score."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from fieldmend import faults
from fieldmend.core.engine import blocks
from fieldmend.faults import Episode
from fieldmend.flags import BAD, Flag
from fieldmend.grid import Array, Grid
from fieldmend.recovery import notes
from fieldmend.recovery.holdout import merged
from fieldmend.recovery.joint import heard_columns, helps
from fieldmend.recovery.judging import (
    flags,
    judgeable,
    medians,
    outside,
    usual_distance,
)
from fieldmend.recovery.solving import Solved, field_of, score, solve, suspicious, typical_error
from fieldmend.recovery.storage import Room
from fieldmend.recovery.windows import Window, windows
from fieldmend.recovery.witnesses import Witnesses, witnesses
from fieldmend.result.holdout import Holdout
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered

log = logging.getLogger(__name__)

SCORED = 4  # windows that the hold-out is scored on: evenly spread, and time stays bounded
SAMPLED = 2_000_000  # entries that a node's level among the others is measured on

Share = Callable[[float], object]
"""Called with the share of the condition that is done."""


def recover_condition(
    grid: Grid, name: str, options: Options, room: Room, say: Share = lambda _: None
) -> Recovered:
    """Recover one condition of a grid."""
    X = grid.values[name]
    known = witnesses(X, options.limits.get(name))
    if not known.heard.any():
        return _nothing(grid, name, known, room)
    job = _Job(grid, name, options, room, known)
    todo = windows(*grid.shape)
    chosen = np.linspace(0, len(todo) - 1, min(SCORED, len(todo))).round().astype(int).tolist()
    for i, window in enumerate(todo):
        job.run(window, scored=options.holdout and i in chosen)
        say((i + 1) / len(todo))
    return job.result(tuple(_sentences(grid, known, options, len(todo))))


@dataclass
class _Job:
    """The results of one condition as they grow, window by window."""

    grid: Grid
    name: str
    options: Options
    room: Room
    known: Witnesses
    solved: list[Solved] = field(default_factory=list)  # their small parts only
    spreads: list[Array] = field(default_factory=list)
    scores: list[Holdout] = field(default_factory=list)
    episodes: list[tuple[Window, Episode]] = field(default_factory=list)
    lower: Array | None = None
    upper: Array | None = None
    together: tuple[bool, str] | None = None  # do other conditions help, and the words for it

    def __post_init__(self) -> None:
        self.X = self.grid.values[self.name]
        self.limits = self.options.limits.get(self.name)
        self.estimate = self.room.array(self.X.shape)
        self.flag = self.room.array(self.X.shape, np.int8)
        alone = len(windows(*self.grid.shape)) == 1
        self.level = np.zeros(self.X.shape[1]) if alone else _levels(self.X, self.limits)

    def run(self, window: Window, *, scored: bool) -> None:
        """Solve a window and keep what was decided inside it."""
        X = np.asarray(self.X[window.slots])
        failed = outside(X, self.limits)
        readings = np.where(failed, np.nan, X) if failed.any() else X
        context = self._context(window)
        with np.errstate(over="ignore", invalid="ignore"):  # a node may send 1e308
            lasting = faults.persistent(readings, context)
        evidence = np.where(lasting, np.nan, readings) if lasting.any() else readings
        company = self._company(window, evidence)
        solved = solve(evidence, self.known, self.level, self.options, company)
        seen = ~np.isnan(X)
        judged = judgeable(seen & ~failed, self.known)
        suspect = (suspicious(evidence, solved) | lasting) & judged
        flag = flags(seen, judged, suspect, failed)
        self.flag[window.decided] = flag[window.inside]
        self._blend(window, solved)
        usual = typical_error(solved)
        self.spreads.append(np.maximum(usual_distance(evidence, solved.estimate), usual))
        context = replace(context, usual=usual)
        with np.errstate(over="ignore", invalid="ignore"):
            found = faults.classify(readings, solved.estimate, suspect, context, persistent=lasting)
        self.episodes += [(window, episode) for episode in found]
        if scored:
            passed = np.where(suspect, np.nan, evidence)
            result = score(passed, solved, self.options, self.options.seed + 1 + len(self.scores))
            self.scores += [] if result is None else [result]
        nothing = np.empty((0, 0))
        self.solved.append(replace(solved, estimate=nothing, lower=None, upper=None, suspect=None))

    def _company(self, window: Window, evidence: Array) -> Array | None:
        """The other conditions of these slots, if they help; asked once, on the first window."""
        if not self.options.joint or len(self.grid.values) < 2:
            return None
        others = [
            np.where(outside(part, self.options.limits.get(name)), np.nan, part)
            for name, part in ((n, a[window.slots]) for n, a in self.grid.values.items())
            if name != self.name
        ]
        if self.together is None:
            solve_for = partial(field_of, options=self.options)
            self.together = helps(evidence, others, solve_for, self.options.seed)
        return heard_columns(others) if self.together[0] else None

    def _blend(self, window: Window, solved: Solved) -> None:
        window.blend(self.estimate, solved.estimate)
        if solved.lower is None or solved.upper is None:
            return
        if self.lower is None or self.upper is None:
            self.lower, self.upper = (self.room.array(self.X.shape) for _ in range(2))
            self.lower[:], self.upper[:] = np.nan, np.nan
        window.blend(self.lower, solved.lower)
        window.blend(self.upper, solved.upper)

    def _context(self, window: Window) -> faults.Context:
        grid, rows = self.grid, window.slots
        return faults.Context(
            nodes=grid.nodes,
            times=grid.times[rows],
            slot=grid.slot,
            condition=self.name,
            unit=grid.units.get(self.name, ""),
            places=grid.places,
            companions={c: a[rows] for c, a in grid.values.items() if c != self.name},
        )

    def result(self, sentences: tuple[str, ...]) -> Recovered:
        """All windows as one."""
        worst = next((s for s in self.solved if s.notes), self.solved[0])
        said = dict.fromkeys(note for s in self.solved for note in s.notes)
        gaps = [s.gap for s in self.solved]
        return Recovered(
            name=self.name,
            unit=self.grid.units.get(self.name, ""),
            observed=self.X,
            estimate=self.estimate,
            lower=self.lower,
            upper=self.upper,
            anomaly=self._anomaly(),
            flag=self.flag,
            scale=medians(np.where(self.known.heard, np.array(self.spreads), np.nan)),
            method=self.solved[0].method,
            rank=max(s.rank for s in self.solved),
            gap=max(gaps) if not any(np.isnan(gaps)) else np.nan,
            status=worst.status,
            choice="; ".join(dict.fromkeys(filter(None, self._choices()))),
            holdout=merged(self.scores),
            episodes=_joined(self.episodes, self.flag),
            notes=(*said, *sentences),
        )

    def _choices(self) -> Iterator[str]:
        yield from (s.choice for s in self.solved)
        if self.together is not None:
            yield self.together[1]

    def _anomaly(self) -> Array:
        """How far suspect and failed readings lie off the field that was finally found."""
        out = self.room.array(self.X.shape)
        largest = np.finfo(np.float64).max
        for block in blocks(*self.X.shape):
            off = np.isin(self.flag[block], BAD)
            with np.errstate(over="ignore", invalid="ignore"):  # 1e308 − (−1e308)
                distance = np.clip(self.X[block] - self.estimate[block], -largest, largest)
            out[block] = np.where(off, distance, 0.0)
        return out


def _joined(found: list[tuple[Window, Episode]], flag: Array) -> tuple[Episode, ...]:
    """Episodes in slots of the record; what two windows saw of one becomes one.

    An episode belongs to the window it begins in; one that was already running when a window began
    lengthens what the window before saw of it.
    """
    out: list[Episode] = []
    latest: dict[int, int] = {}  # node → its last episode in `out`
    for window, episode in found:
        start, stop = episode.start + window.start, episode.stop + window.start
        i = latest.get(episode.node)
        if i is not None and start < out[i].stop and window.start > 0:
            stop = max(stop, out[i].stop)
            held = flag[out[i].start : stop, episode.node]
            out[i] = replace(
                out[i],
                stop=stop,
                readings=int(np.count_nonzero(held == Flag.SUSPECT)),
                severity=max(out[i].severity, episode.severity),
            )
        elif window.first <= start < window.last:
            latest[episode.node] = len(out)
            out.append(replace(episode, start=start, stop=stop))
    return tuple(out)


def _levels(X: Array, limits: tuple[float, float] | None) -> Array:
    """Each node's usual distance from the network's median, on evenly spaced slots."""
    sample = np.asarray(X[:: max(1, -(-X.size // SAMPLED))])
    sample = np.where(outside(sample, limits), np.nan, sample)
    sample = sample[~np.isnan(sample).all(axis=1)]
    if not len(sample):
        return np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        return medians(sample - np.nanmedian(sample, axis=1, keepdims=True))


def _nothing(grid: Grid, name: str, known: Witnesses, room: Room) -> Recovered:
    X = grid.values[name]
    empty, zero = room.array(X.shape), room.array(X.shape)
    flag = room.array(X.shape, np.int8)
    for block in blocks(*X.shape):
        empty[block], zero[block] = np.nan, 0.0
        flag[block] = np.where(np.isnan(X[block]), np.int8(Flag.MISSING), np.int8(Flag.FAIL))
    why = "no reading within the limits" if known.failed else "no reading at all"
    note = f"{why}: nothing to recover"
    log.warning("%s: %s", name, note)
    return Recovered(
        name=name, unit=grid.units.get(name, ""), observed=X, estimate=empty, lower=None,
        upper=None, anomaly=zero, flag=flag, scale=np.zeros(X.shape[1]), method="none", rank=0,
        gap=np.nan, status="nothing to recover", choice="", holdout=None, episodes=(),
        notes=(note,), warnings=(note,),
    )  # fmt: skip


def _sentences(grid: Grid, known: Witnesses, options: Options, count: int) -> list[str]:
    why = notes.too_little(len(grid.times), known)
    said = [] if why is None else [why]
    said += notes.about_nodes(grid, known)
    if count > SCORED and options.holdout:
        said.append(f"hidden readings scored in {SCORED} of {count} windows, evenly spread")
    return said
