"""From what the columns are to what becomes of them, over all sources of one call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.errors import InputError
from fieldmend.records.sources.stage import Stage
from fieldmend.records.table import columns, compass, crossing, dry, naming, owner, stamps, written
from fieldmend.records.table.loading import Plan
from fieldmend.records.table.parts import Count
from fieldmend.records.table.roles import Roles, Wanted
from fieldmend.records.table.shapes import LONG, MATRIX, RECORDS, Crossed
from fieldmend.records.vocabulary import MISSING, listing
from fieldmend.text import counted, shown

if TYPE_CHECKING:
    import duckdb

ANY = ""  # in a mapping of codes: those of every condition
Missing = Sequence[float | str] | Mapping[str, Sequence[float | str]]


def roles_of(
    stage: Stage,
    wanted: Wanted,
    con: "duckdb.DuckDBPyConnection | None" = None,
    count: Count | None = None,
) -> Roles:
    """What a source's columns are; its names lose the units that they carry.

    With a connection, a node that no name tells is looked for in the rows.
    """
    layout = stage.layout
    start = 1 if layout and layout.line_column else 0
    bare, units = naming.clean(stage.names)
    bare[start:] = naming.without_empty(bare[start:], [row[start:] for row in stage.sample])
    naming.check_names(bare[start:], stage.name)
    stage.names = bare
    stage.units = units | (layout.units if layout else {}) | stage.units
    stamps.begin(stage)
    if layout and layout.time and wanted.time is None:
        wanted = replace(wanted, time=layout.time)
    if layout and layout.node_column and wanted.node is None:
        named = layout.node_column
        wanted = replace(wanted, node=[named] if isinstance(named, str) else named)
    if layout:
        wanted = replace(
            wanted,
            missing=wanted.missing | layout.words,
            variable=wanted.variable or layout.variable,
            value=wanted.value or layout.value,
        )
        stage.places = layout.places | stage.places
    if count is None:
        time, at = stamps.settle(stage, wanted.time, bare, stage.units)
        wanted = replace(wanted, time=time)
        written.settle(stage, at)
    compass.settle(stage)
    dry.settle(stage)
    # Nodes measure one quantity: columns of several units are the conditions of one station.
    if (layout and layout.node is not None) or len(set(stage.units.values())) > 1:
        wanted = replace(wanted, station=True)
    nameless = wanted.node is None and not (layout and layout.node)
    if con is not None and nameless and columns.alias_of_node([n.casefold() for n in bare]) is None:
        found = owner.find(stage, wanted, bare, con, count)
        if found is not None:
            wanted = replace(wanted, node=[found[0]])
            stage.notes.append(found[1])
    return _crossed(stage, bare, wanted)


def _crossed(stage: Stage, bare: Sequence[str], wanted: Wanted) -> Roles:
    """The roles of the columns; those that are a node and a condition each are told apart."""
    named = {name.casefold() for name in wanted.conditions or ()}
    chosen = named and any(name.casefold() in named for name in bare)
    every = wanted if chosen else replace(wanted, conditions=None)
    roles = columns.assign(bare, stage.sample, every, stage.name)
    cross: crossing.Cross = {}
    if not (chosen or roles.node is not None or roles.shape is LONG):
        readings = [bare[i] for i in roles.conditions]
        cross = crossing.found(readings, stage.units)
        if wanted.alone and not wanted.station:  # of several files each may be a station
            cross = cross or crossing.numbered(readings)
            if roles.shape is MATRIX:
                cross = cross or crossing.alike(readings)
    if roles.shape is MATRIX and not cross:
        said = {stage.units.get(bare[i], "") for i in roles.conditions}
        if len(said) == 1 and "" not in said:
            stage.units["value"] = said.pop()
    if not cross:
        return roles if every is wanted else columns.assign(bare, stage.sample, wanted, stage.name)
    beside = [bare[i] for i in roles.conditions if bare[i] not in cross]
    # What is no node's is the logger's, which is called after the file.
    shape = Crossed(cross | {name: (stage.stem, name) for name in beside})
    of_all = stage.units.get("value", "") if roles.shape is MATRIX else ""
    for name, (_, condition) in cross.items():
        if unit := stage.units.get(name, of_all):
            stage.units[condition] = unit
    nodes = {node for node, _ in cross.values()}
    stage.notes.append(
        f"{shown(stage.name)}: each column is a node and a condition: "
        f"{counted(len(nodes), 'node')} such as {shown(shape.nodes[0])}, with "
        f"{listing(list(dict.fromkeys(kind for _, kind in cross.values())))}"
        + (f"; {listing(beside)} of {shown(stage.stem)}" if beside else "")
    )
    return replace(roles, shape=shape)


def plans_of(
    sources: Sequence[tuple[Stage, Roles]],
    missing: Missing,
    *,
    zone: bool,
    meanings: Mapping[str, str] | None = None,
    count: Count | None = None,
) -> tuple[list[str], list[Plan]]:
    """The names of v0, v1, …, and a plan for each source."""
    _refuse_shapes(sources)
    shape = sources[0][1].shape
    names: list[str] = []
    for stage, roles in sources:
        for c in roles.conditions:
            name = shape.column(stage.names[c])
            if name not in names:
                names.append(name)
    plans = []
    for stage, roles in sources:
        slots = {c: names.index(shape.column(stage.names[c])) for c in roles.conditions}
        words, numbers = _declared(stage, slots, names, missing)
        if not zone:
            stamps.refuse_unnamed(stage)
        said = dict(meanings or {})
        plans.append(Plan(stage, roles, slots, words, numbers, zone, said, count))
    return names, plans


def _refuse_shapes(sources: Sequence[tuple[Stage, Roles]]) -> None:
    if len({type(roles.shape) for _, roles in sources}) > 1:
        listed = ", ".join(f"{shown(s.name)} is {r.shape.words}" for s, r in sources[:6])
        raise InputError(
            f"files of different shapes: {listed}", hint="Hand them in one after the other"
        )


def apart(sources: Sequence[tuple[Stage, Roles]]) -> list[str]:
    """One-station files of one name in two folders are two nodes: their folders tell them apart."""
    named: dict[str, list[Stage]] = {}
    for stage, roles in sources:
        layout = stage.layout
        if (
            roles.node is None
            and roles.shape is RECORDS
            and (layout is None or layout.node in (None, stage.stem))
        ):
            named.setdefault(stage.stem, []).append(stage)
    notes = []
    for stem, stages in named.items():
        folders = [Path(stage.name).parent for stage in stages]
        if len(set(folders)) < 2:
            continue
        depth = next(
            n for n in range(1, 99)
            if len({folder.parts[-n:] for folder in folders}) == len(set(folders))
        )  # fmt: skip
        for stage, folder in zip(stages, folders, strict=True):
            stage.stem = "/".join([*folder.parts[-depth:], stem])
            if stage.layout is not None and stage.layout.node is not None:
                stage.layout = replace(stage.layout, node=stage.stem)
        notes.append(
            f"{len(set(folders))} folders have a file named {shown(stem)}: the nodes are called "
            "after their folders too"
        )
    return notes


def unknown(sources: Sequence[tuple[Stage, Roles]], missing: Missing) -> list[str]:
    """A warning for each condition in missing= that is nowhere (long records: not known yet)."""
    if not isinstance(missing, Mapping) or any(r.shape is LONG for _, r in sources):
        return []
    there = {name for stage, _ in sources for name in stage.names}
    named = missing.keys() - there - {ANY}
    return [f"missing= names {shown(name)}, which is not there" for name in sorted(named)]


def words_for_missing(missing: Missing) -> frozenset[str]:
    """All words that stand for no reading, those of single conditions too: they tell no type."""
    given = missing.values() if isinstance(missing, Mapping) else [missing]
    said = {str(item).strip().casefold() for items in given for item in _items(items)}
    return MISSING | frozenset(said)


def _declared(
    stage: Stage, slots: Mapping[int, int], names: Sequence[str], missing: Missing
) -> tuple[frozenset[str], dict[int, tuple[float, ...]]]:
    """Words and numbers that stand for no reading."""
    words = set(MISSING) | (stage.layout.words if stage.layout else set())
    words |= compass.NONE if stage.compass else set()
    numbers = dict[int, tuple[float, ...]]()
    for v in slots.values():
        given = missing
        if isinstance(missing, Mapping):
            given = [*_items(missing.get(names[v], ())), *_items(missing.get(ANY, ()))]
        codes = [*(stage.layout.missing.get(names[v], ()) if stage.layout else ())]
        for item in _items(given):
            try:
                codes.append(float(item))
            except ValueError:
                words.add(str(item).strip().casefold())
            except TypeError as error:
                raise InputError(
                    f"missing={shown(item)!r} is neither a number nor a word",
                    hint="Write missing=[-9999]",
                ) from error
        numbers[v] = tuple(codes)
    return frozenset(words), numbers


def _items(given: object) -> Iterable[Any]:
    """One value alone is a list of one: "-9999" is no row of letters."""
    return given if isinstance(given, list | tuple | set | frozenset) else [given]
