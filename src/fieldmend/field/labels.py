"""New data against a model: nodes by name, slots of the same length, the same units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from fieldmend.core.problem import LowRank, Scaling
from fieldmend.core.prox import Array
from fieldmend.errors import InputError
from fieldmend.field.auto import recover_field
from fieldmend.field.fitted import NAMES, Applied
from fieldmend.text import named, shown, slot_length


class Labelled(Protocol):
    """What a model takes from a :class:`fieldmend.Grid`."""

    @property
    def values(self) -> dict[str, Any]: ...  # noqa: D102 - as in Grid
    @property
    def nodes(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def times(self) -> Any: ...  # noqa: D102
    @property
    def slot(self) -> int: ...  # noqa: D102
    @property
    def units(self) -> dict[str, str]: ...  # noqa: D102


def check_slot(slot: int, own: int | None) -> None:
    """Slots (µs) have to be as long as the model's own, if it knows."""
    if own is None or slot == own:
        return
    wanted = slot_length(own)
    short = wanted.replace(" ", "")
    raise InputError(
        f"slots of {slot_length(slot)}: the model was fitted to slots of {wanted}",
        hint=f"Take --slot {short} (slot={short!r})",
    )


def check_unit(condition: str, unit: str, own: str) -> None:
    """The unit has to be the model's own, where both are known."""
    if unit and own and unit != own:
        raise InputError(
            f"{shown(condition)} is in {shown(unit)}, the model's in {shown(own)}",
            hint="Convert the readings, or fit a model to them",
        )


def aligned(grid: Any, nodes: tuple[str, ...], new_nodes: str) -> Any:
    """The grid with these nodes in this order, then its other ones (or none may be)."""
    if new_nodes not in ("refuse", "own"):
        raise InputError(f"new_nodes={shown(new_nodes)!r}", hint="It is 'refuse' or 'own'")
    known = set(nodes)
    unknown = tuple(name for name in grid.nodes if name not in known)
    if unknown and new_nodes == "refuse":
        raise InputError(
            f"the model does not know {named('node', unknown)}",
            hint="Fit a model to them, or follow them by their own past: new_nodes='own' "
            "(--new-nodes own)",
        )
    if not known.intersection(grid.nodes):
        raise InputError(
            "none of the nodes is the model's",
            hint=f"It knows {named('node', nodes)}",
        )
    if tuple(grid.nodes) == nodes:
        return grid
    every = nodes + unknown
    place = {name: k for k, name in enumerate(grid.nodes)}
    columns = np.array([place.get(name, -1) for name in every])
    values = {name: _taken(np.asarray(X), columns) for name, X in grid.values.items()}
    return replace(grid, values=values, nodes=every)


def _taken(X: Array, columns: Array) -> Array:
    """Columns of X; NaN where there is none (−1)."""
    out: Array = np.where(columns >= 0, X[:, columns], np.nan)
    return out


def followed_alone(column: Array, level: float) -> Applied:
    """A node that the model does not know, slots × 1: its own past and future are all there is."""
    heard = np.isfinite(column)
    if heard.any():
        return recover_field(column, heard, level=level, doubting=False)[0]
    nothing = {name: np.full(column.shape, np.nan) for name in NAMES}
    nothing["sparse"] = np.zeros(column.shape)
    factors = LowRank(np.zeros((len(column), 1)), np.zeros((1, 1)))
    return Applied(**nothing, factors=factors, scaling=Scaling(np.zeros(1), np.ones(1)))
