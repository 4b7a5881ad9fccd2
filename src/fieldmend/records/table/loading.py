"""One pass of DuckDB over each source: every row into the table `r`, good or bad, in order.

`r` holds, per row: node, kind and unit (of long records), t (µs), stamp (how the time was written),
the place, v0, v1, … (the readings), odd: the cells that are no numbers, and bad: NULL, or a letter
for why the row is set aside, with the cell that was wrong. A cell that is wrong costs itself, and
its row only if no reading is left in it. A row's place says which source and line it came from.
"""

import errno
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.sources.parquet import refuse_claim
from fieldmend.records.sources.stage import Stage
from fieldmend.records.sources.text import Reject, record_lines
from fieldmend.records.sql import one
from fieldmend.records.table import clock, compass, dry, parts, timing, written
from fieldmend.records.table.roles import Roles
from fieldmend.records.table.shapes import MATRIX, Shape
from fieldmend.records.vocabulary import MISSING
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

LONGEST_NODE = 256
EXACT = 2**53
WIDE = 100  # columns from which on planning costs more than a plan saves
LISTED = 1000  # rejects that are listed one by one; all are counted


@dataclass(frozen=True)
class Plan:
    """What is to become of a source's columns."""

    stage: Stage
    roles: Roles
    slots: dict[int, int]
    """Column → which v it fills."""
    missing_text: frozenset[str] = MISSING
    missing_numbers: dict[int, tuple[float, ...]] = field(default_factory=dict)
    """By v: numbers that stand for no reading."""
    zone: bool = False
    """Naive stamps are local time, by the table `zone`."""
    meanings: dict[str, str] = field(default_factory=dict)
    """Abbreviation of a zone → its offset, as the user says."""
    count: parts.Count | None = None
    """Times are numbers since an origin, as the user says."""


def create(
    con: "duckdb.DuckDBPyConnection", width: int, places: Sequence[str], shape: Shape
) -> None:
    """The table `r`, empty."""
    place = "".join(f", p_{name} DOUBLE" for name in places)
    values = "".join(f", v{i} DOUBLE" for i in range(width))
    con.execute(
        f"CREATE TABLE r (node VARCHAR, {shape.columns}t BIGINT, stamp TINYINT{place}{values}, "
        "odd VARCHAR, bad VARCHAR)"
    )


def load(con: "duckdb.DuckDBPyConnection", plan: Plan) -> int:
    """Append a source's rows to `r`; how many rows of it were read, bad ones included."""
    import duckdb

    stage = plan.stage
    before = _count(con)
    sql, params = insert_sql(plan)
    wide = len(plan.slots) > WIDE
    if wide:
        con.execute("PRAGMA disable_optimizer")
    try:
        if stage.batches is None:
            con.execute(sql, params)
        else:
            for batch in stage.batches:
                con.register("batch", {f"c{i}": column for i, column in enumerate(batch)})
                con.execute(sql, params)
                con.unregister("batch")
    except duckdb.OutOfMemoryException as error:
        if stage.words == "Parquet":
            refuse_claim(stage.bytes or 0, stage.name, error)
        raise OSError(
            errno.ENOSPC, "no room in the temporary folder: set TMPDIR to a larger disk"
        ) from error
    except (duckdb.InterruptException, duckdb.FatalException, duckdb.InternalException):
        raise
    except duckdb.Error as error:
        raise InputError(
            f"it cannot be read ({shown(str(error).splitlines()[0])})", file=stage.name
        ) from error
    finally:
        if wide:
            con.execute("PRAGMA enable_optimizer")
    if stage.relation and stage.text is not None:
        stage.rejects += structural(con, stage)
    return _count(con) - before + len(stage.rejects)


def _count(con: "duckdb.DuckDBPyConnection") -> int:
    row = one(con, "SELECT count(*) FROM r")
    return int(row[0]) if row else 0


def insert_sql(plan: Plan) -> tuple[str, dict[str, Any]]:
    """The one statement that reads, parses and judges the rows of a source."""
    stage, roles = plan.stage, plan.roles
    params: dict[str, Any] = dict(stage.params)
    params["tokens"] = sorted(plan.missing_text)
    micros, stamp, as_written = time_sql(plan)
    inner = [f"{_node(stage, roles, params)} AS node", f"{as_written} AS tx"]
    if roles.variable is not None:
        unit = f"trim(CAST(c{roles.unit} AS VARCHAR))" if roles.unit is not None else "NULL"
        inner += [f"trim(CAST(c{roles.variable} AS VARCHAR)) AS kind", f"{unit} AS unit"]
    inner += [f"{number_sql(stage, c)} AS p_{name}" for name, c in roles.places.items()]
    for column, v in plan.slots.items():
        inner += [f"{number_sql(stage, column)} AS n{v}", f"c{column} AS s{v}"]
    needs = {*roles.time, *roles.and_node, *(c for c in (roles.node,) if c is not None)}
    inner += [f"c{c}" for c in sorted(needs - set(plan.slots))]
    inner += ["broken"] if stage.json else []
    source = stage.relation or "batch"
    middle = (
        f"SELECT *, {micros} AS us, CAST({stamp} AS TINYINT) AS stamp "
        f"FROM (SELECT {', '.join(inner)} FROM {source})"
    )
    shift, doubtful, join = "0", "false", ""
    if plan.zone:
        join = " ASOF LEFT JOIN zone ON q.us >= zone.start"
        shift = f"CASE WHEN stamp = {clock.NAIVE} THEN zone.shift ELSE 0 END"
        doubtful = f"stamp = {clock.NAIVE} AND zone.doubtful"
    outer = ["node", f"us - {shift} AS t", "stamp"]
    outer += ["kind", "unit"] if roles.variable is not None else []
    outer += [
        f"CASE WHEN isfinite(p_{name}) THEN p_{name} END AS p_{name}" for name in roles.places
    ]
    outer += [f"{_reading(plan, v, params)} AS v{v}" for v in plan.slots.values()]
    outer += [f"{_odd(plan)} AS odd", f"{_judged(plan, params, doubtful)} AS wrong"]
    none = f"coalesce({', '.join(f'v{v}' for v in plan.slots.values())}, NULL) IS NULL"
    sql = (
        f"INSERT INTO r BY NAME SELECT * EXCLUDE (wrong), CASE WHEN wrong IS NOT NULL THEN wrong "
        f"WHEN odd IS NOT NULL THEN CASE WHEN {none} THEN split_part(odd, chr(30), 1) END END "
        f"AS bad FROM (SELECT {', '.join(outer)} FROM ({middle}) q{join})"
    )
    # DuckDB refuses parameters that a statement does not name.
    return sql, {key: params[key] for key in params if re.search(rf"\${key}\b", sql)}


def _node(stage: Stage, roles: Roles, params: dict[str, Any]) -> str:
    if roles.node is None or roles.shape is MATRIX:
        named = stage.layout.node if stage.layout and stage.layout.node else stage.stem
        # Matrices have nodes for columns: those of several files are compared by time alone.
        params["node"] = "matrix" if roles.shape is MATRIX else named or "node"
        return "CAST($node AS VARCHAR)"
    parts = [node_sql(f"c{c}", stage.kinds[c]) for c in (roles.node, *roles.and_node)]
    # A part may be empty, as a state is outside of the United States; the whole may not.
    return parts[0] if len(parts) == 1 else f"nullif(concat_ws('/', {', '.join(parts)}), '')"


def node_sql(cell: str, kind: str) -> str:
    """SQL for a node's name."""
    if kind == "number":  # 7.0 in a frame with holes is node 7
        return (
            f"CASE WHEN {cell} = floor({cell}) AND abs({cell}) < {EXACT} "
            f"THEN CAST(CAST({cell} AS BIGINT) AS VARCHAR) ELSE CAST({cell} AS VARCHAR) END"
        )
    return f"nullif({_bare(cell) if kind == 'text' else f'CAST({cell} AS VARCHAR)'}, '')"


def _bare(cell: str) -> str:
    """SQL for a text cell without blanks around it; trim, slow, only where there are some."""
    return f"CASE WHEN prefix({cell}, ' ') OR suffix({cell}, ' ') THEN trim({cell}) ELSE {cell} END"


def time_sql(plan: Plan) -> tuple[str, str, str]:
    """SQL for microseconds, for the stamp, and for the time as written."""
    stage, roles = plan.stage, plan.roles
    cells = [f"c{c}" for c in roles.time]
    if roles.parts:
        code = clock.ZONED if stage.layout is not None and stage.layout.utc else clock.NAIVE
        micros = parts.sql({part: f"c{c}" for part, c in roles.parts.items()})
        return micros, str(code), "concat_ws(' ', " + ", ".join(cells) + ")"
    kind = stage.kinds[roles.time[0]]
    if plan.count is not None and len(cells) == 2:
        return _counted_day(plan)
    if plan.count is not None:
        number = number_sql(stage, roles.time[0])
        cells_there = [
            (row[roles.time[0]] or "").replace(stage.decimal, ".")
            for row in stage.sample if roles.time[0] < len(row)
        ]  # fmt: skip
        since = parts.rounded_sql(f"{number} * {plan.count.unit}", plan.count.unit, cells_there)
        micros = (
            f"CASE WHEN abs({number}) * {plan.count.unit} < 4e18 THEN {plan.count.origin} "
            f"+ CAST({since} AS BIGINT) END"
        )
        code = clock.ZONED if plan.count.zoned else clock.NAIVE
        return micros, str(code), f"CAST({cells[0]} AS VARCHAR)"
    if len(cells) == 1 and kind in ("naive", "zoned"):
        code = clock.ZONED if kind == "zoned" else clock.NAIVE
        finite = f"CASE WHEN isfinite({cells[0]}) THEN CAST({cells[0]} AS TIMESTAMP) END"
        return f"epoch_us({finite})", str(code), f"CAST({cells[0]} AS VARCHAR)"
    sampled = [
        " ".join((row[c] or "").strip() for c in roles.time) for row in stage.sample
        if all(c < len(row) and row[c] for c in roles.time)
    ]  # fmt: skip
    layout = stage.layout
    given = layout.time_kind if layout else ""
    hourly = "" if given else _hours_sql(stage, roles.time)
    if hourly:
        sampled = [re.sub(r" [0-9]+( UTC| GMT)?$", "", cell) for cell in sampled]
    form = given or clock.kind_of(sampled, stage.name, stage.dates)
    digits = ("compact", "compact hours")
    if len(cells) == 1 and kind in ("number", "integer") and form not in digits:
        micros, stamp = clock.number_sql(cells[0])
        return micros, stamp, f"CAST({cells[0]} AS VARCHAR)"
    text = " || ' ' || ".join(
        _bare(_begun(stage, c)) if stage.kinds[c] == "text" else f"CAST({cell} AS VARCHAR)"
        for c, cell in zip(roles.time, cells, strict=True)
    )
    text, dated, more = _as_formats_have_it(text, form, sampled, hourly=bool(hourly))
    hourly += more
    micros, stamp = clock.text_sql(form, dated, sampled, plan.meanings)
    micros += hourly
    offset = layout.offset if layout is not None else None
    if offset is None and not plan.zone:
        offset = stage.offset
    if offset is not None:
        return f"{micros} - {offset * 60_000_000}", str(clock.ZONED), text
    return micros, stamp, text


def _counted_day(plan: Plan) -> tuple[str, str, str]:
    """A date, and how much of the day has gone in a column beside it: 2024-01-31, 3600."""
    assert plan.count is not None
    day, gone = plan.roles.time
    whole = replace(plan, roles=replace(plan.roles, time=(day,)), count=None)
    micros, stamp, written = time_sql(whole)
    number = number_sql(plan.stage, gone)
    since = f"CASE WHEN {number} * {plan.count.unit} BETWEEN 0 AND {clock.DAY} "
    since += f"THEN CAST(round({number} * {plan.count.unit}) AS BIGINT) END"
    return f"{micros} + {since}", stamp, written


def _begun(stage: Stage, column: int) -> str:
    """SQL for the cell of a time; of a stretch where it begins."""
    cell = f"c{column}"
    if column not in stage.stretches:
        return cell
    begins = f"regexp_extract(trim({cell}), '^{clock.STRETCH.pattern}$', 1)"
    return f"coalesce(nullif({begins}, ''), {cell})"


def _as_formats_have_it(
    text: str, form: str, sampled: Sequence[str], *, hourly: bool
) -> tuple[str, str, str]:
    """SQL for the stamp, for its part that a format reads, and for the µs to add to that."""
    if any(clock.NOON.search(cell) for cell in sampled):  # Spanish: 3:45 p. m.
        text = f"regexp_replace({text}, '{clock.NOON.pattern}', '\\1m')"
    if form != "marks" and any(clock.POINTED.search(cell) for cell in sampled):
        for groups in (3, 2):
            part = r"\.".join([r"(\d{1,2})", *[r"(\d\d)"] * (groups - 1)])
            colons = ":".join(f"\\{i}" for i in range(2, groups + 2))
            text = f"regexp_replace({text}, '([T ]){part}$', '\\1{colons}')"
    if form.endswith("short"):  # Davis writes 12:30a and 1:05p
        text = f"regexp_replace({text}, '(\\d)\\s*([ap])m?$', '\\1 \\2m', 'i')"
    if hourly:
        return text, "regexp_replace(tx, ' [0-9]+( UTC| GMT)?$', '')", ""
    if not any(clock.MIDNIGHT.search(cell) for cell in sampled):
        return text, "tx", ""
    ends = f"regexp_matches(tx, '{clock.MIDNIGHT.pattern}')"
    dated = f"CASE WHEN {ends} THEN regexp_replace(tx, '([ T])24:', '\\100:') ELSE tx END"
    return text, dated, f" + CASE WHEN {ends} THEN {clock.DAY} ELSE 0 END"


def _hours_sql(stage: Stage, time: Sequence[int]) -> str:
    """SQL for the µs to add to a date whose hour has a column of its own; empty if it has none.

    Hour 24 is the next day's hour 0, as loggers write it.
    """
    if len(time) != 2:
        return ""
    cells = [row[time[1]] for row in stage.sample if time[1] < len(row)]
    if not timing.is_hour(cells):
        return ""
    hour = "TRY_CAST(regexp_extract(tx, ' ([0-9]+)( UTC| GMT)?$', 1) AS BIGINT)"
    if max(len((cell or " ").split(" ")[0]) for cell in cells) > 2:  # 0130: hours and minutes
        return f" + ({hour} // 100 * 60 + {hour} % 100) * {parts.UNITS['min']}"
    return f" + {hour} * {parts.UNITS['h']}"


def number_sql(stage: Stage, column: int) -> str:
    """SQL for the number in a cell; NULL if it holds none."""
    number = _number_sql(stage, column)
    return dry.number_sql(f"c{column}", number) if column in stage.dry else number


def _number_sql(stage: Stage, column: int) -> str:
    cell = f"c{column}"
    if stage.kinds[column] in ("number", "integer"):
        return f"CAST({cell} AS DOUBLE)"
    if stage.kinds[column] != "text":
        return f"TRY_CAST(CAST({cell} AS VARCHAR) AS DOUBLE)"
    if column in stage.compass:
        return compass.degrees_sql(cell)
    cell = written.bare_sql(stage, column, cell)
    # DuckDB reads 1_000 as a thousand; and 1.234 is no number where the comma is the mark.
    if stage.decimal == ",":
        marks = f"contains({cell}, '_') OR contains({cell}, '.')"
        return f"CASE WHEN {marks} THEN NULL ELSE TRY_CAST(replace({cell}, ',', '.') AS DOUBLE) END"
    return f"CASE WHEN contains({cell}, '_') THEN NULL ELSE TRY_CAST({cell} AS DOUBLE) END"


def _single(code: float) -> float:
    """A code as a file of single precision holds it: -0.1 stands there as -0.10000000149011612."""
    with np.errstate(over="ignore"):
        short = float(np.float32(code))
    return short if np.isfinite(short) else code


def _reading(plan: Plan, v: int, params: dict[str, Any]) -> str:
    codes = plan.missing_numbers.get(v, ())
    declared = ""
    if codes:
        params[f"m{v}"] = sorted({float(a) for code in codes for a in (code, _single(code))})
        declared = f" AND NOT list_contains(CAST($m{v} AS DOUBLE[]), n{v})"
    # The usual number enters the first branch, and nothing that costs is asked of it.
    usual = f"WHEN abs(n{v}) < {EXACT}{declared} THEN n{v}"
    column = next(c for c, held in plan.slots.items() if held == v)
    large = f"isfinite(n{v}) AND abs(n{v}) >= {EXACT}{declared}"
    if plan.stage.kinds[column] == "integer":
        return f"CASE {usual} END"
    if plan.stage.kinds[column] == "text":
        large += f" AND NOT regexp_full_match(trim(s{v}), '[+-]?\\d+')"
    return f"CASE {usual} WHEN {large} THEN n{v} END"


def _judged(plan: Plan, params: dict[str, Any], doubtful: str) -> str:
    """SQL for `bad`: the first thing that is wrong with a row.

    What costs (regular expressions, the list of words for missing) stands inside a branch that
    only odd rows enter: DuckDB evaluates every side of an AND, but only the CASE branches it needs.
    """
    stage, roles = plan.stage, plan.roles
    untimed = []
    if stage.text is not None and stage.skip:
        params["header"] = [stage.names[roles.time[0]], *stage.header[roles.time[0] :][:1]]
        named = ", ".join(f"coalesce(trim({cell}), '')" for _, cell in headed(plan))
        untimed.append(
            f"WHEN list_contains($header, trim(c{roles.time[0]})) "
            f"THEN 'h' || chr(31) || concat_ws(chr(30), {named})"
        )
    untimed += [
        "WHEN node IS NULL THEN 'n' || chr(31)",
        # What reads like a date and is none (29 February 2023, second 60) is a clock's fault.
        "WHEN regexp_full_match(tx, '\\d{1,5}[-/. ]\\d{1,2}[-/. ]\\d{1,4}"
        "([T ][0-9:. ]*)?(Z| UTC|[+-][0-9:]+)?') "
        "THEN 'c' || chr(31) || left(tx, 64)",
        "ELSE 't' || chr(31) || coalesce(left(tx, 64), '')",
    ]
    cases = [
        f"WHEN us IS NULL THEN CASE {' '.join(untimed)} END",
        "WHEN node IS NULL THEN 'n' || chr(31)",
        f"WHEN strlen(node) > {LONGEST_NODE} THEN 'N' || chr(31) || left(node, 64)",
    ]
    if stage.json:
        cases.insert(0, "WHEN broken IS NOT NULL THEN 'j' || chr(31) || broken")
    if plan.zone:
        cases.append(f"WHEN {doubtful} THEN 'a' || chr(31) || left(tx, 64)")
    if roles.variable is not None:
        cases.append("WHEN kind IS NULL OR kind = '' THEN 'k' || chr(31)")
    return f"CASE {' '.join(cases)} END"


def headed(plan: Plan) -> list[tuple[int, str]]:
    """Columns whose names a header among the rows is asked for, and SQL for their cells.

    Not all of a wide table: each costs, and one that is another is enough.
    """
    node = [(c, f"c{c}") for c in (plan.roles.node,) if c is not None and c not in plan.slots]
    return [*node, *((c, f"s{v}") for c, v in plan.slots.items())][:WIDE]


def _odd(plan: Plan) -> str:
    """SQL for `odd`: the cells of a row that are no numbers, NULL if there is none."""
    judged = []
    for c, v in plan.slots.items():
        if plan.stage.kinds[c] == "text":
            judged.append(_judged_number(v))
        elif plan.stage.kinds[c] == "integer":
            exact = f"CAST(s{v} AS VARCHAR)"
            judged.append(f"CASE WHEN abs(n{v}) >= {EXACT} THEN 'i{v}' || chr(31) || {exact} END")
    if not judged:
        return "CAST(NULL AS VARCHAR)"
    if len(judged) == 1:
        return judged[0]
    # Rows without one are many: for them nothing is joined.
    return (
        f"CASE WHEN coalesce({', '.join(judged)}) IS NOT NULL "
        f"THEN concat_ws(chr(30), {', '.join(judged)}) END"
    )


def _judged_number(v: int) -> str:
    known = f"list_contains($tokens, lower(trim(s{v})))"
    cell = f"left(translate(s{v}, chr(30) || chr(31), '  '), 64)"
    censored = f"regexp_matches(s{v}, '^\\s*[<>≤≥]=?\\s*[\\w.,+-]')"
    return (
        f"CASE WHEN n{v} IS NULL THEN CASE WHEN s{v} IS NULL OR {known} THEN NULL "
        f"WHEN {censored} THEN 'x{v}' || chr(31) || {cell} ELSE 'v{v}' || chr(31) || {cell} END "
        f"WHEN abs(n{v}) >= {EXACT} THEN CASE WHEN regexp_full_match(trim(s{v}), '[+-]?\\d+') "
        f"THEN 'i{v}' || chr(31) || left(s{v}, 64) END END"
    )


STRUCTURE = {
    "MISSING COLUMNS": "ragged: too few cells",
    "TOO MANY COLUMNS": "ragged: too many cells",
    "UNQUOTED VALUE": "quote: it does not close",
    "INVALID ENCODING": "encoding: not UTF-8",
    "LINE SIZE OVER MAXIMUM": "line: too long",
}


def structural(con: "duckdb.DuckDBPyConnection", stage: Stage) -> list[Reject]:
    """Lines that DuckDB could not cut into cells."""
    rows = con.execute(
        "SELECT line, min(error_type), min(csv_line) FROM reject_errors GROUP BY line ORDER BY line"
    ).fetchall()
    con.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    out = []
    for line, kind, raw in rows:
        cut = (raw or "").strip()
        if stage.layout is not None and stage.layout.line_column:
            line = int(cut.split(",")[0]) if cut.split(",")[0].isdigit() else line
        out.append(Reject(stage.name, int(line), STRUCTURE.get(kind, "row"), shown(cut)))
    return out


def lines_of(stage: Stage, ordinals: Sequence[int]) -> dict[int, int]:
    """The line in its file of rows given by their ordinal within the source."""
    wanted = sorted(set(ordinals))
    if stage.text is None:
        return {ordinal: ordinal + 1 for ordinal in wanted}
    rejected = {reject.line for reject in stage.rejects}
    found = record_lines(stage.text.path, stage.skip, rejected, wanted)
    if stage.layout is not None and stage.layout.line_column:
        return _stated_lines(stage, found)
    return found


def _stated_lines(stage: Stage, found: dict[int, int]) -> dict[int, int]:
    """Lines of a flattened file, translated by its first column."""
    assert stage.text is not None
    with stage.text.path.open("rb") as file:
        first = [line.split(b",", 1)[0] for line in file]
    return {o: int(first[n - 1]) if first[n - 1].isdigit() else n for o, n in found.items()}
