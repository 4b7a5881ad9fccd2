"""What the user named, and what each column is: the words that the rest of the table speaks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fieldmend.records.table.shapes import MATRIX, RECORDS, Crossed, Matrix, Shape
from fieldmend.records.vocabulary import FEW, MISSING
from fieldmend.text import shown


@dataclass(frozen=True)
class Wanted:
    """The roles that the user named: column names, or None."""

    node: str | Sequence[str] | None = None
    time: str | Sequence[str] | None = None
    value: str | None = None
    variable: str | None = None
    conditions: Sequence[str] | None = None
    missing: frozenset[str] = MISSING
    """Words that stand for no reading."""
    station: bool = False
    """Without a node's column the file is one station's: its layout or its units say so."""
    alone: bool = False
    """No other file may be of another station."""


@dataclass(frozen=True)
class Roles:
    """Positions of the columns by what they are."""

    time: tuple[int, ...]
    node: int | None = None
    and_node: tuple[int, ...] = ()
    """More columns that make the node's name, in this order."""
    variable: int | None = None
    unit: int | None = None
    conditions: tuple[int, ...] = ()
    places: dict[str, int] = field(default_factory=dict)
    shape: Shape = RECORDS
    passed_over: tuple[str, ...] = ()
    parts: dict[str, int] = field(default_factory=dict)
    """Of the time, where year, month, … have columns of their own: part → column."""

    def in_words(self, names: Sequence[str]) -> str:
        """Which column was taken for what.

        Examples
        --------
        >>> Roles((0,), node=1, conditions=(2, 3)).in_words(["when", "mote", "t", "rh"])
        'time when; node mote; readings t, rh'
        >>> Roles((0,), conditions=(1, 2), shape=MATRIX).in_words(["when", "a", "b"])
        'time when; each other column a node'
        """
        roles = {
            "time": self.time,
            "node": () if self.node is None else (self.node, *self.and_node),
            "kind": () if self.variable is None else (self.variable,),
            "readings": () if isinstance(self.shape, Matrix) else self.conditions,
            "unit": () if self.unit is None else (self.unit,),
            "place": tuple(self.places.values()),
        }
        said = [
            f"{role} {_few([names[i] for i in where])}" for role, where in roles.items() if where
        ]
        if isinstance(self.shape, Crossed):
            said = [*said, "each other column a node and a condition"]
        return "; ".join([*said, "each other column a node"] if self.shape is MATRIX else said)


def _few(names: Sequence[str]) -> str:
    more = [f"{len(names) - FEW} more"] if len(names) > FEW else []
    return ", ".join([*(shown(name) for name in names[:FEW]), *more])
