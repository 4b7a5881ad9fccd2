"""What each column is: node, time, place, variable, value, or a physical condition."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fieldmend.errors import InputError
from fieldmend.quantities.names import measure, words
from fieldmend.records.table import parts
from fieldmend.records.table.cells import COUNTED, cells_of, column_kind, no_reading
from fieldmend.records.table.nodeless import refuse_nodeless, without_node
from fieldmend.records.table.roles import Roles, Wanted
from fieldmend.records.table.shapes import LONG, MATRIX, RECORDS
from fieldmend.records.table.stamps import holds_stamps
from fieldmend.records.table.timing import column_named, time_columns
from fieldmend.records.vocabulary import (
    BOOKKEEPING,
    DAY_OF_YEAR,
    FLAGS,
    NODE,
    NODE_HINTS,
    PLACE,
    ROW_NUMBERS,
    SPHERE,
    UNIT,
    VALUE,
    VARIABLE,
    first_of,
    listing,
    words_of,
)
from fieldmend.text import shown, typed

MOMENTS = ("time", "date", "datetime", "date_time", "timestamp")  # beside the time: never readings
CODE = re.compile(r"[A-Za-z]{0,4}\d+[A-Za-z\d]{0,4}")  # 3260B, 615HMAK; no ERR, no 20.5


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
        else first_of(VARIABLE, lower, but=(node, *more, *time))
    )
    value = (
        column_named(wanted.value, names, "value", file)
        if wanted.value
        else first_of(VALUE, lower, but=(node, *more, variable, *time))
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
    elif variable is not None and value is None and not wanted.conditions:
        value = _nameless_value(names, kinds, rest, cells_of(variable, sample), file)
        rest = [i for i in rest if i != value]
    if variable is not None and value is not None:
        places = _places(names, rest, sample, node, wanted, file)
        over = tuple(names[i] for i in rest if i not in places.values())
        return Roles(time, node, more, variable, unit, (value,), places, LONG, over, in_parts)
    there = node is not None or wanted.value
    places = _places(names, rest, sample, node, wanted, file) if there else {}
    rest = [i for i in rest if i not in places.values()]
    dates = set(parts.found(lower).values())  # a date told twice is no reading
    first = next((i for i, name in enumerate(names) if not name.startswith("-")), 0)
    numeric = [
        i
        for i in rest
        if kinds[i] == "number" and lower[i].rstrip(" .#:") not in BOOKKEEPING and i not in dates
        and not _judges(i, names, sample) and not holds_stamps(cells_of(i, sample))
        and lower[i] not in DAY_OF_YEAR and lower[i] not in MOMENTS
        and not _about_node(i, names, sample, node)
        and not lower[i].startswith("-")
        and not ((i == first or {lower[i], lower[i].rstrip(" .#:")} & ROW_NUMBERS)
                 and no_reading(i, sample) == "a counter")
        and "serial" not in words_of(names[i])
    ]  # fmt: skip
    over = tuple(names[i] for i in rest if i not in numeric)
    # Home Assistant's other columns are about the state; another's state may be California.
    alone = wanted.value or "entity_id" in lower
    if value is not None and (
        alone or column_kind([row[value] for row in sample if value < len(row)]) != "text"
    ):
        numeric = [value] if alone else sorted([*numeric, value])
    roles = Roles(time, node, more, None, None, tuple(numeric), places)
    roles = replace(roles, passed_over=over, parts=in_parts)
    if node is None:
        named = set(lower) & {name.casefold() for name in wanted.conditions or ()}
        if not (wanted.station or named):
            roles = without_node(roles, names, sample, file)
        if roles.shape is RECORDS and over:
            refuse_nodeless(roles, sample, names, over, file)
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
        hint=f"Name it with value= ({typed('--value', names[there[0]])})"
        if there
        else "Name it with value= (--value)",
    )


def _nameless_value(
    names: Sequence[str],
    kinds: Mapping[int, str],
    rest: Sequence[int],
    said: Sequence[str],
    file: str,
) -> int | None:
    """The only column of numbers beside one that says in words what is measured: "Wert".

    One whose name is a quantity's is that: `field` may be where the potatoes grow. Of several the
    user has to name one, where what is said is surely quantities: never a mean of all of them.
    """
    there = [i for i in rest if kinds[i] == "number" and names[i].casefold() not in PLACE]
    there = [i for i in there if not _is_whose(names[i])]
    known = {measure(words(cell)) for cell in said if column_kind([cell]) == "text"} - {""}
    if not known or any(measure(words(names[i])) for i in there):
        return None
    if len(there) == 1:
        return there[0]
    return _only_value(names, kinds, there, file) if there and len(known) > 1 else None


def _is_whose(name: str) -> bool:
    """Whether a name says that it tells nodes apart, or counts rows."""
    return bool({*words_of(name)} & NODE_HINTS) or name.casefold() in BOOKKEEPING


def _about_node(
    column: int, names: Sequence[str], sample: Sequence[Sequence[str | None]], node: int | None
) -> bool:
    """Whether a column is another id of the node: one and the same for each of them.

    It is called so, or it has letters in some places and no two nodes share it: 3195, 3260B.
    """
    if node is None:
        return False
    rows = [row for row in sample if max(column, node) < len(row)]
    cells = cells_of(column, rows)
    nodes = {row[node] for row in rows}
    if not cells or len({(row[node], row[column]) for row in rows}) != len(nodes):
        return False
    often = len(rows) >= COUNTED * len(nodes)
    said = words_of(names[column])
    whole = all(re.fullmatch(r"\d+", cell) for cell in cells)
    coded = all(CODE.fullmatch(cell) for cell in cells) and 1 < len(set(cells)) == len(nodes)
    named = bool(said) and said[-1] in NODE_HINTS
    return (named and whole) or (often and coded and not whole)


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
        if lower[i] in readings:
            continue
        last = (words_of(names[i]) or [""])[-1]  # "Site Latitude"
        place = PLACE.get(lower[i]) or (PLACE[last] if last in SPHERE else None)
        if place:
            places.setdefault(place, i)
    if not ({"lat", "lon"} <= places.keys() or {"x", "y"} <= places.keys()):
        return {}
    if {"x", "y"} <= places.keys() and _moves(sample, node, places["x"], places["y"]):
        moved = [names[i] for key, i in places.items() if key in ("x", "y", "z")]
        options = typed(*(word for name in moved for word in ("--condition", name)))
        raise InputError(
            f"{' and '.join(map(shown, moved))} change from row to row: readings (of an "
            "accelerometer) or places",
            file=file,
            hint=f"If they are readings, name all readings with conditions= ({options}); else give "
            "the places with locations= (--locations) and leave the columns out",
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
