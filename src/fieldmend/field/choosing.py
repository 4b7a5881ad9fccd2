"""Is the usual course worth taking off everywhere? Hidden readings say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.cycles import (
    CYCLES,
    Course,
    course_of,
    explained,
    with_kinds,
    without,
)
from fieldmend.field.fitting import quick_mean
from fieldmend.field.holdout import Index, distances, draw_hidden, runs_of
from fieldmend.field.model import Data
from fieldmend.field.outages import usual_company

_LONG = 12  # a gap is long from a twelfth of the period on: two hours of a day
_WORTH = 0.01, 0.2  # lost entries of all, and long gaps of the lost, that make a trial worth it
_HIDDEN = 0.1
_BETTER = 0.97  # the error on hidden readings has to fall by this factor
_ALIKE = 0.3  # of the variance, told by the usual course: only days that repeat have kinds
_FAR = 4.0  # times the nineteenth twentieth of errors
_COMPANY = 0.5  # of the nodes usually heard: with fewer, others say little
_ENOUGH = 150_000  # entries that a course is tried on,
_PIECES = 8  # as some of so many pieces of a long record


def choose_course(data: Data, asked: list[int], slots: int, seed: int) -> Course | None:
    """The course that lowers the error on hidden readings; None if no trial was worth it.

    A course of zeros carries the sentence that it was tried in vain.
    """
    lengths = [n for n in asked if slots >= CYCLES * n and _worth_it(data, n)]
    if not lengths:
        return None
    rng = np.random.default_rng([seed, 7])
    hidden = draw_hidden(data.used, data.lost, _HIDDEN, rng)
    rest = data.using(data.used & ~hidden)
    if not hidden.any() or not rest.used.any():
        return None
    # A course is learnt from all slots; some of them tell whether it helps.
    some = _some(*rest.used.shape)
    brief = (hidden & _briefly(rest.used, min(lengths)))[:, some]
    hidden, part = hidden[:, some], rest.at(some)
    company = hidden & (part.used.sum(axis=0) >= _COMPANY * usual_company(part.used))
    readings, judged = data.readings[:, some], (hidden, company, brief)
    plain = _errors(readings, quick_mean(part, seed), *judged)
    found: list[tuple[tuple[float, ...], int, bool]] = []
    vain: list[int] = []
    for length in sorted(lengths):
        if any(length % shorter == 0 for shorter in vain):
            continue  # a week has seven times as few readings at each phase
        week = _week(asked, length) if length == min(lengths) else 0
        for course in _courses(rest, length, week):
            left = without(rest, course).at(some)
            errors = _errors(readings, quick_mean(left, seed) + left.usual, *judged)
            found.append((errors, length, course.ways is not None))
        if min(errors[0] for errors, its, _ in found if its == length) >= plain[0]:
            vain.append(length)
    cyclic, chosen, kinds = min(found, key=lambda one: one[0][0] / (_BETTER if one[2] else 1.0))
    change = 100 * (cyclic[0] / plain[0] - 1) if plain[0] > 0 else 0.0
    said = f"a cycle of {chosen} slots changed the error on hidden readings by {change:+.0f} %: "
    refused = _refused(plain, cyclic, brief=_much_is_brief(data.lost, min(lengths)))
    if refused:
        return Course(np.zeros((len(data.used), 1)), said + refused)
    course = Course(course_of(data, chosen), said + "used")
    if not kinds:
        return course
    course = with_kinds(course, data, _week(asked, chosen))
    return replace(course, said=f"{course.said}, with kinds of days that all nodes tell")


def _courses(rest: Data, length: int, week: int) -> list[Course]:
    """The usual course; with kinds of days, where days repeat and may have kinds (`week`)."""
    usual = Course(course_of(rest, length), "")
    if not week or explained(usual, rest) < _ALIKE:
        return [usual]
    every = with_kinds(usual, rest, week)
    return [usual] if every.ways is None else [usual, every]


def _week(asked: list[int], day: int) -> int:
    """Days in a week, if weeks may be alike."""
    return next((n // day for n in sorted(asked) if n > day and n % day == 0), 1)


def _worth_it(data: Data, length: int) -> bool:
    lost = runs_of(data.lost)[1]
    total = int(lost.sum())
    long = int(lost[lost >= max(length // _LONG, 2)].sum())
    return total >= _WORTH[0] * data.used.size and long >= _WORTH[1] * total


def _refused(plain: tuple[float, ...], cyclic: tuple[float, ...], *, brief: bool) -> str:
    """Why a course is not used, if so, by errors without and with it.

    Overall, where others are heard, and in short gaps. In an outage of all nodes any course helps;
    what it costs where others are heard must not be hidden behind that. Nor behind a few long gaps,
    whose errors are the large ones: where much of what was lost is short (`brief`), it may lose no
    greater part of the error there than it gains in all.
    """
    if cyclic[0] >= _BETTER * plain[0]:
        return "not used"
    if cyclic[1] > plain[1]:
        return "not used, it harms where others are heard"
    if brief and cyclic[2] * cyclic[0] > plain[2] * plain[0]:
        return "not used, it harms in short gaps"
    return ""


def _briefly(used: Mask, length: int) -> Mask:
    """Entries in gaps that are not long."""
    back, ahead = distances(used, np.arange(used.shape[1]))
    return np.asarray(back + ahead - 1 < max(length // _LONG, 2))


def _much_is_brief(lost: Mask, length: int) -> bool:
    """Whether a share of what was lost that counts lies in such gaps."""
    runs = runs_of(lost)[1]
    brief = runs[runs < max(length // _LONG, 2)]
    return bool(brief.sum() >= _WORTH[1] * runs.sum())


def _some(nodes: int, slots: int) -> Index:
    """Every slot; of a long record those of some pieces of it, evenly spread."""
    step = int(np.clip(nodes * slots // _ENOUGH, 1, _PIECES))
    piece = np.arange(slots) * _PIECES // slots
    return np.flatnonzero(piece % step == step // 2)


def _errors(readings: Array, guess: Array, *judged: Mask) -> tuple[float, ...]:
    """Root mean square errors on parts of the hidden readings; gross ones count as far, no farther.

    Left out, peaks that a course foresees, or spoils, would have no say.
    """
    out = []
    for part in judged:
        error = np.abs(readings - guess)[part]
        far = _FAR * float(np.quantile(error, 0.95)) if error.size else 0.0
        out.append(float(np.sqrt((np.minimum(error, far) ** 2).mean())) if error.size else 0.0)
    return tuple(out)
