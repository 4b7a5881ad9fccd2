"""Columns that are a node and a condition each: "Sensor 1 Temp (C)" beside "Sensor 1 RH (%)".

Such a file is neither a matrix of nodes, which would be of several quantities, nor one station. The
names say so: all of them are one of some beginnings before one of some ends, and one side tells
what is measured, by its unit or by its name. Or one quantity is numbered: temp1, temp2, temp3.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from fieldmend.quantities import names as quantities

MARKS = re.compile(r"[\s_\-:/.,|]+")
BESIDE = 0.25  # share of the columns that may belong to no node, but to the logger
FEWEST = 3  # nodes that are crossed where such columns stand beside them, or that are numbered
NUMBERED = re.compile(r"(.*[^\W\d_].*?)[\s_\-#]*(\d{1,4}|(?<=[\s_\-])[a-zA-Z])")
SPARSE = 2  # numbers that a row of them has room for, of each that is there
Cross = dict[str, tuple[str, str]]
"""Column → node and condition."""


def found(names: Sequence[str], units: Mapping[str, str]) -> Cross:
    """Which node and which condition each column is; empty if the names do not say so.

    A few columns may be left out, those of the logger itself: its battery.

    Examples
    --------
    >>> names = ["Fridge 1 Temp", "Fridge 1 RH", "Fridge 2 Temp"]
    >>> found(names, {})["Fridge 1 RH"]
    ('Fridge 1', 'RH')
    >>> found(["Alder", "Birch", "Cedar"], {})
    {}
    """
    if len(names) < 3:
        return {}
    parted = {name: list(_parted(name)) for name in names}
    return _every(parted, units) or _most(parted, units)


def numbered(names: Sequence[str]) -> Cross:
    """Which node each column is where quantities are numbered; empty if the names do not say so.

    Such are the sensors of one logger, not as many quantities. Numbers stand in a row: 1, 2, 3, 5,
    and not 1, 10, 100, which are sizes or depths.

    Examples
    --------
    >>> numbered(["temp_01", "temp_02", "temp_03"])["temp_02"]
    ('02', 'temp')
    >>> numbered(["temp", "hum", "pres"]), numbered(["temp_1", "temp_10", "temp_100"])
    ({}, {})
    """
    cut = {name: found for name in names if (found := NUMBERED.fullmatch(name))}
    cross = {name: (found[2], found[1]) for name, found in cut.items()}
    nodes, conditions = ({pair[side] for pair in cross.values()} for side in (0, 1))
    whole = len(nodes) >= FEWEST and len(cross) == len(nodes) * len(conditions)
    if not whole or len(names) - len(cross) > BESIDE * len(names):
        return {}
    said = [quantities.words(condition) for condition in conditions]
    known = all(quantities.measure(words) and not quantities.weak(words) for words in said)
    places = [int(node) if node.isdigit() else ord(node.casefold()) for node in nodes]
    in_a_row = max(places) - min(places) < SPARSE * len(nodes)
    return cross if known and in_a_row else {}


def alike(names: Sequence[str]) -> Cross:
    """Which node each column of a matrix is, if all are called after one quantity as well.

    Examples
    --------
    >>> alike(["Office air temp", "Kitchen air temp"])["Office air temp"]
    ('Office', 'air temp')
    >>> alike(["Fridge 1", "Fridge 2"]), alike(["north-temp", "south-hum"])
    ({}, {})
    """
    parted = {name: list(_parted(name)) for name in names}
    first = next(iter(parted.values()), [])
    for side, cuts in ((1, first), (0, first[::-1])):  # the longest end, the longest beginning
        for cut in cuts:
            said = quantities.words(cut[side])
            if not quantities.measure(said) or quantities.weak(said):
                continue
            cross = {
                name: (pair[1 - side], pair[side])
                for name, pairs in parted.items()
                for pair in pairs
                if pair[side] == cut[side]
            }
            if len(cross) == len(names) == len({node for node, _ in cross.values()}):
                return cross
    return {}


Parted = Mapping[str, Sequence[tuple[str, str]]]


def _every(parted: Parted, units: Mapping[str, str]) -> Cross:
    """All columns are crossed."""
    for first, last in next(iter(parted.values())):
        ends = {b for pairs in parted.values() for a, b in pairs if a == first}
        starts = {a for pairs in parted.values() for a, b in pairs if b in ends}
        cross = {
            name: next(((a, b) for a, b in pairs if a in starts and b in ends), ("", ""))
            for name, pairs in parted.items()
        }
        if last not in ends or ("", "") in cross.values() or len(set(cross.values())) < len(parted):
            continue
        if min(len(starts), len(ends)) < 2:
            continue
        if _tells(cross, 1, units):
            return cross
        if _tells(cross, 0, units):
            return {name: (b, a) for name, (a, b) in cross.items()}
    return {}


def _most(parted: Parted, units: Mapping[str, str]) -> Cross:
    """All but a few columns are crossed, each node with each condition: T_1 … RH_4 and BattV."""
    crossed = {name: pairs for name, pairs in parted.items() if pairs}
    if not 0 < len(parted) - len(crossed) <= BESIDE * len(parted):
        return {}
    cross = _every(crossed, units)
    nodes, conditions = ({pair[side] for pair in cross.values()} for side in (0, 1))
    whole = len(nodes) >= FEWEST and len(cross) == len(nodes) * len(conditions)
    return cross if whole else {}


def _parted(name: str) -> Iterator[tuple[str, str]]:
    """A name cut in two at each of its marks."""
    for mark in MARKS.finditer(name):
        first, last = name[: mark.start()].strip(), name[mark.end() :].strip()
        if first and last:
            yield first, last


def _tells(cross: Cross, side: int, units: Mapping[str, str]) -> bool:
    """Whether the parts of a side are quantities: each has one unit or a name that is known.

    Where each part of one side stands beside each of the other, one such name is enough.
    """
    said = _said(cross, side, units)
    one_each = all(len(what) == 1 for what in said.values())
    known = [part for part, what in said.items() if what != {""}]
    if one_each and len(known) == len(said):
        return len({*map(frozenset, said.values())}) > 1
    other = _said(cross, 1 - side, {})
    whole = len(cross) == len(said) * len(other)
    # "North N" and "North S" may be places: a letter or two alone are no evidence.
    sure = any(not quantities.weak(quantities.words(part)) for part in known)
    return one_each and sure and whole and all(what == {""} for what in other.values())


def _said(cross: Cross, side: int, units: Mapping[str, str]) -> dict[str, set[str]]:
    """What the parts of a side measure, "" where it is not known."""
    said: dict[str, set[str]] = {}
    for name, parts in cross.items():
        what = units.get(name) or quantities.measure(quantities.words(parts[side]))
        said.setdefault(parts[side], set()).add(what)
    return said
