"""Method `auto` as `decompose` has it: lasting faults left out, many nodes region by region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldmend.core.problem import LowRank, Scaling
from fieldmend.core.prox import Array, Mask
from fieldmend.faults import agreed
from fieldmend.faults.labels import Context
from fieldmend.faults.lasting import persistent
from fieldmend.field.auto import Learnt, recover_field
from fieldmend.field.cycles import periods
from fieldmend.field.fitted import NAMES, Applied, FittedField
from fieldmend.field.holdout import Holdout
from fieldmend.field.power import Power
from fieldmend.field.regions import CORE, HALO, MANY, UNPLACED, Region, coordinates, cut, said
from fieldmend.leading import correction, within_reach
from fieldmend.quantities import choosing
from fieldmend.quantities.power import POWERS, fitting

_DAY = 86_400_000_000  # microseconds
_FEWEST = 3  # nodes: one or two have nobody to tell whose readings are false, as `recover` has it
_SEARCHED = 4_000_000  # entries; `recover` goes window by window


@dataclass(frozen=True)
class Found:
    """The field at every entry, and what it comes from; no one model where there are regions."""

    applied: Applied
    rank: int
    choice: str
    holdout: Holdout
    model: FittedField | None


def recover_auto(X: Array, observed: Mask, *, places: Any = None, **options: Any) -> Found:
    """The field of a network; of many nodes, region by region."""
    at = None if places is None else _checked(places, X.shape[1])
    if X.shape[1] <= (UNPLACED if at is None else MANY):
        return _found(*_recovered(X, observed, **options))
    plan = cut(coordinates(X, observed, at), CORE, HALO)
    return _by_regions(X, observed, plan, options)


def _checked(places: Any, nodes: int) -> Array:
    at: Array = np.asarray(places, dtype=np.float64)
    if at.ndim != 2 or len(at) != nodes or not at.shape[1]:
        msg = f"places must be nodes × coordinates, {nodes} of them, not of shape {at.shape}"
        raise ValueError(msg)
    return at


def _found(applied: Applied, learnt: Learnt) -> Found:
    model = learnt.model
    return Found(applied, model.rank, model.choice, learnt.holdout, model)


def _by_regions(X: Array, observed: Mask, plan: list[Region], options: dict[str, Any]) -> Found:
    """Each region as a network of its own, answers kept for its core."""
    out = {name: np.empty_like(X) for name in NAMES}
    center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    hidden, ranks, silent = [], [], []
    company = options.pop("companions", ())
    for region in plan:
        nodes, core, own = region.nodes, region.core, region.decided
        others = [np.asarray(one)[:, nodes] for one in company]
        if not observed[:, nodes].any():
            silent.append(own)
            continue
        done = _found(*_recovered(X[:, nodes], observed[:, nodes], companions=others, **options))
        for name in NAMES:
            out[name][:, own] = getattr(done.applied, name)[:, core]
        center[own], scale[own] = (
            side[core] for side in (done.applied.scaling.center, done.applied.scaling.scale)
        )
        kept = done.holdout.kept(core[done.holdout.columns])
        hidden.append(replace(kept, columns=nodes[kept.columns]))
        ranks.append(done.rank)
    if silent:  # nothing is known of them but what the others do
        never = np.concatenate(silent)
        usual = np.median(np.delete(out["estimate"], never, axis=1), axis=1, keepdims=True)
        for name, off in zip(NAMES, (0.0, 0.0, np.nan, -np.inf, np.inf), strict=True):
            out[name][:, never] = usual + off
        out["sparse"][:, never] = 0.0
    # One region's factors say nothing of another: as one product they would be mostly zeros.
    none = LowRank.zero(*X.shape)
    applied = Applied(**out, factors=none, scaling=Scaling(center, scale))
    every = {key: np.concatenate([getattr(one, key) for one in hidden]) for key in vars(hidden[0])}
    return Found(applied, max(ranks), said(plan, ranks), Holdout(**every), None)


def _recovered(
    X: Array,
    observed: Mask,
    *,
    faults: bool | None = None,
    power: float | None = None,
    period: Any = None,
    companions: Sequence[Array] = (),
    **options: Any,
) -> tuple[Applied, Learnt]:
    """The field model; lasting faults are looked for first and left out, as `recover` does.

    To any low-rank method a fault that lasts is a component of the field. None: unless the record
    is so large that the search would take as long as the rest. Of what is positive and skewed, a
    root is modelled where floods look false as they are read (`choosing.of_readings`).
    """
    false = np.zeros(X.shape, dtype=np.bool_)
    if np.count_nonzero(observed.any(axis=0)) < _FEWEST:
        options.setdefault("doubting", False)
    if X.size <= _SEARCHED if faults is None else faults:
        readings = X if observed.all() else np.where(observed, X, np.nan)
        others = {str(k): other for k, other in enumerate(companions)}
        with np.errstate(over="ignore", invalid="ignore"):  # a node may send 1e308
            false = persistent(readings, Context(slot=_slot(period), companions=others))
    scale, words = _scale(power, X, observed & ~false, options)
    out, learnt = recover_field(
        X, observed & ~false, period=period, companions=companions, power=scale, **options
    )
    if words:
        learnt = _saying(learnt, words)
    if not false.any():
        return out, learnt
    out, false = _led(out, np.where(observed, X, np.nan), false)
    largest = np.finfo(X.dtype).max
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.clip(X - out.estimate, -largest, largest)
    out = replace(out, sparse=np.where(false, off, out.sparse))
    return out, _saying(learnt, f"{false.sum():,} readings of lasting faults left out")


def _led(out: Applied, readings: Array, false: Mask) -> tuple[Applied, Mask]:
    """The field led through readings that it refutes to be false, and what was lost among others.

    And those that stay false.
    """
    bounds = out.lower, out.upper
    fine = agreed(readings, out.estimate, bounds, false)
    towards = within_reach(out.estimate, bounds, readings, false & ~fine)
    towards = np.where(fine, readings, towards)
    told = ~np.isnan(towards)
    if not told.any():
        return out, false
    least, shift, most = correction(out.estimate, np.where(told, towards, readings), told)
    led = np.isnan(readings) | fine
    with np.errstate(over="ignore"):
        estimate, lower, upper = (
            np.where(led & (by != 0), end + by, end).astype(end.dtype)
            for end, by in ((out.estimate, shift), (out.lower, least), (out.upper, most))
        )
    return replace(out, estimate=estimate, lower=lower, upper=upper), false & ~fine


def _scale(
    power: float | None, X: Array, observed: Mask, options: dict[str, Any]
) -> tuple[Power, str]:
    """The power of the readings that is modelled: as asked for, else what hidden readings say."""
    if power is None:
        shown = np.where(observed, X, np.nan)
        return choosing.of_readings(shown, options.get("level", 0.9), options.get("seed", 0))
    if power not in POWERS:
        msg = f"power must be 1, 1/2 or 1/3, or None to let hidden readings decide; it is {power!r}"
        raise ValueError(msg)
    return fitting(power, np.where(observed, X, np.nan)), ""


def _saying(learnt: Learnt, words: str) -> Learnt:
    choice = f"{learnt.model.choice}, {words}"
    return replace(learnt, model=replace(learnt.model, choice=choice))


def _slot(period: Any) -> int:
    """Length of a slot, if the shortest period is a day; 0 without any."""
    given = periods(period)
    return _DAY // min(given) if given else 0
