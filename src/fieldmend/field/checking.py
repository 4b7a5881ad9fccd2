"""Does a model still fit? Readings of the new data are hidden, and its word is taken for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.auto import recover_field
from fieldmend.field.fitted import Applied, FittedField
from fieldmend.field.holdout import draw_hidden
from fieldmend.text import percent

_SHARE = 0.15  # of the readings are hidden
_FEW = 60  # hidden readings below which nothing is said
_WORSE = 1.1  # times the error of a fresh fit
_SHORT = 0.1  # of the level, that the intervals may hold less
_MANY = 0.1  # of the readings, that it may call false; twice as many as a fresh fit does
_FORGIVEN = 0.05  # of the errors, the largest: some hidden readings are false


@dataclass(frozen=True)
class Fitness:
    """Whether a model still fits, and what hidden readings of the new data said.

    ``error`` is the model's mean absolute error over the nodes' scales, ``fresh`` that of a model
    fitted to the new data (NaN if none was), ``held`` the share of hidden readings within the
    intervals of ``level``, ``false`` the share of readings that it calls false. True in a
    condition if the model fits.
    """

    fits: bool
    error: float
    fresh: float
    held: float
    level: float
    false: float
    hidden: int
    said: str

    def __bool__(self) -> bool:
        return self.fits


def check_fit(
    part: FittedField, X: Array, observed: Mask, *, first: int, fresh: bool, seed: int
) -> Fitness:
    """Hide readings of these slots, apply the model to the rest, compare."""
    false = observed & (part.apply(X, observed, first=first, own=False).sparse != 0)
    rng = np.random.default_rng(seed)
    hidden = draw_hidden((observed & ~false).T.copy(), ~observed.T, _SHARE, rng).T
    share = float(false.sum() / max(observed.sum(), 1))
    if observed.sum() < _FEW / _SHARE:
        said = "too few readings to tell whether the model still fits"
        nan = np.nan
        return Fitness(True, nan, nan, nan, part.level, share, int(hidden.sum()), said)
    shown = observed & ~hidden
    out = part.apply(X, shown, first=first, own=False)
    inside = ((out.lower <= X) & (X <= out.upper))[hidden]
    held = float(inside.mean()) if inside.size else np.nan
    scale = part.view.power.forward  # errors count on the scale of the model
    Y = scale(X)
    found = _Found(_error(part, scale(out.estimate), Y, hidden), held, share)
    if fresh:
        other = _fresh(part, Y, shown, seed)
        called = float((other.sparse != 0).sum() / max(shown.sum(), 1))
        found = replace(found, fresh=_error(part, other.estimate, Y, hidden), fresh_false=called)
    return _judged(part, found, int(hidden.sum()))


@dataclass(frozen=True)
class _Found:
    error: float
    held: float
    false: float
    fresh: float = np.nan
    fresh_false: float = 0.0


def _fresh(part: FittedField, X: Array, shown: Mask, seed: int) -> Applied:
    course = part.view.course
    period = None if course is None or course.values.shape[1] < 2 else course.values.shape[1]
    return recover_field(X, shown, level=part.level, period=period, seed=seed)[0]


def _error(part: FittedField, estimate: Array, X: Array, hidden: Mask) -> float:
    """Mean absolute error at hidden readings over the nodes' scales, the largest left out."""
    scale = np.empty(part.nodes)
    scale[part.view.order] = part.view.scaling.scale
    off = np.sort((np.abs(X - estimate) / scale)[hidden])
    return float(off[: max(1, int((1.0 - _FORGIVEN) * off.size))].mean()) if off.size else np.nan


def _judged(part: FittedField, found: _Found, hidden: int) -> Fitness:
    wrong = []
    if found.error > _WORSE * found.fresh:
        wrong.append(f"its error is {found.error / found.fresh:.2f} times that of a fresh fit")
    if found.held < part.level - _SHORT:
        wrong.append(f"its {percent(part.level)} intervals hold {percent(found.held)}")
    if found.false > max(_MANY, 2 * found.fresh_false):
        wrong.append(f"it calls {percent(found.false)} of the readings false")
    said = f"on {hidden} hidden readings "
    if wrong:
        said = f"the model no longer fits: {said}{' and '.join(wrong)}; fit it again"
    else:
        said = f"the model still fits: {said}its intervals hold {percent(found.held)}"
    return Fitness(
        fits=not wrong,
        error=found.error,
        fresh=found.fresh,
        held=found.held,
        level=part.level,
        false=found.false,
        hidden=hidden,
        said=said,
    )
