"""`Records`: readings as they arrived, in one table, with every row accounted for."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fieldmend.grid import Grid, Origin
from fieldmend.records.gridding.slotting import build
from fieldmend.records.table.shapes import Shape
from fieldmend.text import count, counted

if TYPE_CHECKING:
    import duckdb


@dataclass
class Records:
    """Readings as they arrived, in one canonical table, with every row accounted for.

    Made by `read`. Holds a DuckDB database in a temporary folder, removed with the object.

    Attributes
    ----------
    nodes, conditions : tuple of str
    units : dict
        Condition → unit, where the source said it.
    places : dict or None
        Node → ``{"lat", "lon"[, "elevation"]}`` or ``{"x", "y"[, "z"]}``.
    origin : Origin
        Files, counts, rejects, notes, warnings, suspects.
    shape, kinds, con
        How the rows lie in the database: for `grid`, not for users.

    Examples
    --------
    >>> import pandas as pd
    >>> from fieldmend import read
    >>> frame = pd.DataFrame({"time": ["2024-01-01", "2024-01-02"], "a": [1, 2], "b": [3, 4]})
    >>> records = read(frame)
    >>> records
    <Records: 2 nodes, value; 2 of 2 rows used>
    >>> records.nodes, records.origin.used
    (('a', 'b'), 2)
    >>> records.close()
    """

    nodes: tuple[str, ...]
    conditions: tuple[str, ...]
    units: dict[str, str]
    places: dict[str, dict[str, float]] | None
    origin: Origin
    shape: Shape = field(repr=False)
    kinds: dict[str, int]
    """Of long records: condition → its number in the database."""
    con: "duckdb.DuckDBPyConnection" = field(repr=False)

    def __repr__(self) -> str:
        said = ", ".join(self.conditions)
        rows = f"{count(self.origin.used)} of {counted(self.origin.read, 'row')} used"
        return f"<Records: {counted(len(self.nodes), 'node')}, {said}; {rows}>"

    def grid(
        self, slot: str | float | None = None, slot_value: str = "mean", seed: int = 0
    ) -> Grid:
        """The readings as slots × nodes, one array per condition.

        Parameters
        ----------
        slot : str or float, optional
            Length of a slot: "5min", "30s", "1h", or seconds. Found from the median step between
            a node's readings if not given.
        slot_value : {"mean", "median", "first", "last", "random"}
            What becomes of several readings of a node in one slot.
        seed : int
            For "random".

        Returns
        -------
        Grid

        Raises
        ------
        InputError
            For a length that is none, or a grid too large to hold.

        Examples
        --------
        >>> import pandas as pd
        >>> from fieldmend import read
        >>> times = pd.date_range("2024-01-01", periods=4, freq="30min")
        >>> records = read(pd.DataFrame({"time": times, "a": [1.0, 2.0, 3.0, 4.0]}))
        >>> records.grid("1h").values["a"].ravel()
        array([1.5, 3.5])
        """
        return build(self, slot, slot_value, seed)

    def close(self) -> None:
        """Give the temporary database back.

        Examples
        --------
        >>> import pandas as pd
        >>> from fieldmend import read
        >>> records = read(pd.DataFrame({"time": ["2024-01-01"], "a": [1.0]}))
        >>> records.close()
        """
        self.con.close()
