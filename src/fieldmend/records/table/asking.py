"""A query over any source: `input` is the file as a table with the columns' own names.

Columns of numbers are numbers there, so that ``WHERE temperature > 20`` means what it says; their
cells that are none are NULL, and counted. The result stands in a table of its own.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from fieldmend.errors import InputError
from fieldmend.records.sources.cutting import COMMA_NUMBER, NUMBER
from fieldmend.records.sources.stage import Stage, describe, materialise, scan
from fieldmend.records.sql import quoted
from fieldmend.records.table import loading
from fieldmend.records.table.cells import cells_of, column_kind
from fieldmend.records.table.naming import clean
from fieldmend.records.vocabulary import MISSING
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

HINT = "The file's table is called input: SELECT * FROM input WHERE …"


def ask(
    stage: Stage, query: str | None, where: str | None, con: "duckdb.DuckDBPyConnection"
) -> None:
    """Put the rows of a query, or those that a condition keeps, in the place of the source's own.

    A database has answered the query itself.
    """
    query = None if stage.asked else query
    if where is not None:
        query = (
            f"SELECT * FROM ({query.strip().rstrip(';')}\n) WHERE ({where}\n)"
            if query
            else (f"SELECT * FROM input WHERE ({where}\n)")
        )
    if query is not None:
        _answer(stage, query, con)


def _answer(stage: Stage, query: str, con: "duckdb.DuckDBPyConnection") -> None:
    import duckdb

    materialise(stage, con)
    _refuse_others(query, con, stage)
    _put_input(stage, con)
    table = f"asked_{id(stage)}"
    try:
        con.execute(f"CREATE TABLE {table} AS {query.strip().rstrip(';')}")
        described = con.execute(f"DESCRIBE {table}").fetchall()
    except duckdb.Error as error:
        raise InputError(
            f"the query cannot be run ({shown(str(error).splitlines()[0])})",
            file=stage.name,
            hint=HINT,
        ) from error
    finally:
        con.execute("DROP TABLE IF EXISTS input")
    if not con.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall():
        raise InputError("the query gives no rows", file=stage.name)
    names = [row[0] for row in described]
    picked = ", ".join(f"{quoted(name)} AS c{i}" for i, name in enumerate(names))
    stage.names, stage.relation, stage.params = names, f"(SELECT {picked} FROM {table})", {}
    stage.text, stage.skip, stage.decimal, stage.json = None, 0, ".", False
    if stage.layout is not None:
        time = stage.layout.time if set(stage.layout.time) <= set(names) else ()
        stage.layout = replace(stage.layout, line_column=False, time=time)
    stage.words += ", a query"
    describe(stage, con)


def _put_input(stage: Stage, con: "duckdb.DuckDBPyConnection") -> None:
    """The table `input`. Parameters cannot stand in a view, and the rows are read but once."""
    bare, units = clean(stage.names)
    stage.units = units | stage.units
    start = 1 if stage.layout is not None and stage.layout.line_column else 0
    numeric = [
        i for i in range(start, len(bare)) if stage.kinds[i] == "text" and _is_numeric(stage, i)
    ]
    typed = [
        f"{loading.number_sql(stage, i) if i in numeric else f'c{i}'} AS {quoted(bare[i])}"
        for i in range(start, len(bare))
    ]
    con.execute("DROP TABLE IF EXISTS input")
    con.execute(
        f"CREATE TABLE input AS SELECT {', '.join(typed)} FROM {stage.relation}", stage.params
    )
    if stage.text is not None:
        stage.rejects += loading.structural(con, stage)
    if not numeric:
        return
    words = ", ".join(f"'{word}'" for word in sorted(MISSING))
    lost = " + ".join(
        f"count(c{i}) FILTER (WHERE {loading.number_sql(stage, i)} IS NULL "
        f"AND lower(trim(c{i})) NOT IN ({words}))"
        for i in numeric
    )
    count = scan(con, f"SELECT {lost} FROM {stage.relation}", stage.params)[0][0]
    if count:
        stage.warnings.append(
            f"{shown(stage.name)}: {count:,} cells are no numbers; in the query they are NULL"
        )


def _is_numeric(stage: Stage, column: int) -> bool:
    """Whether a column holds numbers, and not such as 1,234 or 20.5°C, which are text to SQL."""
    there = cells_of(column, stage.sample)
    rule = COMMA_NUMBER if stage.decimal == "," else NUMBER
    plain = sum(bool(NUMBER.fullmatch(cell) or rule.fullmatch(cell)) for cell in there)
    return column_kind(there) == "number" and plain * 2 >= len(there)


def _refuse_others(query: str, con: "duckdb.DuckDBPyConnection", stage: Stage) -> None:
    import duckdb

    try:
        statements = con.extract_statements(query)
    except duckdb.Error as error:
        said = shown(str(error).splitlines()[0])
        raise InputError(f"the query is no SQL ({said})", file=stage.name, hint=HINT) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InputError("a query is one SELECT", file=stage.name, hint=HINT)
