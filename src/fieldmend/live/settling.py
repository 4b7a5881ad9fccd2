"""Rev 1: slots settled by the window smoother, with the batch's flags and its episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.errors import InputError
from fieldmend.faults import Episode
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.flags import Flag
from fieldmend.grid import Array, Grid
from fieldmend.live import afresh
from fieldmend.live.following import Limits, Said
from fieldmend.quantities import identify_all
from fieldmend.recovery.conditions import one_condition
from fieldmend.recovery.judging import outside
from fieldmend.recovery.modelling import Known
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered


@dataclass(frozen=True)
class Settled:
    """A window after the smoother: by condition, what is said of each slot, and the episodes."""

    grid: Grid  # the window, columns as the journal's nodes
    said: dict[str, dict[str, Array]]  # condition → observed, estimate, lower, upper, flag
    episodes: dict[str, tuple[Episode, ...]]  # their nodes are the journal's columns

    def row(self, slot: int) -> dict[str, Said]:
        """What is said of one slot of the window."""
        return {
            name: Said(**{part: X[slot] for part, X in one.items()})
            for name, one in self.said.items()
        }


def smooth(
    model: FieldModel | None, grid: Grid, limits: Limits, level: float, named: Mapping[str, str]
) -> Settled:
    """The window by the batch functions: what `recover(grid, model=model)` says of it.

    Parameters
    ----------
    model
        Fitted before; without one, readings pass unjudged.
    grid
        The window's slots × the journal's nodes.
    limits, level
        As for `recover`.
    named
        Condition → unit.
    """
    grid = replace(grid, units={name: unit for name, unit in named.items() if unit})
    out = Settled(
        grid, {name: _unjudged(X, limits.get(name)) for name, X in grid.values.items()}, {}
    )
    known = None if model is None else _known(model, grid, limits, level)
    if known is not None:
        aligned, options, by = known
        columns = _columns(grid.nodes, aligned.nodes)
        for name in aligned.values:
            if name in by.model.conditions:
                _take(out, name, one_condition(aligned, name, options, by), columns)
    for name in grid.values:
        if model is None or name not in model.conditions:
            its = {name: limits[name]} if name in limits else {}
            one = afresh.recovered(grid, name, Options(level=level, limits=its, holdout=False))
            if one is not None:
                _take(out, name, *one)
    return out


def _take(out: Settled, name: str, found: Recovered, columns: Array) -> None:
    """What was found of one condition, its nodes at the journal's columns (−1: nowhere)."""
    out.said[name] = _said(found, out.said[name], columns)
    out.episodes[name] = tuple(
        replace(one, node=int(columns[one.node]))
        for one in found.episodes
        if columns[one.node] >= 0
    )


def _known(
    model: FieldModel, grid: Grid, limits: Limits, level: float
) -> tuple[Grid, Options, Known] | None:
    """The window as `recover` would see it; None where the model cannot be applied."""
    mine = {
        name: X
        for name, X in grid.values.items()
        if name in model.conditions or not np.isfinite(X).any()
    }
    options = Options(
        level=level, limits={n: v for n, v in limits.items() if n in mine}, holdout=False
    ).for_grid(grid)
    quantities = identify_all(mine, grid.units, {})
    mine = {name: X for name, X in mine.items() if quantities[name].measured}
    ours = _followed(grid.nodes, model.nodes, list(mine.values()))
    some = replace(
        grid,
        values={name: X[:, ours] for name, X in mine.items()},
        nodes=tuple(name for name, one in zip(grid.nodes, ours, strict=True) if one),
    )
    by = Known.of(model, options)
    try:
        return by.aligned(some, quantities, "own"), options, by
    except InputError:
        return None


def _followed(nodes: tuple[str, ...], known: tuple[str, ...], values: list[Array]) -> Array:
    """The model's nodes, and of strangers those heard most: one for every ten that are known.

    A stranger is followed alone, which costs as much as several nodes of the model's. Were all of
    them followed, whoever sends made-up names would decide how long a slot takes to be settled.
    """
    ours = np.isin(nodes, known)
    heard = sum((np.isfinite(X).sum(axis=0) for X in values), np.zeros(len(nodes), np.intp))
    heard[ours] = 0
    strangers = np.argsort(-heard, kind="stable")[: 1 + len(known) // 10]
    ours[strangers[heard[strangers] > 0]] = True
    return ours


def _columns(nodes: tuple[str, ...], wanted: tuple[str, ...]) -> Array:
    """Where each wanted node stands; −1: nowhere."""
    place = {name: k for k, name in enumerate(nodes)}
    return np.array([place.get(name, -1) for name in wanted], np.intp)


def _unjudged(X: Array, limits: tuple[float, float] | None) -> dict[str, Array]:
    empty = np.full(X.shape, np.nan)
    flag = np.where(np.isnan(X), np.uint8(0), np.uint8(Flag.NOT_EVALUATED))
    flag[outside(X, limits)] = Flag.FAIL
    return {"observed": X, "estimate": empty, "lower": empty, "upper": empty, "flag": flag}


def _said(found: Recovered, unjudged: dict[str, Array], columns: Array) -> dict[str, Array]:
    """With the journal's columns: what was found, and nothing more of nodes it does not know."""
    mine, at = columns >= 0, columns[columns >= 0]
    out = {part: X.copy() for part, X in unjudged.items()}
    for part in out:
        values = getattr(found, part)
        if values is not None:
            out[part][:, at] = np.asarray(values)[:, mine]
    return out
