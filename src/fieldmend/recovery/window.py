"""One window of one condition: a pure function, so that any driver may run it anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fieldmend import faults
from fieldmend.faults import Episode
from fieldmend.grid import Array
from fieldmend.leading import steady, within_reach
from fieldmend.quantities import Kind, Quantity, circle
from fieldmend.recovery.decisions import Told, told
from fieldmend.recovery.judging import flags, judgeable, outside, usual_distance
from fieldmend.recovery.passing import led_through, usual_again, where_lost
from fieldmend.recovery.quantity import on_its_scale, resting
from fieldmend.recovery.remembered import expectation
from fieldmend.recovery.solving import Around, Solved, Solver, suspicious, typical_error
from fieldmend.recovery.windows import Window
from fieldmend.recovery.witnesses import Witnesses
from fieldmend.result.options import Options

# Confidence below which an episode is none: a reading two thirds of the usual spread off, or thirty
# at a quarter of it.
SLIGHT = 0.1

# Share of what is heard in a slot that has to pass to be evidence for those that were silent.
MOST = 0.75

LINEAR = Quantity(Kind.LINEAR)


@dataclass(frozen=True, eq=False)
class Setting:
    """What holds in every window of a condition.

    `level` is each node's usual distance from the network's median.
    """

    name: str
    unit: str
    nodes: tuple[str, ...]
    places: Mapping[str, Mapping[str, float]] | None
    slot: int
    options: Options
    known: Witnesses
    level: Array
    solver: Solver
    quantity: Quantity = LINEAR

    @property
    def limits(self) -> tuple[float, float] | None:
        """What the user says is possible."""
        return self.options.limits.get(self.name)


@dataclass(frozen=True, eq=False)
class Piece:
    """The readings of one window."""

    window: Window
    readings: Array
    times: Array
    others: Mapping[str, Array]  # the other conditions


@dataclass(frozen=True, eq=False)
class WindowResult:
    """What a window says. Arrays are its slots × nodes; episodes count its slots."""

    solved: Solved
    flag: Array
    spread: Array  # usual distance between a node's readings and the field
    episodes: tuple[Episode, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Readings that may be believed, and why the others may not."""

    readings: Array  # within the limits
    failed: Array  # beyond them
    found: faults.Search  # false for long
    told: Told | None = None  # what a person decided

    @property
    def lasting(self) -> Array:
        """By a lasting fault."""
        return self.found.faults

    @property
    def believed(self) -> Array:
        """The readings that the field is solved from, NaN elsewhere."""
        if not self.lasting.any():
            return self.readings
        return np.where(self.lasting, np.nan, self.readings)


def evidence(piece: Piece, setting: Setting) -> Evidence:
    """Set aside what cannot be evidence: beyond the limits, or false for long."""
    X = piece.readings
    failed = outside(X, setting.limits)
    readings = np.where(failed, np.nan, X) if failed.any() else X
    with np.errstate(over="ignore", invalid="ignore"):  # a node may send 1e308
        seen, context = on_its_scale(readings, setting.solver, _context(piece, setting))
        expect = expectation(setting.solver, readings, piece.window)
        found = faults.search(seen, context, expect)
    rest = resting(readings, found.faults | found.events, setting.quantity) & ~found.frozen
    if rest.any():
        found = replace(
            found,
            faults=found.faults & ~rest,
            events=found.events & ~rest,
            gross=found.gross & ~rest,
        )
    usable = ~np.isnan(readings)
    where = setting.nodes, piece.times, setting.slot
    said = told(setting.options.decisions, setting.name, where, usable)
    return Evidence(readings, failed, found if said is None else said.search(found), said)


def others(piece: Piece, options: Options) -> list[Array]:
    """The other conditions of the same slots, within their limits."""
    return [
        np.where(outside(part, options.limits.get(name)), np.nan, part)
        for name, part in piece.others.items()
    ]


def recover_window(piece: Piece, setting: Setting) -> WindowResult:
    """Set aside what cannot be evidence, solve, judge.

    A pure function: nothing is changed, the same piece and setting give the same result.

    Parameters
    ----------
    piece
        The readings of the window.
    setting
        What holds in every window of the condition.

    Returns
    -------
    WindowResult
    """
    given = evidence(piece, setting)
    believed = given.believed
    around = Around(piece.window, setting.known, setting.level, others(piece, setting.options))
    solved = setting.solver(believed, around)
    seen = ~np.isnan(piece.readings)
    unseen = given.lasting if solved.suspect is None else given.lasting | solved.suspect
    if setting.options.unjudged and not unseen.any():
        nobody = np.zeros_like(seen)
        flag = flags(seen, nobody, nobody, given.failed)
        return WindowResult(solved, flag, np.zeros(seen.shape[1]), ())
    judged = judgeable(seen & ~given.failed, setting.known)
    turn = setting.quantity.period  # an angle is held against the estimate on the nearest turn
    usual = typical_error(solved)
    given = _refuted(given, solved, turn)
    context = replace(_context(piece, setting), usual=usual)
    single = np.zeros_like(seen)
    if setting.quantity.tests.spikes:
        jumped = suspicious(believed, solved)
        single = jumped & ~_expected(believed, solved)
        single &= ~faults.daily(believed, jumped, context) & faults.jumping(believed, jumped)
        single &= ~faults.visits(believed, single, habit=given.found.habit)
    if given.told is not None:
        near = circle.near(believed, solved.estimate, turn)
        solved = given.told.followed(solved, near, single)
        judged, single = judged | given.told.accepted, single & ~given.told.rejected
    # What others see too is an event, whoever flagged it.
    others_saw = faults.spared(given.readings, single | given.lasting, context, given.found.gross)
    event = (given.found.events & ~faults.alone(believed, single)) | others_saw
    event &= ~given.lasting
    suspect = ((single & ~event) | given.lasting) & judged
    near = circle.near(given.readings, solved.estimate, turn)
    # Nodes that fail together excuse each other; but what happens is steadier than faults are.
    passed = unseen & judged & ~suspect & (~single | steady(near - solved.estimate, single))
    masks = unseen & judged, passed
    led = _led(solved, near, given, masks, quantity=setting.quantity, around=around)
    if setting.options.unjudged:
        flag = flags(seen, judged, suspect, given.failed)
        return WindowResult(led, flag, np.zeros(seen.shape[1]), ())
    with np.errstate(over="ignore", invalid="ignore"):
        found = faults.classify(
            near,
            solved.estimate,
            suspect,
            context,
            persistent=given.lasting,
            event=event,
            since=given.found.since & given.lasting,
        )
    found, suspect = _worth_telling(found, suspect, given)
    return WindowResult(
        led,
        flags(seen, judged, suspect, given.failed),
        np.maximum(
            usual_distance(circle.near(believed, solved.estimate, turn), solved.estimate), usual
        ),
        found,
    )


def _led(
    solved: Solved,
    near: Array,
    given: Evidence,
    masks: tuple[Array, Array],
    *,
    quantity: Quantity,
    around: Around,
) -> Solved:
    """The field led through readings that it did not see, and what was lost among them.

    `masks`: what it did not see, and what of that passes. Suspects keep their reading, too: what
    was lost among those that may be real goes with them, and the field stays beside.
    """
    unseen, passes = masks
    bounds, false = (quantity.low, quantity.high), given.found.gross
    passed = usual_again(given.readings, unseen, passes, around.others)
    far, doubted = passes & ~passed, unseen & ~passes
    passed |= faults.as_others_do(given.readings, far, false | doubted, real=True)
    led = _with_most(solved, given.readings, unseen, passed, around)
    led = led_through(led, near, passed, bounds=bounds)
    kept = faults.as_others_do(given.readings, doubted, false)
    heard = ~np.isnan(given.readings)
    towards = np.where(kept, near, np.nan)
    if led.lower is not None and led.upper is not None:
        reach = within_reach(led.estimate, (led.lower, led.upper), near, doubted)
        towards = np.where(kept, near, reach)
    return where_lost(led, led_through(led, towards, ~np.isnan(towards), bounds=bounds), heard)


def _with_most(
    solved: Solved, readings: Array, unseen: Array, passed: Array, around: Around
) -> Solved:
    """The field with what passed as evidence in slots in which nearly all that was heard is of it.

    There it was solved from the few that were not doubted, and says nothing true of those that were
    silent. What one node went through alone is evidence for that node only, and what a quarter of
    the network did not see, of those that saw it.
    """
    heard = ~np.isnan(readings)
    most = np.count_nonzero(passed, axis=1) > MOST * np.count_nonzero(heard, axis=1)
    if solved.judged is None or not most.any():
        return solved
    out = solved.judged(np.where(unseen & ~(passed & most[:, None]), np.nan, readings), around)
    # The model that is kept still doubts: other readings are to come.
    return replace(out, suspect=solved.suspect, fitted=solved.fitted, again=solved.again)


def _worth_telling(
    found: tuple[Episode, ...], suspect: Array, given: Evidence
) -> tuple[tuple[Episode, ...], Array]:
    """Without episodes that lie where the field expects them: whoever looks finds nothing wrong.

    But what is false whatever the field says, and what a person said, stays.
    """
    sure = given.found.gross if given.told is None else given.found.gross | given.told.accepted
    suspect, kept = suspect.copy(), []
    for episode in found:
        part = slice(episode.start, episode.stop), episode.node
        fault = episode.kind != faults.Kind.EVENT
        if fault and episode.confidence < SLIGHT and not (episode.certain or sure[part].any()):
            suspect[part] = False
        else:
            kept.append(episode)
    return tuple(kept), suspect


def _refuted(given: Evidence, solved: Solved, turn: float) -> Evidence:
    """Without masks that the field, which did not see what they hide, finds nothing wrong with.

    What is false whatever others say stays, and what a person said.
    """
    masked = given.lasting & ~given.found.gross
    if given.told is not None:
        masked &= ~given.told.accepted
    if solved.lower is None or solved.upper is None or not masked.any():
        return given
    near = circle.near(given.readings, solved.estimate, turn)
    fine = faults.agreed(near, solved.estimate, (solved.lower, solved.upper), masked)
    return replace(given, found=replace(given.found, faults=given.lasting & ~fine))


def _expected(readings: Array, solved: Solved) -> Array:
    """Readings inside their own interval: whatever they stand in, they are what was expected."""
    if solved.lower is None or solved.upper is None:
        return np.zeros(readings.shape, dtype=np.bool_)
    return np.asarray((solved.lower <= readings) & (readings <= solved.upper))


def _context(piece: Piece, setting: Setting) -> faults.Context:
    return faults.Context(
        nodes=setting.nodes,
        times=piece.times,
        slot=setting.slot,
        condition=setting.name,
        unit=setting.unit,
        places=setting.places,
        companions=piece.others,
        quantity=setting.quantity,
    )
