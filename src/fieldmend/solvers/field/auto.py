"""The automatic recovery: flags, fit, hold-outs, calibration, and the field at every entry.

The parameters are fitted on part of a long record; the field is then smoothed window by window with
the same parameters, windows overlapping so that their seams do not show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.problem import LowRank, Scaling
from fieldmend.prox import Array, Mask
from fieldmend.solvers.field.flags import first_flags, second_flags
from fieldmend.solvers.field.holdout import (
    Calibration,
    Holdout,
    calibrate,
    distances,
    draw_hidden,
    remoteness,
)
from fieldmend.solvers.field.model import (
    Data,
    Field,
    estimate,
    grow,
    improve,
    start_field,
    update_factors,
)
from fieldmend.solvers.field.scaling import node_scaling, scaled

_RANKS = (2, 6, 12)
_HIDDEN = 0.1  # share of the readings hidden in each hold-out
_HOLDOUTS = 3


@dataclass(frozen=True)
class Recovered:
    """What the automatic recovery gives back, slots × nodes, in the units of the readings."""

    estimate: Array
    low_rank: Array
    sparse: Array
    lower: Array
    upper: Array
    factors: LowRank
    scaling: Scaling
    holdout: Holdout
    choice: str
    rank: int


@dataclass(frozen=True)
class _Hidden:
    """One hold-out's hidden entries: place, scaled truth, estimate, sd, remoteness, gap."""

    node: Array
    slot: Array
    truth: Array
    estimate: Array
    sd: Array
    remote: Array
    gap: Array


def recover_field(
    X: Array, observed: Mask, *, level: float = 0.9, period: object = None, seed: int = 0
) -> Recovered:
    """Recover the field from readings, slots × nodes."""
    rng = np.random.default_rng(seed)
    scaling = node_scaling(X, observed)
    data = Data(
        scaled(X, observed, scaling),
        np.ascontiguousarray(observed.T),
        np.arange(len(X), dtype=np.intp),
    )
    false, field = _screened(data, rng)
    clean = data.using(data.used & ~false)
    field, hidden = _held_out(field, clean, rng)
    field = improve(field, clean, rng, rounds=1)
    field = update_factors(field, clean, rng, tol=1e-3, most=20)
    everything = [np.concatenate(p) for p in zip(*(vars(h).values() for h in hidden), strict=True)]
    pooled = _Hidden(*everything)
    calibration = calibrate(np.abs(pooled.truth - pooled.estimate) / pooled.sd, pooled.remote, level)
    mean, variance = estimate(field, clean)
    half = np.sqrt(variance) * calibration.at(remoteness(*distances(clean.used)))
    holdout = _reported(hidden, scaling, level)
    return _finished(X, observed, scaling, field, (mean, half, false), holdout)


def _screened(data: Data, rng: np.random.Generator) -> tuple[Mask, Field]:
    """False readings, decided twice: without a field, then against a first one."""
    first = data.using(data.used & ~first_flags(data))
    field = start_field(first)
    for rank in _RANKS[:-1]:
        field = improve(grow(field, first, _allowed(rank, data)), first, rng, rounds=2)
    return second_flags(data, field.common()), field


def _allowed(rank: int, data: Data) -> int:
    nodes, slots = data.readings.shape
    return min(rank, nodes // 3 if nodes >= 6 else nodes - 1, slots // 3)


def _held_out(
    field: Field, clean: Data, rng: np.random.Generator
) -> tuple[Field, list[_Hidden]]:
    """Fit to the full rank without the first hidden set; a round or two without each other one."""
    out = []
    for k in range(_HOLDOUTS):
        hidden = draw_hidden(clean.used, ~clean.used, _HIDDEN, rng)
        rest = clean.using(clean.used & ~hidden)
        if k == 0:
            field = grow(field, rest, _allowed(_RANKS[-1], clean))
            field = improve(field, rest, rng, rounds=4)
            trial = update_factors(field, rest, rng, tol=1e-3, most=20)
        else:
            trial = improve(field, rest, rng, rounds=2, nodes_last=False)
        out.append(_judged(trial, rest, clean, hidden))
    return field, out


def _judged(field: Field, rest: Data, clean: Data, hidden: Mask) -> _Hidden:
    mean, variance = estimate(field, rest)
    node, slot = np.nonzero(hidden)
    back, ahead = (d[hidden] for d in distances(rest.used))
    gap = np.where(np.isfinite(back + ahead), back + ahead - 1, np.fmin(back, ahead))
    gap = np.minimum(np.where(np.isfinite(gap), gap, rest.used.shape[1]), rest.used.shape[1])
    return _Hidden(
        node,
        slot,
        clean.readings[hidden],
        mean[hidden],
        np.sqrt(variance[hidden]),
        remoteness(back, ahead),
        gap.astype(np.intp),
    )


def _reported(hidden: list[_Hidden], scaling: Scaling, level: float) -> Holdout:
    """The hold-outs in the units of the readings, each with the quantiles of the others."""
    bounds = []
    for k, own in enumerate(hidden):
        others = [h for i, h in enumerate(hidden) if i != k] or [own]
        z = np.concatenate([np.abs(h.truth - h.estimate) / h.sd for h in others])
        calibration = calibrate(z, np.concatenate([h.remote for h in others]), level)
        bounds.append(own.sd * calibration.at(own.remote))
    node = np.concatenate([h.node for h in hidden])
    slot = np.concatenate([h.slot for h in hidden])
    scale, centre = scaling.scale[node], scaling.center[node]
    mean = np.concatenate([h.estimate for h in hidden])
    half = np.concatenate(bounds)
    return Holdout(
        slot,
        node,
        np.concatenate([h.truth for h in hidden]) * scale + centre,
        mean * scale + centre,
        (mean - half) * scale + centre,
        (mean + half) * scale + centre,
        np.concatenate([h.gap for h in hidden]),
    )


def _finished(
    X: Array,
    observed: Mask,
    scaling: Scaling,
    field: Field,
    parts: tuple[Array, Array, Mask],
    holdout: Holdout,
) -> Recovered:
    mean, half, false = parts
    left = np.vstack([field.factors, np.ones(len(X))]).T
    factors = LowRank(left, np.hstack([field.loadings, field.level[:, None]]))
    values = mean.T * scaling.scale + scaling.center
    margin = half.T * scaling.scale
    sparse = np.where(false.T & observed, X - values, 0.0)
    kind = X.dtype
    return Recovered(
        values.astype(kind),
        scaling.undo(factors, kind),
        sparse.astype(kind),
        (values - margin).astype(kind),
        (values + margin).astype(kind),
        factors,
        scaling,
        holdout,
        f"{field.rank} common factors",
        field.rank,
    )
