"""What each column is: node, time, place, variable, value, or a physical condition."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fieldmend.errors import InputError
from fieldmend.quantities import names as quantities
from fieldmend.quantities.kinds import Kind
from fieldmend.quantities.units import spelt
from fieldmend.records.sources.cutting import NUMBER
from fieldmend.records.sources.dialect import COMMA_NUMBER
from fieldmend.records.table import parts
from fieldmend.records.table.shapes import LONG, MATRIX, RECORDS, Crossed, Matrix, Shape
from fieldmend.records.table.stamps import holds_stamps
from fieldmend.records.table.timing import column_named, time_columns
from fieldmend.records.vocabulary import (
    BOOKKEEPING,
    CONDITIONS,
    DAY_OF_YEAR,
    FEW,
    FLAGS,
    MAX_COLUMNS,
    MISSING,
    NODE,
    NODE_HINTS,
    PLACE,
    ROW_NUMBERS,
    UNIT,
    VALUE,
    VARIABLE,
    first_of,
    listing,
    words_of,
)
from fieldmend.text import shown

# "1,234.5", "20.5°C", "0x1f", "<0.1": meant as numbers, though not to be half-parsed.
NUMBER_LIKE = re.compile(
    r"[+-]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?|[+-]?\d+([.,]\d+)?\s*[°%a-zµ/²³·]{1,10}|0x[0-9a-f]+"
    r"|[<>≤≥]=?\s*[+-]?[\d.,]+",
    re.IGNORECASE,
)
COUNTED = 8  # numbers that make a counter
UNIT_IN_NAME = re.compile(r"(.+?)\s*[\[(]([^\[\]()]*)[\])]()")
UNIT_INSIDE = re.compile(r"(.+?)\s*[\[(]([^\[\]()]*)[\])]\s+([^\[\]()]+)")


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


def clean(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Column names without the unit some carry in brackets, and those units."""
    out, units = [], {}
    for name in names:
        found = UNIT_IN_NAME.fullmatch(name.strip()) or _inside(name.strip())
        bare = f"{found[1]} {found[3] or ''}".strip() if found else name.strip()
        if found and found[2].strip():
            units[bare] = found[2].strip()
        out.append(bare)
    if len(set(out)) < len(out):  # "T [C]" beside "T [F]": the brackets tell them apart
        return [name.strip() for name in names], {}
    return out, units


def _inside(name: str) -> re.Match[str] | None:
    """A unit in brackets amid a name: "Snow Depth (in) Start of Day Values"."""
    found = UNIT_INSIDE.fullmatch(name)
    return found if found and spelt(found[2])[0] else None


def check_names(names: Sequence[str], file: str) -> None:
    """Refuse names that cannot tell the columns apart."""
    if len(names) > MAX_COLUMNS:
        raise InputError(
            f"{len(names)} columns; at most {MAX_COLUMNS} can be nodes or conditions",
            file=file,
            hint="Hand the readings in as records: node, time, value",
        )
    empty = [i + 1 for i, name in enumerate(names) if not name.strip()]
    if empty:
        raise InputError(
            f"column {empty[0]} has no name; found: {listing(names)}",
            file=file,
            hint="Name it in the first line, or leave the column out",
        )
    twice = [name for name, n in Counter(name.casefold() for name in names).items() if n > 1]
    if twice:
        raise InputError(
            f"two columns are named {shown(twice[0])!r}; found: {listing(names)}",
            file=file,
            hint="Give each column a name of its own",
        )


def assign(
    names: Sequence[str], sample: Sequence[Sequence[str | None]], wanted: Wanted, file: str
) -> Roles:
    """The role of each column, from its name, the first rows and what the user named."""
    lower = [name.casefold() for name in names]
    node, more = _node(names, lower, wanted, file)
    time, in_parts = time_columns(names, sample, wanted.time, file)
    variable = (
        column_named(wanted.variable, names, "variable", file)
        if wanted.variable
        else first_of(VARIABLE, lower, but=(node, *time))
    )
    value = (
        column_named(wanted.value, names, "value", file)
        if wanted.value
        else first_of(VALUE, lower, but=(node, variable, *time))
    )
    _refuse_twice({"node": node, "variable": variable, "value": value}, time, names, file)
    taken = {node, *more, variable, value, *time} - {None}
    unit = first_of(UNIT, lower) if variable is not None else None
    rest = [i for i in range(len(names)) if i not in taken and i != unit]
    kinds = {
        i: column_kind([row[i] for row in sample if i < len(row)], wanted.missing) for i in rest
    }
    if wanted.variable and value is None:
        value = _only_value(names, kinds, rest, file)
        rest.remove(value)
    if variable is not None and value is not None:
        places = _places(names, rest, sample, node, wanted, file)
        over = tuple(names[i] for i in rest if i not in places.values())
        return Roles(time, node, more, variable, unit, (value,), places, LONG, over, in_parts)
    there = node is not None or wanted.value
    places = _places(names, rest, sample, node, wanted, file) if there else {}
    rest = [i for i in rest if i not in places.values()]
    dates = set(parts.found(lower).values())  # a date told twice is no reading
    numeric = [
        i
        for i in rest
        if kinds[i] == "number" and lower[i] not in BOOKKEEPING and i not in dates
        and not _judges(i, names, sample) and not holds_stamps(cells_of(i, sample))
        and lower[i] not in DAY_OF_YEAR and not _about_node(i, names, sample, node)
        and not lower[i].startswith("-")
        and not (lower[i] in ROW_NUMBERS and _no_reading(i, sample) == "a counter")
    ]  # fmt: skip
    over = tuple(names[i] for i in rest if i not in numeric)
    if value is not None and (wanted.value or kinds.get(value) != "text"):
        # Home Assistant's other columns are about the state.
        alone = wanted.value or "entity_id" in lower
        numeric = [value] if alone else sorted([*numeric, value])
    roles = Roles(time, node, more, None, None, tuple(numeric), places)
    roles = replace(roles, passed_over=over, parts=in_parts)
    if node is None:
        named = set(lower) & {name.casefold() for name in wanted.conditions or ()}
        if not (wanted.station or named):
            roles = _without_node(roles, names, sample, file)
        if roles.shape is RECORDS and over:
            _refuse_nodeless(roles, sample, names, over, file)
    return roles if roles.shape is MATRIX else _choose(roles, names, wanted.conditions, file)


def _only_value(
    names: Sequence[str], kinds: Mapping[int, str], rest: Sequence[int], file: str
) -> int:
    """The column of numbers beside a variable; of several the user has to name one."""
    there = [i for i in rest if kinds[i] == "number" and names[i].casefold() not in PLACE]
    if len(there) == 1:
        return there[0]
    raise InputError(
        f"several columns may hold the values: {listing([names[i] for i in there])}",
        file=file,
        hint="Name it with value= (--value)",
    )


def cells_of(column: int, sample: Sequence[Sequence[str | None]]) -> list[str]:
    """The cells of a column that are there."""
    cells = [(row[column] or "").strip() for row in sample if column < len(row)]
    return [cell for cell in cells if cell.casefold() not in MISSING]


def _about_node(
    column: int, names: Sequence[str], sample: Sequence[Sequence[str | None]], node: int | None
) -> bool:
    """Whether a column is another id of the node: so called, and one and the same for each."""
    words = words_of(names[column])
    if node is None or not words or words[-1] not in NODE_HINTS:
        return False
    rows = [row for row in sample if max(column, node) < len(row)]
    cells = cells_of(column, rows)
    whole = bool(cells) and all(re.fullmatch(r"\d+", cell) for cell in cells)
    return whole and len({(row[node], row[column]) for row in rows}) == len(
        {row[node] for row in rows}
    )


def _judges(column: int, names: Sequence[str], sample: Sequence[Sequence[str | None]]) -> bool:
    """Whether a column is a flag of another that holds nothing yet."""
    return bool({*words_of(names[column])} & FLAGS) and not cells_of(column, sample)


def _refuse_twice(
    roles: Mapping[str, int | None], time: Sequence[int], names: Sequence[str], file: str
) -> None:
    seen: dict[int, str] = dict.fromkeys(time, "time")
    for role, i in roles.items():
        if i is not None and seen.setdefault(i, role) != role:
            raise InputError(
                f"column {shown(names[i])!r} cannot be both {seen[i]} and {role}; "
                f"found: {listing(names)}",
                file=file,
            )


def _refuse_nodeless(
    roles: Roles,
    sample: Sequence[Sequence[str | None]],
    names: Sequence[str],
    over: Sequence[str],
    file: str,
) -> None:
    """One station has a time once: if times repeat, a column passed over may be the node."""
    rows = [row for row in sample if len(row) == len(names)]
    times = {tuple(row[i] for i in roles.time) for row in rows}
    for name in over if len(times) < len(rows) else ():
        i = list(names).index(name)
        if len({(row[i], *(row[j] for j in roles.time)) for row in rows}) > len(times):
            raise InputError(
                f"no column holds the node, and times repeat; found: {listing(names)}",
                file=file,
                hint=f"Name it, perhaps with node={shown(name)!r} (--node)",
            )


def column_kind(cells: Sequence[str | None], missing: frozenset[str] = MISSING) -> str:
    """Whether a column holds numbers or text: the majority of its cells that are not missing."""
    numbers = texts = 0
    for cell in cells:
        text = (cell or "").strip()
        if text.casefold() in missing:
            continue
        if NUMBER.fullmatch(text) or COMMA_NUMBER.fullmatch(text) or NUMBER_LIKE.fullmatch(text):
            numbers += 1
        else:
            texts += text.casefold().lstrip("+-") not in ("inf", "infinity")
    return "text" if texts > numbers else "number"


def _node(
    names: Sequence[str], lower: Sequence[str], wanted: Wanted, file: str
) -> tuple[int | None, tuple[int, ...]]:
    """The column of the node, or several that make its name together; None if there is none."""
    given = wanted.node
    if not given:
        return alias_of_node(lower), ()
    if isinstance(given, str):
        alone = given.casefold() in lower or "," not in given
        given = [given] if alone else [part.strip() for part in given.split(",")]
    first, *more = (column_named(part, names, "node", file) for part in given)
    return first, tuple(more)


def alias_of_node(lower: Sequence[str]) -> int | None:
    """The first column whose name is known to be a node's: Node_ID, node-id and NodeId alike."""
    bare = [re.sub(r"[^a-z]", "", name) for name in lower]
    found = first_of(NODE, lower)
    return found if found is not None else first_of([re.sub("_", "", n) for n in NODE], bare)


def _places(  # noqa: PLR0917 - one call, what it needs
    names: Sequence[str],
    rest: Sequence[int],
    sample: Sequence[Sequence[str | None]],
    node: int | None,
    wanted: Wanted,
    file: str,
) -> dict[str, int]:
    lower = [name.casefold() for name in names]
    readings = {name.casefold() for name in wanted.conditions or ()}
    places: dict[str, int] = {}
    for i in rest:
        if lower[i] in PLACE and lower[i] not in readings:
            places.setdefault(PLACE[lower[i]], i)
    if not ({"lat", "lon"} <= places.keys() or {"x", "y"} <= places.keys()):
        return {}
    if {"x", "y"} <= places.keys() and _moves(sample, node, places["x"], places["y"]):
        raise InputError(
            f"{shown(names[places['x']])} and {shown(names[places['y']])} change from row to row: "
            "are they readings (of an accelerometer) or places?",
            file=file,
            hint="Name the readings with conditions= (--condition x --condition y), or give the "
            "places with locations= (--locations) and leave the columns out",
        )
    return places


def _moves(sample: Sequence[Sequence[str | None]], node: int | None, x: int, y: int) -> bool:
    """Whether a node's x and y are new in most rows: no place does that."""
    seen: dict[str | None, list[tuple[str | None, str | None]]] = {}
    for row in sample:
        if max(x, y) < len(row):
            seen.setdefault(row[node] if node is not None else None, []).append((row[x], row[y]))
    rows = [cells for cells in seen.values() if len(cells) >= COUNTED // 2]
    total = sum(len(cells) for cells in rows)
    return total > 0 and sum(len(set(cells)) for cells in rows) * 2 > total


def _without_node(
    roles: Roles, names: Sequence[str], sample: Sequence[Sequence[str | None]], file: str
) -> Roles:
    """No node column: a ready matrix, or the records of one station with named conditions."""
    lower = [name.casefold() for name in names]
    physical = [
        i for i in roles.conditions if re.split(r"[_\s]", lower[i])[0] in CONDITIONS
        or lower[i] in CONDITIONS or lower[i] in VALUE
    ]  # fmt: skip
    # Nodes are not called temperature and humidity; one such name alone decides nothing.
    several = sum(lower[i] not in VALUE for i in physical) > 1 or _quantities(
        [names[i] for i in roles.conditions]
    )
    if several or len(physical) * 2 > len(roles.conditions) or len(roles.conditions) == 1:
        return roles
    if not roles.conditions:
        raise InputError(
            f"no column holds numbers; found: {listing(names)}",
            file=file,
            hint="Name the columns with conditions= or value= (--value)",
        )
    if physical and not all(lower[i] in VALUE for i in physical):
        others = [names[i] for i in roles.conditions if i not in physical]
        raise InputError(
            f"no column holds the node, and the others cannot all be nodes: "
            f"{shown(names[physical[0]])} is a condition; found: {listing(names)}",
            file=file,
            hint=f"Name the node's column{_perhaps(others, sample, names)} (--node); if the "
            "file is one station's, name its readings with conditions= (--condition)",
        )
    return _matrix(roles, names, sample, file)


def _perhaps(
    others: Sequence[str], sample: Sequence[Sequence[str | None]], names: Sequence[str]
) -> str:
    """A column of whole numbers may be the node; one with decimals is none."""
    for name in others:
        if {*words_of(name)} & FLAGS:
            continue
        cells = cells_of(list(names).index(name), sample)
        if cells and all(re.fullmatch(r"\d+", cell) for cell in cells):
            return f", perhaps with node={shown(name)!r}"
    return " with node="


def _quantities(names: Sequence[str]) -> bool:
    """Whether most names are those of quantities, and not all of one."""
    said = [quantities.measure(quantities.words(name)) for name in names]
    known = [what for what in said if what and quantities.MEASURES[what].kind != Kind.PASSED]
    return len(set(known)) > 1 and len(known) * 2 > len(said)


def _matrix(
    roles: Roles, names: Sequence[str], sample: Sequence[Sequence[str | None]], file: str
) -> Roles:
    """A ready matrix, whose columns are nodes: stamps, counters and ids among them are none."""
    odd = {i: found for i in roles.conditions if (found := _no_reading(i, sample))}
    kept = tuple(i for i in roles.conditions if i not in odd)
    if odd and len(odd) * 2 >= len(roles.conditions):
        first, what = next(iter(odd.items()))
        raise InputError(
            f"the columns cannot be nodes: {shown(names[first])} holds {what}; "
            f"found: {listing(names)}",
            file=file,
            hint="Name the node's column with node= (--node), or the readings with conditions= "
            "(--condition)",
        )
    over = (*roles.passed_over, *(names[i] for i in odd))
    return replace(roles, shape=MATRIX, conditions=kept, passed_over=over)


def _no_reading(i: int, sample: Sequence[Sequence[str | None]]) -> str:
    """What a column of numbers holds that is no reading; empty if it may be one."""
    cells = cells_of(i, sample)
    if len(cells) < COUNTED or not all(re.fullmatch(r"\d{1,19}(\.\d*)?", cell) for cell in cells):
        return ""
    numbers = [float(cell) for cell in cells]
    steps = [b - a for a, b in pairwise(numbers)]
    seconds = {1.0, 1e3, 1e6, 1e9}
    if any(all(5e8 <= n / unit < 4.3e9 for n in numbers) for unit in seconds) and all(
        step >= 0 for step in steps
    ):
        return "stamps"
    if sum(step == 1 for step in steps) >= 0.95 * len(steps):
        return "a counter"
    return ""


def _choose(
    roles: Roles, names: Sequence[str], conditions: Sequence[str] | None, file: str
) -> Roles:
    if conditions is not None:
        folded = [name.casefold() for name in names]
        there = [name for name in conditions if name.casefold() in folded]
        # One of several files may lack a condition; a name that is nowhere is a mistake.
        picked = [column_named(name, names, "conditions", file) for name in there or conditions]
        return replace(roles, conditions=tuple(picked))
    if not roles.conditions:
        raise InputError(
            f"no column holds readings; found: {listing(names)}",
            file=file,
            hint="Name one with value= (--value)",
        )
    return roles
