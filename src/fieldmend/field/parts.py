"""What a `FieldModel` is made of: fitted parts by condition, and the nodes they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.core.readings import checked
from fieldmend.errors import InputError
from fieldmend.field.fitted import FittedField
from fieldmend.field.labels import Labelled, aligned, check_slot, check_unit
from fieldmend.text import shown
from fieldmend.version import __version__


@dataclass(frozen=True, eq=False, repr=False)
class Parts:
    """Fitted parts by condition, for the same nodes and slots of one length."""

    conditions: Mapping[str, FittedField]
    nodes: tuple[str, ...]
    slot: int | None = None
    version: str = ""

    def __post_init__(self) -> None:
        if not self.version:
            object.__setattr__(self, "version", __version__)
        for name, part in self.conditions.items():
            if part.nodes != len(self.nodes):
                msg = f"{name} has {part.nodes} nodes, {len(self.nodes)} are named"
                raise ValueError(msg)

    def __getitem__(self, condition: str) -> FittedField:
        if condition not in self.conditions:
            raise InputError(
                f"the model knows nothing of {shown(condition)!r}",
                hint=f"It was fitted on {', '.join(map(shown, self.conditions))}",
            )
        return self.conditions[condition]

    def __iter__(self) -> Iterator[str]:
        return iter(self.conditions)

    def __len__(self) -> int:
        return len(self.conditions)

    def __repr__(self) -> str:
        parts = list(self.conditions.values())
        names = ", ".join(map(shown, self.conditions))
        factors = ", ".join(str(part.rank) for part in parts)
        rows = max(part.fitted_on.rows for part in parts)
        size = f"{len(self.nodes)} nodes, {factors} common factors"
        return f"<FieldModel {names}: {size}, fitted on {rows} slots>"

    def _only(self) -> FittedField:
        """The one condition that an array must be of."""
        if len(self.conditions) != 1:
            names = ", ".join(map(shown, self.conditions))
            msg = (
                f"the model has several conditions ({names}): apply it to a Grid, or one of "
                "them by model[name].apply(X, observed)"
            )
            raise ValueError(msg)
        return next(iter(self.conditions.values()))

    def _columns(self, X: Any, observed: Any) -> tuple[Array, Mask]:
        values, O = checked(X, observed, some=False)
        if values.shape[1] != len(self.nodes):
            msg = f"X has {values.shape[1]} nodes, the model {len(self.nodes)}: nodes as in fit"
            raise ValueError(msg)
        return values, O

    def _row(self, y: Any) -> tuple[Array, Mask]:
        """One slot's readings."""
        row = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
        if row.ndim != 1:
            msg = f"a slot's readings are one number a node, not an array of shape {row.shape}"
            raise ValueError(msg)
        values, O = self._columns(row[None, :], None)
        return values[0], O[0]

    def align(self, grid: Any, *, new_nodes: str = "refuse") -> Any:
        """A grid with the model's nodes in the model's order, after them those it does not know.

        Parameters
        ----------
        grid
            A :class:`fieldmend.Grid`. Its nodes are matched by name.
        new_nodes
            What becomes of nodes that the model does not know: ``"refuse"`` them, or keep them,
            to be followed by their ``"own"`` past only.

        Returns
        -------
        Grid
            Nodes that the model knows and the grid does not have are there without readings.

        Raises
        ------
        InputError
            Where nodes, slot length, conditions or units are not the model's.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=100, nodes=4, field="temperature", seed=1)
        >>> model = fm.FieldModel.fit(fm.Grid.of(net.readings, nodes="abcd"))
        >>> model.align(fm.Grid.of(net.readings[:, :2], nodes="da")).nodes
        ('a', 'b', 'c', 'd')
        """
        check_slot(grid.slot, self.slot)
        for name in grid.values:
            check_unit(name, grid.units.get(name, ""), self[name].unit)
        return aligned(grid, self.nodes, new_nodes)

    def first_slot(self, part: FittedField, grid: Labelled) -> int:
        """Number of a grid's first slot, counted from the first one fitted on.

        Parameters
        ----------
        part
            The fitted part of a condition.
        grid
            Slots as long as the model's.

        Returns
        -------
        int

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=120, nodes=8, seed=1)
        >>> model = fm.FieldModel.fit(fm.Grid.of(net.readings))
        >>> later = fm.Grid.of(net.readings, start="1970-01-02")  # slots of five minutes
        >>> model.first_slot(model["value"], later)
        288
        """
        if part.fitted_on.first is None or not self.slot:
            return 0
        return round((int(grid.times[0]) - part.fitted_on.first) / self.slot)
