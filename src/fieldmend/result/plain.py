"""A frame for those who have no library of frames: columns of NumPy, and little else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import numpy as np

from fieldmend.text import shown

SHOWN = 5  # rows at either end that are printed


class Table(Mapping[str, Any]):
    """Columns by name, as NumPy arrays of one length.

    What `Recovery` gives where neither pandas nor Polars nor PyArrow is installed. It has what
    they have in common: ``table["n01"]``, ``columns``, ``shape``, ``len``; and ``to_numpy``.

    Parameters
    ----------
    columns
        Name → array.
    index
        The time of each row, where it is no column.

    Attributes
    ----------
    columns
        Their names.
    index
        Times, datetime64, or None.

    Examples
    --------
    >>> table = Table({"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])})
    >>> table.shape, list(table.columns), table["b"].tolist()
    ((2, 2), ['a', 'b'], [3.0, 4.0])
    """

    def __init__(self, columns: Mapping[str, Any], index: Any = None) -> None:
        self._columns = {name: np.asarray(column) for name, column in columns.items()}
        self.index = index

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self._columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def to_numpy(self) -> Any:
        """All columns as one array, rows × columns.

        Returns
        -------
        ndarray

        Examples
        --------
        >>> Table({"a": np.array([1.0]), "b": np.array([3.0])}).to_numpy()
        array([[1., 3.]])
        """
        return np.column_stack(list(self._columns.values()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        made = self.to_numpy()
        return made if dtype is None else made.astype(dtype)

    def __repr__(self) -> str:
        rows, columns = self.shape
        names = ", ".join(shown(name) for name in self.columns[:SHOWN])
        more = ", …" if columns > SHOWN else ""
        return f"<Table: {rows} rows × {columns} columns: {names}{more}>"

    def _repr_html_(self) -> str:
        """The first and last rows, for a notebook."""
        rows, columns = self.shape
        some = [*range(min(rows, SHOWN)), *range(max(SHOWN, rows - SHOWN), rows)]
        names = self.columns[: 2 * SHOWN]
        first = [] if self.index is None else ["time"]
        head = "".join(f"<th>{escape(shown(name))}</th>" for name in [*first, *names])
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(str(cell))}</td>" for cell in self._row(row, names))
            + "</tr>"
            for row in some
        )
        size = f"{rows} rows × {columns} columns"
        return f"<table><tr>{head}</tr>{body}</table><p>{size}</p>"

    def _row(self, row: int, names: tuple[str, ...]) -> list[Any]:
        first = [] if self.index is None else [self.index[row]]
        return [*first, *(self._columns[name][row] for name in names)]
