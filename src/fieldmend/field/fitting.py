"""From readings to a fitted field: flags, growth to full rank, hold-outs, choice of start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.loop import Tell
from fieldmend.core.prox import Mask
from fieldmend.field.cycles import long_enough
from fieldmend.field.flags import NEVER, first_channels, learn, second_channels
from fieldmend.field.holdout import draw_hidden, draw_runs
from fieldmend.field.mixture import mixture_start, worth_trying
from fieldmend.field.model import (
    Data,
    Field,
    estimate,
    grow,
    improve,
    start_field,
    update_factors,
)
from fieldmend.field.outages import silent_slots, usual_company
from fieldmend.field.paying import habitual, paying
from fieldmend.field.routine import Routine
from fieldmend.field.screens import DistanceScreen, JumpScreen, Screen
from fieldmend.field.second import Second, second_look
from fieldmend.field.trials import Trial, forgetful, judged, refitted

_RANKS = (2, 6, 12)
_HIDDEN = 0.1  # share of the readings hidden for the choice of the start
_HOLDOUTS, _SHARE = 4, 0.15  # for the intervals: so often so many are hidden,
_ENOUGH = (
    20_000  # or as often as hides this many, at least twice; not where the network fell silent
)
_BETTER = 0.97  # the other start has to lower the error on hidden readings by this factor
_TELLING = 30  # readings hidden in company, to tell which start is better


@dataclass(frozen=True)
class Fit:
    """Parameters, the readings they were fitted to, what hidden readings said."""

    field: Field
    clean: Data
    second: Second | None
    joint: Second | None  # with other conditions, where they are asked
    routine: Routine | None  # by the usual course, where the network falls silent
    trials: list[Trial]
    screen: Screen
    start: str


def fit(
    data: Data, seed: int, tell: Tell, *, lengths: Sequence[int] = (), routine: bool = False
) -> Fit:
    """Fit the field model; where slots say little of each other, also from the other start.

    `lengths` are periods: days and weeks alike; with `routine` their usual course may count where
    the network is silent.
    """
    screen: Screen
    rng = np.random.default_rng(seed)
    false, field, screen, habit = _screened(data, rng, tell)
    clean = data.using(data.used & ~false)
    hidden = draw_hidden(clean.used, ~clean.used, _HIDDEN, rng)
    rest = clean.using(clean.used & ~hidden)
    field = forgetful(field, clean, rest)
    field = _grown(update_factors(field, rest, rng) if field.rank else field, rest, rng)
    tell(field.rank)
    start = "jumps"
    if worth_trying(data) and not habit:
        shown = data.using(data.used & ~hidden)
        other = _from_mixture(shown, data, hidden, rng, seed)
        if _better(other[3], judged(field, rest, clean, hidden)):
            false, field, screen, _ = other
            # A slot that went wrong there has many flags: decided afresh, it may have few.
            afresh = screen(data, field)[0]
            false = np.where(afresh.sum(axis=0) < false.sum(axis=0), afresh, false)
            clean, start = data.using(data.used & ~false), "slots"
    field = improve(field, clean, rng, rounds=1)
    field = update_factors(field, clean, rng, tol=1e-3, most=20)
    tell(field.rank)
    mean = estimate(field, clean)[0]
    periods = tuple(long_enough(lengths, clean.slots))
    second = second_look(mean, clean, periods=periods)
    joint = None
    if clean.others is not None:
        joint = second_look(mean, clean, joint=True, periods=periods)
    usual = None
    if routine:
        usual = Routine.learnt(field, clean, periods, np.random.default_rng([seed, 13]))
    trials = _trials(field, clean, rng, tell, looks=(second, joint), routine=usual)
    return Fit(field, clean, second, joint, usual, trials, screen, start)


def quick_field(data: Data, seed: int) -> Field:
    """The field model without a search for false readings and without hold-outs: for trials."""
    return _grown(start_field(data), data, np.random.default_rng(seed))


def _screened(
    data: Data, rng: np.random.Generator, tell: Tell
) -> tuple[Mask, Field, JumpScreen, bool]:
    """False readings, decided twice: without a field, then against a first one.

    And whether what looks false is a habit: then nothing is.
    """
    false, first = learn(first_channels(data), data.used, data.slots)
    clean = data.using(data.used & ~false)
    field = start_field(clean)
    for rank in _RANKS[:-1]:
        field = improve(grow(field, clean, _allowed(rank, data)), clean, rng, rounds=2)
        tell(field.rank)
    channels = second_channels(data, field.common())
    second = learn(channels, data.used, data.slots)[1]
    if habitual(second, channels, data):
        never = replace(second, more=(NEVER, NEVER))
        return np.zeros_like(false), field, JumpScreen(first, never), True
    false, second = paying(second, channels, data, field)
    return false, field, JumpScreen(first, second), False


def _allowed(rank: int, data: Data) -> int:
    nodes, slots = map(int, data.readings.shape)
    return max(0, min(rank, nodes // 3 if nodes >= 6 else nodes - 1, slots // 3))


def _grown(field: Field, rest: Data, rng: np.random.Generator) -> Field:
    field = improve(grow(field, rest, _allowed(_RANKS[-1], rest)), rest, rng, rounds=4)
    return update_factors(field, rest, rng, tol=1e-3, most=20)


def _from_mixture(
    shown: Data, data: Data, hidden: Mask, rng: np.random.Generator, seed: int
) -> tuple[Mask, Field, Screen, Trial]:
    """The same from factors and flags found slot by slot, without the hidden readings."""
    false, field, threshold = mixture_start(shown, data, seed=seed)
    rest = shown.using(shown.used & ~false)
    field = improve(field, rest, rng, rounds=3)
    field = update_factors(field, rest, rng, tol=1e-3, most=20)
    return false, field, DistanceScreen(threshold), judged(field, rest, data, hidden)


def _trials(
    field: Field,
    clean: Data,
    rng: np.random.Generator,
    tell: Tell,
    *,
    looks: tuple[Second | None, Second | None],
    routine: Routine | None,
) -> list[Trial]:
    """Hold-outs with the nodes' parts as they stay: errors and standard deviations fit together."""
    out = []
    for _ in range(_holdouts(clean)):
        hidden = draw_hidden(clean.used, ~clean.used, _SHARE, rng)
        rest = clean.using(clean.used & ~hidden)
        again = refitted(field, clean, rest, rng)
        usual = None if routine is None else routine.again(clean, rest)
        out.append(judged(again, rest, clean, hidden, looks=looks, routine=usual))
        tell(field.rank)
    return out


def _holdouts(clean: Data) -> int:
    """How often to hide readings: of a large record twice tells as much as four times.

    Outages of the network are few in any record, and each hold-out copies few of them.
    """
    if silent_slots(clean.used, usual_company(clean.used)).any():
        return _HOLDOUTS
    often = np.ceil(_ENOUGH / max(_SHARE * clean.used.sum(), 1.0))
    return int(np.clip(often, 2, _HOLDOUTS))


def silences(fitted: Fit, seed: int) -> Trial:
    """One more hold-out, for days to come: runs of all lengths, also those that no gap had here."""
    rng, clean = np.random.default_rng([seed, 11]), fitted.clean
    hidden = clean.used & draw_runs(clean.used.shape, _SHARE, rng)
    hidden[(clean.used & ~hidden).sum(axis=1) < 2] = False
    rest = clean.using(clean.used & ~hidden)
    again = refitted(fitted.field, clean, rest, rng)
    routine = None if fitted.routine is None else fitted.routine.again(clean, rest)
    looks = fitted.second, fitted.joint
    return judged(again, rest, clean, hidden, looks=looks, routine=routine)


def _better(other: Trial, first: Trial) -> bool:
    """True if hidden readings come out clearly better: all of them, and those in company.

    Most of what is hidden in a silence of the network is one witness, right or wrong.
    """
    company = first.outage < 0
    every = np.ones_like(company)
    views = (every, company) if company.sum() >= _TELLING else (every,)
    return all(_error(other, view) < _BETTER * _error(first, view) for view in views)


def _error(trial: Trial, of: Mask) -> float:
    """Mean square error on hidden readings, the worst twentieth left out: some are anomalies."""
    square = np.sort((trial.truth - trial.model)[of] ** 2)
    return float(np.sqrt(square[: max(1, int(0.95 * square.size))].mean())) if square.size else 0.0
