"""Files without a column of the node: one station's, a ready matrix, or refused."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fieldmend.errors import InputError
from fieldmend.quantities import names as quantities
from fieldmend.quantities.kinds import Kind
from fieldmend.quantities.units import spelt
from fieldmend.records.sources.cutting import NUMBER
from fieldmend.records.table.cells import cells_of, no_reading
from fieldmend.records.table.roles import Roles
from fieldmend.records.table.shapes import MATRIX
from fieldmend.records.vocabulary import CONDITIONS, FLAGS, VALUE, listing, words_of
from fieldmend.text import escaped, shown, typed

SUMS = frozenset(
    "sum summe total totals gesamt mean average avg mittel mittelwert durchschnitt moyenne somme "
    "media promedio suma totale".split()
)
CODES = 10  # values that a flag may have


def without_node(
    roles: Roles, names: Sequence[str], sample: Sequence[Sequence[str | None]], file: str
) -> Roles:
    """No node column: a ready matrix, or the records of one station with named conditions."""
    lower = [name.casefold() for name in names]
    known = frozenset(lower)
    physical = [
        i for i in roles.conditions if re.split(r"[_\s]", lower[i])[0] in CONDITIONS
        or lower[i] in CONDITIONS or lower[i] in VALUE
    ]  # fmt: skip
    # Nodes are not called temperature and humidity; one such name alone decides nothing.
    # Nor has a node a flag beside it: TA_F, TA_F_QC are readings of one station.
    several = (
        sum(lower[i] not in VALUE for i in physical) > 1
        or _quantities([names[i] for i in roles.conditions])
        or len({w[-1] for i in roles.conditions if (w := words_of(names[i]))} & CONDITIONS) > 1
        or any(_judged(names[i], known) for i in roles.conditions)
        or _units([names[i] for i in roles.conditions])
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
        readings = [word for i in roles.conditions for word in ("--condition", names[i])]
        raise InputError(
            f"no column holds the node, and the others cannot all be nodes: "
            f"{shown(names[physical[0]])} is a condition; found: {listing(names)}",
            file=file,
            hint=f"Name the node's column{_perhaps(others, sample, names)}; if the file is one "
            f"station's, its readings with conditions= ({typed(*readings[:24])})",
        )
    return _matrix(roles, names, sample, file)


def _about(
    column: int,
    columns: Mapping[str, int],
    names: Sequence[str],
    sample: Sequence[Sequence[str | None]],
) -> str:
    """What a column says of another that its name begins with: "Tokyo temp", "Tokyo temp quality".

    It does where it has a few whole numbers only, and the other has not.
    """
    name = names[column]
    for mark in re.finditer(" ", name):  # its beginnings, so that time is linear in the columns
        other = columns.get(name[: mark.start()])
        if other is not None and _coded(cells_of(column, sample)):
            return "" if _coded(cells_of(other, sample)) else f"codes beside {shown(names[other])}"
    return ""


def _coded(cells: Sequence[str]) -> bool:
    return len(set(cells)) <= CODES and all(re.fullmatch(r"\d+", cell) for cell in cells)


def _judged(name: str, lower: frozenset[str]) -> bool:
    """Whether a column is a flag of another: it is called after it, and a word for flags."""
    words = {*words_of(name)} & FLAGS
    return any(
        re.sub(rf"(^|[\W_]){word}($|[\W_])", "", name.casefold()).strip() in lower for word in words
    )


def _perhaps(
    others: Sequence[str], sample: Sequence[Sequence[str | None]], names: Sequence[str]
) -> str:
    """A column of whole numbers may be the node; one with decimals is none."""
    for name in others:
        if {*words_of(name)} & FLAGS:
            continue
        cells = cells_of(list(names).index(name), sample)
        whole = all(re.fullmatch(r"\d+", cell) for cell in cells)
        if whole and len(set(cells)) > 1:
            return f", perhaps with node={escaped(name)!r} ({typed('--node', name)})"
    return " with node= (--node)"


def _quantities(names: Sequence[str]) -> bool:
    """Whether most names are those of quantities, and not all of one."""
    said = [quantities.measure(quantities.words(name)) for name in names]
    known = [what for what in said if what and quantities.MEASURES[what].kind != Kind.PASSED]
    return len(set(known)) > 1 and len(known) * 2 > len(said)


def _of_all(
    column: int,
    others: Sequence[int],
    names: Sequence[str],
    sample: Sequence[Sequence[str | None]],
) -> str:
    """Whether a column is called the sum or the mean of the others, and is it: no sensor."""
    said = {*re.split(r"[^a-zà-ÿ]+", names[column].casefold())} & SUMS
    if not said:
        return ""
    kept = [i for i in others if i != column
            and not {*re.split(r"[^a-zà-ÿ]+", names[i].casefold())} & SUMS]  # fmt: skip
    sums = means = rows = 0
    for row in sample:
        cells = [_number(row[i]) for i in (column, *kept) if i < len(row)]
        if len(cells) > 2 and all(cell is not None for cell in cells):
            own, *rest = (cell for cell in cells if cell is not None)
            near = 0.006 * len(rest) + 1e-3 * abs(own)  # rounded to two decimals, each of them
            rows += 1
            sums += abs(own - sum(rest)) <= near
            means += abs(own - sum(rest) / len(rest)) <= near
    if rows < CODES or max(sums, means) < 0.9 * rows:
        return ""
    return "the sum of the others" if sums >= means else "the mean of the others"


def _number(cell: str | None) -> float | None:
    text = (cell or "").strip().replace(",", ".")
    return float(text) if NUMBER.fullmatch(text) else None


def _units(names: Sequence[str]) -> bool:
    """Whether most names end with a unit, and not all with one of a kind: "Energy Wh", "T2M_degC".

    One of more than a letter is among them: rooms are called A and C too.
    """
    last = [parts[-1] for name in names if len(parts := re.split(r"[\s_]+", name.strip())) > 1]
    known = {unit: spelt(unit)[0] for unit in last if spelt(unit)[0]}
    there = sum(unit in known for unit in last)
    return (
        there * 2 > len(names)
        and len(set(known.values())) > 1
        and any(len(unit) > 1 and not unit.isdigit() for unit in known)
    )


def _matrix(
    roles: Roles, names: Sequence[str], sample: Sequence[Sequence[str | None]], file: str
) -> Roles:
    """A ready matrix, whose columns are nodes: stamps, counters and ids among them are none."""
    by_name = {names[i]: i for i in roles.conditions}
    odd = {
        i: found
        for i in roles.conditions
        if (
            found := no_reading(i, sample)
            or _about(i, by_name, names, sample)
            or _of_all(i, roles.conditions, names, sample)
        )
    }
    kept = tuple(i for i in roles.conditions if i not in odd)
    about = [what for what in odd.values() if what.startswith(("codes", "the sum", "the mean"))]
    if len(odd) > len(about) and len(odd) * 2 >= len(roles.conditions):
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


def refuse_nodeless(
    roles: Roles,
    sample: Sequence[Sequence[str | None]],
    names: Sequence[str],
    over: Sequence[str],
    file: str,
) -> None:
    """One station has a time once: if times repeat, a column passed over may be the node."""
    rows = [row for row in sample if len(row) == len(names)]
    rows = [row for row in rows if all(row[i] for i in roles.time)]
    times = {tuple(row[i] for i in roles.time) for row in rows}
    for name in over if len(times) < len(rows) else ():
        i = list(names).index(name)
        if len({(row[i], *(row[j] for j in roles.time)) for row in rows}) > len(times):
            raise InputError(
                f"no column holds the node, and times repeat; found: {listing(names)}",
                file=file,
                hint=f"Name it, perhaps with node={escaped(name)!r} ({typed('--node', name)})",
            )
