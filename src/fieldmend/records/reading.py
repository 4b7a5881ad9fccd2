"""`read`: from any source to `Records`, with every row accounted for."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.grid import FileRead, Grid, Origin, Rejects
from fieldmend.records import clock, columns, loading, settling, suspects
from fieldmend.records.columns import MISSING, Roles, Wanted
from fieldmend.records.errors import InputError, shown
from fieldmend.records.places import read_places, row_places
from fieldmend.records.slotting import build
from fieldmend.records.sources import Chosen, Stage, one, stages
from fieldmend.records.text import Reject

if TYPE_CHECKING:
    import duckdb

MEMORY = "1200MB"  # DuckDB's share; what does not fit goes to disk
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
    """

    nodes: tuple[str, ...]
    conditions: tuple[str, ...]
    units: dict[str, str]
    places: dict[str, dict[str, float]] | None
    origin: Origin
    matrix: bool
    long: bool
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
        """
        return build(self, slot, slot_value, seed)

    def close(self) -> None:
        """Give the temporary database back."""
        self.con.close()


def read(  # noqa: PLR0913 - the options of the reader, keyword-only
    source: Any,
    *,
    node: str | None = None,
    time: str | Sequence[str] | None = None,
    value: str | None = None,
    variable: str | None = None,
    conditions: Sequence[str] | None = None,
    missing: Sequence[float | str] | Mapping[str, Sequence[float | str]] = (),
    tz: str | None = None,
    ambiguous: str | None = None,
    on_duplicate: str = "mean",
    salvage: bool = False,
    locations: Any = None,
    table: str | None = None,
    query: str | None = None,
) -> Records:
    """Read records of any dialect.

    Parameters
    ----------
    source : path, "-", address, frame, or a list of these
        CSV and its kin, NDJSON, Parquet, netCDF, SQLite; ``postgresql://…``; a pandas, Polars or
        PyArrow frame. A path is taken literally.
    node, time, value, variable : str, optional
        Columns, where their names are not known ones. `time` may be two columns: date and time.
    conditions : sequence of str, optional
        The conditions to keep; all by default.
    missing : sequence, or mapping from condition to sequence
        Values that stand for no reading, such as -9999; nothing is guessed.
    tz : str, optional
        The zone of stamps that carry none; UTC by default, and it is said.
    ambiguous : {"earlier", "later", "missing"}, optional
        For local times that come twice or never; an error by default.
    on_duplicate : {"mean", "first", "last", "error"}
        For rows of one node and time that differ.
    salvage : bool
        Keep what can be read of a damaged compressed file.
    locations : path, frame or mapping, optional
        Where the nodes are.
    table, query : str, optional
        For databases.

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
    if ambiguous not in AMBIGUOUS:
        raise InputError(f"ambiguous={shown(ambiguous)!r}", hint="earlier, later or missing")
    if on_duplicate not in settling.ON_DUPLICATE:
        raise InputError(
            f"on_duplicate={shown(on_duplicate)!r}", hint=", ".join(settling.ON_DUPLICATE)
        )
    wanted = Wanted(node, time, value, variable, conditions)
    session = Session.open()
    found: list[Stage] = []
    try:
        job = _Job(session, wanted, missing, tz, ambiguous, on_duplicate)
        found = stages(source, Chosen(table, query, salvage), session.con, session.work)
        records = job.run(found, locations)
    except BaseException:
        session.close()
        raise
    finally:
        for stage in found:
            stage.close()
    weakref.finalize(records, session.close)
    return records


@dataclass(frozen=True)
class Session:
    """A DuckDB database in a temporary folder of its own."""

    work: Path
    con: "duckdb.DuckDBPyConnection"

    @classmethod
    def open(cls) -> "Session":
        """Nothing is fetched, nothing is found in the caller's variables, UTC throughout."""
        import duckdb

        work = Path(tempfile.mkdtemp(prefix="fieldmend-"))
        con = duckdb.connect(str(work / "records.duckdb"))
        con.execute(
            "SET TimeZone = 'UTC'; SET autoinstall_known_extensions = false; "
            "SET autoload_known_extensions = false; SET python_enable_replacements = false; "
            f"SET memory_limit = '{MEMORY}'; SET preserve_insertion_order = true; "
            "SET enable_progress_bar = false"
        )
        con.execute("SET temp_directory = $d", {"d": str(work / "spill")})
        threads = os.environ.get("FIELDMEND_THREADS", "")
        if threads.isdigit() and int(threads):
            con.execute(f"SET threads = {int(threads)}")
        return cls(work, con)

    def close(self) -> None:
        """Remove the database."""
        self.con.close()
        shutil.rmtree(self.work, ignore_errors=True)


@dataclass
class _Job:
    """One call of `read`: the sources in, the records out."""

    session: Session
    wanted: Wanted
    missing: Sequence[float | str] | Mapping[str, Sequence[float | str]]
    tz: str | None
    ambiguous: str | None
    on_duplicate: str
    plans: list[loading.Plan] = field(default_factory=list)
    read_rows: list[int] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def run(self, found: list[Stage], locations: Any) -> Records:
        places: dict[str, dict[str, float]] = {}
        sources: list[tuple[Stage, Roles]] = []
        for stage in found:
            only_places = read_places(stage, self.session.con)
            if only_places is not None:
                places |= only_places
                self.notes.append(f"{shown(stage.name)}: positions of {len(only_places)} nodes")
            else:
                sources.append((stage, self._roles(stage)))
        if not sources:
            raise InputError("no readings: only positions were given", file=found[0].name)
        names, roles = self._plan(sources)
        self._load(names, roles)
        if locations is not None:
            places |= self._locations(locations)
        return self._records(names, roles, places)

    def _roles(self, stage: Stage) -> Roles:
        layout = stage.layout
        start = 1 if layout and layout.line_column else 0
        bare, units = columns.clean(stage.names)
        columns.check_names(bare[start:], stage.name)
        stage.names = bare
        stage.units = units | (layout.units if layout else {}) | stage.units
        wanted = self.wanted
        if layout and layout.time and wanted.time is None:
            wanted = replace(wanted, time=layout.time)
        roles = columns.assign(bare, stage.sample, wanted, stage.name)
        if layout and layout.node is not None and roles.matrix:
            roles = replace(roles, matrix=False)
        if roles.passed_over:
            self.notes.append(
                f"{shown(stage.name)}: columns passed over: {columns.listing(roles.passed_over)}"
            )
        return roles

    def _plan(self, sources: list[tuple[Stage, Roles]]) -> tuple[list[str], list[Roles]]:
        matrices = {roles.matrix for _, roles in sources}
        longs = {roles.variable is not None for _, roles in sources}
        if len(matrices) > 1 or len(longs) > 1:
            listed = ", ".join(
                f"{shown(stage.name)} is {shape(roles)}" for stage, roles in sources[:6]
            )
            raise InputError(
                f"files of different shapes: {listed}", hint="Hand them in one after the other"
            )
        long = longs == {True}
        names: list[str] = []
        for stage, roles in sources:
            for c in roles.conditions:
                name = "value" if long else stage.names[c]
                if name not in names:
                    names.append(name)
        for stage, roles in sources:
            slots = {c: 0 if long else names.index(stage.names[c]) for c in roles.conditions}
            self.plans.append(self._one_plan(stage, roles, slots, names))
        return names, [roles for _, roles in sources]

    def _one_plan(
        self, stage: Stage, roles: Roles, slots: dict[int, int], names: list[str]
    ) -> loading.Plan:
        tokens, numbers = set(MISSING), dict[int, tuple[float, ...]]()
        for v in slots.values():
            given = self.missing
            if isinstance(given, Mapping):
                given = given.get(names[v], ())
            fixed = stage.layout.missing.get(names[v], ()) if stage.layout else ()
            codes = [*fixed]
            for item in given:
                try:
                    codes.append(float(item))
                except ValueError:
                    tokens.add(str(item).strip().casefold())
            numbers[v] = tuple(codes)
        return loading.Plan(stage, roles, slots, frozenset(tokens), numbers, self.tz is not None)

    def _load(self, names: list[str], roles: list[Roles]) -> None:
        con = self.session.con
        place_names = sorted({key for one in roles for key in one.places})
        loading.create(con, len(names), place_names)
        if self.tz is not None:
            self._zone_table(self.tz)
        for number, plan in enumerate(self.plans):
            self.bases.append(
                sum(self.read_rows) - sum(len(p.stage.rejects) for p in self.plans[:number])
            )
            self.read_rows.append(loading.load(con, number, plan))
            self.warnings += plan.stage.warnings
        if not sum(self.read_rows):
            raise InputError("no records in it: a header only", file=self.plans[0].stage.name)

    def _zone_table(self, tz: str) -> None:
        con = self.session.con
        con.execute("CREATE TABLE zone (start BIGINT, shift BIGINT, doubtful BOOL)")
        rows = [(s.start, s.shift, s.doubtful) for s in clock.stretches(tz, self.ambiguous)]
        con.executemany("INSERT INTO zone VALUES (?, ?, ?)", rows)

    def _where(self, ids: Sequence[int]) -> list[str]:
        """Row ids of `r` → "file, line n"."""
        return [f"{shown(r.file)}, line {r.line}" for r in self._located([(i, "") for i in ids])]

    def _located(self, rows: Sequence[tuple[int, str]]) -> list[Reject]:
        by_file: dict[int, list[int]] = {}
        for rowid, _ in rows:
            f = max(i for i, base in enumerate(self.bases) if base <= rowid)
            by_file.setdefault(f, []).append(rowid - self.bases[f])
        lines = {
            (f, o): line
            for f, ordinals in by_file.items()
            for o, line in loading.lines_of(
                self.session.con, self.plans[f].stage, ordinals, self.bases[f]
            ).items()
        }
        out = []
        for rowid, bad in rows:
            f = max(i for i, base in enumerate(self.bases) if base <= rowid)
            stage = self.plans[f].stage
            line = lines.get((f, rowid - self.bases[f]), rowid - self.bases[f] + 1)
            out.append(Reject(stage.name, line, *self._reason(bad, f)))
        return out

    def _reason(self, bad: str, f: int) -> tuple[str, str]:
        code, _, cell = bad.partition("\x1f")
        plan = self.plans[f]
        cell = shown(cell)
        if code[:1] in ("v", "i"):
            column = next(c for c, v in plan.slots.items() if v == int(code[1:]))
            name = shown(plan.stage.names[column])
            if code[0] == "i":
                return f"number: {name} is a whole number over 2^53 and would lose digits", cell
            return f"number: {name} is no number", cell
        if code == "c" and cell.lstrip("-").isdigit():
            return "clock: far from all other times", clock.stamped(int(cell))
        return REASONS.get(code, "row"), cell

    def _records(
        self, names: list[str], roles: list[Roles], places: dict[str, dict[str, float]]
    ) -> Records:
        con = self.session.con
        self._refuse_doubtful()
        self.notes += settling.check_zones(con, self.tz, self._where)
        settling.set_clocks_aside(con)
        totals, rejects = self._rejects()
        set_aside = sum(totals.values())
        read = sum(self.read_rows)
        if read == set_aside:
            first = rejects[0]
            raise InputError(
                f"none of {read:,} rows can be used; {first.reason} ({first.text!r})",
                file=first.file,
                line=first.line,
                hint="Look at that line; roles and dialect can be named with options",
            )
        twice = settling.settle_duplicates(con, len(names), self.on_duplicate, self._where)
        self._say(twice, set_aside, read)
        con.execute(
            "CREATE VIEW used AS SELECT * EXCLUDE (bad) FROM r WHERE bad IS NULL "
            "UNION ALL BY NAME SELECT * EXCLUDE (bad) FROM extra"
        )
        matrix, long = roles[0].matrix, roles[0].variable is not None
        nodes, kinds = self._labels(matrix=matrix, names=names)
        conditions = kinds if long else ("value",) if matrix else tuple(names)
        if long:
            conditions = self._keep(conditions)
        units = self._units(conditions, long=long)
        places = {
            n: p
            for n, p in (row_places(con, roles) | self._stage_places() | places).items()
            if n in nodes
        }
        self._check_readings(names, conditions, long=long, matrix=matrix)
        origin = Origin(
            files=tuple(
                FileRead(p.stage.name, p.stage.sha256, p.stage.bytes, p.stage.words, rows)
                for p, rows in zip(self.plans, self.read_rows, strict=True)
            ),
            dialect="; ".join(dict.fromkeys(p.stage.words for p in self.plans)),
            read=read,
            used=read - set_aside - twice.rows,
            duplicates=twice.rows,
            set_aside=set_aside,
            rejects=Rejects(tuple(rejects), totals),
            notes=tuple(self.notes),
            warnings=tuple(self.warnings),
            suspects=tuple(suspects.find(con, names, conditions, long=long, matrix=matrix)),
        )
        return Records(nodes, conditions, units, places or None, origin, matrix, long, con)

    def _refuse_doubtful(self) -> None:
        if self.ambiguous is not None or self.tz is None:
            return
        ids = self.session.con.execute(
            "SELECT rowid FROM r WHERE bad[1] = 'a' ORDER BY rowid LIMIT 10"
        ).fetchall()
        if ids:
            raise InputError(
                f"local times that come twice or never in {shown(self.tz)}: "
                + "; ".join(self._where([row[0] for row in ids])),
                hint="Say which is meant with ambiguous= earlier, later or missing (--ambiguous)",
            )

    def _rejects(self) -> tuple[dict[str, int], list[Reject]]:
        con = self.session.con
        rows = con.execute(
            f"SELECT rowid, bad FROM r WHERE bad IS NOT NULL ORDER BY rowid LIMIT {loading.LISTED}"
        ).fetchall()
        counted = con.execute(
            "SELECT split_part(bad, chr(31), 1), count(*) FROM r WHERE bad IS NOT NULL GROUP BY 1"
        ).fetchall()
        totals: dict[str, int] = {}
        for code, count in counted:
            reason = "number" if code[0] in "vi" else REASONS.get(code, "row").split(":")[0]
            totals[reason] = totals.get(reason, 0) + count
        listed = self._located(rows)
        for plan in self.plans:
            for reject in plan.stage.rejects:
                reason = reject.reason.split(":")[0]
                totals[reason] = totals.get(reason, 0) + 1
            listed += plan.stage.rejects[: loading.LISTED]
        order = {plan.stage.name: i for i, plan in enumerate(self.plans)}
        listed.sort(key=lambda reject: (order[reject.file], reject.line))
        return dict(sorted(totals.items())), listed[: loading.LISTED]

    def _say(self, twice: settling.Twice, set_aside: int, read: int) -> None:
        if twice.differing:
            self.warnings.append(
                f"{twice.differing:,} times have readings that differ; {self.on_duplicate} taken; "
                f"first {twice.example}"
            )
        if set_aside * 2 > read:
            self.warnings.append(f"{set_aside:,} of {read:,} rows were set aside")

    def _labels(self, *, matrix: bool, names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        con = self.session.con
        if matrix:
            return tuple(names), ()
        nodes = [row[0] for row in con.execute("SELECT DISTINCT node FROM used").fetchall()]
        kinds = [row[0] for row in con.execute("SELECT DISTINCT kind FROM used").fetchall()]
        return tuple(sorted(nodes, key=natural)), tuple(sorted(kinds))

    def _keep(self, kinds: tuple[str, ...]) -> tuple[str, ...]:
        wanted = self.wanted.conditions
        if wanted is None:
            return kinds
        for name in wanted:
            if name not in kinds:
                raise InputError(
                    f"no condition {shown(name)!r}; found: {columns.listing(kinds)}",
                    hint="Name one of these with conditions=",
                )
        return tuple(wanted)

    def _units(self, conditions: Sequence[str], *, long: bool) -> dict[str, str]:
        units: dict[str, str] = {}
        for plan in self.plans:
            for name, unit in plan.stage.units.items():
                if name in conditions:
                    if units.setdefault(name, unit) != unit:
                        self._refuse_units(name, [units[name], unit])
        if not long:
            return units
        rows = self.session.con.execute(
            "SELECT kind, unit, count(*) FROM used WHERE unit IS NOT NULL AND unit <> '' "
            "GROUP BY kind, unit ORDER BY kind, unit"
        ).fetchall()
        for kind, unit, _ in rows:
            if kind in conditions and units.setdefault(kind, unit) != unit:
                self._refuse_units(kind, [u for k, u, _ in rows if k == kind])
        return units

    def _refuse_units(self, name: str, found: list[str]) -> None:
        raise InputError(
            f"{shown(name)} is given in {len(found)} units: {columns.listing(found)}",
            hint="Bring it to one unit, or hand the parts in one after the other",
        )

    def _stage_places(self) -> dict[str, dict[str, float]]:
        return {n: p for plan in self.plans for n, p in plan.stage.places.items()}

    def _locations(self, locations: Any) -> dict[str, dict[str, float]]:
        if isinstance(locations, Mapping):
            return {str(node): dict(place) for node, place in locations.items()}
        found: dict[str, dict[str, float]] = {}
        for stage in stages(locations, Chosen(), self.session.con, self.session.work):
            places = read_places(stage, self.session.con)
            if places is None:
                raise InputError(
                    f"it holds no positions; found: {columns.listing(stage.names)}",
                    file=stage.name,
                    hint="Columns wanted: node, and lat, lon or x, y",
                )
            found |= places
        return found

    def _check_readings(
        self, names: list[str], conditions: Sequence[str], *, long: bool, matrix: bool
    ) -> None:
        con = self.session.con
        if long:
            rows = con.execute("SELECT kind, count(v0) FROM used GROUP BY kind").fetchall()
            counts = {kind: n for kind, n in rows if kind in conditions}
        else:
            row = one(
                con, "SELECT " + ", ".join(f"count(v{i})" for i in range(len(names))) + " FROM used"
            )
            counts = dict(zip(names, row or (), strict=False))
        if not any(counts.values()):
            raise InputError(
                "all readings are missing", file=self.plans[0].stage.name,
                hint="Look at missing=, and at the columns taken: " + columns.listing(names),
            )  # fmt: skip
        what = "node" if matrix else "condition"
        for name, n in counts.items():
            if not n:
                self.warnings.append(f"{what} {shown(name)} has no reading at all")


REASONS = {
    "h": "header: it is repeated",
    "j": "json: no object",
    "n": "node: empty",
    "N": "node: longer than 256 bytes",
    "t": "time: unreadable",
    "c": "clock: no such time",
    "a": "local time: comes twice or never",
    "k": "variable: empty",
}


def shape(roles: Roles) -> str:
    """The shape of a source in a word."""
    if roles.matrix:
        return "a ready matrix"
    return "long records" if roles.variable is not None else "records"


def natural(name: str) -> tuple[int, int, str]:
    """Sort key: whole numbers by value and first, then names."""
    if name.isascii() and name.isdigit() and len(name) < 19:
        return (0, int(name), name)
    return (1, 0, name)
