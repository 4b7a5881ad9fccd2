"""The steps between what was found and `Records`, in their order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.grid import FileRead, Origin, Rejects
from fieldmend.records import watching
from fieldmend.records.records import Records
from fieldmend.records.sources.dialect import chosen
from fieldmend.records.sources.stage import Stage
from fieldmend.records.table import (
    asking,
    clock,
    duplicates,
    loading,
    missing_codes,
    parts,
    refusals,
    strays,
    summertime,
    zones,
)
from fieldmend.records.table.account import account
from fieldmend.records.table.labels import label, units_of
from fieldmend.records.table.ledger import Ledger
from fieldmend.records.table.places import given_places, moving, read_places, row_places
from fieldmend.records.table.planning import Missing, apart, plans_of, roles_of, unknown
from fieldmend.records.table.roles import Roles, Wanted
from fieldmend.records.table.session import Session
from fieldmend.records.table.shapes import LONG, MATRIX, Crossed, Shape, merged
from fieldmend.records.vocabulary import listing
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb


@dataclass
class Steps:
    """One call of `read`: the sources in, the records out."""

    wanted: Wanted
    missing: Missing
    tz: str | None
    ambiguous: str | None
    on_duplicate: str | None
    meanings: dict[str, str]
    query: str | None = None
    where: str | None = None
    columns: Sequence[str] | None = None
    count: parts.Count | None = None
    dates: str = ""
    edges: tuple[int | None, int | None] = (None, None)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def run(self, session: Session, found: list[Stage], locations: Any) -> Records:
        """From what was found to records: columns, rows, clocks, duplicates, in this order."""
        con = session.con
        sources, places = self._sorted_out(con, found)
        self.warnings += unknown(sources, self.missing)
        names, plans = plans_of(
            sources,
            self.missing,
            zone=self.tz is not None,
            meanings=self.meanings,
            count=self.count,
        )
        roles = [roles for _, roles in sources]
        keys = sorted({key for one in roles for key in one.places})
        shape = merged([one.shape for one in roles], names)
        loading.create(con, len(names), keys, shape)
        if self.tz is not None:
            _zone_table(con, self.tz, self.ambiguous)
        ledger = Ledger(con, plans)
        with watching.query(con, "loading"):
            rows = ledger.load()
        if not rows:
            raise InputError("no records in it: a header only", file=plans[0].stage.name)
        if locations is not None:
            places |= given_places(locations, con, session.work)
        return self._records(ledger, names, roles, places, shape)

    def _sorted_out(
        self, con: "duckdb.DuckDBPyConnection", found: list[Stage]
    ) -> tuple[list[tuple[Stage, Roles]], dict[str, dict[str, float]]]:
        """Sources of readings, and the positions that the others hold."""
        places: dict[str, dict[str, float]] = {}
        sources: list[tuple[Stage, Roles]] = []
        wanted = replace(self.wanted, alone=len(found) == 1)
        for stage in found:
            only_places = read_places(stage, con)
            if only_places is not None:
                places |= only_places
                self.notes += stage.notes
                self.warnings += stage.warnings
                self.notes.append(f"{shown(stage.name)}: positions of {len(only_places)} nodes")
                continue
            if self.columns is not None and stage.text is None:
                _renamed(stage, self.columns)
            asking.ask(stage, self.query, self.where, con)
            stage.dates = self.dates
            roles = roles_of(stage, wanted, con, self.count)
            sources.append((stage, roles))
        self.notes += _once((stage.name, stage.notes) for stage, _ in sources)
        self.warnings += _once((stage.name, stage.warnings) for stage, _ in sources)
        self.notes += [*_passed_over(sources), *apart(sources)]
        if not sources:
            raise InputError("no readings: only positions were given", file=found[0].name)
        return sources, places

    def _records(
        self,
        ledger: Ledger,
        names: list[str],
        roles: list[Roles],
        places: dict[str, dict[str, float]],
        shape: Shape,
    ) -> Records:
        con, plans = ledger.con, ledger.plans
        refusals.refuse_doubtful(ledger, self.tz, self.ambiguous)
        zones.refuse_several(con, ledger.where)
        self.notes += zones.check_zones(con, ledger.bases, self.tz, ledger.where)
        zones.refuse_counts(con, plans[0].stage.name)
        zones.set_aside_outside(con, *self.edges)
        self.warnings += zones.set_clocks_aside(con) or strays.set_aside(con)
        if self.tz is None:
            self.warnings += summertime.look(con)
        read = sum(ledger.rows)
        totals, rejects = ledger.rejects()
        set_aside = sum(totals.values())
        refusals.refuse_headers(ledger)
        refusals.refuse_ragged(ledger, read, totals)
        refusals.refuse_all(ledger, read, set_aside, rejects, totals.get("outside", 0))
        named = {"node": self.wanted.node is not None, "time": self.wanted.time is not None}
        refusals.refuse_most(ledger, read, totals, named)
        if not (self.query or self.wanted.value):
            refusals.refuse_numbers(read, totals, rejects)
        labelled, kinds = label(con, shape)
        nodes, conditions = shape.labels(names, labelled, kinds, self.wanted.conditions)
        units = units_of(con, plans, conditions, shape)
        with watching.query(con, "looking for duplicates"):
            twice = duplicates.settle(
                con, len(names), self.on_duplicate or "mean", ledger.where, shape, len(kinds)
            )
        if not (self.on_duplicate or self.wanted.node):
            refusals.refuse_clashes(ledger, twice, read - set_aside, totals.get("header", 0))
        self._say(twice, set_aside - totals.get("outside", 0), read)
        _used(con, twice)
        stated = {n: p for plan in plans for n, p in plan.stage.places.items()}
        known = row_places(con, roles) | stated | places
        self.warnings += moving(con, roles)
        self.warnings += refusals.refuse_empty(ledger, names, conditions, shape)
        cells, said = account(ledger, names, conditions, shape, twice=twice.rows > 0)
        self.warnings += said
        if not (self.query or self.wanted.value or self.wanted.conditions):
            refusals.refuse_unread(cells, rejects)
        origin = Origin(
            files=tuple(
                FileRead(
                    p.stage.name,
                    p.stage.sha256,
                    p.stage.bytes,
                    p.stage.words,
                    rows,
                    p.roles.in_words(p.stage.names),
                )
                for p, rows in zip(plans, ledger.rows, strict=True)
            ),
            dialect="; ".join(dict.fromkeys(p.stage.words for p in plans)),
            read=read,
            used=read - set_aside - twice.rows,
            duplicates=twice.rows,
            set_aside=set_aside,
            rejects=Rejects(tuple(rejects), totals),
            notes=tuple(self.notes),
            warnings=tuple(self.warnings),
            suspects=tuple(
                missing_codes.find(
                    con,
                    names,
                    names if isinstance(shape, Crossed) else conditions,
                    long=shape is LONG,
                    matrix=shape is MATRIX,
                )
            ),
            cells=cells,
        )
        return Records(
            nodes,
            conditions,
            units,
            {node: known[node] for node in nodes if node in known} or None,
            origin,
            shape,
            {name: kinds.index(name) for name in conditions if name in kinds},
            con,
        )

    def _say(self, twice: duplicates.Twice, set_aside: int, read: int) -> None:
        if twice.differing:
            self.warnings.append(
                f"{twice.differing:,} times have readings that differ; "
                f"{self.on_duplicate or 'mean'} taken; first {twice.example}"
            )
        if set_aside * 2 > read:
            self.warnings.append(f"{set_aside:,} of {read:,} rows were set aside")


def _once(said: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """What is said of files, once for all of which the same is said."""
    files: dict[str, list[str]] = {}
    for name, sentences in said:
        for sentence in sentences:
            about = f"{shown(name)}: "
            own = sentence.removeprefix(about)
            files.setdefault(own, []).append(about if own != sentence else "")
    return [f"{_and_more(names)}{sentence}" for sentence, names in files.items()]


def _and_more(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1:,} more: " if names[0] and len(names) > 1 else ""
    return names[0].removesuffix(": ") + more if more else names[0]


def _passed_over(sources: list[tuple[Stage, Roles]]) -> list[str]:
    """Columns that hold no readings; once for files that are alike."""
    names: dict[str, list[str]] = {}
    for stage, roles in sources:
        over = [name.removeprefix("-") for name in roles.passed_over]
        over = [name for name in over if not name.isdigit()]  # columns that had no name
        if over:
            names.setdefault(listing(over), []).append(stage.name)
    return [
        f"{shown(files[0])}{f' and {len(files) - 1:,} more' * (len(files) > 1)}: "
        f"columns passed over: {columns}"
        for columns, files in names.items()
    ]


def _renamed(stage: Stage, columns: Sequence[str]) -> None:
    """The user's names for the columns of a table or frame, or those that were chosen of them."""
    columns = chosen(stage.names, columns) or columns
    if len(columns) != len(stage.names):
        raise InputError(
            f"columns= names {len(columns)} columns, it has {len(stage.names)}: "
            f"{listing(stage.names)}",
            file=stage.name,
        )
    stage.names = [f"-{i}" if name == "-" else name for i, name in enumerate(columns)]


def _zone_table(con: "duckdb.DuckDBPyConnection", tz: str, ambiguous: str | None) -> None:
    parts = clock.stretches(tz, ambiguous)
    columns = {
        "start": np.array([part.start for part in parts], dtype=np.int64),
        "shift": np.array([part.shift for part in parts], dtype=np.int64),
        "doubtful": np.array([part.doubtful for part in parts]),
    }
    con.register("given", columns)
    con.execute("CREATE TABLE zone AS SELECT * FROM given")
    con.unregister("given")


def _used(con: "duckdb.DuckDBPyConnection", twice: duplicates.Twice) -> None:
    """The view that everything after reads: sound rows, one per node, time and variable."""
    more = " UNION ALL BY NAME SELECT * FROM extra" if twice.rows else ""
    con.execute(f"CREATE VIEW used AS SELECT * EXCLUDE (bad) FROM r WHERE bad IS NULL{more}")
