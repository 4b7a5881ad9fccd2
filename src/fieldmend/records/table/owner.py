"""Which column is the node, where no name says so: found by behaviour, or asked for.

An id has few values, and each has a clock of its own: at one time it comes once, so that times
which repeat in the file repeat no more within it; where nodes take turns, each comes back after the
same step. A reading does neither. Cost: one more pass over the source, and only where no column is
known by its name; of a large file a share of its times, each with all of its rows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fieldmend.errors import InputError
from fieldmend.quantities import names as quantities
from fieldmend.records.sources.stage import Stage, materialise, scan
from fieldmend.records.table import loading
from fieldmend.records.table.cells import NUMBER_LIKE
from fieldmend.records.table.parts import Count
from fieldmend.records.table.roles import Roles, Wanted
from fieldmend.records.table.stamps import holds_stamps
from fieldmend.records.table.timing import is_clock, time_columns
from fieldmend.records.vocabulary import (
    BOOKKEEPING,
    CALENDAR,
    CONDITIONS,
    FLAGS,
    KNOWN,
    NO_NODE,
    NODE_HINTS,
    ROW_NUMBERS,
    VALUE,
    VARIABLE,
    first_of,
    listing,
    words_of,
)
from fieldmend.text import escaped, shown, typed

if TYPE_CHECKING:
    import duckdb

WHOLE = re.compile(r"[+-]?\d{1,18}(\.0?)?")  # 7.0 is an id of a frame; 7.00 is a reading
LEVELS_OF = frozenset("depth pres pressure height level altitude z hauteur hoehe tiefe".split())
# "gas_meter" may be which one it is; "code" and "id" are.
NAMED_ALIKE = frozenset(["", "meter", "label", "identifier", "sequence number"])
LOOKED_AT = 2_000_000  # rows that decide
CANDIDATES = 24
REPEATS = 0.3  # share of rows whose time came before, from which on times are said to repeat
LEFT = 0.1  # share of these that an id may leave
TURNS = 0.4  # share of rows that follow one of another id
STEADY = 0.7  # share of steps within a fifth of their id's median
LEVELS = 0.7  # how far readings differ within an id, of what they differ from the last row
FILLED = 0.5  # share of rows that have an id
SEEN = "owner_seen"  # the table of the rows that decide
CROWD = 8  # columns of whole numbers that are most of a table: its nodes
MOST = 0.8  # share of rows that one id may have


@dataclass(frozen=True)
class Column:
    """A column that may be the node, and how it behaves."""

    at: int
    name: str
    hinted: bool
    """Its name says so."""
    text: bool
    ids: int = 0
    filled: bool = False
    """Most rows have one."""
    repeats: float = 1.0
    """Share of rows whose time came before at the same id."""
    apart: bool = False
    """Its values share their stretch of time instead of following each other."""
    turns: bool = False
    """Its values take turns, each with a step of its own."""
    levels: bool = False
    """Its values take turns, each with a level of its own: readings differ less within it."""

    @property
    def doubtful(self) -> bool:
        """A name that says something else: a kind, a state."""
        return bool({*words_of(self.name)} & NO_NODE)


def find(
    stage: Stage,
    wanted: Wanted,
    names: Sequence[str],
    con: "duckdb.DuckDBPyConnection",
    count: Count | None = None,
) -> tuple[str, str] | None:
    """The node's column and how it was found; None if no column behaves like one.

    Raises
    ------
    InputError
        If a column may be the node and nothing but the user can say so.
    """
    columns = _candidates(stage, wanted, names)
    if not columns:
        return None
    time, in_parts = time_columns(names, stage.sample, wanted.time, stage.name)
    roles = Roles(time, parts=in_parts)
    seen = _Seen.of(stage, roles, names, con, columns, _reading(stage, names, time), count)
    if seen is None or seen.rows < 2:
        return None
    if seen.repeats >= REPEATS:
        return _by_repeats(seen.measured(columns), seen, stage, names)
    measured = seen.measured(columns)
    if wanted.station:  # columns of several units: what takes turns is a reading too
        measured = [column for column in measured if column.hinted]
    return _by_turns(measured, seen, stage, names)


def likely(
    stage: Stage, roles: Roles, names: Sequence[str], con: "duckdb.DuckDBPyConnection"
) -> str:
    """The column that would make most duplicates vanish, for a message; empty if none would."""
    columns = _candidates(stage, Wanted(), names, but=roles)
    seen = _Seen.of(stage, roles, names, con, columns) if columns else None
    if seen is None:
        return ""
    best = min(seen.measured(columns), key=lambda c: (c.repeats, not c.hinted), default=None)
    return best.name if best is not None and best.repeats <= seen.repeats / 2 else ""


def stands_alone(
    stage: Stage, roles: Roles, name: str, names: Sequence[str], con: "duckdb.DuckDBPyConnection"
) -> bool:
    """Whether a column tells rows of one time apart without the one that was taken for the node."""
    column = Column(list(names).index(name), name, hinted=False, text=False)
    seen = _Seen.of(stage, replace(roles, node=None), names, con, [column])
    found = seen.measured([column]) if seen is not None else []
    return bool(found) and found[0].repeats <= LEFT


def levels(
    stage: Stage, roles: Roles, names: Sequence[str], con: "duckdb.DuckDBPyConnection"
) -> str:
    """The column of depths or heights that tells rows of a node and time apart; or an empty one."""
    deep = [i for i, name in enumerate(names) if {*words_of(name)} & LEVELS_OF]
    columns = [Column(i, names[i], hinted=False, text=False) for i in deep]
    seen = _Seen.of(stage, roles, names, con, columns) if columns else None
    if seen is None:
        return ""
    best = min(seen.measured(columns), key=lambda c: c.repeats, default=None)
    return best.name if best is not None and best.repeats <= LEFT * seen.repeats else ""


def _candidates(
    stage: Stage, wanted: Wanted, names: Sequence[str], but: Roles | None = None
) -> list[Column]:
    """Columns of text or whole numbers whose names do not say that they are something else."""
    lower = [name.casefold() for name in names]
    kept = {name.casefold() for name in wanted.conditions or ()}
    named = {str(name).casefold() for name in (wanted.value, wanted.variable) if name}
    out = []
    for i, name in enumerate(lower):
        physical = _physical(names[i], stage.units)
        taken = but is not None and i in (*but.time, but.node, but.variable)
        known = name in KNOWN and name not in VALUE  # values are numbers; a state may be Ohio
        if taken or known or name in kept | named or name in CALENDAR or physical:
            continue
        if name in BOOKKEEPING - {"id"} or name.startswith("-"):
            continue
        cells = [(row[i] or "").strip() for row in stage.sample if i < len(row)]
        cells = [cell for cell in cells if cell.casefold() not in wanted.missing]
        whole = [bool(WHOLE.fullmatch(cell)) for cell in cells]
        if not cells or (not all(whole) and sum(whole) * 2 > len(whole)):
            continue  # a column of numbers with fractions, or with some words in it
        if name in VALUE and any(whole):
            continue
        if any(cell.startswith("-") for cell in cells if WHOLE.fullmatch(cell)):
            continue  # dBm, degrees: nobody is called -67
        if not all(whole) and sum(map(_like_number, cells)) * 2 > len(cells):
            continue  # some of them may be ERR
        if holds_stamps(cells) or (cells and is_clock(cells)):
            continue
        out.append(Column(i, names[i], _hinted(names[i]), not all(whole)))
    out.sort(key=lambda column: (not column.hinted, column.doubtful, not column.text))
    return out[:CANDIDATES]


def _like_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[+-]?[\d.,eE+-]+", cell) or NUMBER_LIKE.fullmatch(cell))


def _physical(name: str, units: Mapping[str, str]) -> bool:
    """Whether a name is that of a reading or of its flag: it has a unit, or says so in a word.

    The last word decides: "Sensor 1 RH" is a reading, "moisture_sensor_id" is none.
    """
    words = words_of(name)
    if name in units or not words or words[-1] in NODE_HINTS:
        return name in units
    if {words[0], words[-1], name.casefold()} & CONDITIONS or {*words} & FLAGS:
        return True
    in_brackets = re.search(r"[\[(]([^\[\]()]+)[\])]", name)
    if in_brackets and quantities.is_gas(in_brackets[1]):  # S2(NMHC)
        return True
    what = quantities.measure(quantities.words(name))
    return what not in NAMED_ALIKE and len(name) > 1 and name.casefold() not in ROW_NUMBERS


def _hinted(name: str) -> bool:
    return bool(({*words_of(name)} | {re.sub(r"[^a-z]", "", name.casefold())}) & NODE_HINTS)


@dataclass(frozen=True)
class _Seen:
    """The rows that decide: their time, and the cells of the columns that are asked about.

    They are a table: to read a time as it is written costs more than all that is asked about it.
    """

    con: "duckdb.DuckDBPyConnection"
    series: str
    """SQL for what tells rows of one node and time apart."""
    rows: int
    repeats: float
    crowd: int
    """The most rows at one time."""
    reading: bool = False
    """Whether a column surely holds readings."""

    @classmethod
    def of(  # noqa: PLR0917 - one call, what it needs
        cls,
        stage: Stage,
        roles: Roles,
        names: Sequence[str],
        con: "duckdb.DuckDBPyConnection",
        columns: Sequence[Column],
        reading: int | None = None,
        count: Count | None = None,
    ) -> "_Seen | None":
        materialise(stage, con)
        variable = roles.variable
        if variable is None:
            variable = first_of(VARIABLE, [name.casefold() for name in names])
        told_by = [f"c{i}" for i in (variable, roles.node) if i is not None]
        cells = dict.fromkeys([*told_by, *(f"c{column.at}" for column in columns)])
        if reading is not None:
            mark = f"replace(CAST(c{reading} AS VARCHAR), '{stage.decimal}', '.')"
            cells[f"TRY_CAST({mark} AS DOUBLE) AS reading"] = None
        micros, _, written = loading.time_sql(loading.Plan(stage, roles, {}, count=count))
        total = scan(con, f"SELECT count(*) FROM {stage.relation}", stage.params)[0][0]
        share = max(1, -(-total // LOOKED_AT))
        scan(
            con,
            f"CREATE OR REPLACE TABLE {SEEN} AS SELECT {micros} AS us, {', '.join(cells)} "
            f"FROM (SELECT *, {written} AS tx FROM {stage.relation}) "
            f"WHERE us IS NOT NULL AND hash(us) % {share} = 0",
            stage.params,
        )
        series = ", ".join(["us", *told_by])
        row = scan(
            con,
            f"SELECT sum(n), count(*), max(n) FROM (SELECT count(*) AS n FROM {SEEN} "
            f"GROUP BY {series})",
            {},
        )[0]
        if not row[0]:
            return None
        rows, times = int(row[0]), int(row[1])
        return cls(con, series, rows, 1 - times / rows, int(row[2]), reading is not None)

    def measured(self, columns: Sequence[Column]) -> list[Column]:
        """The columns with what they do."""
        cells = ", ".join(
            f"count(DISTINCT c{c.at}), count(DISTINCT hash({self.series}, c{c.at})), count(c{c.at})"
            for c in columns
        )
        row = scan(self.con, f"SELECT {cells} FROM {SEEN}", {})[0]
        out = []
        for i, column in enumerate(columns):
            ids, keys, there = row[3 * i : 3 * i + 3]
            turns = apart = levels = False
            if 1 < ids <= there / 3:
                turns, apart = self._clocks(column.at)
            if apart and not turns and not column.hinted and ids <= there / 5:
                levels = self._levels(column.at)
            repeats = 1 - keys / max(1, self.rows)
            filled = there >= FILLED * self.rows
            found = replace(column, ids=ids, filled=filled, repeats=repeats)
            out.append(replace(found, apart=apart, turns=turns, levels=levels))
        return [column for column in out if column.filled]

    def _clocks(self, column: int) -> tuple[bool, bool]:
        """Whether the values take turns with steps of their own; whether they share their time."""
        c = f"c{column}"
        found = scan(
            self.con,
            "WITH q AS (SELECT us, id, lag(id) OVER (ORDER BY us, id) AS before, us - lag(us) OVER "
            f"(PARTITION BY id ORDER BY us) AS step FROM (SELECT us, {c} AS id FROM "
            f"{SEEN} WHERE {c} IS NOT NULL)), "
            "m AS (SELECT id, median(step) AS middle, count(*) AS n, max(us) - min(us) AS span "
            "FROM q GROUP BY id) "
            "SELECT avg(CAST(before IS DISTINCT FROM id AS DOUBLE)), "
            "avg(CAST(step BETWEEN 0.8 * middle AND 1.25 * middle AS DOUBLE)), "
            "max(m.n) / count(*), (SELECT sum(span) FROM m), max(us) - min(us) "
            "FROM q JOIN m USING (id)",
            {},
        )[0]
        changes, steady, most, spans, span = (float(cell or 0) for cell in found)
        return changes >= TURNS and steady >= STEADY and most <= MOST, spans > 1.5 * span

    def _levels(self, column: int) -> bool:
        """Whether readings differ less from the last of the same value than from the last."""
        if not self.reading:
            return False
        row = scan(
            self.con,
            "SELECT median(abs(y - last)), median(abs(y - own)), "
            "avg(CAST(before IS DISTINCT FROM id AS DOUBLE)) FROM (SELECT y, id, "
            "lag(y) OVER (ORDER BY us, id) AS last, lag(id) OVER (ORDER BY us, id) AS before, "
            "lag(y) OVER (PARTITION BY id ORDER BY us) AS own FROM (SELECT us, "
            f"reading AS y, c{column} AS id FROM {SEEN} "
            f"WHERE reading IS NOT NULL AND c{column} IS NOT NULL))",
            {},
        )[0]
        last, own, changes = (float(cell or 0) for cell in row)
        return changes >= TURNS and own < LEVELS * last


def _reading(stage: Stage, names: Sequence[str], time: Sequence[int]) -> int | None:
    """The first column whose numbers have fractions; 412.0 has none, and may be an id."""
    for i, name in enumerate(names):
        cells = [(row[i] or "").strip() for row in stage.sample if i < len(row)]
        parts = [
            cell for cell in cells if re.fullmatch(rf"[+-]?\d*[{stage.decimal}]\d*[1-9]\d*", cell)
        ]
        if i not in time and name.casefold() not in KNOWN and len(parts) * 2 > len(cells):
            return i
    return None


Found = tuple[str, str] | None


def _by_repeats(columns: list[Column], seen: _Seen, stage: Stage, names: Sequence[str]) -> Found:
    """Times repeat: an id is what makes the repeats vanish."""
    sound = [
        c
        for c in columns
        if c.ids > 1
        and c.repeats <= LEFT * seen.repeats
        and c.ids <= 2 * seen.crowd + 1
        and (c.hinted or c.ids <= seen.rows / 2)
    ]
    if not sound:
        pair = _pair(columns, seen)
        if pair:
            raise InputError(
                f"no column alone holds the node, {shown(pair[0])} and {shown(pair[1])} together "
                f"do; found: {listing(names)}",
                file=stage.name,
                hint=f"Name both with node={list(pair)!r} ({typed('--node', ','.join(pair))})"
                f"{_or_kind(pair, columns)}",
            )
        return None
    best = min(sound, key=lambda c: (not c.hinted, c.doubtful, not c.text, c.ids))
    rivals = [c for c in sound if c.hinted == best.hinted and not _same(best, c, seen)]
    if best.doubtful or (rivals and not best.hinted):
        _ask([best, *rivals], stage, names, "times repeat")
    return best.name, (
        f"{shown(stage.name)}: {shown(best.name)} is taken for the node: {best.ids:,} values, and "
        f"with it {'no time' if not best.repeats else f'{best.repeats:.1%} of times'} repeats "
        f"({seen.repeats:.0%} without); name another with node= (--node)"
    )


def _by_turns(columns: list[Column], seen: _Seen, stage: Stage, names: Sequence[str]) -> Found:
    """Times hardly repeat: an id takes turns with others, or its name says so."""
    named = [c for c in columns if c.hinted and not c.doubtful]
    sound = [c for c in named if c.apart or c.turns or c.ids == 1]
    numbers = [c for c in columns if c not in named and not c.text and c.ids > 1]
    crowd = len(numbers) >= CROWD and len(numbers) * 2 > len(names)
    alike = numbers if crowd else []  # a matrix of counts: of so many, some do take turns
    sound += [c for c in columns if c not in named + alike and (c.turns or c.levels)]
    if not sound:
        return None
    best = min(sound, key=lambda c: (not c.hinted, not c.turns, c.doubtful, not c.text, c.ids))
    if best.doubtful or not (best.hinted or (best.text and best.turns)):
        _ask([best], stage, names, "its values take turns")
    how = "its one value" if best.ids == 1 else f"{best.ids:,} values, each with its own clock"
    return best.name, (
        f"{shown(stage.name)}: {shown(best.name)} is taken for the node: {how}; name another with "
        "node= (--node)"
    )


def _ask(columns: Sequence[Column], stage: Stage, names: Sequence[str], why: str) -> None:
    first = columns[0]
    others = f"; or {', '.join(shown(c.name) for c in columns[1:4])}" if columns[1:] else ""
    raise InputError(
        f"no column holds the node by its name, and {shown(first.name)} may: {why}; "
        f"found: {listing(names)}",
        file=stage.name,
        hint=f"Name it, perhaps with node={escaped(first.name)!r} ({typed('--node', first.name)})"
        f"{others}; if it is a reading, {typed('--condition', first.name)}, and so all readings",
    )


def _or_kind(pair: tuple[str, str], columns: Sequence[Column]) -> str:
    """One of the two may say what is measured: words rather than numbers, else the second."""
    text = {column.name for column in columns if column.text}
    node, kind = pair[::-1] if pair[0] in text and pair[1] not in text else pair
    option = typed("--node", node, "--variable", kind)
    return f"; if {shown(kind)} says what is measured, {option}"


def _same(a: Column, b: Column, seen: _Seen) -> bool:
    """Whether two columns part the rows alike: an id and its name."""
    if a is b:
        return True
    row = scan(seen.con, f"SELECT count(DISTINCT hash(c{a.at}, c{b.at})) FROM {SEEN}", {})[0]
    return bool(row[0] == a.ids == b.ids)


def _pair(columns: Sequence[Column], seen: _Seen) -> tuple[str, str] | None:
    some = [c for c in columns if 1 < c.ids <= seen.crowd and not c.doubtful][:6]
    for i, a in enumerate(some):
        for b in some[i + 1 :]:
            row = scan(
                seen.con,
                f"SELECT count(DISTINCT hash({seen.series}, c{a.at}, c{b.at})), "
                f"count(DISTINCT hash(c{a.at}, c{b.at})) FROM {SEEN}",
                {},
            )[0]
            if 1 - row[0] / seen.rows <= LEFT * seen.repeats and row[1] <= 2 * seen.crowd + 1:
                return a.name, b.name
    return None
