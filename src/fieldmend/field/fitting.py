"""From readings to a fitted field: flags, growth to full rank, hold-outs, choice of start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from fieldmend.core.loop import Tell
from fieldmend.core.prox import Array, Mask
from fieldmend.field.cycles import Course, long_enough, relearnt
from fieldmend.field.flags import NEVER, first_channels, learn, second_channels
from fieldmend.field.holdout import draw_hidden, draw_runs, runs_of
from fieldmend.field.honest import Bounds
from fieldmend.field.levels import Hidden, Levels
from fieldmend.field.mixture import worth_trying
from fieldmend.field.model import (
    Data,
    Field,
    estimate,
    follow,
    grow,
    improve,
    most_factors,
    start_field,
    update_factors,
)
from fieldmend.field.outages import silent_slots, usual_company
from fieldmend.field.paying import habitual, paying
from fieldmend.field.routine import Routine
from fieldmend.field.screens import JumpScreen, Screen
from fieldmend.field.second import Second, second_looks
from fieldmend.field.slotwise import slotwise
from fieldmend.field.trials import Trial, forgetful, judged, refitted

_RANKS = (2, 6, 12)
_TOL, _MOST = 1e-3, 20  # of conjugate gradients, when the rest is settled
_HIDDEN = 0.1  # share of the readings hidden for the choice of the start
_HOLDOUTS, _SHARE = 4, 0.15  # for the intervals: so often so many are hidden,
_ENOUGH = 20_000  # or as often as hides so many, at least twice; not where the network fell silent
_WITNESSES = 1600  # or so many runs, each of which is one witness: a hundred for each of 16 bins
_MATTERS = 0.01  # of what was lost, lost while the network was silent: less is chance


@dataclass(frozen=True)
class Fit:
    """Parameters, the readings they were fitted to, what hidden readings said."""

    field: Field
    clean: Data
    second: Second | None
    joint: Second | None  # with other conditions, where they are asked
    routine: Routine | None  # by the usual course, where the network falls silent
    levels: Levels | None  # where gaps last
    trials: list[Trial]
    screen: Screen
    start: str
    course: Course | None  # that was taken off


def fit(
    data: Data,
    seed: int,
    tell: Tell,
    *,
    lengths: Sequence[int] = (),
    course: Course | None = None,
    doubting: bool = True,
) -> Fit:
    """Fit the field model; where slots say little of each other, also from the other start.

    `lengths` are periods: days and weeks alike. `course` is what was taken off the readings before;
    where nothing was, the usual course may count where the network is silent. Unless `doubting`,
    nothing looks false.
    """
    screen: Screen
    rng = np.random.default_rng(seed)
    false, field, screen, habit = _screened(data, rng, tell, doubting=doubting)
    clean = data.using(data.used & ~false)
    hidden = draw_hidden(clean.used, clean.lost, _HIDDEN, rng)
    rest = clean.using(clean.used & ~hidden)
    field = forgetful(field, clean, rest)
    field = _grown(update_factors(field, rest, rng) if field.rank else field, rest, rng)
    tell(field.rank)
    start = "jumps"
    if worth_trying(data) and not habit:
        other = slotwise(data, hidden, judged(field, rest, clean, hidden), rng, seed)
        if other is not None:
            field, screen = other.field, other.screen
            # A slot that went wrong there has many flags: decided afresh, it may have few.
            afresh = screen(data, field)[0]
            fewer = afresh.sum(axis=0) < other.false.sum(axis=0)
            false = np.where(fewer, afresh, other.false)
            clean, start = data.using(data.used & ~false), "slots"
    field = improve(field, clean, rng, rounds=1)
    field = update_factors(field, clean, rng, tol=_TOL, most=_MOST)
    tell(field.rank)
    held = _holdout(field, clean, rng, tell, course)
    levels, said = Levels.learnt(clean, [one.seen() for one in held], seed)
    mean = estimate(field, clean)[0]
    if levels is not None:
        mean = levels.mixed(mean, clean, usual_company(clean.used))
    periods = tuple(long_enough(lengths, clean.slots))
    second, joint = second_looks(mean, clean, periods=periods)
    usual = None
    if course is None:
        usual = Routine.learnt(field, clean, periods, np.random.default_rng([seed, 13]))
    trials = [
        _tried(one, looks=(second, joint), routine=usual, levels=levels, levelled=levelled)
        for one, levelled in zip_longest(held, said)
    ]
    return Fit(field, clean, second, joint, usual, levels, trials, screen, start, course)


def quick_field(data: Data, seed: int) -> Field:
    """The field model without a search for false readings and without hold-outs: for trials."""
    return _grown(start_field(data), data, np.random.default_rng(seed))


def quick_mean(data: Data, seed: int) -> Array:
    """What such a field says at every entry, nodes × slots; nobody asks how sure it is."""
    field = _rounds(start_field(data), data, np.random.default_rng(seed))
    return estimate(follow(field, data, tol=_TOL, most=_MOST), data)[0]


def _screened(
    data: Data, rng: np.random.Generator, tell: Tell, *, doubting: bool
) -> tuple[Mask, Field, JumpScreen, bool]:
    """False readings, decided twice: without a field, then against a first one.

    And whether what looks false is a habit: then nothing is.
    """
    false, first = learn(first_channels(data), data.used, data.slots)
    false &= doubting
    clean = data.using(data.used & ~false)
    field = start_field(clean)
    for rank in _RANKS[:-1]:
        field = improve(grow(field, clean, most_factors(rank, data)), clean, rng, rounds=2)
        tell(field.rank)
    channels = second_channels(data, field.common())
    second = learn(channels, data.used, data.slots)[1]
    if not doubting or habitual(second, channels, data):
        never = replace(second, more=(NEVER, NEVER))
        return np.zeros_like(false), field, JumpScreen(first, never), True
    false, second = paying(second, channels, data, field)
    return false, field, JumpScreen(first, second), False


def _grown(field: Field, rest: Data, rng: np.random.Generator) -> Field:
    return update_factors(_rounds(field, rest, rng), rest, rng, tol=_TOL, most=_MOST)


def _rounds(field: Field, rest: Data, rng: np.random.Generator) -> Field:
    return improve(grow(field, rest, most_factors(_RANKS[-1], rest)), rest, rng, rounds=4)


@dataclass(frozen=True)
class _Held:
    """One hold-out: readings, those left, the field fitted to these, what it says."""

    clean: Data
    rest: Data
    moved: Array  # off the readings more than was before
    field: Field
    said: Bounds

    @property
    def hidden(self) -> Mask:
        """What was hidden."""
        return self.clean.used & ~self.rest.used

    def seen(self) -> Hidden:
        """As levels first looks at it."""
        company = usual_company(self.clean.used)
        return Hidden(self.rest, self.hidden, self.clean.readings, self.said[0], company)


def _held(
    field: Field, clean: Data, hidden: Mask, rng: np.random.Generator, course: Course | None
) -> _Held:
    """What was taken off the readings before has seen the hidden ones: it is learnt anew."""
    rest = clean.using(clean.used & ~hidden)
    moved: Array = np.zeros(hidden.shape)
    if course is not None:
        moved = relearnt(course, rest) - clean.usual
        clean, rest = clean.less(moved), rest.less(moved)
    field = refitted(field, clean, rest, rng)
    return _Held(clean, rest, moved, field, estimate(field, rest))


def _tried(
    one: _Held,
    *,
    looks: tuple[Second | None, Second | None],
    routine: Routine | None,
    levels: Levels | None,
    levelled: Array | None,
) -> Trial:
    """What became of the hidden readings; `levelled` is what levels first said of them."""
    mean, variance = one.said
    if levels is not None:
        mean = levels.mixed(mean, one.rest, usual_company(one.clean.used), levelled)
    usual = None if routine is None else routine.again(one.clean, one.rest)
    said, hidden = (mean, variance), one.hidden
    out = judged(one.field, one.rest, one.clean, hidden, said=said, looks=looks, routine=usual)
    return out.more(one.moved[hidden])


def _holdout(
    field: Field, clean: Data, rng: np.random.Generator, tell: Tell, course: Course | None
) -> list[_Held]:
    """Hold-outs with the nodes' parts as they stay: errors and standard deviations fit together."""
    out = []
    for _ in range(_holdouts(clean)):
        hidden = draw_hidden(clean.used, clean.lost, _SHARE, rng)
        out.append(_held(field, clean, hidden, rng, course))
        tell(field.rank)
    return out


def _holdouts(clean: Data) -> int:
    """How often to hide readings: of a large record twice tells as much as four times.

    Outages of the network are few in any record, and each hold-out copies few of them; so it is
    with gaps that last, but where most are short there are enough of them in a small record.
    """
    silent = silent_slots(clean.used, usual_company(clean.used))
    if np.count_nonzero(clean.lost[:, silent]) > _MATTERS * np.count_nonzero(clean.lost):
        return _HOLDOUTS
    hidden = max(_SHARE * clean.used.sum(), 1.0)
    length = runs_of(clean.lost)[1]
    runs = hidden / max(float(length.mean()), 1.0) if length.size else hidden
    return int(np.clip(np.ceil(min(_ENOUGH / hidden, _WITNESSES / runs)), 2, _HOLDOUTS))


def silences(fitted: Fit, seed: int) -> Trial:
    """One more hold-out, for days to come: runs of all lengths, also those that no gap had here."""
    rng, clean = np.random.default_rng([seed, 11]), fitted.clean
    hidden = clean.used & draw_runs(clean.used.shape, _SHARE, rng)
    hidden[(clean.used & ~hidden).sum(axis=1) < 2] = False
    one = _held(fitted.field, clean, hidden, rng, fitted.course)
    return _tried(
        one,
        looks=(fitted.second, fitted.joint),
        routine=fitted.routine,
        levels=fitted.levels,
        levelled=None,
    )
