"""`read`: from any source to `Records`, with every row accounted for."""

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.grid import FileRead, Grid, Origin, Rejects
from fieldmend.records.gridding.slotting import build
from fieldmend.records.sources.opening import stages
from fieldmend.records.sources.stage import Chosen, Stage
from fieldmend.records.table import (
    asking,
    clock,
    duplicates,
    loading,
    missing_codes,
    owner,
    parts,
    strays,
    zones,
)
from fieldmend.records.table.abbreviations import parted
from fieldmend.records.table.account import account
from fieldmend.records.table.columns import Roles, Wanted
from fieldmend.records.table.labels import label, units_of
from fieldmend.records.table.ledger import Ledger
from fieldmend.records.table.places import given_places, read_places, row_places
from fieldmend.records.table.planning import (
    Missing,
    apart,
    plans_of,
    roles_of,
    unknown,
    words_for_missing,
)
from fieldmend.records.table.session import Session, is_small, raise_readable
from fieldmend.records.table.shapes import LONG, MATRIX, Shape
from fieldmend.records.vocabulary import listing
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

CLASHES = 6  # rows that contradict each other, from which on it is no chance
AMBIGUOUS = (None, "earlier", "later", "missing")


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
    >>> frame = pd.DataFrame({"time": ["2024-01-01", "2024-01-02"], "a": [1, 2], "b": [3, 4]})
    >>> records = read(frame)
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
        >>> records = read(pd.DataFrame({"time": ["2024-01-01"], "a": [1.0]}))
        >>> records.close()
        """
        self.con.close()


def read(  # noqa: PLR0913 - the options of the reader, keyword-only
    source: Any,
    *,
    node: str | Sequence[str] | None = None,
    time: str | Sequence[str] | None = None,
    value: str | None = None,
    variable: str | None = None,
    conditions: Sequence[str] | None = None,
    missing: Sequence[float | str] | Mapping[str, Sequence[float | str]] = (),
    tz: str | None = None,
    ambiguous: str | None = None,
    on_duplicate: str | None = None,
    salvage: bool = False,
    locations: Any = None,
    table: str | None = None,
    query: str | None = None,
    where: str | None = None,
    columns: Sequence[str] | None = None,
    time_unit: str | None = None,
    origin: str | None = None,
    start: str | None = None,
    end: str | None = None,
) -> Records:
    """Read records of any dialect.

    Parameters
    ----------
    source : path, "-", address, frame, or a list of these
        CSV and its kin, NDJSON, Parquet, netCDF, SQLite; ``postgresql://…``; a pandas, Polars or
        PyArrow frame. A path is taken literally.
    node, time, value, variable : str, optional
        Columns, where their names are not known ones. `time` may be several columns: a date and a
        time, or year, month, day, hour, …; `node` several, which make its name together.
    conditions : sequence of str, optional
        The conditions to keep; all by default.
    missing : sequence, or mapping from condition to sequence
        Values that stand for no reading, such as -9999; nothing is guessed.
    tz : str, optional
        The zone of stamps that carry none, such as "Europe/Berlin" or "+05:30"; UTC by default,
        and it is said. "BST=+01:00" says what an abbreviation means that means several zones.
    ambiguous : {"earlier", "later", "missing"}, optional
        For local times that come twice or never; an error by default.
    on_duplicate : {"mean", "first", "last", "error"}, optional
        For rows of one node and time that differ; the mean by default. Where most rows are such,
        the node's column may be another: then it must be said, or `node` be named.
    salvage : bool
        Keep what can be read of a damaged compressed file.
    locations : path, frame or mapping, optional
        Where the nodes are.
    table : str, optional
        Of a database.
    query, where : str, optional
        ``"SELECT … FROM input WHERE …"`` over any file, or its condition alone; of a database the
        query is its own.
    columns : sequence of str, optional
        Names of the columns of a file without a header; "-" for one of no use.
    time_unit : {"us", "ms", "s", "min", "h", "d", "w"}, optional
        Of times that are numbers since `origin` (1970 if not given).
    origin : str, optional
        Such as "2018-03-01".
    start, end : str, optional
        Rows from `start` on and before `end` are used, such as "2024-01-31T12:00".

    Returns
    -------
    Records

    Raises
    ------
    InputError
        What is wrong, in which file and line, and what to try.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "node": ["a", "b", "a", "b"],
    ...     "time": ["2024-01-01 00:00"] * 2 + ["2024-01-01 00:10"] * 2,
    ...     "temperature": [20.5, 21.0, 20.6, None],
    ... })
    >>> records = read(frame)
    >>> records.nodes, records.origin.read, records.origin.used
    (('a', 'b'), 4, 4)
    >>> records.grid().values["temperature"]
    array([[20.5, 21. ],
           [20.6,  nan]])
    """
    if isinstance(conditions, str):
        conditions = [conditions]
    if conditions is not None and not conditions:
        raise InputError("conditions= names none", hint="Leave it out to keep all")
    if time is not None and not time:
        raise InputError("time= names no column")
    if ambiguous not in AMBIGUOUS:
        raise InputError(f"ambiguous={shown(ambiguous)!r}", hint="earlier, later or missing")
    if on_duplicate not in (None, *duplicates.ON_DUPLICATE):
        raise InputError(
            f"on_duplicate={shown(on_duplicate)!r}", hint=", ".join(duplicates.ON_DUPLICATE)
        )
    zone, meanings = parted(tz)
    job = _Job(
        Wanted(node, time, value, variable, conditions, words_for_missing(missing)),
        missing,
        zone,
        ambiguous,
        on_duplicate,
        meanings,
        query=query,
        where=where,
        columns=columns,
        count=parts.counted(time_unit, origin),
        edges=(zones.edge(start, zone, "start"), zones.edge(end, zone, "end")),
    )
    session = Session.open(small=is_small(source))
    found: list[Stage] = []
    try:
        found = stages(source, Chosen(table, query, salvage, columns), session.con, session.work)
        records = job.run(session, found, locations)
    except BaseException as error:
        session.close()
        raise_readable(error, found)
        raise
    finally:
        for stage in found:
            stage.close()
    weakref.finalize(records, session.close)
    return records


@dataclass
class _Job:
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
    edges: tuple[int | None, int | None] = (None, None)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def run(self, session: Session, found: list[Stage], locations: Any) -> Records:
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
        loading.create(con, len(names), keys, roles[0].shape)
        if self.tz is not None:
            _zone_table(con, self.tz, self.ambiguous)
        ledger = Ledger(con, plans)
        if not ledger.load():
            raise InputError("no records in it: a header only", file=plans[0].stage.name)
        if locations is not None:
            places |= given_places(locations, con, session.work)
        return self._records(ledger, names, roles, places)

    def _sorted_out(
        self, con: "duckdb.DuckDBPyConnection", found: list[Stage]
    ) -> tuple[list[tuple[Stage, Roles]], dict[str, dict[str, float]]]:
        """Sources of readings, and the positions that the others hold."""
        places: dict[str, dict[str, float]] = {}
        sources: list[tuple[Stage, Roles]] = []
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
            roles = roles_of(stage, self.wanted, con, self.count)
            sources.append((stage, roles))
            self.notes += stage.notes
            self.warnings += stage.warnings
            if roles.passed_over:
                self.notes.append(
                    f"{shown(stage.name)}: columns passed over: {listing(roles.passed_over)}"
                )
        self.notes += apart(sources)
        if not sources:
            raise InputError("no readings: only positions were given", file=found[0].name)
        return sources, places

    def _records(
        self,
        ledger: Ledger,
        names: list[str],
        roles: list[Roles],
        places: dict[str, dict[str, float]],
    ) -> Records:
        con, plans = ledger.con, ledger.plans
        shape = roles[0].shape
        self._refuse_doubtful(ledger)
        zones.refuse_several(con, ledger.where)
        self.notes += zones.check_zones(con, ledger.bases, self.tz, ledger.where)
        zones.set_aside_outside(con, *self.edges)
        self.warnings += zones.set_clocks_aside(con) or strays.set_aside(con)
        read = sum(ledger.rows)
        totals, rejects = ledger.rejects()
        set_aside = sum(totals.values())
        _refuse_all(read, set_aside, rejects, totals.get("outside", 0))
        labelled, kinds = label(con, shape)
        nodes, conditions = shape.labels(names, labelled, kinds, self.wanted.conditions)
        units = units_of(con, plans, conditions, shape)
        twice = duplicates.settle(
            con, len(names), self.on_duplicate or "mean", ledger.where, shape, len(kinds)
        )
        self._refuse_clashes(ledger, twice, read - set_aside)
        self._say(twice, set_aside - totals.get("outside", 0), read)
        _used(con, twice)
        stated = {n: p for plan in plans for n, p in plan.stage.places.items()}
        known = row_places(con, roles) | stated | places
        self._check_readings(ledger, names, conditions, shape)
        cells, said = account(ledger, names, conditions, shape, twice=twice.rows > 0)
        self.warnings += said
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
                    con, names, conditions, long=shape is LONG, matrix=shape is MATRIX
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

    def _refuse_doubtful(self, ledger: Ledger) -> None:
        if self.ambiguous is not None or self.tz is None:
            return
        ids = ledger.con.execute(
            "SELECT rowid FROM r WHERE bad[1] = 'a' ORDER BY rowid LIMIT 10"
        ).fetchall()
        if ids:
            raise InputError(
                f"local times that come twice or never in {shown(self.tz)}: "
                + "; ".join(ledger.where([row[0] for row in ids])),
                hint="Say which is meant with ambiguous= earlier, later or missing (--ambiguous)",
            )

    def _refuse_clashes(self, ledger: Ledger, twice: duplicates.Twice, sound: int) -> None:
        """Where most rows contradict each other, several sensors are taken for one."""
        if self.on_duplicate or self.wanted.node or twice.clashing < CLASHES:
            return
        if twice.clashing * 2 <= sound:
            return
        plan = ledger.plans[0]
        names = plan.stage.names
        found = (
            owner.likely(plan.stage, plan.roles, names, ledger.con) if plan.stage.relation else ""
        )
        taken = plan.roles.node
        as_node = (
            "no column was taken for the node"
            if taken is None
            else (f"{shown(names[taken])} was taken for the node")
        )
        perhaps = (
            f", perhaps with node={shown(found)!r} (--node {shown(found)})"
            if found
            else (" with node= (--node)")
        )
        raise InputError(
            f"{twice.clashing:,} of {sound:,} rows contradict others of their node and time "
            f"({as_node}; found: {listing(names)}); first {twice.example}",
            file=plan.stage.name,
            hint=f"Name the node's column{perhaps}; if these rows belong together, say so with "
            "on_duplicate='mean' (--on-duplicate mean)",
        )

    def _say(self, twice: duplicates.Twice, set_aside: int, read: int) -> None:
        if twice.differing:
            self.warnings.append(
                f"{twice.differing:,} times have readings that differ; "
                f"{self.on_duplicate or 'mean'} taken; first {twice.example}"
            )
        if set_aside * 2 > read:
            self.warnings.append(f"{set_aside:,} of {read:,} rows were set aside")

    def _check_readings(
        self, ledger: Ledger, names: list[str], conditions: Sequence[str], shape: Shape
    ) -> None:
        counts = shape.counts(ledger.con, names)
        if shape is LONG:
            counts = {name: counts.get(name, 0) for name in conditions}
        if not any(counts.values()):
            raise InputError(
                "all readings are missing",
                file=ledger.plans[0].stage.name,
                hint="Look at missing=, and at the columns taken: " + listing(names),
            )
        for name, n in counts.items():
            if not n:
                self.warnings.append(f"{shape.column_is} {shown(name)} has no reading at all")


def _renamed(stage: Stage, columns: Sequence[str]) -> None:
    """The user's names for the columns of a table or frame."""
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


def _refuse_all(read: int, set_aside: int, rejects: Sequence[Any], outside: int) -> None:
    if outside and read == set_aside:
        raise InputError(
            f"no row lies between start and end; {outside:,} of {read:,} lie outside",
            hint="Look at start= and end= (--start, --end), and at tz=",
        )
    if read == set_aside:
        first = rejects[0]
        raise InputError(
            f"none of {read:,} rows can be used; {first.reason} ({first.text!r})",
            file=first.file,
            line=first.line,
            hint="Write times as 2024-01-31T12:00:00Z or in epoch seconds"
            if first.reason.startswith(("time", "clock"))
            else "Look at that line; roles can be named with node=, time= and value=",
        )


def _used(con: "duckdb.DuckDBPyConnection", twice: duplicates.Twice) -> None:
    """The view that everything after reads: sound rows, one per node, time and variable."""
    more = " UNION ALL BY NAME SELECT * FROM extra" if twice.rows else ""
    con.execute(f"CREATE VIEW used AS SELECT * EXCLUDE (bad) FROM r WHERE bad IS NULL{more}")
