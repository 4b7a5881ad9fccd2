"""The printed error: readings hidden before anything looks at them, the whole recovery once more.

One function, `score`, for `recover`, `evaluate`, the report and the benchmarks. Nothing that the
first run found (flags, masks, choices, a model) reaches the second: it is handed a grid in which
the hidden readings are not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from fieldmend import spill
from fieldmend.core import engine
from fieldmend.core.crew import Crew
from fieldmend.diagnostics import gap_at
from fieldmend.faults import Kind
from fieldmend.field.regions import Region
from fieldmend.flags import BAD
from fieldmend.grid import Array, Grid
from fieldmend.holdout.drawing import Hidden, draw
from fieldmend.holdout.scoring import Lost, Said, Witnesses, believed
from fieldmend.holdout.scoring import score as summed
from fieldmend.quantities import Kind as QuantityKind
from fieldmend.quantities import Quantity
from fieldmend.quantities.behaviour import spreads
from fieldmend.recovery.filling import replaced
from fieldmend.recovery.judging import outside
from fieldmend.recovery.service import service
from fieldmend.recovery.wide import among, many, regions
from fieldmend.recovery.windows import SHORTEST, windows
from fieldmend.result.holdout import Holdout
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import State

SCORED = 4  # windows of a long record: evenly spread, so that time stays bounded
REGIONS = 8  # of a wide one, for the same reason
TRIED = 1_000_000  # entries of such a window that a score is made of: a tenth of them are hidden
DAY = 86_400_000_000  # µs
LINEAR = Quantity(QuantityKind.LINEAR)
LARGEST = 1e150  # a node with a reading beyond is not scored: errors are squared


class Run(Protocol):
    """What `recover` does with one condition of a grid, all but the score."""

    def __call__(self, grid: Grid, *, options: Options) -> Recovered:
        """Recover it."""


@dataclass(frozen=True)
class Trial:
    """A stretch of the record and what is hidden of it.

    Attributes
    ----------
    grid
        The stretch without the hidden readings: all that a recovery may see. Where the gaps were
        copied from took other conditions of the node along, those are hidden along.
    readings
        Of the condition, as they arrived, slots × nodes; NaN beyond the limits.
    lost
        True where an estimate is wanted.
    hidden
        The readings that were hidden.
    seed
        Of the draw.
    rows
        Its slots in the record.
    region
        Of a network that is recovered region by region: which nodes these are, and which of them
        are scored.
    """

    grid: Grid
    readings: Array
    lost: Array
    hidden: Hidden
    seed: int
    rows: slice
    region: Region | None = None

    @property
    def scored(self) -> Array | slice:
        """The columns that are scored."""
        return slice(None) if self.region is None else self.region.core

    def among(self, region: Region) -> Trial:
        """The same of one region."""
        nodes = region.nodes
        return replace(
            self,
            grid=among(self.grid, nodes),
            readings=self.readings[:, nodes],
            lost=self.lost[:, nodes],
            hidden=replace(self.hidden, mask=self.hidden.mask[:, nodes]),
            region=region,
        )


def trials(grid: Grid, name: str, options: Options) -> Iterator[Trial]:
    """What to hide of a condition: in the whole record, or in the middle of some windows of it.

    The same grid, condition and seed always hide the same readings.
    """
    life = service(grid.values[name], grid.slot)
    plan = windows(*grid.shape, options.window)
    chosen = np.linspace(0, len(plan) - 1, min(SCORED, len(plan))).round().astype(int)
    for i in chosen.tolist():
        rows = plan[i].slots if len(plan) == 1 else _middle(plan[i].slots, len(grid.nodes))
        X = np.asarray(grid.values[name][rows])
        limits = options.limits.get(name)
        readings = np.where(outside(X, limits) | _huge(X), np.nan, X)
        heard = ~np.isnan(readings)
        lost = wanted(X, life.states(~np.isnan(X), rows.start), options, grid.slot)
        lost |= outside(X, limits)
        hidden = draw(heard, lost, options.seed + i, day=DAY / grid.slot if grid.slot else 0.0)
        if hidden.mask.any():
            left = _without(grid, name, rows, hidden)
            trial = Trial(left, readings, lost, hidden, options.seed + i, rows)
            yield from _by_regions(trial, name) if many(grid, options) else [trial]


def _middle(slots: slice, nodes: int) -> slice:
    """As much of a window as is witness enough."""
    length = min(max(TRIED // nodes, SHORTEST), slots.stop - slots.start)
    first = (slots.start + slots.stop - length) // 2
    return slice(first, first + length)


def _by_regions(trial: Trial, name: str) -> Iterator[Trial]:
    """Some regions, evenly spread; they are cut without the hidden readings."""
    plan = regions(trial.grid, name)
    for i in np.linspace(0, len(plan) - 1, min(REGIONS, len(plan))).round().astype(int).tolist():
        part = trial.among(plan[i])
        if part.hidden.mask.any():
            yield part


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a record that was scored: its slots, and of which nodes, if not of all.

    Masks, slots × nodes: what was heard, what was lost, which of the readings were hidden.
    """

    rows: slice
    nodes: Array | None
    heard: Array
    lost: Array
    hidden: Array

    def of(self, whole: Array) -> Array:
        """The same part of something else, in slots × nodes."""
        rows = np.asarray(whole[self.rows])
        return rows if self.nodes is None else rows[:, self.nodes]


@dataclass
class Scores:
    """What was said of hidden readings, stretch after stretch.

    Errors go round the circle of a direction; where nodes measure unlike things, they are told in
    parts of each node's own range.
    """

    quantity: Quantity = LINEAR
    seen: list[Witnesses] = field(default_factory=list)
    where: list[Stretch] = field(default_factory=list)
    copied: bool = False

    def add(self, trial: Trial, said: Said) -> None:
        """One stretch more."""
        here, period = trial.scored, self.quantity.period
        readings, lost = trial.readings[:, here], trial.lost[:, here]
        hidden = trial.hidden.mask[:, here]
        if self.quantity.kind is QuantityKind.MIXED:
            own = spreads(readings)
            hidden, readings, said = hidden & np.isfinite(own), readings / own, said.over(own)
        self.seen.append(Witnesses.of(readings, hidden, lost, said, period))
        nodes = None if trial.region is None else trial.region.decided
        self.where.append(Stretch(trial.rows, nodes, ~np.isnan(readings), lost, hidden))
        self.copied |= trial.hidden.copied

    def whole(self, doubt: Doubt | None = None) -> Holdout | None:
        """All stretches as one; None without any. `doubt`: what is known of the readings."""
        if not self.seen:
            return None
        parts = [_placed(*pair, doubt) for pair in zip(self.seen, self.where, strict=True)]
        seen = Witnesses.pooled([part.seen for part in parts])
        lost = Lost.pooled([part.lost for part in parts])
        kept = believed(np.concatenate([part.false for part in parts]))
        suspect = np.concatenate([part.suspect for part in parts])
        found = summed(seen.kept(kept), lost, copied=self.copied, suspect=suspect[kept])
        every = summed(seen, lost, copied=self.copied, suspect=suspect)
        if found is None or every is None:
            return every
        return replace(
            found,
            false=int(np.count_nonzero(~kept)),
            all_mae=every.method.mae,
            all_line_mae=every.line.mae,
        )


@dataclass(frozen=True, eq=False)
class _Placed:
    """Hidden readings and lost ones in the gaps that are bridged; which of the former are false."""

    seen: Witnesses
    lost: Lost
    false: Array
    suspect: Array


def _placed(seen: Witnesses, here: Stretch, doubt: Doubt | None) -> _Placed:
    """Gaps reach across readings that are no truth: the field is solved without them.

    What was lost one by one while a sensor was dead for weeks is lost for weeks.
    """
    hidden = here.hidden
    if doubt is None:
        none = np.zeros(int(hidden.sum()), dtype=np.bool_)
        return _Placed(seen, Lost.of(here.heard, here.lost), none, none)
    false = here.of(doubt.false)
    used = here.heard & ~false
    return _Placed(
        seen.placed(used & ~hidden, here.heard | here.lost, hidden),
        Lost.of(used, here.lost),
        false[hidden],
        np.isin(here.of(doubt.flag)[hidden], BAD),
    )


@dataclass(frozen=True, eq=False)
class Doubt:
    """What a recovery of all readings holds of them, slots × nodes.

    Attributes
    ----------
    false
        True for readings that are no truth to compare with (`no_truth`).
    flag
        Of every reading: an error at a suspect one is limited.
    """

    false: Array
    flag: Array

    @classmethod
    def of(cls, found: Recovered) -> Doubt:
        """What was found."""
        return cls(no_truth(found), found.flag)


def no_truth(found: Recovered) -> Array:
    """Readings that an estimate cannot be held against, by what a recovery of all of them found.

    Certainly false, or false for long: a line through the other readings of a node that is off for
    days comes close to nothing but its fault.
    """
    shape = found.flag.shape
    large = isinstance(found.flag, np.memmap)
    none = spill.on_disk(shape, np.bool_) if large else np.zeros(shape, dtype=np.bool_)
    lasting = [kind for kind in Kind if kind.lasts]
    known = tuple(replace(e, certain=e.certain or e.kind in lasting) for e in found.episodes)
    return replaced(none, found.flag, known, "certain")


def score(
    grid: Grid,
    name: str,
    options: Options,
    run: Run,
    *,
    quantity: Quantity = LINEAR,
    doubt: Doubt | None = None,
) -> Holdout | None:
    """How far off a recovery of this condition is where it has nothing to go by.

    Parameters
    ----------
    grid, name, options
        What is recovered, and how.
    run
        The recovery of one condition, from readings to intervals: all of it.
    quantity
        What it is.
    doubt
        What the run of all readings holds of them. The second run is not told.

    Returns
    -------
    Holdout or None
        None where too few readings are there to hide some.
    """
    return tried(grid, name, options, run, quantity=quantity).whole(doubt)


def tried(
    grid: Grid,
    name: str,
    options: Options,
    run: Run,
    *,
    quantity: Quantity = LINEAR,
    crew: Crew | None = None,
) -> Scores:
    """What the second run says of hidden readings; it knows nothing of the first."""
    found = Scores(quantity)
    kernel = partial(_said, run=run, options=everywhere(options))
    engine.each(kernel, trials(grid, name, options), found.add, crew)
    return found


def _said(trial: Trial, run: Run, options: Options) -> Said:
    out = run(trial.grid, options=options)
    lower, upper = (None if end is None else end[:, trial.scored] for end in (out.lower, out.upper))
    return Said(out.estimate[:, trial.scored], lower, upper)


def everywhere(options: Options) -> Options:
    """The same for a run of which any estimate may be asked, nothing else, and not scored itself.

    What an extrapolation may be off by, and what a person decided, is a matter of flags too.
    """
    unjudged = not (options.extrapolate or options.decisions.made)
    asked = replace(options, holdout=False, everywhere=True, unjudged=unjudged)
    return replace(asked, max_gap=None, max_width=None)


def wanted(X: Array, state: Array, options: Options, slot: int) -> Array:
    """True where a reading was lost and an estimate is given out."""
    lost: Array = state > State.READ if options.extrapolate else state == State.LOST
    longest = options.longest(slot)
    return lost if longest is None else lost & (gap_at(~np.isnan(X)) <= longest)


def _huge(X: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(X) > LARGEST).any(axis=0))


def _without(grid: Grid, name: str, rows: slice, hidden: Hidden) -> Grid:
    values = {}
    for other, array in grid.values.items():
        part = np.asarray(array[rows])
        gone = hidden.mask if other == name else hidden.along(np.isnan(part))
        values[other] = np.where(gone, np.nan, part)
    return replace(grid, values=values, times=grid.times[rows])
