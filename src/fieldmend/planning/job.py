"""`plan`: any source in, a `Plan` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.grid import Array, Grid
from fieldmend.planning.asked import Wish
from fieldmend.planning.energy import Energy, of_radio
from fieldmend.planning.replay import Played, Replay, cut
from fieldmend.planning.result import Ground, Plan
from fieldmend.planning.schedule import DESIGNS, Schedule
from fieldmend.planning.search import COARSE, Asked, best_of, explore
from fieldmend.planning.seldom import both_rules
from fieldmend.quantities import identify_all
from fieldmend.records import Records, read
from fieldmend.recovery.options import with_units
from fieldmend.text import count, duration, named, shown

DAY = 86_400_000_000  # µs
LEAST_DAYS = 1.9  # one to learn from, one to play on, but for a few slots
FEWEST_NODES = 3
HEARD = 30  # readings in each half: fewer teach a model nothing of a node
MOST = 500_000  # entries (slots × nodes) that are played; of a longer record the newest
RADIO, PAYLOAD = "lora-sf9", 12

Progress = Callable[[str, float], object]


def plan(  # noqa: PLR0913 - the options of the command, keyword-only
    source: Any,
    *,
    error: float | Mapping[str, float],
    condition: str | None = None,
    quantile: float | None = None,
    designs: Sequence[str] = DESIGNS,
    energy: Energy | None = None,
    verify: Any = None,
    slot: str | float | None = None,
    kinds: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **reading: Any,
) -> Plan:
    """Find how seldom the nodes may send, the rest being recovered within an error.

    Every design is played on the record itself: one half is thinned, and recovered by a model of
    the other. Chosen is the one with the fewest messages whose error, and 1.9 standard errors on
    top of it, is within the error that is asked for.

    Parameters
    ----------
    source
        Anything that `read` takes, `Records`, or a `Grid`: two days at least, better a week,
        of readings as often as they may ever be wanted.
    error
        The mean absolute error that readings which are not sent may have, in the unit of the
        condition: one number, or condition → number. A message carries all conditions.
    condition
        Which one, where there are several and `error` is one number.
    quantile
        Plan for this quantile of the absolute error in place of its mean.
    designs
        Those to compare: ``clock`` (seldom, all together), ``staggered`` (seldom, each node at a
        time of its own), ``change`` (when a reading has moved).
    energy
        What a message costs; LoRa at SF9 with 12 bytes if not given.
    verify
        A later record, to be thinned by the plan and recovered: ``plan.found``.
    slot, kinds, units
        As for `recover`.
    seed
        Of everything random.
    progress
        Called with what is being done and the share done.
    **reading
        Options of `read`.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        What is wrong, where, and what to try.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=96, nodes=4, field="temperature", sampling=0.9, seed=3)
    >>> grid = fm.Grid.of(net.readings, condition="temperature", unit="°C", slot_seconds=1800)
    >>> plan = fm.plan(grid, error=2, designs=["staggered"])
    >>> plan.chosen.schedule.design
    'staggered'
    """
    wish = Wish(error, condition, quantile, tuple(designs))
    say = progress or (lambda _, __: None)
    say("reading", 0.0)
    grid = with_units(_grid(source, slot, reading), units)
    quantities = identify_all(grid.values, grid.units, dict(kinds or {}))
    errors = wish.errors(grid, quantities)
    own = {name: quantities[name] for name in errors}
    record, notes = _playable(replace(grid, values={name: grid.values[name] for name in errors}))
    replay = Replay(
        cut(record, slice(None), _in_both_halves(record, notes)), own,
        quantile=quantile, seed=seed, say=say,
    )  # fmt: skip
    say("fitting the model that the plan is run with", 0.08)
    ground = Ground(
        record, own, replay, both_rules(FieldModel.fit(record, seed=seed)),
        energy or usual_energy(), tuple(notes), seed,
    )  # fmt: skip
    made = choose(ground, errors, wish.designs, say)
    if verify is not None:
        say("verifying", 0.95)
        made = made.verify(_grid(verify, slot, reading))
    say("planned", 1.0)
    return made


def choose(
    ground: Ground, errors: Mapping[str, float], designs: Sequence[str], say: Progress
) -> Plan:
    """The plan for some errors, on a record that was made ready."""
    asked = [Asked(name, limit) for name, limit in errors.items()]
    tried = _tried(ground.replay, asked, designs, say)
    chosen = best_of([one for every in tried.values() for one in every], asked)
    schedule = None if chosen is None else _of_all(chosen.schedule, ground.record)
    model = ground.models[0]
    if chosen is not None:
        model = ground.replay.model(chosen.schedule, ground.models)
    return Plan(
        asked=tuple(asked), ground=ground, chosen=chosen, schedule=schedule, model=model,
        tried=tried,
    )  # fmt: skip


def usual_energy() -> Energy:
    """Of a message over LoRa at SF9 with 12 bytes."""
    spent, said = of_radio(RADIO, PAYLOAD)
    return Energy(spent, source=said)


def _grid(source: Any, slot: Any, reading: dict[str, Any]) -> Grid:
    if isinstance(source, Grid):
        return source
    if isinstance(source, Records):
        return source.grid(slot)
    with closing(read(source, **reading)) as records:
        return records.grid(slot)


def _playable(grid: Grid) -> tuple[Grid, list[str]]:
    """The record that can be played: nodes that were heard, the newest slots of a long one."""
    notes: list[str] = []
    heard = np.any([np.isfinite(X).any(axis=0) for X in grid.values.values()], axis=0)
    nodes = np.flatnonzero(heard)
    if len(nodes) < FEWEST_NODES:
        raise InputError(
            f"{count(len(nodes))} node{'s' * (len(nodes) != 1)} with readings: what a node does "
            f"not send is recovered from the others, and that takes {FEWEST_NODES} at least",
            hint="Hand in the records of the whole network",
        )
    for name, X in grid.values.items():
        if np.nanmin(X) == np.nanmax(X):
            raise InputError(
                f"{shown(name)} is {np.nanmin(X):g} throughout: nothing to plan for",
                hint="Name a condition that varies (--condition)",
            )
    days = len(grid.times) * grid.slot / DAY
    if days < LEAST_DAYS:
        raise InputError(
            f"{duration(len(grid.times) * grid.slot)} of readings: a plan takes two days at "
            "least, one to learn from and one to play on, and better a week",
            hint="Hand in a longer record",
        )
    most = max(int(MOST / len(nodes)), int(2 * DAY / grid.slot))
    rows = slice(max(0, len(grid.times) - most), None)
    if rows.start:
        notes.append(
            f"the newest {duration(most * grid.slot)} of {duration(len(grid.times) * grid.slot)} "
            "were played"
        )
    return cut(grid, rows, nodes), notes


def _in_both_halves(grid: Grid, notes: list[str]) -> Array:
    """Nodes that both halves know enough of, for every condition."""
    middle = len(grid.times) // 2
    enough = np.ones(len(grid.nodes), dtype=np.bool_)
    for X in grid.values.values():
        for part in (X[:middle], X[middle:]):
            enough &= np.isfinite(part).sum(axis=0) >= HEARD
    if np.count_nonzero(enough) < FEWEST_NODES:
        raise InputError(
            f"fewer than {FEWEST_NODES} nodes have {HEARD} readings in each half of the record: "
            "nothing to learn from in one and to play on in the other",
            hint="Hand in a longer record, or shorter slots (--slot)",
        )
    if not enough.all():
        names = [shown(grid.nodes[n]) for n in np.flatnonzero(~enough)]
        notes.append(
            f"{named('node', names)} hardly heard in one half of the record: not played, but "
            "scheduled like the others"
        )
    return np.flatnonzero(enough)


def _of_all(schedule: Schedule, grid: Grid) -> Schedule:
    """The schedule of all nodes, those too that were not played; each keeps its phase."""
    every = Schedule.of(schedule.design, grid, schedule.every, schedule.changes)
    phase = dict(zip(schedule.nodes, schedule.phases.tolist(), strict=True))
    phases = [phase.get(n, own) for n, own in zip(grid.nodes, every.phases.tolist(), strict=True)]
    return replace(every, phases=np.array(phases, dtype=np.int64))


@dataclass
class _Counter:
    """How far the search is; it does not know how long it will take, so it nears the end slowly."""

    say: Progress
    what: str
    usual: int
    done: int = 0

    def __call__(self) -> None:
        self.done += 1
        self.say(self.what, 0.1 + 0.8 * min(0.99, self.done / self.usual))


def _tried(
    replay: Replay, asked: Sequence[Asked], designs: Sequence[str], say: Progress
) -> dict[str, list[Played]]:
    """Design → all that was played of it; what meets the error of each condition meets all."""
    out: dict[str, list[Played]] = {}
    usual = len(asked) * len(designs) * (len(COARSE) - 2)
    counter = _Counter(say, "replaying", usual)
    for design in designs:
        found: list[Played] = []
        for one in asked:
            found += explore(replay, design, one, counter)
        if design == "change" and len(asked) > 1:
            found = _together(replay, found, asked)
        unique = {id(one): one for one in found}
        out[design] = sorted(unique.values(), key=lambda one: -one.share)
    return out


def _together(replay: Replay, found: Sequence[Played], asked: Sequence[Asked]) -> list[Played]:
    """On change of several conditions: each by as much as its own error allows, and less."""
    largest: dict[str, float] = {}
    for one in asked:
        mine = [p for p in found if one.condition in p.schedule.changes and one.meets(p)]
        best = min(mine, key=lambda p: p.share, default=None)
        if best is None:
            return []
        largest[one.condition] = best.schedule.changes[one.condition]
    out = []
    for part in (1.0, 0.75, 0.5):
        changes = {name: float(f"{part * change:.6g}") for name, change in largest.items()}
        out.append(replay.play(Schedule.of("change", replay.grid, changes=changes)))
        if all(one.meets(out[-1]) for one in asked):
            break
    return out
