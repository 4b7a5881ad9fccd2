"""Files without a column of the node: one station's, a ready matrix, or refused."""

import re
from collections.abc import Sequence
from dataclasses import replace

from fieldmend.errors import InputError
from fieldmend.quantities import names as quantities
from fieldmend.quantities.kinds import Kind
from fieldmend.records.table.cells import cells_of, no_reading
from fieldmend.records.table.roles import Roles
from fieldmend.records.table.shapes import MATRIX
from fieldmend.records.vocabulary import CONDITIONS, FLAGS, VALUE, listing, words_of
from fieldmend.text import shown


def without_node(
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
    odd = {i: found for i in roles.conditions if (found := no_reading(i, sample))}
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


def refuse_nodeless(
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
